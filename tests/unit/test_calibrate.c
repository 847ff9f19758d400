/* test_calibrate.c - temperatures recovered, rates held, valid contents of model files. */
#include "check.h"

#include <jansson.h>

#include "base/clock.h"
#include "base/rng.h"
#include "eval/calibrate.h"
#include "io/prediction.h"

enum { N = 4000, N_OUT = 4 };

static double uniform(uint64_t key, uint64_t i)
{
    return ((double)cs_rng_below(key, i, 1u << 30) + 0.5) / (double)(1u << 30);
}

/* Truths drawn from softmax(z), predictions softmax(slope z): overconfident when slope > 1. */
static void draw(cs_scores *s, uint64_t key, double slope, int64_t length, int n)
{
    for (int i = 0; i < n; i++) {
        double z[N_OUT], sum = 0, all = 0, at = uniform(key + 1, (uint64_t)i);
        float output[N_OUT], truth = 0;
        for (int k = 0; k < N_OUT; k++) {
            z[k] = 4 * uniform(key, (uint64_t)(i * N_OUT + k));
            sum += exp(z[k]);
            all += exp(slope * z[k]);
        }
        for (int k = 0; k < N_OUT; k++) {
            output[k] = (float)(exp(slope * z[k]) / all);
            at -= exp(z[k]) / sum;
            truth += at > 0 && k < N_OUT - 1;
        }
        assert_int_equal(cs_scores_add(s, output, &truth, length), CS_OK);
    }
}

static void test_temperature_is_recovered(void **state)
{
    static const int64_t edge[] = { 500, 1000, 5000 };
    cs_scores s;
    cs_calibration c = { 0 };

    (void)state;
    cs_scores_init(&s, true, N_OUT, 1);
    draw(&s, 1, 2.5, 300, N);
    draw(&s, 3, 0.5, 700, N);
    draw(&s, 5, 1, 1000, 99);                  /* too few: the fit of all records */
    assert_int_equal(cs_calibrate(&s, NULL, edge, 3, 1, &c), CS_OK);
    assert_int_equal(c.n, 4);
    assert_true(fabs(c.bin[0].temperature - 2.5) < 0.15);
    assert_true(fabs(c.bin[1].temperature - 0.5) < 0.05);
    assert_true(fabs(c.bin[2].temperature - c.bin[3].temperature) < 1e-12);
    assert_int_equal(c.bin[0].n, N);
    assert_int_equal(c.bin[2].n, 2 * N + 99);
    assert_int_equal(cs_calibration_find(&c, 0), 0);
    assert_int_equal(cs_calibration_find(&c, 499), 0);
    assert_int_equal(cs_calibration_find(&c, 500), 1);
    assert_int_equal(cs_calibration_find(&c, 1 << 30), 3);
    assert_int_equal(cs_calibration_find(&(cs_calibration){ 0 }, 10), -1);
    cs_scores_release(&s);
}

static void test_threads(void **state)
{
    cs_scores s;
    cs_calibration c = { 0 }, many = { 0 };

    (void)state;
    cs_scores_init(&s, true, N_OUT, 1);
    draw(&s, 1, 2.5, 300, 4 * N);
    assert_int_equal(cs_calibrate(&s, NULL, NULL, 0, 1, &c), CS_OK);
    assert_int_equal(cs_calibrate(&s, NULL, NULL, 0, 3, &many), CS_OK);
    assert_memory_equal(&c.bin[0].temperature, &many.bin[0].temperature, sizeof(double));
    cs_scores_release(&s);
}

/* An estimate for budgets, from a few of the records. */
static void test_time(void **state)
{
    cs_scores s, few;
    cs_calibration c = { 0 };
    double each = 1;

    (void)state;
    cs_scores_init(&s, true, N_OUT, 1);
    assert_int_equal(cs_calibrate_seconds(&s, NULL, 1, &each), CS_OK);
    assert_true(each == 0);
    draw(&s, 1, 2.5, 300, 10 * N);
    cs_scores_init(&few, true, N_OUT, 1);
    draw(&few, 3, 1, 300, N);
    assert_int_equal(cs_calibrate_seconds(&few, NULL, 1, &each), CS_OK);
    const double began = cs_now_s();
    assert_int_equal(cs_calibrate(&s, NULL, NULL, 0, 1, &c), CS_OK);
    const double took = cs_now_s() - began;
    assert_true(each * (double)s.n > took / 8 && each * (double)s.n < 8 * took);
    cs_scores_release(&s);
    cs_scores_release(&few);
}

