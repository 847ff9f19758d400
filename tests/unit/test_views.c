/* test_views.c - views of a record, their combination, and equal bits for its reverse
 * complement. */
#include "check.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "infer/views.h"
#include "nn/exec/session.h"
#include "predict_views.h"
#include "registry.h"

enum { N_LABEL = 3, MOST = 4096, MAX_VIEW = 512 };

static cs_backend *backend;
static cs_model *plain, *mirrored, *bag, *short_one, *labelled;

static void *configured(const cs_opt *opt, size_t size, const char *const *words)
{
    void *cfg = cs_xcalloc(1, size + 1);

    cs_opt_defaults((cs_optset[]){ { opt, cfg, NULL }, { NULL, NULL, NULL } });
    for (; *words; words += 2)
        assert_int_equal(cs_opt_set(opt, cfg, words[0], words[1]), CS_OK);
    return cfg;
}

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }

static cs_model *make_with(const char *head_name, const char *const *tok_words,
                           const char *const *enc_words)
{
    const cs_tokenizer *tok = cs_tokenizer_find("kmer");
    const cs_encoder *enc = cs_encoder_find("chordmixer");
    const cs_head *head = cs_head_find(head_name);
    void *cfg[] = { configured(tok->opt, tok->cfg_size, tok_words),
                    configured(enc->opt, enc->cfg_size, enc_words),
                    configured(head->opt, head->cfg_size, (const char *const[]){ NULL }) };
    const cs_label label[N_LABEL] = { { .name = (char[]){ "a" } }, { .name = (char[]){ "b" } },
                                      { .name = (char[]){ "c" } } };
    const cs_model_spec spec = {
        .tok = tok, .enc = enc, .head = head, .tok_cfg = cfg[0], .enc_cfg = cfg[1],
        .head_cfg = cfg[2], .label = label, .n_label = N_LABEL, .seed = 5,
    };
    cs_model *m;

    assert_int_equal(cs_model_new(&spec, backend, &m), CS_OK);
    for (int i = 0; i < 3; i++)
        free(cfg[i]);
    return m;
}

static cs_model *make(const char *const *tok_words, const char *const *enc_words)
{
    return make_with("class", tok_words, enc_words);
}

static int setup(void **state)
{
    (void)state;
    assert_int_equal(cs_cpu_init(), CS_OK);
    assert_int_equal(cs_backend_open("cpu", 1, &backend), CS_OK);
    plain = make(WORDS("k", "4", "stride", "2"),
                 WORDS("max-len", "4k", "track", "2", "hidden", "4"));
    mirrored = make(WORDS("k", "3", "canonical", "1"),
                    WORDS("max-len", "4k", "track", "2", "hidden", "4"));
    bag = make(WORDS("k", "4", "canonical", "1"),
               WORDS("max-len", "4k", "track", "2", "hidden", "4", "depth", "none"));
    short_one = make(WORDS("k", "4", "stride", "3"),
                     WORDS("max-len", "64", "track", "2", "hidden", "4"));
    labelled = make_with("multilabel", WORDS("k", "4", "stride", "2"),
                         WORDS("max-len", "4k", "track", "2", "hidden", "4"));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cs_model_free(plain);
    cs_model_free(mirrored);
    cs_model_free(bag);
    cs_model_free(short_one);
    cs_model_free(labelled);
    cs_backend_close(backend);
    return 0;
}

static const cs_policy_args usual = { .strand = 1, .max_unknown = 0.9 };

static cs_policy policy_of(cs_model *m, cs_policy_args a)
{
    cs_policy p;

    if (cs_policy_init(&p, &a, NULL, m) != CS_OK)
        fail_msg("%s", cs_error_message());
    return p;
}

/* The prediction in v. Returns the number of views. */
static int output(const cs_policy *p, const cs_record *r, float *v, cs_reason *reason)
{
    cs_prediction a = { .v = v, .n = N_LABEL };
    const int n = predict_views(p, r, backend, &a);

    *reason = a.reason;
    return n;
}

