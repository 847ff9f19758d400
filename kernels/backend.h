/* backend.h - the interface between networks and compute kernels: matrices, segments, and the table
 * of ops with their shapes.
 *
 * DESIGN. A backend is a table of function pointers, filled with reference kernels first and
 * overwritten by faster ones that the CPU or device supports. Ops return void: shapes are checked
 * once, in nn/ops; device errors are sticky and reported by sync(). No op allocates. Every sum runs
 * in an order that depends on shapes only, so results are bit-equal for any thread count, and on
 * the CPU a row's result does not depend on other rows.
 *
 * Conventions. (r, c) is rows x columns. "+=" adds to the destination: every adjoint accumulates. A
 * matrix with p == NULL is "absent"; ops state which may be.
 */
#ifndef CS_KERNELS_BACKEND_H
#define CS_KERNELS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#ifdef CS_DOUBLE
typedef double cs_real;          /* test build only: gradient checks and goldens at 1e-9 */
#else
typedef float cs_real;
#endif

/* A row-major view of r x c reals, rows ld apart, in one backend's memory.
 * Passed by value; owns nothing. Host code may read p only if be->is_host. */
typedef struct cs_mat { cs_real *p; int64_t r; int32_t c, ld; } cs_mat;

/* n segments packed end to end: segment s is rows off[s] .. off[s+1]-1 (backend memory). depth =
 * ceil(log2(longest)), the same for all segments in batches from the bucketer. n_valid: NULL, or
 * the number of real rows at the start of each segment; the rest is padding, which is computed but
 * masked in attention. Only golden files made elsewhere have any. */
typedef struct cs_seg {
    const int64_t *off;
    int32_t        n;
    int64_t        rows;
    int32_t        depth;
    const int64_t *n_valid;
} cs_seg;

/* Where a matrix of a per-segment product has the rows of a segment: in the segment's own rows; in
 * the first rows, shared by all segments; in the segment's block of r / n_seg rows. */
typedef enum cs_seg_layout { CS_SEG_ROWS, CS_SEG_SHARED, CS_SEG_BLOCK } cs_seg_layout;
typedef struct cs_operand { cs_mat m; cs_seg_layout layout; } cs_operand;

/* Queries are the rows of segment s of `seg`, keys the valid rows of segment s of `key`. key.off
 * NULL: key.rows / key.n rows each. Dropout: of the L x M weights of a segment and head h, that of
 * row t and key j is dropped with probability `dropout`, by the random number (h L + t) M + j of
 * drop_key; the others are divided by 1 - dropout. */
typedef struct cs_attn {
    cs_seg   seg, key;
    int32_t  n_head;
    cs_real  scale;
    double   dropout;
    uint64_t drop_key;
} cs_attn;

/* Operands of attention, heads concatenated by column: q (N, n_head * dk), k (M, g * dk), v (M, g *
 * dv), y (N, n_head * dv); g divides n_head, and head h uses k and v of head h * g / n_head. */
typedef struct cs_qkv { cs_mat q, k, v, y, stat; } cs_qkv;

/* Regularisers: sum of the off-diagonal elements, of their squares, of (x - identity)^2 */
typedef enum cs_penalty_kind {
    CS_PEN_OFFDIAG, CS_PEN_OFFDIAG_SQUARE, CS_PEN_ORTHO
} cs_penalty_kind;

/* A convolution's taps: n (odd) of them, `dilation` tokens apart. */
typedef struct cs_taps { int32_t n; int64_t dilation; } cs_taps;

/* A tree of classes for a loss: at level l, class k belongs to the taxon group[l,k] (any number
 * that its classes share; NaN: none), with weight share[l,k] in the loss of a record of class k.
 * weight (1,c) of classes, or absent; group and share (n_level,c). */
typedef struct cs_clades { cs_mat weight, group, share; } cs_clades;

/* Words of n tokens, `shift` apart: `map` has a word's number for each of the n_vocab^n tuples of
 * token ids, in backend memory. */
typedef struct cs_words { const int32_t *map; int32_t n, shift, n_vocab; } cs_words;

