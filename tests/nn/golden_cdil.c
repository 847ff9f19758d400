/* golden_cdil.c - CDIL: the classifiers of CDIL-CNN, and the networks of CDIL for DNA. */
#include <string.h>

#include "golden_net.h"
#include "nn/ops/cdil.h"
#include "nn/ops/ops.h"
#include "registry.h"

struct cdil {
    golden_net        n;
    const json_t     *args;
    const cs_encoder *enc;
    void             *net;               /* the registered encoder ... */
    cs_cdil          *tower, *decoder;   /* or its stacks apart, where a file runs them apart */
    int32_t           n_layer;
    const char       *suffix;            /* of the outputs of this run of the tower */
};

static double arg(const struct cdil *c, const char *name)
{
    return golden_number(c->args, name, 0);
}

/* ---- names ------------------------------------------------------------------------------- */

/* "encoder.conv_net.3.batch_norm1.weight" is "encoder.block.3.norm1.weight" here, and what comes
 * after the encoder is "encoder.decoder.3...". The encoder of CDIL-CNN is called "conv". */
void golden_cdil_name(const char *torch, char *ours, size_t n_ours)
{
    static const char *const from[][2] = {
        { "conv.conv_net.", "encoder.block." }, { "encoder.conv_net.", "encoder.block." },
        { "decoder.conv_net.", "encoder.decoder." }, { "revoClf.conv_net.", "encoder.decoder." },
        { "conv_net.", "encoder.block." }
    };
    const char *to = "";

    if (strncmp(torch, "model.", 6) == 0)
        torch += 6;
    for (size_t i = 0; i < sizeof from / sizeof from[0] && !*to; i++)
        if (strncmp(torch, from[i][0], strlen(from[i][0])) == 0) {
            to = from[i][1];
            torch += strlen(from[i][0]);
        }
    const char *norm = strstr(torch, ".batch_norm"), *conv = strstr(torch, ".conv.");
    if (norm)
        snprintf(ours, n_ours, "%s%.*s.norm%s", to, (int)(norm - torch), torch, norm + 11);
    else if (conv)
        snprintf(ours, n_ours, "%s%.*s.conv1.%s", to, (int)(conv - torch), torch, conv + 6);
    else
        snprintf(ours, n_ours, "%s%s", to, torch);
}

/* ---- building ---------------------------------------------------------------------------- */

/* "8,8,8": n times `width`, the last one `last`. */
static void list_text(char *text, size_t n_text, int n, int width, int last)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < n && used < n_text; i++)
        used += (size_t)snprintf(text + used, n_text - used, "%s%d", i ? "," : "",
                                 i == n - 1 ? last : width);
}

static void array_text(char *text, size_t n_text, const json_t *a)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(a) && used < n_text; i++)
        used += (size_t)snprintf(text + used, n_text - used, "%s%d", i ? "," : "",
                                 (int)json_integer_value(json_array_get(a, i)));
}

/* Options as pairs of names and texts, ended by NULL. */
static int build_encoder(struct cdil *c, const char *const (*set)[2])
{
    int rc = CS_OK;
    void *cfg = cs_xcalloc(1, c->enc->cfg_size);

    cs_opt_defaults((const cs_optset[]){ { c->enc->opt, cfg, NULL }, { 0 } });
    for (; (*set)[0]; set++)
        CS_TRY(cs_opt_set(c->enc->opt, cfg, (*set)[0], (*set)[1]));
    CS_TRY(c->enc->check(cfg));
    c->net = c->enc->build(cfg, &c->n.ps);
out:
    free(cfg);
    return rc;
}

static int build_cnn(struct cdil *c)
{
    const json_t *channels = json_object_get(c->args, "num_channels");
    char list[512], kernel[16], input[16], layers[16];
    int32_t n_in = (int32_t)arg(c, "input_size"), n_out = (int32_t)arg(c, "output_size");
    bool dual = golden_net_given(&c->n, "tokens2") != NULL;

    c->n_layer = (int32_t)json_array_size(channels);
    array_text(list, sizeof list, channels);
    snprintf(kernel, sizeof kernel, "%d", (int)arg(c, "kernel_size"));
    snprintf(input, sizeof input, "%d", (int)n_in);
    snprintf(layers, sizeof layers, "%d", (int)c->n_layer);
    const char *const set[][2] = {
        { "channels", list }, { "layers", layers }, { "kernel", kernel }, { "input", input },
        { "convs", "one" }, { "norm", "weight" }, { "depth", "all" }, { NULL, NULL }
    };
    if (json_is_true(json_object_get(c->args, "use_embed")))
        cs_declare(&c->n.ps, cs_shape2((int64_t)arg(c, "char_vocab"), n_in), CS_INIT_ZERO, 1,
                   "embedding.weight");
    int rc = build_encoder(c, set);
    if (rc == CS_OK)
        golden_net_declare(&c->n, "linear", n_out, c->enc->width(c->net) * (dual ? 4 : 1));
    return rc;
}

