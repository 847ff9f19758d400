/* test_bag.c - means of embedded tokens: their gradient, and means from counts of tokens. */
#include "tests/nn/ops_operands.h"

/* m: dy, rows, the sum wanted, the sum got. */
static void check_bwd(cs_backend be, const op_sizes *sz, const cs_mat *m)
{
    be.op.zero(&be, m[1]);
    be.op.zero(&be, m[2]);
    be.op.seg_mean_bwd(&be, sz->seg, m[0], m[1]);
    be.op.embed_bwd(&be, sz->id, -1, m[1], m[2]);
    for (be.n_thread = 1; be.n_thread <= 3; be.n_thread += 2) {
        be.op.zero(&be, m[3]);
        be.fused.embed_mean_bwd(&be, sz->seg, sz->id, m[0], m[3]);
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
        op_sizes sz = new_sizes((int64_t[]){ 1, 0, 7, 300, 5 }, 5, width, 3, width % 2);
        operands m = make_operands("iSC oRC oVC oVC", &sz, 7);
        sz.seg.off = sz.off;
        check_bwd(ref, &sz, m.m);
        check_bwd(*be, &sz, m.m);
        free_operands(&m);
        free(sz.id);
    }
    cs_backend_close(be);
}

/* m: the table, the mean of tokens, that of their counts. Vectorised kernels count the tokens of a
 * segment that is longer than the vocabulary: then both are the same sum. */
static void check_counts(cs_backend be, const op_sizes *sz, const cs_mat *m, bool same)
{
    int64_t count[N_VOCAB] = { 0 };
    const float within = same ? 0 : 1e-6f;

    for (int64_t i = 0; i < sz->r; i++)
        if (sz->id[i] >= 0)
            count[sz->id[i]]++;
    for (be.n_thread = 1; be.n_thread <= 3; be.n_thread += 2) {
        be.op.embed_mean(&be, sz->seg, sz->id, m[0], m[1]);
        be.fused.count_mean(&be, count, sz->r, m[0], m[2]);
        for (int32_t j = 0; j < sz->c; j++)
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
            op_sizes sz = new_sizes((int64_t[]){ n }, 1, width, 3, width % 2);
            operands m = make_operands("iVC oSC oSC", &sz, 7);
            sz.seg.off = sz.off;
            check_counts(ref, &sz, m.m, false);
            check_counts(*be, &sz, m.m, vectorised);
            free_operands(&m);
            free(sz.id);
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