/* Links of each row of a sparse factor: to tokens t + off[k], circularly. Host memory. */
enum { CS_LINKS_MAX = 64 };
typedef struct cs_links { int32_t n; int64_t off[CS_LINKS_MAX]; } cs_links;

/* GELU: exact erf form; SOFTPLUS: log(1 + exp x), x itself above 20, as in torch */
typedef enum cs_act {
    CS_ACT_NONE, CS_ACT_GELU, CS_ACT_RELU, CS_ACT_SIGMOID, CS_ACT_SOFTPLUS, CS_ACT_TANH
} cs_act;

/* One step of Adam (Kingma, Ba 2015) or AdamW (Loshchilov, Hutter 2019), torch's definitions:
 * decay > 0 with AdamW: p *= 1 - lr * decay first; eps outside the square root; step from 1 on. */
typedef struct cs_adam {
    double lr, beta1, beta2, eps, decay;
    double grad_scale;           /* gradient scale (clipping) */
    bool   decoupled;            /* AdamW; otherwise decay is added to the gradient (L2) */
    int64_t step;
} cs_adam;

/* Input precision of products (matrices, fused blocks, convolutions): single precision, or
 * mantissas of 10 or 7 bits. Sums and parameters stay in single precision. */
typedef enum cs_precision { CS_IN_FP32, CS_IN_TF32, CS_IN_BF16 } cs_precision;

typedef struct cs_backend cs_backend;

