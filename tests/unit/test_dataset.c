/* test_dataset.c - splits by groups, draws, crops, batches laid out as steps, and their tokens. */
#include "check.h"

#include "base/rng.h"
#include "batch/batch.h"
#include "registry.h"
#include "train/feed.h"
#include "train/folds.h"

enum { N = 400, K = 3 };

/* Records of three classes, a quarter of them in the first; ten per group; lengths 20 .. 1019. */
static void make(cs_dataset *d)
{
    char name[32], group[32], base[1024];

    cs_dataset_init(d, true, 1, 0);
    for (int i = 0; i < N; i++) {
        const float target = (float)(i % 4 == 0 ? 0 : 1 + i % 2);
        const int64_t n = 20 + (int64_t)cs_rng_below(1, (uint64_t)i, 1000);
        (void)snprintf(name, sizeof name, "r%d", i);
        (void)snprintf(group, sizeof group, "g%d", i / 10);
        for (int64_t j = 0; j < n; j++)
            base[j] = "ACGT"[cs_rng_below((uint64_t)i + 2, (uint64_t)j, 4)];
        const cs_record r = { .name = name, .n_seg = 1, .seg = { { base, NULL, n } } };
        assert_int_equal(cs_dataset_add(d, &r, &target, group), CS_OK);
    }
    assert_int_equal(d->n_class, K);
}

static void test_split(void **state)
{
    cs_dataset d, e;

    (void)state;
    make(&d);
    make(&e);
    assert_true(d.hash == e.hash);
    assert_int_equal(cs_dataset_split(&d, 0.2, 7), CS_OK);
    assert_int_equal(cs_dataset_split(&e, 0.2, 7), CS_OK);
    for (int i = 0; i < N; i++) {
        assert_int_equal(d.ex[i].part, d.ex[i - i % 10].part);
        assert_int_equal(d.ex[i].part, e.ex[i].part);
    }
    for (int32_t c = 0; c < K; c++) {
        int64_t n, train, valid;
        cs_dataset_count(&d, CS_PART_TRAIN, c, &n, &train);
        cs_dataset_count(&d, CS_PART_VALID, c, &n, &valid);
        assert_in_range(100 * valid / (train + valid), 15, 25);
    }
    cs_dataset_release(&d);
    cs_dataset_release(&e);
}

static void test_folds(void **state)
{
    enum { FOLDS = 5 };
    static char *names[] = { "a", "b", "c" };
    const cs_classes classes = { .name = names, .n = K };
    int64_t n, n_base, all;
    cs_folds f;
    cs_dataset d;

    (void)state;
    make(&d);
    assert_int_equal(cs_folds_assign(&d, &classes, FOLDS, 7, "name", &f), CS_OK);
    for (int i = 0; i < N; i++)
        assert_int_equal(f.of[i], f.of[i - i % 10]);
    for (int k = 0; k < FOLDS; k++) {
        cs_folds_select(&f, k, &d);
        for (int32_t c = 0; c < K; c++) {
            cs_dataset_count(&d, CS_PART_TRAIN, c, &n, &all);
            cs_dataset_count(&d, CS_PART_VALID, c, &n, &n_base);
            assert_in_range(100 * n_base / (all + n_base), 15, 25);
        }
    }
    cs_folds_select(&f, -1, &d);
    cs_dataset_count(&d, CS_PART_TRAIN, -1, &n, &n_base);
    assert_int_equal(n, N);
    cs_folds_release(&f);
    /* A class of one group. */
    d.ex[0].class_no = K - 1;
    for (int i = 1; i < N; i++)
        d.ex[i].class_no = i < 10 ? K - 1 : d.ex[i].class_no % (K - 1);
    assert_int_equal(cs_folds_assign(&d, &classes, 2, 7, "genus", &f), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "class 'c' has 1 group by genus, too few"));
    cs_error_clear();
    cs_folds_release(&f);
    cs_dataset_release(&d);
}

