/* feed.c - thread that prepares batches during training steps. */
#include "train/feed.h"

#include <stdatomic.h>
#include <stdlib.h>

size_t cs_feed_bytes(const void *item)
{
    const cs_feed_item *it = item;

    return sizeof *it + cs_batch_bytes(it->batch);
}

void cs_feed_drop(void *item)
{
    cs_feed_item *it = item;

    if (it != NULL)
        cs_batch_free(it->batch);
    free(it);
}

void cs_feed_work_release(cs_feed_work *w)
{
    CS_FREE(w->base, w->mutant, w->tok, w->id, w->label, w->cell);
    *w = (cs_feed_work){ 0 };
}

/* Append the token ids of a sample's bases, or of one of its two parts, reverse-complemented if
 * required, to the *n_tok ids in w->id. */
static int tokenise(cs_feed_work *w, cs_segment seg, const cs_batch_rules *rules, bool reverse,
                    int64_t *n_tok)
{
    const int64_t bound = rules->tok->bound(rules->tok_state, seg.n_base);

    if (cs_grow((void **)&w->id, &w->n_id, (size_t)(*n_tok + bound), sizeof *w->id) != CS_OK)
        return CS_EMEM;
    const size_t n_work = cs_tokenizer_work(rules->tok, rules->tok_state, seg.n_base);
    if (cs_grow((void **)&w->tok, &w->n_tok, n_work, 1) != CS_OK)
        return CS_EMEM;
    if (reverse) {
        if (cs_grow((void **)&w->base, &w->n_base, (size_t)seg.n_base, 1) != CS_OK)
            return CS_EMEM;
        cs_base_revcomp(seg.base, seg.n_base, w->base);
        seg.base = w->base;
    }
    *n_tok += rules->tok->encode(rules->tok_state, &seg, w->tok, w->id + *n_tok);
    w->seg = seg;
    return CS_OK;
}

/* ---- targets per token ----------------------------------------------------------------------- */

/* The class of a base. */
static int32_t class_at(const cs_dataset *d, const cs_example *e, int64_t base)
{
    int64_t lo = 0, hi = e->n_span;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (e->span[mid].to > base)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo < e->n_span && e->span[lo].from <= base ? e->span[lo].class_no : d->background;
}

/* Targets of the n tokens of a sample, into w->label: the class of a token's middle base. */
static int label_tokens(cs_feed_work *w, const cs_dataset *d, const cs_batch_rules *rules,
                        const cs_sample *s, int64_t n)
{
    const cs_example *e = &d->ex[s->example];
    const size_t cap = (size_t)n + 1;

    if (cs_grow((void **)&w->label, &w->n_label, cap, sizeof *w->label) != CS_OK ||
        cs_grow((void **)&w->cell, &w->n_cell, cap, sizeof *w->cell) != CS_OK)
        return CS_EMEM;
    if (rules->tok != NULL)
        rules->tok->cells(rules->tok_state, &w->seg, w->id, n, w->cell);
    else
        cs_tokenizer_cells(NULL, NULL, NULL, n, w->cell);
    for (int64_t t = 0; t < n; t++) {
        const int64_t at = (w->cell[t] + w->cell[t + 1] - 1) / 2;
        w->label[t] = class_at(d, e, s->start + (s->reverse ? s->n_base - 1 - at : at));
    }
    return CS_OK;
}

/* ---- samples into batches -------------------------------------------------------------------- */

/* A sample's mutated bases, in w->mutant; unchanged if deletions would leave no token. */
static int mutate(cs_feed_work *w, const cs_batch_rules *rules, const cs_sample *s, cs_segment *seg)
{
    if (cs_mutation_is_none(&s->mutation))
        return CS_OK;
    const size_t n = (size_t)seg->n_base;
    if (cs_grow((void **)&w->mutant, &w->n_mutant, 2 * n, 1) != CS_OK)
        return CS_EMEM;
    const int64_t left = cs_mutate(&s->mutation, seg->base, seg->n_base, w->mutant + n, w->mutant);
    if (left >= rules->tok->min_base(rules->tok_state)) {
        seg->n_base = left;
        seg->base = w->mutant;
    }
    return CS_OK;
}