typedef struct cs_ops {
    /* ---- memory ------------------------------------------------------------------------- */
    void *(*alloc)(cs_backend *be, size_t n_bytes);            /* 64-byte aligned; NULL: none */
    void  (*dealloc)(cs_backend *be, void *p);
    void  (*upload)(cs_backend *be, void *dst, const void *host, size_t n_bytes);
    /* waits for the ops before it; host is valid only if the next sync() returns CS_OK */
    void  (*download)(cs_backend *be, void *host, const void *src, size_t n_bytes);
    void  (*zero)(cs_backend *be, cs_mat x);
    void  (*copy)(cs_backend *be, cs_mat x, cs_mat y);         /* y = x */
    int   (*sync)(cs_backend *be);                             /* the only op that can fail */
    int64_t (*free_memory)(cs_backend *be);           /* estimate of the bytes that alloc can
                                                       * still get */

    /* ---- dense -------------------------------------------------------------------------- */
    /* c = op(a) op(b) + beta c; op transposes if its flag is set; beta is 0 or 1. Row r of c
     * depends on row r of op(a) only, in a fixed order over k. */
    void (*gemm)(cs_backend *be, bool ta, bool tb, cs_mat a, cs_mat b, cs_real beta, cs_mat c);
    void (*add_bias)(cs_backend *be, cs_mat bias, cs_mat y);              /* y[r,:] += bias (1,c) */
    void (*act)(cs_backend *be, cs_act f, cs_mat x, cs_mat y);            /* y = f(x); may alias */
    /* dx += dy f'(x); if dx is dy: dx = dy f'(x) */
    void (*act_bwd)(cs_backend *be, cs_act f, cs_mat x, cs_mat dy, cs_mat dx);
    /* DeepLIFT's rescale rule for 2 h rows, sequence first, then its reference in the same order:
     * for r < h dx[r,:] += dy[r,:] (f(x[r,:]) - f(x[r+h,:])) / (x[r,:] - x[r+h,:]), with f' between
     * the two if they are (nearly) equal; rows from h on get nothing */
    void (*act_rescale)(cs_backend *be, cs_act f, cs_mat x, cs_mat dy, cs_mat dx);
    void (*axpby)(cs_backend *be, cs_real a, cs_mat x, cs_real b, cs_mat y); /* y = a x + b y */
    void (*mul)(cs_backend *be, cs_mat a, cs_mat b, cs_real beta, cs_mat y); /* y = a b + beta y,
                                                                  element by element; may alias */
    void (*colsum)(cs_backend *be, cs_mat x, cs_mat y);                /* y (1,c) += sum of rows */
    void (*sumsq)(cs_backend *be, cs_mat x, cs_mat y);    /* y (1,1) += sum of squares, in double */

    /* ---- rows --------------------------------------------------------------------------- */
    /* y = (x - mean) / sqrt(var + eps) * gamma + beta, biased variance over the c columns of a row;
     * stat (r,2) receives mean and 1/sqrt(var + eps). gamma, beta (1,c). */
    void (*layernorm)(cs_backend *be, cs_real eps, cs_mat x, cs_mat gamma, cs_mat beta,
                      cs_mat y, cs_mat stat);
    void (*layernorm_bwd)(cs_backend *be, cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy,
                          cs_mat dx, cs_mat dgamma, cs_mat dbeta);           /* all three += */
    /* rescale rule of c = x - mean (linear) times s = 1/sqrt(var + eps), rows as in act_rescale.
     * With o = r + h, n = c s, g = dy gamma, H = 2 s_r s_o / (s_r + s_o):
     * dx[r,:] += H (g - mean(g)) - H^2 / 4 (c_r + c_o) mean((n_r + n_o) g) */
    void (*layernorm_rescale)(cs_backend *be, cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy,
                              cs_mat dx);
    /* stat (2,c): mean and biased variance of every column over the rows */
    void (*batch_stat)(cs_backend *be, cs_mat x, cs_mat stat);
    /* running (2,c) = (1-momentum) running + momentum stat; the variance unbiased for n rows */
    void (*batch_track)(cs_backend *be, cs_real momentum, int64_t n, cs_mat stat, cs_mat running);
    void (*batchnorm)(cs_backend *be, cs_real eps, cs_mat x, cs_mat stat, cs_mat gamma, cs_mat beta,
                      cs_mat y);
    /* from_batch: stat was computed from x, so the gradient flows through it */
    void (*batchnorm_bwd)(cs_backend *be, bool from_batch, cs_real eps, cs_mat x, cs_mat stat,
                          cs_mat gamma, cs_mat dy, cs_mat dx, cs_mat dgamma, cs_mat dbeta);
    void (*softmax)(cs_backend *be, cs_mat x, cs_mat y);              /* over columns; may alias */

    /* ---- tokens ------------------------------------------------------------------------- */
    /* y[r,:] = table[id[r],:]. A negative id gives a zero row. */
    void (*embed)(cs_backend *be, const int32_t *id, cs_mat table, cs_mat y);
    /* dtable[id[r],:] += dy[r,:] in order of r, except for negative ids and `pad` (pad < 0:
     * none) */
    void (*embed_bwd)(cs_backend *be, const int32_t *id, int32_t pad, cs_mat dy, cs_mat dtable);
    /* y (n_seg,c): mean of embed's rows over each segment, 0 for an empty one */
    void (*embed_mean)(cs_backend *be, cs_seg seg, const int32_t *id, cs_mat table, cs_mat y);

    /* word[o+t] = map[sum_i id[o + t + i shift] n_vocab^(n-1-i)], i < n; -1 if that reaches beyond
     * the segment, 1 (unknown) if an id is not in 0 .. n_vocab-1 */
    void (*seg_words)(cs_backend *be, cs_seg seg, const int32_t *id, cs_words w, int32_t *word);

    /* ---- segments ----------------------------------------------------------------------- */
    /* y[o+t, track i] = x[o + (t + sign*s_i) mod L, track i] + beta y, s_0 = 0, s_i = 2^(i-1);
     * track i is columns i*w .. i*w+w-1 (w = track); x and y must not overlap; adjoint: -sign */
    void (*seg_roll)(cs_backend *be, cs_seg seg, int32_t track, int sign, cs_mat x, cs_real beta,
                     cs_mat y);
    /* seg_roll with +1 applied to the rows of x from `first` on, y += rolled x; and its adjoint, x
     * += the rows of y that they went to. x (any number of rows, c) */
    void (*seg_roll_put)(cs_backend *be, cs_seg seg, int32_t track, int64_t first, cs_mat x,
                         cs_mat y);
    void (*seg_roll_take)(cs_backend *be, cs_seg seg, int32_t track, int64_t first, cs_mat y,
                          cs_mat x);
    /* torch GroupNorm over [B,C,L]: group g of `group` is columns g*c/group ..; statistics over
     * those columns and all rows of a segment. stat (n_seg * group, 2): mean, 1/sqrt(var + eps) */
    void (*seg_groupnorm)(cs_backend *be, cs_seg seg, int32_t group, cs_real eps, cs_mat x,
                          cs_mat gamma, cs_mat beta, cs_mat y, cs_mat stat);
    void (*seg_groupnorm_bwd)(cs_backend *be, cs_seg seg, int32_t group, cs_mat x, cs_mat gamma,
                              cs_mat stat, cs_mat dy, cs_mat dx, cs_mat dgamma, cs_mat dbeta);
    void (*seg_mean)(cs_backend *be, cs_seg seg, cs_mat x, cs_mat y);        /* y (n_seg,c) */
    void (*seg_mean_bwd)(cs_backend *be, cs_seg seg, cs_mat dy, cs_mat dx);  /* dx += dy / L */
    /* mean over n rows of each segment, the first ones or those in the centre (from (L - n) / 2,
     * rounded down); over all rows of a shorter segment */
    void (*seg_window)(cs_backend *be, cs_seg seg, bool centre, int64_t n, cs_mat x, cs_mat y);
    void (*seg_window_bwd)(cs_backend *be, cs_seg seg, bool centre, int64_t n, cs_mat dy,
                           cs_mat dx);
    /* y (n_seg,c): maximum of every column in each segment, or (soft) the logarithm of the mean of
     * its exponentials; 0 for an empty segment */
    void (*seg_max)(cs_backend *be, cs_seg seg, bool soft, cs_mat x, cs_mat y);
    /* dx += dy in the first row with x == y; soft: dx += dy exp(x - y) / L */
    void (*seg_max_bwd)(cs_backend *be, cs_seg seg, bool soft, cs_mat x, cs_mat y, cs_mat dy,
                        cs_mat dx);

    /* Circular convolution inside each segment, with s_k = (k - (n-1)/2) dilation:
     * y[o+t,:] = sum_k x[o + (t + s_k) mod L, :] w_k, plus beta y (0 or 1) or, if present, plus
     * bias. w stacks n blocks w_k (x.c, y.c); adjoint: -s_k, and w_k' of blocks (y.c, x.c) */
    void (*seg_conv)(cs_backend *be, cs_seg seg, cs_taps taps, bool adjoint, cs_mat x, cs_mat w,
                     cs_mat bias, cs_real beta, cs_mat y);
    /* dw_k += sum of x[o + (t + s_k) mod L, :]' dy[o+t, :] over all rows */
    void (*seg_conv_dw)(cs_backend *be, cs_seg seg, cs_taps taps, cs_mat x, cs_mat dy, cs_mat dw);
    /* w[k*c+i, o] = scale_o v[o, i*n_tap+k], v (h, c*n_tap) as in torch, w (n_tap*c, h); scale_o =
     * g[o] / ||v[o,:]|| with g (h,1), 1 without g */
    void (*conv_weight)(cs_backend *be, int32_t n_tap, cs_mat v, cs_mat g, cs_mat w);
    void (*conv_weight_bwd)(cs_backend *be, int32_t n_tap, cs_mat v, cs_mat g, cs_mat dw, cs_mat dv,
                            cs_mat dg);

    /* Product with a sparse factor of each segment; the first w.c links, of which several may refer
     * to one token: y[o+t,:] = sum_k w[o+t,k] v[o + (t + off_k) mod L, :], plus r[o+t,:] if
     * present */
    void (*seg_sparse)(cs_backend *be, cs_seg seg, const cs_links *links, cs_mat w, cs_mat v,
                       cs_mat r, cs_mat y);
    /* dw[o+t,k] += <dy[o+t,:], v[o + (t + off_k) mod L, :]>;
     * dv[o+u,:] += sum_k w[o + (u - off_k) mod L, k] dy[o + (u - off_k) mod L, :] */
    void (*seg_sparse_bwd)(cs_backend *be, cs_seg seg, const cs_links *links, cs_mat w, cs_mat v,
                           cs_mat dy, cs_mat dw, cs_mat dv);

    /* ---- attention ---------------------------------------------------------------------- */
    /* y = softmax(scale q k') v per head; stat (N, n_head): log of the sum of exponentials. Needs
     * no memory beyond the operands: scores are computed in tiles, with a running maximum. */
    void (*attend)(cs_backend *be, const cs_attn *a, const cs_qkv *m);
    void (*attend_bwd)(cs_backend *be, const cs_attn *a, const cs_qkv *m, const cs_qkv *d);
    /* y = q S / (q z) per head, S = sum_j k_j' v_j, z = sum_j k_j over the segment's keys; g =
     * n_head; stat (n_seg * n_head, dk * (dv + 1)): rows of S, each followed by its element of z.
     * The adjoint uses d->stat, which must be zero before */
    void (*linear_attend)(cs_backend *be, const cs_attn *a, const cs_qkv *m);
    void (*linear_attend_bwd)(cs_backend *be, const cs_attn *a, const cs_qkv *m, const cs_qkv *d);
    /* per segment c = op(a) op(b) + beta c, op and beta as in gemm; a shared c is summed over
     * segments in their order, with beta 1 */
    void (*seg_gemm)(cs_backend *be, cs_seg seg, bool ta, bool tb, const cs_operand *a,
                     const cs_operand *b, cs_real beta, const cs_operand *c);
    void (*seg_softmax)(cs_backend *be, cs_seg seg, cs_mat x, cs_mat y); /* over a segment's rows */
    void (*seg_softmax_bwd)(cs_backend *be, cs_seg seg, cs_mat y, cs_mat dy, cs_mat dx);
    void (*softmax_bwd)(cs_backend *be, cs_mat y, cs_mat dy, cs_mat dx);  /* over columns */
    /* y = x in valid rows, `value` in the others, + beta y */
    void (*seg_mask)(cs_backend *be, cs_seg seg, cs_real value, cs_mat x, cs_real beta, cs_mat y);
    /* y[o+t,:] = x[o+t,:] + scale * table[t,:] */
    void (*seg_position)(cs_backend *be, cs_seg seg, cs_real scale, cs_mat table, cs_mat x,
                         cs_mat y);
    void (*seg_position_bwd)(cs_backend *be, cs_seg seg, cs_real scale, cs_mat dy, cs_mat dtable);
    /* loss (1,1; may be absent) += scale * penalty of each (c, c) block of x; grad (r,c) is its
     * gradient */
    void (*penalty)(cs_backend *be, cs_penalty_kind kind, cs_real scale, cs_mat x, cs_mat loss,
                    cs_mat grad);

    /* ---- loss and step ------------------------------------------------------------------ */
    /* loss (1,1) += scale * sum_r w_t u_r nll_r; grad = scale * w_t u_r (softmax - onehot). target
     * (r,1 or 2) holds class numbers, NaN rows are masked (zero gradient), and weights u of rows
     * (all 1 without). weight (1,c) of classes or absent (all 1). */
    void (*xent)(cs_backend *be, cs_real scale, cs_mat logit, cs_mat target, cs_mat weight,
                 cs_mat loss, cs_mat grad);
    /* xent in a tree: nll_r = sum over levels l of share[l,t] (-log P(group[l,t])); the probability
     * of a taxon is the sum over its classes */
    void (*xent_tree)(cs_backend *be, cs_real scale, const cs_clades *k, cs_mat logit,
                      cs_mat target, cs_mat loss, cs_mat grad);
    /* xent for independent labels: an entry of logit (r,c) is a label's log-odds, target (r,c)
     * holds 0 and 1; NaN entries are masked. weight (c,2): of each label's 0s and 1s; (1,2): shared
     * by all labels; or absent (all 1) */
    void (*xent_labels)(cs_backend *be, cs_real scale, cs_mat logit, cs_mat target, cs_mat weight,
                        cs_mat loss, cs_mat grad);
    /* loss += scale * sum (y - t)^2; grad = 2 scale (y - t); NaN entries of t are masked */
    void (*mse)(cs_backend *be, cs_real scale, cs_mat y, cs_mat t, cs_mat loss, cs_mat grad);
    /* y = beta y + x * keep / (1-p); keep of element (r,j) is cs_rng_unit(key, r*c + j) >= p */
    void (*dropout)(cs_backend *be, uint64_t key, double p, cs_mat x, cs_real beta, cs_mat y);
    void (*adam)(cs_backend *be, const cs_adam *h, cs_mat p, cs_mat g, cs_mat m, cs_mat v);
} cs_ops;

