/* elt_avx2.c - element-wise ops on AVX2: activations, sums of matrices, biases, Adam, sums.
 *
 * An op visits runs of floats that are contiguous in all its operands; a whole matrix is one run
 * when no row has a gap. Runs are cut into blocks for the threads. A block's last vector is loaded
 * and stored under a mask, so that every element goes through the same instructions.
 */
#include "kernels/cpu/impl.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/vec_avx2.h"

#define TARGET __attribute__((target("avx2,fma")))

enum { BLOCK = 8192 };           /* floats per parallel step */

/* One block of an element-wise op: its operands from the same element on, and their length. */
typedef struct block { float *p[4]; int64_t n; const void *arg; } block;

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
        block b = { .n = cs_min64(BLOCK, n - from), .arg = arg };
        for (int k = 0; k < n_mat; k++)
            b.p[k] = cs_row(m[k], i / n_block) + from;
        f(&b);
    }
}

TARGET static void gelu_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += 8)
        cs_put(b->p[1] + i, b->n - i, cs_gelu_avx2(cs_get(b->p[0] + i, b->n - i)));
}

/* max returns its second operand when one is a NaN, so a NaN comes through. */
TARGET static void relu_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += 8)
        cs_put(b->p[1] + i, b->n - i,
               _mm256_max_ps(_mm256_setzero_ps(), cs_get(b->p[0] + i, b->n - i)));
}

/* e = exp(-|x|) cannot overflow, and gives both signs:
 *     sigmoid(x) = 1 / (1 + e) or, where x < 0, e / (1 + e);  sigmoid'(x) = e / (1 + e)^2
 *     softplus(x) = max(x, 0) + log(1 + e);                   softplus'(x) = sigmoid(x)
 * Below -87, where e leaves the range of normal numbers, it stays what it is there. */
CS_AVX2 __m256 decay(__m256 x)
{
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    __m256 a = _mm256_min_ps(_mm256_set1_ps(87), _mm256_and_ps(x, magnitude));
    __m256 p = _mm256_mul_ps(a, _mm256_set1_ps(-1.44269504f)), v[4] = { p, p, p, p };
    cs_exp2_avx2(v, 1);
    return v[0];
}

CS_AVX2 __m256 sigmoid(__m256 x)
{
    const __m256 one = _mm256_set1_ps(1), e = decay(x);
    return _mm256_div_ps(_mm256_blendv_ps(one, e, x), _mm256_add_ps(one, e));
}

/* log(1 + e) = 2 artanh(s), s = e / (2 + e) <= 1/3, by the terms of its series down to s^17 */
CS_AVX2 __m256 softplus(__m256 x)
{
    const __m256 e = decay(x), s = _mm256_div_ps(e, _mm256_add_ps(_mm256_set1_ps(2), e));
    const __m256 square = _mm256_mul_ps(s, s);
    __m256 sum = _mm256_set1_ps(2.0f / 17);
#define TERM(n) sum = _mm256_fmadd_ps(sum, square, _mm256_set1_ps(2.0f / (n)));
    TERM(15) TERM(13) TERM(11) TERM(9) TERM(7) TERM(5) TERM(3) TERM(1)
#undef TERM
    return _mm256_fmadd_ps(s, sum, _mm256_max_ps(_mm256_setzero_ps(), x));
}

TARGET static void sigmoid_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += 8)
        cs_put(b->p[1] + i, b->n - i, sigmoid(cs_get(b->p[0] + i, b->n - i)));
}

TARGET static void softplus_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += 8)
        cs_put(b->p[1] + i, b->n - i, softplus(cs_get(b->p[0] + i, b->n - i)));
}

static void avx2_act(cs_backend *be, cs_act f, cs_mat x, cs_mat y)
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

TARGET static void gelu_bwd_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += 8) {
        int64_t n = b->n - i;
        __m256 slope, dx = cs_get(b->p[2] + i, n);
        (void)cs_gelu_slope_avx2(cs_get(b->p[0] + i, n), &slope);
        cs_put(b->p[2] + i, n, _mm256_fmadd_ps(cs_get(b->p[1] + i, n), slope, dx));
    }
}

TARGET static void relu_bwd_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += 8) {
        int64_t n = b->n - i;
        __m256 on = _mm256_cmp_ps(cs_get(b->p[0] + i, n), _mm256_setzero_ps(), _CMP_GT_OQ);
        __m256 dy = _mm256_and_ps(on, cs_get(b->p[1] + i, n));
        cs_put(b->p[2] + i, n, _mm256_add_ps(cs_get(b->p[2] + i, n), dy));
    }
}

TARGET static void sigmoid_bwd_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += 8) {
        int64_t n = b->n - i;
        __m256 e = decay(cs_get(b->p[0] + i, n)), t = _mm256_add_ps(e, _mm256_set1_ps(1));
        __m256 slope = _mm256_div_ps(e, _mm256_mul_ps(t, t));
        cs_put(b->p[2] + i, n,
               _mm256_fmadd_ps(cs_get(b->p[1] + i, n), slope, cs_get(b->p[2] + i, n)));
    }
}

