/*
 * enc_singularformer.c - Singularformer: attention between a few weighted sums over the tokens.
 *
 * DESIGN
 *   s = x Wa' + ba (N, r);  aV = softmax over the tokens, aU = softmax over the r columns
 *   z = aV' x (r, d);  per head: scores = q k' / sqrt(head) + scores of the layer before,
 *                      A = softmax(scores), o = A v
 *   x = norm1(x + aU (o Wo' + bo)),  x = norm2(x + w2(gelu(w1 x)))
 *
 * In training the loss holds gamma times a regulariser: per layer the means, over all r x r
 * elements and heads, of the off-diagonal part of aV'aV (squared), of A, and of aU'aU (squared).
 * The released code doubles its sum with every layer but the first, because it adds a tensor to
 * itself in place, and does not square the second term; the paper sums plainly and squares (eq.
 * 16). Both are options, as is 1/sqrt(head), which the paper's eq. 9 lacks.
 *
 * Source   Singularformer; github.com/CSUBioGroup/Singularformer nnLayer.py
 */
#include <math.h>
#include <stddef.h>

#include "base/mem.h"
#include "nn/encoders/encoder.h"
#include "nn/encoders/sublayer.h"
#include "nn/ops/ops.h"
#include "nn/ops/ops_attn.h"
#include "nn/ops/tape.h"

struct config {
    int64_t max_len, dim, heads, head, layers, hidden, rank;
    int     position, penalty, scores;
    double  gamma, dropout;
};

enum { PENALTY_CODE, PENALTY_PAPER };
enum { SCORES_SCALED, SCORES_PLAIN };

static const char *const penalty_names[] = { "code", "paper", NULL };
static const char *const score_names[] = { "scaled", "plain", NULL };
static const char *const position_names[] = { "sinusoid", "none", NULL };
static const cs_position positions[] = { CS_POSITION_SINUSOID, CS_POSITION_NONE };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder singularformer" },
    CS_OPT_POSITION_MAX(struct config),
    CS_OPT_DIM(struct config),
    CS_OPT_HEADS(struct config),
    CS_OPT_HEAD(struct config),
    { .type = CS_OPT_INT, .name = "layers", .off = offsetof(struct config, layers),
      .arg = "NUM", .def = "4", .help = "layers, each attention and a feed-forward network",
      .min = 1, .max = 64 },
    CS_OPT_FFN_HIDDEN(struct config),
    { .type = CS_OPT_INT, .name = "rank", .off = offsetof(struct config, rank),
      .arg = "NUM", .def = "64",
      .help = "number of weighted sums of tokens; attention is among these sums",
      .min = 1, .max = CS_WIDTH_MAX },
    { .type = CS_OPT_REAL, .name = "gamma", .off = offsetof(struct config, gamma),
      .arg = "NUM", .def = "0.05", .help = "loss weight of the regularisers",
      .min = 0, .max = 1e6 },
    { .type = CS_OPT_ENUM, .name = "penalty", .off = offsetof(struct config, penalty),
      .arg = "KIND", .def = "code", .help = "regularisers of the authors' code, or of the paper",
      .man = "code: every layer doubles the sum of the layers before it. paper: the regulariser "
             "of the attention is squared.", .choice = penalty_names },
    { .type = CS_OPT_ENUM, .name = "scores", .off = offsetof(struct config, scores),
      .arg = "KIND", .def = "scaled",
      .help = "scores divided by the root of a head's channels (scaled), or not (plain)",
      .choice = score_names },
    { .type = CS_OPT_ENUM, .name = "position", .off = offsetof(struct config, position),
      .arg = "KIND", .def = "sinusoid",
      .help = "position embedding: sinusoid (scaled by a third) or none",
      .choice = position_names },
    { .type = CS_OPT_REAL, .name = "dropout", .off = offsetof(struct config, dropout),
      .arg = "RATE", .def = "0", .help = "dropout rate",
      .man = "Applies to the weights of the sums and of the attention between them, as in the "
             "authors' code, to the outputs of attention and feed-forward networks, and to "
             "hidden units. The regularisers see all weights.", .min = 0, .max = 0.99 },
    { .type = CS_OPT_END }
};

struct net;

struct layer {
    const struct net *net;
    int32_t   no;
    cs_proj   pseudo, q, k, v, o;
    cs_ffn    ffn;
    cs_sublayer residual[2];
};

struct net {
    struct config cfg;
    int32_t       head;
    int           position;
    struct layer  layer[];
};

static int singularformer_check(const void *cfg)
{
    const struct config *c = cfg;
    int rc = CS_OK;

    CS_TRY(c->head > 0 ? cs_check_columns(c->heads, c->head, "head")
                       : cs_check_heads(c->dim, c->heads));
    rc = cs_check_columns(c->heads, c->rank, "rank");
out:
    return rc;
}

