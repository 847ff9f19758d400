/* chord_train.cuh - a ChordMixer block in training: arguments of its kernels. */
#ifndef CS_KERNELS_CUDA_CHORD_TRAIN_H
#define CS_KERNELS_CUDA_CHORD_TRAIN_H

#include "kernels/cuda/chord.cuh"
#include "kernels/cuda/pairs.cuh"

/* Backward through rows first .. rows - 1 of the batch. dp, hp: width and hidden size, padded as in
 * the weights; h: hidden size. x, dy and dx are in octets, with one pitch. */
struct cs_train_job : cs_chord_rows<int32_t, int32_t, int64_t> {
    int32_t      first, dp, h, hp;
    cs_mat       b1;
    const uint4 *pack;           /* w1 and w2', (hp, dp) each, as pairs */
    const uint4 *x, *dy;
    uint4       *dx;
    bool         add;            /* to dx, otherwise it is written */
    uint4       *hidden, *dz;    /* (rows - first, hp) of bf16: gelu(z), and the gradient of z */
    float       *part;           /* cs_cuda_chord_parts() partial sums */
};

/** cs_cuda_chord_parts - floats for the partial sums of ranges of rows */
int64_t cs_cuda_chord_parts(cs_backend *be, int32_t d, int32_t hp, int64_t rows);
/** cs_cuda_chord_weights - dw1 += dz' x, dw2 += (rotated dy)' hidden, db1 and db2 += the sums of dz
 * and of rotated dy, over the job's rows */
void cs_cuda_chord_weights(cs_backend *be, const cs_train_job &q, const cs_chord *dk);

#endif
