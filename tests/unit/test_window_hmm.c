/* test_window_hmm.c - classes along a record: emissions, changes of class, reverse complements. */
#include "check.h"

#include "infer/views.h"
#include "infer/window_hmm.h"

enum { N_CLASS = 2, MOST = 40 };

static cs_model model = { .n_label = N_CLASS };
static const double *prior;      /* of segment() */

/* A record of n_base bases, once. */
static int next_record(void *source, cs_chunk *c)
{
    int64_t *n_base = source;
    cs_record *r;

    if (*n_base == 0)
        return CS_EOF;
    char *base = cs_arena_alloc(c->mem, (size_t)*n_base, 1);
    assert_non_null(base);
    memset(base, 'A', (size_t)*n_base);
    assert_non_null(r = cs_chunk_append(c));
    r->name = "r";
    r->seg[0] = (cs_segment){ base, NULL, *n_base };
    r->n_seg = 1;
    *n_base = 0;
    return CS_OK;
}

/* The posteriors v [n][N_CLASS] and first bases cell [n + 1] of n windows; p[i] is the probability
 * of the second class in window i. */
static void segment(int64_t n_base, int64_t window, int64_t overlap, double penalty,
                    const float *p, int64_t n, float *v, int64_t *cell)
{
    const cs_policy policy = { .model = &model, .window = window, .overlap = overlap };
    cs_window_hmm g = { .policy = &policy, .penalty = penalty, .prior = prior, .next = next_record,
                        .source = &n_base };
    cs_chunk *c = cs_chunk_new(0);
    cs_prediction whole;

    for (int64_t i = 0; i < n; i++)
        assert_int_equal(cs_window_hmm_next(&g, c), CS_OK);
    assert_int_equal(cs_window_hmm_next(&g, c), CS_EOF);
    for (int64_t i = 0; i < n; i++) {
        float of_window[N_CLASS] = { 1 - p[i], p[i] };
        assert_int_equal(cs_window_hmm_add(&g, &c->rec[i], &(cs_prediction){
            .v = of_window, .n = N_CLASS }, &whole), CS_OK);
    }
    assert_int_equal(whole.n, n * N_CLASS);
    memcpy(v, whole.v, (size_t)whole.n * sizeof *v);
    memcpy(cell, g.cell, (size_t)(n + 1) * sizeof *cell);
    cs_chunk_free(c);
    cs_window_hmm_release(&g);
}

/* Without a cost of changes a part has its window's probability, less the even thousandth; of a
 * window twice as long as the part, to the power 1/2. */
static void test_emissions_count_each_base_once(void **state)
{
    const float p[] = { 0.5F, 0.5F, 0.8F, 0.5F, 0.5F };
    const double high = 0.8 * 0.999 + 0.0005, low = 0.2 * 0.999 + 0.0005;
    float v[MOST];
    int64_t cell[MOST];

    (void)state;
    segment(500, 100, 0, 0, p, 5, v, cell);
    assert_true(fabs((double)v[2 * 2 + 1] - high) < 1e-6);
    segment(300, 100, 50, 0, p, 5, v, cell);
    assert_true(fabs((double)v[2 * 2 + 1] - sqrt(high) / (sqrt(high) + sqrt(low))) < 1e-6);
}

/* One certain window does not outweigh many others. */
static void test_one_window_does_not_decide(void **state)
{
    float p[MOST / 2] = { 0 }, v[MOST];
    int64_t cell[MOST];

    (void)state;
    for (int i = 0; i < 20; i++)
        p[i] = i == 7 ? 1 : 0.1F;
    segment(2000, 100, 0, 40, p, 20, v, cell);
    for (int i = 0; i < 20; i++)
        assert_true(v[2 * i] > 0.99F);
}

/* Equal bits from right to left; a boundary in the middle of an odd number of bases may move. */
static void check_reverse_complement(void)
{
    float p[MOST / 2], q[MOST / 2], v[MOST], w[MOST];
    int64_t a[MOST], b[MOST];

    for (int64_t n_base = 400; n_base < 420; n_base++) {
        const int64_t n = cs_policy_n_window(&(cs_policy){ .window = 64, .overlap = 13 }, n_base);
        for (int64_t i = 0; i < n; i++)
            p[i] = q[n - 1 - i] = (float)(i * i % 7) / 7;
        segment(n_base, 64, 13, 2, p, n, v, a);
        segment(n_base, 64, 13, 2, q, n, w, b);
        for (int64_t i = 0; i < n; i++)
            assert_memory_equal(v + 2 * i, w + 2 * (n - 1 - i), 2 * sizeof *v);
        for (int64_t i = 0; i <= n; i++)
            assert_true(a[i] == n_base - b[n - i] || (2 * i == n && n_base % 2 != 0));
    }
}

static void test_reverse_complement(void **state)
{
    const double rare[N_CLASS] = { 0, log(0.07 / 0.93) };

    (void)state;
    check_reverse_complement();
    prior = rare;
    check_reverse_complement();
    prior = NULL;
}

/* One window: the product of share and probability. Two: the sum over the four paths, each change
 * of class with its penalty and twice the share of the new class. No evidence: the shares. */
static void test_shares(void **state)
{
    const double share[N_CLASS] = { 0.9, 0.1 }, given[N_CLASS] = { 0, log(1.0 / 9) },
                 never[N_CLASS] = { 0, -INFINITY }, c = exp(-1.5);
    const float p[MOST / 2] = { 0.8F, 0.3F }, even[3] = { 0.5F, 0.5F, 0.5F };
    double e[2][N_CLASS], sum = 0, second = 0;
    float v[MOST];
    int64_t cell[MOST];

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < N_CLASS; k++)
            e[i][k] = (double)(k ? p[i] : 1 - p[i]) * 0.999 + 0.0005;
    prior = given;
    segment(100, 100, 0, 1.5, p, 1, v, cell);
    assert_true(fabs((double)v[1] - 0.1 * e[0][1] / (0.9 * e[0][0] + 0.1 * e[0][1])) < 1e-6);
    segment(200, 100, 0, 1.5, p, 2, v, cell);
    for (int i = 0; i < N_CLASS; i++)
        for (int k = 0; k < N_CLASS; k++) {
            const double path = share[i] * e[0][i] * e[1][k] *
                                ((i == k ? 1 - c : 0) + c * N_CLASS * share[k]);
            sum += path;
            second += k == 1 ? path : 0;
        }
    assert_true(fabs((double)v[3] - second / sum) < 1e-6);
    segment(300, 100, 0, 1.5, even, 3, v, cell);
    for (int i = 0; i < 3; i++)
        assert_true(fabs((double)v[2 * i + 1] - 0.1) < 1e-6);
    prior = never;
    segment(200, 100, 0, 1.5, p, 2, v, cell);
    assert_true(v[0] >= 1 && v[2] >= 1 && v[1] <= 0 && v[3] <= 0);
    prior = NULL;
}

static void test_equal_shares_change_no_bit(void **state)
{
    const double equal[N_CLASS] = { 0, 0 };
    float p[MOST / 2], v[MOST], w[MOST];
    int64_t cell[MOST];

    (void)state;
    for (int i = 0; i < MOST / 2; i++)
        p[i] = (float)(i * i % 7) / 7;
    segment(2000, 100, 0, 2, p, MOST / 2, v, cell);
    prior = equal;
    segment(2000, 100, 0, 2, p, MOST / 2, w, cell);
    prior = NULL;
    assert_memory_equal(v, w, sizeof v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_emissions_count_each_base_once),
        cmocka_unit_test(test_one_window_does_not_decide),
        cmocka_unit_test(test_reverse_complement),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_equal_shares_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
