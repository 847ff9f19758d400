/*
 * enc_cdil.c - CDIL: circular dilated convolutions, one stack or an encoder and a decoder.
 *
 * DESIGN
 * Layer l has dilation D 2^(l-1), so after ceil(log2(N/2)) layers with D 1 every token depends on
 * every other one; with a larger D, on those D, 2 D ... tokens away, in fewer layers. CDIL-CNN has
 * one convolution per layer with weight normalisation; CDIL for DNA has two with batch
 * normalisation, twice the channels between them, and a second stack (decoder, or predictor) on the
 * first. Released code and papers differ in how many layers there are: here the model fixes them,
 * or every sequence has its own number, which needs layers of one width.
 *
 * Groups of channels are networks side by side, each on its own columns of the embedding. The head
 * reads the columns of all: an ensemble in one model.
 *
 * Source   Cheng, Khalitov, Yu, Zhang, Yang, CDIL-CNN, 2023, github.com/LeiCheng-no/CDIL-CNN; CDIL
 *          for DNA, github.com/wiedersehne/cdilDNA models/cdil.py
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "batch/batch.h"
#include "nn/encoders/encoder.h"
#include "nn/ops/cdil.h"

struct config {
    int64_t     max_len, layers, kernel, dilation, hidden, input, groups;
    const char *channels, *decoder;
    int         convs, norm, depth;
    double      dropout;
};

enum { DEPTH_OWN, DEPTH_ALL };
enum { CONVS_TWO, CONVS_ONE };
enum { WIDTH_MAX = 1 << 16, DILATION_MAX = 1024, GROUPS_MAX = 64 };

static const char *const depth_names[] = { "own", "all", NULL };
static const char *const convs_names[] = { "two", "one", NULL };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder cdil" },
    { .type = CS_OPT_SIZE, .name = "max-len", .off = offsetof(struct config, max_len),
      .arg = "NUM", .def = "1048576", .help = "receptive field of the layers, in tokens",
      .man = "Sets the number of layers, ceil(log2(NUM/2)), unless --encoder.layers does. Longer "
             "sequences are also accepted.", .min = 1, .max = 1e12 },
    { .type = CS_OPT_INT, .name = "layers", .off = offsetof(struct config, layers),
      .arg = "NUM", .def = "0", .help = "layers of a stack; 0: by max-len",
      .min = 0, .max = CS_CDIL_MAX },
    { .type = CS_OPT_ENUM, .name = "depth", .off = offsetof(struct config, depth),
      .arg = "RULE", .def = "own", .help = "layers per sequence: own (by its length) or all",
      .man = "own: ceil(log2(N/2)) layers for N tokens, and at least one. all: as in the "
             "released models.", .choice = depth_names },
    { .type = CS_OPT_STR, .name = "channels", .off = offsetof(struct config, channels),
      .arg = "LIST", .def = "64", .help = "channels, or those of every layer: 8,12,16,16" },
    { .type = CS_OPT_STR, .name = "decoder", .off = offsetof(struct config, decoder),
      .arg = "LIST", .def = "0", .help = "channels of a second stack after the first; 0: none",
      .man = "With 0, --init drops the second stack of the initial model." },
    { .type = CS_OPT_INT, .name = "input", .off = offsetof(struct config, input),
      .arg = "NUM", .def = "0",
      .help = "channels of the embedded input; 0: those of the first layer",
      .min = 0, .max = WIDTH_MAX },
    { .type = CS_OPT_INT, .name = "groups", .off = offsetof(struct config, groups),
      .arg = "NUM", .def = "1", .help = "groups of channels, each an independent network",
      .man = "Every group has an equal share of all channels (of the input, the layers, between "
             "convolutions, and of the decoder) and its own normalisation; only the head reads "
             "all groups.", .min = 1, .max = GROUPS_MAX },
    { .type = CS_OPT_INT, .name = "kernel", .off = offsetof(struct config, kernel),
      .arg = "NUM", .def = "3", .help = "kernel size, an odd number", .min = 1, .max = 63 },
    { .type = CS_OPT_INT, .name = "dilation", .off = offsetof(struct config, dilation),
      .arg = "NUM", .def = "1",
      .help = "dilation of the first layer; it doubles with every layer",
      .man = "With 3 and --tokenizer codon (or kmer with --tokenizer.k 3 --tokenizer.stride 1), "
             "all taps are codons of one reading frame. There are log2(NUM) fewer layers, "
             "rounded down.", .min = 1, .max = DILATION_MAX },
    { .type = CS_OPT_ENUM, .name = "convs", .off = offsetof(struct config, convs),
      .arg = "NUM", .def = "two",
      .help = "convolutions of a layer: two (CDIL for DNA) or one (CDIL-CNN)",
      .choice = convs_names },
    { .type = CS_OPT_INT, .name = "hidden", .off = offsetof(struct config, hidden),
      .arg = "NUM", .def = "0",
      .help = "channels between the two convolutions; 0: twice those of the stack's first layer",
      .min = 0, .max = WIDTH_MAX },
    { .type = CS_OPT_ENUM, .name = "norm", .off = offsetof(struct config, norm),
      .arg = "KIND", .def = "layer",
      .help = "normalisation: none, weight (CDIL-CNN), batch (CDIL for DNA) or layer",
      .man = "batch: statistics of the batch in training; running statistics, folded into the "
             "convolutions, in prediction.", .choice = cs_cdil_norm_names },
    { .type = CS_OPT_REAL, .name = "dropout", .off = offsetof(struct config, dropout),
      .arg = "RATE", .def = "0", .help = "dropout rate of a convolution's outputs",
      .min = 0, .max = 0.99 },
    { .type = CS_OPT_END }
};

struct group { cs_cdil *stack[2]; };     /* encoder; decoder or NULL */

