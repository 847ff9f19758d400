/* evidence.c - evidence of a model's look-up table and proteins for views. */
#include "infer/evidence.h"

#include <string.h>

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
static int add_proteins(const cs_proteins *p, const char *base, int64_t n_base, float *evidence)
{
    float more[CS_PROTEIN_MAX_CLASSES];
    const int rc = cs_proteins_evidence(p, base, n_base, more);

    for (int32_t k = 0; rc == CS_OK && k < p->n_class; k++)
        evidence[k] += more[k];
    return rc;
}

int cs_evidence_of(const cs_model *m, const char *base, int64_t n_base, float *evidence)
{
    if (m->lookup)
        cs_lookup_evidence(m->lookup, base, n_base, evidence);
    else
        memset(evidence, 0, (size_t)m->n_label * sizeof *evidence);
    return m->proteins ? add_proteins(m->proteins, base, n_base, evidence) : CS_OK;
}

static int look_up(const cs_model *m, const cs_chunk *c, const cs_view *v, float *evidence)
{
    return cs_evidence_of(m, c->rec[v->rec].seg[v->seg].base + v->start, v->n_base, evidence);
}

int cs_chunk_look_up(const cs_policy *p, cs_chunk *c, int n_thread)
{
    const cs_model *m = p->model;
    const int32_t n = c->views->n, n_class = m->n_label;
    int failed = CS_OK;

    if (!cs_model_has_evidence(m) || p->output != CS_HEAD_PREDICTION)
        return CS_OK;
    float *evidence = cs_arena_alloc(c->mem, (size_t)n * (size_t)n_class, sizeof *evidence);
    if (evidence == NULL)
        return cs_fail(CS_EMEM, "out of memory for the look-up of %d views", (int)n);
    for (int32_t k = 0; k < n; k++) {
        cs_view *v = &c->views->view[k];
        const float *same = v->reason ? NULL : of_other_strand(c, k);
        v->evidence = v->reason ? NULL : same ? same : evidence + (size_t)k * (size_t)n_class;
    }
    (void)n_thread;                                /* without OpenMP */
    #pragma omp parallel for schedule(dynamic) num_threads(n_thread) if (m->proteins)
    for (int32_t k = 0; k < n; k++) {
        const cs_view *v = &c->views->view[k];
        float *own = evidence + (size_t)k * (size_t)n_class;
        const int rc = v->evidence == own ? look_up(m, c, v, own) : CS_OK;
        if (rc != CS_OK) {
            #pragma omp atomic write
            failed = rc;
        }
    }
    if (failed != CS_OK)
        return cs_fail(failed, "out of memory to search the records from '%s' to '%s' for proteins",
                       c->rec[0].name, c->rec[c->n - 1].name);
    return CS_OK;
}

void cs_view_add_evidence(const cs_view *v, int64_t n)
{
    for (int64_t k = 0; v->evidence != NULL && k < n; k++)
        v->v[k] += v->evidence[k];
}
