/* cu_linear_attn.cu - linear attention: sums over the keys, read by every query.
 *
 * With S = sum_j k_j' v_j and z = sum_j k_j over a segment's keys, y = q S / (q z). S and z of a
 * segment and head are stored in `stat`, as (dk, dv + 1) with z in the last column.
 */
#include "kernels/cuda/keys.cuh"
#include "kernels/cuda/tiles.cuh"

struct linear {
    cs_attn a;
    cs_qkv  m, d;
    int32_t dk, dv;
};

static linear linear_of(const cs_attn *a, const cs_qkv *m, const cs_qkv *d)
{
    return { *a, *m, d ? *d : cs_qkv(), m->q.c / a->n_head, m->v.c / a->n_head };
}

__device__ static cs_mat sums(const linear &w, cs_mat stat, int32_t s, int32_t h)
{
    return { stat.p + ((int64_t)s * w.a.n_head + h) * stat.ld, w.dk, w.dv + 1, w.dv + 1 };
}

/* q z, computed by a warp; positive because q and k are */
__device__ static double share(const cs_real *q, cs_mat sum, int32_t lane)
{
    double v = 0;
    for (int32_t c = lane; c < sum.r; c += CS_WARP)
        v += (double)q[c] * cs_el(sum, c, sum.c - 1);
    return cs_warp_sum(v);
}

/* A tile of the sum over rows `from` to `to` of a(row, c) b(row, e): block (tile, segment, head).
 * Groups of 32 rows are summed in float, the groups in double, to stay accurate in long
 * sequences. */
template <class A, class B>
__device__ static void sum_tile(cs_mat out, int64_t from, int64_t to, int c0, int e0, A a, B b)
{
    __shared__ cs_shared_tile x, y;
    double total[CS_ROWS] = { 0 };
    for (int64_t r = from; r < to; r += CS_TILE) {
        float acc[CS_ROWS] = { 0 };
        __syncthreads();
        cs_tile_load(x, [&](int c, int k) {
            return r + k < to && c0 + c < out.r ? a(r + k, c0 + c) : 0;
        });
        cs_tile_load(y, [&](int k, int e) {
            return r + k < to && e0 + e < out.c ? b(r + k, e0 + e) : 0;
        });
        __syncthreads();
        cs_tile_mul(x, y, acc);
        for (int i = 0; i < CS_ROWS; i++)
            total[i] += acc[i];
    }
    for (int i = 0; i < CS_ROWS; i++) {
        int c = c0 + cs_tile_row(i), e = e0 + (int)threadIdx.x;
        if (c < out.r && e < out.c)
            cs_el(out, c, e) = (cs_real)total[i];
    }
}

/* The tile, segment and head of a block. */
struct tile_of { int32_t s, h; int c0, e0; };

__device__ static tile_of tile_at(const linear &w)
{
    int n_e = (w.dv + CS_TILE) / CS_TILE, n_c = (w.dk + CS_TILE - 1) / CS_TILE;
    int tile = (int)(blockIdx.x % (unsigned)(n_e * n_c));
    int64_t k = blockIdx.x / (unsigned)(n_e * n_c);
    return { (int32_t)(k / w.a.n_head), (int32_t)(k % w.a.n_head), tile / n_e * CS_TILE,
             tile % n_e * CS_TILE };
}

static unsigned n_tile(const linear &w)
{
    return (unsigned)(cs_div_up(w.dv + 1, CS_TILE) * cs_div_up(w.dk, CS_TILE) * w.a.seg.n
                      * w.a.n_head);
}

static __global__ void sums_kernel(linear w)
{
    tile_of t = tile_at(w);
    cs_key_range key = cs_key_span(w.a.key, t.s);
    cs_mat k = cs_head_cols(w.m.k, t.h, w.a.n_head), v = cs_head_cols(w.m.v, t.h, w.a.n_head);
    sum_tile(sums(w, w.m.stat, t.s, t.h), key.from, key.to, t.c0, t.e0,
             [&](int64_t r, int c) { return cs_el(k, r, c); },
             [&](int64_t r, int e) { return e < v.c ? cs_el(v, r, e) : 1; });
}

static void cuda_linear_attend(cs_backend *be, const cs_attn *a, const cs_qkv *m)
{
    linear w = linear_of(a, m, NULL);
    int32_t n_head = a->n_head;
    if (a->seg.n <= 0)
        return;
    CS_LAUNCH(be, "linear_attend", sums_kernel, n_tile(w), dim3(CS_WARP, CS_WARPS), w);
    cs_each_warp(be, a->seg.rows * n_head, [=] __device__(int64_t i, int32_t lane) {
        int64_t r = i / n_head;
        int32_t h = (int32_t)(i % n_head);
        cs_mat sum = sums(w, w.m.stat, cs_token_pos_at(w.a.seg, r).s, h);
        const cs_real *q = &cs_el(w.m.q, r, h * w.dk);
        double den = share(q, sum, lane);
        for (int32_t e = lane; e < w.dv; e += CS_WARP) {
            double num = 0;
            for (int32_t c = 0; c < w.dk; c++)
                num += (double)q[c] * cs_el(sum, c, e);
            cs_el(w.m.y, r, h * w.dv + e) = (cs_real)(num / den);
        }
    });
}

/* ---- backward ---------------------------------------------------------------------------- */

__device__ static double dot(const cs_real *a, const cs_real *b, int32_t n, int32_t lane)
{
    double v = 0;
    for (int32_t e = lane; e < n; e += CS_WARP)
        v += (double)a[e] * b[e];
    return cs_warp_sum(v);
}