static void test_pieces_stay_together(void **state)
{
    static const char *const name[] = { "a:1-10", "a:11-20", "b:1-10", "a", "Gene:W1.1",
                                        "Gene:W2.1", "M0:1:F:1-", "M0:1:F:2-", "a:1-10b" };
    enum { N_NAME = sizeof name / sizeof *name };
    const float target = 0;
    cs_dataset d;

    (void)state;
    cs_dataset_init(&d, true, 1, 0);
    for (int i = 0; i < N_NAME; i++) {
        const cs_record r = { .name = name[i], .n_seg = 1, .seg = { { "ACGT", NULL, 4 } } };
        assert_int_equal(cs_dataset_add(&d, &r, &target, i % 2 == 0 ? "unknown" : NULL), CS_OK);
    }
    assert_true(d.ex[0].group == d.ex[1].group && d.ex[0].group == d.ex[3].group);
    /* Numbers on both sides of the '-', and nothing else, make a piece. */
    for (int i = 2; i < N_NAME; i++)
        for (int k = 0; k < i; k++)
            assert_true(i == 3 || k == i || d.ex[i].group != d.ex[k].group);
    int64_t n;
    assert_int_equal(cs_dataset_count_groups(&d, -1, &n), CS_OK);
    assert_int_equal(n, N_NAME - 2);
    assert_int_equal(cs_dataset_count_groups(&d, 0, &n), CS_OK);
    assert_int_equal(n, N_NAME - 2);
    d.ex[2].part = CS_PART_SKIP;
    assert_int_equal(cs_dataset_count_groups(&d, -1, &n), CS_OK);
    assert_int_equal(n, N_NAME - 3);
    cs_dataset_release(&d);
}

/* Groups missing from a split, groups on both sides, and sequences in two classes. */
static void test_odd_splits(void **state)
{
    static const struct { const char *base; float class_no; cs_part part; } t[] = {
        { "ACGTACGTAC", 0, CS_PART_TRAIN }, { "ACGTACGTAC", 0, CS_PART_VALID },
        { "ACGTACGTAA", 0, CS_PART_VALID }, { "TTTTACGTAC", 2, CS_PART_TRAIN },
        { "TTTTACGTAC", 3, CS_PART_VALID }, { "GGGGACGTAC", 2, CS_PART_SKIP },
        { "GGGGACGTAC", 3, CS_PART_VALID },
    };
    cs_dataset d;
    int64_t n, pair[2];
    int32_t first = -1;

    (void)state;
    cs_dataset_init(&d, true, 1, 0);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        const cs_record r = { .name = "r", .n_seg = 1, .seg = { { t[i].base, NULL, 10 } } };
        assert_int_equal(cs_dataset_add(&d, &r, &t[i].class_no, NULL), CS_OK);
        d.ex[i].part = t[i].part;
    }
    assert_int_equal(cs_dataset_count_leaks(&d, &n), CS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(cs_dataset_count_missing(&d, CS_PART_TRAIN, 4, &first), 2);
    assert_int_equal(first, 1);
    assert_int_equal(cs_dataset_count_missing(&d, CS_PART_VALID, 4, &first), 2);
    d.ex[0].part = CS_PART_SKIP;
    d.ex[3].part = CS_PART_VALID;
    assert_int_equal(cs_dataset_count_leaks(&d, &n), CS_OK);
    assert_int_equal(n, 0);
    assert_int_equal(cs_dataset_count_conflicts(&d, &n, pair), CS_OK);
    assert_true(n == 2 && pair[0] == 3 && pair[1] == 4);
    d.ex[5].part = CS_PART_TRAIN;
    d.ex[1].class_no = 1;
    d.ex[0].part = CS_PART_VALID;
    assert_int_equal(cs_dataset_count_conflicts(&d, &n, pair), CS_OK);
    assert_true(n == 6 && pair[0] == 0 && pair[1] == 1);
    cs_dataset_release(&d);
}

