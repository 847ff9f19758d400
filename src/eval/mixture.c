/* mixture.c - metrics expected in a sample where classes have given shares. */
#include "eval/mixture.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static void set_weights(cs_mixture *x, const cs_metrics *f, const double *share)
{
    double present = 0;

    for (int32_t k = 0; k < f->n_class; k++)
        *(f->cls[k].n > 0 ? &present : &x->absent) += share[k];
    for (int32_t k = 0; k < f->n_class; k++)
        x->weight[k] = f->cls[k].n > 0 && present > 0
                     ? share[k] / present / (double)f->cls[k].n : 0;
    x->accuracy = present > 0 ? 0 : NAN;
}

int cs_mixture_init(cs_mixture *x, const cs_metrics *f, const double *share)
{
    const size_t n = (size_t)f->n_class;

    *x = (cs_mixture){ .weight = cs_alloc(n, sizeof *x->weight),
                       .precision = cs_alloc(n, sizeof *x->precision) };
    double *called = cs_alloc(n, sizeof *called);
    if (!x->weight || !x->precision || !called) {
        cs_mixture_release(x);
        free(called);
        return cs_fail(CS_EMEM, "out of memory for the shares of %zu classes", n);
    }
    set_weights(x, f, share);
    for (size_t k = 0; k < n; k++)
        called[k] = 0;
    for (int64_t i = 0; i < f->n_called; i++)
        called[f->called[i].call] += x->weight[f->called[i].truth] * (double)f->called[i].n;
    for (size_t k = 0; k < n; k++) {
        const double right = x->weight[k] * (double)f->cls[k].n_right;
        x->accuracy += right;
        x->precision[k] = f->cls[k].n > 0 && called[k] > 0 ? right / called[k] : NAN;
    }
    free(called);
    return CS_OK;
}

void cs_mixture_release(cs_mixture *x)
{
    CS_FREE(x->weight, x->precision);
    *x = (cs_mixture){ 0 };
}
