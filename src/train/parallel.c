/* parallel.c - exchange between the ranks of a training run.
 *
 * DESIGN. Every rank has all parameters and takes every optimiser step, with the sum of all ranks'
 * gradients; the sum has identical bits everywhere, so parameters are never sent. Rank 0 sums in
 * the order of ranks, so a run with R ranks is reproducible bit for bit. If devices sum (NCCL), the
 * order is theirs. They start only after every rank has reported to rank 0, so a failed rank is
 * detected before a collective could hang.
 */
#include "train/parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"

enum { PIECE = 1 << 16 };        /* reals per message */

struct cs_parallel {
    cs_group  *group;
    cs_params *ps;
    /* A cs_step_report and a byte per tensor, is it touched?, of this rank; of all, on rank 0 */
    char      *report, *all;
    size_t     report_bytes;
    cs_real   *piece;            /* [PIECE], on rank 0 [n_rank * PIECE] */
    cs_real   *host;             /* [n_real], if the backend has its own memory */
    bool       reduces;          /* the devices sum among themselves */
};

static int watch_ranks(void *arg)
{
    return cs_group_check(arg);
}

/* Devices sum on all ranks or on none; otherwise the sums are computed here. */
static int join_devices(cs_parallel *p)
{
    int rc = CS_OK;
    cs_backend *be = p->ps->be;
    unsigned char id[CS_REDUCE_ID] = { 0 };
    char about[256], can = 0, *all = cs_xcalloc((size_t)cs_group_size(p->group), 1);

    cs_reducer_about(about, sizeof about);
    can = be->reduce != NULL && strncmp(about, "NCCL", 4) == 0;
    CS_TRY(cs_group_gather(p->group, &can, 1, all));
    for (int r = 1; cs_group_rank(p->group) == 0 && r < cs_group_size(p->group); r++)
        can &= all[r];
    CS_TRY(cs_group_broadcast(p->group, &can, 1));
    if (!can && be->reduce != NULL)
        cs_warn("gradients are summed on the CPU, which is slower: %s",
                strncmp(about, "NCCL", 4) == 0 ? "another rank has no NCCL" : about);
    if (!can)
        goto out;
    if (cs_group_rank(p->group) == 0)
        CS_TRY(be->reduce->id(be, id));
    CS_TRY(cs_group_broadcast(p->group, id, sizeof id));
    cs_group_wait(p->group);
    CS_TRY(be->reduce->join(be, id, cs_group_rank(p->group), cs_group_size(p->group),
                            (cs_reduce_watch){ watch_ranks, p->group }));
    p->reduces = true;
    cs_info("gradients are summed by %s", about);
    rc = cs_group_barrier(p->group);
out:
    free(all);
    return rc;
}

int cs_parallel_new(cs_group *g, cs_params *ps, cs_parallel **out)
{
    int rc = CS_OK;
    const size_t n = cs_group_rank(g) == 0 ? (size_t)cs_group_size(g) : 1;
    cs_parallel *p = cs_xcalloc(1, sizeof *p);

    p->group = g;
    p->ps = ps;
    p->report_bytes = sizeof(cs_step_report) + (size_t)ps->n;
    p->report = cs_alloc(p->report_bytes, 1);
    p->all = cs_alloc(p->report_bytes, n);
    p->piece = cs_alloc(PIECE * n, sizeof *p->piece);
    p->host = ps->be->is_host ? NULL : cs_alloc((size_t)ps->n_real, sizeof *p->host);
    if (p->report == NULL || p->all == NULL || p->piece == NULL ||
        (p->host == NULL && !ps->be->is_host))
        rc = cs_fail(CS_EMEM, "out of memory for the gradients of %d ranks", cs_group_size(g));
    if (rc == CS_OK)
        rc = join_devices(p);
    if (rc != CS_OK) {
        cs_parallel_free(p);
        p = NULL;
    }
    *out = p;
    return rc;
}