int cs_feed_tokenise(cs_feed_work *w, const cs_dataset *d, const cs_batch_rules *rules,
                     const cs_sample *s, int64_t *n)
{
    const cs_example *e = &d->ex[s->example];
    const int64_t n_part = d->n_part > 1 ? d->n_part : 1, n_base = s->n_base / n_part;

    *n = e->x == NULL ? 0 : s->n_base;
    for (int64_t k = 0; e->x == NULL && k < n_part; k++) {
        cs_segment seg = { e->base + s->start + k * n_base, NULL, n_base };
        if (mutate(w, rules, s, &seg) != CS_OK || tokenise(w, seg, rules, s->reverse, n) != CS_OK)
            return CS_EMEM;
    }
    return CS_OK;
}

static int too_long(const cs_dataset *d, const char *name, int64_t n_long, int64_t longest,
                    int64_t max_tokens)
{
    if (d->n_part > 1)
        return cs_fail(CS_EUSAGE, "windows have %lld tokens, but the model takes %lld",
                       (long long)longest, (long long)max_tokens);
    return cs_fail(CS_EUSAGE, "%lld of %lld records %s the model's maximum of %lld tokens; "
                   "'%s' has %lld", (long long)n_long, (long long)d->n,
                   CS_PLURAL(n_long, "exceeds", "exceed"), (long long)max_tokens,
                   name, (long long)longest);
}

int cs_feed_check_lengths(const cs_dataset *d, const cs_batch_rules *rules, int64_t crop_max,
                          int64_t max_tokens)
{
    int rc = CS_OK;
    cs_feed_work w = { 0 };
    int64_t n, longest = 0, n_long = 0;
    const char *name = NULL;

    for (int64_t i = 0; i < d->n && max_tokens > 0; i++) {
        const cs_example *e = &d->ex[i];
        const int64_t n_base = crop_max > 0 && crop_max < e->n_base ? crop_max : e->n_base;
        /* Most are known by length, without tokenising. */
        n = e->x != NULL ? n_base : rules->tok->bound(rules->tok_state, n_base);
        if (e->part == CS_PART_SKIP || n <= max_tokens)
            continue;
        CS_TRY(cs_feed_tokenise(&w, d, rules, &(cs_sample){ .example = i, .n_base = n_base }, &n));
        n_long += n > max_tokens;
        if (n > max_tokens && n > longest) {
            longest = n;
            name = e->name;
        }
    }
    if (n_long > 0)
        rc = too_long(d, name, n_long, longest, max_tokens);
out:
    cs_feed_work_release(&w);
    return rc;
}

int cs_feed_label(cs_feed_work *w, const cs_dataset *d, const cs_batch_rules *rules,
                  const cs_sample *s, int64_t *n)
{
    if (cs_feed_tokenise(w, d, rules, s, n) != CS_OK)
        return CS_EMEM;
    return label_tokens(w, d, rules, s, *n);
}

/* Appends the n tokens of the sample that was tokenised last. */
static int append(cs_feed_work *w, const cs_dataset *d, const cs_batch_rules *rules,
                  const cs_sample *s, int64_t n, cs_batch *b)
{
    const cs_example *e = &d->ex[s->example];
    const float *x = e->x != NULL ? e->x + s->start * d->n_channel : NULL;
    /* No view's: its bases, for metrics by length. */
    const cs_slot bases = { NULL, s->n_base < INT32_MAX ? (int32_t)s->n_base : INT32_MAX };
    const int32_t *id = x == NULL ? w->id : NULL;

    if (d->n_target != CS_TARGET_TOKENS)
        return cs_batch_append(b, id, x, n, e->target, bases);
    if (label_tokens(w, d, rules, s, n) != CS_OK)
        return CS_EMEM;
    return cs_batch_append_labelled(b, id, x, n, w->label, bases);
}

/* Added to a batch's number for every part split off: see emit_parts(). */
#define SPLIT (UINT64_C(1) << 32)

enum { N_DEPTH = 64 };

/* The samples of a planned batch that have one depth. */
struct part { cs_batch *batch; int64_t n_base; };

