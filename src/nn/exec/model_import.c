/*
 * model_import.c - read the published checkpoints of CDIL for DNA.
 *
 * DESIGN
 * Sizes come from the tensors' shapes, so any checkpoint of that code can be read: layer l has
 * conv1 (hidden, in, taps) and conv2 (out, hidden, taps). They determine the encoder's options; the
 * model is declared, and its tensors must match those of the file one to one.
 */
#include "nn/exec/model_import.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "nn/exec/safetensors.h"
#include "registry.h"

enum { MAX_LAYERS = 48, LIST = 512 };

struct stack { const char *theirs; int32_t n_layer, n_in, hidden, n_tap, width[MAX_LAYERS]; };

struct import {
    const char     *path, *alphabet;
    cs_safetensors *file;
    struct stack    stack[2];
    void           *cfg[3];      /* tokenizer, encoder, head */
    cs_arena       *text;        /* option strings, owned by the model */
};

static int unfit(const struct import *m, const char *why)
{
    return cs_fail(CS_EFORMAT, "'%s' is not a checkpoint of CDIL for DNA: %s", m->path, why);
}

static const cs_tensor *conv(const struct import *m, const struct stack *s, int32_t layer, int no)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%d.conv%d.weight", s->theirs, (int)layer, no);
    const cs_tensor *t = cs_safetensors_find(m->file, name);
    return t && t->shape.n_dim == 3 ? t : NULL;
}

static int misshapen(const struct import *m, const cs_tensor *t)
{
    return cs_fail(CS_EFORMAT, "'%s' is not a checkpoint of CDIL for DNA: tensor '%s' is of "
                   "another shape", m->path, t->name);
}

static bool is_conv(const cs_tensor *t, int32_t out, int32_t in, int32_t n_tap)
{
    return t->n > 0 && t->shape.dim[0] == out && t->shape.dim[1] == in && t->shape.dim[2] == n_tap;
}

/* Do the last layer's convolutions fit each other and the layers before? The first ones decide the
 * model's sizes, which otherwise could be far beyond the file's. */
static int check_layer(const struct import *m, const struct stack *s, const cs_tensor *a,
                       const cs_tensor *b)
{
    const int32_t l = s->n_layer - 1;

    if (!is_conv(a, s->hidden, l > 0 ? s->width[l - 1] : s->n_in, s->n_tap))
        return misshapen(m, a);
    return is_conv(b, s->width[l], s->hidden, s->n_tap) ? CS_OK : misshapen(m, b);
}

static int model_import_measure(struct import *m, struct stack *s)
{
    int rc = CS_OK;
    const cs_tensor *a, *b;

    while (s->n_layer < MAX_LAYERS && (a = conv(m, s, s->n_layer, 1)) != NULL
           && (b = conv(m, s, s->n_layer, 2)) != NULL) {
        if (a->shape.dim[0] > INT16_MAX || a->shape.dim[1] > INT16_MAX || a->shape.dim[2] > 63
            || b->shape.dim[0] > INT16_MAX)
            return unfit(m, "a convolution is too large");
        if (s->n_layer == 0) {
            s->hidden = (int32_t)a->shape.dim[0];
            s->n_in = (int32_t)a->shape.dim[1];
            s->n_tap = (int32_t)a->shape.dim[2];
        }
        s->width[s->n_layer++] = (int32_t)b->shape.dim[0];
        CS_TRY(check_layer(m, s, a, b));
    }
out:
    return rc;
}

static char *list_of(const struct import *m, const struct stack *s)
{
    char text[LIST] = "0";
    size_t used = 0;
    for (int32_t l = 0; l < s->n_layer && used < sizeof text; l++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", l ? "," : "",
                                 (int)s->width[l]);
    return cs_arena_dup(m->text, text, strlen(text));
}

static int set_number(const cs_opt *opt, void *cfg, const char *name, int32_t v)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)v);
    return cs_opt_set(opt, cfg, name, text);
}