static void test_draw(void **state)
{
    enum { DRAWS = 30000 };
    const cs_sampler_opt draw = { .crop_min = 30, .crop_max = 300, .crop_power = 1,
                                  .n_sample = DRAWS, .balance = 1, .length_power = 1,
                                  .reverse = true, .seed = 5 };
    int64_t per_class[K] = { 0 }, n_reverse = 0, n_short = 0, n_left = 0, n_long = 0,
            n_free = 0, n_first = 0, n_last = 0;
    cs_dataset d;
    cs_sampler *s;

    (void)state;
    make(&d);
    assert_int_equal(cs_sampler_new(&d, CS_PART_TRAIN, &draw, &s), CS_OK);
    for (int64_t j = 0; j < DRAWS; j++) {
        const cs_sample a = cs_sampler_get(s, 3, j), b = cs_sampler_get(s, 3, j);
        const cs_example *e = &d.ex[a.example];
        assert_true(a.example == b.example && a.start == b.start && a.n_base == b.n_base);
        assert_in_range(a.n_base, e->n_base < 30 ? e->n_base : 30, 300);
        assert_in_range(a.start, 0, e->n_base - a.n_base);
        per_class[e->class_no]++;
        n_reverse += a.reverse;
        n_long += e->n_base >= 300;
        n_short += e->n_base >= 300 && a.n_base < 95;   /* half of log(300 / 30) */
        n_free += e->n_base >= a.n_base + 100;
        n_left += e->n_base >= a.n_base + 100 && 2 * a.start < e->n_base - a.n_base;
        n_first += e->n_base > a.n_base && a.start == 0;
        n_last += e->n_base > a.n_base && a.start == e->n_base - a.n_base;
    }
    assert_true(n_first > 0 && n_last > 0);
    for (int c = 0; c < K; c++)
        assert_in_range(per_class[c], DRAWS / K - 500, DRAWS / K + 500);
    assert_in_range(n_reverse, DRAWS / 2 - 500, DRAWS / 2 + 500);
    assert_in_range(100 * n_left / n_free, 48, 51);
    assert_in_range(100 * n_short / n_long, 48, 52);
    cs_sampler_free(s);
    cs_dataset_release(&d);
}

/* In proportion to a power of the length. */
static void check_mass(double power)
{
    enum { DRAWS = 40000 };
    const cs_sampler_opt draw = { .n_sample = DRAWS, .length_power = power, .seed = 5 };
    double mass[2] = { 0 };
    int64_t n_draw[2] = { 0 };
    cs_dataset d;
    cs_sampler *s;

    make(&d);
    assert_int_equal(cs_sampler_new(&d, CS_PART_TRAIN, &draw, &s), CS_OK);
    for (int64_t i = 0; i < d.n; i++)
        mass[d.ex[i].n_base > 500] += pow((double)d.ex[i].n_base, power);
    for (int64_t j = 0; j < DRAWS; j++) {
        const cs_sample a = cs_sampler_get(s, 0, j);
        assert_int_equal(a.n_base, d.ex[a.example].n_base);
        n_draw[a.n_base > 500]++;
    }
    check_near((double)n_draw[1] / DRAWS, mass[1] / (mass[0] + mass[1]), 0.01);
    cs_sampler_free(s);
    cs_dataset_release(&d);
}

static void test_mass(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        check_mass(i / 2.0);
}

/* All groups of a class are equally frequent, whatever their size. */
static void test_group_balance(void **state)
{
    enum { DRAWS = 40000, N_GROUP = 4 };
    static const int n_of[N_GROUP] = { 1, 3, 12, 40 };
    const float target = 0;
    int64_t n_draw[N_GROUP] = { 0 };
    cs_dataset d;
    cs_sampler *s;

    (void)state;
    cs_dataset_init(&d, true, 1, 0);
    for (int g = 0, no = 0; g < N_GROUP; g++)
        for (int i = 0; i < n_of[g]; i++) {
            char name[16], group[16];
            (void)snprintf(name, sizeof name, "r%d", no++);
            (void)snprintf(group, sizeof group, "%d", g);
            const cs_record r = { .name = name, .n_seg = 1,
                                  .seg = { { "ACGT", NULL, 1 + i % 4 } } };
            assert_int_equal(cs_dataset_add(&d, &r, &target, group), CS_OK);
        }
    cs_sampler_opt draw = { .n_sample = DRAWS, .group_balance = 1, .length_power = 1, .seed = 5 };
    assert_int_equal(cs_sampler_new(&d, CS_PART_TRAIN, &draw, &s), CS_OK);
    for (int64_t j = 0; j < DRAWS; j++) {
        int64_t e = cs_sampler_get(s, 0, j).example;
        n_draw[e < 1 ? 0 : e < 4 ? 1 : e < 16 ? 2 : 3]++;
    }
    for (int g = 0; g < N_GROUP; g++)
        check_near((double)n_draw[g] / DRAWS, 1.0 / N_GROUP, 0.01);
    cs_sampler_free(s);
    cs_dataset_release(&d);
}