/* One stack for the files that run two encoders and a decoder, or nothing but a stack. */
static cs_cdil *build_stack(struct cdil *c, const char *name, int32_t n_in, int32_t width)
{
    cs_cdil_spec s = { .n_in = n_in, .n_layer = c->n_layer, .n_tap = (int32_t)arg(c, "ks"),
                       .hidden = 2 * width, .norm = CS_CDIL_BATCH };
    for (int32_t l = 0; l < c->n_layer; l++)
        s.width[l] = width;
    return cs_cdil_new(&s, &c->n.ps, name);
}

static int build_human(struct cdil *c)
{
    int32_t width = (int32_t)arg(c, "dim_out"), last = (int32_t)arg(c, "clf_dim");

    c->n_layer = (int32_t)arg(c, "layers");
    if (c->n_layer < 1 || c->n_layer > CS_CDIL_MAX)
        return cs_fail(CS_EUSAGE, "no stack of %d layers", (int)c->n_layer);
    c->tower = build_stack(c, "encoder.block", (int32_t)arg(c, "dim_in"), width);
    c->decoder = build_stack(c, "encoder.decoder", width, last);
    golden_net_declare(&c->n, "classifier.linear", (int64_t)arg(c, "output_size"), last);
    return CS_OK;
}

/* Encoder and decoder in one, as the program has them: plant, pretrain_*, layer, checkpoint. */
static int build_dna(struct cdil *c, const char *kind)
{
    bool human = strcmp(kind, "pretrain_human") == 0 || strcmp(kind, "checkpoint") == 0;
    bool layer = strcmp(kind, "layer") == 0;
    const json_t *dims = json_object_get(c->args, "dim_out");
    int dim = (int)arg(c, human ? "dim" : "dim_in"), dec = (int)arg(c, human ? "hdim2" : "clf_dim");
    char enc_list[512], dec_list[512], kernel[16], input[16], hidden[16], layers[16];

    c->n_layer = layer ? (int32_t)json_array_size(dims)
                       : (int32_t)arg(c, human ? "n_layers" : "layers");
    list_text(enc_list, sizeof enc_list, c->n_layer, (int)arg(c, human ? "hdim1" : "dim_out"),
              (int)arg(c, human ? "hdim1" : "dim_out"));
    if (layer)
        array_text(enc_list, sizeof enc_list, dims);
    list_text(dec_list, sizeof dec_list, layer ? 1 : c->n_layer, dec, human ? dim : dec);
    snprintf(kernel, sizeof kernel, "%d", (int)arg(c, human ? "kernel_size" : "ks"));
    snprintf(input, sizeof input, "%d", dim);
    snprintf(hidden, sizeof hidden, "%d", layer ? (int)arg(c, "hdim") : 0);
    snprintf(layers, sizeof layers, "%d", (int)c->n_layer);
    const char *const set[][2] = {
        { "channels", enc_list }, { "decoder", layer ? "0" : dec_list }, { "kernel", kernel },
        { "layers", layers }, { "input", input }, { "hidden", hidden }, { "convs", "two" },
        { "norm", "batch" }, { "depth", "all" }, { NULL, NULL }
    };
    if (strcmp(kind, "plant") == 0)
        golden_net_declare(&c->n, "classifier.linear", (int64_t)arg(c, "output_size"), dec);
    if (strcmp(kind, "pretrain_plant") == 0)
        golden_net_declare(&c->n, "classifier.linear", dim, dec);
    return build_encoder(c, set);
}

/* ---- passes ------------------------------------------------------------------------------ */

