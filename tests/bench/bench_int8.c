/* bench_int8.c - one ChordMixer block in int8 and single precision, as TSV.
 *
 * Computes y = x + gelu(x W1 + b1) W2 + b2 for a tile of 96 rows in cache, on one thread. The
 * rotation is omitted, because its cost is the same for both. In int8 each column of weights has a
 * scale, computed in advance, and each row of activations one that is computed on the fly.
 * Products:
 *   vnni   vpdpbusd of AVX-512: four products of 8 bits added to a sum of 32
 *   avx2   vpmaddubsw, whose sums of two products have 16 bits, and weights seven, to fit
 * GELU is the program's, in single precision. Columns: nanoseconds of processor time per row,
 * fastest of 15 alternating rounds; speed relative to single precision; `difference`, the norm of
 * the error divided by the norm of the block's addition to x. Weights and activations are uniform
 * random numbers (seed 1). Needs AVX2; the columns of VNNI need VNNI. There are no pass limits.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "kernels/cpu/vec.h"

enum { ROWS = 96, PANEL = 16, STRIP = 6, MAX = 512, REPEATS = 400, ROUNDS = 15 };
enum way { SINGLE, VNNI, AVX2, N_WAY };

/* Columns are in panels of 16: w as [n_in][16], q as [n_in / 4][16][4]. */
typedef struct layer {
    int      n_in, n_out;                  /* multiples of 4 and, filled up with zeros, of 16 */
    _Alignas(64) float w[MAX * MAX];
    _Alignas(64) int8_t q[MAX * MAX];
    float    bias[MAX], scale[MAX];
    int32_t  zero[MAX];                    /* what a column's sum has too much: activations are */
} layer;                                   /* unsigned, and 128 stands for zero */

typedef struct tile {
    int      d, h, ldx, ldh;
    layer    first, second;
    _Alignas(64) float x[ROWS * MAX], hidden[ROWS * MAX], y[ROWS * MAX];
    _Alignas(64) uint8_t q[ROWS * MAX];
    _Alignas(64) int32_t sum[ROWS * MAX];
    float    scale[ROWS];
} tile;

/* Sums of 6 rows from x on and the 16 columns from `column` on. */
typedef void int8_strip(const layer *l, int column, const uint8_t *x, int64_t ldx, int32_t *sum,
                        int64_t lds);

#define SIX(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5)

/* ---- single precision --------------------------------------------------------------------- */

/* y = x W + b, and `more` added to it unless NULL; y and more have rows of ldy */
__attribute__((target("avx2,fma")))
static void single_strip(const layer *l, int column, const float *x, int64_t ldx,
                         const float *more, float *y, int64_t ldy)
{
    const float *w = l->w + (int64_t)column * l->n_in;
    const __m256 b0 = _mm256_loadu_ps(l->bias + column), b1 = _mm256_loadu_ps(l->bias + column + 8);
#define START(i) __m256 s##i = b0, t##i = b1;
    SIX(START)
    #pragma GCC unroll 4
    for (int k = 0; k < l->n_in; k++, w += PANEL) {
        const __m256 w0 = _mm256_loadu_ps(w), w1 = _mm256_loadu_ps(w + 8);
#define STEP(i) { const __m256 v = _mm256_broadcast_ss(x + i * ldx + k); \
        s##i = _mm256_fmadd_ps(v, w0, s##i); t##i = _mm256_fmadd_ps(v, w1, t##i); }
        SIX(STEP)
    }
    if (more) {
#define MORE(i) s##i = _mm256_add_ps(s##i, _mm256_loadu_ps(more + i * ldy)); \
        t##i = _mm256_add_ps(t##i, _mm256_loadu_ps(more + i * ldy + 8));
        SIX(MORE)
    }
#define STORE(i) _mm256_storeu_ps(y + i * ldy, s##i); _mm256_storeu_ps(y + i * ldy + 8, t##i);
    SIX(STORE)
#undef START
#undef STEP
#undef MORE
#undef STORE
}