/* The weights of one ChordMixer block as declared: w1 (h,d), b1 (1,h), w2 (d,h), b2 (1,d). */
typedef struct cs_chord { cs_mat w1, b1, w2, b2; int32_t track; } cs_chord;

/* Gradients for a block's adjoint: dy of its output; dx = beta dx + ... of its input, with beta 0
 * or 1; dk of its weights, each of which += ... */
typedef struct cs_chord_grads { cs_mat dy, dx; cs_real beta; cs_chord dk; } cs_chord_grads;

/* Blocks in sequence, for predictions only. pack: chord_pack_size() reals per block, as written by
 * chord_prepare(). With id, the input is rows of embed, and first holds the first block's output
 * for each of them, w2 gelu(w1 e + b1) + b2; the last row of both is 0, for negative ids. first may
 * be absent: then the first block is computed like the others. Without id, the input is x, and
 * embed and first are absent. */
typedef struct cs_chord_stack {
    int32_t        n_block, width, hidden, track;
    cs_real       *pack;
    const int32_t *id;
    cs_mat         embed, first;
} cs_chord_stack;

/* Epilogue of a convolution: y = relu(norm(pre)) + res, pre = conv + bias. bias (1,h); gamma and
 * beta (1,h) of a normalisation over each row, with eps, as in layernorm; res (N,h). Each may be
 * absent; beta is present if gamma is. For training, only with gamma: pre (N,h) and stat (N,2) are
 * stored for the adjoint; else both are absent. */