void cs_parallel_free(cs_parallel *p)
{
    if (p == NULL)
        return;
    if (p->reduces)
        p->ps->be->reduce->finalize(p->ps->be);
    CS_FREE(p->report, p->all, p->piece, p->host, p);
}

/* ---- agreement ------------------------------------------------------------------------------- */

static int compare_recipes(int rank, const char *first, const char *own)
{
    while (*first != '\0' || *own != '\0') {
        const int n = (int)strcspn(first, "\n"), k = (int)strcspn(own, "\n");
        if (n != k || strncmp(first, own, (size_t)n) != 0)
            return cs_fail(CS_EUSAGE, "rank 0 has '%.*s', rank %d '%.*s'; start all ranks with "
                           "the same options and data, on identical machines", n, first, rank, k,
                           own);
        first += n + (first[n] == '\n');
        own += k + (own[k] == '\n');
    }
    return CS_OK;
}

/* Hash of all values and the optimiser's counters. */
static int hash_state(cs_parallel *p, const cs_train_state *st, uint64_t *out)
{
    const cs_params *ps = p->ps;
    cs_real *v = ps->be->is_host ? ps->value : p->host;
    uint64_t h = cs_rng_u64((uint64_t)st->epoch, (uint64_t)st->step), bits;

    if (!ps->be->is_host)
        ps->be->op.download(ps->be, v, ps->value, (size_t)ps->n_real * sizeof *v);
    const int rc = ps->be->op.sync(ps->be);
    for (int64_t i = 0; i < ps->n_real; i++) {
        bits = 0;
        memcpy(&bits, &v[i], sizeof v[i]);
        h = cs_rng_u64(h, bits);
    }
    for (int i = 0; i < ps->n; i++)
        h = cs_rng_u64(h, (uint64_t)ps->p[i].step);
    *out = h;
    return rc;
}

int cs_parallel_agree(cs_parallel *p, const cs_loop_opt *o, const cs_train_state *st)
{
    int rc = CS_OK;
    const int rank = cs_group_rank(p->group);
    const size_t size = strlen(o->recipe) + 256;
    uint64_t n, own = 0, hash = 0;
    char *recipe = cs_alloc(size, 1), *first = NULL;

    if (recipe == NULL)
        return cs_fail(CS_EMEM, "out of memory for the options of this run");
    (void)snprintf(recipe, size, "%sstop-after=%lld\ncheckpoint-steps=%lld\ndevice=%s\n"
                   "kernels=%s\n", o->recipe, (long long)o->stop_after,
                   (long long)o->checkpoint_steps, p->ps->be->name, cs_cpu_kernels());
    n = strlen(recipe);
    CS_TRY(cs_group_broadcast(p->group, &n, sizeof n));
    first = cs_alloc((size_t)n + 1, 1);
    if (first == NULL) {
        rc = cs_fail(CS_EMEM, "out of memory for the options of rank 0");
        goto out;
    }
    if (rank == 0)
        memcpy(first, recipe, (size_t)n);
    CS_TRY(cs_group_broadcast(p->group, first, (size_t)n));
    first[n] = '\0';
    CS_TRY(compare_recipes(rank, first, recipe));
    CS_TRY(hash_state(p, st, &own));
    hash = own;
    CS_TRY(cs_group_broadcast(p->group, &hash, sizeof hash));
    if (hash != own)
        rc = cs_fail(CS_EUSAGE, "the initial parameters of rank %d differ from rank 0: all ranks "
                     "must see the same checkpoint, and the same model for --init", rank);
    if (rc == CS_OK)
        rc = cs_group_barrier(p->group);
out:
    CS_FREE(recipe, first);
    return rc;
}

