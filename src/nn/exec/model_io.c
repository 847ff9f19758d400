/*
 * model_io.c - read and write a model as one safetensors file: tensors and JSON settings.
 *
 * DESIGN
 * Under "chordseq" in __metadata__:
 *
 *   { "format": 1, "version": "0.1.0", "sha256": of all tensors' bytes,
 *     "tokenizer": { "name": "kmer", "options": { "k": "6", ... }, "vocabulary": text of a file
 *                    that an option named, where there is one } or null,
 *     "mask": the token of hidden positions, of a pretrained model; else missing,
 *     "channels": 0,
 *     "encoder": { ... }, "head": { ... },
 *     "precision": "tf32" or "bf16", if validated against predictions in fp32; else missing,
 *     "demonstration": true, if it is one; else missing,
 *     "strand": "forward", "both" or "max": the default of --strand,
 *     "calibration": [ { "from": 0, "temperature": 1.1, "records": 900, "kept": [...] }, ... ],
 *     "proteins": { "acids": 18000000 } of a protein database, if any,
 *     "lookup": { "alphabet": "LVIM,C,...", "k": 12, "sample": 8 } of a look-up table, if any,
 *     "labels": [ { "name": "virus", "taxid": 10239, "rank": "superkingdom",
 *                   "description": "..." }, ... ], all but the name as far as known,
 *     "taxonomy": [ { "taxid": 1, "parent": 0, "rank": "no rank", "name": "root" }, ... ] or null,
 *     "training": { ... } or null }
 *
 * Options are written and read as text by the command line's tables. Reading declares the model
 * first and compares every tensor's name and shape with the file's, so memory is allocated only for
 * tensors in the file.
 */
/* long: writing and reading one format side by side, so that neither changes without the other */
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data.h"
#include "base/file.h"
#include "base/names.h"
#include "base/sha256.h"
#include "nn/exec/lookup_io.h"
#include "nn/exec/proteins_io.h"
#include "nn/exec/model.h"
#include "nn/exec/safetensors.h"
#include "registry.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

enum { FORMAT = 1 };

/* ---- saving ------------------------------------------------------------------------------ */

static json_t *part_json(const char *name, const cs_opt *opt, const void *cfg)
{
    json_t *options = json_object();
    char text[1024];

    for (const cs_opt *o = opt; o && o->type != CS_OPT_END; o++) {
        int n = o->type == CS_OPT_GROUP ? 0 : cs_opt_text(o, cfg, text, sizeof text);
        CS_BUG(n >= (int)sizeof text);
        if (n > 0)
            json_object_set_new(options, o->name, json_string(text));
    }
    return json_pack("{s:s, s:o}", "name", name, "options", options);
}

static json_t *labels_json(const cs_model *m)
{
    json_t *a = json_array();

    for (int32_t i = 0; i < m->n_label; i++) {
        const cs_label *l = &m->label[i];
        json_t *v = json_pack("{s:s}", "name", l->name);
        if (l->taxid)
            json_object_set_new(v, "taxid", json_integer(l->taxid));
        if (l->rank)
            json_object_set_new(v, "rank", json_string(l->rank));
        if (l->description)
            json_object_set_new(v, "description", json_string(l->description));
        json_array_append_new(a, v);
    }
    return a;
}

static json_t *tokenizer_json(const cs_model *m)
{
    if (!m->tok)
        return json_null();
    json_t *j = part_json(m->tok->name, m->tok->opt, m->tok_cfg);
    char *text = m->tok->save ? m->tok->save(m->tok_state) : NULL;
    if (m->tok->save && json_object_set_new(j, "vocabulary", json_string(text)) != 0) {
        json_decref(j);
        j = NULL;                    /* out of memory: reported by model_io_describe() */
    }
    free(text);
    return j;
}