static cs_record single(const char *base, int64_t n)
{
    return (cs_record){ .name = "r", .n_seg = 1, .seg = { { base, NULL, n } } };
}

static void random_bases(char *base, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        base[i] = "ACGTACGTACGTACGTACGTACGTNRYKMBDHVSW"[cs_rng_below(seed, (uint64_t)i, 35)];
}

/* ---- strands --------------------------------------------------------------------------------- */

static void check_revcomp_has_equal_bits(const cs_policy *p, int n_most)
{
    char base[MOST], turned[MOST];
    float a[N_LABEL], b[N_LABEL];
    cs_reason ra, rb;

    for (uint64_t k = 0; k < 60; k++) {
        const int64_t n = 1 + (int64_t)cs_rng_below(11, k, (uint64_t)n_most);
        random_bases(base, n, k);
        cs_base_revcomp(base, n, turned);
        const cs_record x = single(base, n), y = single(turned, n);
        assert_int_equal(output(p, &x, a, &ra), output(p, &y, b, &rb));
        assert_int_equal(ra, rb);
        if (ra == CS_REASON_NONE)
            assert_memory_equal(a, b, sizeof a);
    }
}

static void test_revcomp_has_equal_bits(void **state)
{
    cs_policy_args a = usual;

    (void)state;
    a.strand = 2;
    cs_model *const all[] = { plain, mirrored, bag };
    for (int i = 0; i < 3; i++) {
        cs_policy p = policy_of(all[i], a);
        assert_true(p.both && p.canonical == (all[i] == bag));
        check_revcomp_has_equal_bits(&p, 900);
    }
    a.on_long = CS_LONG_WINDOW;
    for (int64_t window = 64; window < 75; window++) {
        a.window = window;
        a.overlap = window % 3 * 10;
        cs_policy p = policy_of(window % 2 ? plain : bag, a);
        check_revcomp_has_equal_bits(&p, 900);
    }
}

/* The canonical strand alone is both strands' mean, but for rounding. */
static void test_bag_uses_one_strand(void **state)
{
    char base[700];
    float one[N_LABEL], two[N_LABEL];
    cs_reason reason;
    cs_policy_args a = usual;

    (void)state;
    a.strand = 2;
    cs_policy p = policy_of(bag, a), q = p;
    q.canonical = false;
    for (uint64_t k = 0; k < 20; k++) {
        random_bases(base, sizeof base, k);
        const cs_record r = single(base, sizeof base);
        assert_int_equal(output(&p, &r, one, &reason), 1);
        assert_int_equal(output(&q, &r, two, &reason), 2);
        for (int i = 0; i < N_LABEL; i++)
            assert_true(fabsf(one[i] - two[i]) < 1e-6f);
    }
}

/* Raw values of a record's only view, with its tokens counted or not. */
static void raw_values(const cs_policy *p, const cs_record *r, float *v)
{
    enum { VOCAB = 138 };                /* canonical 4-mers */
    int64_t count[VOCAB];
    cs_view view;
    cs_session *s = cs_session_new(bag, backend);
    cs_batch *b = cs_batch_new(0, 0);

    assert_int_equal(bag->tok->n_vocab(bag->tok_state), VOCAB);
    cs_views_list(p, r, 0, &view);
    assert_int_equal(cs_view_counts(p, &view), view.tok.n == 0);
    assert_int_equal(cs_view_counts(p, &view), p->counts && r->seg[0].n_base >= 1 << 16);
    view.count = cs_view_counts(p, &view) ? count : NULL;
    int32_t *id = view.tok.id = cs_xcalloc((size_t)view.tok.n + 1, sizeof *id);
    cs_view_encode(p, r, &view, NULL);
    assert_int_equal(view.reason, CS_REASON_NONE);
    assert_int_equal(view.tok.n, r->seg[0].n_base - 3);
    assert_int_equal(view.count ? cs_batch_set_counts(b, view.count, view.tok.n, (cs_slot){ 0 })
                                : cs_batch_append(b, id, NULL, view.tok.n, NULL, (cs_slot){ 0 }),
                     CS_OK);
    assert_int_equal(cs_session_forward(s, b, v), CS_OK);
    free(id);
    cs_batch_free(b);
    cs_session_free(s);
}

