/* vec_attn.c - softmax attention, with tiles computed by the panels of the matrix product. */
#include "kernels/cpu/attn.h"

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/tables.h"
#include "kernels/cpu/vec.h"

enum { DEPTH = 256 };            /* columns of a head packed at a time: bounds the panel on the
                                  * stack */

static const float zeros[CS_PANEL];

/* A panel of keys is transposed once for all queries of the tile. */
static void scores(cs_mat a, cs_mat b, cs_score_tile c)
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

/* y += op(w) x by panels of x, n rows. */
static void product(bool trans, const cs_score_tile w, int64_t n, cs_mat x, cs_mat y)
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

static void mix(const cs_score_tile w, int64_t n_key, cs_mat x, cs_mat y)
{
    product(false, w, n_key, x, y);
}

static void mix_transposed(const cs_score_tile w, int64_t n_row, cs_mat x, cs_mat y)
{
    product(true, w, n_row, x, y);
}

static float row_max(const float *w, int n, float scale, float max)
{
    float part[CS_VEC];
    cs_vec lane_max = cs_vset(max);
    for (int j = 0; j < n; j += CS_VEC) {
        cs_vec v = cs_vmul(cs_vset(scale), cs_get(w + j, n - j));
        lane_max = cs_vmax(cs_first_or(v, n - j, cs_vset(max)), lane_max);
    }
    cs_vstore(part, lane_max);
    for (int i = 0; i < CS_VEC; i++)
        max = part[i] > max ? part[i] : max;
    return max;
}

/* Weights below 2^-125 become 2^-125, negligible beside a maximum of about 1. */
static double exp_sum(float *w, int n, float scale, float shift)
{
    const float log2e = 1.44269504f;
    const cs_vec s = cs_vset(scale * log2e), l = cs_vset(shift * log2e);
    const cs_vec min_exp = cs_vset(-125.0f);
    const cs_vec one[4] = { cs_vset(1), cs_vset(1), cs_vset(1), cs_vset(1) };
    cs_acc8 sum = cs_acc8_zero();
    float part[8];
    double all = 0;
    for (int j = 0; j < n; j += 4 * CS_VEC) {
        cs_vec v[4];
        for (int i = 0; i < 4; i++)
            v[i] = cs_vmax(min_exp, cs_vfms(s, cs_get(w + j + CS_VEC * i, n - j - CS_VEC * i), l));
        cs_exp2_four(v, one, 1.0f);
        for (int i = 0; i < 4; i++) {
            cs_put(w + j + CS_VEC * i, n - j - CS_VEC * i, v[i]);
            sum = cs_acc8_add(sum, cs_first_or(v[i], n - j - CS_VEC * i, cs_vset(0)),
                              j + CS_VEC * i);
        }
    }
    cs_acc8_store(part, sum);
    for (int i = 0; i < 8; i++)
        all += (double)part[i];
    return all;
}

static void softmax_bwd(const float *p, int n, float scale, float delta, float *ds)
{
    for (int j = 0; j < n; j += CS_VEC) {
        cs_vec d = cs_vsub(cs_get(ds + j, n - j), cs_vset(delta));
        cs_vec q = cs_vmul(cs_vset(scale), cs_get(p + j, n - j));
        cs_put(ds + j, n - j, cs_vmul(q, d));
    }
}

static const cs_tile_ops fast = { scores, mix, mix_transposed, row_max, exp_sum, softmax_bwd };

static void vec_attend(cs_backend *be, const cs_attn *a, const cs_qkv *m)
{
    cs_attend_tiles(be, &fast, a, m);
}

static void vec_attend_bwd(cs_backend *be, const cs_attn *a, const cs_qkv *m, const cs_qkv *d)
{
    cs_attend_tiles_bwd(be, &fast, a, m, d);
}

void cs_vec_attn(cs_ops *op)
{
    op->attend = vec_attend;
    op->attend_bwd = vec_attend_bwd;
}
