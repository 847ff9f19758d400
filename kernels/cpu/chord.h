/* chord.h - the fused ChordMixer block: packed weights, tiles, both products.
 *
 * DESIGN. Rows are cut into tiles of CS_TILE rows. A thread runs both products on a tile while it
 * is in the L2 cache. GELU is applied when the first product is stored. Rotation only changes where
 * the second product stores (forward) or where its gradient is loaded from (backward). Weights are
 * packed into panels, activations never. Panels have two vectors of columns; a remainder of at most
 * one vector joins the last panel, which then has three and runs at full speed.
 *
 * Weight gradients are summed over groups of tiles. One thread computes a group from its first tile
 * to its last, and groups are added in order; their number depends only on the number of rows.
 */
#ifndef CS_KERNELS_CPU_CHORD_H
#define CS_KERNELS_CPU_CHORD_H

#include "kernels/cpu/gemm.h"

#ifndef CS_DOUBLE

enum { CS_TILE = 96,             /* rows: a multiple of the micro-kernel's strip */
       CS_TILES_PER_GROUP = 8, CS_GROUPS = 32 };

/** cs_chord_panels, cs_chord_panel_width, cs_chord_padded - number of panels for n columns, width
 * of panel p, total width of all panels. Panel p begins at column p * CS_PANEL */
static inline int32_t cs_chord_panels(int32_t n)
{
    return n <= CS_VEC ? 1 : (n + CS_VEC - 1) / CS_PANEL;
}
static inline int32_t cs_chord_panel_width(int32_t n, int32_t p)
{
    int32_t rest = n - p * CS_PANEL;
    return rest <= CS_VEC ? CS_VEC : rest > CS_PANEL && rest <= CS_EDGE ? CS_EDGE : CS_PANEL;
}
static inline int32_t cs_chord_padded(int32_t n)
{
    int32_t last = cs_chord_panels(n) - 1;
    return last * CS_PANEL + cs_chord_panel_width(n, last);
}

/** cs_chord_pack_matrix - pack a block of op(b), element (k, j) at b[k*sk + j*sj], into cells, m =
 * cs_cell_count(n_k) rows: panel p at out + p * CS_PANEL * m, [m][width], zeros from column n on */
void cs_chord_pack_matrix(const float *b, int64_t sk, int64_t sj, int64_t n_k, int32_t n,
                          float *out);
/** cs_chord_pack_bias - out = a bias (1,n), with zeros up to cs_chord_padded(n) */
void cs_chord_pack_bias(cs_mat b, float *out);

/** cs_tile_ld - row stride of a tile of n columns: an odd number of cache lines, so that
 * consecutive rows fall into different sets */
static inline int64_t cs_tile_ld(int32_t n)
{
    return CS_LINE * (int64_t)((n + CS_LINE - 1) / CS_LINE | 1);
}

/** cs_cells_ld - the same for rows of the cells of n elements */
static inline int64_t cs_cells_ld(int32_t n) { return cs_tile_ld((int32_t)cs_cell_count(n)); }

/* A block's weights, packed for the forward pass; biases are padded to whole panels. */
typedef struct cs_chord_pack { int32_t d, h, track; float *w1, *w2, *b1, *b2; } cs_chord_pack;

/** cs_chord_pack_at - lay out the members in memory of cs_chord_pack_size() floats */
cs_chord_pack cs_chord_pack_at(int32_t d, int32_t h, int32_t track, float *p);
int64_t cs_chord_pack_size(int32_t d, int32_t h);
/** cs_chord_pack_fill - pack a block's weights into that memory */
void cs_chord_pack_fill(const cs_chord *k, cs_chord_pack *to);

/* Consecutive rows and the spans of segments that they cover. */
typedef struct cs_tile { int64_t r0, n; int32_t n_span; cs_seg_span span[CS_TILE]; } cs_tile;
/** cs_tile_init - tile number `no` of all rows */
void cs_tile_init(cs_tile *t, cs_seg seg, int64_t no);

/* Tokens of one sequence: channel j of track i of token t is p[t*row + i*track + j]. In a matrix,
 * `track` is the width of a track; in track-major order, `row` is. */
typedef struct cs_tracks { float *p; int64_t row, track; } cs_tracks;

/** cs_chord_layout, cs_chord_layout_size - layout of n tokens at p that rotates fastest (row-major,
 * or track-major if tracks are narrow), and its size in floats */