static void singularformer_declare_layer(struct net *e, int32_t l, cs_params *ps)
{
    const struct config *c = &e->cfg;
    struct layer *k = &e->layer[l];
    int32_t d = (int32_t)c->dim, r = (int32_t)c->rank, h = (int32_t)c->hidden;
    int32_t all = e->head * (int32_t)c->heads;
    const struct { cs_proj *p; const char *name; int32_t n_in, n_out; } proj[] = {
        { &k->pseudo, "attn.pseudo", d, r }, { &k->q, "attn.q", d, all },
        { &k->k, "attn.k", d, all }, { &k->v, "attn.v", d, all }, { &k->o, "attn.o", all, d },
        { &k->ffn.up, "w1", d, h }, { &k->ffn.down, "w2", h, d }
    };
    char name[64];

    k->net = e;
    k->no = l;
    for (size_t i = 0; i < sizeof proj / sizeof proj[0]; i++) {
        snprintf(name, sizeof name, "encoder.layers.%d.%s", l, proj[i].name);
        *proj[i].p = cs_proj_declare(ps, proj[i].n_in, proj[i].n_out, 0, true, name);
    }
    k->ffn.act = CS_ACT_GELU;
    k->ffn.dropout = c->dropout;
    cs_sublayers_declare(ps, l, d, false, c->dropout, k->residual);
}

static void *singularformer_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    struct net *e = cs_xcalloc(1, sizeof *e + (size_t)c->layers * sizeof e->layer[0]);

    e->cfg = *c;
    e->head = (int32_t)(c->head ? c->head : c->dim / c->heads);
    e->position = cs_position_declare(ps, positions[c->position], c->max_len, (int32_t)c->dim,
                                      "encoder.position");
    for (int32_t l = 0; l < (int32_t)c->layers; l++)
        singularformer_declare_layer(e, l, ps);
    return e;
}

static int32_t singularformer_width(const void *net)
{
    return (int32_t)((const struct net *)net)->cfg.dim;
}

static int64_t singularformer_max_len(const void *net)
{
    const struct net *e = net;
    return e->position >= 0 ? e->cfg.max_len : 0;
}

/* ---- one layer ------------------------------------------------------------------------------- */

static cs_operand rows(cs_mat m) { return (cs_operand){ m, CS_SEG_ROWS }; }
static cs_operand block(cs_mat m) { return (cs_operand){ m, CS_SEG_BLOCK }; }

/* Scores of a layer's attention, and those of the layer before (absent at first). */
struct attn {
    const struct layer *layer;
    cs_mat              before, scores;
};

/* The two ways between the tokens and the sums: (N, r) each. */
static void weights(cs_ctx *cx, const struct layer *k, cs_seg seg, cs_mat x, cs_mat *av, cs_mat *au)
{
    cs_mat s = cs_proj_apply(cx, &k->pseudo, x);

    /* As the code has it, which gives rows of padding the same share of every sum. */
    if (seg.n_valid) {
        cs_mat masked = cs_empty(cx, s.r, s.c);
        cs_seg_mask(cx, seg, -32767, s, masked);
        s = masked;
    }
    *av = cs_empty(cx, s.r, s.c);
    *au = cs_empty(cx, s.r, s.c);
    cs_seg_softmax(cx, seg, s, *av);
    cs_row_softmax(cx, s, *au);
}

/* Weight of layer l's regulariser. */
static double singularformer_share(const struct config *c, int32_t l)
{
    int64_t n_double = l == 0 ? c->layers - 1 : c->layers - l;
    double times = c->penalty == PENALTY_CODE ? ldexp(1, (int)n_double) : 1;
    return c->gamma * times / (double)c->layers;
}

/* Off the diagonal of the r x r products a'a of every segment. */
static void penalise_columns(cs_ctx *cx, const struct layer *k, cs_seg seg, const char *name,
                             double scale, cs_mat a)
{
    cs_mat gram = cs_empty(cx, (int64_t)seg.n * a.c, a.c);
    cs_seg_gemm(cx, seg, true, false, rows(a), rows(a), block(gram));
    cs_call_value_hook(cx, name, k->no, gram);
    cs_penalty(cx, CS_PEN_OFFDIAG_SQUARE, scale, gram);
}

static void penalise(cs_ctx *cx, const struct layer *k, cs_seg seg, cs_mat av, cs_mat prob,
                     cs_mat au)
{
    const struct config *c = &k->net->cfg;
    int32_t r = (int32_t)c->rank;
    double scale = singularformer_share(c, k->no) / ((double)r * r);
    cs_penalty_kind kind = c->penalty == PENALTY_CODE ? CS_PEN_OFFDIAG : CS_PEN_OFFDIAG_SQUARE;

    if (!cx->training || c->gamma == 0)
        return;
    penalise_columns(cx, k, seg, "gram_v", scale, av);
    cs_call_value_hook(cx, "prob", k->no, prob);
    for (int32_t h = 0; h < (int32_t)c->heads; h++)
        cs_penalty(cx, kind, scale / (double)c->heads, cs_columns(prob, h * r, r));
    penalise_columns(cx, k, seg, "gram_u", scale, au);
}

