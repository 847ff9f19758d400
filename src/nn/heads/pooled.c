/* pooled.c - parts of heads: optional convolutions, pooling, and a linear or two-layer output
 * network. */
#include "nn/heads/pooled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "nn/ops/ops.h"

/* The first kinds of cs_norm_names. Batches hold one depth and often one sequence, so batch
 * statistics of the other kinds are useless. */
static const char *const norms[] = { "none", "layer", NULL };

enum { PREDICTOR_NONE, PREDICTOR_CDIL };
/* Vectors that a head of two parts subtracts. */
enum { COMPARE_POOLED, COMPARE_HIDDEN, COMPARE_CONTEXT };
static const char *const compared[] = { "pooled", "hidden", "context", NULL };

static const char *const predictors[] = { "none", "cdil", NULL };

const cs_opt cs_pooled_opt[] = {
    { .type = CS_OPT_GROUP, .name = "Heads" },
    { .type = CS_OPT_ENUM, .name = "predictor", .off = offsetof(cs_pooled_cfg, predictor),
      .arg = "KIND", .def = "none", .help = "layers between encoder and pooling: none or cdil",
      .man = "cdil: circular dilated convolutions; layer l has dilation 2^(l-1), two "
             "convolutions with normalisation and ReLU, and a residual.", .choice = predictors },
    { .type = CS_OPT_ENUM, .name = "predictor-norm",
      .off = offsetof(cs_pooled_cfg, predictor_norm), .arg = "KIND", .def = "layer",
      .help = "normalisation in the predictor: none, weight, batch or layer",
      .man = "The paper of CDIL for DNA has batch normalisation, which makes the training "
             "records of a batch depend on each other.", .choice = cs_cdil_norm_names },
    { .type = CS_OPT_INT, .name = "predictor-layers", .off = offsetof(cs_pooled_cfg, layers),
      .arg = "NUM", .def = "4", .help = "layers of the predictor", .min = 1, .max = CS_CDIL_MAX },
    { .type = CS_OPT_INT, .name = "predictor-kernel", .off = offsetof(cs_pooled_cfg, kernel),
      .arg = "NUM", .def = "3", .help = "kernel size of the predictor, an odd number",
      .min = 1, .max = 255 },
    { .type = CS_OPT_INT, .name = "predictor-channels", .off = offsetof(cs_pooled_cfg, channels),
      .arg = "NUM", .def = "0",
      .help = "channels of the predictor's layers; 0: those of the encoder",
      .man = "There are twice as many between the convolutions of a layer.",
      .min = 0, .max = 32768 },
    { .type = CS_OPT_STR, .name = "pool", .off = offsetof(cs_pooled_cfg, pool),
      .arg = "KIND", .def = "mean",
      .help = "pooling over tokens: mean, cls, centre, max, lse, attention, or several: mean+max",
      .man = "mean: mean over all tokens; cls: first token; centre: mean over the middle tokens; "
             "max: maximum of every channel; lse: log-mean-exp; attention: mean with trained "
             "weights. Poolings joined by + are concatenated. Head variant subtracts the pooled "
             "vectors of its two sequences, or their tokens with a predictor. Head token has no "
             "pooling." },
    { .type = CS_OPT_INT, .name = "centre", .off = offsetof(cs_pooled_cfg, centre),
      .arg = "NUM", .def = "200",
      .help = "with pool centre, number of middle tokens; all of a shorter sequence",
      .min = 1, .max = 1e12 },
    { .type = CS_OPT_ENUM, .name = "norm", .off = offsetof(cs_pooled_cfg, norm),
      .arg = "KIND", .def = "none", .help = "normalisation of the pooled vector",
      .man = "Means of different sequences are similar; normalisation increases the differences "
             "for a hidden layer.", .choice = norms },
    { .type = CS_OPT_INT, .name = "hidden", .off = offsetof(cs_pooled_cfg, hidden),
      .arg = "NUM", .def = "0", .help = "hidden units between pooled vector and output; 0: none",
      .man = "Without them, the output is linear in the pooled vector, as in the papers of the "
             "encoders.", .min = 0, .max = 65536 },
    { .type = CS_OPT_REAL, .name = "dropout", .off = offsetof(cs_pooled_cfg, dropout),
      .arg = "RATE", .def = "0", .help = "dropout rate of these hidden units",
      .min = 0, .max = 0.99 },
    { .type = CS_OPT_ENUM, .name = "compare", .off = offsetof(cs_pooled_cfg, compare),
      .arg = "WHAT", .def = "pooled",
      .help = "head variant: vectors to subtract, pooled, hidden or context",
      .man = "hidden: pooling, normalisation and hidden layer are applied to both sequences, and "
             "the output is linear in the difference; --init copies these layers, also from a "
             "model of sequences (such as head multilabel). context: as pooled, plus a linear "
             "term of the reference's pooled vector, for labels of the position, such as the "
             "strand of a gene (--strand weighted).", .choice = compared },
    { .type = CS_OPT_REAL, .name = "ancestors", .off = offsetof(cs_pooled_cfg, ancestors),
      .arg = "NUM", .def = "1",
      .help = "head tree: total weight of the ancestors of a class in the loss",
      .man = "The class itself has weight 1. With 0, the loss equals that of head class.",
      .min = 0, .max = 100 },
    { .type = CS_OPT_INT, .name = "composition", .off = offsetof(cs_pooled_cfg, word),
      .arg = "NUM", .def = "0",
      .help = "add a composition path over counts of words of this many bases; 0: none",
      .man = "The mean embedding of the words (equal for both strands) is normalised and passed "
             "through a hidden layer; its output is added to that of the encoder, which starts "
             "at zero. NUM must be a multiple of the bases per token. Not for heads token and "
             "variant.", .min = 0, .max = CS_COMPOSITION_K },
    { .type = CS_OPT_INT, .name = "composition-channels",
      .off = offsetof(cs_pooled_cfg, word_channels), .arg = "NUM", .def = "96",
      .help = "composition path: channels of a word", .min = 1, .max = 32768 },
    { .type = CS_OPT_INT, .name = "composition-hidden",
      .off = offsetof(cs_pooled_cfg, word_hidden), .arg = "NUM", .def = "512",
      .help = "composition path: hidden units", .min = 1, .max = 65536 },
    { .type = CS_OPT_REAL, .name = "composition-dropout",
      .off = offsetof(cs_pooled_cfg, word_dropout), .arg = "RATE", .def = "0.25",
      .help = "composition path: dropout rate of hidden units", .min = 0, .max = 0.99 },
    { .type = CS_OPT_REAL, .name = "composition-skip", .off = offsetof(cs_pooled_cfg, word_skip),
      .arg = "RATE", .def = "0", .help = "share of training batches without the composition path",
      .man = "Without such batches, the encoder learns little if the path already fits the "
             "training records.", .min = 0, .max = 1 },
    { .type = CS_OPT_END }
};

