/* cu_chord.cu - ChordMixer blocks for inference, from tokens to means.
 *
 * DESIGN. Sequences that fit in shared memory pass all blocks in one launch (cu_chord_short.cu).
 * Others take a launch per block (cu_chord_block.cu). The first block is a table over tokens
 * (kernels/backend.h), added when the octets are filled from the embedding. Of the last block only
 * means are needed: hidden and x are summed by tile and segment, and the means go through w2.
 */
#include "kernels/cuda/chord.cuh"
#include "kernels/cuda/sums.cuh"

extern "C" {
#include "base/mem.h"
}

/* ---- into octets and out of them --------------------------------------------------------- */

/* Layout of a call's scratch memory, besides the blocks. */
struct chord_plan {
    uint4   *x[2];
    int64_t *slot;               /* [n_seg + 1] first slot of a segment */
    int32_t *off, *shift, *segment;          /* of cs_chord_rows */
    float   *part;
    cs_mat   hidden;             /* (n_seg, hp) means */
    int64_t  pitch, n_real;
};

static chord_plan plan_of(cs_seg seg, const cs_chord_stack *s, cs_real *work)
{
    const int64_t dp = cs_padded_width(s->width), hp = cs_padded_hidden(s->hidden), n_seg = seg.n;
    const int64_t n_octet = (s->width + CS_OCTET - 1) / CS_OCTET;
    const int64_t n_slot = cs_div_up(seg.rows, 16) + n_seg;
    const int64_t n_track = s->width / s->track;
    const int64_t pitch = cs_div_up(seg.rows, 8) * 8;      /* octets begin at lines of 128 bytes */
    const int64_t size[] = { 4 * n_octet * pitch, 4 * n_octet * pitch, n_seg * n_track,
                             2 * (n_seg + 1), n_seg + 1, seg.rows, n_slot * (hp + dp), n_seg * hp };
    enum { N = sizeof size / sizeof size[0], LINE = 16 };
    cs_real *at[N];
    chord_plan p = {};
    p.pitch = pitch;
    for (int i = 0; i < N; i++) {
        at[i] = work ? work + p.n_real : NULL;
        p.n_real += (size[i] + LINE - 1) / LINE * LINE;
    }
    p.x[0] = (uint4 *)at[0];
    p.x[1] = (uint4 *)at[1];
    p.shift = (int32_t *)at[2];
    p.slot = (int64_t *)at[3];
    p.off = (int32_t *)at[4];
    p.segment = (int32_t *)at[5];
    p.part = at[6];
    p.hidden = { at[7], n_seg, (int32_t)hp, (int32_t)hp };
    return p;
}

static int64_t cuda_chord_stack_work(cs_backend *be, cs_seg seg, const cs_chord_stack *s,
                                     bool own_x)
{
    (void)own_x;
    return cs_cuda_chord_is_short(be, seg, s) ? 0 : plan_of(seg, s, NULL).n_real;
}

void cs_cuda_chord_tables(cs_backend *be, cs_seg seg, int32_t n_track, const cs_chord_tables &t)
{
    const cs_chord_tables to = t;
    cs_each_token(be, seg, 1, [=] __device__(cs_token_pos at, int64_t r, int32_t) {
        to.segment[r] = at.s;
    }, "chord_tables");
    cs_each(be, seg.n + 1, n_track, [=] __device__(int64_t s, int32_t i) {
        if (i == 0 && to.slot)
            to.slot[s] = seg.off[s] / to.tile + s;
        if (i == 0)
            to.off[s] = (int32_t)seg.off[s];
        if (s < seg.n)
            to.shift[s * n_track + i] = (int32_t)cs_track_shift(i, seg.off[s + 1] - seg.off[s]);
    }, "chord_tables");
}

/* The octets of x; a thread per token, so that stores are coalesced. */
static __global__ void fill_kernel(cs_chord_job q, cs_chord_tokens tokens, cs_mat x)
{
    const int32_t n_octet = (q.d + CS_OCTET - 1) / CS_OCTET;
    const int64_t step = (int64_t)gridDim.x * CS_BLOCK;
    for (int64_t i = (int64_t)blockIdx.x * CS_BLOCK + threadIdx.x; i < q.rows; i += step) {
        const int32_t r = (int32_t)i;
        const cs_row_place p = cs_place_of(q, r);
        const int32_t own = tokens.id ? cs_table_row(tokens, r) : 0;
        for (int32_t o = 0; o < n_octet; o++)
            q.y[o * q.pitch + r] = tokens.id
                ? cs_token_octet(q, tokens, p, own, o)
                : cs_octet_from(o, q.d, [&](int32_t j) { return cs_row_quad(x, r, j); });
    }
}

static void fill(cs_backend *be, const cs_chord_job &q, const cs_chord_stack *s, cs_mat x)
{
    const cs_chord_tokens tokens = { s->id, s->embed, s->first };
    CS_BUG(s->id ? s->embed.ld % 4 != 0 || s->first.ld % 4 != 0 : x.ld % 4 != 0);
    CS_LAUNCH(be, "chord_stack", fill_kernel, cs_grid(cs_div_up(q.rows, CS_BLOCK)), CS_BLOCK, q,
              tokens, x);
}

static void to_rows(cs_backend *be, const cs_chord_job &q, cs_mat x)
{
    const uint4 *from = q.x;
    const int64_t pitch = q.pitch;
    cs_each(be, q.rows, x.c, [=] __device__(int64_t r, int32_t j) {
        cs_el(x, r, j) = cs_channel_at(from, pitch, r, j);
    }, "chord_stack");
}

/* ---- the stack --------------------------------------------------------------------------- */