/* Segments of one length. */
static cs_seg segments(struct cdil *c, int64_t n, int64_t len)
{
    return (cs_seg){ .off = golden_offsets(c->n.g, n, len), .n = (int32_t)n, .rows = n * len };
}

/* The encoder's blocks come first, the decoder's after them. */
static void watch(void *arg_, int32_t block, cs_mat y)
{
    struct cdil *c = arg_;
    char name[64];

    snprintf(name, sizeof name, "block1%s", c->suffix);
    if (block == 0)
        golden_net_output(&c->n, name, y, true);
    snprintf(name, sizeof name, "encoder%s", c->suffix);
    if (block == c->n_layer - 1)
        golden_net_output(&c->n, name, y, true);
}

/* Vectors per sequence of one tower of CDIL-CNN: into `pooled`. */
static cs_seg cnn_tower(struct cdil *c, int i, cs_mat pooled)
{
    golden_net *n = &c->n;
    const cs_tensor *x = golden_net_input(n, "x"),
                    *tokens = golden_net_input(n, i ? "tokens2" : "tokens");
    int table = cs_params_find(&n->ps, "embedding.weight");
    const cs_tensor *in = tokens ? tokens : x;
    cs_seg seg = segments(c, in->shape.dim[0], in->shape.dim[1]);

    c->suffix = i ? "_2" : "";
    n->x[i] = tokens ? golden_net_embed(n, tokens, table, -1) : golden_net_stage(n, x, false);
    golden_net_output(n, i ? "embedding_out_2" : "embedding_out", n->x[i], false);
    cs_seg_mean(&n->cx, seg, c->enc->forward(&n->cx, c->net, seg, n->x[i]), pooled);
    return seg;
}

static void pass_cnn(golden_net *n)
{
    struct cdil *c = n->self;
    const cs_tensor *x = golden_net_input(n, "x"), *t = x ? x : golden_net_input(n, "tokens");
    int64_t r = t->shape.dim[0];
    int32_t w = c->enc->width(c->net);
    bool dual = golden_net_input(n, "tokens2") != NULL;
    cs_mat all = cs_empty(&n->cx, r, w * (dual ? 4 : 1)), part[4];

    for (int i = 0; i < (dual ? 4 : 1); i++)
        part[i] = (cs_mat){ all.p + (n->cx.dry ? 0 : i * w), r, w, all.ld };
    cnn_tower(c, 0, part[0]);
    if (dual) {
        cs_mat minus = golden_net_fill(n, r, w, -1), less = cs_empty(&n->cx, r, w);
        cnn_tower(c, 1, part[1]);
        cs_mul(&n->cx, part[0], part[1], part[2]);
        cs_mul(&n->cx, part[1], minus, less);
        cs_add(&n->cx, part[0], less, part[3]);
        golden_net_output(n, "features", all, false);
    } else {
        golden_net_output(n, "pooled", all, false);
    }
    cs_mat y = golden_net_linear(n, "linear", all);
    golden_net_output(n, "logits", y, false);
    golden_net_loss(n, y, false);
}

/* Column `tissue` of each row, as a vector on the tape: by a product with ones and zeros. */
static cs_mat choose(golden_net *n, cs_mat y, const cs_tensor *column)
{
    cs_mat pick = golden_net_fill(n, y.r, y.c, 0), chosen = cs_empty(&n->cx, y.r, y.c);
    cs_mat ones = golden_net_fill(n, 1, y.c, 1), out = cs_empty(&n->cx, y.r, 1), none = { 0 };
    for (int64_t r = 0; r < y.r && !n->cx.dry; r++)
        pick.p[r * pick.ld + (int64_t)cs_tensor_get(column, r)] = 1;
    cs_mul(&n->cx, y, pick, chosen);
    cs_affine(&n->cx, chosen, ones, none, out);
    return out;
}