cs_tracks cs_chord_layout(float *p, int64_t n, int32_t width, int32_t track);
int64_t cs_chord_layout_size(int64_t n, int32_t width, int32_t track);

/* Scratch of a tile's products: cells of its tokens, CS_TILE * cs_cells_ld(d), and a panel of
 * floats, CS_TILE * CS_BUF. Levels whose cells are floats use the panel only. */
typedef struct cs_chord_tmp { float *cells, *buf; } cs_chord_tmp;
enum { CS_BUF = CS_LINE * ((CS_EDGE + CS_LINE - 1) / CS_LINE | 1) };     /* see cs_tile_ld() */

/** cs_chord_hidden - h = gelu(x w1' + b1) of the first n_row tokens; rows of h are padded to whole
 * panels. h has CS_TILE rows, of which those after n_row may be overwritten */
void cs_chord_hidden(const cs_chord_pack *k, cs_tracks x, int64_t n_row, const cs_chord_tmp *tmp,
                     float *h, int64_t ldh);
/** cs_chord_hidden_cells - the same; h receives cells */
void cs_chord_hidden_cells(const cs_chord_pack *k, cs_tracks x, int64_t n_row,
                           const cs_chord_tmp *tmp, float *h, int64_t ldh);

/* One sequence, and scratch for running blocks on it in place: see vec_chord_seq.c. */
typedef struct cs_chord_seq {
    cs_tracks x;
    int64_t   len;
    int       n_thread;
    int32_t   n_range;           /* number of ranges of up to `range` tokens */
    int64_t   range;
    float    *deferred;          /* products, by range */
    float    *tile;              /* n_thread * cs_chord_seq_tile() floats */
} cs_chord_seq;

/** cs_chord_seq_tile, cs_chord_seq_deferred - floats of scratch per thread, and per sequence of up
 * to max_len tokens */
int64_t cs_chord_seq_tile(int32_t width, int32_t hidden);
int64_t cs_chord_seq_deferred(int32_t width, int32_t track, int64_t max_len, int n_thread);
/** cs_chord_seq_tmp - the part of a thread's scratch behind the hidden layer */
cs_chord_tmp cs_chord_seq_tmp(const cs_chord_pack *k, float *tile);
/** cs_chord_seq_partition - divide the sequence into ranges for n_thread threads */
void cs_chord_seq_partition(cs_chord_seq *q);
/** cs_chord_seq_block - x = x + rotated(gelu(x w1' + b1) w2' + b2) */
void cs_chord_seq_block(const cs_chord_seq *q, const cs_chord_pack *k);

/* Scratch of one training call. dp, hp: d and h rounded up to whole panels. */
typedef struct cs_chord_plan {
    cs_seg  seg;
    int32_t d, h, dp, hp, track;
    int64_t ldd, ldh;            /* row strides of tiles of width d and h */
    int64_t n_tile;
    int32_t n_group;
    cs_chord_pack pack;
    float  *back[2];             /* w2 and w1 packed for the products dy w2 and dh w1 */
    float  *zero;                /* hp zeros */
    float  *sum;                 /* per group: dw1 (h,dp), dw2 (d,hp), db1 (hp), db2 (dp) */
    int64_t sum_stride;
    float  *tile;                /* n_thread * tile_stride: floats, then cells */
    int64_t tile_stride;
    int64_t n_transposed;        /* cells of a transposed or packed tile; 0: floats */
    int64_t forward_size, size;  /* floats used by the forward pass (the first ones), and in
                                  * total */
} cs_chord_plan;

/** cs_chord_plan_make - the layout of `work` (NULL if only the size is needed) */
cs_chord_plan cs_chord_plan_make(const cs_backend *be, cs_seg seg, int32_t width, int32_t hidden,
                                 int32_t track, float *work);

/** cs_chord_plan_tmp - a thread's scratch behind two tiles of each width */
static inline cs_chord_tmp cs_chord_plan_tmp(const cs_chord_plan *f, float *tile)
{
    float *buf = tile + CS_TILE * 2 * (f->ldd + f->ldh);
    return (cs_chord_tmp){ .cells = buf + CS_TILE * CS_BUF, .buf = buf };
}

/* Entries of the backend's table, with its arguments: chord_fits and chord_block_bwd. */
bool cs_chord_fits(int32_t width, int32_t hidden, int32_t track);
void cs_chord_bwd(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x, const cs_chord_grads *g,
                  cs_real *work);

#endif
#endif
