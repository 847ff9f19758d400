/* attn.h - tiled softmax attention, used by the reference and the vectorised kernels. */
#ifndef CS_KERNELS_CPU_ATTN_H
#define CS_KERNELS_CPU_ATTN_H

#include "kernels/cpu/impl.h"

enum { CS_TILE_ROWS = 192,       /* queries of a tile: enough to amortise the packing of its keys */
       CS_TILE_KEYS = 64 };

/* One row of weights per query. */
typedef cs_real cs_score_tile[CS_TILE_ROWS][CS_TILE_KEYS];

/* Operations on a tile. Each computes its own sum and adds it to the destination; a row's result
 * depends on that row only. */
typedef struct cs_tile_ops {
    void (*scores)(cs_mat a, cs_mat b, cs_score_tile c);         /* c = a b' */
    void (*mix)(const cs_score_tile w, int64_t n_key, cs_mat x, cs_mat y);
                                                     /* y += w x; x has n_key rows */
    void (*mix_transposed)(const cs_score_tile w, int64_t n_row, cs_mat x, cs_mat y);
                                                     /* y += w' x; x has n_row rows */
    cs_real (*row_max)(const cs_real *w, int n, cs_real scale, cs_real max);  /* of scale w, max */
    double (*exp_sum)(cs_real *w, int n, cs_real scale, cs_real shift);
                                                     /* w = exp(scale w - shift); returns the sum */
    void (*softmax_bwd)(const cs_real *p, int n, cs_real scale, cs_real delta, cs_real *ds);
                                                               /* ds = scale p (ds - delta) */
} cs_tile_ops;

/** cs_attend_tiles, cs_attend_tiles_bwd - attend and attend_bwd of the backend's table */
void cs_attend_tiles(cs_backend *be, const cs_tile_ops *op, const cs_attn *a, const cs_qkv *m);
void cs_attend_tiles_bwd(cs_backend *be, const cs_tile_ops *op, const cs_attn *a, const cs_qkv *m,
                         const cs_qkv *d);

#endif