/* State of the stage "feed". */
struct feeder {
    const cs_feed *f;
    cs_queue      *out;
    cs_feed_work   work;
    struct part    part[N_DEPTH];
    cs_feed_item   next;         /* the item being filled */
    int64_t        n_left;       /* training steps until the run's limit */
};

static int emit(struct feeder *h, bool step_end, bool epoch_end)
{
    cs_feed_item *it = cs_xcalloc(1, sizeof *it);

    *it = h->next;
    it->step_end = step_end;
    it->epoch_end = epoch_end;
    h->next.batch = NULL;
    h->next.n_base = 0;
    h->next.first = false;
    h->next.no += SPLIT;
    int rc = cs_queue_push(h->out, it);
    if (rc != CS_OK)
        cs_feed_drop(it);
    return rc;
}

/* The samples of a planned batch as parts of one depth each: a tokenizer may give fewer tokens than
 * its bound, by which they were planned. *n_part receives the number of parts */
static int fill_batch(struct feeder *h, const cs_dataset *d, const cs_sample *s, int64_t n,
                      int *n_part)
{
    int rc = CS_OK;
    const cs_batch_rules *rules = &h->f->rules;
    int64_t n_tok;

    *n_part = 0;
    for (int64_t i = 0; i < n; i++) {
        CS_TRY(cs_feed_tokenise(&h->work, d, rules, &s[i], &n_tok));
        struct part *p = &h->part[cs_depth(n_tok)];
        if (p->batch == NULL) {
            p->batch = cs_batch_new(d->n_channel, d->n_target);
            ++*n_part;
        }
        CS_TRY(append(&h->work, d, rules, &s[i], n_tok, p->batch));
        p->n_base += s[i].n_base;
    }
out:
    return rc;
}

/* Emits the parts, by depth; the last one has the ends. */
static int emit_parts(struct feeder *h, int n_part, bool step_end, bool epoch_end)
{
    int rc = CS_OK;

    for (int i = 0; n_part > 0; i++) {
        struct part *p = &h->part[i];
        if (p->batch == NULL)
            continue;
        n_part--;
        h->next.batch = p->batch;
        h->next.n_base = p->n_base;
        *p = (struct part){ 0 };
        CS_TRY(emit(h, step_end && n_part == 0, epoch_end && n_part == 0));
    }
out:
    return rc;
}

/* The end of a step, without a batch. */
static int emit_empty(struct feeder *h, const cs_dataset *d, bool epoch_end)
{
    h->next.batch = cs_batch_new(d->n_channel, d->n_target);
    return emit(h, true, epoch_end);
}

/* Batch j of its step, or an empty one to end the step with. */
static int feed_batch(struct feeder *h, const cs_dataset *d, const cs_steps *p, int64_t b,
                      int64_t j, bool step_end, bool epoch_end)
{
    int rc = CS_OK, n_part;
    /* A step of validation is one batch. */
    const int64_t turn = h->next.part == CS_PART_VALID ? b : j;

    h->next.no = (uint64_t)j;
    h->next.owner = cs_feed_owner(h->f, turn);
    if (cs_feed_wants(h->f, h->next.part, h->next.owner)) {
        CS_TRY(fill_batch(h, d, p->sample + p->batch[b], p->batch[b + 1] - p->batch[b], &n_part));
        return emit_parts(h, n_part, step_end, step_end && epoch_end);
    }
    if (step_end)
        rc = emit_empty(h, d, epoch_end);
out:
    return rc;
}

/* Weight of a sample in its step: 0 if its loss is always 0. Class weights of tokens are not
 * included (see nn/heads/head_token.c). */
static int weight_of(struct feeder *h, const cs_dataset *d, const cs_sample *s, double *weight)
{
    int64_t n, t = 0;

    *weight = 1;
    if (d->n_target != CS_TARGET_TOKENS) {
        if (h->f->weight != NULL && d->is_class)
            *weight = (double)h->f->weight[d->ex[s->example].class_no];
        return CS_OK;
    }
    /* Only the tokenizer has the bases of a token; repeated in parallel with training. */
    if (cs_feed_label(&h->work, d, &h->f->rules, s, &n) != CS_OK)
        return CS_EMEM;
    while (t < n && h->work.label[t] < 0)
        t++;
    *weight = t < n ? 1 : 0;
    return CS_OK;
}

