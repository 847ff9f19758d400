/* steps.c - arrange an epoch: samples into batches, batches into steps. */
#include "train/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "batch/batch.h"

/* Streams of an epoch's key. */
enum { STREAM_RANK = 1, STREAM_BATCH = 2 };

/* A sample without its values, which the sampler repeats: qsort() is slower for larger ones. */
struct drawn {
    int64_t  n_tok, no;          /* number of the sample, to make the order total */
    uint64_t rank;
    int32_t  depth;
};

static int by_rank(const void *pa, const void *pb)
{
    const struct drawn *a = pa, *b = pb;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->no < b->no ? -1 : a->no > b->no;
}

static int by_depth(const void *pa, const void *pb)
{
    const struct drawn *a = pa, *b = pb;

    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return by_rank(pa, pb);
}

static void steps_draw(const cs_sampler *s, uint64_t epoch, const cs_batch_rules *rules,
                       int64_t n, struct drawn *w)
{
    const uint64_t key = cs_rng_key(cs_sampler_key(s, epoch), STREAM_RANK);

    for (int64_t j = 0; j < n; j++) {
        const int64_t n_base = cs_sampler_get(s, epoch, j).n_base;
        const int64_t n_tok = rules->tok != NULL ? rules->tok->bound(rules->tok_state, n_base)
                                                 : n_base;
        w[j] = (struct drawn){ n_tok, j, cs_rng_u64(key, (uint64_t)j), cs_depth(n_tok) };
    }
}

/* Makes batches (cs_batch_takes) of drawn[lo..hi), which is sorted by depth. */
static void steps_cut(const struct drawn *w, int64_t lo, int64_t hi, int64_t budget, cs_steps *p)
{
    int64_t n_tok = 0;

    for (int64_t i = lo; i < hi; i++) {
        if (i == lo || !cs_batch_takes(w[i - 1].depth, n_tok, w[i].n_tok, budget)) {
            p->batch[p->n_batch++] = i;
            n_tok = 0;
        }
        n_tok += w[i].n_tok;
    }
    p->batch[p->n_batch] = hi;
}

static void plan_mixed(struct drawn *w, const cs_batch_rules *rules, cs_steps *p)
{
    qsort(w, (size_t)p->n_sample, sizeof *w, by_rank);
    for (int64_t lo = 0, hi; lo < p->n_sample; lo = hi) {
        hi = lo + rules->step_records < p->n_sample ? lo + rules->step_records : p->n_sample;
        qsort(w + lo, (size_t)(hi - lo), sizeof *w, by_depth);
        p->step[p->n_step++] = p->n_batch;
        steps_cut(w, lo, hi, rules->batch_tokens, p);
    }
    p->step[p->n_step] = p->n_batch;
}

/* Puts the batches in a random order: the samples are copied into `to` in that order. */
static int shuffle_batches(struct drawn *w, uint64_t key, cs_steps *p)
{
    const size_t n = (size_t)p->n_batch;
    int64_t *order = cs_alloc(n, sizeof *order), *first = cs_alloc(n + 1, sizeof *first);
    struct drawn *to = cs_alloc((size_t)p->n_sample, sizeof *to);
    int rc = order != NULL && first != NULL && to != NULL ? CS_OK : CS_EMEM;
    int64_t at = 0;

    if (rc != CS_OK)
        goto out;
    for (int64_t b = 0; b < p->n_batch; b++)
        order[b] = b;
    cs_rng_shuffle(key, order, p->n_batch);
    for (int64_t b = 0; b < p->n_batch; b++) {
        const int64_t lo = p->batch[order[b]], len = p->batch[order[b] + 1] - lo;
        memcpy(to + at, w + lo, (size_t)len * sizeof *to);
        first[b] = at;
        at += len;
    }
    first[p->n_batch] = at;
    memcpy(w, to, (size_t)p->n_sample * sizeof *to);
    memcpy(p->batch, first, (n + 1) * sizeof *first);
out:
    CS_FREE(to, first, order);
    return rc;
}

static void cut_grouped(struct drawn *w, const cs_batch_rules *rules, cs_steps *p)
{
    qsort(w, (size_t)p->n_sample, sizeof *w, by_depth);
    steps_cut(w, 0, p->n_sample, rules->batch_tokens, p);
}

static int plan_grouped(struct drawn *w, const cs_batch_rules *rules, uint64_t key, cs_steps *p)
{
    cut_grouped(w, rules, p);
    if (shuffle_batches(w, cs_rng_key(key, STREAM_BATCH), p) != CS_OK)
        return CS_EMEM;
    for (int64_t b = 0; b < p->n_batch; b += rules->accumulate)
        p->step[p->n_step++] = b;
    p->step[p->n_step] = p->n_batch;
    return CS_OK;
}

static int steps_reserve(int64_t n, cs_steps *p, struct drawn **w)
{
    *p = (cs_steps){ .n_sample = n };
    p->sample = cs_alloc((size_t)n, sizeof *p->sample);
    p->batch = cs_alloc((size_t)n + 1, sizeof *p->batch);
    p->step = cs_alloc((size_t)n + 1, sizeof *p->step);
    *w = cs_alloc((size_t)n, sizeof **w);
    return p->sample && p->batch && p->step && *w ? CS_OK : CS_EMEM;
}

static int fail_memory(int64_t n)
{
    return cs_fail(CS_EMEM, "out of memory to arrange %lld samples", (long long)n);
}

int cs_steps_plan(const cs_sampler *s, uint64_t epoch, const cs_batch_rules *rules, cs_steps *out)
{
    const int64_t n = cs_sampler_count(s);
    int rc = CS_OK;
    struct drawn *w = NULL;

    CS_TRY(steps_reserve(n, out, &w));
    steps_draw(s, epoch, rules, n, w);
    if (rules->step_records > 0)
        plan_mixed(w, rules, out);
    else
        CS_TRY(plan_grouped(w, rules, cs_sampler_key(s, epoch), out));
    for (int64_t j = 0; j < n; j++)
        out->sample[j] = cs_sampler_get(s, epoch, w[j].no);
out:
    free(w);
    if (rc == CS_OK)
        return CS_OK;
    cs_steps_release(out);
    return fail_memory(n);
}

int cs_steps_count(const cs_sampler *s, uint64_t epoch, const cs_batch_rules *rules, int64_t *n)
{
    const int64_t n_sample = cs_sampler_count(s);

    if (rules->step_records > 0) {
        *n = (n_sample + rules->step_records - 1) / rules->step_records;
        return CS_OK;
    }
    cs_steps p = { .n_sample = n_sample, .batch = cs_alloc((size_t)n_sample + 1, sizeof *p.batch) };
    struct drawn *w = cs_alloc((size_t)n_sample, sizeof *w);
    const int rc = p.batch != NULL && w != NULL ? CS_OK : fail_memory(n_sample);
    if (rc == CS_OK) {
        steps_draw(s, epoch, rules, n_sample, w);
        cut_grouped(w, rules, &p);
        *n = (p.n_batch + rules->accumulate - 1) / rules->accumulate;
    }
    CS_FREE(p.batch, w);
    return rc;
}

void cs_steps_release(cs_steps *p)
{
    CS_FREE(p->sample, p->batch, p->step);
    *p = (cs_steps){ 0 };
}
