/* factors.c - one layer of sparse factors: its networks, its links, its forward pass. */
#include "nn/factors.h"

#include <stdio.h>

#include "nn/ops.h"

/* linear, GELU, linear */
struct network { cs_linear fc1, fc2; };

struct factor { struct network f; cs_links links; };

struct cs_factors {
    cs_factors_spec spec;
    struct network  g;
    struct factor   factor[];
};

static struct network declare(cs_params *ps, int32_t n_in, int32_t hidden, int32_t n_out,
                              double gain, const char *name)
{
    struct network f;
    char full[96];
    snprintf(full, sizeof full, "%s.fc1", name);
    f.fc1 = cs_linear_declare(ps, n_in, hidden, 1, full);
    snprintf(full, sizeof full, "%s.fc2", name);
    f.fc2 = cs_linear_declare(ps, hidden, n_out, gain, full);
    return f;
}

cs_factors *cs_factors_new(const cs_factors_spec *s, cs_params *ps, const char *name)
{
    cs_factors *e = cs_xcalloc(1, sizeof *e + (size_t)s->n_factor * sizeof e->factor[0]);
    /* With a residual the product starts near the identity; else a long one would overflow. */
    double gain = s->res == CS_FACTOR_PLAIN ? 1 : 0.1;
    char full[80];

    e->spec = *s;
    snprintf(full, sizeof full, "%s.g", name);
    e->g = declare(ps, s->n_in, s->g_hidden, s->n_out, 1, full);
    for (int32_t m = 0; m < s->n_factor; m++) {
        struct factor *k = &e->factor[m];
        k->links = s->protocol == CS_PROTOCOL_CHORD ? cs_links_chord(s->n_factor + 1)
                                                    : cs_links_dilated(m);
        snprintf(full, sizeof full, "%s.f.%d", name, (int)m);
        k->f = declare(ps, s->n_x, s->hidden, k->links.n, gain, full);
    }
    return e;
}

void cs_factors_free(cs_factors *e)
{
    free(e);
}

/* The first y.c outputs of a network; without gradients what it used is given back. */
static void compute(cs_ctx *cx, const struct network *f, cs_mat x, cs_mat y)
{
    int64_t mark = cs_mark(cx);
    cs_mat w = cs_value(cx->ps, f->fc2.w), b = cs_value(cx->ps, f->fc2.b);
    cs_mat pre = cs_linear_apply(cx, &f->fc1, x);
    cs_mat h = cx->recording ? cs_tmp(cx, pre.r, pre.c) : pre;

    cs_activate(cx, CS_ACT_GELU, pre, h);
    w.r = b.c = y.c;
    cs_affine(cx, h, w, b, y);
    if (!cx->recording)
        cs_release_to(cx, mark);
}

/* Where the result after factor m goes, -1 being g(V). The last one is y; before that, without
 * gradients, y and a spare matrix take turns. */
static cs_mat target(cs_ctx *cx, int32_t n, int32_t m, cs_mat y, cs_mat *spare)
{
    if (m == n - 1 || (!cx->recording && (n - 1 - m) % 2 == 0))
        return y;
    if (cx->recording)
        return cs_tmp(cx, y.r, y.c);
    if (spare->r == 0)
        *spare = cs_tmp(cx, y.r, y.c);
    return *spare;
}

static void apply_factor(cs_ctx *cx, const cs_factors *e, cs_seg seg, int32_t n, int32_t m,
                         cs_mat x, const cs_mat v[2], cs_mat y, int32_t layer)
{
    const struct factor *k = &e->factor[m];
    int64_t mark = cs_mark(cx);
    cs_mat none = { 0 };
    cs_mat w = cs_tmp(cx, x.r, e->spec.protocol == CS_PROTOCOL_CHORD ? n + 1 : k->links.n);

    compute(cx, &k->f, x, w);
    cs_sparse(cx, seg, &k->links, w, v[1], e->spec.res == CS_FACTOR_PLAIN ? none
                                         : e->spec.res == CS_FACTOR_FIRST ? v[0] : v[1], y);
    if (m == 0)
        cs_tell(cx, "W1", layer, w);
    if (m == 0)
        cs_tell(cx, "V1", layer, y);
    if (!cx->recording)
        cs_release_to(cx, mark);
}

void cs_factors_apply(cs_ctx *cx, const cs_factors *e, cs_seg seg, int32_t n, int32_t layer,
                      cs_mat x, cs_mat v, cs_mat y)
{
    const cs_factors_spec *s = &e->spec;
    int64_t mark = cs_mark(cx);
    cs_mat spare = { 0 }, now[2];        /* g(V), and the latest */

    CS_BUG(n > s->n_factor || x.c != s->n_x || v.c != s->n_in || y.c != s->n_out || y.r != v.r);
    now[0] = s->res == CS_FACTOR_FIRST && n > 0 ? cs_tmp(cx, y.r, y.c)
                                                : target(cx, n, -1, y, &spare);
    compute(cx, &e->g, v, now[0]);
    cs_tell(cx, "V0", layer, now[0]);
    now[1] = now[0];
    for (int32_t m = 0; m < n; m++) {
        cs_mat to = target(cx, n, m, y, &spare);
        apply_factor(cx, e, seg, n, m, x, now, to, layer);
        now[1] = to;
    }
    if (!cx->recording)
        cs_release_to(cx, mark);
}
