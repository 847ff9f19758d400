/*
 * plan.c - how much fits a device: batches and single sequences, by dry runs, before any is read.
 *
 * DESIGN
 * A dry run says what a batch of one shape takes (cs_model_memory()). Of the batches that a budget
 * of tokens allows, those of one depth hold from one sequence to as many as are just long enough
 * for it, and all depths are asked with as many sequences as there can be. Budgets are powers of
 * two, so that a little more or less free memory does not change them, and with them, on a GPU, the
 * last bits of answers.
 */
#include "nn/exec/plan.h"

enum { LEAST_BATCH = 1024, LONGEST = 1 << 30 };

/* What is held for activations already will be used again. */
static int64_t held_bytes(const cs_model *m)
{
    int64_t n = (m->cx.cap + m->cx.grad_cap + m->cx.kept_cap) * (int64_t)sizeof(cs_real);

    for (int i = 0; i < CS_BERTHS; i++)
        n += (int64_t)(m->berth[i].in.cap + m->berth[i].out.cap);
    return n;
}

/* Of the processor's memory so many quarters. */
static int64_t room_of(const cs_model *m, int64_t host_quarters)
{
    int64_t least = INT64_MAX;

    for (cs_backend *be = m->be; be; be = be->next) {
        const int64_t n_free = be->op.room(be);
        const int64_t part = be->is_host ? n_free / 4 * host_quarters : n_free / 10 * 9;
        const int64_t own = be == m->be ? held_bytes(m)
                                        : -m->ps.n_real * (int64_t)sizeof(cs_real);
        if (part < INT64_MAX - (own > 0 ? own : 0) && part + own < least)
            least = part + own;
    }
    return least > 0 ? least : 0;
}

int64_t cs_plan_room(cs_model *m)
{
    return room_of(m, 2);
}

static int64_t bytes_of(cs_model *m, int64_t n_tok, int32_t n_seg, int32_t depth)
{
    const int64_t n = cs_model_memory(m, n_tok, n_seg, depth, false);

    return n + m->cx.kept_need * (int64_t)sizeof(cs_real);
}

static int32_t deepest(const cs_model *m, int64_t n_tok)
{
    const int64_t most = cs_model_max_len(m);

    return cs_depth(most > 0 && most < n_tok ? most : n_tok);
}

static bool batch_fits(cs_model *m, int64_t n_tok, int64_t room)
{
    for (int32_t d = deepest(m, n_tok); d >= 0; d--) {
        const int64_t shortest = d > 0 ? (INT64_C(1) << (d - 1)) + 1 : 1;
        const int64_t n_seg = n_tok / shortest;
        if (bytes_of(m, n_tok, (int32_t)(n_seg > 0 ? n_seg : 1), d) > room)
            return false;
    }
    return true;
}

int64_t cs_plan_batch(cs_model *m)
{
    const int64_t room = cs_plan_room(m);
    int64_t n = m->be->is_host ? CS_PLAN_CPU : CS_PLAN_DEVICE;

    while (n > LEAST_BATCH && !batch_fits(m, n, room))
        n /= 2;
    return n;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Does learning fit, with what is held already growing as it needs? */
static bool keeping_fits(cs_model *m, const cs_batch *shape, int32_t keep, int64_t room)
{
    m->cx.keep = keep;
    (void)cs_model_memory(m, shape->n_tok, shape->n_seg, shape->depth, true);
    return (larger(m->cx.peak, m->cx.cap) + larger(m->cx.grad_peak, m->cx.grad_cap))
               * (int64_t)sizeof(cs_real) <= room;
}

int32_t cs_plan_keep(cs_model *m, int64_t n_tok, int32_t n_seg, int32_t depth, int32_t most)
{
    const cs_batch shape = { .n_tok = n_tok, .n_seg = n_seg, .depth = depth };
    int32_t lo = 1, hi = most == CS_KEEP_ALL ? CS_KEEP_INPUTS : most;

    /* Asking for the room takes longer than a small batch. */
    if (keeping_fits(m, &shape, most, held_bytes(m)))
        return most;
    const int64_t room = room_of(m, 3);
    if (keeping_fits(m, &shape, most, room))
        return most;
    while (lo < hi) {
        const int32_t mid = lo + (hi - lo + 1) / 2;
        if (keeping_fits(m, &shape, mid, room))
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

int64_t cs_plan_longest(cs_model *m)
{
    const int64_t room = cs_plan_room(m), most = cs_model_max_len(m);
    int64_t lo = 0, hi = most > 0 ? most : LONGEST;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo + 1) / 2;
        if (bytes_of(m, mid, 1, cs_depth(mid)) <= room)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}