/* mean = mean(x) + mean(hidden) w2' + b2; the first two from the tiles' sums. */
static void means(cs_backend *be, cs_seg seg, const cs_chord_job &job, const chord_plan &plan,
                  int32_t rows, cs_mat mean)
{
    const cs_chord_job q = job;
    const cs_mat hidden = plan.hidden;
    const int64_t *slot = plan.slot;
    const int32_t cols = q.hp + q.dp;
    const cs_row_sets sets = { slot, cs_div_up(seg.rows, rows) + seg.n, seg.n, 0, false };

    cs_sum_rows<1>(be, sets, cols,
        [=] __device__(int32_t s, int64_t r, int32_t j, double *v) {
            /* A slot is empty if two segments meet at a tile's edge. */
            if (r < (q.off[s + 1] - 1) / rows + s + 1)
                v[0] += q.part[r * cols + j];
        },
        [=] __device__(int32_t s, int32_t j, const double *v, int64_t) {
            int64_t len = q.off[s + 1] - q.off[s];
            cs_real m = (cs_real)(len > 0 ? v[0] / (double)len : 0);
            if (j < q.hp)
                cs_el(hidden, s, j) = m;
            else if (j - q.hp < q.d)
                cs_el(mean, s, j - q.hp) = m;
        }, "chord_stack");
    cs_each(be, seg.n, q.d, [=] __device__(int64_t s, int32_t j) {
        if (q.off[s + 1] == q.off[s])
            return;
        float sum = cs_bias1(q)[q.hp + j];
        for (int32_t k = 0; k < q.hp; k++)
            sum += cs_el(hidden, s, k) * cs_weight2(q, j, k);
        cs_el(mean, s, j) += sum;
    }, "chord_stack");
}

/* The mean of x, if the table was the only block. */
static void mean_rows(cs_backend *be, cs_seg seg, const cs_chord_job &q, cs_mat mean)
{
    const uint4 *from = q.x;
    const int64_t pitch = q.pitch;
    cs_sum_rows<1>(be, cs_rows_of(seg), mean.c,
        [=] __device__(int32_t, int64_t r, int32_t j, double *v) {
            v[0] += cs_channel_at(from, pitch, r, j);
        },
        [=] __device__(int32_t s, int32_t j, const double *v, int64_t n) {
            cs_el(mean, s, j) = (cs_real)(v[0] / (double)(n > 0 ? n : 1));
        }, "chord_stack");
}

static void long_way(cs_backend *be, cs_seg seg, const cs_chord_stack *s, cs_mat x, cs_mat mean,
                     cs_real *work)
{
    const chord_plan p = plan_of(seg, s, work);
    const int32_t dp = cs_padded_width(s->width), hp = cs_padded_hidden(s->hidden);
    const int32_t rows = cs_tile_rows(be, seg.rows);
    const int64_t one = cs_cuda_chord_pack_size(s->width, s->hidden);
    CS_BUG(seg.rows > INT32_MAX / 4);        /* so many would take a terabyte */
    cs_chord_job q = { { (int32_t)seg.rows, p.pitch, s->width, s->track, s->width / s->track,
                         cs_reciprocal(s->track), p.off, p.segment, p.shift },
                       dp, hp, NULL, NULL, p.x[0], p.part, false };

    /* once for all blocks */
    cs_cuda_chord_tables(be, seg, q.n_track, { p.off, p.shift, p.segment, p.slot, rows });
    fill(be, q, s, x);
    const int32_t l0 = s->id && s->first.p ? 1 : 0;
    for (int32_t l = l0; l < s->n_block; l++) {
        q.x = p.x[(l - l0) % 2];
        q.y = p.x[(l - l0 + 1) % 2];
        q.pack = (const uint4 *)(s->pack + l * one);
        cs_cuda_chord_block(be, q, rows, mean.p && l + 1 == s->n_block);
    }
    if (mean.p && l0 < s->n_block) {
        means(be, seg, q, p, rows, mean);
        return;
    }
    q.x = p.x[(s->n_block - l0) % 2];
    if (!mean.p) {
        to_rows(be, q, x);
        return;
    }
    mean_rows(be, seg, q, mean);
}

static void cuda_chord_stack(cs_backend *be, cs_seg seg, const cs_chord_stack *s, cs_mat x,
                             cs_mat mean, cs_real *work)
{
    CS_BUG(!x.p && (!s->id || !mean.p));
    if (seg.rows == 0 && mean.p)
        be->op.zero(be, mean);
    if (seg.rows == 0)
        return;
    if (cs_cuda_chord_is_short(be, seg, s))
        cs_cuda_chord_short(be, seg, s, x, mean);
    else
        long_way(be, seg, s, x, mean, work);
}

/* ---- which blocks ------------------------------------------------------------------------ */

/* Does one of both weights fit in shared memory and the hidden layer in registers? Otherwise the
 * block is composed from ops. */
template <int KB> static bool fits(int32_t width, int32_t hidden, int32_t track)
{
    return hidden <= CS_MAX_HIDDEN && track % 4 == 0 && width % track == 0
        && cs_weight_bytes(cs_padded_width(width), cs_padded_hidden(hidden)) / 2 <= KB << 10;
}

void cs_cuda_chord(cs_backend *be)
{
    cs_fused *f = &be->fused;

    f->chord_stack = cuda_chord_stack;
    f->chord_prepare = cs_cuda_chord_prepare;
    f->chord_pack_size = cs_cuda_chord_pack_size;
    f->chord_stack_work = cuda_chord_stack_work;
    f->chord_fits = cs_by_shared_memory(be, fits<227>, fits<163>, fits<99>);
}
