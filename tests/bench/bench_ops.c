/* bench_ops.c - speed of ChordMixer's kernels and of this machine's peak, as TSV.
 *
 * Compiled once per instruction set: bench_ops_avx2, bench_ops_avx512, ...
 *     bench_ops_LEVEL [WIDTH HIDDEN TRACK SEGMENTS LENGTH [THREADS]]   one shape and load
 *     bench_ops_LEVEL CHANNELS 0 0 SEGMENTS LENGTH [THREADS]           its convolutions
 *     bench_ops_LEVEL peak                                             the peak only
 *     bench_ops_LEVEL threads                                          one thread and all
 *
 * Lines have the median of several repeats, the fastest, and slowest minus fastest in percent of
 * the median. Rates are nominal: 4 d h operations per token and block, three times as many with the
 * backward pass. Modes:
 *   blocks    blocks alone, in place, on tokens laid out as for `predict`
 *   forward   from tokens to means, without the first block's table; the last block's second
 *             product, which the mean makes unnecessary, is not counted
 *   predict   the same from tokens to means, with the exact shortcuts: what `classify` does
 *   train     forward and backward, with every block's input stored
 *   gemm      x w1' alone, by the general matrix product
 *   conv      a convolution of 3 taps, 2 K d d operations per token; conv_backward twice as many
 * A long sequence passes as many blocks as fit in about a second; a block's cost does not depend on
 * its number. The cost of `forward` besides blocks (embedding, mean) is timed alone and counted in
 * proportion, as in a pass of all blocks. `predict` passes all blocks, because its shortcuts save
 * two of them, and is omitted if that takes long.
 *
 * Levels bf16 and bfmmla have no fused backward pass, so no `train`. The peak is that of the
 * level's products and sums in registers. On a shared machine the clock changes by a fifth within
 * minutes, and other jobs take cores for milliseconds. Samples of one millisecond are therefore
 * taken between a line's repeats: peak_median and peak_best are of that line's samples,
 * percent_of_peak and percent_best the median and the fastest rate relative to them. `peak` prints
 * quantiles, `threads` alternates blocks on one thread and on all.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "kernels/cpu/chord.h"
#include "kernels/cpu/tables.h"

#if CS_LEVEL_IS(amx)
enum { LEVEL_BIT = CS_CPU_AMX, HIDDEN_BITS = 0 };
#elif CS_LEVEL_IS(bf16) || CS_LEVEL_IS(bfmmla)
enum { LEVEL_BIT = CS_CPU_BF16, HIDDEN_BITS = 0 };
#elif CS_LEVEL_IS(avx512)
enum { LEVEL_BIT = CS_CPU_AVX512, HIDDEN_BITS = 0 };
#elif CS_LEVEL_IS(avx2)
enum { LEVEL_BIT = CS_CPU_AVX2, HIDDEN_BITS = CS_CPU_AVX512 };
#else
enum { LEVEL_BIT = CS_CPU_NEON, HIDDEN_BITS = 0 };
#endif

enum { REPEATS = 9, MAX_SEG = 1024, MAX_BLOCK = 20, VOCAB = 6, MATRIX_ROWS = 100000,
       COPIES = 5,
       PEAKS = 4 };              /* samples of the peak before and after each repeat */

static const double flop_budget = 1.2e10,        /* of one repeat of some blocks, */
                    flop_all = 4e10,             /* and of one of all blocks */
                    seconds = 0.4;               /* for the repeats of one line, if 3 fit */

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- limits of the machine ---------------------------------------------------------------- */

#if CS_LEVEL_IS(amx)
enum { STEPS = 50000, STEP_FLOP = 4 * 2 * 16 * 16 * 32 };

