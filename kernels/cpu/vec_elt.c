/* vec_elt.c - element-wise ops: activations, sums of matrices, biases, Adam, sums.
 *
 * An op processes runs of floats that are contiguous in all its operands; a matrix without gaps is
 * one run. Runs are cut into blocks for the threads. The last vector of a block is loaded and
 * stored under a mask, so that all elements go through the same instructions.
 */
#include "base/rng.h"
#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/vec.h"

enum { BLOCK = 8192 };           /* floats per parallel step */

/* One block of an element-wise op: its operands from one element on, its length, and the number of
 * its first element in the matrix. */
typedef struct block { float *p[4]; int64_t n, first; const void *arg; } block;

static bool gapless(const cs_mat *m, int n_mat)
{
    for (int i = 0; i < n_mat; i++)
        if (m[i].ld != m[i].c)
            return false;
    return true;
}

/* Call f for every block of up to four matrices of the same shape. */
static void each(cs_backend *be, void (*f)(const block *), const cs_mat *m, int n_mat,
                 const void *arg)
{
    bool flat = gapless(m, n_mat);
    int64_t n_run = flat ? 1 : m[0].r, n = flat ? m[0].r * m[0].c : m[0].c;
    int64_t n_block = (n + BLOCK - 1) / BLOCK;
    #pragma omp parallel for num_threads(cs_threads(be, n_run * n))
    for (int64_t i = 0; i < n_run * n_block; i++) {
        int64_t from = i % n_block * BLOCK;
        block b = { .n = cs_min64(BLOCK, n - from), .first = i / n_block * n + from, .arg = arg };
        for (int k = 0; k < n_mat; k++)
            b.p[k] = cs_row(m[k], i / n_block) + from;
        f(&b);
    }
}

static void gelu_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += CS_VEC)
        cs_put(b->p[1] + i, b->n - i, cs_gelu(cs_get(b->p[0] + i, b->n - i)));
}

/* max returns its second operand if one is a NaN, so a NaN propagates. */
static void relu_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += CS_VEC)
        cs_put(b->p[1] + i, b->n - i, cs_vmax(cs_vset(0), cs_get(b->p[0] + i, b->n - i)));
}

/* e = exp(-|x|) cannot overflow, and serves both signs:
 *     sigmoid(x) = 1 / (1 + e) or, for x < 0, e / (1 + e);  sigmoid'(x) = e / (1 + e)^2
 *     softplus(x) = max(x, 0) + log(1 + e);                 softplus'(x) = sigmoid(x)
 * For |x| > 87, where e would be subnormal, it is clamped. */
CS_INLINE cs_vec decay(cs_vec x)
{
    const cs_vec a = cs_vmin(cs_vset(87), cs_vabs(x)), c = cs_vset(-1.44269504f);
    const cs_vec times[4] = { c, c, c, c };
    cs_vec v[4] = { a, a, a, a };
    cs_exp2_four(v, times, 1);
    return v[0];
}

CS_INLINE cs_vec sigmoid(cs_vec x)
{
    const cs_vec one = cs_vset(1), e = decay(x);
    return cs_vdiv(cs_vnegative(x, e, one), cs_vadd(one, e));
}

/* log(1 + e) = 2 artanh(s), s = e / (2 + e) <= 1/3, by its series up to s^17 */
CS_INLINE cs_vec softplus(cs_vec x)
{
    const cs_vec e = decay(x), s = cs_vdiv(e, cs_vadd(cs_vset(2), e));
    const cs_vec square = cs_vmul(s, s);
    cs_vec sum = cs_vset(2.0f / 17);
#define TERM(n) sum = cs_vfma(sum, square, cs_vset(2.0f / (n)));
    TERM(15) TERM(13) TERM(11) TERM(9) TERM(7) TERM(5) TERM(3) TERM(1)
#undef TERM
    return cs_vfma(s, sum, cs_vmax(cs_vset(0), x));
}

static void sigmoid_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += CS_VEC)
        cs_put(b->p[1] + i, b->n - i, sigmoid(cs_get(b->p[0] + i, b->n - i)));
}

static void softplus_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += CS_VEC)
        cs_put(b->p[1] + i, b->n - i, softplus(cs_get(b->p[0] + i, b->n - i)));
}

static void vec_act(cs_backend *be, cs_act f, cs_mat x, cs_mat y)
{
    static void (*const run[CS_ACT_TANH + 1])(const block *) = {
        [CS_ACT_GELU] = gelu_block, [CS_ACT_RELU] = relu_block, [CS_ACT_SIGMOID] = sigmoid_block,
        [CS_ACT_SOFTPLUS] = softplus_block };
    if (f == CS_ACT_NONE) {
        if (x.p != y.p)
            be->op.copy(be, x, y);
        return;
    }
    if (run[f])
        each(be, run[f], (cs_mat[]){ x, y }, 2, NULL);
    else
        cs_ref_act(be, f, x, y);
}

