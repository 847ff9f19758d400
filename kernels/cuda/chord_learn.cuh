/* chord_learn.cuh - a ChordMixer block that learns: what its kernels work on. */
#ifndef CS_KERNELS_CUDA_CHORD_LEARN_H
#define CS_KERNELS_CUDA_CHORD_LEARN_H

#include "kernels/cuda/pairs.cuh"

/* d: width; dp, hp: width and hidden size as weights have them. */
struct cs_learn_job {
    cs_seg       seg;
    cs_mat       x, y, b1, b2;
    const uint4 *pack;           /* w1 and w2', (hp, dp) each, as pairs */
    int32_t      d, dp, h, hp, track;
};

#endif
