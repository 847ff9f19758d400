/*
 * model_settings.c - the settings of a model as JSON, in the metadata of its file.
 *
 * DESIGN. The settings are one JSON object under "chordseq" in __metadata__, which
 * chordseq-model(5) describes. Options are written and read as text by the command line's tables.
 */
#include "nn/exec/model_settings.h"

#include <string.h>

#include "base/names.h"
#include "nn/exec/lookup_io.h"
#include "nn/exec/proteins_io.h"
#include "registry.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

/* Format 2 has standardized labels, or a tree of the classes of the proteins: a version without
 * them would predict other numbers. */
enum { FORMAT_1 = 1, FORMAT_2 = 2 };

/* Maximum of --window-length; twice as many bases are still far below INT64_MAX. */
#define WINDOW_MAX INT64_C(1000000000000)

/* ---- writing --------------------------------------------------------------------------------- */

json_t *cs_model_part_json(const char *name, const cs_opt *opt, const void *cfg)
{
    json_t *options = json_object();

    for (const cs_opt *o = opt; o && o->type != CS_OPT_END; o++) {
        char *value = cs_opt_value(o, cfg);
        if (value)
            json_object_set_new(options, o->name, json_string(value));
        free(value);
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
        if (l->deviation > 0) {
            json_object_set_new(v, "mean", json_real(l->mean));
            json_object_set_new(v, "deviation", json_real(l->deviation));
        }
        json_array_append_new(a, v);
    }
    return a;
}

static json_t *tokenizer_json(const cs_model *m)
{
    if (!m->tok)
        return json_null();
    json_t *j = cs_model_part_json(m->tok->name, m->tok->opt, m->tok_cfg);
    char *text = m->tok->save ? m->tok->save(m->tok_state) : NULL;
    if (m->tok->save && json_object_set_new(j, "vocabulary", json_string(text)) != 0) {
        json_decref(j);
        j = NULL;                    /* out of memory: reported by cs_model_settings_text() */
    }
    free(text);
    return j;
}

static int format_of(const cs_model *m)
{
    const bool has_tree = (m->proteins && m->proteins->tree.n_set > 1)
                       || (m->lookup && m->lookup->n_label != m->lookup->n_class);

    return has_tree || cs_model_is_standardized(m) ? FORMAT_2 : FORMAT_1;
}

char *cs_model_settings_text(const cs_model *m)
{
    json_t *j = json_object();
    json_t *training = m->training ? json_loads(m->training, 0, NULL) : json_null();
    json_t *taxonomy = m->taxonomy ? json_loads(m->taxonomy, 0, NULL) : json_null();
    json_t *tok = tokenizer_json(m);
    int failed = 0;

    failed |= json_object_set_new(j, "format", json_integer(format_of(m)));
    failed |= json_object_set_new(j, "version", json_string(PACKAGE_VERSION));
    failed |= json_object_set_new(j, "sha256", json_string(m->sum));
    failed |= json_object_set_new(j, "tokenizer", tok);
    if (m->mask >= 0)
        failed |= json_object_set_new(j, "mask", json_integer(m->mask));
    failed |= json_object_set_new(j, "channels", json_integer(m->n_channel));
    failed |= json_object_set_new(j, "encoder", cs_model_part_json(m->enc->name, m->enc->opt,
                                                                   m->enc_cfg));
    failed |= json_object_set_new(j, "head", cs_model_part_json(m->head->name, m->head->opt,
                                                                m->head_cfg));
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
        failed |= json_object_set_new(j, "calls", cs_calibration_conditions_json(&m->calibration));
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
                           "or rename the label with %s", label[i].name, CS_OPTION("label-map"));
        json_decref(j);
    }
    return CS_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

int cs_model_damaged(const char *what, const char *why)
{
    return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: %s", what, why);
}