/* Calls that are all right support a probability as high as their number allows, however sure the
 * predictions are. */
static void test_no_wrong_calls(void **state)
{
    static const float sure[] = { 0.7f, 0.999999f };

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        cs_scores s;
        cs_calibration c = { 0 };
        cs_scores_init(&s, true, 2, 1);
        for (int i = 0; i < 200; i++) {
            const float p = sure[k], output[2] = { i % 2 ? p : 1 - p, i % 2 ? 1 - p : p },
                        truth = (float)(i % 2 == 0);
            assert_int_equal(cs_scores_add(&s, output, &truth, 300), CS_OK);
        }
        assert_int_equal(cs_calibrate(&s, NULL, NULL, 0, 1, &c), CS_OK);
        const double logit = log((double)sure[k] / (1 - (double)sure[k])) / c.bin[0].temperature;
        check_near(1 / (1 + exp(-logit)), 1 - 0.5 / 201, 1e-6);
        cs_scores_release(&s);
    }
}

/* In a tree, a class above others stands for any class of its clade. */
static void test_undetermined_truths(void **state)
{
    static const int32_t parent[] = { -1, 0, 1, 1, 0 }, class_no[] = { -1, 0, 1, 2, 3 },
                         of_class[] = { 1, 2, 3, 4 };
    const cs_tree tree = { parent, class_no, of_class, 5, N_OUT, NULL };
    cs_scores s;
    cs_calibration c = { 0 };

    (void)state;
    cs_scores_init(&s, true, N_OUT, 1);
    draw(&s, 31, 2.5, 300, N);
    for (int64_t i = 0; i < s.n; i++)
        if (s.target[i] < 3)
            s.target[i] = 0;
    assert_int_equal(cs_calibrate(&s, &tree, NULL, 0, 1, &c), CS_OK);
    assert_true(fabs(c.bin[0].temperature - 2.5) < 0.25);
    cs_scores_release(&s);
}

/* In a tree, a call is wrong if the truth is outside of its clade. All calls name class 2: the
 * truths are 120 of that, 60 of its sister and 20 of another clade. */
static void test_wrong_calls_in_a_tree(void **state)
{
    static const int32_t parent[] = { -1, 0, 1, 1, 0 }, class_no[] = { -1, 0, 1, 2, 3 },
                         of_class[] = { 1, 2, 3, 4 };
    const cs_tree tree = { parent, class_no, of_class, 5, N_OUT, NULL };
    static cs_calibration c;
    cs_scores s;
    bool clade = false;

    (void)state;
    cs_scores_init(&s, true, N_OUT, 1);
    for (int i = 0; i < 200; i++) {
        const float truth = i < 120 ? 2 : i < 180 ? 1 : 3;
        assert_int_equal(cs_scores_add(&s, (const float[]){ .01f, .25f, .65f, .09f }, &truth, 300),
                         CS_OK);
    }
    assert_int_equal(cs_calibrate(&s, &tree, NULL, 0, 1, &c), CS_OK);
    const cs_call_curve *all = &c.bin[0].all;
    assert_int_equal(all->n_kept[0], 200);
    assert_int_equal(all->n_wrong[0], 80);
    for (int k = 1; k < CS_CALIBRATION_STEPS; k++) {
        assert_true(all->n_wrong[k] <= all->n_wrong[k - 1]);
        clade = clade || all->n_wrong[k] == 20;
    }
    assert_true(clade);
    cs_scores_release(&s);
}

/* The rate that --max-error asks for is kept on new records of the same kind. */
static void test_rates_are_kept(void **state)
{
    static const double rates[] = { 0.4, 0.3, 0.2 };
    cs_scores old, new;
    cs_calibration c = { 0 };
    int64_t last = INT64_MAX;

    (void)state;
    cs_scores_init(&old, true, N_OUT, 1);
    cs_scores_init(&new, true, N_OUT, 1);
    draw(&old, 11, 1, 100, N);
    draw(&new, 21, 1, 100, N);
    assert_int_equal(cs_calibrate(&old, NULL, NULL, 0, 1, &c), CS_OK);
    for (int i = 0; i < 3; i++) {
        const double min = cs_calibration_threshold(&c.bin[0].all, rates[i]);
        int64_t n = 0, n_wrong = 0;
        for (int64_t k = 0; k < new.n; k++) {
            const float *p = new.output + k * N_OUT;
            int best = 0;
            for (int j = 1; j < N_OUT; j++)
                best = p[j] > p[best] ? j : best;
            n += (double)p[best] >= min;
            n_wrong += (double)p[best] >= min && best != (int)new.target[k];
        }
        assert_true(n > 0 && n < last && (double)n_wrong <= rates[i] * (double)n);
        last = n;
    }
    assert_true(cs_calibration_threshold(&c.bin[0].all, 1e-6) > 1);
    cs_scores_release(&old);
    cs_scores_release(&new);
}