int cs_pooled_check_tree(const void *cfg)
{
    const cs_pooled_cfg *c = cfg;
    cs_pooling pooling;
    if (c->kernel % 2 == 0)
        return cs_fail(CS_EUSAGE, "%s must be odd, not %lld", CS_OPTION("head.predictor-kernel"),
                       (long long)c->kernel);
    return cs_pooling_parse(c->pool, &pooling);
}

int cs_pooled_check(const void *cfg)
{
    const cs_pooled_cfg *c = cfg;
    if (c->ancestors != 1)
        return cs_fail(CS_EUSAGE, "%s is for %s, which trains on a tree of the classes; omit it, "
                       "or give %s", CS_OPTION("head.ancestors"), CS_OPTION("head tree"),
                       CS_OPTION("head tree"));
    return cs_pooled_check_tree(cfg);
}

/* The same for heads token and variant, which have no composition path. */
static int pooled_check_parts(const void *cfg)
{
    const cs_pooled_cfg *c = cfg;
    if (c->word > 0)
        return cs_fail(CS_EUSAGE, "%s needs one prediction per sequence; heads token and variant "
                       "make several", CS_OPTION("head.composition"));
    return cs_pooled_check(cfg);
}

int cs_pooled_check_variant(const void *cfg)
{
    const cs_pooled_cfg *c = cfg;
    if (c->compare == COMPARE_HIDDEN && c->hidden == 0)
        return cs_fail(CS_EUSAGE, "%s needs a hidden layer; give %s",
                       CS_OPTION("head.compare hidden"), CS_OPTION("head.hidden"));
    if (c->compare == COMPARE_CONTEXT && c->predictor != PREDICTOR_NONE)
        return cs_fail(CS_EUSAGE, "%s needs pooled vectors of both sequences; with %s tokens are "
                       "subtracted", CS_OPTION("head.compare context"),
                       CS_OPTION("head.predictor"));
    return pooled_check_parts(cfg);
}

int cs_pooled_check_rows(const void *cfg)
{
    const cs_pooled_cfg *c = cfg;
    if (strcmp(c->pool, "mean") != 0)
        return cs_fail(CS_EUSAGE, "%s needs one prediction per sequence; head token makes one per "
                       "token", CS_OPTION("head.pool %s", c->pool));
    return pooled_check_parts(cfg);
}

