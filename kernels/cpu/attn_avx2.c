/* attn_avx2.c - softmax attention, with the arithmetic of a tile on the panels of the product. */
#include "kernels/cpu/attn.h"

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/vec_avx2.h"

#define TARGET __attribute__((target("avx2,fma")))

enum { DEPTH = 256 };            /* columns of a head that are packed together */

static const float zeros[CS_PANEL];

/* A panel of keys is transposed once for all queries of the tile. */
static void scores(cs_mat a, cs_mat b, cs_tile c)
{
    float pack[DEPTH * CS_PANEL];
    for (int32_t p = 0; p < cs_panel_count((int32_t)b.r); p++) {
        int width = cs_panel_width((int32_t)b.r, p), valid = (int)b.r - p * CS_PANEL;
        for (int32_t k = 0; k < a.c; k += DEPTH) {
            int32_t n_k = a.c - k < DEPTH ? a.c - k : DEPTH;
            float *out = &c[0][p * CS_PANEL];
            cs_pack_panel(cs_row(b, (int64_t)p * CS_PANEL) + k, 1, b.ld, n_k, width, valid, pack);
            cs_panel q = { .a = a.p + k, .lda = a.ld, .b = pack, .ldb = width,
                           .init = k ? out : zeros, .ldi = k ? CS_TILE_KEYS : 0,
                           .c = out, .ldc = CS_TILE_KEYS, .n_row = a.r, .n_k = n_k };
            cs_panel_run(false, width, valid, &q);
        }
    }
}

/* y += op(w) x by panels of x, which has n rows. */
static void product(bool trans, const cs_tile w, int64_t n, cs_mat x, cs_mat y)
{
    float pack[CS_TILE_ROWS * CS_PANEL];
    for (int32_t p = 0; p < cs_panel_count(x.c); p++) {
        int width = cs_panel_width(x.c, p), valid = x.c - p * CS_PANEL;
        float *out = y.p + p * CS_PANEL;
        cs_pack_panel(x.p + p * CS_PANEL, x.ld, 1, n, width, valid, pack);
        cs_panel q = { .a = &w[0][0], .lda = CS_TILE_KEYS, .b = pack, .ldb = width, .init = out,
                       .ldi = y.ld, .c = out, .ldc = y.ld, .n_row = y.r, .n_k = n };
        cs_panel_run(trans, width, valid, &q);
    }
}

static void mix(const cs_tile w, int64_t n_key, cs_mat x, cs_mat y)
{
    product(false, w, n_key, x, y);
}

static void mix_back(const cs_tile w, int64_t n_row, cs_mat x, cs_mat y)
{
    product(true, w, n_row, x, y);
}

/* The first n of eight numbers, and `other` in the rest. */
TARGET static __m256 first(__m256 v, int n, float other)
{
    return n >= 8 ? v : _mm256_blendv_ps(_mm256_set1_ps(other), v,
                                         _mm256_castsi256_ps(cs_first(n)));
}

TARGET static float largest(const float *w, int n, float scale, float max)
{
    float part[8];
    __m256 most = _mm256_set1_ps(max);
    for (int j = 0; j < n; j += 8) {
        __m256 v = _mm256_mul_ps(_mm256_set1_ps(scale), cs_get(w + j, n - j));
        most = _mm256_max_ps(first(v, n - j, max), most);
    }
    _mm256_storeu_ps(part, most);
    for (int i = 0; i < 8; i++)
        max = part[i] > max ? part[i] : max;
    return max;
}

/* Below 2^-125 a weight is 2^-125: nothing, beside a largest one of about 1. */
TARGET static double soften(float *w, int n, float scale, float less)
{
    const float log2e = 1.44269504f;
    const __m256 s = _mm256_set1_ps(scale * log2e), l = _mm256_set1_ps(less * log2e);
    const __m256 least = _mm256_set1_ps(-125.0f);
    __m256 sum = _mm256_setzero_ps();
    float part[8];
    double all = 0;
    for (int j = 0; j < n; j += 32) {
        __m256 v[4];
        for (int i = 0; i < 4; i++)
            v[i] = _mm256_max_ps(least, _mm256_fmsub_ps(s, cs_get(w + j + 8 * i, n - j - 8 * i),
                                                        l));
        cs_exp2_avx2(v, 1.0f);
        for (int i = 0; i < 4; i++) {
            cs_put(w + j + 8 * i, n - j - 8 * i, v[i]);
            sum = _mm256_add_ps(sum, first(v[i], n - j - 8 * i, 0.0f));
        }
    }
    _mm256_storeu_ps(part, sum);
    for (int i = 0; i < 8; i++)
        all += (double)part[i];
    return all;
}

TARGET static void slope(const float *p, int n, float scale, float less, float *ds)
{
    for (int j = 0; j < n; j += 8) {
        __m256 d = _mm256_sub_ps(cs_get(ds + j, n - j), _mm256_set1_ps(less));
        __m256 q = _mm256_mul_ps(_mm256_set1_ps(scale), cs_get(p + j, n - j));
        cs_put(ds + j, n - j, _mm256_mul_ps(q, d));
    }
}

static const cs_tile_ops fast = { scores, mix, mix_back, largest, soften, slope };

static void avx2_attend(cs_backend *be, const cs_attn *a, const cs_qkv *m)
{
    cs_attend_tiles(be, &fast, a, m);
}

static void avx2_attend_bwd(cs_backend *be, const cs_attn *a, const cs_qkv *m, const cs_qkv *d)
{
    cs_attend_tiles_bwd(be, &fast, a, m, d);
}

void cs_avx2_attn(cs_ops *op)
{
    op->attend = avx2_attend;
    op->attend_bwd = avx2_attend_bwd;
}
