/* window_feed.c - thread that fetches windows of genomes, masks tokens and makes batches.
 *
 * DESIGN. A step is a fixed range of windows, so a resumed run continues at the same window without
 * reading the earlier ones. Windows are rejected after reading their bases; a step without windows
 * is an empty batch, which counts as a step. A step's windows are held until all are read, because
 * each is weighted by their number.
 */
#include "train/window_feed.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "base/rng.h"

enum { STREAM_MASK = 3, MAX_DEPTH = 64 };

struct bundle { cs_batch *batch; int64_t n_base; };

struct feeder {
    cs_window_feed *f;
    cs_queue       *out;
    char           *base, *revcomp;
    void           *work;
    int32_t        *id, *label;
    size_t          n_base, n_revcomp, n_work, n_id, n_label;
    struct bundle   open[MAX_DEPTH];     /* by depth */
    struct bundle  *full;        /* [n_full] of this step */
    size_t          n_full, cap_full;
    int64_t         n_rec;       /* of this step */
};

static void window_feed_release(struct feeder *h)
{
    for (int d = 0; d < MAX_DEPTH; d++)
        cs_batch_free(h->open[d].batch);
    for (size_t i = 0; i < h->n_full; i++)
        cs_batch_free(h->full[i].batch);
    CS_FREE(h->full, h->base, h->revcomp, h->work, h->id, h->label);
}

static bool is_known(const cs_window_feed *f, const char *base, int64_t n)
{
    int64_t n_unknown = 0;

    for (int64_t i = 0; i < n; i++)
        n_unknown += !f->known[(unsigned char)base[i]];
    return n_unknown <= cs_base_max_unknown(f->max_unknown, n);
}

/* The window's tokens in h->id; CS_EOF: skip it. */
static int fetch_tokens(struct feeder *h, const cs_window *w, cs_window_count *count,
                        int64_t *n_tok)
{
    int rc = CS_OK;
    const cs_window_feed *f = h->f;
    const cs_batch_rules *rules = &f->feed.rules;
    const size_t n = (size_t)w->n_base;
    cs_segment seg = { .n_base = w->n_base };

    count->n++;
    count->n_short += n == 0;
    if (n == 0)
        return CS_EOF;
    CS_TRY(cs_grow((void **)&h->base, &h->n_base, n, 1));
    CS_TRY(cs_grow((void **)&h->revcomp, &h->n_revcomp, n, 1));
    const size_t n_id = (size_t)rules->tok->bound(rules->tok_state, w->n_base);
    CS_TRY(cs_grow((void **)&h->id, &h->n_id, n_id, sizeof *h->id));
    CS_TRY(cs_grow((void **)&h->label, &h->n_label, n_id, sizeof *h->label));
    const size_t n_work = cs_tokenizer_work(rules->tok, rules->tok_state, w->n_base);
    CS_TRY(cs_grow((void **)&h->work, &h->n_work, n_work, 1));
    CS_TRY(f->fetch(f->arg, w->contig, w->from, w->from + w->n_base, h->base));
    if (!is_known(f, h->base, w->n_base)) {
        count->n_unknown++;
        return CS_EOF;
    }
    if (w->reverse)
        cs_base_revcomp(h->base, w->n_base, h->revcomp);
    seg.base = w->reverse ? h->revcomp : h->base;
    *n_tok = rules->tok->encode(rules->tok_state, &seg, h->work, h->id);
out:
    return rc;
}

/* Moves a full batch to the step's batches. */
static int close_batch(struct feeder *h, int32_t depth)
{
    if (!h->open[depth].batch)
        return CS_OK;
    if (cs_grow((void **)&h->full, &h->cap_full, h->n_full + 1, sizeof *h->full) != CS_OK)
        return CS_EMEM;
    h->full[h->n_full++] = h->open[depth];
    h->open[depth] = (struct bundle){ NULL, 0 };
    return CS_OK;
}