static void pass_human(golden_net *n)
{
    struct cdil *c = n->self;
    static const char *const name[2] = { "x_ref", "x_alt" };
    cs_mat encoded[2];
    cs_seg seg = { 0 };

    for (int i = 0; i < 2; i++) {
        const cs_tensor *x = golden_net_input(n, name[i]);
        seg = segments(c, x->shape.dim[0], x->shape.dim[2]);
        c->suffix = i ? "_alt" : "_ref";
        n->x[i] = golden_net_stage(n, x, true);
        n->x_first[i] = true;
        /* Predicting, a stack may write over its input, which is compared later. */
        cs_mat copy = cs_empty(&n->cx, n->x[i].r, n->x[i].c);
        cs_add(&n->cx, n->x[i], golden_net_fill(n, copy.r, copy.c, 0), copy);
        encoded[i] = cs_cdil_apply(&n->cx, c->tower, seg, c->n_layer, 0, copy, NULL);
    }
    int64_t rows = seg.rows;
    int32_t w = encoded[0].c;
    cs_mat less = cs_empty(&n->cx, rows, w), diff = cs_empty(&n->cx, rows, w);
    cs_mul(&n->cx, encoded[1], golden_net_fill(n, rows, w, -1), less);
    cs_add(&n->cx, encoded[0], less, diff);
    cs_mat h = cs_cdil_apply(&n->cx, c->decoder, seg, c->n_layer, c->n_layer, diff, NULL);
    golden_net_output(n, "decoder", h, true);
    cs_mat pooled = cs_empty(&n->cx, seg.n, h.c);
    cs_seg_mean(&n->cx, seg, h, pooled);
    golden_net_output(n, "pooled", pooled, false);
    cs_mat y = golden_net_linear(n, "classifier.linear", pooled);
    golden_net_output(n, "tissue_logits", y, false);
    y = choose(n, y, golden_net_input(n, "tissue"));
    golden_net_output(n, "logits", y, false);
    golden_net_loss(n, y, false);
}

static void output_prob(golden_net *n, cs_mat y)
{
    cs_mat p = cs_empty(&n->cx, y.r, y.c);
    cs_activate(&n->cx, CS_ACT_SIGMOID, y, p);
    golden_net_output(n, "prob", p, false);
}

static void pass_dna(golden_net *n)
{
    struct cdil *c = n->self;
    const char *kind = golden_text(n->g->config, "kind");
    const cs_tensor *x = golden_net_input(n, "x");
    bool plant = strcmp(kind, "plant") == 0, layer = strcmp(kind, "layer") == 0;
    cs_seg seg = segments(c, x->shape.dim[0], x->shape.dim[layer ? 2 : 1]);

    c->suffix = "";
    n->x[0] = golden_net_stage(n, x, layer);
    n->x_first[0] = layer;
    cs_mat y = c->enc->forward(&n->cx, c->net, seg, n->x[0]);
    if (!layer)
        golden_net_output(n, "decoder", y, true);
    if (plant) {
        cs_mat pooled = cs_empty(&n->cx, seg.n, y.c);
        cs_seg_window(&n->cx, seg, true, (int64_t)arg(c, "center"), y, pooled);
        golden_net_output(n, "pooled", pooled, false);
        y = pooled;
    }
    if (cs_params_find(&n->ps, "classifier.linear.weight") >= 0)
        y = golden_net_linear(n, "classifier.linear", y);
    golden_net_output(n, "logits", y, false);
    if (golden_find(n->g, "output.prob"))
        output_prob(n, y);
    golden_net_loss(n, y, layer);
}

int golden_cdil(golden *g)
{
    int rc = CS_OK;
    const char *kind = golden_text(g->config, "kind");
    struct cdil c = { .args = json_object_get(g->config, "args"),
                      .enc = cs_encoder_find("cdil"), .suffix = "" };

    golden_net_init(&c.n, g);
    c.n.rename = golden_cdil_name;
    c.n.self = &c;
    c.n.cx.block_hook = watch;
    c.n.cx.block_hook_arg = &c;
    if (strcmp(kind, "CONV") == 0) {
        c.n.pass = pass_cnn;
        CS_TRY(build_cnn(&c));
    } else if (strncmp(kind, "human", 5) == 0) {
        c.n.pass = pass_human;
        CS_TRY(build_human(&c));
    } else {
        c.n.pass = strcmp(kind, "checkpoint") == 0 ? NULL : pass_dna;
        CS_TRY(build_dna(&c, kind));
    }
    CS_TRY(golden_net_run(&c.n));
    if (c.n.pass == pass_human && golden_find(g, "input.x_ref"))    /* no series of steps */
        rc = golden_variant(g);
out:
    cs_cdil_free(c.tower);
    cs_cdil_free(c.decoder);
    c.enc->release(c.net);
    golden_net_release(&c.n);
    return rc;
}