struct cdil_net {
    int32_t      n_layer[2];
    bool         own;
    int32_t      n_less;         /* layers saved by the first one's dilation */
    int32_t      in_width, width;        /* of all groups */
    int32_t      n_group;
    struct group group[];
};

/* Parses "8,12,16"; returns the count, or -1. A zero must be the only number. */
static int32_t parse_list(const char *text, int32_t *v)
{
    int32_t n = 0;
    bool zero = false;
    const char *p = text;

    for (;; p++) {
        char *end;
        errno = 0;
        long value = strtol(p, &end, 10);
        if (end == p || errno || value < 0 || value > WIDTH_MAX || n == CS_CDIL_MAX)
            return -1;
        zero |= value == 0;
        v[n++] = (int32_t)value;
        p = end;
        if (*p != ',')
            return *p || (zero && n > 1) ? -1 : n;
    }
}

static bool is_uniform(const int32_t *v, int32_t n)
{
    for (int32_t i = 1; i < n; i++)
        if (v[i] != v[0])
            return false;
    return true;
}

/* log2 of the first layer's dilation, rounded down */
static int32_t layers_less(const struct config *c)
{
    return cs_depth(c->dilation + 1) - 1;
}

/* A stack by its options; n_layer 0: none. */
static int cdil_describe(const struct config *c, const char *option, const char *list,
                         cs_cdil_spec *s)
{
    int32_t n = parse_list(list, s->width);
    const int32_t by_len = cs_depth(c->max_len) - 1 - layers_less(c);

    if (n < 0)
        return cs_fail(CS_EUSAGE, "%s takes a number of channels, or a comma-separated list of one "
                       "per layer, each at most %d; not '%s'", CS_OPTION("encoder.%s", option),
                       WIDTH_MAX, list);
    if (n > 1 && c->layers && c->layers != n)
        return cs_fail(CS_EUSAGE, "%s lists %d layers, but %s is %lld",
                       CS_OPTION("encoder.%s", option), (int)n, CS_OPTION("encoder.layers"),
                       (long long)c->layers);
    if (c->depth == DEPTH_OWN && !is_uniform(s->width, n))
        return cs_fail(CS_EUSAGE, "%s '%s': layers of different widths need %s",
                       CS_OPTION("encoder.%s", option), list, CS_OPTION("encoder.depth all"));
    s->n_layer = n > 1 ? n : c->layers ? (int32_t)c->layers : by_len < 1 ? 1 : by_len;
    for (int32_t i = n; i < s->n_layer; i++)
        s->width[i] = s->width[0];
    if (s->width[0] == 0)
        s->n_layer = 0;
    s->hidden = c->convs == CONVS_ONE ? 0 : c->hidden ? (int32_t)c->hidden : 2 * s->width[0];
    return CS_OK;
}

/* A group's share of n channels; false: it is not a whole number. */
static bool divide(const struct config *c, int32_t *n)
{
    const bool whole = *n % c->groups == 0;
    *n /= (int32_t)c->groups;
    return whole;
}

/* The stacks of one group. */
static int describe_both(const struct config *c, cs_cdil_spec s[2])
{
    bool whole = true;
    int rc = CS_OK;

    for (int i = 0; i < 2; i++)
        s[i] = (cs_cdil_spec){ .n_tap = (int32_t)c->kernel, .dilation = (int32_t)c->dilation,
                               .norm = (cs_cdil_norm)c->norm, .dropout = c->dropout };
    CS_TRY(cdil_describe(c, "channels", c->channels, &s[0]));
    CS_TRY(cdil_describe(c, "decoder", c->decoder, &s[1]));
    if (s[0].n_layer == 0)
        return cs_fail(CS_EUSAGE, "%s must be at least 1", CS_OPTION("encoder.channels"));
    s[0].n_in = c->input ? (int32_t)c->input : s[0].width[0];
    for (int i = 0; i < 2; i++) {
        for (int32_t l = 0; l < s[i].n_layer; l++)
            whole &= divide(c, &s[i].width[l]);
        whole &= divide(c, &s[i].hidden);
    }
    if (!(whole &= divide(c, &s[0].n_in)))
        return cs_fail(CS_EUSAGE, "%s must divide the channels of the input, of every layer, and "
                       "between convolutions", CS_OPTION("encoder.groups %lld",
                                                         (long long)c->groups));
    s[1].n_in = s[0].width[s[0].n_layer - 1];
out:
    return rc;
}