static int set_options(struct import *m, const cs_encoder *enc, void *cfg)
{
    int rc = CS_OK;
    const struct stack *a = &m->stack[0], *b = &m->stack[1];
    const cs_opt *o = enc->opt;
    char *channels = list_of(m, a), *decoder = list_of(m, b);
    bool twice = a->hidden == 2 * a->width[0] && (!b->n_layer || b->hidden == 2 * b->width[0]);

    if (!channels || !decoder)
        return cs_fail(CS_EMEM, "out of memory for the options of '%s'", m->path);
    if (!twice && b->n_layer && a->hidden != b->hidden)
        return unfit(m, "its stacks have hidden layers of sizes that do not go together");
    if (b->n_layer && b->n_layer != a->n_layer)
        return unfit(m, "encoder and decoder have different numbers of layers");
    CS_TRY(cs_opt_set(o, cfg, "channels", channels));
    CS_TRY(cs_opt_set(o, cfg, "decoder", decoder));
    CS_TRY(set_number(o, cfg, "layers", a->n_layer));
    CS_TRY(set_number(o, cfg, "input", a->n_in));
    CS_TRY(set_number(o, cfg, "kernel", a->n_tap));
    CS_TRY(set_number(o, cfg, "hidden", twice ? 0 : a->hidden));
    CS_TRY(cs_opt_set(o, cfg, "convs", "two"));
    CS_TRY(cs_opt_set(o, cfg, "norm", "batch"));
    CS_TRY(cs_opt_set(o, cfg, "depth", "all"));
out:
    return rc;
}

static int declare(struct import *m, cs_backend *be, cs_model **out)
{
    int rc = CS_OK;
    const struct stack *last = m->stack[1].n_layer ? &m->stack[1] : &m->stack[0];
    int32_t n_out = last->width[last->n_layer - 1], n_letter = (int32_t)strlen(m->alphabet);
    cs_model_spec s = { .tok = cs_tokenizer_find("base"), .enc = cs_encoder_find("cdil"),
                        .head = cs_head_find("class"), .n_label = n_out };
    cs_label *label = cs_xcalloc((size_t)n_out, sizeof *label);
    char (*name)[24] = cs_xcalloc((size_t)n_out, sizeof *name);

    for (int32_t i = 0; i < n_out; i++) {
        if (n_out == n_letter)
            snprintf(name[i], sizeof name[i], "%c", m->alphabet[i]);
        else
            snprintf(name[i], sizeof name[i], "channel%d", (int)i);
        label[i].name = name[i];
    }
    s.label = label;
    s.tok_cfg = m->cfg[0] = cs_opt_new(s.tok->opt, s.tok->cfg_size);
    s.enc_cfg = m->cfg[1] = cs_opt_new(s.enc->opt, s.enc->cfg_size);
    s.head_cfg = m->cfg[2] = cs_opt_new(s.head->opt, s.head->cfg_size);
    CS_TRY(set_options(m, s.enc, m->cfg[1]));
    CS_TRY(cs_model_new(&s, be, out));
    (*out)->text = m->text;
    m->text = NULL;
out:
    free(label);
    free(name);
    return rc;
}

/* ---- values ------------------------------------------------------------------------------ */

/* "encoder.block.3.norm1.weight" is "encoder.conv_net.3.batch_norm1.weight" there. */
static void torch_name(const struct import *m, const char *ours, char *buf, size_t n_buf)
{
    static const char *const prefix[2] = { "encoder.block.", "encoder.decoder." };
    int i = strncmp(ours, prefix[0], strlen(prefix[0])) == 0 ? 0 : 1;
    const char *rest = ours + strlen(prefix[i]), *norm = strstr(rest, ".norm");

    if (norm)
        snprintf(buf, n_buf, "%s.%.*s.batch_norm%s", m->stack[i].theirs, (int)(norm - rest), rest,
                 norm + 5);
    else
        snprintf(buf, n_buf, "%s.%s", m->stack[i].theirs, rest);
}