/* The text of the metadata; NULL if a name is not UTF-8 or when out of memory. */
static char *model_io_describe(const cs_model *m)
{
    json_t *j = json_object();
    json_t *training = m->training ? json_loads(m->training, 0, NULL) : json_null();
    json_t *taxonomy = m->taxonomy ? json_loads(m->taxonomy, 0, NULL) : json_null();
    json_t *tok = tokenizer_json(m);
    int failed = 0;

    failed |= json_object_set_new(j, "format", json_integer(FORMAT));
    failed |= json_object_set_new(j, "version", json_string(PACKAGE_VERSION));
    failed |= json_object_set_new(j, "sha256", json_string(m->sum));
    failed |= json_object_set_new(j, "tokenizer", tok);
    if (m->mask >= 0)
        failed |= json_object_set_new(j, "mask", json_integer(m->mask));
    failed |= json_object_set_new(j, "channels", json_integer(m->n_channel));
    failed |= json_object_set_new(j, "encoder", part_json(m->enc->name, m->enc->opt, m->enc_cfg));
    failed |= json_object_set_new(j, "head", part_json(m->head->name, m->head->opt, m->head_cfg));
    if (m->window > 0)
        failed |= json_object_set_new(j, "window", json_integer(m->window));
    if (m->demonstration)
        failed |= json_object_set_new(j, "demonstration", json_true());
    if (m->checked != CS_IN_FP32)
        failed |= json_object_set_new(j, "precision",
                                      json_string(cs_precision_names[m->checked]));
    failed |= json_object_set_new(j, "strand", json_string(cs_strands_names[m->strands]));
    failed |= json_object_set_new(j, "calibration", cs_calibration_json(&m->calibration));
    if (m->calibration.max_error > 0)
        failed |= json_object_set_new(j, "calls", cs_calibration_stated_json(&m->calibration));
    if (m->lookup)
        failed |= json_object_set_new(j, "lookup", cs_lookup_json(m->lookup));
    if (m->proteins)
        failed |= json_object_set_new(j, "proteins", cs_proteins_json(m->proteins));
    failed |= json_object_set_new(j, "labels", labels_json(m));
    failed |= json_object_set_new(j, "taxonomy", taxonomy);
    failed |= json_object_set_new(j, "training", training);
    failed |= json_array_size(json_object_get(j, "labels")) != (size_t)m->n_label;
    char *text = failed ? NULL : json_dumps(j, JSON_COMPACT);
    json_decref(j);
    return text;
}

int cs_model_check_labels(const cs_label *label, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        json_t *j = json_string(label[i].name);
        if (!cs_name_is_plain(label[i].name)) {
            json_decref(j);
            return cs_fail(CS_EFORMAT, "the label '%s' contains a tab, newline or other control "
                           "character; rename it", label[i].name);
        }
        if (!j)
            return cs_fail(CS_EFORMAT, "the label '%s' is not UTF-8; convert its file (iconv), "
                           "or rename the label with --label-map", label[i].name);
        json_decref(j);
    }
    return CS_OK;
}

/* Every tensor as float32, in the order of declaration; t's data points into *values. */
static int model_io_collect(const cs_model *m, bool ema, const char *name, cs_tensor *t,
                            float **values)
{
    const cs_params *ps = &m->ps;
    int rc = CS_OK;
    cs_real *raw = cs_alloc((size_t)ps->n_real, sizeof *raw);
    float *v = cs_alloc((size_t)ps->n_real, sizeof *v);

    if (!raw || !v)
        rc = cs_fail(CS_EMEM, "out of memory: cannot copy %lld parameters", (long long)ps->n_real);
    for (int32_t i = 0; rc == CS_OK && i < ps->n; i++) {
        const cs_param *p = &ps->p[i];
        /* Running statistics are averages already. */
        const cs_real *slab = ema && !p->buffer ? ps->ema : ps->value;
        m->be->op.download(m->be, raw, slab + p->off, (size_t)p->n * sizeof *raw);
        for (int64_t k = 0; k < p->n && rc == CS_OK; k++) {
            v[p->off + k] = (float)raw[k];
            if (!isfinite(v[p->off + k]))    /* could not be loaded */
                rc = cs_fail(CS_EMODEL, "cannot save '%s': tensor '%s' holds values that are not "
                             "finite: training diverged; lower the learning rate or clip the "
                             "gradient", name, p->name);
        }
        t[i] = (cs_tensor){ p->name, CS_F32, p->shape, p->n, (const unsigned char *)(v + p->off) };
    }
    free(raw);
    *values = v;
    return rc;
}