/* Calls of class 0 are right nine times in ten, those of class 1 every second time; class 1 has no
 * place in what a rate of 0.2 allows, although all calls together keep to it. */
static void test_each_class_keeps_its_rate(void **state)
{
    cs_scores s;
    cs_calibration c = { 0 };
    cs_calls calls;

    (void)state;
    cs_scores_init(&s, true, 2, 1);
    for (int i = 0; i < 1000; i++) {
        const int call = i % 10 == 0, right = call ? i % 20 == 0 : i % 10 != 1;
        const float output[2] = { call ? 0.1f : 0.9f, call ? 0.9f : 0.1f },
                    truth = (float)(right ? call : 1 - call);
        assert_int_equal(cs_scores_add(&s, output, &truth, 100), CS_OK);
    }
    assert_int_equal(cs_calibrate(&s, NULL, NULL, 0, 1, &c), CS_OK);
    assert_true(cs_calibration_threshold(&c.bin[0].all, 0.2) <= 1);
    assert_true(cs_calibration_min_prob(&c, 0, 0, 0.2) <= 1);
    assert_true(cs_calibration_min_prob(&c, 0, 1, 0.2) > 1);
    /* Never below one half, unless the rate allows more errors than that. */
    assert_true(cs_calibration_threshold(&c.bin[0].called[0], 0.2) < 0.5);
    assert_true(cs_calibration_min_prob(&c, 0, 0, 0.2) >= 0.5);
    assert_true(cs_calibration_min_prob(&c, 0, 0, 0.9) < 0.2);
    cs_scores_calls(&s, &c, 0, INT64_MAX, 0.2, NULL, &calls);
    assert_int_equal(calls.n, 1000);
    assert_int_equal(calls.of_class[1].n_calls, 0);
    assert_int_equal(calls.n_called, calls.of_class[0].n_calls);
    assert_true(calls.n_called > 0 && calls.n_wrong * 5 <= calls.n_called);
    s.reason[1] = CS_REASON_UNLIKE;
    const int64_t before = calls.n_called;
    cs_scores_calls(&s, &c, 0, INT64_MAX, 0.2, NULL, &calls);
    assert_int_equal(calls.n_called, before - 1);
    s.reason[2] = CS_REASON_TOO_SHORT;
    cs_scores_calls(&s, &c, 0, INT64_MAX, 0.2, NULL, &calls);
    assert_int_equal(calls.n_called, before - 2);
    cs_scores_release(&s);
}

static void test_conditions(void **state)
{
    cs_calibration a = { .n = 1, .max_error = 0.1, .shortest = 100, .has_likeness = true }, b = a;

    (void)state;
    a.weight[3] = -32768;
    a.weight[2079] = 7;
    json_t *j = cs_calibration_conditions_json(&a);
    b.max_error = 0;
    assert_int_equal(cs_calibration_conditions_read(&b, j), CS_OK);
    assert_true(b.max_error > 0.09 && b.max_error < 0.11 && b.shortest == 100 && b.has_likeness);
    assert_memory_equal(a.weight, b.weight, sizeof a.weight);
    json_array_remove(json_object_get(j, "likeness"), 5);
    assert_int_equal(cs_calibration_conditions_read(&b, j), CS_EFORMAT);
    json_decref(j);
    assert_int_equal(cs_calibration_conditions_read(&b, NULL), CS_OK);
}

/* The first length with calls is the minimum, but no shorter one than was seen. */
static void test_minimum_length(void **state)
{
    static const int64_t edge[] = { 200 };
    static cs_calibration c;
    cs_scores s;

    (void)state;
    cs_scores_init(&s, true, N_OUT, 1);
    draw(&s, 1, 1, 300, N);
    for (int wrong = 0; wrong < 2; wrong++) {
        assert_int_equal(cs_calibrate(&s, NULL, edge, 1, 1, &c), CS_OK);
        cs_calibrate_set_conditions(&c, &s, 0.3);
        assert_int_equal(c.shortest, wrong ? 200 : 300);
        for (int i = 0; i < 200; i++)
            assert_int_equal(cs_scores_add(&s, (const float[]){ .97f, .01f, .01f, .01f },
                                           &(float){ 1 }, 100), CS_OK);
    }
    cs_scores_release(&s);
}

