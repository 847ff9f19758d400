/*
 * enc_chordmixer.c - ChordMixer: mix the channels of every token, rotate the tracks, add.
 *
 * DESIGN
 *   y = norm(x + rotate(fc2(dropout(gelu(fc1(prenorm(x)))))))
 *
 * The channels are M+1 tracks of `track` channels, M = ceil(log2 max-len). Track 0 is fixed; track
 * i is rotated by 2^(i-1) tokens within its own sequence, so after ceil(log2 N) blocks every token
 * depends on every other one. Released code and paper differ: the paper rotates before it mixes,
 * the code after; we follow the code. The code takes the number of blocks from the first sequence
 * of a batch; here every sequence has its own, because batches hold one depth only.
 *
 * With --encoder.reversible the channels are two halves a and b, each with all tracks, of half the
 * channels, and a block is
 *
 *   a = a + rotate(f(b)),  b = b + rotate(g(a)),  f, g = fc2(dropout(gelu(fc1(prenorm(.)))))
 *
 * (Gomez et al., The reversible residual network, 2017), as many weights and products as before,
 * but another function. A block's input is recomputed from its output, so training stores the last
 * block's output only. Both parts rotate: half b of the input reaches both halves of the output of
 * k blocks by 2k - 1 rotations in a row or more, and k of them suffice, one for every binary digit
 * of a distance, so ceil(log2 N) blocks still connect all tokens.
 *
 * Source   Khalitov, Yu, Cheng, Yang, ChordMixer, ICLR 2023; github.com/RuslanKhalitov/ChordMixer
 *          models/chordmixer.py
 */
#include <stddef.h>

#include "base/mem.h"
#include "batch/batch.h"
#include "nn/encoders/encoder.h"
#include "nn/encoders/sublayer.h"
#include "nn/ops/fused.h"
#include "nn/ops/layer.h"
#include "nn/ops/ops.h"
#include "nn/ops/reversible.h"

struct config {
    int64_t max_len, track, hidden;
    int     norm, prenorm, depth, init, reversible;
    double  dropout;
};

enum { DEPTH_OWN, DEPTH_ALL, DEPTH_NONE };
enum { INIT_XAVIER, INIT_IDENTITY };
enum { WIDTH_MAX = 1 << 16, BLOCK_MAX = 40 };     /* max-len is at most 10^12 */

static const char *const depth_names[] = { "own", "all", "none", NULL };
static const char *const init_names[] = { "xavier", "identity", NULL };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder chordmixer" },
    { .type = CS_OPT_SIZE, .name = "max-len", .off = offsetof(struct config, max_len),
      .arg = "NUM", .def = "1048576", .help = "maximum tokens of a sequence",
      .man = "Sets the numbers of blocks, M = ceil(log2 NUM), and tracks, M + 1. A model accepts "
             "every length up to NUM; without blocks (--encoder.depth none), any length.",
      .min = 1, .max = 1e12 },
    { .type = CS_OPT_INT, .name = "track", .off = offsetof(struct config, track),
      .arg = "NUM", .def = "16", .help = "channels per track",
      .man = "The width is track * (M + 1).", .min = 1, .max = 4096 },
    { .type = CS_OPT_INT, .name = "hidden", .off = offsetof(struct config, hidden),
      .arg = "NUM", .def = "128", .help = "hidden units of each block",
      .min = 1, .max = WIDTH_MAX },
    { .type = CS_OPT_ENUM, .name = "norm", .off = offsetof(struct config, norm),
      .arg = "KIND", .def = "none",
      .help = "normalisation after the residual: none, layer, batch or group",
      .man = "group: as many groups of channels as --encoder.track, each normalised over all "
             "tokens of a sequence.", .choice = cs_norm_names },
    { .type = CS_OPT_ENUM, .name = "prenorm", .off = offsetof(struct config, prenorm),
      .arg = "KIND", .def = "none", .help = "normalisation before the first linear layer",
      .choice = cs_norm_names },
    { .type = CS_OPT_REAL, .name = "dropout", .off = offsetof(struct config, dropout),
      .arg = "RATE", .def = "0", .help = "dropout rate of hidden units", .min = 0, .max = 0.99 },
    { .type = CS_OPT_ENUM, .name = "depth", .off = offsetof(struct config, depth),
      .arg = "RULE", .def = "own",
      .help = "blocks per sequence: own (by its length), all or none",
      .man = "own: ceil(log2 N) blocks for N tokens. all: the fixed-length mode of the authors' "
             "code. none: a bag of tokens, as a baseline or for train --init.",
      .choice = depth_names },
    { .type = CS_OPT_ENUM, .name = "init", .off = offsetof(struct config, init),
      .arg = "RULE", .def = "xavier",
      .help = "initial weights of the second linear layers: xavier or identity",
      .man = "identity: zero, so that a block without training, because all sequences were "
             "shorter, passes its input unchanged.", .choice = init_names },
    { .type = CS_OPT_FLAG, .name = "reversible", .off = offsetof(struct config, reversible),
      .help = "reversible blocks of two halves: training memory does not grow with their number",
      .man = "The backward pass recomputes the input of a block from its output, up to rounding. "
             "It is a different function with the same number of weights; a trained model cannot "
             "be converted. The number of channels per track must be even, and --encoder.norm "
             "none." },
    { .type = CS_OPT_END }
};

