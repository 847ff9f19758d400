/* param.c - declare tensors, lay them out in slabs, initialise them. */
#include "nn/ops/param.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

enum { ALIGN_REALS = 16, CHUNK = 4096 };

#define MAX_REALS (INT64_MAX / 64)       /* of a slab: the bytes of all five are an int64_t */

void cs_params_init(cs_params *ps)
{
    memset(ps, 0, sizeof *ps);
}

static void free_slabs(cs_params *ps)
{
    cs_real **slab[] = { &ps->value, &ps->grad, &ps->m, &ps->v, &ps->ema };
    for (size_t i = 0; i < sizeof slab / sizeof slab[0]; i++) {
        if (*slab[i])
            ps->be->op.dealloc(ps->be, *slab[i]);
        *slab[i] = NULL;
    }
}

void cs_params_release(cs_params *ps)
{
    free_slabs(ps);
    cs_names_release(&ps->by_name);
    for (int32_t i = 0; i < ps->n; i++)
        free(ps->p[i].name);
    free(ps->p);
    cs_params_init(ps);
}

/* Sets the number of elements. False if columns have no 32 bits or the bytes of a slab no 64. */
static bool count(const cs_params *ps, cs_param *p)
{
    bool fits = true;

    p->n = 1;
    for (int i = p->shape.n_dim - 1; i >= 0; i--) {
        CS_BUG(p->shape.dim[i] <= 0);
        fits = fits && !__builtin_mul_overflow(p->n, p->shape.dim[i], &p->n)
            && (p->n <= INT32_MAX || (i == 0 && p->shape.n_dim > 1));
    }
    return fits && p->n <= MAX_REALS - ps->n_real;
}

static int declare(cs_params *ps, cs_param row, const char *fmt, va_list ap)
{
    char name[256];
    int n = vsnprintf(name, sizeof name, fmt, ap);
    CS_BUG(n < 0 || (size_t)n >= sizeof name || cs_params_find(ps, name) >= 0 || ps->value);
    if (!count(ps, &row)) {
        row.n = 1;
        ps->too_large = ps->too_large ? ps->too_large : ps->n + 1;
    }
    if ((size_t)ps->n == ps->cap) {
        ps->cap = ps->cap ? 2 * ps->cap : 32;
        ps->p = cs_xrealloc(ps->p, ps->cap * sizeof *ps->p);
    }
    row.name = cs_xstrdup(name);
    row.rate = 1;
    row.off = ps->n_real;
    ps->n_real += (row.n + ALIGN_REALS - 1) / ALIGN_REALS * ALIGN_REALS;
    ps->p[ps->n] = row;
    cs_names_xadd(&ps->by_name, row.name, ps->n);
    return ps->n++;
}

int cs_declare(cs_params *ps, cs_shape shape, cs_init init, double gain, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int i = declare(ps, (cs_param){ .shape = shape, .init = init, .gain = gain, .zero_row = -1 },
                    fmt, ap);
    va_end(ap);
    return i;
}

int cs_declare_buffer(cs_params *ps, cs_shape shape, cs_init init, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int i = declare(ps, (cs_param){ .shape = shape, .init = init, .gain = 1, .buffer = true,
                                    .zero_row = -1 }, fmt, ap);
    va_end(ap);
    return i;
}

void cs_params_rate(cs_params *ps, const char *prefix, double rate)
{
    for (int32_t i = 0; i < ps->n; i++)
        if (strncmp(ps->p[i].name, prefix, strlen(prefix)) == 0)
            ps->p[i].rate = rate;
}

int cs_params_find(const cs_params *ps, const char *name)
{
    return (int)cs_names_find(&ps->by_name, name);
}

static int slab_new(cs_params *ps, cs_real **slab)
{
    *slab = ps->be->op.alloc(ps->be, (size_t)ps->n_real * sizeof **slab);
    if (!*slab)
        return cs_fail(CS_EMEM, "out of memory: cannot hold %lld parameters",
                       (long long)ps->n_real);
    ps->be->op.zero(ps->be, cs_params_slab(ps, *slab));
    return CS_OK;
}