/* Half of a density L^-2 between 100 and 200 is below 1 / ((1/100 + 1/200) / 2) = 133.3. */
static void test_crop_power(void **state)
{
    const cs_sampler_opt draw = { .crop_min = 100, .crop_max = 200, .crop_power = 2,
                                  .n_sample = 20000, .length_power = 4, .seed = 5 };
    int64_t n_short = 0, n = 0;
    cs_dataset d;
    cs_sampler *s;

    (void)state;
    make(&d);
    assert_int_equal(cs_sampler_new(&d, CS_PART_TRAIN, &draw, &s), CS_OK);
    for (int64_t j = 0; j < 20000; j++) {
        const cs_sample a = cs_sampler_get(s, 0, j);
        n += d.ex[a.example].n_base >= 200;
        n_short += d.ex[a.example].n_base >= 200 && a.n_base <= 133;
    }
    check_near((double)n_short / (double)n, 0.5, 0.02);
    cs_sampler_free(s);
    cs_dataset_release(&d);
}

static void test_empty_part(void **state)
{
    const cs_sampler_opt draw = { .length_power = 1 };
    cs_dataset d;
    cs_sampler *s;

    (void)state;
    make(&d);
    assert_int_equal(cs_sampler_new(&d, CS_PART_VALID, &draw, &s), CS_EUSAGE);
    assert_string_equal(cs_error_message(),
                        "no record is left for validation; change --valid-frac or --split");
    cs_error_clear();
    cs_dataset_release(&d);
}

static void test_cut(void **state)
{
    cs_sample a[5];
    cs_dataset d;

    (void)state;
    make(&d);
    for (int64_t i = 0; i < d.n; i++) {
        const int64_t n = d.ex[i].n_base, len = n / 5;
        cs_dataset_cut(&d, i, len, 5, 9, a);
        for (int k = 0; k < 5; k++) {
            assert_in_range(a[k].start, k > 0 ? a[k - 1].start + len : 0, n - len);
            assert_int_equal(a[k].n_base, len);
        }
    }
    cs_dataset_release(&d);
}

/* Every sample of the epoch is in one batch, batches have one depth and keep the budget. */
static void check_steps(const cs_steps *p, int64_t budget)
{
    bool seen[N] = { false };

    assert_int_equal(p->n_sample, N);
    assert_int_equal(p->batch[0], 0);
    assert_int_equal(p->batch[p->n_batch], N);
    assert_int_equal(p->step[0], 0);
    assert_int_equal(p->step[p->n_step], p->n_batch);
    for (int64_t b = 0; b < p->n_batch; b++) {
        int64_t n_tok = 0;
        assert_true(p->batch[b] < p->batch[b + 1]);
        for (int64_t i = p->batch[b]; i < p->batch[b + 1]; i++) {
            assert_false(seen[p->sample[i].example]);
            seen[p->sample[i].example] = true;
            n_tok += p->sample[i].n_base;
            assert_int_equal(cs_depth(p->sample[i].n_base),
                             cs_depth(p->sample[p->batch[b]].n_base));
        }
        assert_true(n_tok <= budget || p->batch[b + 1] == p->batch[b] + 1);
    }
}

