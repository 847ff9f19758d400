/* bench_ops.c - speed of the ChordMixer block, the convolution and gemm beside this machine's own
 * peak, as TSV.
 *
 * Each line is the median of several repeats, with the fastest beside it; between repeats a buffer
 * larger than the caches is written. Rates count 4 d h operations per token and
 * block forward, and 10 d h backward (the hidden layer is computed again); a convolution's 2 K d h,
 * and twice that backward. No verdict.
 */
#include <immintrin.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "kernels/backend.h"

enum { REPEATS = 9, FLUSH = 16 << 20 };

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define EACH(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11)

/* Twelve independent chains of multiply-adds: as many operations as the processor can do. */
__attribute__((target("avx2,fma")))
static float multiply_adds(int64_t n)
{
    const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1e-3f);
#define DECLARE(i) __m256 v##i = _mm256_set1_ps(i);
    EACH(DECLARE)
#define STEP(i) v##i = _mm256_fmadd_ps(v##i, a, b);
    for (int64_t k = 0; k < n; k++) {
        EACH(STEP)
    }
#define ADD(i) sum = _mm256_add_ps(sum, v##i);
    __m256 sum = _mm256_setzero_ps();
    EACH(ADD)
    return _mm256_cvtss_f32(sum);
}

static double peak_gflops(int n_thread)
{
    enum { N = 4000000 };
    double best = 0;
    float sink = 0;
    for (int r = 0; r < REPEATS; r++) {
        double t = now();
        #pragma omp parallel for num_threads(n_thread) reduction(+ : sink)
        for (int i = 0; i < n_thread; i++)
            sink += multiply_adds(N);
        double rate = 12.0 * 16 * N * n_thread / (now() - t) * 1e-9;
        best = rate > best ? rate : best;
    }
    return sink > 0 ? best : 0;
}