int cs_params_check(const cs_params *ps)
{
    char size[96] = "";
    size_t n = 0;

    if (!ps->too_large)
        return CS_OK;
    const cs_param *p = &ps->p[ps->too_large - 1];
    for (int i = 0; i < p->shape.n_dim && n < sizeof size; i++)
        n += (size_t)snprintf(size + n, sizeof size - n, "%s%lld", i ? " x " : "",
                              (long long)p->shape.dim[i]);
    return cs_fail(CS_EUSAGE, "the model is too large: its tensor '%s' would have %s elements; "
                   "choose smaller sizes", p->name, size);
}

int cs_params_alloc(cs_params *ps, cs_backend *be, bool training)
{
    int rc = CS_OK;

    CS_BUG(ps->value);
    CS_TRY(cs_params_check(ps));
    ps->be = be;
    CS_TRY(slab_new(ps, &ps->value));
    if (training) {
        CS_TRY(slab_new(ps, &ps->grad));
        CS_TRY(slab_new(ps, &ps->m));
        CS_TRY(slab_new(ps, &ps->v));
        CS_TRY(slab_new(ps, &ps->ema));
    }
out:
    if (rc != CS_OK)
        free_slabs(ps);
    return rc;
}

int cs_params_copy(const cs_params *from, cs_params *to)
{
    enum { PART = 1 << 20 };
    int rc = CS_OK;
    cs_real *part = cs_alloc(PART, sizeof *part);

    CS_BUG(from->n_real != to->n_real);
    if (!part)
        return cs_fail(CS_EMEM, "out of memory to copy the model to device '%s'", to->be->device);
    for (int64_t i = 0; i < from->n_real; i += PART) {
        const int64_t n = from->n_real - i < PART ? from->n_real - i : PART;
        from->be->op.download(from->be, part, from->value + i, (size_t)n * sizeof *part);
        to->be->op.upload(to->be, to->value + i, part, (size_t)n * sizeof *part);
    }
    CS_TRY(from->be->op.sync(from->be));
    rc = to->be->op.sync(to->be);
out:
    free(part);
    return rc;
}

/* A tensor's own stream: adding or reordering tensors does not change the others' values. */
static uint64_t name_key(uint64_t seed, const char *name)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325);               /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001B3);
    return cs_rng_key(seed, h);
}

/* Vaswani et al., Attention is all you need, section 3.5 */
static double sinusoid(int64_t j, int64_t n_col)
{
    int64_t row = j / n_col, col = j % n_col;
    double angle = (double)row / pow(10000, (double)(col - col % 2) / (double)n_col);
    return col % 2 ? cos(angle) : sin(angle);
}

static double initial(const cs_param *p, uint64_t key, int64_t j)
{
    double fan_in = p->shape.n_dim > 1 ? (double)(p->n / p->shape.dim[0]) : (double)p->n;
    double fan_out = (double)p->n / (p->shape.n_dim > 1 ? (double)p->shape.dim[1] : 1);
    double sym = 2 * cs_rng_unit(key, (uint64_t)j) - 1;
    if (p->zero_row >= 0 && j / (p->n / p->shape.dim[0]) == p->zero_row)
        return 0;
    switch (p->init) {
    case CS_INIT_ONE:    return p->gain;
    case CS_INIT_NORMAL: return p->gain * cs_rng_normal(key, (uint64_t)j);
    case CS_INIT_XAVIER: return p->gain * sym * sqrt(6 / (fan_in + fan_out));
    case CS_INIT_FANIN:  return p->gain * sym / sqrt(fan_in);
    case CS_INIT_UNIFORM: return p->gain * sym;
    case CS_INIT_SINUSOID: return sinusoid(j, (int64_t)fan_in);
    default:             return 0;
    }
}