/* As in CDIL for DNA (Cheng et al. 2023), except the normalisation. */
static cs_cdil *new_predictor(const cs_pooled_cfg *c, int32_t width, int32_t channels,
                              cs_params *ps)
{
    cs_cdil_spec s = { .n_in = width, .n_layer = (int32_t)c->layers, .n_tap = (int32_t)c->kernel,
                       .hidden = 2 * channels, .norm = (cs_cdil_norm)c->predictor_norm };
    for (int32_t l = 0; l < s.n_layer; l++)
        s.width[l] = channels;
    return cs_cdil_new(&s, ps, "head.predictor");
}

cs_pooled *cs_pooled_new(const cs_pooled_cfg *cfg, int32_t width, int32_t n_out, cs_params *ps)
{
    cs_pooled *p = cs_xcalloc(1, sizeof *p);
    p->cfg = *cfg;
    p->n_in = width;
    if (cfg->predictor == PREDICTOR_CDIL) {
        int32_t channels = cfg->channels ? (int32_t)cfg->channels : width;
        p->predictor = new_predictor(cfg, width, channels, ps);
        width = channels;
    }
    CS_BUG(cs_pooling_parse(cfg->pool, &p->pooling) != CS_OK);
    cs_pooling_declare(&p->pooling, cfg->centre, width, ps, "head.pool");
    width = p->width = cs_pooling_width(&p->pooling);
    p->norm = cs_norm_declare(ps, (cs_norm_kind)cfg->norm, width, 1, "head.norm");
    if (cfg->hidden > 0)
        p->fc = cs_linear_declare(ps, width, (int32_t)cfg->hidden, 1, "head.fc");
    p->out = cs_linear_declare(ps, cfg->hidden > 0 ? (int32_t)cfg->hidden : width, n_out,
                               cfg->word > 0 ? 0 : 1, "head");
    if (cfg->compare == COMPARE_CONTEXT)
        p->context = cs_declare(ps, cs_shape2(n_out, width), CS_INIT_ZERO, 1,
                                "head.context.weight");
    if (cfg->word > 0)
        p->composition = cs_composition_new((int32_t)cfg->word, (int32_t)cfg->word_channels,
                                            (int32_t)cfg->word_hidden, cfg->word_dropout,
                                            cfg->word_skip, n_out, ps);
    return p;
}

void *cs_pooled_build(const void *cfg, int32_t width, int32_t n_out, cs_params *ps)
{
    return cs_pooled_new(cfg, width, n_out, ps);
}

void cs_pooled_free(void *pooled)
{
    cs_pooled *p = pooled;
    if (!p)
        return;
    cs_cdil_free(p->predictor);
    cs_composition_free(p->composition);
    CS_FREE(p->group, p->share, p);
}

static cs_mat predict(cs_ctx *cx, const cs_pooled *p, cs_seg seg, cs_mat h)
{
    return p->predictor ? cs_cdil_apply(cx, p->predictor, seg, (int32_t)p->cfg.layers, -1, h,
                                        NULL) : h;
}

static cs_mat pool(cs_ctx *cx, const cs_pooled *p, cs_seg seg, cs_mat h)
{
    return cs_pooling_apply(cx, &p->pooling, seg, predict(cx, p, seg, h));
}

/* Input of the last layer. */
static cs_mat hidden(cs_ctx *cx, const cs_pooled *p, cs_seg seg, cs_mat x)
{
    if (p->cfg.norm != CS_NORM_NONE) {
        cs_mat mean = x;
        x = cs_empty(cx, mean.r, mean.c);
        cs_norm_apply(cx, &p->norm, seg, mean, x);
    }
    if (p->cfg.hidden > 0) {
        cs_mat pre = cs_linear_infer(cx, &p->fc, x);
        x = cx->recording ? cs_empty(cx, pre.r, pre.c) : pre;
        cs_activate(cx, CS_ACT_GELU, pre, x);
        x = cs_dropout(cx, p->cfg.dropout, x);
    }
    return x;
}

cs_mat cs_pooled_apply(cs_ctx *cx, const void *pooled, cs_seg seg, cs_mat h)
{
    const cs_pooled *p = pooled;
    return cs_pooled_infer(cx, p, seg, pool(cx, p, seg, h));
}

static bool by_context(const cs_pooled *p)
{
    return p->is_variant && p->cfg.compare == COMPARE_CONTEXT;
}

