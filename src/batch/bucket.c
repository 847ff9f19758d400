/* bucket.c - assign records to batches: by depth, token budget and lag rule.
 *
 * DESIGN: one open batch per depth, created with its first record and emitted when it closes.
 * Closing depends only on the records, their order, the budget and the lag, never on a clock or the
 * number of threads. A batch that reached its budget is closed at once, because no further record
 * could join it.
 */
#include "batch/bucket.h"

#include "batch/view.h"

enum { FIRST_TOKENS = 64 << 10 };    /* initial capacity in tokens, to avoid copies */

struct cs_bucketer {
    int64_t        budget;
    uint64_t       lag;
    int32_t        n_channel;
    int          (*emit)(void *arg, cs_batch *b);
    void          *arg;
    cs_batch      *open[CS_MAX_DEPTH + 1];      /* by depth; NULL: none */
    cs_bucket_stat stat;
};

cs_bucketer *cs_bucketer_new(int64_t budget, uint64_t lag, int32_t n_channel,
                             int (*emit)(void *arg, cs_batch *b), void *arg)
{
    CS_BUG(budget < 1 || lag < 1 || !emit);
    cs_bucketer *k = cs_xcalloc(1, sizeof *k);
    k->budget = budget;
    k->lag = lag;
    k->n_channel = n_channel;
    k->emit = emit;
    k->arg = arg;
    return k;
}

void cs_bucketer_free(cs_bucketer *k)
{
    if (!k)
        return;
    for (int32_t d = 0; d <= CS_MAX_DEPTH; d++)
        cs_batch_free(k->open[d]);
    free(k);
}

void cs_bucketer_limit(cs_bucketer *k, int64_t budget)
{
    CS_BUG(budget < 1);
    k->budget = budget;
}

static void count_closed(cs_bucketer *k, int64_t n_tok, cs_close_reason why)
{
    k->stat.n_batch++;
    k->stat.n_close[why]++;
    k->stat.n_tok += n_tok;
}

static int close_batch(cs_bucketer *k, int32_t depth, cs_close_reason why)
{
    cs_batch *b = k->open[depth];
    const int64_t n_tok = b->n_tok;         /* read now: b is gone once emitted */
    const int rc = k->emit(k->arg, b);
    if (rc != CS_OK)
        return rc;
    k->open[depth] = NULL;
    count_closed(k, n_tok, why);
    return CS_OK;
}

int cs_bucketer_chunk(cs_bucketer *k, uint64_t no)
{
    int rc = CS_OK;
    for (int32_t d = 0; d <= CS_MAX_DEPTH; d++) {
        const cs_batch *b = k->open[d];
        if (b && b->n_rec && no >= k->lag && b->oldest <= no - k->lag)
            CS_TRY(close_batch(k, d, CS_CLOSE_LAG));
    }
out:
    return rc;
}

/* A record of its own batch, beside the open ones. */
static int add_counts(cs_bucketer *k, cs_chunk *c, int i)
{
    const cs_view *v = &c->views->view[i];
    cs_batch *b = cs_batch_new(0, 0);
    int rc = cs_batch_set_counts(b, v->count, v->tok.n, (cs_slot){ c, i });

    b->oldest = c->no;
    if (rc == CS_OK)
        rc = k->emit(k->arg, b);
    if (rc != CS_OK) {
        cs_batch_free(b);
        return rc;
    }
    count_closed(k, v->tok.n, CS_CLOSE_BUDGET);
    return CS_OK;
}

int cs_bucketer_add(cs_bucketer *k, cs_chunk *c, int i)
{
    int rc = CS_OK;
    const cs_view *v = &c->views->view[i];
    const cs_record *r = &c->rec[v->rec];
    const int64_t n = v->tok.n;
    const int32_t d = cs_depth(n);
    CS_BUG(n < 1 || d > CS_MAX_DEPTH);

    if (v->count)
        return add_counts(k, c, i);
    if (k->open[d] && !cs_batch_takes(d, k->open[d]->n_tok, n, k->budget))
        CS_TRY(close_batch(k, d, CS_CLOSE_BUDGET));
    if (!k->open[d])
        k->open[d] = cs_batch_new(k->n_channel, 0);
    cs_batch *b = k->open[d];
    if (b->n_rec == 0 && k->n_channel == 0)
        CS_TRY(cs_batch_reserve(b, k->budget < FIRST_TOKENS ? k->budget : FIRST_TOKENS));
    if (b->n_rec == 0)
        b->oldest = c->no;
    CS_TRY(cs_batch_append(b, v->tok.id, k->n_channel ? r->x + v->start * k->n_channel : NULL, n,
                           NULL, (cs_slot){ c, i }));
    if (b->n_tok >= k->budget)
        CS_TRY(close_batch(k, d, CS_CLOSE_BUDGET));
out:
    return rc;
}

int cs_bucketer_end(cs_bucketer *k)
{
    int rc = CS_OK;
    for (int32_t d = 0; d <= CS_MAX_DEPTH; d++) {
        if (k->open[d] && k->open[d]->n_rec)
            CS_TRY(close_batch(k, d, CS_CLOSE_END));
    }
out:
    return rc;
}

cs_bucket_stat cs_bucketer_stat(const cs_bucketer *k)
{
    return k->stat;
}