/* An error found by rank 0 reaches all ranks when it disconnects. */
int cs_parallel_verify(cs_parallel *p, const cs_train_state *st)
{
    int rc = CS_OK;
    const int n = cs_group_size(p->group);
    uint64_t own = 0, *all = cs_xcalloc((size_t)n, sizeof *all);

    CS_TRY(hash_state(p, st, &own));
    CS_TRY(cs_group_gather(p->group, &own, sizeof own, all));
    for (int r = 1; r < n && cs_group_rank(p->group) == 0 && rc == CS_OK; r++)
        if (all[r] != own)
            rc = cs_fail(CS_EMODEL, "after step %lld the parameters of rank %d differ from rank "
                         "0: its CPU, device or libraries round differently; train on identical "
                         "machines", (long long)st->step, r);
    if (rc == CS_OK)
        rc = cs_group_barrier(p->group);
out:
    free(all);
    return rc;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void add_report(char *to, const char *from, int n_tensor)
{
    cs_step_report total, more;

    memcpy(&total, to, sizeof total);
    memcpy(&more, from, sizeof more);
    cs_train_sums_add(&total.sum, &more.sum);
    total.pause |= more.pause;
    memcpy(to, &total, sizeof total);
    for (int i = 0; i < n_tensor; i++)
        to[sizeof total + (size_t)i] |= from[sizeof total + (size_t)i];
}

static int sum_reports(cs_parallel *p, cs_step_report *r)
{
    int rc = CS_OK;
    cs_params *ps = p->ps;

    memcpy(p->report, r, sizeof *r);
    for (int i = 0; i < ps->n; i++)
        p->report[sizeof *r + (size_t)i] = ps->p[i].touched;
    CS_TRY(cs_group_gather(p->group, p->report, p->report_bytes, p->all));
    for (int k = 1; cs_group_rank(p->group) == 0 && k < cs_group_size(p->group); k++)
        add_report(p->report, p->all + (size_t)k * p->report_bytes, ps->n);
    CS_TRY(cs_group_broadcast(p->group, p->report, p->report_bytes));
    memcpy(r, p->report, sizeof *r);
    for (int i = 0; i < ps->n; i++)
        ps->p[i].touched = p->report[sizeof *r + (size_t)i] != 0;
out:
    return rc;
}

/* v = sum over the ranks' v. */
static int sum_over_ranks(cs_parallel *p, cs_real *v, int64_t n_real)
{
    int rc = CS_OK;

    for (int64_t at = 0, n; at < n_real; at += n) {
        n = n_real - at < PIECE ? n_real - at : PIECE;
        CS_TRY(cs_group_gather(p->group, v + at, (size_t)n * sizeof *v, p->piece));
        for (int r = 1; cs_group_rank(p->group) == 0 && r < cs_group_size(p->group); r++)
            for (int64_t i = 0; i < n; i++)
                v[at + i] += p->piece[r * n + i];
        CS_TRY(cs_group_broadcast(p->group, v + at, (size_t)n * sizeof *v));
    }
out:
    return rc;
}

static int sum_gradients(cs_parallel *p)
{
    int rc = CS_OK;
    const cs_params *ps = p->ps;
    const size_t n_bytes = (size_t)ps->n_real * sizeof *ps->grad;

    if (p->reduces) {
        cs_group_wait(p->group);
        return ps->be->reduce->sum(ps->be, ps->grad, ps->n_real);
    }
    if (ps->be->is_host)
        return sum_over_ranks(p, ps->grad, ps->n_real);
    ps->be->op.download(ps->be, p->host, ps->grad, n_bytes);
    CS_TRY(ps->be->op.sync(ps->be));
    CS_TRY(sum_over_ranks(p, p->host, ps->n_real));
    ps->be->op.upload(ps->be, ps->grad, p->host, n_bytes);
out:
    return rc;
}

int cs_parallel_step(cs_parallel *p, cs_step_report *r)
{
    const int rc = sum_reports(p, r);

    return rc == CS_OK ? sum_gradients(p) : rc;
}

int cs_parallel_clock(cs_group *g, double *seconds)
{
    return g != NULL ? cs_group_broadcast(g, seconds, sizeof *seconds) : CS_OK;
}

int cs_parallel_state(cs_parallel *p, cs_train_state *st)
{
    char *log = st->log;
    const int rc = cs_group_broadcast(p->group, st, sizeof *st);

    st->log = log;
    return rc;
}
