/* keys.cuh - key masks of attention on the device; as in kernels/cpu/heads.h. */
#ifndef CS_KERNELS_CUDA_KEYS_H
#define CS_KERNELS_CUDA_KEYS_H

#include "kernels/cuda/device.cuh"

struct cs_key_range { int64_t from, to; };

/** cs_key_span - the unmasked rows of segment s */
__device__ static inline cs_key_range cs_key_span(const cs_seg &key, int32_t s)
{
    if (!key.off) {
        int64_t each = key.rows / key.n;
        return { s * each, (s + 1) * each };
    }
    int64_t from = key.off[s];
    return { from, key.n_valid ? from + key.n_valid[s] : key.off[s + 1] };
}

/** cs_key_segment - the segment of a row of the keys */
__device__ static inline int32_t cs_key_segment(const cs_seg &key, int64_t r)
{
    return key.off ? cs_token_pos_at(key, r).s : (int32_t)(r / (key.rows / key.n));
}

/** cs_key_end - the row after the last one of segment s, masked or not */
__device__ static inline int64_t cs_key_end(const cs_seg &key, int32_t s)
{
    return key.off ? key.off[s + 1] : (s + 1) * (key.rows / key.n);
}

/** cs_head_cols - columns of head h of n_part */
__device__ static inline cs_mat cs_head_cols(cs_mat m, int32_t h, int32_t n_part)
{
    int32_t w = m.c / n_part;
    return { m.p + h * w, m.r, w, m.ld };
}

#endif