/* A new calibration keeps the conditions of the earlier one, with the most lenient of its bounds
 * where a range of lengths joins several. */
static void test_conditions_are_kept(void **state)
{
    static cs_calibration joined, split, earlier = {
        .n = 3, .n_class = N_OUT, .max_error = 0.2, .has_likeness = true, .weight = { 5, -7 },
        .bin = { { .repetition = 0.1, .likeness = { -1, 1, 1, 1 } },
                 { .from = 250, .repetition = 0.3, .likeness = { -2, 2, 2, 2 } },
                 { .from = 500, .repetition = 0.2, .likeness = { -3, 3, 0, 3 } } },
    };
    static const int64_t edge[] = { 400, 600 };
    cs_scores s;

    (void)state;
    cs_scores_init(&s, true, N_OUT, 1);
    draw(&s, 1, 1, 300, N);
    assert_int_equal(cs_calibrate(&s, NULL, NULL, 0, 1, &joined), CS_OK);
    cs_calibrate_keep_conditions(&joined, &s, &earlier);
    check_near(joined.max_error, 0.2, 0);
    assert_true(joined.has_likeness && joined.weight[0] == 5 && joined.weight[1] == -7);
    check_near(joined.bin[0].repetition, 0.3, 0);
    for (int k = 0; k < N_OUT; k++)
        check_near(joined.bin[0].likeness[k], k == 0 ? -3 : k == 2 ? 0 : 1, 0);
    assert_int_equal(cs_calibrate(&s, NULL, edge, 2, 1, &split), CS_OK);
    cs_calibrate_keep_conditions(&split, &s, &earlier);
    check_near(split.bin[0].likeness[1], 1, 0);
    check_near(split.bin[1].repetition, 0.3, 0);       /* 400 to 600, in two earlier ranges */
    check_near(split.bin[1].likeness[2], 0, 0);
    check_near(split.bin[2].repetition, 0.2, 0);
    earlier.max_error = 0;                             /* it had no conditions */
    assert_int_equal(cs_calibrate(&s, NULL, NULL, 0, 1, &joined), CS_OK);
    cs_calibrate_keep_conditions(&joined, &s, &earlier);
    assert_true(joined.max_error <= 0 && !joined.has_likeness);
    cs_scores_release(&s);
}

static void test_too_few(void **state)
{
    cs_scores s;
    cs_calibration c;

    (void)state;
    cs_scores_init(&s, true, N_OUT, 1);
    draw(&s, 1, 1, 100, 99);
    assert_int_equal(cs_calibrate(&s, NULL, NULL, 0, 1, &c), CS_EFORMAT);
    assert_string_equal(cs_error_message(), "99 records are too few for calibration; at least "
                        "100 are needed");
    cs_error_clear();
    cs_scores_release(&s);
}