static int add_window(struct feeder *h, const cs_window *w, const cs_mask *mask,
                      cs_window_count *count)
{
    int64_t n = 0;
    int rc = fetch_tokens(h, w, count, &n);

    if (rc != CS_OK)
        return rc == CS_EOF ? CS_OK : rc;
    const int64_t n_hidden = cs_mask_tokens(mask, cs_rng_key(w->key, STREAM_MASK), h->id, n,
                                            h->label);
    count->n_unknown += n_hidden == 0;
    if (n_hidden == 0)
        return CS_OK;
    const int32_t depth = cs_depth(n);
    struct bundle *b = &h->open[depth];
    if (b->batch && !cs_batch_takes(depth, b->batch->n_tok, n, h->f->feed.rules.batch_tokens))
        CS_TRY(close_batch(h, depth));
    if (!b->batch)
        b->batch = cs_batch_new(0, CS_TARGET_TOKENS);
    CS_TRY(cs_batch_append_labelled(b->batch, h->id, NULL, n, h->label, (cs_slot){ NULL, 0 }));
    b->n_base += w->n_base;
    h->n_rec++;
out:
    return rc;
}

/* Batch i of the step, unless it is another rank's; the last one is at least an empty one. */
static int emit_batch(struct feeder *h, const cs_feed_item *like, size_t i, bool first)
{
    const cs_feed *f = &h->f->feed;
    const bool step_end = i + 1 == h->n_full;
    cs_feed_item it = *like;

    /* A step of validation is often one batch. */
    it.owner = cs_feed_owner(f, (int64_t)i + (like->part == CS_PART_VALID ? like->step : 0));
    const bool wanted = cs_feed_wants(f, like->part, it.owner);
    if (!wanted && !step_end)
        return CS_OK;
    if (!wanted)
        cs_batch_reset(h->full[i].batch);
    it.batch = h->full[i].batch;
    it.n_base = wanted ? h->full[i].n_base : 0;
    it.no = i;
    it.scale = h->n_rec > 0 ? 1 / (double)h->n_rec : 0;
    it.first = first;
    it.step_end = step_end;
    it.epoch_end = step_end && like->epoch_end;
    cs_feed_item *given = cs_xcalloc(1, sizeof *given);
    *given = it;
    h->full[i].batch = NULL;
    const int rc = cs_queue_push(h->out, given);
    if (rc != CS_OK)
        cs_feed_drop(given);
    return rc;
}

/* Pushes the step's batches; like holds their common fields. */
static int emit_step(struct feeder *h, const cs_feed_item *like)
{
    int rc = CS_OK;
    bool first = true;

    if (h->n_rec == 0)
        h->open[0].batch = cs_batch_new(0, CS_TARGET_TOKENS);
    for (int32_t d = 0; d < MAX_DEPTH; d++)
        CS_TRY(close_batch(h, d));
    for (size_t i = 0; i < h->n_full; i++) {
        CS_TRY(emit_batch(h, like, i, first));
        first = first && h->full[i].batch;
        cs_batch_free(h->full[i].batch);
        h->full[i].batch = NULL;
    }
    h->n_full = 0;
    h->n_rec = 0;
out:
    return rc;
}

static int64_t n_steps(int64_t n_window, int64_t per_step)
{
    return (n_window + per_step - 1) / per_step;
}

/* An epoch's windows of one corpus: begin to begin + n - 1, counted over all passes. */
struct part { const cs_corpus *c; cs_mask mask; int64_t begin, n; uint64_t pass; };

/* A model of an epoch without windows would be untrained. */
static int check_windows(const cs_window_count *c)
{
    if (c->n_short + c->n_unknown < c->n)
        return CS_OK;
    return cs_fail(CS_EFORMAT, "none of the %lld windows of an epoch can be used: %lld are too "
                   "short and %lld have too few known bases; change --window or --max-unknown",
                   (long long)c->n, (long long)c->n_short, (long long)c->n_unknown);
}

static void warn_no_validation(const cs_window_count *c)
{
    if (c->n_short + c->n_unknown == c->n)
        cs_warn("none of the %lld validation windows can be used: %lld are too short and %lld have "
                "too few known bases; writing the latest model, not the best", (long long)c->n,
                (long long)c->n_short, (long long)c->n_unknown);
}

