/* test_blocks.c - fused ChordMixer blocks on a GPU against the CPU, also in training. */
#include "tests/gpu/stack.h"

#include "tests/gpu/compare.h"

/* A launch per block, for any lengths; tests/gpu/test_short.c tests the fused kernel. */
static void one_stack(const int32_t size[3], const int64_t *len, int n)
{
    int64_t off[8] = { 0 };
    stack t = new_stack(cpu, size, len, n, off);
    t.seg.depth = STACK_LONG;
    check_stack(cpu, gpu, &t);
    free_stack(&t);
}

/* A width whose weights fit in shared memory one at a time only, and sizes that do not fit. */
static void check_wide(int32_t width, int32_t too_wide)
{
    const int32_t size[] = { width, 128, 16 };
    static const int64_t some[] = { 5, 0, 70 }, more[] = { 490, 73 };

    compute_in(CS_IN_BF16);
    assert_true(gpu->fused.chord_fits(width, 128, 16));
    assert_false(gpu->fused.chord_fits(too_wide, 128, 16));
    one_stack(size, some, COUNT(some));
    one_stack(size, more, COUNT(more));
    compute_in(CS_IN_FP32);
}

static void test_wide_stack(void **state)
{
    (void)state;
    check_wide(480, 912);
}

/* Widths and hidden sizes of every kernel; tracks that fill 16 bytes, twice that, or half; segments
 * that are empty, end at tiles' edges, or share a tile. */
static void test_stack(void **state)
{
    (void)state;
    static const int32_t size[][3] = { { 24, 16, 8 }, { 12, 9, 4 }, { 80, 100, 16 }, { 28, 70, 4 },
                                       { 40, 128, 8 }, { 24, 33, 8 }, { 12, 64, 4 } };
    static const int64_t some[] = { 1, 0, 15, 48, 5, 2 }, more[] = { 70, 490, 3 };

    compute_in(CS_IN_BF16);
    for (int i = 0; i < COUNT(size); i++) {
        assert_true(gpu->fused.chord_fits(size[i][0], size[i][1], size[i][2]));
        one_stack(size[i], some, COUNT(some));
        if (i == 1 || i == 2 || i == 6)      /* tiles of 32 rows */
            one_stack(size[i], more, COUNT(more));
    }
    assert_false(gpu->fused.chord_fits(24, 129, 8));
    assert_false(gpu->fused.chord_fits(25, 16, 5));
    compute_in(CS_IN_FP32);
    assert_null(gpu->fused.chord_stack);
}

/* A first gradient is written: the same bits as if added to 0. */
static void first_gradient(const op_sizes *sz)
{
    enum { ADD = 1, FIRST = 2, DX = 6 };
    operands add = make_operands(chord_ops[ADD].spec, sz, 1);
    operands first = make_operands(chord_ops[FIRST].spec, sz, 1);
    for (int64_t r = 0; r < sz->r; r++)
        memset(add.m[DX].p + r * add.m[DX].ld, 0, (size_t)sz->c * sizeof(cs_real));
    run_on_gpu(&chord_ops[ADD], sz, &add);
    run_on_gpu(&chord_ops[FIRST], sz, &first);
    for (int i = DX; i < add.n; i++)
        for (int64_t r = 0; r < add.m[i].r; r++)
            assert_memory_equal(first.m[i].p + r * first.m[i].ld, add.m[i].p + r * add.m[i].ld,
                                (size_t)add.m[i].c * sizeof(cs_real));
    free_operands(&add);
    free_operands(&first);
}

/* The block in training: gaps between rows, one track, incomplete steps; segments of one token,
 * empty ones, enough rows for tiles of 32. test_many_rows has more of them. kib: shared memory
 * that it takes, where devices exist that have less. */