static void single_linear(const layer *l, const float *x, int64_t ldx, const float *more, float *y,
                          int64_t ldy)
{
    for (int c = 0; c < l->n_out; c += PANEL)
        for (int r = 0; r < ROWS; r += STRIP)
            single_strip(l, c, x + r * ldx, ldx, more ? more + r * ldy + c : NULL, y + r * ldy + c,
                         ldy);
}

__attribute__((target("avx2,fma")))
static void gelu_rows(float *x, int n, int64_t ld)
{
    for (int r = 0; r < ROWS; r++) {
        for (int j = 0; j < n; j += 32) {
            float *p = x + r * ld + j;
            __m256 v[4] = { _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8), _mm256_loadu_ps(p + 16),
                            _mm256_loadu_ps(p + 24) };
            cs_gelu_four(v);
            for (int i = 0; i < 4; i++)
                _mm256_storeu_ps(p + 8 * i, v[i]);
        }
    }
}

/* ---- int8 --------------------------------------------------------------------------------- */

#define DOT_VNNI(sum, v, w) _mm256_dpbusd_epi32(sum, v, w)
#define DOT_AVX2(sum, v, w) _mm256_add_epi32(sum, _mm256_madd_epi16( \
        _mm256_maddubs_epi16(v, w), _mm256_set1_epi16(1)))

/* A function for one instruction set cannot hold the other's, so both have this loop. */
#define START(i) __m256i s##i = _mm256_setzero_si256(), t##i = s##i;
#define STEP(DOT, i) {                                                                    \
        const __m256i v = four_bytes(x + i * ldx + k);                                    \
        s##i = DOT(s##i, v, w0);                                                          \
        t##i = DOT(t##i, v, w1); }
#define STEP_VNNI(i) STEP(DOT_VNNI, i)
#define STEP_AVX2(i) STEP(DOT_AVX2, i)
#define STORE(i) _mm256_storeu_si256((__m256i *)(void *)(sum + i * lds), s##i);           \
    _mm256_storeu_si256((__m256i *)(void *)(sum + i * lds + 8), t##i);
#define INT8_STRIP(STEPS) do {                                                            \
        const int8_t *w = l->q + (int64_t)column * l->n_in;                               \
        SIX(START)                                                                        \
        _Pragma("GCC unroll 4")                                                           \
        for (int k = 0; k < l->n_in; k += 4, w += 4 * PANEL) {                            \
            const __m256i w0 = _mm256_loadu_si256((const __m256i *)(const void *)w),      \
                          w1 = _mm256_loadu_si256((const __m256i *)(const void *)(w + 32)); \
            SIX(STEPS)                                                                    \
        }                                                                                 \
        SIX(STORE)                                                                        \
    } while (0)

CS_INLINE __m256i four_bytes(const uint8_t *x)
{
    int32_t v;
    memcpy(&v, x, sizeof v);
    return _mm256_set1_epi32(v);
}

__attribute__((target("avx2,fma,avx512f,avx512vl,avx512vnni")))
static void vnni_strip(const layer *l, int column, const uint8_t *x, int64_t ldx, int32_t *sum,
                       int64_t lds)
{
    INT8_STRIP(STEP_VNNI);
}

__attribute__((target("avx2,fma")))
static void avx2_strip(const layer *l, int column, const uint8_t *x, int64_t ldx, int32_t *sum,
                       int64_t lds)
{
    INT8_STRIP(STEP_AVX2);
}