/* The reference's term of the output. */
static cs_mat context(cs_ctx *cx, const cs_pooled *p)
{
    const cs_mat none = { 0 };
    cs_mat y = cs_empty(cx, cx->first.r, p->out.n_out);

    cs_affine(cx, cx->first, cs_value(cx->ps, p->context), none, y);
    return y;
}

cs_mat cs_pooled_infer(cs_ctx *cx, const cs_pooled *p, cs_seg seg, cs_mat x)
{
    const cs_mat last = cs_pooled_by_hidden(p) ? x : hidden(cx, p, seg, x);
    const cs_mat y = cs_linear_infer(cx, &p->out, last);
    if (p->composition ? cs_composition_skips(cx, p->composition) : !by_context(p))
        return y;
    cs_mat sum = cs_empty(cx, y.r, y.c);
    cs_add(cx, y, by_context(p) ? context(cx, p) : cs_composition_apply(cx, p->composition), sum);
    return sum;
}

bool cs_pooled_by_part(const cs_pooled *p)
{
    return cs_pooled_by_hidden(p) || by_context(p)
        || (!p->predictor && !cs_pooling_is_linear(&p->pooling));
}

bool cs_pooled_by_hidden(const void *pooled)
{
    const cs_pooled *p = pooled;
    return p->is_variant && p->cfg.compare == COMPARE_HIDDEN;
}

cs_mat cs_pooled_part(cs_ctx *cx, const void *pooled, cs_seg seg, cs_mat h)
{
    const cs_pooled *p = pooled;
    if (!cs_pooled_by_part(p))
        return h;
    const cs_mat x = pool(cx, p, seg, h);
    return cs_pooled_by_hidden(p) ? hidden(cx, p, seg, x) : x;
}

cs_mat cs_pooled_rows(cs_ctx *cx, const cs_pooled *p, cs_seg seg, cs_mat h)
{
    return cs_linear_apply(cx, &p->out, hidden(cx, p, seg, predict(cx, p, seg, h)));
}

/* In double precision: cheap compared with the network, and probabilities sum to 1. */
void cs_pooled_decide(float *v, int64_t n, double temperature)
{
    double max = (double)v[0], sum = 0;

    for (int64_t i = 1; i < n; i++)
        max = fmax(max, (double)v[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp(((double)v[i] - max) / temperature);
    for (int64_t i = 0; i < n; i++)
        v[i] = (float)(exp(((double)v[i] - max) / temperature) / sum);
}

cs_mat cs_pooled_vector(cs_ctx *cx, const void *pooled, cs_seg seg, cs_mat h, bool is_hidden)
{
    cs_mat x = pool(cx, pooled, seg, h);
    return is_hidden ? hidden(cx, pooled, seg, x) : x;
}

int32_t cs_pooled_n_vector(const void *pooled, bool is_hidden)
{
    const cs_pooled *p = pooled;
    return is_hidden ? (int32_t)p->cfg.hidden : p->width;
}

bool cs_pooled_by_mean(const void *pooled)
{
    const cs_pooled *p = pooled;
    return cs_pooling_is(&p->pooling, CS_POOL_MEAN) && !p->predictor;
}

int32_t cs_pooled_word(const void *pooled)
{
    const cs_pooled *p = pooled;
    return p->composition ? p->composition->k : 0;
}

void cs_pooled_take_words(void *pooled, cs_word_map words)
{
    cs_pooled *p = pooled;
    p->composition->words = words;
}

int64_t cs_pooled_output_len(const void *pooled, int64_t n_tok)
{
    (void)n_tok;
    return ((const cs_pooled *)pooled)->out.n_out;
}

int32_t cs_pooled_class(const void *pooled)
{
    (void)pooled;
    return 1;
}

void cs_pooled_softmax(cs_ctx *cx, const void *pooled, cs_mat y)
{
    (void)pooled;
    cs_softmax(cx, y);
}

int32_t cs_pooled_labels(const void *pooled)
{
    return ((const cs_pooled *)pooled)->out.n_out;
}

void cs_pooled_sigmoid(cs_ctx *cx, const void *pooled, cs_mat y)
{
    (void)pooled;
    if (!cx->dry)
        cx->be->op.act(cx->be, CS_ACT_SIGMOID, y, y);
}

void cs_pooled_decide_labels(const void *pooled, float *v, int64_t n, double temperature)
{
    (void)pooled;
    for (int64_t i = 0; i < n; i++)
        v[i] = (float)(1 / (1 + exp(-(double)v[i] / temperature)));
}

void cs_pooled_decide_class(const void *pooled, float *v, int64_t n, double temperature)
{
    (void)pooled;
    cs_pooled_decide(v, n, temperature);
}