static void checksum(const cs_tensor *t, int32_t n, char sum[65])
{
    cs_sha256 s;

    cs_sha256_init(&s);
    for (int32_t i = 0; i < n; i++)
        cs_sha256_add(&s, t[i].data, (size_t)t[i].n * cs_dtype_bytes(t[i].dtype));
    cs_sha256_hex(&s, sum);
}

int cs_model_write(cs_model *m, bool ema, cs_outfile *f)
{
    int rc = CS_OK;
    float *values = NULL;
    char *text = NULL;
    uint8_t *packed = NULL;
    const int32_t n_lookup = m->lookup ? CS_LOOKUP_TENSORS : 0,
                  n = m->ps.n + n_lookup + (m->proteins ? CS_PROTEIN_TENSORS : 0);
    cs_tensor *t = cs_xcalloc((size_t)n, sizeof *t);

    CS_BUG(ema && !m->ps.ema);
    CS_TRY(m->be->op.sync(m->be));
    CS_TRY(model_io_collect(m, ema, cs_outfile_name(f), t, &values));
    cs_lookup_tensors(m->lookup, t + m->ps.n);
    CS_TRY(cs_proteins_tensors(m->proteins, t + m->ps.n + n_lookup, &packed));
    checksum(t, n, m->sum);
    text = model_io_describe(m);
    if (text)
        rc = cs_safetensors_write(f, t, (size_t)n, &(cs_meta){ "chordseq", text }, 1);
    else
        rc = cs_fail(CS_EUSAGE, "cannot save '%s': a label is not UTF-8, or out of memory",
                     cs_outfile_name(f));
out:
    CS_FREE(text, values, t, packed);
    return rc;
}

int cs_model_save(cs_model *m, const char *path, bool ema)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open_as(path, NULL, CS_OUT_BINARY, &f));
    CS_TRY(cs_model_write(m, ema, f));
    rc = cs_outfile_close(f);
    f = NULL;
out:
    cs_outfile_discard(f);
    return rc;
}

/* ---- loading ----------------------------------------------------------------------------- */

/* State of loading a model. */
struct loading {
    const char     *what;
    cs_safetensors *file;
    json_t         *j;
    cs_model_spec   spec;
    void           *cfg[3];      /* tokenizer, encoder, head */
    cs_label       *label;
    cs_arena       *text;
};

static int damaged(const struct loading *l, const char *why)
{
    return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: %s", l->what, why);
}

/* Files of versions before 0.1.0 have sizes as 8k, which were 8192 then. */
static const char *plain_size(const cs_opt *o, const char *text, char number[32])
{
    int64_t v;
    const size_t n = strlen(text);

    (void)snprintf(number, 32, "%si", text);
    if (o->type != CS_OPT_SIZE || n == 0 || n > 20 || cs_parse_bytes(number, &v) != CS_OK)
        return text;
    (void)snprintf(number, 32, "%lld", (long long)v);
    return number;
}

static int read_option(struct loading *l, const char *part, const cs_opt *opt, void *cfg,
                       const char *name, const json_t *value)
{
    char why[512], number[32];
    const char *text = json_string_value(value);

    if (!text)
        return damaged(l, "an option is not a string");
    if (!opt || !cs_opt_find(opt, name))
        return cs_fail(CS_EMODEL, "'%s' needs a newer chordseq: %s option '%s' is unknown to "
                       "this version", l->what, part, name);
    text = cs_arena_dup(l->text, text, strlen(text));
    if (!text)
        return cs_fail(CS_EMEM, "out of memory for the options of '%s'", l->what);
    if (cs_opt_set(opt, cfg, name, plain_size(cs_opt_find(opt, name), text, number)) == CS_OK)
        return CS_OK;
    snprintf(why, sizeof why, "%s", cs_error_message());
    cs_error_clear();
    return cs_fail(CS_EMODEL, "'%s' has a %s not supported by this version: %s", l->what, part,
                   why);
}

