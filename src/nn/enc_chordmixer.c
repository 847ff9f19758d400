/*
 * enc_chordmixer.c - ChordMixer: mix the channels of every token, rotate the tracks, add.
 *
 * DESIGN
 *   y = norm(x + rotate(fc2(dropout(gelu(fc1(prenorm(x)))))))
 *
 * The channels are M+1 tracks of `track` channels, M = ceil(log2 max-len). Track 0 stays; track i
 * is rotated by 2^(i-1) tokens within its own sequence, so that after ceil(log2 N) blocks every
 * token has seen every other one. Released code and paper differ: the paper rotates before it
 * mixes, the code after; we follow the code. The code takes the number of blocks from the first
 * sequence of a batch; here every sequence has its own, because batches hold one depth only.
 */
#include <stddef.h>

#include "base/mem.h"
#include "batch/batch.h"
#include "nn/encoder.h"
#include "nn/fused.h"
#include "nn/layer.h"
#include "nn/ops.h"
#include "nn/tape.h"

struct config {
    int64_t max_len, track, hidden;
    int     norm, prenorm, depth, init;
    double  dropout;
};

enum { DEPTH_OWN, DEPTH_ALL, DEPTH_NONE };
enum { INIT_XAVIER, INIT_IDENTITY };
enum { WIDTH_MAX = 1 << 16, BLOCK_MAX = 40 };     /* max-len is at most 10^12 */

static const char *const depth_names[] = { "own", "all", "none", NULL };
static const char *const init_names[] = { "xavier", "identity", NULL };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder chordmixer" },
    { CS_OPT_SIZE, 0, "max-len", offsetof(struct config, max_len), "NUM", "1M",
      "most tokens of a sequence", "It sets the number of blocks, M = ceil(log2 NUM), and of "
      "tracks, M + 1. A model answers for every length up to it.", 1, 1e12, NULL },
    { CS_OPT_INT, 0, "track", offsetof(struct config, track), "NUM", "16",
      "channels per track", "The width is track * (M + 1).", 1, 4096, NULL },
    { CS_OPT_INT, 0, "hidden", offsetof(struct config, hidden), "NUM", "128",
      "hidden units of each block", NULL, 1, WIDTH_MAX, NULL },
    { CS_OPT_ENUM, 0, "norm", offsetof(struct config, norm), "KIND", "none",
      "normalisation after the residual: none, layer, batch or group",
      "group has track groups, each over its channels and all tokens of a sequence.",
      0, 0, cs_norm_names },
    { CS_OPT_ENUM, 0, "prenorm", offsetof(struct config, prenorm), "KIND", "none",
      "normalisation before the first linear layer", NULL, 0, 0, cs_norm_names },
    { CS_OPT_REAL, 0, "dropout", offsetof(struct config, dropout), "RATE", "0",
      "share of hidden units left out in training", NULL, 0, 0.99, NULL },
    { CS_OPT_ENUM, 0, "depth", offsetof(struct config, depth), "RULE", "own",
      "blocks a sequence passes: own (by its length), all or none", "own is ceil(log2 N) blocks "
      "for N tokens; all is the fixed-length mode of the authors' code; none leaves the head a bag "
      "of tokens, to compare with and to start from (train --init).", 0, 0, depth_names },
    { CS_OPT_ENUM, 0, "init", offsetof(struct config, init), "RULE", "xavier",
      "initial weights of the second linear layers: xavier or identity", "identity is zero: a "
      "block that no training sequence was long enough for passes its input on unchanged.",
      0, 0, init_names },
    { CS_OPT_END, 0, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, NULL }
};

/* What a block's forward function needs; points back because a node of the tape has one pointer. */
struct block {
    const struct chord *net;
    cs_norm   prenorm, norm;
    cs_linear fc1, fc2;
};

struct chord {
    struct config cfg;
    int32_t       n_block, width;
    struct block  block[];
};

static int chord_check(const void *cfg)
{
    const struct config *c = cfg;
    int64_t width = c->track * (cs_depth(c->max_len) + 1);

    if (width > WIDTH_MAX)
        return cs_fail(CS_EUSAGE, "track %lld and max-len %lld make %lld channels, more than %d; "
                       "lower --encoder.track", (long long)c->track, (long long)c->max_len,
                       (long long)width, WIDTH_MAX);
    return CS_OK;
}

static void declare_block(struct chord *e, int32_t l, cs_params *ps)
{
    const struct config *c = &e->cfg;
    struct block *k = &e->block[l];
    char name[64];
    double gain2 = c->init == INIT_IDENTITY ? 0 : 1;

    k->net = e;
    snprintf(name, sizeof name, "encoder.block.%d.prenorm", l);
    k->prenorm = cs_norm_declare(ps, (cs_norm_kind)c->prenorm, e->width, (int32_t)c->track, name);
    snprintf(name, sizeof name, "encoder.block.%d.fc1", l);
    k->fc1 = cs_linear_declare(ps, e->width, (int32_t)c->hidden, 1, name);
    snprintf(name, sizeof name, "encoder.block.%d.fc2", l);
    k->fc2 = cs_linear_declare(ps, (int32_t)c->hidden, e->width, gain2, name);
    snprintf(name, sizeof name, "encoder.block.%d.norm", l);
    k->norm = cs_norm_declare(ps, (cs_norm_kind)c->norm, e->width, (int32_t)c->track, name);
}