typedef struct cs_epilogue { cs_mat bias, gamma, beta, res, pre, stat; cs_real eps; } cs_epilogue;

/* Optional kernels; NULL: composed from cs_ops (nn/ops/fused.c). */
typedef struct cs_fused {
    /* y = x + roll(gelu(x w1' + b1) w2' + b2); work: chord_work() reals. y must not overlap x.
     * Where packed_shape() is present, x and y, dy and dx are packed. */
    void (*chord_block)(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y,
                        cs_real *work);
    /* its adjoint; the hidden layer is recomputed from x */
    void (*chord_block_bwd)(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x,
                            const cs_chord_grads *g, cs_real *work);
    /* x = output of the last block or, if mean is present, mean (n_seg, c) = its mean over each
     * segment, and x is scratch; then x may be absent if s->id is present */
    void (*chord_stack)(cs_backend *be, cs_seg seg, const cs_chord_stack *s, cs_mat x, cs_mat mean,
                        cs_real *work);
    void (*chord_prepare)(cs_backend *be, const cs_chord *k, cs_real *pack);
    int64_t (*chord_pack_size)(int32_t width, int32_t hidden);
    /* reals of scratch for chord_stack; own_x: x is absent. seg.off is not used; of s, sizes
     * only */
    int64_t (*chord_stack_work)(cs_backend *be, cs_seg seg, const cs_chord_stack *s, bool own_x);
    /* does chord_stack support these sizes? On the CPU: any width and hidden size, track a multiple
     * of 4. On a GPU, rows of all matrices of a block must begin at multiples of 16 bytes */
    bool (*chord_fits)(int32_t width, int32_t hidden, int32_t track);
    /* the same for chord_block and its adjoint */
    bool (*chord_block_fits)(int32_t width, int32_t hidden, int32_t track);
    /* reals of scratch for chord_block or its adjoint. seg.off is not used; of k, sizes only */
    int64_t (*chord_work)(cs_backend *be, cs_seg seg, const cs_chord *k, bool backward);
    /* the shape of (rows, c) in the layout of chord_block: r x c reals in a row (p is NULL).
     * packed = beta packed + x, x = beta x + packed; values are rounded as chord_block does */
    cs_mat (*packed_shape)(int64_t rows, int32_t c);
    void (*pack_rows)(cs_backend *be, cs_mat x, cs_real beta, cs_mat packed);
    void (*unpack_rows)(cs_backend *be, cs_mat packed, cs_real beta, cs_mat x);

    /* y = x packed in bf16: elements 2j and 2j + 1 of a row, rounded to nearest even, are the low
     * and the high half of y's element j. y (x.r, (x.c + 1) / 2); and back. Only if products take
     * bf16 */
    void (*to_bf16)(cs_backend *be, cs_mat x, cs_mat y);
    void (*from_bf16)(cs_backend *be, cs_mat y, cs_mat x);

    /* y = x w' + bias (1,y.c; may be absent), the same bits as gemm and add_bias; pack holds w as
     * written by affine_prepare(): affine_pack_size() reals */
    void (*affine)(cs_backend *be, cs_mat x, const cs_real *pack, cs_mat bias, cs_mat y);
    void (*affine_prepare)(cs_backend *be, cs_mat w, cs_real *pack);
    int64_t (*affine_pack_size)(cs_mat w);

    /* y = seg_conv of x and w, with its epilogue; y must overlap neither x nor res */
    void (*conv_epilogue)(cs_backend *be, cs_seg seg, cs_taps taps, cs_mat x, cs_mat w,
                          const cs_epilogue *epi, cs_mat y);
    /* does conv_epilogue support these sizes? x.p and y.p are not used; norm: it has gamma */
    bool (*conv_fits)(cs_backend *be, cs_taps taps, cs_mat x, cs_mat y, bool norm);
    /* adjoint of an epilogue: dpre is written; dgamma, dbeta +=. The gradient of res is dy. NULL:
     * conv_epilogue does not support pre and stat */
    void (*epilogue_bwd)(cs_backend *be, const cs_epilogue *epi, cs_mat dy, cs_mat dpre,
                         cs_mat dgamma, cs_mat dbeta);

    /* dtable[id[r],:] += dy[s,:] / rows of segment s, except for negative ids: seg_mean_bwd and
     * embed_bwd in one */
    void (*embed_mean_bwd)(cs_backend *be, cs_seg seg, const int32_t *id, cs_mat dy,
                           cs_mat dtable);

    /* y (1,c) = sum over v of count[v] table[v,:] / n: embed_mean of one segment of n tokens by
     * their counts. count: host memory */
    void (*count_mean)(cs_backend *be, const int64_t *count, int64_t n, cs_mat table, cs_mat y);
} cs_fused;