static int fill_encoder(const struct import *m, cs_model *model)
{
    const cs_tensor *t;
    size_t n_used = 0, n_given = 0;
    char name[160];

    for (int32_t i = 0; i < model->ps.n; i++) {
        const cs_param *p = &model->ps.p[i];
        if (strncmp(p->name, "encoder.", 8) != 0)
            continue;
        torch_name(m, p->name, name, sizeof name);
        t = cs_safetensors_find(m->file, name);
        if (!t)
            return cs_fail(CS_EFORMAT, "'%s' is not a checkpoint of CDIL for DNA: tensor '%s' is "
                           "missing", m->path, name);
        if (!cs_shape_equal(&t->shape, &p->shape))
            return misshapen(m, t);
        for (int64_t k = 0; k < p->n; k++) {
            cs_real v = (cs_real)cs_tensor_get(t, k);
            if (!isfinite(v))
                return unfit(m, "a value is not finite");
            model->be->op.upload(model->be, model->ps.value + p->off + k, &v, sizeof v);
        }
        n_used++;
    }
    for (size_t i = 0; (t = cs_safetensors_at(m->file, i)) != NULL; i++)
        n_given += strstr(t->name, "num_batches_tracked") == NULL;
    return n_used == n_given ? CS_OK : unfit(m, "it holds tensors of something else");
}

static void set_element(cs_model *m, const char *tensor, int64_t i, cs_real v)
{
    const cs_param *p = &m->ps.p[cs_params_find(&m->ps, tensor)];
    m->be->op.upload(m->be, m->ps.value + p->off + i, &v, sizeof v);
}

/* One-hot vectors for the letters of the tokens, and a head that changes nothing. */
static void fill_rest(const struct import *m, cs_model *model)
{
    int32_t n_in = model->in_width, n_vocab = model->tok->n_vocab(model->tok_state);
    char symbol[32];

    for (int32_t id = 0; id < n_vocab; id++) {
        model->tok->symbol(model->tok_state, id, symbol, sizeof symbol);
        char letter = id == CS_TOK_UNK ? 'n' : (char)tolower((unsigned char)symbol[0]);
        for (int32_t j = 0; j < n_in; j++)
            set_element(model, "embedding.weight", (int64_t)id * n_in + j,
                        id != CS_TOK_PAD && m->alphabet[j] == letter ? 1 : 0);
    }
    for (int32_t i = 0; i < model->n_label; i++)
        for (int32_t j = 0; j < model->width; j++)
            set_element(model, "head.weight", (int64_t)i * model->width + j, i == j ? 1 : 0);
}

int cs_model_import(const char *path, const char *alphabet, cs_backend *be, cs_model **out)
{
    int rc = CS_OK;
    struct import m = { .path = path, .alphabet = alphabet, .text = cs_arena_new(),
                        .stack = { { .theirs = "encoder.conv_net" },
                                   { .theirs = "decoder.conv_net" } } };
    cs_model *model = NULL;

    *out = NULL;
    CS_TRY(cs_safetensors_open(path, &m.file));
    for (int i = 0; i < 2; i++)
        CS_TRY(model_import_measure(&m, &m.stack[i]));
    if (m.stack[0].n_layer == 0) {
        rc = unfit(&m, "it has no tensor 'encoder.conv_net.0.conv1.weight'");
        goto out;
    }
    if ((int32_t)strlen(alphabet) != m.stack[0].n_in) {
        rc = cs_fail(CS_EUSAGE, "'%s' takes %d channels; give their letters in order with "
                     "--alphabet, not '%s'", path, (int)m.stack[0].n_in, alphabet);
        goto out;
    }
    CS_TRY(declare(&m, be, &model));
    CS_TRY(fill_encoder(&m, model));
    fill_rest(&m, model);
    *out = model;
    model = NULL;
out:
    cs_model_free(model);
    cs_safetensors_close(m.file);
    for (int i = 0; i < 3; i++)
        free(m.cfg[i]);
    cs_arena_free(m.text);
    return rc;
}
