/* ref_conv.c - circular dilated convolution and its weights as plain loops.
 *
 * Source: Cheng, Khalitov et al., CDIL-CNN (2023); torch.nn.Conv1d with padding_mode "circular".
 * Unlike torch, segments may be shorter than the dilated kernel.
 */
#include <math.h>

#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

/* Arguments of a convolution or its adjoint. */
typedef struct conv {
    cs_seg  seg;
    cs_taps taps;
    bool    adjoint;
    cs_mat  x, w, bias;
    cs_real beta;
    cs_mat  y;
} conv;

/* The weights of tap k from channel i to channels j and more. */
static const cs_real *weights(const conv *q, int32_t k, int32_t i, int32_t j)
{
    int64_t block = q->w.r / q->taps.n * k;
    return q->adjoint ? cs_row(q->w, block + j) + i : cs_row(q->w, block + i) + j;
}

/* One token of a segment. Columns are processed in blocks, so that sums fit on the stack in
 * double. */
static void conv_row(const conv *q, int64_t start, int64_t len, int64_t t)
{
    const int64_t step = q->adjoint ? q->w.ld : 1;
    for (int32_t j0 = 0; j0 < q->y.c; j0 += CS_CHUNK_COLS) {
        int32_t n = q->y.c - j0 < CS_CHUNK_COLS ? q->y.c - j0 : CS_CHUNK_COLS;
        double sum[CS_CHUNK_COLS] = { 0 };
        for (int32_t k = 0; k < q->taps.n; k++) {
            int64_t from = (t + cs_tap_shift(q->taps, k, q->adjoint, len)) % len;
            const cs_real *a = cs_row(q->x, start + from);
            for (int32_t i = 0; i < q->x.c; i++) {
                const cs_real *w = weights(q, k, i, j0);
                const double v = (double)a[i];
                for (int32_t j = 0; j < n; j++)
                    sum[j] += v * (double)w[j * step];
            }
        }
        cs_real *y = cs_row(q->y, start + t) + j0;
        for (int32_t j = 0; j < n; j++) {
            double init = q->beta != 0 ? (double)y[j] : q->bias.r ? (double)q->bias.p[j0 + j] : 0;
            y[j] = (cs_real)(init + sum[j]);
        }
    }
}

static void ref_seg_conv(cs_backend *be, cs_seg seg, cs_taps taps, bool adjoint, cs_mat x, cs_mat w,
                         cs_mat bias, cs_real beta, cs_mat y)
{
    const conv q = { seg, taps, adjoint, x, w, bias, beta, y };
    #pragma omp parallel for num_threads(cs_threads(be, x.r * w.r * w.c))
    for (int64_t r0 = 0; r0 < seg.rows; r0 += CS_ROW_BLOCK) {
        int64_t end = cs_min64(r0 + CS_ROW_BLOCK, seg.rows);
        int32_t s = cs_seg_find(seg, r0);
        for (int64_t r = r0; r < end; r++) {
            cs_seg_span p = cs_seg_span_at(seg, &s, r, r + 1);
            conv_row(&q, p.start, p.len, p.t0);
        }
    }
}

/* One row of dw, for channel i of x under tap k: a sum over all tokens in order. */
static void dw_row(cs_seg seg, cs_taps taps, cs_mat x, cs_mat dy, int32_t k, int32_t i,
                   cs_real *dw)
{
    for (int32_t j0 = 0; j0 < dy.c; j0 += CS_CHUNK_COLS) {
        int32_t n = dy.c - j0 < CS_CHUNK_COLS ? dy.c - j0 : CS_CHUNK_COLS, s = 0;
        double sum[CS_CHUNK_COLS] = { 0 };
        for (int64_t r = 0; r < seg.rows; r++) {
            cs_seg_span p = cs_seg_span_at(seg, &s, r, r + 1);
            int64_t from = (p.t0 + cs_tap_shift(taps, k, false, p.len)) % p.len;
            double v = (double)cs_row(x, p.start + from)[i];
            for (int32_t j = 0; j < n; j++)
                sum[j] += v * (double)cs_row(dy, r)[j0 + j];
        }
        for (int32_t j = 0; j < n; j++)
            dw[j0 + j] = (cs_real)((double)dw[j0 + j] + sum[j]);
    }
}

static void ref_seg_conv_dw(cs_backend *be, cs_seg seg, cs_taps taps, cs_mat x, cs_mat dy,
                            cs_mat dw)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * dw.r * dw.c))
    for (int64_t m = 0; m < dw.r; m++)
        dw_row(seg, taps, x, dy, (int32_t)(m / x.c), (int32_t)(m % x.c), cs_row(dw, m));
}

/* ---- weights ----------------------------------------------------------------------------- */

static double norm_of(const cs_real *v, int32_t n)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += (double)v[i] * (double)v[i];
    return sqrt(sum);
}

static void ref_conv_weight(cs_backend *be, int32_t n_tap, cs_mat v, cs_mat g, cs_mat w)
{
    (void)be;
    int32_t c = v.c / n_tap;
    for (int32_t o = 0; o < (int32_t)v.r; o++) {
        const cs_real *row = cs_row(v, o);
        double scale = g.r ? (double)cs_row(g, o)[0] / norm_of(row, v.c) : 1;
        for (int32_t i = 0; i < v.c; i++)
            cs_row(w, i % n_tap * c + i / n_tap)[o] = (cs_real)((double)row[i] * scale);
    }
}

/* w = g u with u = v/|v|:  dg = <dw, u>,  dv = g/|v| (dw - u <dw, u>) */
static void ref_conv_weight_bwd(cs_backend *be, int32_t n_tap, cs_mat v, cs_mat g, cs_mat dw,
                                cs_mat dv, cs_mat dg)
{
    (void)be;
    int32_t c = v.c / n_tap;
    for (int32_t o = 0; o < (int32_t)v.r; o++) {
        const cs_real *row = cs_row(v, o);
        double norm = g.r ? norm_of(row, v.c) : 1, gain = g.r ? (double)cs_row(g, o)[0] : 1;
        double dot = 0;
        for (int32_t i = 0; g.r && i < v.c; i++)
            dot += (double)cs_row(dw, i % n_tap * c + i / n_tap)[o] * (double)row[i] / norm;
        for (int32_t i = 0; i < v.c; i++) {
            double d = (double)cs_row(dw, i % n_tap * c + i / n_tap)[o];
            double along = g.r ? (double)row[i] / norm * dot : 0;
            cs_row(dv, o)[i] += (cs_real)(gain / norm * (d - along));
        }
        if (g.r)
            cs_row(dg, o)[0] += (cs_real)dot;
    }
}

void cs_ref_conv(cs_ops *op)
{
    op->seg_conv = ref_seg_conv;
    op->seg_conv_dw = ref_seg_conv_dw;
    op->conv_weight = ref_conv_weight;
    op->conv_weight_bwd = ref_conv_weight_bwd;
}
