/* factors.c - a layer of sparse factors: networks, links, forward pass. */
#include "nn/encoders/factors.h"

#include <stdio.h>

#include "nn/ops/ops.h"
#include "nn/ops/tape.h"

/* linear, GELU, linear */
struct network { cs_linear fc1, fc2; };

/* Has a back pointer because a node of the tape has one pointer. */
struct factor { const cs_factors *net; struct network f; cs_links links; };

struct cs_factors {
    cs_factors_spec spec;
    struct network  g;
    struct factor   factor[];
};

int cs_factors_check_positions(bool learned, int64_t max_len)
{
    if (learned && max_len > INT32_MAX)
        return cs_fail(CS_EUSAGE, "%s is too many learned positions; the maximum is %d",
                       CS_OPTION("encoder.max-len %lld", (long long)max_len), INT32_MAX);
    return CS_OK;
}

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
        k->net = e;
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

/* The first y.c outputs of a network. */
static void compute(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct network *f = net;
    cs_mat pre = cs_linear_apply(cx, &f->fc1, x);
    cs_mat h = cx->recording ? cs_empty(cx, pre.r, pre.c) : pre;

    (void)seg;
    cs_activate(cx, CS_ACT_GELU, pre, h);
    cs_linear_into(cx, &f->fc2, h, y);
}

/* Destination of the result after factor m, -1 being g(V). The last one is y; before, without
 * gradients, y and a second matrix alternate. */
static cs_mat target(cs_ctx *cx, int32_t n, int32_t m, cs_mat y, cs_mat *scratch)
{
    if (m == n - 1 || (!cx->recording && (n - 1 - m) % 2 == 0))
        return y;
    if (cx->recording)
        return cs_empty(cx, y.r, y.c);
    if (scratch->r == 0)
        *scratch = cs_empty(cx, y.r, y.c);
    return *scratch;
}

/* Arguments of a factor: X, g(V), its input, its output. */
enum { IN_X, IN_FIRST, IN_LAST, OUT, N_MAT };

/* n factors make the product. */
static void apply_factor(cs_ctx *cx, const void *net, cs_seg seg, const cs_mat *m, int32_t n)
{
    const struct factor *k = net;
    const cs_factors_spec *s = &k->net->spec;
    const cs_mat none = { 0 };
    cs_mat w = cs_empty(cx, m[IN_X].r, s->protocol == CS_PROTOCOL_CHORD ? n + 1 : k->links.n);
    cs_mat added = s->res == CS_FACTOR_PLAIN ? none
                 : s->res == CS_FACTOR_FIRST ? m[IN_FIRST] : m[IN_LAST];

    compute(cx, &k->f, seg, m[IN_X], w);
    cs_sparse(cx, seg, &k->links, w, m[IN_LAST], added, m[OUT]);
    if (k == &k->net->factor[0]) {
        cs_call_value_hook(cx, "W1", s->layer, w);
        cs_call_value_hook(cx, "V1", s->layer, m[OUT]);
    }
}

void cs_factors_apply(cs_ctx *cx, const cs_factors *e, cs_seg seg, int32_t n, cs_mat x, cs_mat v,
                      cs_mat y)
{
    const cs_factors_spec *s = &e->spec;
    int64_t mark = cs_mark(cx);
    cs_mat scratch = { 0 }, m[N_MAT] = { x };

    CS_BUG(n > s->n_factor || x.c != s->n_x || v.c != s->n_in || y.c != s->n_out || y.r != v.r);
    m[IN_FIRST] = s->res == CS_FACTOR_FIRST && n > 0 ? cs_empty(cx, y.r, y.c)
                                                     : target(cx, n, -1, y, &scratch);
    cs_block(cx, compute, &e->g, seg, v, m[IN_FIRST]);
    cs_call_value_hook(cx, "V0", s->layer, m[IN_FIRST]);
    m[IN_LAST] = m[IN_FIRST];
    for (int32_t k = 0; k < n; k++) {
        m[OUT] = target(cx, n, k, y, &scratch);
        cs_block_multi(cx, apply_factor, &e->factor[k], seg, m, N_MAT, n);
        m[IN_LAST] = m[OUT];
    }
    if (!cx->recording)
        cs_release_to(cx, mark);
}