/* Every row by its largest number: q = 128 + round(127 x / max), scale = max / 127. */
__attribute__((target("avx2,fma")))
static void quantise(const float *x, int n, int64_t ld, uint8_t *q, float *scale)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    for (int r = 0; r < ROWS; r++, x += ld, q += ld) {
        __m256 m = _mm256_setzero_ps();
        for (int j = 0; j < n; j += 8)
            m = _mm256_max_ps(m, _mm256_andnot_ps(sign, _mm256_loadu_ps(x + j)));
        __m128 top = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
        top = _mm_max_ps(top, _mm_movehl_ps(top, top));
        top = _mm_max_ss(top, _mm_movehdup_ps(top));
        scale[r] = _mm_cvtss_f32(top) / 127;
        const __m256 s = _mm256_set1_ps(scale[r] > 0 ? 1 / scale[r] : 0);
        for (int j = 0; j < n; j += 8) {
            __m256i v = _mm256_cvtps_epi32(_mm256_mul_ps(s, _mm256_loadu_ps(x + j)));
            v = _mm256_add_epi32(v, _mm256_set1_epi32(128));
            __m128i w = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
            _mm_storel_epi64((__m128i *)(void *)(q + j), _mm_packus_epi16(w, w));
        }
    }
}

/* y = (sum - zero) times both scales, + bias, + more unless NULL */
__attribute__((target("avx2,fma")))
static void dequantise(const layer *l, const int32_t *sum, const float *scale, const float *more,
                       float *y, int64_t ld)
{
    for (int r = 0; r < ROWS; r++) {
        const __m256 s = _mm256_set1_ps(scale[r]);
        for (int j = 0; j < l->n_out; j += 8) {
            const int64_t at = r * ld + j;
            const __m256i n = _mm256_loadu_si256((const __m256i *)(const void *)(sum + at));
            const __m256i z = _mm256_loadu_si256((const __m256i *)(const void *)(l->zero + j));
            __m256 v = _mm256_fmadd_ps(_mm256_mul_ps(s, _mm256_loadu_ps(l->scale + j)),
                                       _mm256_cvtepi32_ps(_mm256_sub_epi32(n, z)),
                                       _mm256_loadu_ps(l->bias + j));
            if (more)
                v = _mm256_add_ps(v, _mm256_loadu_ps(more + at));
            _mm256_storeu_ps(y + at, v);
        }
    }
}

/* x has l->n_in columns that count; y, the sums and `more` have rows of ldy */
static void int8_linear(tile *t, const layer *l, int8_strip *strip, const float *x, int64_t ldx,
                        const float *more, float *y, int64_t ldy)
{
    quantise(x, l->n_in, ldx, t->q, t->scale);
    for (int c = 0; c < l->n_out; c += PANEL)
        for (int r = 0; r < ROWS; r += STRIP)
            strip(l, c, t->q + r * ldx, ldx, t->sum + r * ldy + c, ldy);
    dequantise(l, t->sum, t->scale, more, y, ldy);
}

/* ---- a block each way, and the table ------------------------------------------------------ */

static void block(tile *t, enum way way)
{
    if (way == SINGLE) {
        single_linear(&t->first, t->x, t->ldx, NULL, t->hidden, t->ldh);
        gelu_rows(t->hidden, t->h, t->ldh);
        single_linear(&t->second, t->hidden, t->ldh, t->x, t->y, t->ldx);
        return;
    }
    int8_strip *strip = way == VNNI ? vnni_strip : avx2_strip;
    int8_linear(t, &t->first, strip, t->x, t->ldx, NULL, t->hidden, t->ldh);
    gelu_rows(t->hidden, t->h, t->ldh);
    int8_linear(t, &t->second, strip, t->hidden, t->ldh, t->x, t->y, t->ldx);
}

static float number(uint64_t key, int64_t i)
{
    return (float)(2 * cs_rng_unit(cs_rng_key(1, key), (uint64_t)i) - 1);
}

static void fill_layer(layer *l, int n_in, int n_out, uint64_t key)
{
    l->n_in = n_in;
    l->n_out = (n_out + PANEL - 1) / PANEL * PANEL;
    for (int c = 0; c < l->n_out; c++) {
        float *w = l->w + c / PANEL * PANEL * n_in + c % PANEL;
        l->bias[c] = c < n_out ? number(key + 1, c) : 0;
        for (int k = 0; k < n_in; k++)
            w[k * PANEL] = c < n_out ? number(key, c * n_in + k) / sqrtf((float)n_in) : 0;
    }
}

