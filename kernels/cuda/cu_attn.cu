/* cu_attn.cu - softmax attention in tiles of 32 queries and 32 keys, forward and backward.
 *
 * DESIGN. As in kernels/cpu/attn.c: only a tile of scores exists at a time; each query has a
 * running maximum and a sum of exponentials (FlashAttention; Milakov, Gimelshein 2018; Dao et al.
 * 2022). The backward pass recomputes the probabilities, once for the gradients of the queries and
 * once for those of keys and values, so that no two blocks add to one element. A tile of packed
 * rows may hold several short segments, which are processed one after the other.
 */
#include "kernels/cuda/keys.cuh"
#include "kernels/cuda/tiles.cuh"

extern "C" {
#include "base/rng.h"
}

struct attention {
    cs_attn a;
    cs_qkv  m, d;
    int32_t n_group;             /* number of heads of keys and values */
};

static attention attention_of(const cs_attn *a, const cs_qkv *m, const cs_qkv *d)
{
    return { *a, *m, d ? *d : cs_qkv(), m->k.c / (m->q.c / a->n_head) };
}

__device__ static int32_t group_of(const attention &w, int32_t h)
{
    return (int32_t)((int64_t)h * w.n_group / w.a.n_head);
}

/* A segment: first row and number of its queries and of its keys. */
struct whole { int64_t q, n_q, k, n_k; };

/* Rows of one segment: queries from q0 and keys from k0, at most 32 each. */
struct place { int64_t q0, q1, k0, k1; whole s; };

__device__ static whole whole_of(const attention &w, int32_t s)
{
    cs_key_range key = cs_key_span(w.a.key, s);
    return { w.a.seg.off[s], w.a.seg.off[s + 1] - w.a.seg.off[s], key.from, key.to - key.from };
}

/* Dropout's factor for the weight of row r and key j: see cs_attn. */
__device__ static float kept(const attention &w, int32_t h, const whole &s, int64_t r, int64_t j)
{
    if (w.a.dropout <= 0)
        return 1;
    uint64_t no = (uint64_t)((h * s.n_q + r - s.q) * s.n_k + j - s.k);
    return cs_rng_unit(w.a.drop_key, no) >= w.a.dropout ? (float)(1 / (1 - w.a.dropout)) : 0;
}

__device__ static float inside(cs_mat m, int64_t r, int64_t end, int32_t c)
{
    return r < end && c < m.c ? cs_el(m, r, c) : 0;
}

/* dots() and mix() begin with a barrier per 32 columns (there is at least one), so after dots() the
 * arguments of the previous mix() may be overwritten. */

/* acc[i] = <a[a0 + row i], b[b0 + lane]> */
__device__ static void dots(cs_mat a, int64_t a0, int64_t a1, cs_mat b, int64_t b0, int64_t b1,
                            float acc[CS_ROWS])
{
    __shared__ cs_shared_tile x, y;
    for (int i = 0; i < CS_ROWS; i++)
        acc[i] = 0;
    for (int32_t c0 = 0; c0 < a.c; c0 += CS_TILE) {
        __syncthreads();
        cs_tile_load(x, [&](int i, int c) { return inside(a, a0 + i, a1, c0 + c); });
        cs_tile_load(y, [&](int c, int j) { return inside(b, b0 + j, b1, c0 + c); });
        __syncthreads();
        cs_tile_mul(x, y, acc);
    }
}

/* y[y0 + row i] = y decay[i] + sum_j p[row i][j] v[v0 + j]; p is in shared memory */
__device__ static void mix(const cs_shared_tile p, const float *decay, cs_mat v, int64_t v0,
                           int64_t v1, cs_mat y, int64_t y0, int64_t y1)
{
    __shared__ cs_shared_tile x;
    for (int32_t c0 = 0; c0 < v.c; c0 += CS_TILE) {
        float acc[CS_ROWS] = { 0 };
        int32_t c = c0 + (int32_t)threadIdx.x;
        __syncthreads();
        cs_tile_load(x, [&](int j, int e) { return inside(v, v0 + j, v1, c0 + e); });
        __syncthreads();
        cs_tile_mul(p, x, acc);
        for (int i = 0; i < CS_ROWS; i++) {
            int64_t r = y0 + cs_tile_row(i);
            if (r < y1 && c < y.c)
                cs_el(y, r, c) = acc[i] + (decay ? decay[i] : 1) * cs_el(y, r, c);
        }
    }
}

/* ---- forward ----------------------------------------------------------------------------- */

struct running { float max[CS_ROWS]; double sum[CS_ROWS]; };