static void test_block(void **state)
{
    (void)state;
    static const struct { int32_t c, k, track, gap, kib; int64_t len[6]; int n; } set[] = {
        { 24, 16, 8, 0, 0, { 1, 0, 15, 48, 5, 2 }, 6 },
        { 20, 13, 4, 4, 0, { 1, 1, 1, 0, 1, 1 }, 6 },
        { 36, 24, 36, 0, 0, { 33 }, 1 },             { 72, 64, 4, 0, 0, { 70, 31, 3 }, 3 },
        { 80, 100, 16, 0, 0, { 2, 65, 64 }, 3 },     { 12, 9, 4, 0, 0, { 70, 490, 3 }, 3 },
        { 288, 128, 16, 0, 152, { 20, 13 }, 2 },     { 8, 66, 8, 0, 0, { 0, 0 }, 2 },
        { 8, 66, 8, 0, 0, { 300, 230 }, 2 },         { 12, 40, 4, 0, 0, { 70, 490, 3 }, 3 },
        { 272, 64, 4, 0, 0, { 70 }, 1 },             /* more tracks than a length has bits */
    };
    compute_in(CS_IN_BF16);
    for (int i = 0; i < COUNT(set); i++) {
        op_sizes sz = new_sizes(set[i].len, set[i].n, set[i].c, set[i].k, set[i].gap);
        sz.track = set[i].track;
        const bool fits = cs_cuda_shared_bytes(gpu) >= (size_t)set[i].kib << 10;
        assert_int_equal(gpu->fused.chord_block_fits(sz.c, sz.k, sz.track), fits);
        if (fits) {
            compare_with_reference(chord_ops, 2, &sz);
            first_gradient(&sz);
        }
        free(sz.id);
    }
    assert_false(gpu->fused.chord_block_fits(448, 128, 16));
    compute_in(CS_IN_FP32);
}

/* Numbers of rows at which every warp has a tile of 32, and of a slice of the backward pass. */
static int64_t full_rows(void) { return (int64_t)32 * 8 * cs_cuda_multiprocessors(gpu); }
static int64_t slice_rows(void) { return 4 * full_rows(); }

/* Operands as bf16 holds them. Rounded from others, an input of GELU that is near 0 would have
 * another slope, which in some of 40,000 rows is 5 % of dx. */
static operands make_bf16_operands(const op_case *o, const op_sizes *sz)
{
    operands s = make_operands(o->spec, sz, 1);
    for (int k = 0; k < s.n; k++)
        for (int64_t i = 0; i < mat_span(s.m[k]); i++)
            s.m[k].p[i] = bf16_of(s.m[k].p[i]);
    return s;
}

/* As chord_ops against the CPU's fast kernels, also for every row alone. */
static void block_of_rows(cs_backend *fast, const op_sizes *sz)
{
    op_sizes here = *sz;
    here.seg.off = here.off;
    for (int i = 0; i < COUNT(chord_ops); i++) {
        const op_case *o = &chord_ops[i];
        operands before = make_bf16_operands(o, sz), want = copy_operands(&before);
        operands got = copy_operands(&before);
        o->run(fast, &here, want.m);
        run_on_gpu(o, sz, &got);
        compare_outputs(o, sz, &got, &want, &before, 1e-4, 1e-4);
        for (int k = 0; k < got.n; k++)
            if (is_output(role(o->spec, k)) && !(worst_row(got.m[k], want.m[k]) <= 1e-3))
                fail_msg("%s, matrix %d, %ld x %d: a row is off by %g", o->name, k, (long)sz->r,
                         sz->c, sqrt(worst_row(got.m[k], want.m[k])));
        check_repeatable(o, sz, &got, copy_operands(&before));
        free_operands(&before);
        free_operands(&want);
        free_operands(&got);
    }
}

/* Rows for the emulator's warpgroups (on a GPU: test_many_rows), tiles of one segment and several;
 * last products' steps in pairs, left over, half; two slices backward, of 2,304 rows at most. */