static void *chord_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    int32_t n_block = cs_depth(c->max_len);
    struct chord *e = cs_xcalloc(1, sizeof *e + (size_t)n_block * sizeof e->block[0]);

    e->cfg = *c;
    e->n_block = n_block;
    e->width = (int32_t)c->track * (n_block + 1);
    for (int32_t l = 0; l < n_block; l++)
        declare_block(e, l, ps);
    return e;
}

static int32_t chord_width(const void *net)
{
    return ((const struct chord *)net)->width;
}

static int64_t chord_max_len(const void *net)
{
    return ((const struct chord *)net)->cfg.max_len;
}

static cs_chord weights(const cs_params *ps, const struct block *k)
{
    return (cs_chord){ cs_value(ps, k->fc1.w), cs_value(ps, k->fc1.b), cs_value(ps, k->fc2.w),
                       cs_value(ps, k->fc2.b), (int32_t)k->net->cfg.track };
}

/* Nothing but the two linear layers, so that the fused kernel computes it. */
static bool is_plain(const cs_ctx *cx, const struct config *c)
{
    return c->norm == CS_NORM_NONE && c->prenorm == CS_NORM_NONE
        && (c->dropout == 0 || !cs_learns(cx));
}

static void plain_block(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    cs_chord k = weights(cx->ps, net);
    cs_chord_block(cx, seg, &k, x, y);
}

static void full_block(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct block *k = net;
    const struct config *c = &k->net->cfg;
    cs_mat h = x, sum = y;

    if (c->prenorm != CS_NORM_NONE) {
        h = cs_tmp(cx, x.r, x.c);
        cs_norm_apply(cx, &k->prenorm, seg, x, h);
    }
    cs_mat pre = cs_linear_apply(cx, &k->fc1, h);
    h = cx->recording ? cs_tmp(cx, pre.r, pre.c) : pre;
    cs_activate(cx, CS_ACT_GELU, pre, h);
    h = cs_dropout(cx, c->dropout, h);
    h = cs_linear_apply(cx, &k->fc2, h);
    if (c->norm != CS_NORM_NONE)
        sum = cs_tmp(cx, x.r, x.c);
    cs_roll_add(cx, seg, (int32_t)c->track, h, x, sum);
    if (c->norm != CS_NORM_NONE)
        cs_norm_apply(cx, &k->norm, seg, sum, y);
}

/* A fused block has nothing to free or to run again, so the tape sees it as one step. */
static void run_block(cs_ctx *cx, const struct block *k, cs_seg seg, cs_mat x, cs_mat y)
{
    cs_chord w = weights(cx->ps, k);
    bool plain = is_plain(cx, &k->net->cfg);

    if (plain && cs_chord_is_fused(cx, &w))
        plain_block(cx, k, seg, x, y);
    else
        cs_block(cx, plain ? plain_block : full_block, k, seg, x, y);
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

/* The blocks as one run for an answer; false where they cannot be. `block` is room for them. */
static bool as_run(const cs_ctx *cx, const struct chord *e, int32_t depth, cs_chord *block,
                   cs_chord_run *q)
{
    CS_BUG(e->n_block > BLOCK_MAX);
    for (int32_t l = 0; l < e->n_block; l++)
        block[l] = weights(cx->ps, &e->block[l]);
    q->block = block;
    q->n_block = e->n_block;
    q->depth = depth;
    return is_plain(cx, &e->cfg) && cs_chord_answers(cx, q);
}

static cs_mat chord_mean(cs_ctx *cx, const void *net, cs_seg seg, const int32_t *id, cs_mat x)
{
    const struct chord *e = net;
    cs_chord block[BLOCK_MAX];
    cs_chord_run q = { .id = id, .x = x, .mean = true };

    if (id && blocks_of(e, seg) == 0) {        /* a bag of tokens */
        cs_mat mean = cs_tmp(cx, seg.n, x.c);
        cs_embed_mean(cx, seg, id, x, mean);
        return mean;
    }
    if (!as_run(cx, e, blocks_of(e, seg), block, &q))
        return (cs_mat){ 0 };
    return cs_chord_answer(cx, seg, &q);
}

static cs_mat chord_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const struct chord *e = net;
    int32_t depth = blocks_of(e, seg);
    cs_mat spare = { 0 };
    cs_chord block[BLOCK_MAX];
    cs_chord_run q = { .x = x };

    CS_BUG(depth > e->n_block || x.c != e->width || x.r != seg.rows);
    if (as_run(cx, e, depth, block, &q))
        return cs_chord_answer(cx, seg, &q);
    for (int32_t l = 0; l < depth; l++) {
        /* Without gradients two buffers take turns: a block's input receives the next output. */
        cs_mat y = cx->training || l == 0 ? cs_tmp(cx, x.r, x.c) : spare;
        run_block(cx, &e->block[l], seg, x, y);
        spare = x;
        x = y;
        if (cx->watch && !cx->dry)
            cx->watch(cx->watch_arg, l, x);
    }
    return x;
}

static bool chord_unordered(const void *net)
{
    return ((const struct chord *)net)->cfg.depth == DEPTH_NONE;
}

const cs_encoder cs_enc_chordmixer = {
    .name = "chordmixer",
    .summary = "rotated tracks and channel mixing, ceil(log2 N) blocks for N tokens",
    .source = "Khalitov, Yu, Cheng, Yang, ChordMixer, ICLR 2023; "
              "github.com/RuslanKhalitov/ChordMixer models/chordmixer.py",
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
