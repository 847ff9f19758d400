/* test_bag.c - means of embedded tokens: their gradient, and means from counts of tokens. */
#include "tests/nn/ops_env.h"

/* m: dy, rows, the sum wanted, the sum got. */
static void check_bwd(cs_backend be, const env *e, const cs_mat *m)
{
    be.op.zero(&be, m[1]);
    be.op.zero(&be, m[2]);
    be.op.seg_mean_bwd(&be, e->seg, m[0], m[1]);
    be.op.embed_bwd(&be, e->id, -1, m[1], m[2]);
    for (be.n_thread = 1; be.n_thread <= 3; be.n_thread += 2) {
        be.op.zero(&be, m[3]);
        be.fused.embed_mean_bwd(&be, e->seg, e->id, m[0], m[3]);
        for (int64_t v = 0; v < m[3].r; v++)
            for (int32_t j = 0; j < m[3].c; j++)
                assert_float_equal(row(m[3], v)[j], row(m[2], v)[j], 1e-4);
    }
}

/* Segments shorter and longer than the vocabulary, one of them empty. */
static void test_embed_mean_bwd(void **state)
{
    (void)state;
    cs_backend *be = open_backend(), ref = *be;
    cs_cpu_fill(&ref, ~0u);
    for (int32_t width = 1; width < 100; width += 33) {
        env e = new_env((int64_t[]){ 1, 0, 7, 300, 5 }, 5, width, 3, width % 2);
        mats m = make("iSC oRC oVC oVC", &e, 7);
        e.seg.off = e.off;
        check_bwd(ref, &e, m.m);
        check_bwd(*be, &e, m.m);
        drop(&m);
        free(e.id);
    }
    cs_backend_close(be);
}

/* m: the table, the mean of tokens, that of their counts. Vectorised kernels count the tokens of a
 * segment that is longer than the vocabulary: then both are the same sum. */
static void check_counts(cs_backend be, const env *e, const cs_mat *m, bool same)
{
    int64_t count[N_VOCAB] = { 0 };
    const float within = same ? 0 : 1e-6f;

    for (int64_t i = 0; i < e->r; i++)
        if (e->id[i] >= 0)
            count[e->id[i]]++;
    for (be.n_thread = 1; be.n_thread <= 3; be.n_thread += 2) {
        be.op.embed_mean(&be, e->seg, e->id, m[0], m[1]);
        be.fused.count_mean(&be, count, e->r, m[0], m[2]);
        for (int32_t j = 0; j < e->c; j++)
            assert_float_equal(m[2].p[j], m[1].p[j], within);
    }
}

static void test_count_mean(void **state)
{
    (void)state;
    cs_backend *be = open_backend(), ref = *be;
    cs_cpu_fill(&ref, ~0u);
    const bool vectorised = be->fused.count_mean != ref.fused.count_mean;
    for (int32_t width = 1; width < 200; width += 33) {
        for (int64_t n = 0; n <= 300; n += 100) {
            env e = new_env((int64_t[]){ n }, 1, width, 3, width % 2);
            mats m = make("iVC oSC oSC", &e, 7);
            e.seg.off = e.off;
            check_counts(ref, &e, m.m, false);
            check_counts(*be, &e, m.m, vectorised);
            drop(&m);
            free(e.id);
        }
    }
    cs_backend_close(be);
}

int main(void)
{
    static const struct CMUnitTest test[] = { cmocka_unit_test(test_embed_mean_bwd),
                                              cmocka_unit_test(test_count_mean) };
    if (cs_cpu_init() != CS_OK)
        return 2;
    return cmocka_run_group_tests_name("bag", test, NULL, NULL);
}