__device__ static void attend_tile(const attention &w, int32_t h, const place &p, running *st)
{
    __shared__ cs_shared_tile prob;
    cs_mat q = cs_head_cols(w.m.q, h, w.a.n_head), y = cs_head_cols(w.m.y, h, w.a.n_head);
    cs_mat k = cs_head_cols(w.m.k, group_of(w, h), w.n_group);
    cs_mat v = cs_head_cols(w.m.v, group_of(w, h), w.n_group);
    float s[CS_ROWS], decay[CS_ROWS];
    bool seen = p.k0 + threadIdx.x < p.k1;

    dots(q, p.q0, p.q1, k, p.k0, p.k1, s);
    for (int i = 0; i < CS_ROWS; i++) {
        s[i] = seen ? s[i] * w.a.scale : -INFINITY;
        float max = fmaxf(st->max[i], (float)cs_warp_max(s[i]));
        decay[i] = st->max[i] == max ? 1 : expf(st->max[i] - max);
        s[i] = expf(s[i] - max);
        st->sum[i] = st->sum[i] * decay[i] + cs_warp_sum(s[i]);
        st->max[i] = max;
        prob[cs_tile_row(i)][threadIdx.x] = s[i] * kept(w, h, p.s, p.q0 + cs_tile_row(i),
                                                        p.k0 + threadIdx.x);
    }
    mix(prob, decay, v, p.k0, p.k1, y, p.q0, p.q1);
}

/* Attention of the queries of one segment in a tile of rows. */
__device__ static void attend_rows(const attention &w, int32_t h, int64_t q0, int64_t q1,
                                   int32_t s)
{
    cs_key_range key = cs_key_span(w.a.key, s);
    cs_mat y = cs_head_cols(w.m.y, h, w.a.n_head);
    running st;
    for (int i = 0; i < CS_ROWS; i++) {
        int64_t r = q0 + cs_tile_row(i);
        st.max[i] = -INFINITY;
        st.sum[i] = 0;
        for (int32_t c = (int32_t)threadIdx.x; r < q1 && c < y.c; c += CS_WARP)
            cs_el(y, r, c) = 0;
    }
    for (int64_t j = key.from; j < key.to; j += CS_TILE)
        attend_tile(w, h, { q0, q1, j, j + CS_TILE < key.to ? j + CS_TILE : key.to,
                            whole_of(w, s) }, &st);
    for (int i = 0; i < CS_ROWS; i++) {
        int64_t r = q0 + cs_tile_row(i);
        bool any = key.to > key.from && r < q1;
        for (int32_t c = (int32_t)threadIdx.x; any && c < y.c; c += CS_WARP)
            cs_el(y, r, c) = (cs_real)(cs_el(y, r, c) / st.sum[i]);
        if (threadIdx.x == 0 && r < q1)
            cs_el(w.m.stat, r, h) = any ? (cs_real)(st.max[i] + log(st.sum[i])) : 0;
    }
}

/* Calls f(h, first row, end row, segment) for each segment in the block's tile of rows. */
template <class F> static __global__ void query_kernel(attention w, F f)
{
    int64_t r = (int64_t)blockIdx.x * CS_TILE, rows = w.a.seg.rows;
    int64_t end = r + CS_TILE < rows ? r + CS_TILE : rows;
    while (r < end) {
        cs_token_pos p = cs_token_pos_at(w.a.seg, r);
        int64_t to = p.start + p.len < end ? p.start + p.len : end;
        f(w, (int32_t)blockIdx.y, r, to, p.s);
        r = to;
    }
}

template <class F> static void each_query_tile(cs_backend *be, const attention &w, F f, CS_CALLER)
{
    dim3 grid((unsigned)cs_div_up(w.a.seg.rows, CS_TILE), (unsigned)w.a.n_head);
    if (w.a.seg.rows > 0)
        CS_LAUNCH(be, what, query_kernel<F>, grid, dim3(CS_WARP, CS_WARPS), w, f);
}

static void cuda_attend(cs_backend *be, const cs_attn *a, const cs_qkv *m)
{
    each_query_tile(be, attention_of(a, m, NULL), [] __device__(
        const attention &w, int32_t h, int64_t q0, int64_t q1, int32_t s) {
        attend_rows(w, h, q0, q1, s);
    });
}

/* ---- backward ---------------------------------------------------------------------------- */

/* Probabilities after dropout, and gradients of the scores, ds = scale p (dy v' - dy y'), of a
 * tile; dropout as in kernels/cpu/attn.c. */