static void gelu_bwd_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += CS_VEC) {
        int64_t n = b->n - i;
        cs_vec slope, dx = cs_get(b->p[2] + i, n);
        (void)cs_gelu_slope(cs_get(b->p[0] + i, n), &slope);
        cs_put(b->p[2] + i, n, cs_vfma(cs_get(b->p[1] + i, n), slope, dx));
    }
}

static void relu_bwd_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += CS_VEC) {
        int64_t n = b->n - i;
        cs_vec dy = cs_vpositive(cs_get(b->p[0] + i, n), cs_get(b->p[1] + i, n));
        cs_put(b->p[2] + i, n, cs_vadd(cs_get(b->p[2] + i, n), dy));
    }
}

static void relu_bwd_in_place(const block *b)
{
    for (int64_t i = 0; i < b->n; i += CS_VEC) {
        int64_t n = b->n - i;
        cs_put(b->p[1] + i, n, cs_vpositive(cs_get(b->p[0] + i, n), cs_get(b->p[1] + i, n)));
    }
}

static void sigmoid_bwd_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += CS_VEC) {
        int64_t n = b->n - i;
        cs_vec e = decay(cs_get(b->p[0] + i, n)), t = cs_vadd(e, cs_vset(1));
        cs_vec slope = cs_vdiv(e, cs_vmul(t, t));
        cs_put(b->p[2] + i, n,
               cs_vfma(cs_get(b->p[1] + i, n), slope, cs_get(b->p[2] + i, n)));
    }
}

static void softplus_bwd_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += CS_VEC) {
        int64_t n = b->n - i;
        cs_vec slope = sigmoid(cs_get(b->p[0] + i, n));
        cs_put(b->p[2] + i, n,
               cs_vfma(cs_get(b->p[1] + i, n), slope, cs_get(b->p[2] + i, n)));
    }
}

static void vec_axpby(cs_backend *be, cs_real a, cs_mat x, cs_real b, cs_mat y);

static void vec_act_bwd(cs_backend *be, cs_act f, cs_mat x, cs_mat dy, cs_mat dx)
{
    static void (*const run[CS_ACT_TANH + 1])(const block *) = {
        [CS_ACT_GELU] = gelu_bwd_block, [CS_ACT_RELU] = relu_bwd_block,
        [CS_ACT_SIGMOID] = sigmoid_bwd_block, [CS_ACT_SOFTPLUS] = softplus_bwd_block };
    if (dx.p == dy.p && f == CS_ACT_RELU)
        each(be, relu_bwd_in_place, (cs_mat[]){ x, dx }, 2, NULL);
    else if (dx.p == dy.p)
        cs_ref_act_bwd(be, f, x, dy, dx);
    else if (f == CS_ACT_NONE)
        vec_axpby(be, 1, dy, 1, dx);
    else if (run[f])
        each(be, run[f], (cs_mat[]){ x, dy, dx }, 3, NULL);
    else
        cs_ref_act_bwd(be, f, x, dy, dx);
}

static void axpby_block(const block *b)
{
    const float *arg = b->arg;
    const cs_vec s = cs_vset(arg[0]), t = cs_vset(arg[1]);
    for (int64_t i = 0; i < b->n; i += CS_VEC) {
        int64_t n = b->n - i;
        cs_vec v = cs_vmul(s, cs_get(b->p[0] + i, n));
        /* t = 0 overwrites y: NaN times zero would stay NaN */
        if (arg[1] != 0)
            v = cs_vfma(t, cs_get(b->p[1] + i, n), v);
        cs_put(b->p[1] + i, n, v);
    }
}

static void vec_axpby(cs_backend *be, cs_real a, cs_mat x, cs_real b, cs_mat y)
{
    each(be, axpby_block, (cs_mat[]){ x, y }, 2, (float[]){ a, b });
}

static void mul_block(const block *b)
{
    const float beta = *(const float *)b->arg;
    for (int64_t i = 0; i < b->n; i += CS_VEC) {
        int64_t n = b->n - i;
        cs_vec v = cs_vmul(cs_get(b->p[0] + i, n), cs_get(b->p[1] + i, n));
        if (beta != 0)
            v = cs_vfma(cs_vset(beta), cs_get(b->p[2] + i, n), v);
        cs_put(b->p[2] + i, n, v);
    }
}

static void vec_mul(cs_backend *be, cs_mat x, cs_mat z, cs_real beta, cs_mat y)
{
    each(be, mul_block, (cs_mat[]){ x, z, y }, 3, &beta);
}

typedef struct dropout_arg { uint64_t key, threshold; float gain, beta; } dropout_arg;

/* Draws as cs_rng_unit() does, but compares its 24 bits as integers. Masks are drawn for many
 * elements at once, which compilers turn into products of vectors. */