static int damaged(const cs_model_settings *s, const char *why)
{
    return cs_model_damaged(s->what, why);
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

static int read_option(cs_model_settings *s, const char *part, const cs_opt *opt, void *cfg,
                       const char *name, const json_t *value)
{
    char why[512], number[32];
    const char *text = json_string_value(value);

    if (!text)
        return damaged(s, "an option is not a string");
    if (!opt || !cs_opt_find(opt, name))
        return cs_fail(CS_EMODEL, "'%s' needs a newer chordseq: %s option '%s' is unknown to "
                       "this version", s->what, part, name);
    text = cs_arena_dup(s->text, text, strlen(text));
    if (!text)
        return cs_fail(CS_EMEM, "out of memory for the options of '%s'", s->what);
    if (cs_opt_set(opt, cfg, name, plain_size(cs_opt_find(opt, name), text, number)) == CS_OK)
        return CS_OK;
    snprintf(why, sizeof why, "%s", cs_error_message());
    cs_error_clear();
    return cs_fail(CS_EMODEL, "'%s' has a %s not supported by this version: %s", s->what, part,
                   why);
}

/* Options missing in the file keep their defaults, so versions may add some. */
static int read_options(cs_model_settings *s, const char *part, const cs_opt *opt, size_t size,
                        const json_t *j, void **out)
{
    int rc = CS_OK;
    const char *name;
    json_t *v, *options = json_object_get(j, "options");
    void *cfg = cs_opt_new(opt, size);

    *out = cfg;
    if (!json_is_object(options))
        return damaged(s, "a part has no options");
    json_object_foreach(options, name, v)
        CS_TRY(read_option(s, part, opt, cfg, name, v));
out:
    return rc;
}

static int part_name(const cs_model_settings *s, const char *part, const json_t *j,
                     const char **name)
{
    *name = json_string_value(json_object_get(j, "name"));
    if (*name)
        return CS_OK;
    return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: its %s has no name", s->what,
                   part);
}

static int unknown(const cs_model_settings *s, const char *part, const char *name)
{
    return cs_fail(CS_EMODEL, "'%s' needs %s '%s', which is missing in this version", s->what, part,
                   name);
}

static int read_parts(cs_model_settings *s)
{
    int rc = CS_OK;
    const char *name;
    const json_t *tok = json_object_get(s->j, "tokenizer"), *enc = json_object_get(s->j, "encoder"),
                 *head = json_object_get(s->j, "head");
    cs_model_spec *spec = &s->spec;

    if (!json_is_null(tok)) {
        CS_TRY(part_name(s, "tokenizer", tok, &name));
        if (!(spec->tok = cs_tokenizer_find(name)))
            return unknown(s, "tokenizer", name);
        CS_TRY(read_options(s, "tokenizer", spec->tok->opt, spec->tok->cfg_size, tok, &s->cfg[0]));
        spec->tok_text = json_string_value(json_object_get(tok, "vocabulary"));
        if (spec->tok->restore && !spec->tok_text)
            return damaged(s, "its tokenizer has no vocabulary");
    }
    CS_TRY(part_name(s, "encoder", enc, &name));
    if (!(spec->enc = cs_encoder_find(name)))
        return unknown(s, "encoder", name);
    CS_TRY(read_options(s, "encoder", spec->enc->opt, spec->enc->cfg_size, enc, &s->cfg[1]));
    CS_TRY(part_name(s, "head", head, &name));
    if (!(spec->head = cs_head_find(name)))
        return unknown(s, "head", name);
    CS_TRY(read_options(s, "head", spec->head->opt, spec->head->cfg_size, head, &s->cfg[2]));
out:
    spec->tok_cfg = s->cfg[0];
    spec->enc_cfg = s->cfg[1];
    spec->head_cfg = s->cfg[2];
    return rc;
}

static int read_labels(cs_model_settings *s)
{
    const json_t *a = json_object_get(s->j, "labels");
    size_t n = json_array_size(a);

    if (n == 0 || n > INT32_MAX)
        return damaged(s, "it has no labels");
    s->label = cs_xcalloc(n, sizeof *s->label);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(a, i);
        const char *name = json_string_value(json_object_get(v, "name"));
        const char *rank = json_string_value(json_object_get(v, "rank"));
        const char *about = json_string_value(json_object_get(v, "description"));
        if (!name)
            return damaged(s, "a label has no name");
        if (!cs_name_is_plain(name) || (rank && !cs_name_is_plain(rank))
            || (about && !cs_name_is_plain(about)))
            return damaged(s, "a label's name, rank or description has a control character");
        if (json_number_value(json_object_get(v, "deviation")) < 0)
            return damaged(s, "a label's deviation is negative");
        s->label[i] = (cs_label){ cs_arena_dup(s->text, name, strlen(name)),
                                  json_integer_value(json_object_get(v, "taxid")),
                                  rank ? cs_arena_dup(s->text, rank, strlen(rank)) : NULL,
                                  about ? cs_arena_dup(s->text, about, strlen(about)) : NULL,
                                  json_number_value(json_object_get(v, "mean")),
                                  json_number_value(json_object_get(v, "deviation")) };
        if (!s->label[i].name || (rank && !s->label[i].rank)
            || (about && !s->label[i].description))
            return cs_fail(CS_EMEM, "out of memory for the labels of '%s'", s->what);
    }
    s->spec.label = s->label;
    s->spec.n_label = (int32_t)n;
    return CS_OK;
}