/* The kernels may sum in another order if a CPU has none of the instruction sets. */
static void test_counts_of_long_sequences(void **state)
{
    enum { LONG = 1 << 16 };
    static char base[LONG];
    float one[N_LABEL], two[N_LABEL];
    cs_policy p = policy_of(bag, usual), q = p;
    cs_reason reason;

    (void)state;
    assert_true(p.counts && !policy_of(plain, usual).counts);
    q.counts = false;
    random_bases(base, LONG, 3);
    for (int64_t n = LONG - 1; n <= LONG; n++) {
        const cs_record r = single(base, n);
        raw_values(&p, &r, one);
        raw_values(&q, &r, two);
        for (int i = 0; i < N_LABEL; i++)
            assert_float_equal(one[i], two[i], 1e-6);
    }
    memset(base, 'R', LONG);
    const cs_record unknown = single(base, LONG);
    assert_int_equal(output(&p, &unknown, one, &reason), 1);
    assert_int_equal(reason, CS_REASON_ALL_N);
}

/* Predictions of a model for a sequence and for its reverse complement: each strand alone, and with
 * a choice of --strand that reads both. */
struct strands { float one[2][N_LABEL], both[2][N_LABEL]; };

static void predict_strands(cs_model *m, int strand, struct strands *p)
{
    char base[2][300];
    cs_reason reason;
    cs_policy_args a = usual;
    const cs_policy one = policy_of(m, a);

    a.strand = strand;
    const cs_policy two = policy_of(m, a);
    random_bases(base[0], sizeof base[0], 3);
    cs_base_revcomp(base[0], sizeof base[0], base[1]);
    for (int i = 0; i < 2; i++) {
        const cs_record x = single(base[i], sizeof base[i]);
        output(&one, &x, p->one[i], &reason);
        output(&two, &x, p->both[i], &reason);
    }
}

/* The mean is that of logits, not of probabilities. */
static void test_both_averages_logits(void **state)
{
    struct strands p;
    const float *f = p.one[0], *r = p.one[1], *both = p.both[0];
    float sum = 0, want[N_LABEL];

    (void)state;
    predict_strands(plain, 2, &p);
    for (int i = 0; i < N_LABEL; i++)
        sum += want[i] = sqrtf(f[i] * r[i]);       /* a mean of logarithms */
    for (int i = 0; i < N_LABEL; i++)
        assert_true(fabsf(both[i] - want[i] / sum) < 1e-6f);
}

static double logit(float p)
{
    return log((double)p / (1 - (double)p));
}

