/* test_short.c - ChordMixer for short sequences in one launch: when it is used, and its results
 * beside any neighbours.
 *
 * DESIGN. A batch's depth selects the kernel, so the same rows can be sent to both: they must give
 * the same bits. On the emulated GPU with two multiprocessors, a batch of a few hundred rows
 * already takes several slices per block.
 */
#include "tests/gpu/device.h"
#include "tests/gpu/stack.h"

#define COUNT(a) ((int)(sizeof (a) / sizeof *(a)))

enum { MAX_SEGMENTS = 48 };

static cs_backend *gpu, *cpu;

/* Depths up to this limit use the one-launch kernel, which needs no scratch. */
static bool is_short(cs_backend *be, const int32_t size[3], int32_t depth)
{
    const cs_chord_stack s = { .n_block = 1, .width = size[0], .hidden = size[1],
                               .track = size[2] };
    const cs_seg seg = { .n = 1, .rows = INT64_C(1) << depth, .depth = depth };
    return be->fused.chord_stack_work(be, seg, &s, true) == 0;
}

static stack short_stack(const int32_t size[3], const int64_t *len, int n, int64_t *off)
{
    int64_t max_len = 0;
    stack t = new_stack(cpu, size, len, n, off);
    for (int i = 0; i < n; i++)
        max_len = len[i] > max_len ? len[i] : max_len;
    t.seg.depth = cs_depth(max_len);
    assert_true(is_short(gpu, size, t.seg.depth));
    return t;
}

/* Both kernels against the reference; rows against those of cu_chord_block.cu. */
static void one_batch(const int32_t size[3], const int64_t *len, int n)
{
    int64_t off[MAX_SEGMENTS + 1] = { 0 };
    stack t = short_stack(size, len, n, off);
    cs_mat one = random_mat(t.seg.rows, t.d, 0), other = random_mat(t.seg.rows, t.d, 1);

    check_stack(cpu, gpu, &t);
    next_thread_order();
    stack_on_gpu(gpu, &t, true, true, false, one);
    t.seg.depth = STACK_LONG;
    next_thread_order();
    stack_on_gpu(gpu, &t, true, true, false, other);
    assert_memory_equal(one.p, other.p, (size_t)(one.r * one.c) * sizeof *one.p);
    free(one.p);
    free(other.p);
    free_stack(&t);
}

/* Tracks of half an octet, one and two; every kernel; lengths at tile edges; more sequences and
 * more rows than a slice holds; two reads per slice, which takes the warps' second tiles. */
static void test_batches(void **state)
{
    (void)state;
    static const int32_t size[][3] = { { 24, 16, 8 }, { 28, 70, 4 }, { 80, 100, 16 },
                                       { 12, 9, 4 }, { 24, 40, 8 }, { 20, 33, 4 } };
    static const int64_t edges[] = { 1, 2, 0, 31, 32, 33, 15, 48, 0 };
    static const int64_t reads[] = { 150, 150, 130, 130 };
    /* 702 rows: more than a slice holds, too few for warpgroups, whose sums have another order. */
    enum { FEW_SEGMENTS = 36 };
    int64_t tiny[MAX_SEGMENTS], more[MAX_SEGMENTS];

    for (int i = 0; i < MAX_SEGMENTS; i++) {
        tiny[i] = 1 + i % 3;
        more[i] = 10 + 7 * i % 20;
    }
    for (int i = 0; i < COUNT(size); i++)
        one_batch(size[i], edges, COUNT(edges));
    one_batch(size[0], tiny, COUNT(tiny));
    one_batch(size[1], reads, COUNT(reads));
    one_batch(size[2], reads, COUNT(reads));
    one_batch(size[2], more, FEW_SEGMENTS);
    one_batch(size[4], more, COUNT(more));
}

/* A sequence as long as a slice, and shorter ones; widths of the paper. */
static void test_longest(void **state)
{
    (void)state;
    static const int64_t most_wide[] = { 256 }, most_deep[] = { 3, 512 }, read[] = { 150 };
    one_batch((const int32_t[]){ 40, 128, 8 }, most_wide, 1);
    one_batch((const int32_t[]){ 36, 64, 4 }, most_deep, 2);
    one_batch((const int32_t[]){ 36, 32, 4 }, most_deep, 2);
    if (cs_cuda_shared_bytes(gpu) >= 163 << 10)
        one_batch((const int32_t[]){ 288, 128, 16 }, read, 1);
}