static void dropout_block(const block *b)
{
    enum { DRAWN = 64 };
    const dropout_arg *h = b->arg;
    const uint64_t key = h->key, threshold = h->threshold;
    float keep[DRAWN];
    for (int64_t i = 0; i < b->n; i += DRAWN) {
        const uint64_t first = (uint64_t)(b->first + i);
        #pragma omp simd
        for (int j = 0; j < DRAWN; j++)
            keep[j] = cs_rng_u64(key, first + (uint64_t)j) >> 40 >= threshold ? 1.0f : 0.0f;
        for (int64_t k = i; k < cs_min64(i + DRAWN, b->n); k += CS_VEC) {
            const int64_t n = b->n - k;
            cs_vec v = cs_vpositive(cs_get(keep + (k - i), CS_VEC),
                                    cs_vmul(cs_vset(h->gain), cs_get(b->p[0] + k, n)));
            if (h->beta != 0)
                v = cs_vfma(cs_vset(h->beta), cs_get(b->p[1] + k, n), v);
            cs_put(b->p[1] + k, n, v);
        }
    }
}

static void vec_dropout(cs_backend *be, uint64_t key, double p, cs_mat x, cs_real beta, cs_mat y)
{
    const dropout_arg h = { .key = key, .threshold = (uint64_t)ceil(p * 16777216.0),
                            .gain = (float)(1 / (1 - p)), .beta = beta };
    each(be, dropout_block, (cs_mat[]){ x, y }, 2, &h);
}

static void add_row(const float *x, float *y, int64_t n)
{
    for (int64_t j = 0; j < n; j += CS_VEC)
        cs_put(y + j, n - j, cs_vadd(cs_get(y + j, n - j), cs_get(x + j, n - j)));
}

static void vec_add_bias(cs_backend *be, cs_mat bias, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t r = 0; r < y.r; r++)
        add_row(bias.p, cs_row(y, r), y.c);
}

/* Threads take columns, not rows: every sum runs in order of r, and no element is shared. */
static void vec_embed_bwd(cs_backend *be, const int32_t *id, int32_t pad, cs_mat dy, cs_mat dtable)
{
    enum { COLS = 32 };
    int32_t n_block = (dy.c + COLS - 1) / COLS;
    #pragma omp parallel for num_threads(cs_threads(be, dy.r * dy.c))
    for (int32_t b = 0; b < n_block; b++) {
        int32_t from = b * COLS, n = dy.c - from < COLS ? dy.c - from : COLS;
        for (int64_t r = 0; r < dy.r; r++)
            if (id[r] >= 0 && id[r] != pad)
                add_row(cs_row(dy, r) + from, cs_row(dtable, id[r]) + from, n);
    }
}

/* Adam's constants, computed once in double. */
typedef struct adam_arg { float grad, l2, shrink, b1, c1, b2, c2, step, root, eps; } adam_arg;

static void adam_block(const block *b)
{
    const adam_arg *h = b->arg;
    for (int64_t i = 0; i < b->n; i += CS_VEC) {
        int64_t k = b->n - i;
        cs_vec w = cs_get(b->p[0] + i, k), m = cs_get(b->p[2] + i, k), v = cs_get(b->p[3] + i, k);
        cs_vec g = cs_vmul(cs_vset(h->grad), cs_get(b->p[1] + i, k));
        g = cs_vfma(cs_vset(h->l2), w, g);
        m = cs_vfma(cs_vset(h->c1), g, cs_vmul(cs_vset(h->b1), m));
        v = cs_vfma(cs_vmul(cs_vset(h->c2), g), g, cs_vmul(cs_vset(h->b2), v));
        cs_vec root = cs_vfma(cs_vsqrt(v), cs_vset(h->root), cs_vset(h->eps));
        w = cs_vfnma(cs_vset(h->shrink), w, w);
        w = cs_vfnma(cs_vset(h->step), cs_vdiv(m, root), w);
        cs_put(b->p[0] + i, k, w);
        cs_put(b->p[2] + i, k, m);
        cs_put(b->p[3] + i, k, v);
    }
}

static void vec_adam(cs_backend *be, const cs_adam *h, cs_mat p, cs_mat g, cs_mat m, cs_mat v)
{
    adam_arg a = {
        .grad = (float)h->grad_scale, .l2 = h->decoupled ? 0 : (float)h->decay,
        .shrink = h->decoupled ? (float)(h->lr * h->decay) : 0,
        .b1 = (float)h->beta1, .c1 = (float)(1 - h->beta1),
        .b2 = (float)h->beta2, .c2 = (float)(1 - h->beta2),
        .step = (float)(h->lr / (1 - pow(h->beta1, (double)h->step))),
        .root = (float)(1 / sqrt(1 - pow(h->beta2, (double)h->step))), .eps = (float)h->eps };
    each(be, adam_block, (cs_mat[]){ p, g, m, v }, 4, &a);
}

void cs_vec_elt(cs_ops *op)
{
    op->act = vec_act;
    op->act_bwd = vec_act_bwd;
    op->axpby = vec_axpby;
    op->mul = vec_mul;
    op->add_bias = vec_add_bias;
    op->embed_bwd = vec_embed_bwd;
    op->dropout = vec_dropout;
    op->adam = vec_adam;
}
