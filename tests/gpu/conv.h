/* conv.h - convolutions as tests of tensor cores try them: sizes, and cases of five taps. */
#ifndef CS_TESTS_GPU_CONV_H
#define CS_TESTS_GPU_CONV_H

#include "tests/nn/ops_cases.h"

CASE(conv5)
{
    const cs_taps taps = { 5, e->track };
    be->op.seg_conv(be, e->seg, taps, false, m[0], m[1], m[2], 0, m[3]);
}
CASE(conv5_adjoint)
{
    const cs_taps taps = { 5, e->track };
    be->op.seg_conv(be, e->seg, taps, true, m[0], m[1], (cs_mat){ 0 }, 1, m[2]);
}
CASE(conv5_dw)
{
    be->op.seg_conv_dw(be, e->seg, (cs_taps){ 5, e->track }, m[0], m[1], m[2]);
}

static const op_case five_taps[] = {
    { "conv5",         "iRK iFC i1C oRC", conv5, true },
    { "conv5_adjoint", "iRC iFC aRK", conv5_adjoint, true },
    { "conv5_dw",      "iRK iRC aFC", conv5_dw, false },
};

/* Channels in and out, columns between rows, rows of the longest segment. Together they reach every
 * kernel, more rows than a grid takes at once, rows that lie on 16 bytes and others, dilations that
 * leave a segment, some of them several times, and weights that are too many for shared memory. */
typedef struct conv_size { int32_t k, c, gap, dilation, longest; bool five; } conv_size;

static const conv_size conv_sizes[] = {
    { 5, 32, 0, 1, 900, true },   { 8, 72, 0, 33, 500, false },  { 32, 32, 0, 4, 67, true },
    { 64, 64, 0, 1000, 67, true }, { 64, 128, 0, 16, 40, false }, { 128, 64, 0, 29, 40, false },
    { 36, 130, 1, 3, 40, true },  { 1300, 8, 0, 2, 5, false },
};

static inline env conv_env(const conv_size *s)
{
    env e = new_env((int64_t[]){ 1, s->longest, 0, 3, 29, 1 }, 6, s->c, s->k, s->gap);
    e.track = s->dilation;
    return e;
}

#endif