/* Asynchronous copies, for a device with its own memory: while one batch is computed, the input of
 * the next one is uploaded and the output of the previous one is downloaded. Each slot of staging
 * buffers holds one batch, until its fetch() has returned. On the CPU all are NULL. */
enum { CS_STAGING_SLOTS = 2, CS_STAGING_HEAD = 64 };
typedef struct cs_staging_ops {
    void *(*alloc)(cs_backend *be, size_t n_bytes);    /* pinned host memory; NULL: none */
    void  (*dealloc)(cs_backend *be, void *p);
    /* dst = pinned, concurrently with computation; later ops wait for it */
    void  (*send)(cs_backend *be, int slot, void *dst, const void *pinned, size_t n_bytes);
    /* out: index of the first element of y that is not finite (uint64_t; UINT64_MAX: none), and
     * from byte CS_STAGING_HEAD on y's rows, contiguous. Ends the slot's computation */
    void  (*end)(cs_backend *be, int slot, cs_mat y, void *out);
    /* pinned = src after the slot's computation; waits for it; errors as in sync() */
    int   (*fetch)(cs_backend *be, int slot, void *pinned, const void *src, size_t n_bytes);
} cs_staging_ops;

/* A recorded sequence of ops with their arguments, launched any number of times for the host cost
 * of one op. NULL if a backend has none. */