/* Products into four tiles of sums: as many operations as the processor can do. */
static float multiply_adds(int64_t n)
{
    struct { uint8_t palette, rest[15]; uint16_t row_bytes[16]; uint8_t rows[16]; } c = { 0 };
    c.palette = 1;
    for (int i = 0; i < 8; i++)
        c.row_bytes[i] = 4 * (c.rows[i] = 16);
    __asm__ volatile("" : : "r"(&c) : "memory");
    _tile_loadconfig(&c);
    for (int64_t k = 0; k < n; k++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
    return 1;
}
#else
#if CS_LEVEL_IS(bfmmla)
#define cs_vdot cs_vsquare
#endif
enum { STEPS = 600000, STEP_FLOP = 24 * CS_PER_CELL * CS_VEC * (CS_LEVEL_IS(bfmmla) ? 2 : 1) };
#define EACH(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11)

/* Twelve independent chains of multiply-adds: as many operations as the processor can do. */
static float multiply_adds(int64_t n)
{
    const cs_vec a = cs_vset(1e-3f), b = cs_vset(1e-3f);
#define DECLARE(i) cs_vec v##i = cs_vset(i);
    EACH(DECLARE)
#define STEP(i) v##i = cs_vdot(a, b, v##i);
    for (int64_t k = 0; k < n; k++) {
        EACH(STEP)
    }
#define ADD(i) sum = cs_vadd(sum, v##i);
    cs_vec sum = cs_vset(0);
    EACH(ADD)
    return cs_vlargest(sum);
}
#endif

/* One sample in Gflop/s, a millisecond on every thread. Each thread is timed on its own,
 * without the start of threads. */
static double peak_sample(int n_thread)
{
    double rate = 0;
    float sink = 0;
    #pragma omp parallel for num_threads(n_thread) reduction(+ : sink, rate)
    for (int i = 0; i < n_thread; i++) {
        double t = now();
        sink += multiply_adds(STEPS);
        rate += (double)STEP_FLOP * STEPS / (now() - t) * 1e-9;
    }
    return sink > 0 ? rate : 0;
}

/* Bytes read and written per second by a copy that no cache holds. */
static double copy_gbytes(int n_thread)
{
    enum { MIB = 1 << 20, PART = 64 * MIB };
    char *from = malloc((size_t)n_thread * PART), *to = malloc((size_t)n_thread * PART);
    double best = 0;
    if (!from || !to)
        exit(1);
    memset(from, 1, (size_t)n_thread * PART);
    for (int r = 0; r < COPIES; r++) {
        double t = now();
        #pragma omp parallel for num_threads(n_thread)
        for (int i = 0; i < n_thread; i++)
            memcpy(to + (size_t)i * PART, from + (size_t)i * PART, PART);
        double rate = 2.0 * PART * n_thread / (now() - t) * 1e-9;
        best = rate > best ? rate : best;
    }
    free(from);
    free(to);
    return best;
}

/* ---- one batch and its blocks ------------------------------------------------------------- */

typedef struct job {
    cs_seg   seg;
    int64_t  off[MAX_SEG + 1], len;
    cs_chord k, dk;
    int32_t  n_block;
    cs_mat   x, mean, embed, first;
    int32_t *id;
    cs_real *pack, *work;
    cs_mat   kept[MAX_BLOCK + 1];        /* train: every block's input; dy, dx: gradients */
    cs_mat   dy, dx;
    cs_taps  taps;
} job;

/* Small random numbers, repeated every few rows: generating a gigabyte takes longer than the
 * benchmark. Pages are first touched by the threads that use most of them. */
static cs_mat random_mat(cs_backend *be, int64_t r, int32_t c, uint64_t key)
{
    enum { N = 1 << 14 };
    static float some[N];
    cs_mat m = { be->op.alloc(be, (size_t)(r * c) * sizeof(cs_real)), r, c, c };
    if (!m.p) {
        printf("# out of memory\n");
        exit(1);
    }
    for (int64_t i = 0; i < N; i++)
        some[i] = (float)(cs_rng_unit(key, (uint64_t)i) - 0.5) * 0.06f;
    #pragma omp parallel for num_threads(be->n_thread)
    for (int64_t i = 0; i < r * c; i += N)
        memcpy(m.p + i, some, (size_t)(r * c - i < N ? r * c - i : N) * sizeof *some);
    return m;
}

static cs_chord random_chord(cs_backend *be, int32_t d, int32_t h, int32_t track)
{
    return (cs_chord){ random_mat(be, h, d, 1), random_mat(be, 1, h, 2), random_mat(be, d, h, 3),
                       random_mat(be, 1, d, 4), track };
}

static void drop_chord(cs_backend *be, cs_chord *k)
{
    be->op.dealloc(be, k->w1.p);
    be->op.dealloc(be, k->b1.p);
    be->op.dealloc(be, k->w2.p);
    be->op.dealloc(be, k->b2.p);
}

static cs_chord_stack stack_of(const job *j)
{
    return (cs_chord_stack){ .n_block = j->n_block, .width = j->k.w1.c,
                             .hidden = (int32_t)j->k.w1.r, .track = j->k.track, .pack = j->pack };
}

/* One sequence through all blocks by n_thread threads; work begins with their tiles. */
static void pass_blocks(const job *j, int n_thread, float *work)
{
    const int32_t d = j->k.w1.c, h = (int32_t)j->k.w1.r, track = j->k.track;
    float *deferred = work + n_thread * cs_chord_seq_tile(d, h);
    float *x = deferred + cs_chord_seq_deferred(d, track, j->len, n_thread);
    cs_chord_seq q = { .x = cs_chord_layout(x, j->len, d, track), .len = j->len,
                       .n_thread = n_thread, .deferred = deferred, .tile = work };
    cs_chord_seq_partition(&q);
    for (int32_t l = 0; l < j->n_block; l++) {
        cs_chord_pack k = cs_chord_pack_at(d, h, track, j->pack + l * cs_chord_pack_size(d, h));
        cs_chord_seq_block(&q, &k);
    }
}

static int64_t worker_floats(const job *j, int n_thread)
{
    const int32_t d = j->k.w1.c, h = (int32_t)j->k.w1.r, track = j->k.track;
    int64_t n = n_thread * cs_chord_seq_tile(d, h) + cs_chord_layout_size(j->len, d, track)
        + cs_chord_seq_deferred(d, track, j->len, n_thread);
    return (n + CS_PANEL - 1) / CS_PANEL * CS_PANEL;
}

static void blocks(cs_backend *be, job *j)
{
    const int64_t one = worker_floats(j, 1);
    if (j->seg.n < be->n_thread) {
        for (int32_t i = 0; i < j->seg.n; i++)
            pass_blocks(j, be->n_thread, j->work);
        return;
    }
    #pragma omp parallel for num_threads(be->n_thread) schedule(dynamic)
    for (int32_t i = 0; i < j->seg.n; i++)
        pass_blocks(j, 1, j->work + omp_get_thread_num() * one);
}

static void forward(cs_backend *be, job *j)
{
    cs_chord_stack s = stack_of(j);
    s.id = j->id;
    s.embed = j->embed;
    be->fused.chord_stack(be, j->seg, &s, (cs_mat){ 0 }, j->mean, j->work);
}

static void output(cs_backend *be, job *j)
{
    cs_chord_stack s = stack_of(j);
    s.id = j->id;
    s.embed = j->embed;
    s.first = j->first;
    be->fused.chord_stack(be, j->seg, &s, (cs_mat){ 0 }, j->mean, j->work);
}

static void train(cs_backend *be, job *j)
{
    for (int32_t l = 0; l < j->n_block; l++)
        be->fused.chord_block(be, j->seg, &j->k, j->kept[l], j->kept[l + 1], j->work);
    const cs_chord_grads g = { j->dy, j->dx, 0, j->dk };
    for (int32_t l = j->n_block - 1; l >= 0; l--)
        be->fused.chord_block_bwd(be, j->seg, &j->k, j->kept[l], &g, j->work);
}

static void product(cs_backend *be, job *j)
{
    cs_mat h = { j->work, j->x.r, (int32_t)j->k.w1.r, (int32_t)j->k.w1.r };
    be->op.gemm(be, false, true, j->x, j->k.w1, 0, h);
}

static void conv_forward(cs_backend *be, job *j)
{
    be->op.seg_conv(be, j->seg, j->taps, false, j->x, j->k.w1, (cs_mat){ 0 }, 0, j->kept[0]);
}

static void conv_backward(cs_backend *be, job *j)
{
    be->op.seg_conv(be, j->seg, j->taps, true, j->dy, j->k.w1, (cs_mat){ 0 }, 0, j->dx);
    be->op.seg_conv_dw(be, j->seg, j->taps, j->x, j->dy, j->dk.w1);
}

/* ---- timing ------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *t, int n)
{
    qsort(t, (size_t)n, sizeof *t, by_value);
    return t[n / 2];
}

/* The median time of a forward pass without any block. */
static double bare_forward(cs_backend *be, const job *j)
{
    enum { TIMES = 3 };
    double t[TIMES];
    job none = *j;
    none.n_block = 0;
    for (int i = 0; i < TIMES; i++) {
        t[i] = now();
        forward(be, &none);
        t[i] = now() - t[i];
    }
    return median(t, TIMES);
}

/* flop: of one block and token; less: seconds that are not counted */
static void report(cs_backend *be, const char *what, void (*run)(cs_backend *, job *), job *j,
                   double flop, double n_block, double less)
{
    double t[REPEATS], peak[PEAKS * (REPEATS + 1)];
    double rows = (double)j->x.r, work = flop * n_block * rows * 1e-9;
    int n = 0, n_peak = 0;
    run(be, j);
    for (double start = now(); n < REPEATS && (n < 3 || now() - start < seconds); n++) {
        for (int i = 0; i < PEAKS; i++)
            peak[n_peak++] = peak_sample(be->n_thread);
        t[n] = now();
        run(be, j);
        t[n] = now() - t[n] - less;
    }
    for (int i = 0; i < PEAKS; i++)
        peak[n_peak++] = peak_sample(be->n_thread);
    double mid = median(t, n), peak_mid = median(peak, n_peak), peak_best = peak[n_peak - 1];
    printf("%s\t%d\t%d\t%d\t%d\t%ld\t%.1f\t", what, be->n_thread, j->x.c, (int)j->k.w1.r,
           j->seg.n, (long)j->len, n_block);
    printf("%.1f\t%.1f\t%.0f\t%.1f\t%.1f\t", work / mid, work / t[0],
           100 * (t[n - 1] - t[0]) / mid, 100 * work / mid / peak_mid,
           100 * work / t[0] / peak_best);
    printf("%.0f\t%.2f\t%.1f\t%.1f\n", rows / mid * 1e-3, mid / rows / n_block * 1e9, peak_mid,
           peak_best);
    fflush(stdout);
}

/* Variation of the machine's peak: quantiles of many samples. */
static void measure_peak(int n_thread)
{
    enum { N = 3000 };
    static double rate[N];
    for (int i = 0; i < N; i++)
        rate[i] = peak_sample(n_thread);
    double mid = median(rate, N);
    printf("%d\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n", n_thread, N, rate[0], rate[N / 10], mid,
           rate[N - 1 - N / 10], rate[N - 1]);
}

typedef struct shape { int32_t d, h, track; } shape;
typedef struct load { int32_t n_seg; int64_t len; } load;

static int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

static void measure_train(cs_backend *be, job *j, double flop)
{
    for (int32_t l = 0; l <= j->n_block; l++)
        j->kept[l] = random_mat(be, j->x.r, j->x.c, 10 + (uint64_t)l);
    j->dy = random_mat(be, j->x.r, j->x.c, 7);
    j->dx = random_mat(be, j->x.r, j->x.c, 8);
    report(be, "train", train, j, 3 * flop, j->n_block, 0);
    for (int32_t l = 0; l <= j->n_block; l++)
        be->op.dealloc(be, j->kept[l].p);
    be->op.dealloc(be, j->dy.p);
    be->op.dealloc(be, j->dx.p);
}

static void prepare(cs_backend *be, job *j, shape s)
{
    int64_t r = j->seg.rows, one = be->fused.chord_pack_size(s.d, s.h);
    cs_chord_stack stack = stack_of(j);
    int64_t work = be->fused.chord_stack_work(be, j->seg, &stack, true);
    if (be->fused.chord_work)
        work = max(work, be->fused.chord_work(be, j->seg, &j->k, true));
    work = max(work, r * s.h);
    work = max(work, max(worker_floats(j, be->n_thread), be->n_thread * worker_floats(j, 1)));
    j->work = random_mat(be, work, 1, 9).p;
    j->pack = random_mat(be, MAX_BLOCK * one, 1, 9).p;
    for (int32_t l = 0; l < j->n_block; l++)
        be->fused.chord_prepare(be, &j->k, j->pack + l * one);
    j->id = malloc((size_t)r * sizeof *j->id);
    if (!j->id)
        exit(1);
    for (int64_t i = 0; i < r; i++)
        j->id[i] = (int32_t)cs_rng_below(11, (uint64_t)i, VOCAB);
}

/* Modes to time. */
enum { FORWARD = 1 << 0, PREDICT = 1 << 1, TRAIN = 1 << 2, GEMM = 1 << 3, BLOCKS = 1 << 4,
       ALL = 31 };

/* A batch, for the requested modes that are not too large. */
static int open_job(cs_backend *be, job *j, shape s, load w, int what)
{
    int64_t r = w.n_seg * w.len;
    int32_t depth = 0;
    *j = (job){ .k = random_chord(be, s.d, s.h, s.track), .dk = random_chord(be, s.d, s.h, s.track),
               .x = { NULL, r, s.d, s.d }, .mean = random_mat(be, w.n_seg, s.d, 6),
               .embed = random_mat(be, VOCAB + 1, s.d, 12),
               .first = random_mat(be, VOCAB + 1, s.d, 13), .len = w.len };
    for (int32_t i = 0; i <= w.n_seg; i++)
        j->off[i] = i * w.len;
    while (INT64_C(1) << depth < w.len)
        depth++;
    j->seg = (cs_seg){ .off = j->off, .n = w.n_seg, .rows = r, .depth = depth };
    if (r > MATRIX_ROWS)
        what &= ~(TRAIN | GEMM);
    if (!be->fused.chord_block)
        what &= ~TRAIN;
    if (what & (TRAIN | GEMM))
        j->x = random_mat(be, r, s.d, 5);
    j->n_block = depth;
    prepare(be, j, s);
    return what;
}

static void close_job(cs_backend *be, job *j)
{
    drop_chord(be, &j->k);
    drop_chord(be, &j->dk);
    cs_real *rest[] = { j->x.p, j->mean.p, j->embed.p, j->first.p, j->pack, j->work };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        be->op.dealloc(be, rest[i]);
    free(j->id);
}

/* Number of blocks that fit in one repeat. */
static int32_t n_blocks_for(const job *j, double flop)
{
    double can = flop_budget / (flop * (double)j->seg.rows);
    return can < 1 ? 2 : can < j->seg.depth ? (int32_t)can + 1 : j->seg.depth;
}

static void measure(cs_backend *be, shape s, load w, int what)
{
    double flop = 4.0 * s.d * s.h;
    static job j;
    what = open_job(be, &j, s, w, what);
    int32_t depth = j.seg.depth;
    if ((what & PREDICT) && flop * (double)j.seg.rows * depth < flop_all)
        report(be, "predict", output, &j, flop, j.n_block, 0);
    j.n_block = n_blocks_for(&j, flop);
    if (what & FORWARD)
        report(be, "forward", forward, &j, flop, j.n_block - 0.5,
               j.n_block < depth ? bare_forward(be, &j) * (depth - j.n_block) / (depth - 0.5) : 0);
    j.n_block = (j.n_block + 1) / 2;
    if (what & BLOCKS)
        report(be, "blocks", blocks, &j, flop, j.n_block, 0);
    if (what & TRAIN)
        measure_train(be, &j, flop);
    if (what & GEMM)
        report(be, "gemm", product, &j, flop / 2, 1, 0);
    close_job(be, &j);
}

/* Milliseconds of blocks on one thread (be[0]) and on all (be[1]), alternating, and the speedup: of
 * the fastest, and the median of neighbouring pairs. */
static void measure_speedup(cs_backend *const be[2], shape s, load w)
{
    enum { TIMES = 15 };
    static job j;
    double t[2][TIMES], ratio[TIMES];
    int n = 0;
    (void)open_job(be[1], &j, s, w, BLOCKS);
    j.n_block = n_blocks_for(&j, 4.0 * s.d * s.h);
    for (int i = 0; i < 2; i++)
        blocks(be[i], &j);
    for (double start = now(); n < TIMES && (n < 3 || now() - start < 6 * seconds); n++) {
        for (int i = 0; i < 2; i++) {
            t[i][n] = now();
            blocks(be[i], &j);
            t[i][n] = now() - t[i][n];
        }
        ratio[n] = t[0][n] / t[1][n];
    }
    double one = median(t[0], n), all = median(t[1], n);
    printf("%d\t%d\t%d\t%ld\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", s.d, s.h, w.n_seg,
           (long)w.len, j.n_block, n, one * 1e3, all * 1e3, median(ratio, n), t[0][0] * 1e3,
           t[1][0] * 1e3, t[0][0] / t[1][0]);
    fflush(stdout);
    close_job(be[1], &j);
}

static void measure_speedups(cs_backend *const be[2])
{
    static const shape shapes[] = { { 288, 128, 16 }, { 208, 128, 16 }, { 72, 64, 4 } };
    static const load loads[] = { { 64, 150 }, { 64, 651 }, { 1, 3000 }, { 1, 10000 }, { 1, 30000 },
                                  { 1, 100000 } };
    printf("width\thidden\tsegments\tlength\tblocks\trepeats\tone_median_ms\tall_median_ms\t"
           "times_median\tone_best_ms\tall_best_ms\ttimes_best\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < sizeof loads / sizeof *loads; k++)
            measure_speedup(be, shapes[i], loads[k]);
}

/* 3 taps, 64 tokens apart, from and to d channels. */
static void measure_conv(cs_backend *be, int32_t d, load w)
{
    enum { K = 3 };
    int64_t r = w.n_seg * w.len;
    static job j;
    j = (job){ .taps = { K, 64 }, .len = w.len, .k.w1 = random_mat(be, K * d, d, 1),
               .dk.w1 = random_mat(be, K * d, d, 2), .x = random_mat(be, r, d, 5),
               .kept[0] = random_mat(be, r, d, 6), .dy = random_mat(be, r, d, 7),
               .dx = random_mat(be, r, d, 8) };
    for (int32_t i = 0; i <= w.n_seg; i++)
        j.off[i] = i * w.len;
    j.seg = (cs_seg){ .off = j.off, .n = w.n_seg, .rows = r };
    report(be, "conv", conv_forward, &j, 2.0 * K * d * d, 1, 0);
    report(be, "conv_backward", conv_backward, &j, 4.0 * K * d * d, 1, 0);
    cs_real *all[] = { j.k.w1.p, j.dk.w1.p, j.x.p, j.kept[0].p, j.dy.p, j.dx.p };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        be->op.dealloc(be, all[i]);
}

/* Widths of the paper's models, and of small classifiers with narrow tracks. */
static void measure_all(cs_backend *be)
{
    static const shape shapes[] = { { 288, 128, 16 }, { 208, 128, 16 }, { 72, 64, 4 },
                                    { 96, 64, 4 } };
    static const load loads[] = { { 64, 150 }, { 64, 651 }, { 1, 10000 }, { 1, 100000 },
                                  { 1, 1000000 } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < sizeof loads / sizeof *loads; k++)
            measure(be, shapes[i], loads[k], k == 2 ? ALL : ALL & ~GEMM);
    for (size_t k = 0; k < 3; k++)
        measure_conv(be, 64, loads[k]);
    /* is the cost per token and block independent of the length? */
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i += 2)
        for (int64_t len = 128; len <= 1 << 20; len *= 2)
            measure(be, shapes[i], (load){ (int32_t)max(1, 32768 / len), len }, BLOCKS);
}

static cs_backend *open_backend(int n_thread)
{
    cs_backend *be;
    if (!cs_cpu_has(LEVEL_BIT | CS_CPU_FUSED)
        || cs_backend_open("cpu", n_thread, &be) != CS_OK) {
        printf("# this processor has no such kernels\n");
        exit(0);
    }
    cs_cpu_hide(CS_LEVEL_IS(amx) ? 0 : CS_CPU_AMX);
    cs_cpu_fill(be, HIDDEN_BITS);
    if (CS_PER_CELL > 1 && cs_backend_compute_in(be, CS_IN_BF16) != CS_OK)
        CS_BUG(true);
    return be;
}

/* One shape and load as given, or all. */
static void measure_lines(int n_thread, const long *a, bool given)
{
    cs_backend *be = open_backend(n_thread);
    printf("# threads %d: copy %.1f GB/s\n", n_thread, copy_gbytes(n_thread));
    if (!given)
        measure_all(be);
    else if (a[1] == 0)
        measure_conv(be, (int32_t)a[0], (load){ (int32_t)a[3], a[4] });
    else
        measure(be, (shape){ (int32_t)a[0], (int32_t)a[1], (int32_t)a[2] },
                (load){ (int32_t)a[3], a[4] }, ALL);
    cs_backend_close(be);
}

int main(int argc, char **argv)
{
    const bool limits = argc == 2 && strcmp(argv[1], "peak") == 0;
    const bool threads = argc == 2 && strcmp(argv[1], "threads") == 0;
    long a[6] = { 0 };
    for (int i = 1; i < argc && i <= 6; i++)
        a[i - 1] = strtol(argv[i], NULL, 10);
    if (cs_cpu_init() != CS_OK
        || (argc != 1 && !limits && !threads && (argc < 6 || a[3] < 1 || a[3] > MAX_SEG)))
        return 2;
    const int max_threads = cs_cpu_count();
    if (threads) {
        cs_backend *be[2] = { open_backend(1), open_backend(max_threads) };
        measure_speedups(be);
        cs_backend_close(be[0]);
        cs_backend_close(be[1]);
        return 0;
    }
    puts(limits ? "threads\tsamples\tleast\ttenth\tmedian\tnine_tenths\tbest"
         : "what\tthreads\twidth\thidden\tsegments\tlength\tblocks\tgflops_median\tgflops_best\t"
           "spread_percent\tpercent_of_peak\tpercent_best\tktokens_per_s\t"
           "ns_per_token_and_block\tpeak_median\tpeak_best");
    for (int n = 1; n <= max_threads; n += max_threads > 1 ? max_threads - 1 : 1) {
        if (a[5] && n != a[5])
            continue;
        if (limits)
            measure_peak(n);
        else
            measure_lines(n, a, argc >= 6);
    }
    return 0;
}