/* Options missing in the file keep their defaults, so versions may add some. */
static int read_options(struct loading *l, const char *part, const cs_opt *opt, size_t size,
                        const json_t *j, void **out)
{
    int rc = CS_OK;
    const char *name;
    json_t *v, *options = json_object_get(j, "options");
    void *cfg = cs_xcalloc(1, size ? size : 1);

    *out = cfg;
    if (opt)
        cs_opt_defaults((const cs_optset[]){ { opt, cfg, NULL }, { 0 } });
    if (!json_is_object(options))
        return damaged(l, "a part has no options");
    json_object_foreach(options, name, v)
        CS_TRY(read_option(l, part, opt, cfg, name, v));
out:
    return rc;
}

static int part_name(const struct loading *l, const char *part, const json_t *j, const char **name)
{
    *name = json_string_value(json_object_get(j, "name"));
    if (*name)
        return CS_OK;
    return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: its %s has no name", l->what,
                   part);
}

static int unknown(const struct loading *l, const char *part, const char *name)
{
    return cs_fail(CS_EMODEL, "'%s' needs %s '%s', which is missing in this version", l->what, part,
                   name);
}

static int read_parts(struct loading *l)
{
    int rc = CS_OK;
    const char *name;
    const json_t *tok = json_object_get(l->j, "tokenizer"), *enc = json_object_get(l->j, "encoder"),
                 *head = json_object_get(l->j, "head");
    cs_model_spec *s = &l->spec;

    if (!json_is_null(tok)) {
        CS_TRY(part_name(l, "tokenizer", tok, &name));
        if (!(s->tok = cs_tokenizer_find(name)))
            return unknown(l, "tokenizer", name);
        CS_TRY(read_options(l, "tokenizer", s->tok->opt, s->tok->cfg_size, tok, &l->cfg[0]));
        s->tok_text = json_string_value(json_object_get(tok, "vocabulary"));
        if (s->tok->restore && !s->tok_text)
            return damaged(l, "its tokenizer has no vocabulary");
    }
    CS_TRY(part_name(l, "encoder", enc, &name));
    if (!(s->enc = cs_encoder_find(name)))
        return unknown(l, "encoder", name);
    CS_TRY(read_options(l, "encoder", s->enc->opt, s->enc->cfg_size, enc, &l->cfg[1]));
    CS_TRY(part_name(l, "head", head, &name));
    if (!(s->head = cs_head_find(name)))
        return unknown(l, "head", name);
    CS_TRY(read_options(l, "head", s->head->opt, s->head->cfg_size, head, &l->cfg[2]));
out:
    s->tok_cfg = l->cfg[0];
    s->enc_cfg = l->cfg[1];
    s->head_cfg = l->cfg[2];
    return rc;
}

static int read_labels(struct loading *l)
{
    const json_t *a = json_object_get(l->j, "labels");
    size_t n = json_array_size(a);

    if (n == 0 || n > INT32_MAX)
        return damaged(l, "it has no labels");
    l->label = cs_xcalloc(n, sizeof *l->label);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(a, i);
        const char *name = json_string_value(json_object_get(v, "name"));
        const char *rank = json_string_value(json_object_get(v, "rank"));
        const char *about = json_string_value(json_object_get(v, "description"));
        if (!name)
            return damaged(l, "a label has no name");
        if (!cs_name_is_plain(name) || (rank && !cs_name_is_plain(rank))
            || (about && !cs_name_is_plain(about)))
            return damaged(l, "a label's name, rank or description has a control character");
        l->label[i] = (cs_label){ cs_arena_dup(l->text, name, strlen(name)),
                                  json_integer_value(json_object_get(v, "taxid")),
                                  rank ? cs_arena_dup(l->text, rank, strlen(rank)) : NULL,
                                  about ? cs_arena_dup(l->text, about, strlen(about)) : NULL };
        if (!l->label[i].name || (rank && !l->label[i].rank)
            || (about && !l->label[i].description))
            return cs_fail(CS_EMEM, "out of memory for the labels of '%s'", l->what);
    }
    l->spec.label = l->label;
    l->spec.n_label = (int32_t)n;
    return CS_OK;
}