/* Arguments of a block's forward function; has a back pointer because a node of the tape has one
 * pointer. */
struct block {
    const struct chord *net;
    cs_norm   prenorm, norm;
    cs_linear fc1, fc2;
};

/* A reversible block is two parts, f and g, one behind the other in `block`. */
struct chord {
    struct config cfg;
    int32_t       n_block, width;
    int32_t       n_part, part_width, track;   /* parts of a block; channels of one, of a track */
    bool          has_low_rank;  /* a linear layer is a low-rank product */
    struct block  block[];
};

static int chord_check(const void *cfg)
{
    const struct config *c = cfg;
    int64_t width = c->track * (cs_depth(c->max_len) + 1);

    if (width > WIDTH_MAX)
        return cs_fail(CS_EUSAGE, "track %lld and max-len %lld make %lld channels, over the "
                       "maximum of %d; lower %s", (long long)c->track, (long long)c->max_len,
                       (long long)width, WIDTH_MAX, CS_OPTION("encoder.track"));
    if (c->reversible && c->track % 2 != 0)
        return cs_fail(CS_EUSAGE, "%lld channels per track cannot be halved; %s needs an even %s",
                       (long long)c->track, CS_OPTION("encoder.reversible"),
                       CS_OPTION("encoder.track"));
    if (c->reversible && c->norm != CS_NORM_NONE)
        return cs_fail(CS_EUSAGE, "normalisation '%s' after the residual is not reversible; %s "
                       "needs %s", cs_norm_names[c->norm], CS_OPTION("encoder.reversible"),
                       CS_OPTION("encoder.prenorm"));
    return CS_OK;
}

static void declare_part(struct chord *e, int32_t i, cs_params *ps)
{
    const struct config *c = &e->cfg;
    struct block *k = &e->block[i];
    char part[48], name[64];
    double gain2 = c->init == INIT_IDENTITY ? 0 : 1;

    k->net = e;
    snprintf(part, sizeof part, "encoder.block.%d%s", i / e->n_part,
             e->n_part == 1 ? "" : i % 2 == 0 ? ".f" : ".g");
    snprintf(name, sizeof name, "%s.prenorm", part);
    k->prenorm = cs_norm_declare(ps, (cs_norm_kind)c->prenorm, e->part_width, e->track, name);
    snprintf(name, sizeof name, "%s.fc1", part);
    k->fc1 = cs_linear_declare(ps, e->part_width, (int32_t)c->hidden, 1, name);
    snprintf(name, sizeof name, "%s.fc2", part);
    k->fc2 = cs_linear_declare(ps, (int32_t)c->hidden, e->part_width, gain2, name);
    snprintf(name, sizeof name, "%s.norm", part);
    k->norm = cs_norm_declare(ps, (cs_norm_kind)c->norm, e->part_width, e->track, name);
}