typedef struct cs_graph cs_graph;
typedef struct cs_graphs {
    /* ops from here to end() are recorded, not executed; false: they are executed as before, and
     * end() must not be called */
    bool      (*begin)(cs_backend *be);
    /* NULL: an op cannot be recorded (upload, download, sync), or no memory */
    cs_graph *(*end)(cs_backend *be);
    void      (*launch)(cs_backend *be, cs_graph *g);
    void      (*dealloc)(cs_backend *be, cs_graph *g);
} cs_graphs;

/* The devices of a run, as named by --device: arguments for cs_backend_open(). */
enum { CS_DEVICES_MAX = 64, CS_DEVICE_NAME = 16 };
typedef struct cs_devices { int n; char name[CS_DEVICES_MAX][CS_DEVICE_NAME]; } cs_devices;

/* Checks whether the other ranks are still alive: CS_OK, or an error. */
typedef struct cs_reduce_watch { int (*check)(void *arg); void *arg; } cs_reduce_watch;

/* Sums over devices of several ranks, without copies to the CPU. The order of a sum follows from
 * the number of ranks and the connections of their devices. */
enum { CS_REDUCE_ID = 128 };
typedef struct cs_reduce {
    int  (*id)(cs_backend *be, unsigned char *id);   /* id of a new group: made by one rank, for
                                                      * all */
    int  (*join)(cs_backend *be, const unsigned char *id, int rank, int n, cs_reduce_watch watch);
    int  (*sum)(cs_backend *be, cs_real *p, int64_t n);      /* p = sum of the ranks' p; waits */
    void (*finalize)(cs_backend *be);
} cs_reduce;