static int check_sum(const struct loading *l)
{
    const char *want = json_string_value(json_object_get(l->j, "sha256"));
    char sum[65];
    size_t n;
    const unsigned char *p = cs_safetensors_data(l->file, &n);
    cs_sha256 s;

    if (!want)
        return damaged(l, "it has no checksum");
    cs_sha256_init(&s);
    cs_sha256_add(&s, p, n);
    cs_sha256_hex(&s, sum);
    if (strcmp(sum, want) != 0)
        return damaged(l, "its checksum does not fit its weights; fetch the file again");
    return CS_OK;
}

static int read_description(struct loading *l)
{
    int rc = CS_OK;
    const char *text = cs_safetensors_meta(l->file, "chordseq");
    int64_t channels;

    if (!text)
        return damaged(l, "a safetensors file without a 'chordseq' description");
    l->j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_integer(json_object_get(l->j, "format")))
        return damaged(l, "its description is no JSON with a format number");
    if (json_integer_value(json_object_get(l->j, "format")) != FORMAT)
        return cs_fail(CS_EMODEL, "'%s' has model format %lld; this version reads %d", l->what,
                       json_integer_value(json_object_get(l->j, "format")), FORMAT);
    channels = json_integer_value(json_object_get(l->j, "channels"));
    if (channels < 0 || channels > 65536)
        return damaged(l, "its number of channels is impossible");
    l->spec.n_channel = (int32_t)channels;
    l->spec.has_mask = json_object_get(l->j, "mask") != NULL;
    CS_TRY(check_sum(l));
    CS_TRY(read_parts(l));
    CS_TRY(read_labels(l));
out:
    return rc;
}

/* Older files have none. */
static int read_strand(const struct loading *l, cs_strands *strands)
{
    const json_t *j = json_object_get(l->j, "strand");
    const char *text = json_string_value(j);

    *strands = CS_STRANDS_FORWARD;
    if (!j)
        return CS_OK;
    for (int i = 0; text && cs_strands_names[i]; i++) {
        if (strcmp(text, cs_strands_names[i]) == 0) {
            *strands = (cs_strands)i;
            return CS_OK;
        }
    }
    return damaged(l, "its strand is none of forward, both and max");
}

static int read_precision(const struct loading *l, cs_precision *p)
{
    const json_t *j = json_object_get(l->j, "precision");
    const char *text = json_string_value(j);

    for (int i = CS_IN_FP32; cs_precision_names[i]; i++)
        if (text && strcmp(text, cs_precision_names[i]) == 0) {
            *p = (cs_precision)i;
            return CS_OK;
        }
    return j ? damaged(l, "the precision that it was checked in is none of ours") : CS_OK;
}

static int read_window(const struct loading *l, int64_t *window)
{
    const json_t *j = json_object_get(l->j, "window");

    *window = json_integer_value(j);
    if (j && (!json_is_integer(j) || *window < 1))
        return damaged(l, "its window is not a number of bases");
    return CS_OK;
}

static int read_demonstration(const struct loading *l, bool *demonstration)
{
    const json_t *j = json_object_get(l->j, "demonstration");

    *demonstration = json_is_true(j);
    return !j || json_is_boolean(j) ? CS_OK
         : damaged(l, "'demonstration' is neither true nor false");
}

static bool same_shape(const cs_shape *a, const cs_shape *b)
{
    return a->n_dim == b->n_dim
        && memcmp(a->dim, b->dim, (size_t)a->n_dim * sizeof a->dim[0]) == 0;
}