static int cdil_check(const void *cfg)
{
    const struct config *c = cfg;
    cs_cdil_spec s[2];

    if (c->kernel % 2 == 0)
        return cs_fail(CS_EUSAGE, "%s must be odd, not %lld", CS_OPTION("encoder.kernel"),
                       (long long)c->kernel);
    return describe_both(c, s);
}

static void *cdil_build(const void *cfg, cs_params *ps)
{
    static const char *const part[2] = { "block", "decoder" };
    const struct config *c = cfg;
    const int32_t n_group = (int32_t)c->groups;
    struct cdil_net *e = cs_xcalloc(1, sizeof *e + (size_t)n_group * sizeof e->group[0]);
    cs_cdil_spec s[2];
    char name[40];

    CS_BUG(describe_both(c, s) != CS_OK);
    e->n_group = n_group;
    for (int32_t k = 0; k < n_group; k++)
        for (int i = 0; i < 2; i++) {
            e->n_layer[i] = s[i].n_layer;
            if (s[i].n_layer == 0)
                continue;
            if (n_group == 1)
                snprintf(name, sizeof name, "encoder.%s", part[i]);
            else
                snprintf(name, sizeof name, "encoder.group.%d.%s", (int)k, part[i]);
            e->group[k].stack[i] = cs_cdil_new(&s[i], ps, name);
            e->width = n_group * s[i].width[s[i].n_layer - 1];
        }
    e->in_width = n_group * s[0].n_in;
    e->own = c->depth == DEPTH_OWN;
    e->n_less = layers_less(c);
    return e;
}

static int32_t cdil_width(const void *net)
{
    return ((const struct cdil_net *)net)->width;
}

static int32_t cdil_in_width(const void *net)
{
    return ((const struct cdil_net *)net)->in_width;
}

static int64_t cdil_max_len(const void *net)
{
    (void)net;
    return 0;
}

/* Columns of group k of n. */
static cs_mat share_of(cs_mat m, int32_t k, int32_t n)
{
    const int32_t c = m.c / n;
    return (cs_mat){ m.p ? m.p + k * c : NULL, m.r, c, m.ld };
}

/* One group, into *out, or into a matrix of its own (NULL). Returns the result. */
static cs_mat group_forward(cs_ctx *cx, const struct cdil_net *e, int32_t k, cs_seg seg, cs_mat x,
                            const cs_mat *out)
{
    cs_cdil *const *stack = e->group[k].stack;
    int32_t own = seg.depth - 1 - e->n_less, block = k * (e->n_layer[0] + e->n_layer[1]);

    own = own < 1 ? 1 : own;
    for (int i = 0; i < 2 && stack[i]; i++) {
        const int32_t n = e->own && own < e->n_layer[i] ? own : e->n_layer[i];
        const bool last = i == 1 || !stack[1];
        x = cs_cdil_apply(cx, stack[i], seg, n, block, x, last ? out : NULL);
        block += n;
    }
    return x;
}

static cs_mat cdil_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const struct cdil_net *e = net;

    if (e->n_group == 1)
        return group_forward(cx, e, 0, seg, x, NULL);
    const cs_mat y = cs_empty(cx, x.r, e->width);
    for (int32_t k = 0; k < e->n_group; k++) {
        const cs_mat part = share_of(y, k, e->n_group);
        const int64_t mark = cs_mark(cx);
        group_forward(cx, e, k, seg, share_of(x, k, e->n_group), &part);
        if (!cx->training)
            cs_release_to(cx, mark);
    }
    return y;
}

static void cdil_release(void *net)
{
    struct cdil_net *e = net;

    for (int32_t k = 0; e && k < e->n_group; k++) {
        cs_cdil_free(e->group[k].stack[0]);
        cs_cdil_free(e->group[k].stack[1]);
    }
    free(e);
}

const cs_encoder cs_enc_cdil = {
    .name = "cdil",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = cdil_check,
    .build = cdil_build,
    .width = cdil_width,
    .in_width = cdil_in_width,
    .max_len = cdil_max_len,
    .forward = cdil_forward,
    .release = cdil_release
};