struct cs_backend {
    const char *name;            /* "cpu", "cuda" */
    char        device[CS_DEVICE_NAME];      /* device name: "cpu", "cuda:2" */
    cs_backend *next;            /* the next device of the same run, closed with it; or NULL */
    bool        is_host;         /* memory is readable by host code */
    int         n_thread;
    cs_precision precision;      /* see cs_backend_compute_in() */
    int64_t     full_rows;       /* rows of a batch from which on no kernel for fewer is used; 0:
                                  * there are none such (the CPU) */
    cs_ops      op;
    cs_fused    fused;
    cs_staging_ops   staging;
    cs_graphs   graphs;
    int       (*compute_in)(cs_backend *be, cs_precision p);
    const cs_reduce *reduce;     /* NULL: ranks sum in host memory */
    void      (*close)(cs_backend *be);      /* frees impl */
    void       *impl;
};

/**
 * cs_devices_parse - parse a list of devices; opens none
 *
 * text     "cpu"; with CUDA also "cuda" (the first), "cuda:0,2" (these, in this order); "auto": all
 *          CUDA devices, or cpu if there are none
 * Returns  CS_OK; CS_EUSAGE for a duplicate device, or more than CS_DEVICES_MAX; CS_EDEVICE for a
 *          device that this build does not support
 */
int cs_devices_parse(const char *text, cs_devices *out) CS_MUST_CHECK;

/** cs_reducer_about - describe how GPUs of several ranks sum: "NCCL 2.19.3", "none", or why it is
 * unavailable; buf receives the text */
void cs_reducer_about(char *buf, size_t n_buf);

/**
 * cs_backend_open - open one device; checks that its table is complete
 *
 * text     as for cs_devices_parse(); "auto" takes the first device; other lists of several devices
 *          are CS_EUSAGE
 * n_thread threads for parallel loops; 0: all CPUs of this process
 */
int  cs_backend_open(const char *text, int n_thread, cs_backend **out) CS_MUST_CHECK;
/** cs_backend_open_all - open all devices of a list: returns the first, linked by `next` */
int  cs_backend_open_all(const char *text, int n_thread, cs_backend **out) CS_MUST_CHECK;
/** cs_backend_open_like - be's device once more, in its precision; errors of cs_backend_open() */
int  cs_backend_open_like(const cs_backend *be, int n_thread, cs_backend **out) CS_MUST_CHECK;
void cs_backend_close(cs_backend *be);   /* closes all of the list; accepts NULL */

/** cs_precision_names - CS_PRECISION_NAMES, NULL: by cs_precision */
#define CS_PRECISION_NAMES "fp32", "tf32", "bf16"
extern const char *const cs_precision_names[];

/**
 * cs_backend_compute_in - set the precision of products of be and all linked devices; CS_IN_FP32
 * until this is called
 *
 * A CPU supports CS_IN_BF16 if cs_cpu_has(CS_CPU_BF16): dense products, ChordMixer blocks and
 * convolutions take bf16, and so do their gradients; attention scores and sparse factors stay in
 * fp32.
 *
 * Returns  CS_OK, or CS_EUSAGE if one does not support it; all are then in CS_IN_FP32
 */
int cs_backend_compute_in(cs_backend *be, cs_precision p) CS_MUST_CHECK;

#endif