/* Logits of labels, weighted by the softmax over the strands of the last one's. */
static void test_weighted_strands(void **state)
{
    struct strands p;
    const float *f = p.one[0], *r = p.one[1], *got = p.both[0];

    (void)state;
    predict_strands(labelled, 4, &p);
    assert_memory_equal(p.both[0], p.both[1], sizeof p.both[0]);
    const double by = exp(logit(f[N_LABEL - 1])), other = exp(logit(r[N_LABEL - 1]));
    assert_true(fabs(by - other) > 1e-3);
    for (int i = 0; i < N_LABEL; i++)
        assert_true(fabs(logit(got[i]) - (by * logit(f[i]) + other * logit(r[i])) / (by + other))
                    < 1e-4);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A probability equal to the minimum is called, the next smaller one is not: with --min-prob, and
 * with the thresholds of a model. The minimum length of a model is inclusive, too. */
static void test_minimum_is_inclusive(void **state)
{
    char base[300];
    float v[N_LABEL];
    cs_reason reason;
    cs_policy p = policy_of(plain, usual);

    (void)state;
    random_bases(base, sizeof base, 3);
    const cs_record r = single(base, sizeof base);
    output(&p, &r, v, &reason);
    const int32_t best = cs_argmax(v, N_LABEL);
    const double equal = (double)v[best], above = (double)nextafterf(v[best], 1);
    p.min_prob = equal;
    output(&p, &r, v, &reason);
    assert_int_equal(reason, CS_REASON_NONE);
    p.min_prob = above;
    output(&p, &r, v, &reason);
    assert_int_equal(reason, CS_REASON_LOW_PROB);
    p.min_prob = 0;
    plain->calibration.n = 1;
    plain->calibration.bin[0].temperature = 1;
    p.class_min_prob[0][best] = equal;
    output(&p, &r, v, &reason);
    assert_int_equal(reason, CS_REASON_NONE);
    p.class_min_prob[0][best] = above;
    output(&p, &r, v, &reason);
    assert_int_equal(reason, CS_REASON_LOW_CONFIDENCE);
    p.use_conditions = true;
    plain->calibration.shortest = sizeof base;
    assert_false(cs_policy_too_short(&p, &r));
    plain->calibration.shortest++;
    assert_true(cs_policy_too_short(&p, &r));
    plain->calibration.n = 0;
    plain->calibration.shortest = 0;
}

/* ---- windows ------------------------------------------------------------------------------- */

static void check_windows(const cs_policy *p, int64_t n)
{
    static cs_view v[MAX_VIEW];
    char base[MOST] = "";
    const cs_record r = single(base, n);
    const int64_t k = cs_views_count(p, &r);

    assert_true(k <= MAX_VIEW);
    cs_views_list(p, &r, 0, v);
    assert_int_equal(v[0].start, 0);
    assert_int_equal(v[k - 1].start + v[k - 1].n_base, n);
    for (int64_t i = 0; i < k; i++) {
        const cs_view *mirror = &v[k - 1 - i];
        assert_true(v[i].n_base <= p->window);
        assert_int_equal(v[i].n_base, mirror->n_base);
        assert_int_equal(v[i].start, n - mirror->start - mirror->n_base);
        if (i > 0)
            assert_true(v[i].start > v[i - 1].start &&
                        v[i - 1].start + v[i - 1].n_base >= v[i].start + p->overlap - 1);
    }
}

static void test_windows_cover_and_mirror(void **state)
{
    cs_policy_args a = usual;

    (void)state;
    a.on_long = CS_LONG_WINDOW;
    for (a.window = 64; a.window < 80; a.window++) {
        for (a.overlap = 0; a.overlap <= a.window / 2; a.overlap += 7) {
            const cs_policy p = policy_of(plain, a);
            for (int64_t n = 1; n < 700; n += 1 + n / 40)
                check_windows(&p, n);
        }
    }
}

/* The mean over three windows of given values of the first label; NaN: of no prediction. Returns
 * the number of windows with one. */
static int combine_windows(const cs_policy *p, const float *value, float *v)
{
    char base[190] = "";
    float raw[3][N_LABEL] = { { 0 } };
    cs_view view[3];
    int32_t first[] = { 0, 3 };
    cs_prediction a = { .v = v, .n = N_LABEL };
    cs_record r = single(base, sizeof base);

    assert_int_equal(cs_views_count(p, &r), 3);
    cs_views_list(p, &r, 0, view);
    for (int i = 0; i < 3; i++) {
        raw[i][0] = value[i];
        view[i].v = raw[i];
        view[i].reason = isnan(value[i]) ? CS_REASON_ALL_N : CS_REASON_NONE;
    }
    cs_views views = { .view = view, .first = first, .prediction = &a };
    cs_views_combine(p, &(cs_chunk){ .rec = &r, .views = &views }, 0);
    assert_int_equal(a.reason, CS_REASON_NONE);
    return a.n_window[0];
}

static void test_windows_weigh_alike(void **state)
{
    float v[N_LABEL];
    cs_policy_args w = usual;

    (void)state;
    w.on_long = CS_LONG_WINDOW;
    w.window = 64;
    const cs_policy p = policy_of(plain, w);
    assert_int_equal(combine_windows(&p, (const float[]){ 1, 2, 6 }, v), 3);
    check_near(log((double)(v[0] / v[1])), 3, 1e-5);
    assert_int_equal(combine_windows(&p, (const float[]){ 1, NAN, 6 }, v), 2);
    check_near(log((double)(v[0] / v[1])), 3.5, 1e-5);
    assert_int_equal(combine_windows(&p, (const float[]){ NAN, 2, 6 }, v), 2);
    check_near(log((double)(v[0] / v[1])), 4, 1e-5);
}

/* The order of summation is the same for the reverse complement: values whose sum depends on it. */
static void test_sum_over_windows_is_symmetric(void **state)
{
    static const float forward[] = { 1e30F, -1e30F, 3 }, reverse[] = { 3, -1e30F, 1e30F };
    float a[N_LABEL], b[N_LABEL];
    cs_policy_args w = usual;

    (void)state;
    w.on_long = CS_LONG_WINDOW;
    w.window = 64;
    const cs_policy p = policy_of(plain, w);
    (void)combine_windows(&p, forward, a);
    (void)combine_windows(&p, reverse, b);
    assert_memory_equal(a, b, sizeof a);
}

static void test_window_defaults_to_the_models_length(void **state)
{
    cs_policy_args a = usual;

    (void)state;
    a.on_long = CS_LONG_WINDOW;
    const cs_policy p = policy_of(short_one, a);
    assert_int_equal(p.window, 4 + 3 * 63 + 2);    /* 64 words of 4 every 3 bases, and 2 more */
}

/* ---- reasons, segments -------------------------------------------------------------------- */

static cs_reason reason_of(const cs_policy *p, const char *base)
{
    float v[N_LABEL];
    cs_reason reason;
    const cs_record r = single(base, (int64_t)strlen(base));

    output(p, &r, v, &reason);
    return reason;
}

static void test_reasons(void **state)
{
    cs_policy_args a = usual;
    cs_policy p = policy_of(plain, a);
    char long_one[400];

    (void)state;
    assert_int_equal(reason_of(&p, ""), CS_REASON_EMPTY);
    assert_int_equal(reason_of(&p, "ACG"), CS_REASON_TOO_SHORT);
    assert_int_equal(reason_of(&p, "ACGT"), CS_REASON_NONE);
    assert_int_equal(reason_of(&p, "NNNNRYNNNN"), CS_REASON_ALL_N);
    assert_int_equal(reason_of(&p, "NNNNNNNNNNNNNNNNNNACGTNNNNNNNNNNNNNNNNNNNNN"),
                     CS_REASON_MOSTLY_N);
    assert_int_equal(reason_of(&p, "ACGNACGNACGNACGNACGN"), CS_REASON_NO_TOKEN);
    a.min_length = 10;
    a.max_unknown = 0.5;
    p = policy_of(plain, a);
    assert_int_equal(reason_of(&p, "ACGTACGTA"), CS_REASON_TOO_SHORT);
    assert_int_equal(reason_of(&p, "ACGTACGTAC"), CS_REASON_NONE);
    assert_int_equal(reason_of(&p, "ACGTANNNNN"), CS_REASON_NONE);
    assert_int_equal(reason_of(&p, "ACGTNNNNNN"), CS_REASON_MOSTLY_N);
    a.max_unknown = 0.29;                /* 0.29 * 100 is below 29 in binary */
    p = policy_of(plain, a);
    memset(long_one, 'A', 71);
    memset(long_one + 71, 'N', 29);
    long_one[100] = '\0';
    assert_int_equal(reason_of(&p, long_one), CS_REASON_NONE);
    long_one[70] = 'N';
    assert_int_equal(reason_of(&p, long_one), CS_REASON_MOSTLY_N);
    p = policy_of(short_one, usual);
    memset(long_one, 'A', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    assert_int_equal(reason_of(&p, long_one), CS_REASON_TOO_LONG);
    a = usual;
    a.on_long = CS_LONG_WINDOW;
    p = policy_of(short_one, a);
    assert_int_equal(reason_of(&p, long_one), CS_REASON_NONE);
}

/* The prediction of a pair, in either order; of one mate if the other has none. */
static void test_pairs(void **state)
{
    char one[98], two[300];
    float a[N_LABEL], b[N_LABEL];
    cs_reason ra, rb;
    char text[CS_LENGTH_TEXT];
    const cs_policy p = policy_of(plain, usual);

    (void)state;
    random_bases(one, sizeof one, 1);
    random_bases(two, sizeof two, 2);
    const cs_segment s = { one, NULL, sizeof one }, t = { two, NULL, sizeof two },
                     none = { "NNNNN", NULL, 5 };
    const cs_record st = { .name = "p", .n_seg = 2, .seg = { s, t } },
                    ts = { .name = "p", .n_seg = 2, .seg = { t, s } },
                    sn = { .name = "p", .n_seg = 2, .seg = { s, none } },
                    nn = { .name = "p", .n_seg = 2, .seg = { none, none } };
    assert_int_equal(output(&p, &st, a, &ra), 2);
    assert_int_equal(output(&p, &ts, b, &rb), 2);
    assert_memory_equal(a, b, sizeof a);
    assert_string_equal(cs_record_length(&st, text), "98|300");
    assert_int_equal(cs_record_bases(&st), 398);
    const cs_record alone = single(one, sizeof one);
    output(&p, &sn, a, &ra);
    output(&p, &alone, b, &rb);
    assert_int_equal(ra, CS_REASON_NONE);
    assert_memory_equal(a, b, sizeof a);
    output(&p, &nn, a, &ra);
    assert_int_equal(ra, CS_REASON_ALL_N);
}

static void refused(cs_model *m, cs_policy_args a, const char *message)
{
    cs_policy p;

    assert_int_equal(cs_policy_init(&p, &a, NULL, m), CS_EUSAGE);
    assert_string_equal(cs_error_message(), message);
    cs_error_clear();
}

static void test_incompatible_options(void **state)
{
    cs_policy_args a = usual;

    (void)state;
    a.window = 100;
    refused(plain, a, "--window-length needs --long-sequence window");
    a.on_long = CS_LONG_WINDOW;
    a.overlap = 51;
    refused(plain, a, "--window-overlap 51 is more than half of the window length of 100 bases");
    a.overlap = 0;
    a.window = 1000;
    refused(short_one, a, "--window-length 1000 exceeds the model's maximum of 195 bases");
    a.window = 10;
    refused(plain, a, "--window-length 10 is too short; it must be at least 64");
    a = usual;
    a.strand = 4;
    refused(plain, a, "--strand weighted needs head variant or multilabel, with at least two "
            "labels, the last of which is the strand");
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_revcomp_has_equal_bits),
        cmocka_unit_test(test_bag_uses_one_strand),
        cmocka_unit_test(test_counts_of_long_sequences),
        cmocka_unit_test(test_both_averages_logits),
        cmocka_unit_test(test_weighted_strands),
        cmocka_unit_test(test_minimum_is_inclusive),
        cmocka_unit_test(test_windows_cover_and_mirror),
        cmocka_unit_test(test_windows_weigh_alike),
        cmocka_unit_test(test_sum_over_windows_is_symmetric),
        cmocka_unit_test(test_window_defaults_to_the_models_length),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_incompatible_options),
    };

    return cmocka_run_group_tests(test, setup, teardown);
}