static void test_steps(void **state)
{
    const cs_sampler_opt draw = { .length_power = 1, .seed = 5 };
    cs_batch_rules rules = { .batch_tokens = 2000, .accumulate = 3 };
    cs_dataset d;
    cs_sampler *s;
    cs_steps p, q;
    int64_t n_step, n_down = 0;

    (void)state;
    make(&d);
    assert_int_equal(cs_sampler_new(&d, CS_PART_TRAIN, &draw, &s), CS_OK);
    assert_int_equal(cs_steps_plan(s, 1, &rules, &p), CS_OK);
    check_steps(&p, 2000);
    assert_int_equal(p.n_step, (p.n_batch + 2) / 3);
    assert_int_equal(cs_steps_count(s, 1, &rules, &n_step), CS_OK);
    assert_int_equal(n_step, p.n_step);
    assert_int_equal(cs_steps_plan(s, 2, &rules, &q), CS_OK);
    assert_memory_not_equal(p.sample, q.sample, N * sizeof *p.sample);
    for (int64_t b = 1; b < p.n_batch; b++)      /* batches are shuffled, so lengths alternate */
        n_down += cs_depth(p.sample[p.batch[b]].n_base)
                < cs_depth(p.sample[p.batch[b - 1]].n_base);
    assert_true(n_down > 2);
    cs_steps_release(&p);
    cs_steps_release(&q);

    rules.step_records = 64;
    assert_int_equal(cs_steps_plan(s, 1, &rules, &p), CS_OK);
    check_steps(&p, 2000);
    assert_int_equal(p.n_step, (N + 63) / 64);
    for (int64_t k = 0; k + 1 < p.n_step; k++)
        assert_int_equal(p.batch[p.step[k + 1]] - p.batch[p.step[k]], 64);
    cs_steps_release(&p);
    cs_sampler_free(s);
    cs_dataset_release(&d);
}

/* Tokenise one sample into a batch, empty or of its depth. */
static int append(cs_feed_work *w, const cs_dataset *d, const cs_batch_rules *rules,
                  const cs_sample *s, cs_batch *b)
{
    const cs_slot none = { NULL, 0 };
    int64_t n;

    if (d->n_target == CS_TARGET_TOKENS) {
        assert_int_equal(cs_feed_label(w, d, rules, s, &n), CS_OK);
        return cs_batch_append_labelled(b, w->id, NULL, n, w->label, none);
    }
    assert_int_equal(cs_feed_tokenise(w, d, rules, s, &n), CS_OK);
    return cs_batch_append(b, w->id, NULL, n, d->ex[s->example].target, none);
}

/* A mutated, reverse-complemented sample has the tokens of the reverse complement of the result of
 * cs_mutate(). */
static void test_mutated(const cs_dataset *d, const cs_batch_rules *rules, const cs_sample *plain)
{
    cs_sample s = *plain;
    char out[12], work[12], turned[12];
    int32_t id[12];
    cs_feed_work w = { 0 };
    cs_batch *b = cs_batch_new(0, 1);

    s.mutation = (cs_mutation){ .substitution = 0.5, .indel = 0.3, .key = 4 };
    assert_int_equal(append(&w, d, rules, &s, b), CS_OK);
    const int64_t n = cs_mutate(&s.mutation, d->ex[17].base + 3, 12, work, out);
    assert_memory_not_equal(out, d->ex[17].base + 3, (size_t)n);
    cs_base_revcomp(out, n, turned);
    const cs_segment seg = { turned, NULL, n };
    assert_int_equal(b->n_tok, rules->tok->encode(rules->tok_state, &seg, NULL, id));
    assert_memory_equal(b->tok, id, (size_t)b->n_tok * sizeof *id);
    cs_batch_free(b);
    cs_feed_work_release(&w);
}