static void test_certainty(void **state)
{
    /* probability, right: two of 0.95, two of 0.65, one of 0.55 */
    static const struct { float p; int right; } call[] = {
        { 0.95f, 1 }, { 0.65f, 0 }, { 0.95f, 1 }, { 0.55f, 0 }, { 0.65f, 1 }
    };
    cs_scores s;
    cs_certainty c;

    (void)state;
    cs_scores_init(&s, true, 2, 1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(cs_scores_add(&s, (float[]){ call[i].p, 1 - call[i].p },
                                       &(float){ (float)!call[i].right }, 10), CS_OK);
    assert_int_equal(cs_scores_certainty(&s, 0, 100, &c), CS_OK);
    assert_int_equal(c.bin[9].n, 2);
    assert_int_equal(c.bin[6].n, 2);
    assert_int_equal(c.bin[5].n, 1);
    assert_true(fabs(c.bin[9].confidence - 0.95) < 1e-6 && c.bin[9].accuracy > 0.999);
    assert_true(fabs(c.bin[6].accuracy - 0.5) < 1e-12);
    assert_true(fabs(c.ece - (2 * 0.05 + 2 * 0.15 + 0.55) / 5) < 1e-6);
    assert_true(c.risk[3] < 1e-12 && fabs(c.risk[9] - 0.4) < 1e-12);
    assert_true(fabs(c.threshold[9] - 0.55) < 1e-6);
    assert_int_equal(cs_scores_certainty(&s, 11, 100, &c), CS_OK);
    assert_true(isnan(c.ece) && isnan(c.risk[9]));
    cs_scores_release(&s);
}

static void test_model_file(void **state)
{
    static const char *const bad[] = {
        "7", "{}", "[7]", "[{\"from\": 0, \"temperature\": 1, \"records\": 5}]",
        "[{\"from\": 0, \"temperature\": 0, \"records\": 5, \"kept\": []}]",
    };
    static const int64_t edge[] = { 500 };
    cs_scores s;
    cs_calibration a = { 0 }, b = { 0 };

    (void)state;
    cs_scores_init(&s, true, N_OUT, 1);
    draw(&s, 1, 2, 300, 500);
    draw(&s, 1, 3, 600, 500);
    assert_int_equal(cs_calibrate(&s, NULL, edge, 1, 1, &a), CS_OK);
    json_t *j = cs_calibration_json(&a);
    assert_int_equal(cs_calibration_read(&b, j), CS_OK);
    assert_int_equal(b.n, 2);
    assert_int_equal(b.n_class, N_OUT);
    for (int i = 0; i < 2; i++) {
        assert_true(fabs(a.bin[i].temperature - b.bin[i].temperature) < 1e-12);
        assert_int_equal(a.bin[i].from, b.bin[i].from);
        assert_memory_equal(&a.bin[i].all, &b.bin[i].all, sizeof a.bin[i].all);
        assert_memory_equal(a.bin[i].called, b.bin[i].called, N_OUT * sizeof *a.bin[i].called);
    }
    /* Lengths that do not grow, more wrong ones than there are, another step, and counts whose
     * sums overflow. */
    json_object_set_new(json_array_get(j, 1), "from", json_integer(0));
    assert_int_equal(cs_calibration_read(&b, j), CS_EFORMAT);
    json_object_set_new(json_array_get(j, 1), "from", json_integer(500));
    json_t *row = json_array_get(json_object_get(json_array_get(j, 1), "kept"), 3);
    json_array_set_new(row, 2, json_integer(501));
    assert_int_equal(cs_calibration_read(&b, j), CS_EFORMAT);
    json_array_set_new(row, 2, json_integer(0));
    assert_int_equal(cs_calibration_read(&b, j), CS_OK);
    json_array_set_new(row, 0, json_real(0.51));
    assert_int_equal(cs_calibration_read(&b, j), CS_EFORMAT);
    json_array_set_new(row, 0, json_real(cs_calibration_step[3]));
    assert_int_equal(cs_calibration_read(&b, j), CS_OK);
    json_object_set_new(json_array_get(j, 1), "records", json_integer(INT64_MAX));
    assert_int_equal(cs_calibration_read(&b, j), CS_EFORMAT);
    json_decref(j);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        j = json_loads(bad[i], JSON_DECODE_ANY, NULL);
        assert_non_null(j);
        assert_int_equal(cs_calibration_read(&b, j), CS_EFORMAT);
        json_decref(j);
    }
    assert_int_equal(cs_calibration_read(&b, NULL), CS_OK);
    assert_int_equal(b.n, 0);
    cs_scores_release(&s);
}

/* The rate is (wrong + sqrt(wrong) + 1) / (kept + 1); the threshold is the first step within it. */
static void test_threshold(void **state)
{
    cs_call_curve c = { .n_kept = { 99, 99 }, .n_wrong = { 16, 9 } };

    (void)state;
    assert_true(cs_calibration_threshold(&c, 0.21) <= cs_calibration_step[0]);
    check_near(cs_calibration_threshold(&c, 0.209), cs_calibration_step[1], 0);
    check_near(cs_calibration_threshold(&c, 0.13), cs_calibration_step[1], 0);
    assert_true(cs_calibration_threshold(&c, 0.129) > cs_calibration_step[1]);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_temperature_is_recovered),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_no_wrong_calls),
        cmocka_unit_test(test_undetermined_truths),
        cmocka_unit_test(test_wrong_calls_in_a_tree),
        cmocka_unit_test(test_rates_are_kept),
        cmocka_unit_test(test_each_class_keeps_its_rate),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_minimum_length),
        cmocka_unit_test(test_conditions_are_kept),
        cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_certainty),
        cmocka_unit_test(test_model_file),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
