/* optim.c - Adam step, learning-rate schedules, gradient norm, averaged weights. */
#include "train/optim.h"

#include <math.h>

/* Reals per call of the adam op: a matrix has at most 2^31 - 1 columns. */
enum { SPAN_MAX = 1 << 30 };

static cs_mat span(cs_real *slab, int64_t off, int64_t n)
{
    return (cs_mat){ slab + off, 1, (int32_t)n, (int32_t)n };
}

static void adam_span(cs_params *ps, const cs_adam *h, int64_t off, int64_t end)
{
    cs_backend *be = ps->be;

    for (int64_t n; off < end; off += n) {
        n = end - off < SPAN_MAX ? end - off : SPAN_MAX;
        be->op.adam(be, h, span(ps->value, off, n), span(ps->grad, off, n),
                    span(ps->m, off, n), span(ps->v, off, n));
    }
}

/* Does the tensor take part in the step? If so, counts it. */
static bool takes_part(cs_param *p, bool keep_zero_grad)
{
    bool part = !p->buffer && (p->touched || (keep_zero_grad && p->step > 0));

    p->touched = false;
    p->step += part;
    return part;
}

void cs_optim_step(cs_params *ps, cs_adam h, bool keep_zero_grad)
{
    const double lr = h.lr;
    int64_t off = 0, end = 0;    /* the pending run of tensors */

    /* Neighbours with equal counts and rates are one call. Alignment gaps between them are zeros in
     * all slabs, and a step of zeros gives zeros. */
    for (int i = 0; i < ps->n; i++) {
        cs_param *p = &ps->p[i];
        if (!takes_part(p, keep_zero_grad))
            continue;
        bool joins = i > 0 && end == ps->p[i - 1].off + ps->p[i - 1].n && h.step == p->step &&
                     h.lr == lr * p->rate;
        if (!joins) {
            adam_span(ps, &h, off, end);
            off = p->off;
            h.step = p->step;
            h.lr = lr * p->rate;
        }
        end = p->off + p->n;
    }
    adam_span(ps, &h, off, end);
}

void cs_optim_zero_grad(cs_params *ps)
{
    ps->be->op.zero(ps->be, cs_params_slab(ps, ps->grad));
}

int cs_optim_grad_norm(cs_params *ps, cs_real *work, double *norm)
{
    int rc = CS_OK;
    cs_backend *be = ps->be;
    cs_mat sum = { work, 1, 1, 1 };
    cs_real host = 0;

    be->op.zero(be, sum);
    be->op.sumsq(be, cs_params_slab(ps, ps->grad), sum);
    be->op.download(be, &host, work, sizeof host);
    CS_TRY(be->op.sync(be));
    *norm = sqrt((double)host);
out:
    return rc;
}

void cs_optim_average_start(cs_params *ps)
{
    ps->be->op.copy(ps->be, cs_params_slab(ps, ps->value), cs_params_slab(ps, ps->ema));
}

void cs_optim_average(cs_params *ps, double decay)
{
    for (int i = 0; i < ps->n; i++) {
        const cs_param *p = &ps->p[i];
        const cs_mat now = cs_value(ps, i);
        cs_mat mean = now;
        mean.p = ps->ema + p->off;
        if (p->buffer || p->step == 0)       /* rounding would change tensors without steps */
            ps->be->op.copy(ps->be, now, mean);
        else
            ps->be->op.axpby(ps->be, (cs_real)(1 - decay), now, (cs_real)decay, mean);
    }
}

void cs_optim_average_swap(cs_params *ps)
{
    cs_real *v = ps->value;

    ps->value = ps->ema;
    ps->ema = v;
}

const char *const cs_decay_names[] = { "constant", "linear", "cosine", "polynomial", NULL };

double cs_schedule_factor(const cs_schedule *s, int64_t t)
{
    const double pi = 3.14159265358979323846;
    const int64_t span = s->total - s->warmup;
    const double over = (double)(span > 1 ? span : 1);
    const double p = (double)(t - s->warmup) / over;

    if (t < s->warmup)
        return (double)t / (double)s->warmup;
    switch (s->kind) {
    case CS_DECAY_CONSTANT:
        return 1;
    case CS_DECAY_LINEAR:
        return fmax(0, (double)(s->total - t) / over);
    case CS_DECAY_COSINE:
        return fmax(0, 0.5 * (1 + cos(pi * 2 * s->cycles * p)));
    case CS_DECAY_POLYNOMIAL:
        break;
    }
    /* Past the end 1 - p is negative, and its power would grow again. */
    return p > 1 ? s->floor : (1 - s->floor) * pow(1 - p, s->power) + s->floor;
}