/* Attention between the sums z, (n_seg * r, d): a new matrix; its probabilities in prob. */
static cs_mat between_sums(cs_ctx *cx, const struct attn *a, cs_seg seg, cs_mat z, cs_mat prob)
{
    const struct layer *k = a->layer;
    const struct config *c = &k->net->cfg;
    int32_t n = k->net->head, r = (int32_t)c->rank;
    double scale = c->scores == SCORES_SCALED ? 1 / sqrt((double)n) : 1;
    cs_mat q = cs_proj_apply(cx, &k->q, z), key = cs_proj_apply(cx, &k->k, z);
    cs_mat v = cs_proj_apply(cx, &k->v, z), y = cs_empty(cx, z.r, v.c);
    cs_mat dot = cs_empty(cx, z.r, a->scores.c);

    for (int32_t h = 0; h < (int32_t)c->heads; h++)
        cs_seg_gemm(cx, seg, false, true, block(cs_columns(q, h * n, n)),
                    block(cs_columns(key, h * n, n)), block(cs_columns(dot, h * r, r)));
    cs_scale_add(cx, scale, dot, a->before, a->scores);
    cs_call_value_hook(cx, "scores", k->no, a->scores);
    for (int32_t h = 0; h < (int32_t)c->heads; h++)
        cs_row_softmax(cx, cs_columns(a->scores, h * r, r), cs_columns(prob, h * r, r));
    cs_mat used = cs_dropout(cx, c->dropout, prob);
    for (int32_t h = 0; h < (int32_t)c->heads; h++)
        cs_seg_gemm(cx, seg, false, false, block(cs_columns(used, h * r, r)),
                    block(cs_columns(v, h * n, n)), block(cs_columns(y, h * n, n)));
    return cs_proj_apply(cx, &k->o, y);
}

static cs_mat attention(cs_ctx *cx, const void *arg, cs_seg seg, cs_mat x)
{
    const struct attn *a = arg;
    const struct layer *k = a->layer;
    int64_t n_sum = (int64_t)seg.n * k->net->cfg.rank;
    double dropout = k->net->cfg.dropout;
    cs_mat av, au, z = cs_empty(cx, n_sum, x.c), y = cs_empty(cx, x.r, x.c);
    cs_mat prob = cs_empty(cx, n_sum, a->scores.c);

    weights(cx, k, seg, x, &av, &au);
    cs_seg_gemm(cx, seg, true, false, rows(cs_dropout(cx, dropout, av)), rows(x), block(z));
    z = between_sums(cx, a, seg, z, prob);
    cs_seg_gemm(cx, seg, false, false, rows(cs_dropout(cx, dropout, au)), block(z), rows(y));
    penalise(cx, k, seg, av, prob, au);
    return y;
}

/* Operands of a layer: tokens and scores of the layer before; its scores and tokens. */
enum { IN_X, IN_SCORES, OUT_SCORES, OUT_Y, N_MAT };

static void singularformer_run_layer(cs_ctx *cx, const void *net, cs_seg seg, const cs_mat *m,
                                     int32_t i)
{
    const struct layer *k = net;
    const struct attn a = { k, m[IN_SCORES], m[OUT_SCORES] };
    cs_mat mid = cs_empty(cx, m[IN_X].r, m[IN_X].c);

    (void)i;
    cs_sublayer_apply(cx, &k->residual[0], attention, &a, seg, m[IN_X], mid);
    cs_sublayer_apply(cx, &k->residual[1], cs_ffn_apply, &k->ffn, seg, mid, m[OUT_Y]);
}

static cs_mat singularformer_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const struct net *e = net;
    int32_t n_layer = (int32_t)e->cfg.layers;
    int64_t n_sum = (int64_t)seg.n * e->cfg.rank;
    int32_t n_score = (int32_t)(e->cfg.rank * e->cfg.heads);
    cs_mat scratch = { 0 }, used = { 0 }, before = { 0 };

    CS_BUG(x.c != (int32_t)e->cfg.dim || x.r != seg.rows);
    x = cs_position_apply(cx, e->position, seg, 1.0 / 3, x);
    for (int32_t l = 0; l < n_layer; l++) {
        /* Without gradients two buffers take turns, for tokens and for scores. */
        cs_mat y = cx->training || l == 0 ? cs_empty(cx, x.r, x.c) : scratch;
        cs_mat scores = cx->training || l < 2 ? cs_empty(cx, n_sum, n_score) : used;
        cs_block_multi(cx, singularformer_run_layer, &e->layer[l], seg,
                       (cs_mat[]){ x, before, scores, y }, N_MAT, 0);
        scratch = x;
        x = y;
        used = before;
        before = scores;
        if (cx->block_hook && !cx->dry)
            cx->block_hook(cx->block_hook_arg, l, x);
    }
    return x;
}

const cs_encoder cs_enc_singularformer = {
    .name = "singularformer",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = singularformer_check,
    .build = singularformer_build,
    .width = singularformer_width,
    .max_len = singularformer_max_len,
    .forward = singularformer_forward,
    .release = free
};