static int feed_steps(struct feeder *h, const struct part *p, int64_t from, int64_t to,
                      cs_feed_item like, cs_window_count *count)
{
    int rc = CS_OK;
    const int64_t per_step = h->f->step_window;
    const bool ends = like.epoch_end;

    for (int64_t s = from; s < to; s++) {
        if (cs_feed_is_cut(&h->f->feed, like.part, like.epoch)) {
            if (from == 0 && count->n > 0)
                CS_TRY(check_windows(count));
            like.epoch_end = ends;       /* without validation: by an empty batch */
            return ends ? emit_step(h, &like) : CS_OK;
        }
        const int64_t end = (s + 1) * per_step < p->n ? (s + 1) * per_step : p->n;
        for (int64_t i = s * per_step; i < end; i++) {
            const int64_t at = p->begin + i;
            const uint64_t pass = p->pass + (uint64_t)(at / p->c->n_window);
            const cs_window w = cs_corpus_window(p->c, pass, at % p->c->n_window);
            CS_TRY(add_window(h, &w, &p->mask, count));
        }
        if (like.part == CS_PART_TRAIN && from == 0 && end == p->n)
            CS_TRY(check_windows(count));
        like.step = s;
        like.epoch_end = ends && s == to - 1;
        CS_TRY(emit_step(h, &like));
    }
out:
    return rc;
}

static int feed_epoch(struct feeder *h, int64_t e, int64_t *n_left)
{
    int rc = CS_OK;
    cs_window_feed *f = h->f;
    const int64_t n_step = n_steps(f->epoch_window, f->step_window);
    const int64_t from = e == f->feed.epoch ? f->feed.step : 0;
    const int64_t to = *n_left < n_step - from ? from + *n_left : n_step;
    const bool validates = f->valid_window > 0;
    const struct part train = { f->train, f->mask, e * f->epoch_window, f->epoch_window, 0 };
    struct part valid = { f->valid, f->mask, 0, f->valid_window, CS_VALID_EPOCH };
    cs_window_count passed_over = { 0 };

    *n_left -= to - from;
    CS_TRY(feed_steps(h, &train, from, to, (cs_feed_item){ .part = CS_PART_TRAIN, .epoch = e,
                      .epoch_end = !validates }, &f->count));
    valid.mask.p_mask = 1;
    if (validates)
        rc = feed_steps(h, &valid, 0, n_steps(f->valid_window, f->step_window),
                        (cs_feed_item){ .part = CS_PART_VALID, .epoch = e, .epoch_end = true },
                        &passed_over);
    if (rc == CS_OK && validates && e == f->feed.epoch)
        warn_no_validation(&passed_over);
out:
    return rc;
}

static int window_feed_run(void *self, cs_queue *in, cs_queue *out)
{
    int rc = CS_OK;
    cs_window_feed *f = self;
    struct feeder h = { .f = f, .out = out };
    int64_t n_left = f->feed.n_left;

    (void)in;
    for (int64_t e = f->feed.epoch; e < f->feed.n_epoch; e++) {
        CS_TRY(feed_epoch(&h, e, &n_left));
        if (n_left == 0)         /* not before: a run may have paused between step and validation */
            break;
    }
out:
    window_feed_release(&h);
    return rc;
}

static int step_count(const cs_feed *feed, int64_t epoch, int64_t *n)
{
    const cs_window_feed *f = (const cs_window_feed *)(const void *)feed;

    (void)epoch;
    *n = n_steps(f->epoch_window, f->step_window);
    return CS_OK;
}

void cs_window_feed_init(cs_window_feed *f)
{
    const cs_batch_rules *rules = &f->feed.rules;
    const int64_t n_tok = rules->tok->bound(rules->tok_state, f->train->window);
    const int64_t per_batch = rules->batch_tokens / (n_tok > 0 ? n_tok : 1);

    f->feed.run = window_feed_run;
    f->feed.step_count = step_count;
    f->feed.valid_bases = (double)f->valid_window * (double)f->train->window;
    f->step_window = rules->step_records > 0 ? rules->step_records
                                            : rules->accumulate * (per_batch > 0 ? per_batch : 1);
}