static void *chord_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    int32_t n_block = cs_depth(c->max_len), n_part = c->reversible ? 2 : 1;
    size_t n = (size_t)(n_block * n_part);
    struct chord *e = cs_xcalloc(1, sizeof *e + n * sizeof e->block[0]);

    e->cfg = *c;
    e->n_block = n_block;
    e->n_part = n_part;
    e->track = (int32_t)c->track / n_part;
    e->part_width = e->track * (n_block + 1);
    e->width = n_part * e->part_width;
    const int32_t first = ps->n;
    for (int32_t i = 0; i < n_block * n_part; i++)
        declare_part(e, i, ps);
    for (int32_t i = first; i < ps->n; i++)
        ps->p[i].idle = c->depth == DEPTH_NONE;
    for (int32_t i = 0; i < n_block * n_part; i++)
        e->has_low_rank |= e->block[i].fc1.low || e->block[i].fc2.low;
    return e;
}

static int32_t chord_width(const void *net)
{
    return ((const struct chord *)net)->width;
}

static bool chord_unordered(const void *net)
{
    return ((const struct chord *)net)->cfg.depth == DEPTH_NONE;
}

/* Without blocks the depth, and so the maximum length, does not matter. */
static int64_t chord_max_len(const void *net)
{
    const struct chord *e = net;
    return chord_unordered(net) ? 0 : e->cfg.max_len;
}

static cs_chord weights(const cs_params *ps, const struct block *k)
{
    return (cs_chord){ cs_value(ps, k->fc1.w), cs_value(ps, k->fc1.b), cs_value(ps, k->fc2.w),
                       cs_value(ps, k->fc2.b), (int32_t)k->net->cfg.track };
}

/* Only two full-rank linear layers, as required by the fused kernel. */
static bool is_plain(const cs_ctx *cx, const struct chord *e)
{
    const struct config *c = &e->cfg;
    return c->norm == CS_NORM_NONE && c->prenorm == CS_NORM_NONE && !e->has_low_rank
        && (c->dropout == 0 || !cs_is_training(cx));
}

static void plain_block(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    cs_chord k = weights(cx->ps, net);
    cs_chord_block(cx, seg, &k, x, y);
}

/* y = fc2(dropout(gelu(fc1(prenorm(x))))) */
static void chordmixer_mix(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct block *k = net;
    const struct config *c = &k->net->cfg;
    cs_mat h = x;

    if (c->prenorm != CS_NORM_NONE) {
        h = cs_empty(cx, x.r, x.c);
        cs_norm_apply(cx, &k->prenorm, seg, x, h);
    }
    cs_mat pre = cs_linear_apply(cx, &k->fc1, h);
    h = cx->recording ? cs_empty(cx, pre.r, pre.c) : pre;
    cs_activate(cx, CS_ACT_GELU, pre, h);
    h = cs_dropout(cx, c->dropout, h);
    cs_linear_into(cx, &k->fc2, h, y);
}

static void full_block(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct block *k = net;
    const struct config *c = &k->net->cfg;
    cs_mat h = cs_empty(cx, x.r, x.c), sum = y;

    chordmixer_mix(cx, net, seg, x, h);
    if (c->norm != CS_NORM_NONE)
        sum = cs_empty(cx, x.r, x.c);
    cs_roll_add(cx, seg, (int32_t)c->track, h, x, sum);
    if (c->norm != CS_NORM_NONE)
        cs_norm_apply(cx, &k->norm, seg, sum, y);
}

static cs_mix mix_of(const struct block *k)
{
    const struct config *c = &k->net->cfg;
    return (cs_mix){ chordmixer_mix, k, c->prenorm == CS_NORM_NONE || c->prenorm == CS_NORM_LAYER,
                     k->net->track };
}

/* One fused kernel if available; in training ranges of rows if possible; else composed ops. The
 * rescale rule needs a sequence and its baseline in one matrix. */
static void run_block(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct block *k = net;
    const cs_chord w = weights(cx->ps, k);
    const cs_mix m = mix_of(k);
    const bool plain = is_plain(cx, k->net);

    if (plain && cs_chord_is_fused(cx, &w))
        plain_block(cx, k, seg, x, y);
    else if (cx->training && !cx->rescale && m.by_rows && k->net->cfg.norm == CS_NORM_NONE)
        cs_residual(cx, &m, seg, x, y);
    else if (plain)
        plain_block(cx, k, seg, x, y);
    else
        full_block(cx, k, seg, x, y);
}