/* Each sequence gets the same bits as alone. */
static void without_neighbours(const int32_t size[3])
{
    static const int64_t len[] = { 31, 150, 1, 77, 33, 256 };
    int64_t off[COUNT(len) + 1] = { 0 };
    stack t = short_stack(size, len, COUNT(len), off);
    cs_mat all = random_mat(t.seg.n, t.d, 0), alone = random_mat(1, t.d, 1);

    stack_on_gpu(gpu, &t, true, true, true, all);
    for (int i = 0; i < COUNT(len); i++) {
        int64_t own[2] = { 0, len[i] };
        stack one = t;
        one.off = own;
        one.id += off[i];
        one.seg = (cs_seg){ .off = own, .n = 1, .rows = len[i], .depth = cs_depth(len[i]) };
        next_thread_order();
        stack_on_gpu(gpu, &one, true, true, true, alone);
        assert_memory_equal(alone.p, all.p + (int64_t)i * t.d, (size_t)t.d * sizeof *alone.p);
    }
    free(all.p);
    free(alone.p);
    free_stack(&t);
}

/* The kernel with second tiles has rows of the last three sequences in them. */
static void test_neighbours(void **state)
{
    (void)state;
    static const int32_t size[][3] = { { 40, 32, 8 }, { 40, 64, 8 }, { 40, 128, 8 },
                                       { 36, 128, 4 } };
    for (int i = 0; i < COUNT(size); i++)
        without_neighbours(size[i]);
}

/* Depths that fit: the table in cu_chord_short.cu. */
typedef struct limit { int32_t size[3], depth; } limit;

static void check_limits(cs_backend *be, const limit *l, int n)
{
    for (int i = 0; i < n; i++) {
        assert_true(is_short(be, l[i].size, l[i].depth));
        assert_false(is_short(be, l[i].size, l[i].depth + 1));
    }
}

static void test_limits(void **state)
{
    (void)state;
#ifdef CS_HOST_CUDA
    static const limit sm_90[] = { { { 72, 32, 8 }, 9 }, { { 72, 64, 8 }, 9 },
                                   { { 208, 128, 16 }, 8 }, { { 288, 128, 16 }, 8 },
                                   { { 336, 128, 16 }, 8 } };
    static const limit sm_80[] = { { { 72, 64, 8 }, 9 }, { { 208, 128, 16 }, 8 },
                                   { { 288, 128, 16 }, 8 }, { { 336, 128, 16 }, 7 } };
    static const limit sm_86[] = { { { 72, 64, 8 }, 9 }, { { 208, 128, 16 }, 7 },
                                   { { 288, 128, 16 }, 7 }, { { 336, 128, 16 }, 6 } };
    check_limits(gpu, sm_90, COUNT(sm_90));
    cs_host_capability = 80;
    cs_backend *be = open_gpu(CS_IN_BF16);
    check_limits(be, sm_80, COUNT(sm_80));
    close_gpu(be);
    cs_host_capability = 86;
    be = open_gpu(CS_IN_BF16);
    check_limits(be, sm_86, COUNT(sm_86));
    close_gpu(be);
    cs_host_capability = 90;
#else
    static const limit any[] = { { { 72, 64, 8 }, 9 } };
    check_limits(gpu, any, COUNT(any));
#endif
}

#ifdef CS_HOST_CUDA
/* Devices with 99 KiB of shared memory run the same, except for sequences that do not fit. */
static void test_less_shared(void **state)
{
    with_99_kib_shared(CS_IN_BF16, &gpu, test_batches, state);
    with_99_kib_shared(CS_IN_BF16, &gpu, test_longest, state);
}

/* A sequence longer than its batch's depth allows does not fit: the launch fails. */
static void test_depth(void **state)
{
    (void)state;
    static const int64_t off[] = { 0, 513 };
    enum { WIDTH = 24 };
    const cs_chord_stack s = { .width = WIDTH, .hidden = 16, .track = 8 };
    cs_backend *be = open_gpu(CS_IN_BF16);
    int64_t *there = stack_to_gpu(be, off, sizeof off);
    cs_mat x = random_mat(off[1], WIDTH, 0), y = random_mat(1, WIDTH, 0);
    const cs_mat rows = stack_mat_to_gpu(be, x), mean = stack_mat_to_gpu(be, y);

    be->fused.chord_stack(be, (cs_seg){ .off = there, .n = 1, .rows = off[1], .depth = 9 }, &s,
                          rows, mean, NULL);
    assert_int_equal(be->op.sync(be), CS_EDEVICE);
    assert_non_null(strstr(cs_error_message(), "in or before 'chord_stack'"));
    cs_error_clear();
    be->op.dealloc(be, there);
    be->op.dealloc(be, rows.p);
    be->op.dealloc(be, mean.p);
    close_gpu(be);
    free(x.p);
    free(y.p);
}
#endif

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_batches), cmocka_unit_test(test_longest),
        cmocka_unit_test(test_neighbours), cmocka_unit_test(test_limits),
#ifdef CS_HOST_CUDA
        cmocka_unit_test(test_less_shared), cmocka_unit_test(test_depth),
#endif
    };
    const int rc = open_both(CS_IN_BF16, &cpu, &gpu);
    if (rc != 0)
        return rc;
    int n_failed = cmocka_run_group_tests_name("short", test, NULL, NULL);
    close_gpu(gpu);
    cs_backend_close(cpu);
    return n_failed;
}
