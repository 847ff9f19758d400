/* vec_conv_weight.c - weights of convolutions, from torch's layout to that of vec_conv.c and back.
 *
 * One layout has a row per output, the other one a column, so blocks of CS_VEC outputs by CS_VEC
 * inputs are transposed. Sums over inputs are in the reference's order, in double, with an output
 * per lane: the same bits.
 */
#include <math.h>
#include <string.h>

#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"
#include "kernels/cpu/vec.h"

/* Element (k, l) is at [k * CS_VEC + l]: input k, output l; zeros outside of the matrix. */
typedef struct block { float v[CS_VEC * CS_VEC]; } block;

/* The row of w for input i of v. */
static float *row_of(cs_mat w, int32_t n_tap, int32_t i)
{
    return cs_row(w, w.r / n_tap * (i % n_tap) + i / n_tap);
}

/* Loads the block of v from output o and input i on. */
static void load_transposed(cs_mat v, int64_t o, int32_t i, block *b)
{
    if (o + CS_VEC <= v.r && i + CS_VEC <= v.c) {
        cs_vtranspose(cs_row(v, o) + i, v.ld, b->v, CS_VEC);
        return;
    }
    block edge = { { 0 } };
    for (int64_t l = 0; l < cs_min64(CS_VEC, v.r - o); l++)
        cs_vstore(edge.v + l * CS_VEC, cs_get(cs_row(v, o + l) + i, v.c - i));
    cs_vtranspose(edge.v, CS_VEC, b->v, CS_VEC);
}

/* Norms of v's rows from o on; 1 without g. */
static void row_norms(cs_mat v, cs_mat g, int64_t o, double norm[CS_VEC])
{
    double sum[CS_VEC] = { 0 };
    for (int32_t i = 0; g.r && i < v.c; i += CS_VEC) {
        block b;
        load_transposed(v, o, i, &b);
        for (int32_t k = 0; k < CS_VEC; k++)     /* zeros beyond the last input change nothing */
            for (int l = 0; l < CS_VEC; l++)
                sum[l] += (double)b.v[k * CS_VEC + l] * (double)b.v[k * CS_VEC + l];
    }
    for (int l = 0; l < CS_VEC; l++)
        norm[l] = g.r && o + l < v.r ? sqrt(sum[l]) : 1;
}

static double gain_of(cs_mat g, int64_t o)
{
    return o < g.r ? (double)cs_row(g, o)[0] : 1;
}

static void vec_conv_weight(cs_backend *be, int32_t n_tap, cs_mat v, cs_mat g, cs_mat w)
{
    #pragma omp parallel for num_threads(cs_threads(be, v.r * v.c))
    for (int64_t o = 0; o < v.r; o += CS_VEC) {
        double scale[CS_VEC];
        row_norms(v, g, o, scale);
        for (int l = 0; l < CS_VEC; l++)
            scale[l] = gain_of(g, o + l) / scale[l];
        for (int32_t i = 0; i < v.c; i += CS_VEC) {
            block b;
            load_transposed(v, o, i, &b);
            for (int k = 0; g.r && k < CS_VEC; k++)
                for (int l = 0; l < CS_VEC; l++)
                    b.v[k * CS_VEC + l] = (float)((double)b.v[k * CS_VEC + l] * scale[l]);
            for (int32_t k = 0; k < CS_VEC && i + k < v.c; k++)
                cs_put(row_of(w, n_tap, i + k) + o, v.r - o, cs_vload(b.v + k * CS_VEC));
        }
    }
}

/* Arguments of conv_weight_bwd. */
typedef struct bwd_args { int32_t n_tap; cs_mat v, g, dw, dv, dg; } bwd_args;

/* Loads the block of dw from output o and input i on. */
static void load_dw(const bwd_args *q, int64_t o, int32_t i, block *b)
{
    for (int32_t k = 0; k < CS_VEC; k++)
        cs_vstore(b->v + k * CS_VEC, i + k < q->v.c
                  ? cs_get(row_of(q->dw, q->n_tap, i + k) + o, q->dw.c - o) : cs_vset(0));
}

/* dot = <dw, v/|v|> per output */
static void output_dots(const bwd_args *q, int64_t o, const double norm[CS_VEC], double dot[CS_VEC])
{
    memset(dot, 0, CS_VEC * sizeof *dot);
    for (int32_t i = 0; q->g.r && i < q->v.c; i += CS_VEC) {
        block d, v;
        load_dw(q, o, i, &d);
        load_transposed(q->v, o, i, &v);
        for (int k = 0; k < CS_VEC * CS_VEC; k += CS_VEC)
            for (int l = 0; l < CS_VEC; l++)
                dot[l] += (double)d.v[k + l] * (double)v.v[k + l] / norm[l];
    }
}

/* d = g/|v| (dw - v/|v| dot) */
static void norm_bwd(const bwd_args *q, int64_t o, int32_t i, const double norm[CS_VEC],
                    const double dot[CS_VEC], block *d)
{
    double gain[CS_VEC];
    block v;
    load_transposed(q->v, o, i, &v);
    for (int l = 0; l < CS_VEC; l++)
        gain[l] = gain_of(q->g, o + l) / norm[l];
    for (int k = 0; k < CS_VEC * CS_VEC; k += CS_VEC)
        for (int l = 0; l < CS_VEC; l++)
            d->v[k + l] = (float)(gain[l] * ((double)d->v[k + l]
                                              - (double)v.v[k + l] / norm[l] * dot[l]));
}

/* dv += and dg += for CS_VEC outputs from o on. */
static void weight_bwd(const bwd_args *q, int64_t o)
{
    double norm[CS_VEC], dot[CS_VEC];
    row_norms(q->v, q->g, o, norm);
    output_dots(q, o, norm, dot);
    for (int32_t i = 0; i < q->v.c; i += CS_VEC) {
        block d, transposed;
        load_dw(q, o, i, &d);
        if (q->g.r)
            norm_bwd(q, o, i, norm, dot, &d);
        cs_vtranspose(d.v, CS_VEC, transposed.v, CS_VEC);
        for (int64_t l = 0; l < cs_min64(CS_VEC, q->v.r - o); l++) {
            float *to = cs_row(q->dv, o + l) + i;
            const int64_t n = q->v.c - i;
            cs_put(to, n, cs_vadd(cs_get(to, n), cs_vload(transposed.v + l * CS_VEC)));
        }
    }
    for (int64_t l = 0; l < CS_VEC && o + l < q->g.r; l++)
        cs_row(q->dg, o + l)[0] += (float)dot[l];
}

static void vec_conv_weight_bwd(cs_backend *be, int32_t n_tap, cs_mat v, cs_mat g, cs_mat dw,
                                cs_mat dv, cs_mat dg)
{
    const bwd_args q = { n_tap, v, g, dw, dv, dg };
    #pragma omp parallel for num_threads(cs_threads(be, v.r * v.c))
    for (int64_t o = 0; o < v.r; o += CS_VEC)
        weight_bwd(&q, o);
}

void cs_vec_conv_weight(cs_ops *op)
{
    op->conv_weight = vec_conv_weight;
    op->conv_weight_bwd = vec_conv_weight_bwd;
}