static void test_warpgroups(void **state)
{
    (void)state;
    static const int32_t size[][3] = { { 16, 66, 8 }, { 80, 100, 16 }, { 176, 128, 8 },
                                       { 128, 70, 16 } };
    static const int64_t len[][7] = { { 70, 2300, 0, 65 }, { 70, 690, 0, 3, 128, 65, 200 } };
    cs_backend *fast;

    assert_int_equal(cs_backend_open("cpu", 0, &fast), CS_OK);
    compute_in(CS_IN_BF16);
    for (int i = 0; i < COUNT(size); i++) {
        op_sizes sz = new_sizes(len[i > 0], 7, size[i][0], size[i][1], 0);
        sz.track = size[i][2];
        one_stack(size[i], len[1], 7);
        if (!quick || i == 0)
            block_of_rows(fast, &sz);
        free(sz.id);
    }
    cs_backend_close(fast);
    compute_in(CS_IN_FP32);
}

/* Tiles of 32 rows, several per warp, and several slices of the backward pass; on a GPU at the
 * paper's sizes, the slices at the smallest. */
static void test_many_rows(void **state)
{
    (void)state;
#ifdef CS_HOST_CUDA
    static const int32_t size[][3] = { { 12, 40, 4 }, { 8, 66, 8 } };
    const int64_t rows[] = { full_rows() + 5, slice_rows() + full_rows() / 8 };
    const int64_t max_stack_rows = rows[0];  /* one tile more than warps is enough here */
    const int64_t max_wide_rows = rows[1];
#else
    static const int32_t size[][3] = { { 288, 128, 16 }, { 336, 128, 16 }, { 72, 64, 4 } };
    const int64_t more = slice_rows() + 4803;
    const int64_t rows[] = { full_rows() + 5 > 40000 ? full_rows() + 5 : 40000,
                             more > 140000 ? more : 140000 };
    const int64_t max_stack_rows = rows[1], max_wide_rows = rows[0];
#endif
    cs_backend *fast;
    assert_int_equal(cs_backend_open("cpu", 0, &fast), CS_OK);
    compute_in(CS_IN_BF16);
    for (int i = 0; i < COUNT(size) * COUNT(rows); i++) {
        const int32_t *s = size[i / COUNT(rows)];
        const int64_t n = rows[i % COUNT(rows)], len[] = { 70, n - 73, 3 };
        const bool small = s[0] == size[COUNT(size) - 1][0];
        if ((quick && !(small && n == rows[0])) || (!small && n > max_wide_rows))
            continue;
        if (gpu->fused.chord_fits(s[0], s[1], s[2]) && n <= max_stack_rows)
            one_stack(s, len, COUNT(len));
        if (!gpu->fused.chord_block_fits(s[0], s[1], s[2]))
            continue;
        op_sizes sz = new_sizes(len, COUNT(len), s[0], s[1], 0);
        sz.track = s[2];
        block_of_rows(fast, &sz);
        free(sz.id);
    }
    compute_in(CS_IN_FP32);
    cs_backend_close(fast);
}

#ifdef CS_HOST_CUDA
/* Fewer shapes fit; they give the same results. */
static void blocks_of_99_kib(void **state)
{
    assert_int_equal(cs_cuda_shared_bytes(gpu), 99 << 10);
    test_stack(state);
    check_wide(208, 400);
    test_block(state);
    compute_in(CS_IN_BF16);
    assert_true(gpu->fused.chord_block_fits(160, 128, 16));
    assert_false(gpu->fused.chord_block_fits(176, 128, 16));
    compute_in(CS_IN_FP32);
}

static void test_less_shared(void **state)
{
    with_99_kib_shared(CS_IN_FP32, &gpu, blocks_of_99_kib, state);
}
#endif

int main(int argc, char **argv)
{
    if (setenv("CHORDSEQ_WGMMA_BACKWARD", "1", 0) != 0)      /* unless the caller says 0 */
        return 2;
    static const struct CMUnitTest test[] = {
        TEST(test_stack), TEST(test_wide_stack), TEST(test_block), TEST(test_warpgroups),
        TEST(test_many_rows),
#ifdef CS_HOST_CUDA
        TEST(test_less_shared),
#endif
    };
    return run_all("blocks", test, COUNT(test), argc, argv);
}