static void packed_block(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    cs_chord k = weights(cx->ps, net);
    cs_chord_packed_block(cx, seg, &k, x, y);
}

/* Do rows stay packed through all blocks? Observers and the rescale rule see matrices. */
static bool stays_packed(const cs_ctx *cx, const struct chord *e, int32_t depth)
{
    if (depth == 0 || !cx->training || cx->block_hook || cx->rescale || e->cfg.reversible)
        return false;
    const cs_chord k = weights(cx->ps, &e->block[0]);
    return is_plain(cx, e) && cs_chord_is_packed(cx, &k);
}

static int32_t blocks_of(const struct chord *e, cs_seg seg)
{
    switch (e->cfg.depth) {
    case DEPTH_ALL:
        return e->n_block;
    case DEPTH_NONE:
        return 0;
    default:
        return seg.depth;
    }
}

/* All blocks in one call for a prediction; false if impossible. `block` is scratch memory for
 * them. */
static bool as_run(const cs_ctx *cx, const struct chord *e, int32_t depth, cs_chord *block,
                   cs_chord_run *q)
{
    CS_BUG(e->n_block > BLOCK_MAX);
    if (e->cfg.reversible)
        return false;
    for (int32_t l = 0; l < e->n_block; l++)
        block[l] = weights(cx->ps, &e->block[l]);
    q->block = block;
    q->n_block = e->n_block;
    q->depth = depth;
    return is_plain(cx, e) && cs_chord_can_infer(cx, q);
}

static cs_mat chord_mean(cs_ctx *cx, const void *net, cs_seg seg, const int32_t *id, cs_mat x)
{
    const struct chord *e = net;
    cs_chord block[BLOCK_MAX];
    cs_chord_run q = { .id = id, .x = x, .mean = true };

    if (id && blocks_of(e, seg) == 0) {        /* a bag of tokens */
        cs_mat mean = cs_empty(cx, seg.n, x.c);
        cs_embed_mean(cx, seg, id, x, mean);
        return mean;
    }
    if (!as_run(cx, e, blocks_of(e, seg), block, &q))
        return (cs_mat){ 0 };
    return cs_chord_infer(cx, seg, &q);
}

/* In place, also when training: the backward pass restores x. */
static void reversible_blocks(cs_ctx *cx, const struct chord *e, cs_seg seg, int32_t depth,
                              cs_mat x)
{
    cs_mat a = cs_columns(x, 0, e->part_width), b = cs_columns(x, e->part_width, e->part_width);

    for (int32_t l = 0; l < depth; l++) {
        const cs_mix f = mix_of(&e->block[2 * l]), g = mix_of(&e->block[2 * l + 1]);
        cs_reversible(cx, &f, seg, b, a);
        cs_reversible(cx, &g, seg, a, b);
        if (cx->block_hook && !cx->dry)
            cx->block_hook(cx->block_hook_arg, l, x);
    }
}

static cs_mat chord_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const struct chord *e = net;
    int32_t depth = blocks_of(e, seg);
    cs_chord block[BLOCK_MAX];
    cs_chord_run q = { .x = x };

    CS_BUG(depth > e->n_block || x.c != e->width || x.r != seg.rows);
    if (as_run(cx, e, depth, block, &q))
        return cs_chord_infer(cx, seg, &q);
    if (e->cfg.reversible) {
        reversible_blocks(cx, e, seg, depth, x);
        return x;
    }
    if (!stays_packed(cx, e, depth))
        return cs_stack(cx, run_block, e->block, sizeof e->block[0], depth, seg, x);
    const cs_mat packed = cs_stack_packed(cx, packed_block, e->block, sizeof e->block[0], depth,
                                          seg, cs_pack_rows(cx, x));
    cs_unpack_rows(cx, packed, x);
    return x;
}

const cs_encoder cs_enc_chordmixer = {
    .name = "chordmixer",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = chord_check,
    .build = chord_build,
    .width = chord_width,
    .max_len = chord_max_len,
    .forward = chord_forward,
    .mean = chord_mean,
    .unordered = chord_unordered,
    .release = free
};
