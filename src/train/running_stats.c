/* running_stats.c - running statistics of batch normalisation, updated after each step.
 *
 * DESIGN. A batch updates them by r = (1 - m) r + m s, with its own statistics s, so they depend on
 * the order of batches, which several ranks process at once. Each batch therefore starts from the
 * step's initial r0; its result v gives m s = v - (1 - m) r0, and rank 0 applies those of all ranks
 * in the order of batches. A single rank does the same: between steps they are those of a whole
 * step, as stored in a checkpoint.
 */
#include "train/running_stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "nn/ops/ops.h"

/* A batch of the step: its place in their order, and the row of its result. */
struct update { uint64_t key; int64_t row; };

struct cs_running_stats {
    cs_params *ps;
    cs_group  *group;
    int        n_span;
    struct span { int64_t off, n; } *span;   /* in the slab, and what alignment leaves between */
    int64_t    n_real;           /* of all spans, end to end, as in what follows */
    cs_real   *start;            /* [n_real] values at the start of the step */
    double    *sum;              /* [n_real] work memory */
    struct update *update;       /* [n] batches of the step so far */
    cs_real   *result;           /* [n * n_real] the values after each batch alone */
    int64_t    n;
    size_t     cap_update, cap_result;
};

/* Tensors of one norm are adjacent. */
static void find_spans(cs_running_stats *r)
{
    for (int i = 0; i < r->ps->n; i++) {
        const cs_param *p = &r->ps->p[i];
        if (!p->tracks)
            continue;
        if (i > 0 && p[-1].tracks)
            r->span[r->n_span - 1].n = p->off + p->n - r->span[r->n_span - 1].off;
        else
            r->span[r->n_span++] = (struct span){ p->off, p->n };
    }
    for (int i = 0; i < r->n_span; i++)
        r->n_real += r->span[i].n;
}

static int fetch(const cs_running_stats *r, cs_real *to)
{
    cs_backend *be = r->ps->be;

    for (int i = 0; i < r->n_span; to += r->span[i++].n)
        be->op.download(be, to, r->ps->value + r->span[i].off,
                        (size_t)r->span[i].n * sizeof *to);
    return be->op.sync(be);
}

static void running_put(const cs_running_stats *r, const cs_real *from)
{
    cs_backend *be = r->ps->be;

    for (int i = 0; i < r->n_span; from += r->span[i++].n)
        be->op.upload(be, r->ps->value + r->span[i].off, from,
                      (size_t)r->span[i].n * sizeof *from);
}

int cs_running_stats_new(cs_params *ps, cs_group *g, cs_running_stats **out)
{
    int rc = CS_OK;
    cs_running_stats *r = cs_xcalloc(1, sizeof *r);

    r->ps = ps;
    r->group = g;
    r->span = cs_xcalloc((size_t)ps->n + 1, sizeof *r->span);
    find_spans(r);
    *out = NULL;
    if (r->n_span == 0)
        goto out;
    r->start = cs_alloc((size_t)r->n_real, sizeof *r->start);
    r->sum = cs_alloc((size_t)r->n_real, sizeof *r->sum);
    if (r->start == NULL || r->sum == NULL)
        rc = cs_fail(CS_EMEM, "out of memory for %lld running statistics", (long long)r->n_real);
    else
        rc = fetch(r, r->start);
    if (rc == CS_OK) {
        *out = r;
        r = NULL;
    }
out:
    cs_running_stats_free(r);
    return rc;
}

void cs_running_stats_free(cs_running_stats *r)
{
    if (r == NULL)
        return;
    CS_FREE(r->span, r->start, r->sum, r->update, r->result, r);
}

static int grow_buffers(cs_running_stats *r, int64_t n)
{
    int rc = cs_grow((void **)&r->update, &r->cap_update, (size_t)n, sizeof *r->update);

    return rc != CS_OK ? rc : cs_grow((void **)&r->result, &r->cap_result, (size_t)(n * r->n_real),
                                      sizeof *r->result);
}

int cs_running_stats_restart(cs_running_stats *r)
{
    return r != NULL ? fetch(r, r->start) : CS_OK;
}

void cs_running_stats_undo(cs_running_stats *r)
{
    if (r != NULL)
        running_put(r, r->start);
}

int cs_running_stats_take(cs_running_stats *r, uint64_t no)
{
    int rc = CS_OK;

    if (r == NULL)
        return CS_OK;
    CS_TRY(grow_buffers(r, r->n + 1));
    CS_TRY(fetch(r, r->result + r->n * r->n_real));
    running_put(r, r->start);
    /* In order of batches, then of their parts: the upper half of `no` is the part's number. */
    r->update[r->n] = (struct update){ no << 32 | no >> 32, r->n };
    r->n++;
out:
    return rc;
}

/* Append the batches of the others to those of rank 0. */
static int running_collect(cs_running_stats *r)
{
    int rc = CS_OK;
    const size_t n_bytes = (size_t)r->n_real * sizeof *r->result;
    int64_t n = r->n;

    if (cs_group_rank(r->group) > 0) {
        CS_TRY(cs_group_send(r->group, 0, &n, sizeof n));
        CS_TRY(cs_group_send(r->group, 0, r->update, (size_t)n * sizeof *r->update));
        return cs_group_send(r->group, 0, r->result, (size_t)n * n_bytes);
    }
    for (int k = 1; k < cs_group_size(r->group); k++) {
        CS_TRY(cs_group_recv(r->group, k, &n, sizeof n));
        CS_TRY(grow_buffers(r, r->n + n));
        CS_TRY(cs_group_recv(r->group, k, r->update + r->n, (size_t)n * sizeof *r->update));
        CS_TRY(cs_group_recv(r->group, k, r->result + r->n * r->n_real, (size_t)n * n_bytes));
        for (int64_t i = r->n; i < r->n + n; i++)
            r->update[i].row = i;
        r->n += n;
    }
out:
    return rc;
}

static int by_key(const void *a, const void *b)
{
    const struct update *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

/* The start values updated by all batches: rounded once. */
static void apply(cs_running_stats *r)
{
    const double keep = 1 - (double)(cs_real)CS_NORM_MOMENTUM;

    qsort(r->update, (size_t)r->n, sizeof *r->update, by_key);
    for (int64_t i = 0; i < r->n_real; i++)
        r->sum[i] = (double)r->start[i];
    for (int64_t b = 0; b < r->n; b++) {
        const cs_real *result = r->result + r->update[b].row * r->n_real;
        for (int64_t i = 0; i < r->n_real; i++)
            r->sum[i] = keep * (r->sum[i] - (double)r->start[i]) + (double)result[i];
    }
    for (int64_t i = 0; i < r->n_real; i++)
        r->start[i] = (cs_real)r->sum[i];
}

int cs_running_stats_settle(cs_running_stats *r)
{
    int rc = CS_OK;

    if (r == NULL)
        return CS_OK;
    if (r->group != NULL)
        CS_TRY(running_collect(r));
    if (r->group == NULL || cs_group_rank(r->group) == 0)
        apply(r);
    if (r->group != NULL)
        CS_TRY(cs_group_broadcast(r->group, r->start, (size_t)r->n_real * sizeof *r->start));
    running_put(r, r->start);
    r->n = 0;
out:
    return rc;
}
