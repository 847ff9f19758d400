/* composition.c - composition path: words of bases, their mean embedding, a two-layer network. */
#include "nn/heads/composition.h"

#include <stdlib.h>

#include "base/rng.h"
#include "nn/ops/ops.h"

/* The padding row, first in every vocabulary. */
enum { PAD = 0, N_BEFORE = 2 };

int32_t cs_composition_words(int32_t k)
{
    const int32_t n = INT32_C(1) << (2 * k), own = k % 2 == 0 ? INT32_C(1) << k : 0;
    return (n + own) / 2 + N_BEFORE;     /* own: words that are their own reverse complement */
}

cs_composition *cs_composition_new(int32_t k, int32_t channels, int32_t hidden, double dropout,
                                   double skip, int32_t n_out, cs_params *ps)
{
    cs_composition *c = cs_xcalloc(1, sizeof *c);

    c->k = k;
    c->n_word = cs_composition_words(k);
    c->channels = channels;
    c->dropout = dropout;
    c->skip = skip;
    c->embed = cs_declare(ps, cs_shape2(c->n_word, channels), CS_INIT_NORMAL, 1,
                          "head.composition.embedding.weight");
    ps->p[c->embed].zero_row = PAD;
    c->norm = cs_norm_declare(ps, CS_NORM_LAYER, channels, 1, "head.composition.norm");
    c->fc = cs_linear_declare(ps, channels, hidden, 1, "head.composition.fc");
    c->out = cs_linear_declare(ps, hidden, n_out, 1, "head.composition.out");
    return c;
}

void cs_composition_free(cs_composition *c)
{
    if (!c)
        return;
    free(c->words.map);
    free(c);
}

/* The map is uploaded once: it is constant. */
static cs_words words_of(cs_ctx *cx, const cs_composition *c)
{
    const cs_word_map *w = &c->words;
    int64_t *done, n = 1;

    for (int32_t i = 0; i < w->n; i++)
        n *= w->n_vocab;
    cs_real *map = cs_cached_fixed(cx, c, n, &done);
    if (!cx->dry && *done == 0) {
        cx->be->op.upload(cx->be, map, w->map, (size_t)n * sizeof *w->map);
        *done = 1;
    }
    return (cs_words){ (const int32_t *)(const void *)map, w->n, w->shift, w->n_vocab };
}

static cs_mat mean_word(cs_ctx *cx, const cs_composition *c)
{
    const cs_seg seg = cx->text.seg;
    const cs_mat table = cs_value(cx->ps, c->embed);
    cs_mat y = cs_empty(cx, seg.n, c->channels), ids = cs_empty(cx, seg.rows, 1);
    int32_t *word = cx->dry ? NULL : (int32_t *)(void *)ids.p;

    cs_seg_words(cx, seg, cx->text.id, words_of(cx, c), word);
    if (!cx->training || (cx->be->fused.embed_mean_bwd && !cx->rescale)) {
        cs_embed_mean(cx, seg, word, table, y);
        return y;
    }
    cs_mat x = cs_empty(cx, seg.rows, c->channels);
    cs_embed(cx, word, PAD, table, x);
    cs_seg_mean(cx, seg, x, y);
    return y;
}

bool cs_composition_skips(cs_ctx *cx, const cs_composition *c)
{
    if (!cs_is_training(cx) || c->skip <= 0)
        return false;
    const uint64_t key = cs_rng_key(cx->key, cx->n_random++);
    return !cx->dry && cs_rng_unit(key, 0) < c->skip;
}

cs_mat cs_composition_apply(cs_ctx *cx, const cs_composition *c)
{
    CS_BUG(!c->words.map || cx->text.seg.n < 1);
    const cs_mat mean = mean_word(cx, c);
    cs_mat x = cs_empty(cx, mean.r, mean.c);
    cs_norm_apply(cx, &c->norm, cx->text.seg, mean, x);
    const cs_mat pre = cs_linear_infer(cx, &c->fc, x);
    cs_mat h = cx->recording ? cs_empty(cx, pre.r, pre.c) : pre;
    cs_activate(cx, CS_ACT_GELU, pre, h);
    return cs_linear_infer(cx, &c->out, cs_dropout(cx, c->dropout, h));
}