static int check_tensors(const struct loading *l, const cs_params *ps)
{
    for (int32_t i = 0; i < ps->n; i++) {
        const cs_tensor *t = cs_safetensors_find(l->file, ps->p[i].name);
        if (!t)
            return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: tensor '%s' is "
                                       "missing",
                           l->what, ps->p[i].name);
        if (!same_shape(&t->shape, &ps->p[i].shape) || t->dtype >= CS_I64)
            return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: tensor '%s' has the "
                           "wrong shape or type", l->what, t->name);
    }
    const int32_t n_lookup = json_object_get(l->j, "lookup") ? CS_LOOKUP_TENSORS : 0,
                  n_protein = json_object_get(l->j, "proteins") ? CS_PROTEIN_TENSORS : 0;
    const cs_tensor *extra = cs_safetensors_at(l->file, (size_t)(ps->n + n_lookup + n_protein));
    if (extra)
        return damaged(l, "it holds tensors that do not belong to it");
    return CS_OK;
}

static int read_tensor(const struct loading *l, const cs_params *ps, const cs_param *p)
{
    const cs_tensor *t = cs_safetensors_find(l->file, p->name);
    cs_real buf[1024];

    for (int64_t i = 0; i < p->n; i += 1024) {
        int64_t n = p->n - i < 1024 ? p->n - i : 1024;
        for (int64_t k = 0; k < n; k++) {
            buf[k] = (cs_real)cs_tensor_get(t, i + k);
            if (!isfinite(buf[k]))
                return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: tensor '%s' "
                               "holds values that are not finite", l->what, p->name);
        }
        ps->be->op.upload(ps->be, ps->value + p->off + i, buf, (size_t)n * sizeof *buf);
    }
    return CS_OK;
}

/* The tensors' names show which layers are factorised. */
static int64_t rank_in_file(const void *arg, const char *name, int32_t n_out, int32_t n_in)
{
    const struct loading *l = arg;
    char first[256];

    (void)n_out;
    (void)n_in;
    snprintf(first, sizeof first, "%s_a", name);
    const cs_tensor *t = cs_safetensors_find(l->file, first);
    return t && t->shape.n_dim == 2 ? t->shape.dim[0] : 0;
}

static int read_lookup(const struct loading *l, cs_model *m)
{
    const json_t *j = json_object_get(l->j, "lookup");
    const int32_t n_class = cs_model_takes_lookup(m) ? m->n_label : 0;

    return j ? cs_lookup_read(j, l->file, l->what, n_class, &m->lookup) : CS_OK;
}

static int read_proteins(const struct loading *l, cs_model *m)
{
    const json_t *j = json_object_get(l->j, "proteins");
    const int32_t n_class = cs_model_takes_proteins(m) ? m->n_label : 0;

    return j ? cs_proteins_read(j, l->file, l->what, n_class, &m->proteins) : CS_OK;
}

static int build(struct loading *l, cs_backend *be, bool training, cs_model **out)
{
    int rc = CS_OK;
    cs_model *m = NULL;
    const json_t *provenance = json_object_get(l->j, "training");
    const json_t *taxonomy = json_object_get(l->j, "taxonomy");

    l->spec.training = training;
    l->spec.ranks = (cs_ranks){ rank_in_file, l };
    CS_TRY(cs_model_declare(&l->spec, be, &m));
    if (l->spec.has_mask && json_integer_value(json_object_get(l->j, "mask")) != m->mask) {
        rc = damaged(l, "its token for what is hidden is not the one that its tokenizer gives");
        goto out;
    }
    CS_TRY(check_tensors(l, &m->ps));
    CS_TRY(read_lookup(l, m));
    CS_TRY(read_proteins(l, m));
    CS_TRY(cs_params_alloc(&m->ps, be, training));
    for (int32_t i = 0; i < m->ps.n; i++)
        CS_TRY(read_tensor(l, &m->ps, &m->ps.p[i]));
    CS_TRY(read_strand(l, &m->strands));
    CS_TRY(read_precision(l, &m->checked));
    CS_TRY(read_window(l, &m->window));
    CS_TRY(read_demonstration(l, &m->demonstration));
    if (cs_calibration_read(&m->calibration, json_object_get(l->j, "calibration")) != CS_OK ||
        m->calibration.n_class > m->n_label ||
        cs_calibration_stated_read(&m->calibration, json_object_get(l->j, "calls")) != CS_OK) {
        rc = damaged(l, "its calibration is impossible");
        goto out;
    }
    if (json_is_object(provenance))
        m->training = json_dumps(provenance, JSON_COMPACT);
    if (json_is_array(taxonomy))
        m->taxonomy = json_dumps(taxonomy, JSON_COMPACT);
    snprintf(m->sum, sizeof m->sum, "%s", json_string_value(json_object_get(l->j, "sha256")));
    m->text = l->text;
    l->text = NULL;
    *out = m;
    m = NULL;
out:
    cs_model_free(m);
    return rc;
}