int cs_model_settings_open(cs_model_settings *s, const char *text)
{
    int64_t channels;

    if (!text)
        return damaged(s, "a safetensors file without a 'chordseq' description");
    s->j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_integer(json_object_get(s->j, "format")))
        return damaged(s, "its description is no JSON with a format number");
    const int64_t format = json_integer_value(json_object_get(s->j, "format"));
    if (format != FORMAT_1 && format != FORMAT_2)
        return cs_fail(CS_EMODEL, "'%s' has model format %lld; this version reads %d and %d",
                       s->what, (long long)format, FORMAT_1, FORMAT_2);
    channels = json_integer_value(json_object_get(s->j, "channels"));
    if (channels < 0 || channels > 65536)
        return damaged(s, "its number of channels is impossible");
    s->spec.n_channel = (int32_t)channels;
    s->spec.has_mask = json_object_get(s->j, "mask") != NULL;
    return CS_OK;
}

int cs_model_settings_read(cs_model_settings *s)
{
    int rc = CS_OK;

    CS_TRY(read_parts(s));
    CS_TRY(read_labels(s));
out:
    return rc;
}

/* ---- settings beside the parts --------------------------------------------------------------- */

/* Older files have none. */
static int read_strand(const cs_model_settings *s, cs_strands *strands)
{
    const json_t *j = json_object_get(s->j, "strand");
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
    return damaged(s, "its strand is none of forward, both, max and weighted");
}

static int read_precision(const cs_model_settings *s, cs_precision *p)
{
    const json_t *j = json_object_get(s->j, "precision");
    const char *text = json_string_value(j);

    for (int i = CS_IN_FP32; cs_precision_names[i]; i++)
        if (text && strcmp(text, cs_precision_names[i]) == 0) {
            *p = (cs_precision)i;
            return CS_OK;
        }
    return j ? damaged(s, "the precision that it was checked in is none of ours") : CS_OK;
}

static int read_window(const cs_model_settings *s, int64_t *window)
{
    const json_t *j = json_object_get(s->j, "window");

    *window = json_integer_value(j);
    if (j && (!json_is_integer(j) || *window < 1 || *window > WINDOW_MAX))
        return damaged(s, "its window is not a number of bases");
    return CS_OK;
}

static int read_demonstration(const cs_model_settings *s, bool *demonstration)
{
    const json_t *j = json_object_get(s->j, "demonstration");

    *demonstration = json_is_true(j);
    return !j || json_is_boolean(j) ? CS_OK
         : damaged(s, "'demonstration' is neither true nor false");
}

int cs_model_settings_apply(cs_model_settings *s, cs_model *m)
{
    int rc = CS_OK;
    const json_t *provenance = json_object_get(s->j, "training");
    const json_t *taxonomy = json_object_get(s->j, "taxonomy");

    CS_TRY(read_strand(s, &m->strands));
    CS_TRY(read_precision(s, &m->checked));
    CS_TRY(read_window(s, &m->window));
    CS_TRY(read_demonstration(s, &m->demonstration));
    if (cs_calibration_read(&m->calibration, json_object_get(s->j, "calibration")) != CS_OK ||
        m->calibration.n_class > m->n_label ||
        cs_calibration_conditions_read(&m->calibration, json_object_get(s->j, "calls")) != CS_OK) {
        rc = damaged(s, "its calibration is impossible");
        goto out;
    }
    if (json_is_object(provenance))
        m->training = json_dumps(provenance, JSON_COMPACT);
    if (json_is_array(taxonomy))
        m->taxonomy = json_dumps(taxonomy, JSON_COMPACT);
    snprintf(m->sum, sizeof m->sum, "%s", json_string_value(json_object_get(s->j, "sha256")));
    m->text = s->text;
    s->text = NULL;
out:
    return rc;
}

void cs_model_settings_init(cs_model_settings *s, const char *what)
{
    *s = (cs_model_settings){ .what = what, .text = cs_arena_new() };
}

void cs_model_settings_release(cs_model_settings *s)
{
    for (int i = 0; i < 3; i++)
        free(s->cfg[i]);
    free(s->label);
    cs_arena_free(s->text);
    json_decref(s->j);
}
