/* conv.h - sizes of convolutions for tests of tensor cores. */
#ifndef CS_TESTS_GPU_CONV_H
#define CS_TESTS_GPU_CONV_H

#include "tests/nn/ops_cases.h"

CASE(conv5)
{
    const cs_taps taps = { 5, sz->track };
    be->op.seg_conv(be, sz->seg, taps, false, m[0], m[1], m[2], 0, m[3]);
}
CASE(conv5_adjoint)
{
    const cs_taps taps = { 5, sz->track };
    be->op.seg_conv(be, sz->seg, taps, true, m[0], m[1], (cs_mat){ 0 }, 1, m[2]);
}
CASE(conv5_dw)
{
    be->op.seg_conv_dw(be, sz->seg, (cs_taps){ 5, sz->track }, m[0], m[1], m[2]);
}

static inline bool epilogue_fits(cs_backend *be, int32_t k, int32_t c, bool norm)
{
    const cs_mat x = { NULL, 100, k, k }, y = { NULL, 100, c, c };
    return be->fused.conv_fits(be, (cs_taps){ N_TAP, 4 }, x, y, norm);
}

static const op_case five_taps[] = {
    { "conv5",         "iRK iFC i1C oRC", conv5, true },
    { "conv5_adjoint", "iRC iFC aRK", conv5_adjoint, true },
    { "conv5_dw",      "iRK iRC aFC", conv5_dw, false },
};

/* Input and output channels, columns between rows, rows of the longest segment. Together they cover
 * every kernel, more rows than a grid, rows aligned to 16 bytes and not, dilations that leave a
 * segment once or several times, and weights that exceed shared memory. */
typedef struct conv_size { int32_t k, c, gap, dilation, longest; bool five; } conv_size;

static const conv_size conv_sizes[] = {
    { 5, 32, 0, 1, 900, true },   { 8, 72, 0, 33, 500, false },  { 32, 32, 0, 4, 67, true },
    { 64, 64, 0, 1000, 67, true }, { 64, 128, 0, 16, 40, false }, { 128, 64, 0, 29, 40, false },
    { 36, 130, 1, 3, 40, true },  { 1300, 8, 0, 2, 5, false },
};

static inline op_sizes sizes_of_conv(const conv_size *s)
{
    op_sizes sz = new_sizes((int64_t[]){ 1, s->longest, 0, 3, 29, 1 }, 6, s->c, s->k, s->gap);
    sz.track = s->dilation;
    return sz;
}

#endif