static cs_mat random_mat(cs_backend *be, int64_t r, int32_t c, uint64_t key)
{
    cs_mat m = { be->op.alloc(be, (size_t)(r * c) * sizeof(cs_real)), r, c, c };
    if (!m.p) {
        fprintf(stdout, "# out of memory\n");
        exit(1);
    }
    for (int64_t i = 0; i < r * c; i++)
        m.p[i] = (float)(cs_rng_unit(key, (uint64_t)i) - 0.5);
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

typedef struct job { cs_seg seg; cs_chord k, dk; cs_mat x, y, dy, dx, work; cs_taps taps; } job;

static void forward(cs_backend *be, job *j)
{
    be->fused.chord_block(be, j->seg, &j->k, j->x, j->y, j->work.p);
}

static void backward(cs_backend *be, job *j)
{
    be->fused.chord_block_bwd(be, j->seg, &j->k, j->x, j->dy, j->dx, &j->dk, j->work.p);
}

static void product(cs_backend *be, job *j)
{
    cs_mat h = { j->y.p, j->x.r, (int32_t)j->k.w1.r, (int32_t)j->k.w1.r };
    be->op.gemm(be, false, true, j->x, j->k.w1, 0, h);
}

static const cs_mat absent;

static void conv_forward(cs_backend *be, job *j)
{
    be->op.seg_conv(be, j->seg, j->taps, false, j->x, j->k.w1, absent, 0, j->y);
}

static void conv_backward(cs_backend *be, job *j)
{
    be->op.seg_conv(be, j->seg, j->taps, true, j->dy, j->k.w1, absent, 0, j->dx);
    be->op.seg_conv_dw(be, j->seg, j->taps, j->x, j->dy, j->dk.w1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(cs_backend *be, const char *what, void (*run)(cs_backend *, job *), job *j,
                   int64_t len, double flop, double peak)
{
    static float flush[FLUSH];
    double t[REPEATS];
    run(be, j);
    for (int r = 0; r < REPEATS; r++) {
        memset(flush, r, sizeof flush);
        t[r] = now();
        run(be, j);
        t[r] = now() - t[r];
    }
    qsort(t, REPEATS, sizeof *t, by_value);
    double mid = t[REPEATS / 2], rate = flop * (double)j->x.r / mid * 1e-9;
    printf("%s\t%d\t%d\t%d\t%d\t%ld\t%.1f\t%.1f\t%.1f\t%.0f\n", what, be->n_thread, j->x.c,
           (int)j->k.w1.r, j->seg.n, (long)len, rate, flop * (double)j->x.r / t[0] * 1e-9,
           100 * rate / peak, (double)j->x.r / mid * 1e-3);
    fflush(stdout);
}

static void measure(cs_backend *be, int32_t d, int32_t h, int32_t track, int n_seg, int64_t len,
                    double peak)
{
    int64_t off[65];
    for (int s = 0; s <= n_seg; s++)
        off[s] = s * len;
    int64_t r = n_seg * len;
    int32_t most = d > h ? d : h;
    job j = { .seg = { .off = off, .n = n_seg, .rows = r }, .k = random_chord(be, d, h, track),
              .dk = random_chord(be, d, h, track), .x = random_mat(be, r, d, 5),
              .y = random_mat(be, r, most, 6), .dy = random_mat(be, r, d, 7),
              .dx = random_mat(be, r, d, 8),
              .work = random_mat(be, be->fused.chord_work(be, d, h, r), 1, 9) };
    j.y.c = j.y.ld = d;
    report(be, "forward", forward, &j, len, 4.0 * d * h, peak);
    report(be, "backward", backward, &j, len, 10.0 * d * h, peak);
    report(be, "gemm", product, &j, len, 2.0 * d * h, peak);
    drop_chord(be, &j.k);
    drop_chord(be, &j.dk);
    for (cs_mat *m = &j.x; m <= &j.work; m++)
        be->op.dealloc(be, m->p);
}

/* 3 taps, 64 tokens apart, from and to d channels. */
static void measure_conv(cs_backend *be, int32_t d, int n_seg, int64_t len, double peak)
{
    enum { K = 3 };
    int64_t off[65], r = n_seg * len;
    for (int s = 0; s <= n_seg; s++)
        off[s] = s * len;
    job j = { .seg = { .off = off, .n = n_seg, .rows = r }, .taps = { K, 64 },
              .k.w1 = random_mat(be, K * d, d, 1), .dk.w1 = random_mat(be, K * d, d, 2),
              .x = random_mat(be, r, d, 5), .y = random_mat(be, r, d, 6),
              .dy = random_mat(be, r, d, 7), .dx = random_mat(be, r, d, 8) };
    report(be, "conv", conv_forward, &j, len, 2.0 * K * d * d, peak);
    report(be, "conv_backward", conv_backward, &j, len, 4.0 * K * d * d, peak);
    for (cs_mat *m = &j.x; m <= &j.dx; m++)
        be->op.dealloc(be, m->p);
    be->op.dealloc(be, j.k.w1.p);
    be->op.dealloc(be, j.dk.w1.p);
}

int main(void)
{
    static const int32_t size[][3] = { { 288, 128, 16 }, { 96, 128, 4 }, { 96, 96, 4 },
                                       { 72, 64, 4 } };
    static const int64_t load[][2] = { { 64, 150 }, { 64, 651 }, { 1, 10000 } };
    if (cs_cpu_init() != CS_OK)
        return 2;
    printf("what\tthreads\twidth\thidden\tsegments\tlength\tgflops_median\tgflops_best\t"
           "percent_of_peak\tktokens_per_s\n");
    for (int n = 1; n <= cs_cpu_count(); n += cs_cpu_count() > 1 ? cs_cpu_count() - 1 : 1) {
        cs_backend *be;
        if (cs_backend_open("cpu", n, &be) != CS_OK || !be->fused.chord_block) {
            printf("# no fused kernels on this processor\n");
            return 77;
        }
        double peak = peak_gflops(n);
        printf("# FMA peak of %d threads: %.1f GFLOP/s\n", n, peak);
        for (size_t i = 0; i < sizeof size / sizeof *size; i++)
            for (size_t k = 0; k < sizeof load / sizeof *load; k++)
                measure(be, size[i][0], size[i][1], size[i][2], (int)load[k][0], load[k][1], peak);
        for (size_t k = 0; k < sizeof load / sizeof *load; k++)
            measure_conv(be, 64, (int)load[k][0], load[k][1], peak);
        cs_backend_close(be);
    }
    return 0;
}
