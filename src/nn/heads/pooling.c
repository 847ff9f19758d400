/* pooling.c - pooling of token vectors, by one or several methods. */
#include "nn/heads/pooling.h"

#include <string.h>

#include "nn/ops/ops.h"
#include "nn/ops/ops_attn.h"

static const char *const names[CS_POOL_KINDS] = { "mean", "cls", "centre", "max", "lse",
                                                  "attention" };

/* The kind of that name (n characters); CS_POOL_KINDS: none. */
static cs_pool kind_of(const char *name, size_t n)
{
    int k = 0;
    while (k < CS_POOL_KINDS && (strlen(names[k]) != n || strncmp(names[k], name, n) != 0))
        k++;
    return (cs_pool)k;
}

int cs_pooling_parse(const char *text, cs_pooling *p)
{
    bool seen[CS_POOL_KINDS + 1] = { [CS_POOL_KINDS] = true };

    *p = (cs_pooling){ .score = -1 };
    for (const char *at = text;; at++) {
        const size_t n = strcspn(at, "+");
        const cs_pool kind = kind_of(at, n);
        if (seen[kind])
            return cs_fail(CS_EUSAGE, "%s takes mean, cls, centre, max, lse or attention, or "
                           "several joined by +, not '%s'", CS_OPTION("head.pool"), text);
        seen[kind] = true;
        p->kind[p->n++] = kind;
        at += n;
        if (!*at)
            return CS_OK;
    }
}

void cs_pooling_declare(cs_pooling *p, int64_t centre, int32_t width, cs_params *ps,
                        const char *name)
{
    p->centre = centre;
    p->width = width;
    for (int32_t i = 0; i < p->n; i++)
        if (p->kind[i] == CS_POOL_ATTENTION)
            p->score = cs_declare(ps, cs_shape2(1, width), CS_INIT_ZERO, 1, "%s.weight", name);
}

bool cs_pooling_is_linear(const cs_pooling *p)
{
    bool linear = true;
    for (int32_t i = 0; i < p->n; i++)
        linear = linear && p->kind[i] <= CS_POOL_CENTRE;
    return linear;
}

static void attend(cs_ctx *cx, const cs_pooling *p, cs_seg seg, cs_mat h, cs_mat y)
{
    const cs_mat none = { 0 };
    cs_mat score = cs_empty(cx, h.r, 1), a = cs_empty(cx, h.r, 1);

    cs_affine(cx, h, cs_value(cx->ps, p->score), none, score);
    cs_seg_softmax(cx, seg, score, a);
    cs_seg_gemm(cx, seg, true, false, (cs_operand){ a, CS_SEG_ROWS },
                (cs_operand){ h, CS_SEG_ROWS }, (cs_operand){ y, CS_SEG_BLOCK });
}

static void pool(cs_ctx *cx, const cs_pooling *p, cs_pool kind, cs_seg seg, cs_mat h, cs_mat y)
{
    switch (kind) {
    case CS_POOL_MEAN:
        cs_seg_mean(cx, seg, h, y);
        return;
    case CS_POOL_CLS:
        cs_seg_window(cx, seg, false, 1, h, y);
        return;
    case CS_POOL_CENTRE:
        cs_seg_window(cx, seg, true, p->centre, h, y);
        return;
    case CS_POOL_MAX:
    case CS_POOL_LSE:
        cs_seg_max(cx, seg, kind == CS_POOL_LSE, h, y);
        return;
    case CS_POOL_ATTENTION:
    case CS_POOL_KINDS:
        attend(cx, p, seg, h, y);
    }
}

cs_mat cs_pooling_apply(cs_ctx *cx, const cs_pooling *p, cs_seg seg, cs_mat h)
{
    cs_mat y = cs_empty(cx, seg.n, cs_pooling_width(p));

    CS_BUG(h.c != p->width);
    for (int32_t i = 0; i < p->n; i++) {
        cs_mat part = y;
        part.c = p->width;
        part.p = cx->dry ? y.p : y.p + (int64_t)i * p->width;
        pool(cx, p, p->kind[i], seg, h, part);
    }
    return y;
}
