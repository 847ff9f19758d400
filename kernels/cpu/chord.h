/* chord.h - what the fused ChordMixer block's forward and backward passes share.
 *
 * DESIGN. Rows of a batch are cut into tiles of CS_TILE rows, wherever segments begin and end. A
 * thread carries a tile through both products while it is in the second-level cache; rotation is
 * a matter of where the last step stores (forward) or the first one loads (backward). Gradients
 * of the weights are summed over groups of tiles, a group by one thread from its first tile to its
 * last, and groups are added in order; their number depends on the number of rows alone.
 *
 * `work` holds packed weights, padded biases, the groups' sums and the threads' tiles.
 */
#ifndef CS_KERNELS_CPU_CHORD_H
#define CS_KERNELS_CPU_CHORD_H

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/vec_avx2.h"

#ifndef CS_DOUBLE

enum { CS_TILE = 96,             /* rows: 16 strips of the micro-kernel */
       CS_TILES_PER_GROUP = 8, CS_GROUPS = 32 };

/* One call's sizes and places. d: width, h: hidden; dp, hp: rounded up to whole panels. */
typedef struct cs_chord_plan {
    cs_seg  seg;
    int32_t d, h, dp, hp, track;
    int64_t ldd, ldh;            /* row strides of tiles of width d and h */
    int64_t n_tile;
    int32_t n_group;
    float  *pack[3];             /* packed weights */
    float  *b1, *b2;             /* biases, padded with zeros to whole panels */
    float  *zero;                /* hp zeros */
    float  *sum;                 /* per group: dw1 (h,dp), dw2 (d,hp), db1 (hp), db2 (dp) */
    int64_t sum_stride;
    float  *tile;                /* n_thread * tile_stride */
    int64_t tile_stride;
    int64_t size;                /* floats in all */
} cs_chord_plan;

/** cs_chord_plan_make - the layout of `work` (which may be NULL to learn the size) */
cs_chord_plan cs_chord_plan_make(const cs_backend *be, cs_seg seg, int32_t width, int32_t hidden,
                                 int32_t track, float *work);

/* The spans of a tile's rows, at most one per row. */
typedef struct cs_tile { int64_t r0, n; int32_t n_span; cs_span span[CS_TILE]; } cs_tile;
void cs_tile_init(cs_tile *t, cs_seg seg, int64_t no);

/** cs_chord_product - tile product: c = init + a b over all panels of b; n_col columns */
void cs_chord_product(const cs_panel *q, const float *b, int32_t n_col);

void cs_avx2_chord_bwd(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat dy,
                       cs_mat dx, const cs_chord *dk, cs_real *work);

#endif
#endif
