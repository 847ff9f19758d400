/* evidence.c - evidence of a model's look-up table and proteins for views. */
#include "infer/evidence.h"

#include <string.h>

enum { MIN_LONG = 1 << 15 };      /* bases; the threads of shorter views would wait too often */

/* The evidence of the same window on the other strand, which is equal, or NULL. */
static const float *of_other_strand(const cs_chunk *c, int32_t k)
{
    const cs_view *v = &c->views->view[k];

    if (k == 0 || !v->reverse)
        return NULL;
    const cs_view *before = v - 1;               /* the forward strand comes first: views.h */
    if (before->rec != v->rec || before->seg != v->seg || before->start != v->start ||
        before->n_base != v->n_base)
        return NULL;
    return before->evidence;
}

/* Adds the evidence of the proteins to that of the table. */
static int add_proteins(const cs_proteins *p, const char *base, int64_t n_base, int n_thread,
                        float *evidence)
{
    float more[CS_PROTEIN_MAX_CLASSES];
    const int rc = cs_proteins_evidence(p, base, n_base, n_thread, more);

    for (int32_t k = 0; rc == CS_OK && k < p->n_class; k++)
        evidence[k] += more[k];
    return rc;
}

int cs_evidence_of(const cs_model *m, const char *base, int64_t n_base, int n_thread,
                   float *evidence)
{
    if (m->lookup)
        cs_lookup_evidence(m->lookup, base, n_base, n_thread, evidence);
    else
        memset(evidence, 0, (size_t)m->n_label * sizeof *evidence);
    return m->proteins ? add_proteins(m->proteins, base, n_base, n_thread, evidence) : CS_OK;
}

/* The views of a chunk that have evidence of their own. */
struct job {
    const cs_model *m;
    const cs_chunk *c;
    float *evidence;             /* [views][n_label] */
    int64_t long_view;           /* bases: all threads share a longer view */
};

static bool has_own(const struct job *j, int32_t k)
{
    return j->c->views->view[k].evidence == j->evidence + (size_t)k * (size_t)j->m->n_label;
}

static bool is_long(const struct job *j, int32_t k)
{
    return j->c->views->view[k].n_base > j->long_view;
}

static int look_up(const struct job *j, int32_t k, int n_thread)
{
    const cs_view *v = &j->c->views->view[k];
    const char *base = j->c->rec[v->rec].seg[v->seg].base + v->start;

    return cs_evidence_of(j->m, base, v->n_base, n_thread,
                          j->evidence + (size_t)k * (size_t)j->m->n_label);
}

/* Long views are those with more than a thread's share of the bases. */
static int look_up_views(struct job *j, int n_thread)
{
    const int32_t n = j->c->views->n;
    int64_t n_base = 0;
    int failed = CS_OK;

    for (int32_t k = 0; k < n; k++)
        n_base += has_own(j, k) ? j->c->views->view[k].n_base : 0;
    j->long_view = n_base / n_thread > MIN_LONG ? n_base / n_thread : MIN_LONG;
    #pragma omp parallel for schedule(dynamic) num_threads(n_thread) if (n_thread > 1)
    for (int32_t k = 0; k < n; k++) {
        const int rc = has_own(j, k) && !is_long(j, k) ? look_up(j, k, 1) : CS_OK;
        if (rc != CS_OK) {
            #pragma omp atomic write
            failed = rc;
        }
    }
    for (int32_t k = 0; failed == CS_OK && k < n; k++)
        failed = has_own(j, k) && is_long(j, k) ? look_up(j, k, n_thread) : CS_OK;
    return failed;
}

int cs_evidence_find(const cs_policy *p, cs_chunk *c, int n_thread)
{
    const cs_model *m = p->model;
    const int32_t n = c->views->n;

    if (!cs_model_has_evidence(m) || p->output != CS_HEAD_PREDICTION)
        return CS_OK;
    struct job j = { .m = m, .c = c, .evidence = cs_arena_alloc(
        c->mem, (size_t)n * (size_t)m->n_label, sizeof *j.evidence) };
    if (j.evidence == NULL)
        return cs_fail(CS_EMEM, "out of memory for the look-up of %d views", (int)n);
    for (int32_t k = 0; k < n; k++) {
        cs_view *v = &c->views->view[k];
        const float *same = v->reason ? NULL : of_other_strand(c, k);
        float *own = j.evidence + (size_t)k * (size_t)m->n_label;
        v->evidence = v->reason ? NULL : same ? same : own;
    }
    const int rc = look_up_views(&j, m->proteins ? n_thread : 1);
    if (rc != CS_OK)
        return cs_fail(rc, "out of memory to search the records from '%s' to '%s' for proteins",
                       c->rec[0].name, c->rec[c->n - 1].name);
    return CS_OK;
}

void cs_evidence_add(const cs_view *v, int64_t n)
{
    for (int64_t k = 0; v->evidence != NULL && k < n; k++)
        v->v[k] += v->evidence[k];
}