/* Takes the file over. */
static int load(cs_safetensors *file, const char *what, cs_backend *be, bool training,
                cs_model **out)
{
    int rc = CS_OK;
    struct loading l = { .what = what, .file = file, .text = cs_arena_new() };

    CS_TRY(read_description(&l));
    CS_TRY(build(&l, be, training, out));
out:
    /* Incompatible settings are a usage error on the command line; in a file they are the
     * model's. */
    if (rc == CS_EUSAGE)
        rc = CS_EMODEL;
    for (int i = 0; i < 3; i++)
        free(l.cfg[i]);
    free(l.label);
    cs_arena_free(l.text);
    json_decref(l.j);
    cs_safetensors_close(file);
    return rc;
}

int cs_model_parse(const void *p, size_t n_bytes, const char *what, cs_backend *be, bool training,
                   cs_model **out)
{
    cs_safetensors *file;
    int rc = cs_safetensors_parse(p, n_bytes, what, &file);

    *out = NULL;
    return rc == CS_OK ? load(file, what, be, training, out) : rc;
}

int cs_model_load(const char *path, cs_backend *be, bool training, cs_model **out)
{
    cs_safetensors *file;
    int rc = cs_safetensors_open(path, &file);

    *out = NULL;
    return rc == CS_OK ? load(file, path, be, training, out) : rc;
}

/* ---- finding ----------------------------------------------------------------------------- */

/* A model that comes with the program, unless a file has that name. */
static bool find_named(const char *name, char *buf, size_t n_buf)
{
    char file[64];

    if (strchr(name, '/') || access(name, F_OK) == 0)
        return false;
    if ((size_t)snprintf(file, sizeof file, "model/%s.safetensors", name) >= sizeof file)
        return false;
    return cs_data_find(file, buf, n_buf);
}

/* The path of a model file, or of that in a folder of `model export`. */
static int find_path(const char *path, char *buf, size_t n_buf)
{
    struct stat st;
    const bool is_dir = stat(path, &st) == 0 && S_ISDIR(st.st_mode);

    if ((size_t)snprintf(buf, n_buf, "%s%s", path, is_dir ? "/model.safetensors" : "") >= n_buf)
        return cs_fail(CS_EUSAGE, "the model's path is longer than %zu bytes", n_buf);
    if (is_dir && access(buf, F_OK) != 0)
        return cs_fail(CS_EIO, "folder '%s' has no model.safetensors", path);
    return CS_OK;
}

int cs_model_find(const char *opt, const char *file, char *buf, size_t n_buf)
{
    const char *path = opt ? opt : getenv("CHORDSEQ_MODEL");

    if (opt && !*opt)
        return cs_fail(CS_EUSAGE, "the model's name is empty; is a shell variable unset?");
    if (path && *path)
        return find_named(path, buf, n_buf) ? CS_OK : find_path(path, buf, n_buf);
    if (cs_data_find(file, buf, n_buf))
        return CS_OK;
    return cs_fail(CS_EMODEL, "no model at '%s'; give one with --model or CHORDSEQ_MODEL", buf);
}

int cs_model_find_default(const char *opt, char *buf, size_t n_buf)
{
    return cs_model_find(opt, "model/default.safetensors", buf, n_buf);
}