TARGET static void softplus_bwd_block(const block *b)
{
    for (int64_t i = 0; i < b->n; i += 8) {
        int64_t n = b->n - i;
        __m256 slope = sigmoid(cs_get(b->p[0] + i, n));
        cs_put(b->p[2] + i, n,
               _mm256_fmadd_ps(cs_get(b->p[1] + i, n), slope, cs_get(b->p[2] + i, n)));
    }
}

static void avx2_axpby(cs_backend *be, cs_real a, cs_mat x, cs_real b, cs_mat y);

static void avx2_act_bwd(cs_backend *be, cs_act f, cs_mat x, cs_mat dy, cs_mat dx)
{
    static void (*const run[CS_ACT_TANH + 1])(const block *) = {
        [CS_ACT_GELU] = gelu_bwd_block, [CS_ACT_RELU] = relu_bwd_block,
        [CS_ACT_SIGMOID] = sigmoid_bwd_block, [CS_ACT_SOFTPLUS] = softplus_bwd_block };
    if (f == CS_ACT_NONE)
        avx2_axpby(be, 1, dy, 1, dx);
    else if (run[f])
        each(be, run[f], (cs_mat[]){ x, dy, dx }, 3, NULL);
    else
        cs_ref_act_bwd(be, f, x, dy, dx);
}

TARGET static void axpby_block(const block *b)
{
    const float *arg = b->arg;
    const __m256 s = _mm256_set1_ps(arg[0]), t = _mm256_set1_ps(arg[1]);
    for (int64_t i = 0; i < b->n; i += 8) {
        int64_t n = b->n - i;
        __m256 v = _mm256_mul_ps(s, cs_get(b->p[0] + i, n));
        /* t = 0 overwrites, whatever was there: NaN times zero would stay */
        if (arg[1] != 0)
            v = _mm256_fmadd_ps(t, cs_get(b->p[1] + i, n), v);
        cs_put(b->p[1] + i, n, v);
    }
}

static void avx2_axpby(cs_backend *be, cs_real a, cs_mat x, cs_real b, cs_mat y)
{
    each(be, axpby_block, (cs_mat[]){ x, y }, 2, (float[]){ a, b });
}

TARGET static void mul_block(const block *b)
{
    const float beta = *(const float *)b->arg;
    for (int64_t i = 0; i < b->n; i += 8) {
        int64_t n = b->n - i;
        __m256 v = _mm256_mul_ps(cs_get(b->p[0] + i, n), cs_get(b->p[1] + i, n));
        if (beta != 0)
            v = _mm256_fmadd_ps(_mm256_set1_ps(beta), cs_get(b->p[2] + i, n), v);
        cs_put(b->p[2] + i, n, v);
    }
}

static void avx2_mul(cs_backend *be, cs_mat x, cs_mat z, cs_real beta, cs_mat y)
{
    each(be, mul_block, (cs_mat[]){ x, z, y }, 3, &beta);
}

TARGET static void add_row(const float *x, float *y, int64_t n)
{
    for (int64_t j = 0; j < n; j += 8)
        cs_put(y + j, n - j, _mm256_add_ps(cs_get(y + j, n - j), cs_get(x + j, n - j)));
}

static void avx2_add_bias(cs_backend *be, cs_mat bias, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t r = 0; r < y.r; r++)
        add_row(bias.p, cs_row(y, r), y.c);
}

/* Threads take columns, not rows: every sum then runs in order of r and no two threads meet. */
static void avx2_embed_bwd(cs_backend *be, const int32_t *id, int32_t pad, cs_mat dy, cs_mat dtable)
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

TARGET static void adam_block(const block *b)
{
    const adam_arg *h = b->arg;
    for (int64_t i = 0; i < b->n; i += 8) {
        int64_t k = b->n - i;
        __m256 w = cs_get(b->p[0] + i, k), m = cs_get(b->p[2] + i, k), v = cs_get(b->p[3] + i, k);
        __m256 g = _mm256_mul_ps(_mm256_set1_ps(h->grad), cs_get(b->p[1] + i, k));
        g = _mm256_fmadd_ps(_mm256_set1_ps(h->l2), w, g);
        m = _mm256_fmadd_ps(_mm256_set1_ps(h->c1), g, _mm256_mul_ps(_mm256_set1_ps(h->b1), m));
        v = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_set1_ps(h->c2), g), g,
                            _mm256_mul_ps(_mm256_set1_ps(h->b2), v));
        __m256 root = _mm256_fmadd_ps(_mm256_sqrt_ps(v), _mm256_set1_ps(h->root),
                                      _mm256_set1_ps(h->eps));
        w = _mm256_fnmadd_ps(_mm256_set1_ps(h->shrink), w, w);
        w = _mm256_fnmadd_ps(_mm256_set1_ps(h->step), _mm256_div_ps(m, root), w);
        cs_put(b->p[0] + i, k, w);
        cs_put(b->p[2] + i, k, m);
        cs_put(b->p[3] + i, k, v);
    }
}

static void avx2_adam(cs_backend *be, const cs_adam *h, cs_mat p, cs_mat g, cs_mat m, cs_mat v)
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

void cs_avx2_elt(cs_ops *op)
{
    op->act = avx2_act;
    op->act_bwd = avx2_act_bwd;
    op->axpby = avx2_axpby;
    op->mul = avx2_mul;
    op->add_bias = avx2_add_bias;
    op->embed_bwd = avx2_embed_bwd;
    op->adam = avx2_adam;
}
