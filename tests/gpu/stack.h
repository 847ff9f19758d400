/* stack.h - ChordMixer blocks and a batch in host memory, and the reference's output. */
#ifndef CS_TESTS_GPU_STACK_H
#define CS_TESTS_GPU_STACK_H

#include "tests/nn/toy.h"

enum { STACK_BLOCKS = 3, STACK_VOCAB = 7,
       STACK_LONG = 30 };        /* a depth whose segments exceed any shared memory */

/* A stack of blocks and a batch, in host memory. */
typedef struct stack {
    int32_t  d, h, track;
    int64_t *off;                /* [n + 1] */
    cs_seg   seg;
    cs_chord block[STACK_BLOCKS];
    cs_mat   embed, first, x;
    int32_t *id;
} stack;

static inline cs_mat random_mat(int64_t r, int32_t c, uint64_t key)
{
    cs_mat m = { cs_xmalloc((size_t)(r * c + 1) * sizeof(cs_real)), r, c, c };
    for (int64_t i = 0; i < r * c; i++)
        m.p[i] = (cs_real)(cs_rng_unit(key, (uint64_t)i) - 0.5F);
    return m;
}

/* A block by plain ops on the CPU: y = x + rotated(mlp(x)); for rows of a table y = mlp(x) */
static inline void reference_block(cs_backend *cpu, const stack *t, const cs_chord *k, cs_mat x,
                                   bool table, cs_mat y)
{
    cs_mat h = random_mat(x.r, t->h, 0), out = table ? y : random_mat(x.r, t->d, 0);
    cpu->op.gemm(cpu, false, true, x, k->w1, 0, h);
    cpu->op.add_bias(cpu, k->b1, h);
    cpu->op.act(cpu, CS_ACT_GELU, h, h);
    cpu->op.gemm(cpu, false, true, h, k->w2, 0, out);
    cpu->op.add_bias(cpu, k->b2, out);
    if (!table) {
        cpu->op.copy(cpu, x, y);
        cpu->op.seg_roll(cpu, t->seg, t->track, 1, out, 1, y);
        free(out.p);
    }
    free(h.p);
}

static inline stack new_stack(cs_backend *cpu, const int32_t size[3], const int64_t *len, int n,
                              int64_t *off)
{
    stack t = { .d = size[0], .h = size[1], .track = size[2], .off = off };
    for (int i = 0; i < n; i++)
        t.off[i + 1] = t.off[i] + len[i];
    t.seg = (cs_seg){ .off = t.off, .n = n, .rows = t.off[n], .depth = cs_depth(t.off[n]) };
    for (int l = 0; l < STACK_BLOCKS; l++)
        t.block[l] = (cs_chord){ random_mat(t.h, t.d, 4), random_mat(1, t.h, 5),
                                 random_mat(t.d, t.h, 6), random_mat(1, t.d, 7), t.track };
    t.embed = random_mat(STACK_VOCAB + 1, t.d, 8);
    memset(t.embed.p + STACK_VOCAB * t.d, 0, (size_t)t.d * sizeof(cs_real));
    t.first = random_mat(STACK_VOCAB + 1, t.d, 9);
    reference_block(cpu, &t, &t.block[0], t.embed, true, t.first);
    t.x = random_mat(t.seg.rows, t.d, 10);
    t.id = cs_xmalloc((size_t)(t.seg.rows + 1) * sizeof *t.id);
    for (int64_t i = 0; i < t.seg.rows; i++) {
        t.id[i] = (int32_t)cs_rng_below(7, (uint64_t)i, STACK_VOCAB + 1) - 1;
        memcpy(t.x.p + i * t.d, t.embed.p + (t.id[i] < 0 ? STACK_VOCAB : t.id[i]) * t.d,
               (size_t)t.d * sizeof(cs_real));
    }
    return t;
}

static inline void free_stack(stack *t)
{
    for (int l = 0; l < STACK_BLOCKS; l++) {
        free(t->block[l].w1.p);
        free(t->block[l].b1.p);
        free(t->block[l].w2.p);
        free(t->block[l].b2.p);
    }
    free(t->embed.p);
    free(t->first.p);
    free(t->x.p);
    free(t->id);
}

/* ---- on a device ----------------------------------------------------------------------------- */

static inline void *stack_to_gpu(cs_backend *gpu, const void *p, size_t n_bytes)
{
    void *q = gpu->op.alloc(gpu, n_bytes);
    assert_non_null(q);
    gpu->op.upload(gpu, q, p, n_bytes);
    return q;
}

static inline cs_mat stack_mat_to_gpu(cs_backend *gpu, cs_mat m)
{
    m.p = stack_to_gpu(gpu, m.p, (size_t)(m.r * m.c) * sizeof(cs_real));
    return m;
}

/* Rows on the device between two guard rows: those of m, or NaN. */
static inline cs_mat stack_guarded(cs_backend *gpu, cs_mat m)
{
    const size_t row = (size_t)m.c * sizeof(cs_real), n_bytes = (size_t)(m.r + 2) * row;
    char *rows = cs_xmalloc(n_bytes);
    memset(rows, 0xFF, n_bytes);
    if (m.p)
        memcpy(rows + row, m.p, (size_t)m.r * row);
    m.p = (cs_real *)stack_to_gpu(gpu, rows, n_bytes) + m.c;
    free(rows);
    return m;
}