static int step_scale(struct feeder *h, const cs_dataset *d, const cs_sample *s, int64_t n)
{
    double sum = 0, weight;

    for (int64_t i = 0; i < n; i++) {
        if (weight_of(h, d, &s[i], &weight) != CS_OK)
            return CS_EMEM;
        sum += weight;
    }
    h->next.scale = sum > 0 ? 1 / sum : 0;
    return CS_OK;
}

/* Steps [from, to) of a part; *cut receives whether the training stage ended the epoch before the
 * last of them was pushed. */
static int feed_steps(struct feeder *h, const cs_sampler *sampler, const cs_steps *p, int64_t from,
                      int64_t to, bool *cut)
{
    int rc = CS_OK;
    const cs_dataset *d = cs_sampler_dataset(sampler);

    *cut = false;
    for (int64_t s = from; s < to; s++) {
        *cut = cs_feed_is_cut(h->f, h->next.part, h->next.epoch);
        if (*cut)
            break;
        const int64_t b0 = p->step[s], b1 = p->step[s + 1], lo = p->batch[b0];
        const bool epoch_end = s == to - 1 &&
                               (h->next.part == CS_PART_VALID || h->f->valid == NULL);
        h->next.step = s;
        h->next.first = true;
        CS_TRY(step_scale(h, d, p->sample + lo, p->batch[b1] - lo));
        for (int64_t b = b0; b < b1; b++)
            CS_TRY(feed_batch(h, d, p, b, b - b0, b == b1 - 1, epoch_end));
    }
out:
    return rc;
}

static int feed_epoch(struct feeder *h, int64_t e, const cs_steps *valid)
{
    int rc = CS_OK;
    const cs_feed *f = h->f;
    const int64_t from = e == f->epoch ? f->step : 0;
    cs_steps train = { 0 };
    bool cut;

    CS_TRY(cs_steps_plan(f->train, (uint64_t)e, &f->rules, &train));
    const int64_t to = h->n_left < train.n_step - from ? from + h->n_left : train.n_step;
    h->n_left -= to - from;
    h->next = (cs_feed_item){ .part = CS_PART_TRAIN, .epoch = e };
    CS_TRY(feed_steps(h, f->train, &train, from, to, &cut));
    /* Without validation the last step would have ended the epoch. A later cut must not end it
     * twice. */
    if (cut && f->valid == NULL)
        CS_TRY(emit_empty(h, cs_sampler_dataset(f->train), true));
    h->next = (cs_feed_item){ .part = CS_PART_VALID, .epoch = e };
    if (f->valid != NULL)
        CS_TRY(feed_steps(h, f->valid, valid, 0, valid->n_step, &cut));
out:
    cs_steps_release(&train);
    return rc;
}

int cs_feed_run(void *self, cs_queue *in, cs_queue *out)
{
    int rc = CS_OK;
    const cs_feed *f = self;
    struct feeder h = { .f = f, .out = out, .n_left = f->n_left };
    cs_steps valid = { 0 };

    (void)in;
    if (f->valid != NULL)
        CS_TRY(cs_steps_plan(f->valid, CS_VALID_EPOCH, &f->rules, &valid));
    for (int64_t e = f->epoch; e < f->n_epoch; e++) {
        CS_TRY(feed_epoch(&h, e, &valid));
        if (h.n_left == 0)
            break;
    }
out:
    for (int i = 0; i < N_DEPTH; i++)
        cs_batch_free(h.part[i].batch);
    cs_feed_work_release(&h.work);
    cs_steps_release(&valid);
    return rc;
}

int cs_feed_step_count(const cs_feed *f, int64_t epoch, int64_t *n)
{
    if (f->step_count != NULL)
        return f->step_count(f, epoch, n);
    return cs_steps_count(f->train, (uint64_t)epoch, &f->rules, n);
}

double cs_feed_valid_bases(const cs_feed *f)
{
    double n = f->valid_bases;

    for (int64_t i = 0; f->valid != NULL && i < cs_sampler_count(f->valid); i++)
        n += (double)cs_sampler_get(f->valid, CS_VALID_EPOCH, i).n_base;
    return n;
}