__device__ static void tile_gradients(const attention &w, int32_t h, const place &p,
                                      float prob[CS_ROWS], float ds[CS_ROWS])
{
    int32_t n_head = w.a.n_head, g = group_of(w, h);
    cs_mat y = cs_head_cols(w.m.y, h, n_head), dy = cs_head_cols(w.d.y, h, n_head);
    bool seen = p.k0 + threadIdx.x < p.k1;

    dots(cs_head_cols(w.m.q, h, n_head), p.q0, p.q1, cs_head_cols(w.m.k, g, w.n_group), p.k0, p.k1,
         prob);
    dots(dy, p.q0, p.q1, cs_head_cols(w.m.v, g, w.n_group), p.k0, p.k1, ds);
    for (int i = 0; i < CS_ROWS; i++) {
        int64_t r = p.q0 + cs_tile_row(i);
        double sum = 0;
        for (int32_t c = (int32_t)threadIdx.x; r < p.q1 && c < y.c; c += CS_WARP)
            sum += (double)cs_el(dy, r, c) * cs_el(y, r, c);
        sum = cs_warp_sum(sum);
        bool counts = seen && r < p.q1;
        prob[i] = counts ? expf(w.a.scale * prob[i] - cs_el(w.m.stat, r, h)) : 0;
        float keep = kept(w, h, p.s, r, p.k0 + threadIdx.x);
        ds[i] = w.a.scale * prob[i] * (keep * ds[i] - (float)sum);
        prob[i] *= keep;
    }
}

__device__ static void query_gradient(const attention &w, int32_t h, int64_t q0, int64_t q1,
                                      int32_t s)
{
    cs_key_range key = cs_key_span(w.a.key, s);
    __shared__ cs_shared_tile t;
    cs_mat k = cs_head_cols(w.m.k, group_of(w, h), w.n_group);
    cs_mat dq = cs_head_cols(w.d.q, h, w.a.n_head);
    float prob[CS_ROWS], ds[CS_ROWS];
    for (int64_t j = key.from; j < key.to; j += CS_TILE) {
        int64_t to = j + CS_TILE < key.to ? j + CS_TILE : key.to;
        tile_gradients(w, h, { q0, q1, j, to, whole_of(w, s) }, prob, ds);
        for (int i = 0; i < CS_ROWS; i++)
            t[cs_tile_row(i)][threadIdx.x] = ds[i];
        mix(t, NULL, k, j, to, dq, q0, q1);
    }
}

/* Contribution of a tile's queries to the gradients of its keys and values. These products sum over
 * queries, so p and ds are stored transposed. */
__device__ static void key_tile(const attention &w, int32_t h, const place &p)
{
    __shared__ cs_shared_tile t, u;
    int32_t g = group_of(w, h);
    float prob[CS_ROWS], ds[CS_ROWS];
    tile_gradients(w, h, p, prob, ds);
    for (int i = 0; i < CS_ROWS; i++) {
        t[threadIdx.x][cs_tile_row(i)] = prob[i];
        u[threadIdx.x][cs_tile_row(i)] = ds[i];
    }
    mix(t, NULL, cs_head_cols(w.d.y, h, w.a.n_head), p.q0, p.q1, cs_head_cols(w.d.v, g, w.n_group),
        p.k0, p.k1);
    mix(u, NULL, cs_head_cols(w.m.q, h, w.a.n_head), p.q0, p.q1, cs_head_cols(w.d.k, g, w.n_group),
        p.k0, p.k1);
}

/* A block for 32 rows of the keys and one key head: sums over all queries of their segments. */
static __global__ void key_kernel(attention w)
{
    int64_t j = (int64_t)blockIdx.x * CS_TILE, rows = w.a.key.rows;
    int64_t end = j + CS_TILE < rows ? j + CS_TILE : rows;
    while (j < end) {
        int32_t s = cs_key_segment(w.a.key, j);
        int64_t next = cs_key_end(w.a.key, s), seen = cs_key_span(w.a.key, s).to;
        int64_t to = seen < end ? seen : end, q1 = w.a.seg.off[s + 1];
        for (int32_t h = 0; j < to && h < w.a.n_head; h++)
            for (int64_t q = w.a.seg.off[s]; group_of(w, h) == (int32_t)blockIdx.y && q < q1;
                 q += CS_TILE)
                key_tile(w, h, { q, q + CS_TILE < q1 ? q + CS_TILE : q1, j, to,
                                 whole_of(w, s) });
        j = next < end ? next : end;
    }
}

static void cuda_attend_bwd(cs_backend *be, const cs_attn *a, const cs_qkv *m, const cs_qkv *d)
{
    attention w = attention_of(a, m, d);
    each_query_tile(be, w, [] __device__(const attention &v, int32_t h, int64_t q0, int64_t q1,
                                         int32_t s) { query_gradient(v, h, q0, q1, s); });
    dim3 grid((unsigned)cs_div_up(a->key.rows, CS_TILE), (unsigned)w.n_group);
    if (a->key.rows > 0)
        CS_LAUNCH(be, "attend_bwd", key_kernel, grid, dim3(CS_WARP, CS_WARPS), w);
}

void cs_cuda_attn(cs_ops *op)
{
    op->attend = cuda_attend;
    op->attend_bwd = cuda_attend_bwd;
}