/* A reverse-complemented sample has the tokens of the reverse complement. */
static void test_tokens(void **state)
{
    const cs_tokenizer *t = cs_tokenizer_find("base");
    char *cfg = calloc(1, t->cfg_size + 1), turned[1024];
    const cs_optset set[] = { { t->opt, cfg, NULL }, { NULL, NULL, NULL } };
    void *tok = NULL;
    int32_t id[1024];
    cs_feed_work work = { 0 };
    cs_dataset d;
    cs_batch *b = cs_batch_new(0, 1);

    (void)state;
    make(&d);
    if (t->opt != NULL)
        cs_opt_defaults(set);
    assert_int_equal(t->open(cfg, &tok), CS_OK);
    const cs_batch_rules rules = { .tok = t, .tok_state = tok };
    const cs_sample s = { .example = 17, .start = 3, .n_base = 12, .reverse = true };
    assert_int_equal(append(&work, &d, &rules, &s, b), CS_OK);
    cs_base_revcomp(d.ex[17].base + 3, 12, turned);
    const cs_segment seg = { turned, NULL, 12 };
    assert_int_equal(b->n_tok, t->encode(tok, &seg, NULL, id));
    assert_memory_equal(b->tok, id, (size_t)b->n_tok * sizeof *id);
    assert_true(b->target[0] == d.ex[17].target[0]);
    cs_batch_free(b);
    test_mutated(&d, &rules, &s);
    cs_feed_work_release(&work);
    t->close(tok);
    free(cfg);
    cs_dataset_release(&d);
}

/* Classes of tokens are those of the bases that they stand for, also in a reverse-complemented
 * crop, and for words of three bases. */
static void test_labels(void **state)
{
    static const cs_span span[] = { { 2, 5, 1 }, { 5, 6, 0 }, { 9, 12, 2 } };
    static const int32_t whole[] = { 3, 3, 1, 1, 1, 0, 3, 3, 3, 2, 2, 2 };
    const cs_tokenizer *t = cs_tokenizer_find("base"), *words = cs_tokenizer_find("kmer");
    const cs_record r = { .name = "r", .n_seg = 1, .seg = { { "ACGTACGTACGT", NULL, 12 } } };
    const cs_sample all = { .n_base = 12 },
                    turned = { .start = 1, .n_base = 10, .reverse = true };
    cs_feed_work work = { 0 };
    cs_dataset d;
    cs_batch *b = cs_batch_new(0, CS_TARGET_TOKENS);
    char cfg[64];
    void *tok = NULL, *base = NULL;

    (void)state;
    assert_int_equal(t->open(NULL, &base), CS_OK);
    cs_dataset_init(&d, false, CS_TARGET_TOKENS, 0);
    d.background = 3;
    assert_int_equal(cs_dataset_add_spans(&d, &r, span, 3, NULL), CS_OK);
    cs_batch_rules rules = { .tok = t, .tok_state = base };
    assert_int_equal(append(&work, &d, &rules, &all, b), CS_OK);
    assert_int_equal(append(&work, &d, &rules, &turned, b), CS_OK);
    assert_memory_equal(b->label, whole, sizeof whole);
    for (int i = 0; i < 10; i++)
        assert_int_equal(b->label[12 + i], whole[10 - i]);
    cs_batch_reset(b);
    assert_true(words->cfg_size <= sizeof cfg);
    cs_opt_defaults((const cs_optset[]){ { words->opt, cfg, NULL }, { 0 } });
    assert_int_equal(cs_opt_set(words->opt, cfg, "k", "3"), CS_OK);
    assert_int_equal(words->open(cfg, &tok), CS_OK);
    rules = (cs_batch_rules){ .tok = words, .tok_state = tok };
    assert_int_equal(append(&work, &d, &rules, &all, b), CS_OK);
    assert_int_equal(b->n_tok, 10);
    assert_memory_equal(b->label + 1, whole + 2, 8 * sizeof *whole);
    cs_batch_free(b);
    cs_feed_work_release(&work);
    words->close(tok);
    t->close(base);
    cs_dataset_release(&d);
}

/* The item holds exactly the samples of its depth among the n given, in their order. */
static void check_item(const cs_feed *f, const cs_feed_item *it, const cs_sample *s, int64_t n)
{
    const cs_batch *b = it->batch;
    cs_feed_work w = { 0 };
    cs_batch *one = cs_batch_new(0, 1);
    int64_t n_base = 0;
    int32_t r = 0;

    for (int64_t i = 0; i < n; i++) {
        cs_batch_reset(one);
        assert_int_equal(append(&w, cs_sampler_dataset(f->train), &f->rules, &s[i], one), CS_OK);
        if (one->depth != b->depth)
            continue;
        assert_true(r < b->n_rec);
        assert_int_equal(b->off[r + 1] - b->off[r], one->n_tok);
        assert_memory_equal(b->tok + b->off[r], one->tok, (size_t)one->n_tok * sizeof *b->tok);
        assert_true(b->target[r++] == one->target[0]);
        n_base += s[i].n_base;
    }
    assert_int_equal(r, b->n_rec);
    assert_int_equal(n_base, it->n_base);
    assert_true(r == 1 || b->n_tok <= f->rules.batch_tokens);
    cs_batch_free(one);
    cs_feed_work_release(&w);
}