/* Gradient of (S, z): sum over the queries of q g, g = (dy, -dy y') / (q z). The block's warps
 * first compute q z and dy y' of the tile's 32 rows. */
static __global__ void dsums_kernel(linear w)
{
    __shared__ float inverse[CS_TILE], whole[CS_TILE];
    tile_of t = tile_at(w);
    cs_mat sum = sums(w, w.m.stat, t.s, t.h), out = sums(w, w.d.stat, t.s, t.h);
    cs_mat q = cs_head_cols(w.m.q, t.h, w.a.n_head), y = cs_head_cols(w.m.y, t.h, w.a.n_head);
    cs_mat dy = cs_head_cols(w.d.y, t.h, w.a.n_head);
    int64_t from = w.a.seg.off[t.s], to = w.a.seg.off[t.s + 1];
    double total[CS_ROWS] = { 0 };
    __shared__ cs_shared_tile a, b;

    for (int64_t r0 = from; r0 < to; r0 += CS_TILE) {
        float acc[CS_ROWS] = { 0 };
        for (int i = (int)threadIdx.y; i < CS_TILE; i += CS_WARPS) {
            int64_t r = r0 + i < to ? r0 + i : from;
            double den = share(&cs_el(q, r, 0), sum, (int32_t)threadIdx.x);
            double d = dot(&cs_el(dy, r, 0), &cs_el(y, r, 0), w.dv, (int32_t)threadIdx.x);
            if (threadIdx.x > 0)
                continue;
            inverse[i] = r0 + i < to ? (float)(1 / den) : 0;
            whole[i] = (float)d;
        }
        __syncthreads();
        cs_tile_load(a, [&](int c, int k) {
            return r0 + k < to && t.c0 + c < w.dk ? cs_el(q, r0 + k, t.c0 + c) * inverse[k] : 0;
        });
        cs_tile_load(b, [&](int k, int e) {
            if (r0 + k >= to || t.e0 + e > w.dv)
                return 0.0f;
            return t.e0 + e < w.dv ? cs_el(dy, r0 + k, t.e0 + e) : -whole[k];
        });
        __syncthreads();
        cs_tile_mul(a, b, acc);
        for (int i = 0; i < CS_ROWS; i++)
            total[i] += acc[i];
    }
    for (int i = 0; i < CS_ROWS; i++) {
        int c = t.c0 + cs_tile_row(i), e = t.e0 + (int)threadIdx.x;
        if (c < out.r && e < out.c)
            cs_el(out, c, e) = (cs_real)total[i];
    }
}

static void query_gradients(cs_backend *be, const linear &w)
{
    int32_t n_head = w.a.n_head;
    linear v = w;
    cs_each_warp(be, w.a.seg.rows * n_head, [=] __device__(int64_t i, int32_t lane) {
        int64_t r = i / n_head;
        int32_t h = (int32_t)(i % n_head);
        cs_mat sum = sums(v, v.m.stat, cs_token_pos_at(v.a.seg, r).s, h);
        const cs_real *dy = &cs_el(v.d.y, r, h * v.dv);
        double den = share(&cs_el(v.m.q, r, h * v.dk), sum, lane);
        double all = dot(dy, &cs_el(v.m.y, r, h * v.dv), v.dv, lane);
        for (int32_t c = lane; c < v.dk; c += CS_WARP) {
            double d = -(double)cs_el(sum, c, v.dv) * all;
            for (int32_t e = 0; e < v.dv; e++)
                d += (double)cs_el(sum, c, e) * dy[e];
            cs_el(v.d.q, r, h * v.dk + c) += (cs_real)(d / den);
        }
    });
}

static void key_gradients(cs_backend *be, const linear &w)
{
    int32_t n_head = w.a.n_head;
    linear u = w;
    cs_each_warp(be, w.a.key.rows * n_head, [=] __device__(int64_t i, int32_t lane) {
        int64_t r = i / n_head;
        int32_t h = (int32_t)(i % n_head), s = cs_key_segment(u.a.key, r);
        if (r >= cs_key_span(u.a.key, s).to)
            return;
        cs_mat dsum = sums(u, u.d.stat, s, h);
        const cs_real *k = &cs_el(u.m.k, r, h * u.dk), *v = &cs_el(u.m.v, r, h * u.dv);
        for (int32_t c = lane; c < u.dk; c += CS_WARP) {
            double d = cs_el(dsum, c, u.dv);
            for (int32_t e = 0; e < u.dv; e++)
                d += (double)cs_el(dsum, c, e) * v[e];
            cs_el(u.d.k, r, h * u.dk + c) += (cs_real)d;
        }
        for (int32_t e = lane; e < u.dv; e += CS_WARP) {
            double d = 0;
            for (int32_t c = 0; c < u.dk; c++)
                d += (double)k[c] * cs_el(dsum, c, e);
            cs_el(u.d.v, r, h * u.dv + e) += (cs_real)d;
        }
    });
}

static void cuda_linear_attend_bwd(cs_backend *be, const cs_attn *a, const cs_qkv *m,
                                   const cs_qkv *d)
{
    linear w = linear_of(a, m, d);
    if (a->seg.n <= 0)
        return;
    CS_LAUNCH(be, "linear_attend_bwd", dsums_kernel, n_tile(w), dim3(CS_WARP, CS_WARPS), w);
    query_gradients(be, w);
    key_gradients(be, w);
}

void cs_cuda_linear_attn(cs_ops *op)
{
    op->linear_attend = cuda_linear_attend;
    op->linear_attend_bwd = cuda_linear_attend_bwd;
}
