/* low_rank.c - replace linear layers by truncated SVDs, through the rank callback of
 * declaration. */
#include "nn/exec/low_rank.h"

#include <math.h>
#include <string.h>

#include "base/signals.h"
#include "nn/ops/layer.h"
#include "nn/ops/svd.h"

/* The factors of the layers declared so far. */
struct factors {
    cs_low_rank_list *list;
    cs_svd       *svd;           /* [list->n] of the layers to factorise, else empty */
    size_t        cap;
    int           failed;
};

/* Argument of rank_of(). */
struct truncation {
    const cs_model         *from;
    const cs_low_rank_rule *rule;
    struct factors         *factors;
};

/* Share of the first n of k singular values in the sum of squares; 1 for a matrix of zeros. */
static double share_of(const double *s, int64_t n, int64_t k)
{
    double kept = 0, all = 0;

    for (int64_t i = 0; i < n; i++)
        kept += s[i] * s[i];
    for (int64_t i = 0; i < k; i++)
        all += s[i] * s[i];
    return all > 0 ? kept / all : 1;
}

static int64_t rank_by(const cs_low_rank_rule *rule, const cs_svd *d)
{
    int64_t r = 1;

    if (rule->rank > 0)
        return rule->rank;
    if (rule->share > 0)
        return (int64_t)ceil(rule->share * (double)d->k);
    while (r < d->k && share_of(d->s, r, d->k) < rule->energy)
        r++;
    return r;
}

/* The layer's weights in double precision. */
static int decompose(const cs_model *m, int tensor, cs_svd *d)
{
    const cs_param *p = &m->ps.p[tensor];
    cs_real *v = cs_alloc((size_t)p->n, sizeof *v);
    double *a = cs_alloc((size_t)p->n, sizeof *a);
    int rc;

    if (v && a) {
        m->be->op.download(m->be, v, m->ps.value + p->off, (size_t)p->n * sizeof *v);
        rc = m->be->op.sync(m->be);
        for (int64_t i = 0; i < p->n; i++)
            a[i] = (double)v[i];
        if (rc == CS_OK)
            rc = cs_svd_new(p->shape.dim[0], p->n / p->shape.dim[0], a, d);
    } else {
        rc = cs_fail(CS_EMEM, "out of memory for the weights of '%s'", p->name);
    }
    free(v);
    free(a);
    return rc;
}

static int add_layer(struct factors *t, const char *name, int32_t n_out, int32_t n_in)
{
    int rc = CS_OK;
    const size_t n = (size_t)t->list->n;

    CS_TRY(cs_grow((void **)&t->list->v, &t->list->cap, n + 1, sizeof *t->list->v));
    CS_TRY(cs_grow((void **)&t->svd, &t->cap, n + 1, sizeof *t->svd));
    t->list->v[n] = (cs_low_rank_layer){ cs_xstrdup(name), n_out, n_in, 0, 1 };
    t->svd[n] = (cs_svd){ .u = NULL };
    t->list->n++;
out:
    return rc;
}

static int choose(const struct truncation *t, const char *name, int32_t n_out, int32_t n_in,
                  int64_t *rank)
{
    int rc = CS_OK;
    struct factors *f = t->factors;
    const int tensor = cs_params_find(&t->from->ps, name);
    cs_svd d = { .u = NULL };

    CS_BUG(tensor < 0);
    CS_TRY(cs_signal_caught() ? CS_ECANCEL : CS_OK);
    if (t->from->ps.p[tensor].absent)
        goto out;
    CS_TRY(add_layer(f, name, n_out, n_in));
    CS_TRY(decompose(t->from, tensor, &d));
    const int64_t r = rank_by(t->rule, &d);
    if (r * (n_out + n_in) < (int64_t)n_out * n_in) {
        f->list->v[f->list->n - 1].rank = *rank = r;
        f->list->v[f->list->n - 1].energy = share_of(d.s, r, d.k);
        f->svd[f->list->n - 1] = d;
        d = (cs_svd){ .u = NULL };
    }
out:
    cs_svd_release(&d);
    return rc;
}

/* Declaring cannot fail, so errors are stored, and the model is discarded. */
static int64_t rank_of(const void *arg, const char *name, int32_t n_out, int32_t n_in)
{
    const struct truncation *t = arg;
    const cs_ranks like = cs_params_ranks(&t->from->ps);
    int64_t rank = like.of(like.arg, name, n_out, n_in);

    if (rank == 0 && t->factors->failed == CS_OK)
        t->factors->failed = choose(t, name, n_out, n_in, &rank);
    return rank;
}

/* Element i of "NAME_a", or of "NAME_b". */
static double element(const cs_svd *d, bool is_a, int64_t rank, int64_t i)
{
    if (is_a)
        return sqrt(d->s[i / d->n]) * d->vt[i];
    return d->u[i / rank * d->k + i % rank] * sqrt(d->s[i % rank]);
}

static int fill_factor(cs_model *m, const cs_svd *d, bool is_a, int64_t rank, const cs_param *p)
{
    cs_real *v = cs_alloc((size_t)p->n, sizeof *v);

    if (!v)
        return cs_fail(CS_EMEM, "out of memory for the weights of '%s'", p->name);
    for (int64_t i = 0; i < p->n; i++)
        v[i] = (cs_real)element(d, is_a, rank, i);
    m->be->op.upload(m->be, m->ps.value + p->off, v, (size_t)p->n * sizeof *v);
    free(v);
    return CS_OK;
}

/* A tensor is the old one of the same name, or a factor, NAME_a or NAME_b, of layer NAME. */
static int fill_tensor(const struct truncation *t, cs_model *m, int i)
{
    const cs_param *p = &m->ps.p[i];
    const int k = cs_params_find(&t->from->ps, p->name);
    const size_t n = strlen(p->name);

    if (k >= 0) {
        m->be->op.copy(m->be, cs_value(&t->from->ps, k), cs_value(&m->ps, i));
        m->ps.p[i].absent = t->from->ps.p[k].absent;
        return CS_OK;
    }
    for (int32_t l = 0; l < t->factors->list->n; l++) {
        const cs_low_rank_layer *layer = &t->factors->list->v[l];
        if (layer->rank > 0 && strlen(layer->name) == n - 2
            && strncmp(layer->name, p->name, n - 2) == 0)
            return fill_factor(m, &t->factors->svd[l], p->name[n - 1] == 'a', layer->rank, p);
    }
    CS_BUG(true);
    return CS_OK;
}

int cs_model_low_rank(const cs_model *m, const cs_low_rank_rule *rule, cs_model **out,
                      cs_low_rank_list *list)
{
    int rc = CS_OK;
    struct factors f = { .list = list };
    const struct truncation t = { m, rule, &f };

    *out = NULL;
    *list = (cs_low_rank_list){ .v = NULL };
    CS_TRY(cs_model_like(m, (cs_ranks){ rank_of, &t }, m->be, out));
    CS_TRY(f.failed);
    (*out)->compact = m->compact;        /* its file leaves out the same tensors */
    for (int32_t i = 0; i < (*out)->ps.n; i++)
        CS_TRY(fill_tensor(&t, *out, i));
out:
    for (int32_t l = 0; l < list->n; l++)
        cs_svd_release(&f.svd[l]);
    free(f.svd);
    if (rc != CS_OK) {
        cs_model_free(*out);
        *out = NULL;
        cs_low_rank_release(list);
    }
    return rc;
}

void cs_low_rank_release(cs_low_rank_list *list)
{
    for (int32_t i = 0; i < list->n; i++)
        free(list->v[i].name);
    free(list->v);
    *list = (cs_low_rank_list){ .v = NULL };
}