/* Items of planned batch b, from the queue: ascending depths, and all of its samples; the ends of
 * the step are at its first and last item. Returns their number. */
static int check_batch(cs_queue *queue, const cs_feed *f, const cs_steps *p, int64_t step,
                       int64_t b)
{
    const int64_t n_planned = p->batch[b + 1] - p->batch[b];
    int64_t n_rec = n_planned;
    int32_t depth = -1;
    int n = 0;

    for (; n_rec > 0; n++) {
        void *item;
        assert_int_equal(cs_queue_pop(queue, &item), CS_OK);
        const cs_feed_item *it = item;
        assert_int_equal(it->step, step);
        assert_int_equal(it->no & UINT32_MAX, b - p->step[step]);
        assert_int_equal(it->no >> 32, n);
        assert_true(it->batch->depth > depth);
        assert_true(it->batch->n_rec > 0);
        check_item(f, it, p->sample + p->batch[b], n_planned);
        depth = it->batch->depth;
        n_rec -= it->batch->n_rec;
        assert_int_equal(it->first, n == 0 && b == p->step[step]);
        assert_int_equal(it->step_end, n_rec == 0 && b + 1 == p->step[step + 1]);
        cs_feed_drop(item);
    }
    assert_int_equal(n_rec, 0);
    return n;
}

/* Where the number of tokens depends on the bases, a planned batch becomes a batch per depth. */
static void test_parts(void **state)
{
    const cs_tokenizer *t = cs_tokenizer_find("frames");
    const cs_sampler_opt draw = { .length_power = 1, .seed = 5 };
    cs_dataset d;
    cs_sampler *s;
    cs_steps p;
    char cfg[64];
    void *tok = NULL;
    int n_item = 0;

    (void)state;
    make(&d);
    assert_true(t->cfg_size <= sizeof cfg);
    cs_opt_defaults((const cs_optset[]){ { t->opt, cfg, NULL }, { 0 } });
    assert_int_equal(t->open(cfg, &tok), CS_OK);
    assert_int_equal(cs_sampler_new(&d, CS_PART_TRAIN, &draw, &s), CS_OK);
    cs_feed feed = { .train = s, .n_epoch = 1, .n_left = INT64_MAX,
                     .rules = { .tok = t, .tok_state = tok, .batch_tokens = 8000,
                                .step_records = 64 } };
    cs_queue *queue = cs_queue_new(10 * N, SIZE_MAX, cs_feed_bytes, cs_feed_drop);
    assert_non_null(queue);
    assert_int_equal(cs_feed_run(&feed, NULL, queue), CS_OK);
    cs_queue_close(queue);
    assert_int_equal(cs_steps_plan(s, 0, &feed.rules, &p), CS_OK);
    for (int64_t k = 0; k < p.n_step; k++)
        for (int64_t b = p.step[k]; b < p.step[k + 1]; b++)
            n_item += check_batch(queue, &feed, &p, k, b);
    assert_true(n_item > p.n_batch);         /* some have several depths */
    cs_steps_release(&p);
    cs_queue_free(queue);
    cs_sampler_free(s);
    t->close(tok);
    cs_dataset_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split), cmocka_unit_test(test_folds),
        cmocka_unit_test(test_odd_splits), cmocka_unit_test(test_pieces_stay_together),
        cmocka_unit_test(test_draw), cmocka_unit_test(test_mass),
        cmocka_unit_test(test_group_balance), cmocka_unit_test(test_crop_power),
        cmocka_unit_test(test_empty_part), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_steps), cmocka_unit_test(test_tokens), cmocka_unit_test(test_labels),
        cmocka_unit_test(test_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