static void fill_elements(const cs_params *ps, const cs_param *p, uint64_t key)
{
    cs_real buf[CHUNK];

    for (int64_t j0 = 0; j0 < p->n; j0 += CHUNK) {
        int64_t n = p->n - j0 < CHUNK ? p->n - j0 : CHUNK;
        for (int64_t j = 0; j < n; j++)
            buf[j] = (cs_real)initial(p, key, j0 + j);
        ps->be->op.upload(ps->be, ps->value + p->off + j0, buf, (size_t)n * sizeof *buf);
    }
}

/* v -= (u v) u, for n elements */
static void take_away(const double *u, double *v, int64_t n)
{
    double dot = 0;
    for (int64_t i = 0; i < n; i++)
        dot += u[i] * v[i];
    for (int64_t i = 0; i < n; i++)
        v[i] -= dot * u[i];
}

/* k orthonormal vectors of n >= k elements: Gram-Schmidt on normal ones, twice each, against
 * rounding. */
static void draw_frame(uint64_t key, uint64_t from, int64_t k, int64_t n, double *v)
{
    for (int64_t i = 0; i < k; i++) {
        double *now = v + i * n, sum = 0;
        for (int64_t j = 0; j < n; j++)
            now[j] = cs_rng_normal(key, from + (uint64_t)(i * n + j));
        for (int64_t before = 0; before < 2 * i; before++)
            take_away(v + before % i * n, now, n);
        for (int64_t j = 0; j < n; j++)
            sum += now[j] * now[j];
        for (int64_t j = 0; j < n; j++)
            now[j] /= sqrt(sum);
    }
}

static int fill_orthogonal(const cs_params *ps, const cs_param *p, uint64_t key)
{
    const int64_t *dim = p->shape.dim + p->shape.n_dim - 2, r = dim[0], c = dim[1];
    const bool tall = r >= c;
    double *v = cs_alloc((size_t)(r * c), sizeof *v);
    cs_real *block = cs_alloc((size_t)(r * c), sizeof *block);

    for (int64_t j0 = 0; v && block && j0 < p->n; j0 += r * c) {
        draw_frame(key, (uint64_t)j0, tall ? c : r, tall ? r : c, v);
        for (int64_t i = 0; i < r; i++)
            for (int64_t j = 0; j < c; j++)
                block[i * c + j] = (cs_real)(p->gain * (tall ? v[j * r + i] : v[i * c + j]));
        ps->be->op.upload(ps->be, ps->value + p->off + j0, block,
                          (size_t)(r * c) * sizeof *block);
    }
    const int rc = v && block ? CS_OK : cs_fail(CS_EMEM, "out of memory for the initial values of "
                                                "'%s'", p->name);
    free(v);
    free(block);
    return rc;
}

int cs_param_fill(cs_params *ps, int i, uint64_t seed)
{
    const cs_param *p = &ps->p[i];
    const uint64_t key = name_key(seed, p->name);

    if (p->init == CS_INIT_ORTHOGONAL)
        return fill_orthogonal(ps, p, key);
    fill_elements(ps, p, key);
    return CS_OK;
}

int cs_params_fill(cs_params *ps, uint64_t seed)
{
    int rc = CS_OK;

    for (int32_t i = 0; i < ps->n && rc == CS_OK; i++)
        rc = cs_param_fill(ps, i, seed);
    return rc;
}

/* Before cs_params_alloc() (a dry run) there is no memory. */
static cs_mat view(const cs_params *ps, cs_real *slab, int i)
{
    CS_BUG(i < 0 || i >= ps->n);
    const cs_param *p = &ps->p[i];
    int64_t rows = p->shape.n_dim > 1 ? p->shape.dim[0] : 1;
    int32_t cols = (int32_t)(p->n / rows);
    return (cs_mat){ slab ? slab + p->off : NULL, rows, cols, cols };
}

cs_mat cs_value(const cs_params *ps, int i)
{
    return view(ps, ps->value, i);
}

cs_mat cs_grad(const cs_params *ps, int i)
{
    return view(ps, ps->grad, i);
}

cs_mat cs_params_slab(const cs_params *ps, cs_real *slab)
{
    return (cs_mat){ slab, ps->n_real / ALIGN_REALS, ALIGN_REALS, ALIGN_REALS };
}
