/* tokenise_stage.c - the tokenise stage: a chunk's views, their tokens, and space for predictions.
 *
 * DESIGN. Token ids take four times the memory of bases and are needed briefly: a chunk's ids are
 * in one block, cs_views.id, which the bucket stage frees after copying them into batches, so
 * chunks that wait for the writer are small. Of long sequences only token counts are kept, where
 * they suffice.
 */
#include "infer/tokenise_stage.h"

#include <limits.h>
#include <string.h>

#include "infer/evidence.h"
#include "infer/stage.h"
#include "infer/views.h"

/* ---- a chunk -------------------------------------------------------------------------------- */

void cs_chunk_free_ids(cs_chunk *c)
{
    if (!c->views)
        return;
    cs_block_free(c->views->id);
    c->views->id = NULL;
    c->views->n_id = 0;
}

static int tokenise_no_memory(const cs_policy *p, const cs_chunk *c, const char *what, int64_t n)
{
    const bool may_cut = cs_policy_may_cut(p);
    return cs_fail(CS_EMEM, "out of memory for %lld %s of the records from '%s' to '%s'%s%s%s",
                   (long long)n, what, c->rec[0].name, c->rec[c->n - 1].name, may_cut ? "; " : "",
                   may_cut ? CS_OPTION("long-sequence window") : "",
                   may_cut ? " splits long records" : "");
}

static int list_views(const cs_policy *p, cs_chunk *c)
{
    int64_t n = 0;

    for (int i = 0; i < c->n; i++)
        n += cs_views_count(p, &c->rec[i]);
    if (n > INT_MAX / 2)
        return tokenise_no_memory(p, c, "windows", n);
    cs_views *v = c->views = cs_arena_alloc(c->mem, 1, sizeof *v);
    if (!v)
        return tokenise_no_memory(p, c, "windows", n);
    *v = (cs_views){ .n = (int32_t)n };
    v->prediction = cs_arena_alloc(c->mem, (size_t)c->n, sizeof *v->prediction);
    v->first = cs_arena_alloc(c->mem, (size_t)c->n + 1, sizeof *v->first);
    v->view = cs_arena_alloc(c->mem, (size_t)n, sizeof *v->view);
    if (!v->prediction || !v->first || !v->view)
        return tokenise_no_memory(p, c, "windows", n);
    memset(v->prediction, 0, (size_t)c->n * sizeof *v->prediction);
    v->first[0] = 0;
    for (int i = 0; i < c->n; i++) {
        v->first[i + 1] = v->first[i] + (int32_t)cs_views_count(p, &c->rec[i]);
        cs_views_list(p, &c->rec[i], i, v->view + v->first[i]);
    }
    return CS_OK;
}

/* One block for the ids of all views, each with the upper bound of its bases' tokens. */
static int reserve_ids(const cs_policy *p, cs_chunk *c)
{
    for (int32_t k = 0; p->model->tok && k < c->views->n; k++)
        c->views->n_id += c->views->view[k].tok.n;
    c->views->id = cs_block_alloc((size_t)c->views->n_id + 1, sizeof *c->views->id);
    if (!c->views->id)
        return tokenise_no_memory(p, c, "tokens", c->views->n_id);
    int32_t *id = c->views->id;
    for (int32_t k = 0; p->model->tok && k < c->views->n; k++) {
        c->views->view[k].tok.id = id;
        id += c->views->view[k].tok.n;
    }
    return CS_OK;
}

/* Counts of the views whose tokens are counted. */
static int reserve_counts(const cs_policy *p, cs_chunk *c)
{
    const cs_model *m = p->model;

    for (int32_t k = 0; k < c->views->n; k++) {
        cs_view *v = &c->views->view[k];
        if (!cs_view_counts(p, v))
            continue;
        v->count = cs_arena_alloc(c->mem, (size_t)m->tok->n_vocab(m->tok_state), sizeof *v->count);
        if (!v->count)
            return tokenise_no_memory(p, c, "counts", m->tok->n_vocab(m->tok_state));
    }
    return CS_OK;
}