/* The weights as integers of at most `top`. */
static void quantise_layer(layer *l, int top)
{
    for (int c = 0; c < l->n_out; c++) {
        const int64_t panel = (int64_t)(c / PANEL) * PANEL * l->n_in;
        const float *w = l->w + panel + c % PANEL;
        float max = 0;
        int32_t sum = 0;
        for (int k = 0; k < l->n_in; k++)
            max = fmaxf(max, fabsf(w[k * PANEL]));
        l->scale[c] = max / (float)top;
        for (int k = 0; k < l->n_in; k++) {
            int v = max > 0 ? (int)lrintf(w[k * PANEL] / l->scale[c]) : 0;
            l->q[panel + k / 4 * 4 * PANEL + c % PANEL * 4 + k % 4] = (int8_t)v;
            sum += v;
        }
        l->zero[c] = 128 * sum;
    }
}

static void prepare(tile *t, enum way way)
{
    if (way == SINGLE)
        return;
    quantise_layer(&t->first, way == VNNI ? 127 : 63);
    quantise_layer(&t->second, way == VNNI ? 127 : 63);
}

static double difference(const tile *t, const float *exact)
{
    double off = 0, all = 0;
    for (int r = 0; r < ROWS; r++) {
        for (int j = 0; j < t->d; j++) {
            const int at = r * t->ldx + j;
            off += pow((double)t->y[at] - (double)exact[at], 2);
            all += pow((double)exact[at] - (double)t->x[at], 2);
        }
    }
    return sqrt(off / all);
}

static double seconds(tile *t, enum way way)
{
    struct timespec a, b;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int i = 0; i < REPEATS; i++)
        block(t, way);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

/* One line of the table. */
static void measure(tile *t, int d, int h, bool vnni)
{
    static float exact[ROWS * MAX];
    double ns[N_WAY], off[N_WAY];
    t->d = d;
    t->h = h;
    t->ldx = (d + PANEL - 1) / PANEL * PANEL + PANEL;     /* avoids cache conflicts */
    t->ldh = h + PANEL;
    fill_layer(&t->first, d, h, 10);
    fill_layer(&t->second, h, d, 20);
    for (int i = 0; i < ROWS * t->ldx; i++)
        t->x[i] = number(30, i);
    for (int round = 0; round < ROUNDS; round++) {
        for (enum way w = SINGLE; w < N_WAY; w++) {
            if (w == VNNI && !vnni)
                continue;
            prepare(t, w);
            double now = seconds(t, w) * 1e9 / REPEATS / ROWS;
            ns[w] = round && ns[w] < now ? ns[w] : now;
            if (w == SINGLE)
                memcpy(exact, t->y, sizeof exact);
            off[w] = difference(t, exact);
        }
    }
    printf("%d\t%d\t%.0f\t%.1f", d, h, ns[SINGLE], 4.0 * d * h / ns[SINGLE]);
    for (enum way w = VNNI; w < N_WAY; w++)
        if (w != VNNI || vnni)
            printf("\t%.0f\t%.2f\t%.4f", ns[w], ns[SINGLE] / ns[w], off[w]);
    printf("\n");
}

int main(void)
{
    static tile t;
    const bool vnni = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        printf("# this processor has no AVX2\n");
        return 77;
    }
    if (!vnni)
        printf("# this processor has no AVX-512 VNNI\n");
    printf("width\thidden\tsingle_ns\tsingle_gflops%s\tavx2_ns\tavx2_times\tavx2_difference\n",
           vnni ? "\tvnni_ns\tvnni_times\tvnni_difference" : "");
    measure(&t, 288, 128, vnni);
    measure(&t, 208, 128, vnni);
    measure(&t, 96, 64, vnni);
    measure(&t, 72, 64, vnni);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
