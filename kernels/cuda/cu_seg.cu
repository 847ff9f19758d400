/* cu_seg.cu - segment-wise ops: rotation, means over tokens, masks, positions. */
#include "kernels/cuda/sums.cuh"

/* Source: Khalitov et al., ChordMixer; track i reads 2^(i-1) tokens ahead, circularly. */
static void cuda_seg_roll(cs_backend *be, cs_seg seg, int32_t track, int sign, cs_mat x,
                          cs_real beta, cs_mat y)
{
    cs_each_token(be, seg, x.c, [=] __device__(cs_token_pos at, int64_t r, int32_t j) {
        int64_t from = cs_wrap(at.t + sign * cs_track_shift(j / track, at.len), at.len);
        cs_real v = cs_el(x, at.start + from, j);
        cs_el(y, r, j) = beta != 0 ? v + beta * cs_el(y, r, j) : v;
    });
}

static void cuda_seg_roll_put(cs_backend *be, cs_seg seg, int32_t track, int64_t first, cs_mat x,
                              cs_mat y)
{
    cs_each_token_of(be, seg, first, x.r, x.c, [=] __device__(cs_token_pos at, int64_t r,
                                                              int32_t j) {
        int64_t to = cs_wrap(at.t - cs_track_shift(j / track, at.len), at.len);
        cs_el(y, at.start + to, j) += cs_el(x, r, j);
    });
}

static void cuda_seg_roll_take(cs_backend *be, cs_seg seg, int32_t track, int64_t first, cs_mat y,
                               cs_mat x)
{
    cs_each_token_of(be, seg, first, x.r, x.c, [=] __device__(cs_token_pos at, int64_t r,
                                                              int32_t j) {
        int64_t from = cs_wrap(at.t - cs_track_shift(j / track, at.len), at.len);
        cs_el(x, r, j) += cs_el(y, at.start + from, j);
    });
}

/* ---- means ------------------------------------------------------------------------------- */

static void mean_of(cs_backend *be, cs_row_sets q, cs_mat x, cs_mat y, CS_CALLER)
{
    cs_sum_rows<1>(be, q, x.c,
        [=] __device__(int32_t, int64_t r, int32_t j, double *v) { v[0] += cs_el(x, r, j); },
        [=] __device__(int32_t s, int32_t j, const double *v, int64_t n) {
            cs_el(y, s, j) = (cs_real)(v[0] / (n > 0 ? n : 1));
        }, what);
}

static void cuda_seg_mean(cs_backend *be, cs_seg seg, cs_mat x, cs_mat y)
{
    mean_of(be, cs_rows_of(seg), x, y);
}

static void cuda_seg_mean_bwd(cs_backend *be, cs_seg seg, cs_mat dy, cs_mat dx)
{
    cs_each_token(be, seg, dx.c, [=] __device__(cs_token_pos at, int64_t r, int32_t j) {
        cs_el(dx, r, j) += cs_el(dy, at.s, j) / (cs_real)at.len;
    });
}

static cs_row_sets window(cs_seg seg, bool centre, int64_t n)
{
    cs_row_sets q = cs_rows_of(seg);
    q.window = n;
    q.centre = centre;
    return q;
}

static void cuda_seg_window(cs_backend *be, cs_seg seg, bool centre, int64_t n, cs_mat x, cs_mat y)
{
    mean_of(be, window(seg, centre, n), x, y);
}

static void cuda_seg_window_bwd(cs_backend *be, cs_seg seg, bool centre, int64_t n, cs_mat dy,
                                cs_mat dx)
{
    cs_row_sets q = window(seg, centre, n);
    cs_each_token(be, seg, dx.c, [=] __device__(cs_token_pos at, int64_t r, int32_t j) {
        int64_t r0, r1;
        cs_rows_at(q, at.s, &r0, &r1);
        if (r >= r0 && r < r1)
            cs_el(dx, r, j) += cs_el(dy, at.s, j) / (cs_real)(r1 - r0);
    });
}

/* ---- rows of a segment ------------------------------------------------------------------- */

static void cuda_seg_mask(cs_backend *be, cs_seg seg, cs_real value, cs_mat x, cs_real beta,
                          cs_mat y)
{
    cs_each_token(be, seg, x.c, [=] __device__(cs_token_pos at, int64_t r, int32_t j) {
        bool valid = !seg.n_valid || at.t < seg.n_valid[at.s];
        cs_real v = valid ? cs_el(x, r, j) : value;
        cs_el(y, r, j) = beta != 0 ? v + beta * cs_el(y, r, j) : v;
    });
}

static void cuda_seg_position(cs_backend *be, cs_seg seg, cs_real scale, cs_mat table, cs_mat x,
                              cs_mat y)
{
    cs_each_token(be, seg, x.c, [=] __device__(cs_token_pos at, int64_t r, int32_t j) {
        cs_el(y, r, j) = cs_el(x, r, j) + scale * cs_el(table, at.t, j);
    });
}

/* A thread per element of the table, so that every sum runs in the order of the segments. */
static void cuda_seg_position_bwd(cs_backend *be, cs_seg seg, cs_real scale, cs_mat dy,
                                  cs_mat dtable)
{
    int64_t max_rows = dtable.r < seg.rows ? dtable.r : seg.rows;
    cs_each(be, max_rows, dy.c, [=] __device__(int64_t t, int32_t j) {
        for (int32_t s = 0; s < seg.n; s++)
            if (t < seg.off[s + 1] - seg.off[s])
                cs_el(dtable, t, j) += scale * cs_el(dy, seg.off[s] + t, j);
    });
}

/* ---- words ------------------------------------------------------------------------------- */

__device__ static inline int32_t word_at(const int32_t *id, cs_words w)
{
    int64_t at = 0;

    for (int32_t i = 0; i < w.n; i++) {
        const int32_t token = id[(int64_t)i * w.shift];
        if (token < 0 || token >= w.n_vocab)
            return 1;
        at = at * w.n_vocab + token;
    }
    return w.map[at];
}

static void cuda_seg_words(cs_backend *be, cs_seg seg, const int32_t *id, cs_words w, int32_t *word)
{
    const int64_t reach = (int64_t)(w.n - 1) * w.shift;

    cs_each_token(be, seg, 1, [=] __device__(cs_token_pos at, int64_t r, int32_t) {
        word[r] = at.t + reach < at.len ? word_at(id + r, w) : -1;
    });
}

void cs_cuda_seg(cs_ops *op)
{
    op->seg_words = cuda_seg_words;
    op->seg_roll = cuda_seg_roll;
    op->seg_roll_put = cuda_seg_roll_put;
    op->seg_roll_take = cuda_seg_roll_take;
    op->seg_mean = cuda_seg_mean;
    op->seg_mean_bwd = cuda_seg_mean_bwd;
    op->seg_window = cuda_seg_window;
    op->seg_window_bwd = cuda_seg_window_bwd;
    op->seg_mask = cuda_seg_mask;
    op->seg_position = cuda_seg_position;
    op->seg_position_bwd = cuda_seg_position_bwd;
}
