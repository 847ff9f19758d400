/*
 * plan.c - memory plans: the memory of batches by dry runs, and the batches that fit.
 *
 * DESIGN
 * A dry run counts the memory of a batch of one shape (cs_plan_memory()). For a token budget, every
 * depth is tried with the maximum number of sequences, those of minimum length for the depth.
 * Budgets are powers of two, so small changes of free memory do not change them, nor, on a GPU, the
 * last bits of predictions.
 */
#include "nn/exec/plan.h"

#include "nn/exec/pass.h"
#include "nn/exec/staging.h"

enum { MIN_BATCH = 1024 };

/* Tokens: beyond any sequence, but the bytes of all activations are an int64_t. */
#define LONGEST (INT64_C(1) << 36)

int64_t cs_plan_memory(cs_session *s, int64_t n_tok, int32_t n_seg, int32_t depth, bool training)
{
    const cs_step_opt step = { .scale = 1 };
    const cs_pass_input whole = { .n_tok = n_tok, .n_seg = n_seg, .depth = depth,
                                  .on_device = !training && cs_staging_has(s->be),
                                  .train = training ? &step : NULL };
    const cs_pass_input in = cs_pass_input_parts(s, &whole, true);
    const cs_mat y = cs_pass(s, &in, true);

    if (training)
        cs_backward(&s->cx);
    else
        s->cx.grad_peak = 0;
    return (s->cx.peak + s->cx.grad_peak) * (int64_t)sizeof(cs_real)
         + (training ? 0 : cs_staging_bytes(s, n_tok, n_seg, y.r * y.c));
}

/* Memory already held for activations is reused. */
static int64_t held_bytes(const cs_session *s)
{
    int64_t n = (s->cx.cap + s->cx.grad_cap + s->cx.cached_cap) * (int64_t)sizeof(cs_real);

    for (int i = 0; i < CS_STAGING_SLOTS; i++)
        n += (int64_t)(s->staging[i].in.cap + s->staging[i].out.cap);
    return n;
}

/* Quarters of the CPU's memory to use. */
static int64_t free_memory(const cs_session *s, int64_t host_quarters)
{
    int64_t min = INT64_MAX;

    for (cs_backend *be = s->be; be; be = be->next) {
        const int64_t n_free = be->op.free_memory(be);
        const int64_t part = be->is_host ? n_free / 4 * host_quarters : n_free / 10 * 9;
        const int64_t own = be == s->be ? held_bytes(s)
                                        : -s->model->ps.n_real * (int64_t)sizeof(cs_real);
        if (part < INT64_MAX - (own > 0 ? own : 0) && part + own < min)
            min = part + own;
    }
    return min > 0 ? min : 0;
}

int64_t cs_plan_free_memory(const cs_session *s)
{
    return free_memory(s, 2);
}

static int64_t bytes_of(cs_session *s, int64_t n_tok, int32_t n_seg, int32_t depth)
{
    const int64_t n = cs_plan_memory(s, n_tok, n_seg, depth, false);

    return n + s->cx.cached_need * (int64_t)sizeof(cs_real);
}

static int32_t deepest(const cs_model *m, int64_t n_tok)
{
    const int64_t max_len = cs_model_max_len(m);

    return cs_depth(max_len > 0 && max_len < n_tok ? max_len : n_tok);
}

static bool batch_fits(cs_session *s, int64_t n_tok, int64_t n_free)
{
    for (int32_t d = deepest(s->model, n_tok); d >= 0; d--) {
        const int64_t shortest = d > 0 ? (INT64_C(1) << (d - 1)) + 1 : 1;
        const int64_t n_seg = n_tok / shortest;
        if (bytes_of(s, n_tok, (int32_t)(n_seg > 0 ? n_seg : 1), d) > n_free)
            return false;
    }
    return true;
}

int64_t cs_plan_batch(cs_session *s)
{
    const int64_t n_free = cs_plan_free_memory(s);
    int64_t n = s->be->is_host ? CS_PLAN_CPU : CS_PLAN_DEVICE;

    while (n > MIN_BATCH && !batch_fits(s, n, n_free))
        n /= 2;
    return n;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Does training fit, including the growth of memory already held? */
static bool keeping_fits(cs_session *s, const cs_batch *shape, int32_t keep, int64_t n_free)
{
    s->cx.keep = keep;
    (void)cs_plan_memory(s, shape->n_tok, shape->n_seg, shape->depth, true);
    return (larger(s->cx.peak, s->cx.cap) + larger(s->cx.grad_peak, s->cx.grad_cap))
               * (int64_t)sizeof(cs_real) <= n_free;
}

int32_t cs_plan_checkpoint_blocks(cs_session *s, int64_t n_tok, int32_t n_seg, int32_t depth,
                                  int32_t max_blocks)
{
    const cs_batch shape = { .n_tok = n_tok, .n_seg = n_seg, .depth = depth };
    int32_t lo = 1, hi = max_blocks == CS_KEEP_ALL ? CS_CHECKPOINT_INPUTS : max_blocks;

    /* Querying free memory takes longer than a small batch. */
    if (keeping_fits(s, &shape, max_blocks, held_bytes(s)))
        return max_blocks;
    const int64_t n_free = free_memory(s, 3);
    if (keeping_fits(s, &shape, max_blocks, n_free))
        return max_blocks;
    while (lo < hi) {
        const int32_t mid = lo + (hi - lo + 1) / 2;
        if (keeping_fits(s, &shape, mid, n_free))
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

int64_t cs_plan_longest(cs_session *s, int64_t max_memory)
{
    const int64_t n_free = max_memory > 0 ? max_memory : cs_plan_free_memory(s);
    const int64_t max_len = cs_model_max_len(s->model);
    int64_t lo = 0, hi = max_len > 0 ? max_len : LONGEST;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo + 1) / 2;
        if (bytes_of(s, mid, 1, cs_depth(mid)) <= n_free)
            lo = mid;
        else
            hi = mid - 1;
    }
    return max_len == 0 && lo == LONGEST ? INT64_MAX : lo;
}