/* Downloads the rows, after checking that the guard rows are unchanged. */
static inline void stack_download(cs_backend *gpu, cs_mat guarded, cs_mat out)
{
    const size_t row = (size_t)out.c * sizeof(cs_real), n = (size_t)out.r;
    unsigned char *rows = cs_xmalloc((n + 2) * row);
    gpu->op.download(gpu, rows, guarded.p - guarded.c, (n + 2) * row);
    for (size_t i = 0; i < row; i++)
        assert_true(rows[i] == 0xFF && rows[(n + 1) * row + i] == 0xFF);
    memcpy(out.p, rows + row, n * row);
    gpu->op.dealloc(gpu, guarded.p - guarded.c);
    free(rows);
}

/* The stack on the device, from tokens (with or without their table) or from rows, to rows or
 * means. */
static inline void stack_on_gpu(cs_backend *gpu, const stack *t, bool tokens, bool table, bool mean,
                                cs_mat out)
{
    const cs_fused *f = &gpu->fused;
    const int64_t pack_size = f->chord_pack_size(t->d, t->h);
    void *allocated[7 + 4 * STACK_BLOCKS];
    int n = 0;
    cs_chord_stack s = { .n_block = STACK_BLOCKS, .width = t->d, .hidden = t->h,
                         .track = t->track };
    cs_seg seg = t->seg;
    seg.off = allocated[n++] = stack_to_gpu(gpu, t->off, (size_t)(t->seg.n + 1) * sizeof *t->off);
    s.pack = gpu->op.alloc(gpu, (size_t)(STACK_BLOCKS * pack_size) * sizeof(cs_real));
    allocated[n++] = s.pack;
    for (int l = 0; l < STACK_BLOCKS; l++) {
        const cs_chord *b = &t->block[l];
        cs_chord k = { stack_mat_to_gpu(gpu, b->w1), stack_mat_to_gpu(gpu, b->b1),
                       stack_mat_to_gpu(gpu, b->w2), stack_mat_to_gpu(gpu, b->b2), t->track };
        f->chord_prepare(gpu, &k, s.pack + l * pack_size);
        allocated[n++] = k.w1.p;
        allocated[n++] = k.b1.p;
        allocated[n++] = k.w2.p;
        allocated[n++] = k.b2.p;
    }
    if (tokens) {
        s.id = allocated[n++] = stack_to_gpu(gpu, t->id, (size_t)t->seg.rows * sizeof *t->id);
        s.embed = stack_mat_to_gpu(gpu, t->embed);
        s.first = stack_mat_to_gpu(gpu, t->first);
        allocated[n++] = s.embed.p;
        allocated[n++] = s.first.p;
    }
    if (!table)
        s.first = (cs_mat){ 0 };
    cs_mat x = tokens && mean ? (cs_mat){ 0 } : stack_guarded(gpu, t->x), y = { 0 };
    if (mean)
        y = stack_guarded(gpu, (cs_mat){ NULL, out.r, out.c, out.c });
    int64_t n_work = f->chord_stack_work(gpu, seg, &s, !x.p);
    cs_real *work = allocated[n++] = gpu->op.alloc(gpu, (size_t)n_work * sizeof *work);
    f->chord_stack(gpu, seg, &s, x, y, work);
    stack_download(gpu, mean ? y : x, out);
    assert_int_equal(gpu->op.sync(gpu), CS_OK);
    if (mean && x.p)
        gpu->op.dealloc(gpu, x.p - x.c);
    while (n > 0)
        gpu->op.dealloc(gpu, allocated[--n]);
}

/* Squared error of the worst row relative to the mean square of rows. The error of one row in a
 * hundred thousand would be lost in the sum over all rows. */
static inline double worst_row(cs_mat got, cs_mat want)
{
    double worst = 0, total = 0;
    for (int64_t r = 0; r < want.r; r++) {
        double d2 = 0;
        for (int32_t j = 0; j < want.c; j++) {
            const double w = (double)want.p[r * want.ld + j];
            const double d = (double)got.p[r * got.ld + j] - w;
            d2 += d * d;
            total += w * w;
        }
        worst = isnan(worst) || d2 <= worst ? worst : d2;
    }
    return total > 0 ? worst * (double)want.r / total : worst;
}

static inline void check_stack_near(const stack *t, const char *what, cs_mat got, cs_mat want)
{
    const double nmse = toy_nmse(got.p, want.p, want.r * want.c), worst = worst_row(got, want);
    if (!(nmse <= 1e-4 && worst <= 1e-3))
        fail_msg("width %d, hidden %d, track %d, %ld rows: %s off by %g, a row by %g", (int)t->d,
                 (int)t->h, (int)t->track, (long)t->seg.rows, what, sqrt(nmse), sqrt(worst));
}

/* Rows, and means by all paths, against the reference. */
static inline void check_stack(cs_backend *cpu, cs_backend *gpu, const stack *t)
{
    const int32_t n = t->seg.n;
    cs_mat x = random_mat(t->seg.rows, t->d, 0), y = random_mat(t->seg.rows, t->d, 0);
    cs_mat mean = random_mat(n, t->d, 0), got = random_mat(n, t->d, 0);

    cpu->op.copy(cpu, t->x, x);
    for (int l = 0; l < STACK_BLOCKS; l++) {
        reference_block(cpu, t, &t->block[l], x, false, y);
        cpu->op.copy(cpu, y, x);
    }
    cpu->op.seg_mean(cpu, t->seg, x, mean);
    stack_on_gpu(gpu, t, false, false, false, y);
    check_stack_near(t, "rows", y, x);
    for (int path = 0; path < 3; path++) {
        stack_on_gpu(gpu, t, path > 0, path > 1, true, got);
        check_stack_near(t, "means", got, mean);
    }
    free(x.p);
    free(y.p);
    free(mean.p);
    free(got.p);
}

#endif
