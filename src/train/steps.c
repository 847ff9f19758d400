/* steps.c - arrange an epoch: samples into batches, batches into steps. */
#include "train/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "batch/batch.h"

/* Streams of an epoch's key. */
enum { STREAM_RANK = 1, STREAM_BATCH = 2 };

struct drawn {
    cs_sample sample;
    int64_t   n_tok, no;         /* number of the sample, to make the order total */
    uint64_t  rank;
    int32_t   depth;
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

static void steps_measure(struct drawn *w, const cs_batch_rules *rules)
{
    const int64_t n = w->sample.n_base;

    w->n_tok = rules->tok != NULL ? rules->tok->bound(rules->tok_state, n) : n;
    w->depth = cs_depth(w->n_tok);
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

static int plan_grouped(struct drawn *w, const cs_batch_rules *rules, uint64_t key, cs_steps *p)
{
    qsort(w, (size_t)p->n_sample, sizeof *w, by_depth);
    steps_cut(w, 0, p->n_sample, rules->batch_tokens, p);
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

/* Copies the samples in the order of w if rc is CS_OK, else reports the failure; frees w. */
static int finish_steps(int rc, struct drawn *w, int64_t n, cs_steps *out)
{
    for (int64_t j = 0; rc == CS_OK && j < n; j++)
        out->sample[j] = w[j].sample;
    free(w);
    if (rc == CS_OK)
        return CS_OK;
    cs_steps_release(out);
    return fail_memory(n);
}

int cs_steps_plan(const cs_sampler *s, uint64_t epoch, const cs_batch_rules *rules, cs_steps *out)
{
    const int64_t n = cs_sampler_count(s);
    const uint64_t key = cs_sampler_key(s, epoch);
    int rc = CS_OK;
    struct drawn *w = NULL;

    CS_TRY(steps_reserve(n, out, &w));
    for (int64_t j = 0; j < n; j++) {
        w[j] = (struct drawn){ .sample = cs_sampler_get(s, epoch, j), .no = j,
                               .rank = cs_rng_u64(cs_rng_key(key, STREAM_RANK), (uint64_t)j) };
        steps_measure(&w[j], rules);
    }
    if (rules->step_records > 0)
        plan_mixed(w, rules, out);
    else
        CS_TRY(plan_grouped(w, rules, key, out));
out:
    return finish_steps(rc, w, n, out);
}

void cs_steps_release(cs_steps *p)
{
    CS_FREE(p->sample, p->batch, p->step);
    *p = (cs_steps){ 0 };
}
