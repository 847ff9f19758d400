/* stack.h - ChordMixer blocks and a batch in the processor's memory, and the reference's answer. */
#ifndef CS_TESTS_GPU_STACK_H
#define CS_TESTS_GPU_STACK_H

#include "tests/nn/toy.h"

enum { STACK_BLOCKS = 3, STACK_VOCAB = 7 };

/* A stack of blocks and a batch, in the processor's memory. */
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

/* y = x + rotated(...) by ops, on the processor; of rows of a table: not rotated, and x left out */
static inline void compose(cs_backend *cpu, const stack *t, const cs_chord *k, cs_mat x, bool table,
                           cs_mat y)
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
    compose(cpu, &t, &t.block[0], t.embed, true, t.first);
    t.x = random_mat(t.seg.rows, t.d, 10);
    t.id = cs_xmalloc((size_t)(t.seg.rows + 1) * sizeof *t.id);
    for (int64_t i = 0; i < t.seg.rows; i++) {
        t.id[i] = (int32_t)cs_rng_below(7, (uint64_t)i, STACK_VOCAB + 1) - 1;
        memcpy(t.x.p + i * t.d, t.embed.p + (t.id[i] < 0 ? STACK_VOCAB : t.id[i]) * t.d,
               (size_t)t.d * sizeof(cs_real));
    }
    return t;
}

static inline void drop_stack(stack *t)
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

#endif