/* Tokenise all views, each with scratch memory for the tokenizer and reversed bases. */
static int encode(const cs_policy *p, cs_chunk *c)
{
    int64_t max = 0;

    for (int32_t k = 0; k < c->views->n; k++) {
        const int64_t n = cs_view_scratch(p, &c->views->view[k]);
        max = n > max ? n : max;
    }
    char *scratch = cs_block_alloc((size_t)max + 1, 1);
    if (!scratch)
        return tokenise_no_memory(p, c, "bytes to work with", max);
    for (int32_t k = 0; k < c->views->n; k++)
        cs_view_encode(p, &c->rec[c->views->view[k].rec], &c->views->view[k], scratch);
    cs_block_free(scratch);
    return CS_OK;
}

static bool is_alone(const cs_chunk *c, const cs_view *v)
{
    return c->views->first[v->rec + 1] - c->views->first[v->rec] == 1;
}

/* Number of predictions that a record's concatenates. */
static int outputs_of(const cs_policy *p, const cs_chunk *c, int i)
{
    return p->pair == CS_PAIR_CONCAT ? c->rec[i].n_seg : 1;
}

/* Space for the raw values of views; a record with one view uses its prediction's memory. */
static int reserve_outputs(const cs_policy *p, cs_chunk *c)
{
    const cs_model *m = p->model;
    int64_t total = 0;

    for (int32_t k = 0; k < c->views->n; k++) {
        const cs_view *v = &c->views->view[k];
        cs_prediction *a = &c->views->prediction[v->rec];
        if (v->reason)
            continue;
        const int64_t n = cs_model_output_len(m, p->output, v->tok.n);
        total += (is_alone(c, v) ? 0 : n) + (a->n == 0 ? n * outputs_of(p, c, v->rec) : 0);
        a->n = n;
    }
    float *v = cs_arena_alloc(c->mem, (size_t)total + 1, sizeof *v);
    if (!v)
        return tokenise_no_memory(p, c, "values", total);
    for (int i = 0; i < c->n; i++) {
        c->views->prediction[i].v = v;
        v += c->views->prediction[i].n * outputs_of(p, c, i);
    }
    for (int32_t k = 0; k < c->views->n; k++) {
        cs_view *w = &c->views->view[k];
        const cs_prediction *a = &c->views->prediction[w->rec];
        w->v = is_alone(c, w) ? a->v : v;
        v += is_alone(c, w) || w->reason ? 0 : a->n;
    }
    return CS_OK;
}

int cs_chunk_tokenise(const cs_policy *p, cs_chunk *c, int n_thread)
{
    int rc = CS_OK;

    CS_TRY(list_views(p, c));
    CS_TRY(reserve_ids(p, c));
    CS_TRY(reserve_counts(p, c));
    CS_TRY(encode(p, c));
    CS_TRY(reserve_outputs(p, c));
    rc = cs_evidence_find(p, c, n_thread);
out:
    return rc;
}

/* ---- the stage ------------------------------------------------------------------------------ */

size_t cs_tokenised_bytes(const void *chunk)
{
    const cs_chunk *c = chunk;

    return cs_chunk_bytes(c) + (size_t)c->views->n_id * sizeof *c->views->id;
}

void cs_tokenised_drop(void *chunk)
{
    if (chunk)
        cs_chunk_free_ids(chunk);
    cs_chunk_free(chunk);
}

static void note_longest(cs_tokenise_stage *s, const cs_chunk *c)
{
    for (int i = 0; i < c->n; i++) {
        const int64_t n_base = cs_record_bases(&c->rec[i]);
        s->longest = n_base > s->longest ? n_base : s->longest;
    }
}

int cs_stage_tokenise(void *self, cs_queue *in, cs_queue *out)
{
    cs_tokenise_stage *s = self;
    void *item;
    int rc;

    while ((rc = cs_queue_pop(in, &item)) == CS_OK) {
        note_longest(s, item);
        rc = cs_chunk_tokenise(s->policy, item, s->n_thread);
        if (rc == CS_OK)
            rc = cs_queue_push(out, item);
        if (rc != CS_OK) {
            cs_tokenised_drop(item);
            break;
        }
    }
    return rc;
}
