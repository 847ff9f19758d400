/* model_export.c - export a model as a folder for model hubs. */
#include "run/model_export.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"
#include "base/sha256.h"
#include "infer/taxa.h"
#include "io/json_text.h"
#include "nn/exec/model_settings.h"
#include "run/outputs.h"

enum { PATH_BYTES = 4096, SYMBOL_BYTES = 64 };

/* Writes a JSON value and frees it. */
static int write_json(cs_outfile *f, json_t *j)
{
    const int rc = cs_outfile_json(f, j, JSON_INDENT(2), cs_outfile_name(f));

    json_decref(j);
    return rc;
}

/* ---- settings -------------------------------------------------------------------------------- */

static json_t *settings_json(const cs_model *m)
{
    json_t *o = json_object();

    json_object_set_new(o, "tokenizer", m->tok == NULL ? json_null()
                        : cs_model_part_json(m->tok->name, m->tok->opt, m->tok_cfg));
    json_object_set_new(o, "encoder", cs_model_part_json(m->enc->name, m->enc->opt, m->enc_cfg));
    json_object_set_new(o, "head", cs_model_part_json(m->head->name, m->head->opt, m->head_cfg));
    return o;
}

/* Names of the transformers library. */
static const char *problem_type(const cs_model *m)
{
    return m->head->is_class ? "single_label_classification"
         : m->head->is_labels ? "multi_label_classification" : "regression";
}

static int write_config(const cs_model *m, cs_outfile *f)
{
    json_t *o = json_pack("{s:s, s:[s], s:s, s:i, s:i}", "model_type", "chordseq", "architectures",
                          m->enc->name, "chordseq_version", PACKAGE_VERSION, "hidden_size",
                          (int)m->width, "num_labels", (int)m->n_label);
    json_t *names = json_object(), *numbers = json_object();
    char number[16];

    for (int32_t i = 0; i < m->n_label; i++) {
        (void)snprintf(number, sizeof number, "%d", (int)i);
        json_object_set_new(names, number, json_string(m->label[i].name));
        json_object_set_new(numbers, m->label[i].name, json_integer(i));
    }
    json_object_set_new(o, "id2label", names);
    json_object_set_new(o, "label2id", numbers);
    json_object_set_new(o, "problem_type", json_string(problem_type(m)));
    json_object_set_new(o, "torch_dtype", json_string("float32"));
    const int64_t max_len = cs_model_max_len(m);
    json_object_set_new(o, "max_length", max_len > 0 ? json_integer(max_len) : json_null());
    if (m->tok != NULL)
        json_object_set_new(o, "vocab_size", json_integer(cs_model_n_token(m)));
    else
        json_object_set_new(o, "num_channels", json_integer(m->n_channel));
    json_object_set_new(o, "chordseq", settings_json(m));
    return write_json(f, o);
}

/* A vocabulary from such a file is written as one. */
static int write_saved(const cs_model *m, cs_outfile *f)
{
    char *text = m->tok->save(m->tok_state);
    const int rc = text != NULL ? cs_outfile_text(f, text)
                                : cs_fail(CS_EMEM, "out of memory for the vocabulary");

    free(text);
    return rc;
}

/* The full vocabulary, for other programs. */
static int write_tokenizer(const cs_model *m, cs_outfile *f)
{
    if (m->tok != NULL && m->tok->save != NULL)
        return write_saved(m, f);
    json_t *o = m->tok == NULL ? json_pack("{s:s, s:i}", "type", "real", "channels",
                                           (int)m->n_channel)
                               : cs_model_part_json(m->tok->name, m->tok->opt, m->tok_cfg);
    json_t *vocab = json_object();
    char symbol[SYMBOL_BYTES];

    for (int32_t id = 0; m->tok != NULL && id < m->tok->n_vocab(m->tok_state); id++) {
        m->tok->symbol(m->tok_state, id, symbol, sizeof symbol);
        json_object_set_new(vocab, symbol, json_integer(id));
    }
    if (m->mask >= 0) {
        json_object_set_new(vocab, "[MASK]", json_integer(m->mask));
        json_object_set_new(o, "mask_id", json_integer(m->mask));
    }
    if (m->tok != NULL) {
        json_object_set_new(o, "pad_id", json_integer(CS_TOK_PAD));
        json_object_set_new(o, "unk_id", json_integer(CS_TOK_UNK));
    }
    json_object_set_new(o, "vocab", vocab);
    return write_json(f, o);
}

static int write_labels(const cs_model *m, cs_outfile *f)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "#index\tname\ttaxid\trank\n"));
    for (int32_t i = 0; i < m->n_label; i++) {
        const cs_label *l = &m->label[i];
        CS_TRY(cs_outfile_printf(f, "%d\t%s\t%lld\t%s\n", (int)i, l->name, (long long)l->taxid,
                                 l->rank != NULL ? l->rank : "."));
    }
out:
    return rc;
}

/* In the format of --taxonomy. Ancestors are referred to by taxid: names may repeat. */
static int write_taxonomy(const cs_model *m, cs_outfile *f)
{
    int rc = CS_OK;
    cs_taxonomy *t = NULL;

    CS_TRY(cs_taxa_of(m, "the model", &t));
    CS_TRY(cs_outfile_printf(f, "#name\ttaxid\trank\tparent\tscientific name\n"));
    for (int32_t i = 1; i < t->n; i++) {
        const cs_taxon *v = &t->node[i];
        if (v->class_no >= 0)
            CS_TRY(cs_outfile_printf(f, "%s", m->label[v->class_no].name));
        else
            CS_TRY(cs_outfile_printf(f, "%lld", (long long)v->taxid));
        CS_TRY(cs_outfile_printf(f, "\t%lld\t%s\t%lld\t%s\n", (long long)v->taxid, v->rank,
                                 (long long)t->node[v->parent].taxid, v->name));
    }
out:
    cs_taxonomy_free(t);
    return rc;
}

static int write_calibration(const cs_model *m, cs_outfile *f)
{
    return write_json(f, cs_calibration_json(&m->calibration));
}

/* ---- the card -------------------------------------------------------------------------------- */

/* Text of others, such as names of files, also in cells of tables: without markup, on one line. */
static int write_text(cs_outfile *f, const char *s)
{
    int rc = CS_OK;

    for (; *s != '\0' && rc == CS_OK; s++) {
        const bool is_control = (unsigned char)*s < ' ' || *s == 0x7F;
        rc = cs_outfile_printf(f, "%s%c", strchr("\\|`*<[", *s) != NULL ? "\\" : "",
                               is_control ? ' ' : *s);
    }
    return rc;
}

/* A code block. CommonMark 4.5: its fence is longer than any run of backticks in it. */
static int write_block(cs_outfile *f, const char *text)
{
    size_t fence = 3;

    for (const char *s = text; (s = strchr(s, '`')) != NULL;) {
        const size_t n = strspn(s, "`");
        fence = n < fence ? fence : n + 1;
        s += n;
    }
    char *mark = cs_xmalloc(fence + 1);
    memset(mark, '`', fence);
    mark[fence] = '\0';
    const int rc = cs_outfile_printf(f, "%s\n%s\n%s\n", mark, text, mark);
    free(mark);
    return rc;
}

/* Tasks of model hubs. */
static const char *task_of(const cs_model *m)
{
    return cs_model_predicts_masked(m) ? "fill-mask"
         : m->head->per_token ? "token-classification" : "text-classification";
}

/* The validation metrics in the format of hubs (model-index). They are the network's: table and
 * database are added after training. */
static int write_results(const cs_model *m, cs_outfile *f, const json_t *training)
{
    static const struct { const char *key, *type; } figure[] = {
        { "valid_accuracy", "accuracy" }, { "valid_balanced_accuracy", "balanced_accuracy" },
        { "valid_loss", "loss" },
    };
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "model-index:\n- name: chordseq\n  results:\n"
                             "  - task:\n      type: %s\n"
                             "    dataset:\n      name: validation part of the training data%s\n"
                             "      type: sequences\n    metrics:\n", task_of(m),
                             cs_model_has_evidence(m) ? ", the network alone" : ""));
    for (size_t i = 0; i < sizeof figure / sizeof figure[0]; i++) {
        const json_t *v = json_object_get(training, figure[i].key);
        if (json_is_number(v))
            CS_TRY(cs_outfile_printf(f, "    - type: %s\n      value: %.6g\n", figure[i].type,
                                     json_number_value(v)));
    }
out:
    return rc;
}

static int write_front(const cs_model *m, cs_outfile *f, const json_t *training,
                       const char *licence, bool is_class)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "---\nlicense: %s\nlibrary_name: chordseq\n"
                             "tags:\n- biology\n- genomics\n- dna\n- chordseq\n", licence));
    if (is_class)
        CS_TRY(cs_outfile_printf(f, "pipeline_tag: %s\nmetrics:\n- accuracy\n", task_of(m)));
    if (is_class && training != NULL)
        CS_TRY(write_results(m, f, training));
    rc = cs_outfile_printf(f, "---\n\n");
out:
    return rc;
}

static int write_inputs(cs_outfile *f, const json_t *training)
{
    int rc = CS_OK;
    size_t i;
    const json_t *v, *inputs = json_object_get(training, "inputs");

    CS_TRY(cs_outfile_printf(f, "\n| input | bytes | SHA-256 |\n|---|---|---|\n"));
    json_array_foreach(inputs, i, v) {
        const char *name = json_string_value(json_object_get(v, "name"));
        const char *sum = json_string_value(json_object_get(v, "sha256"));
        CS_TRY(cs_outfile_printf(f, "| "));
        CS_TRY(write_text(f, name != NULL ? name : ""));
        CS_TRY(cs_outfile_printf(f, " | %lld | %s |\n",
                                 (long long)json_integer_value(json_object_get(v, "bytes")),
                                 sum != NULL ? sum : ""));
    }
out:
    return rc;
}

/* Rows of counts: records and bases of classes, known targets of labels. */
static int write_counts(cs_outfile *f, json_t *classes, const char *title,
                        const char *const key[4])
{
    int rc = CS_OK;
    const char *name;
    json_t *v;

    CS_TRY(cs_outfile_printf(f, "\n| %s |\n|---|---|---|---|---|\n", title));
    json_object_foreach(classes, name, v) {
        long long n[4];
        for (int k = 0; k < 4; k++)
            n[k] = json_integer_value(json_object_get(v, key[k]));
        CS_TRY(cs_outfile_printf(f, "| "));
        CS_TRY(write_text(f, name));
        CS_TRY(cs_outfile_printf(f, " | %lld | %lld | %lld | %lld |\n", n[0], n[1], n[2], n[3]));
    }
out:
    return rc;
}

static int write_classes(cs_outfile *f, const json_t *training, bool is_class)
{
    static const char *const of_class[] = { "train_records", "train_bases", "valid_records",
                                            "valid_bases" };
    static const char *const of_label[] = { "train_known", "train_positive", "valid_known",
                                            "valid_positive" };
    json_t *classes = json_object_get(training, "classes");

    if (json_object_size(classes) == 0)
        return CS_OK;
    if (is_class)
        return write_counts(f, classes, "class | training records | bases | validation records | "
                            "bases", of_class);
    return write_counts(f, classes, "label | training records where it is known | that have it | "
                        "validation records | that have it", of_label);
}

static int write_use(cs_outfile *f, const cs_model *m)
{
    int rc = CS_OK;
    const bool masked = cs_model_predicts_masked(m), alleles = masked || cs_model_parts(m) == 2;
    const char *command = masked ? "variant --score llr"
                        : alleles ? cs_model_reads_case(m) ? "variant --exons exons.gtf" : "variant"
                        : m->head->per_token ? "predict" : m->tok != NULL ? "classify" : "eval";
    const char *input = alleles ? "--reference genome.fa calls.vcf"
                      : m->tok != NULL ? "sequences.fa" : "series.tsv";

    CS_TRY(cs_outfile_printf(f, "\n## Use\n\nFOLDER is this folder.\n\n```sh\n"
                             "chordseq %s -m FOLDER %s\n```\n", command, input));
    if (m->tok == NULL || m->head->per_token || cs_model_parts(m) == 2)
        return CS_OK;
    rc = cs_outfile_printf(f, "\n```python\nimport chordseq\n\nm = chordseq.load(\"FOLDER\")\n"
                           "table = m.classify({\"contig1\": \"ACGTTGCA\" * 100})\n```\n");
out:
    return rc;
}

/* What the model predicts, of an object. */
static const char *target_of(const cs_model *m)
{
    return cs_model_predicts_masked(m) ? "masked tokens"
         : m->head->per_token ? "the class of every token"
         : m->head->is_class ? "the class" : m->head->is_labels ? "the labels" : "values";
}

static const char *object_of(const cs_model *m)
{
    return m->tok == NULL ? "real-valued sequence"
         : cs_model_parts(m) == 2 ? "variant of a nucleotide sequence" : "nucleotide sequence";
}

static int write_body(cs_outfile *f, const cs_model *m, const json_t *training)
{
    int rc = CS_OK;
    const char *command = json_string_value(json_object_get(training, "command"));
    const json_t *seconds = json_object_get(training, "seconds");

    CS_TRY(cs_outfile_printf(f, "# A chordseq model\n\nPredicts %s of a %s with the encoder '%s': "
                             "%d %s.%s\n\nTensors: SHA-256 `%s`.\n", target_of(m),
                             object_of(m), m->enc->name, (int)m->n_label,
                             m->head->is_class ? CS_PLURAL(m->n_label, "class", "classes")
                             : m->head->is_labels ? CS_PLURAL(m->n_label, "label", "labels")
                             : CS_PLURAL(m->n_label, "value", "values"),
                             m->demonstration ? " A demonstration, not for real data." : "",
                             m->sum));
    CS_TRY(write_use(f, m));
    CS_TRY(cs_outfile_printf(f, "\n## Labels\n\n"));
    for (int32_t i = 0; i < m->n_label; i++) {
        CS_TRY(cs_outfile_printf(f, "- "));
        CS_TRY(write_text(f, m->label[i].name));
        CS_TRY(cs_outfile_printf(f, "\n"));
    }
    if (training == NULL)
        return CS_OK;
    CS_TRY(cs_outfile_printf(f, "\n## Training\n\n"));
    CS_TRY(write_block(f, command != NULL ? command : ""));
    CS_TRY(write_inputs(f, training));
    CS_TRY(write_classes(f, training, m->head->is_class));
    CS_TRY(cs_outfile_printf(f, "\nEpoch %lld, step %lld, %.0f s, seed %lld.\n",
        (long long)json_integer_value(json_object_get(training, "epoch")),
        (long long)json_integer_value(json_object_get(training, "steps")),
        json_number_value(seconds),
        (long long)json_integer_value(json_object_get(training, "seed"))));
    rc = cs_outfile_printf(f, "\n## Limits\n\nValidation metrics hold for sequences like those it "
                           "was trained on%s.\n", m->head->is_class && !m->head->per_token
                           ? "; a sequence of another kind also gets one of the labels" : "");
out:
    return rc;
}

static int write_card(const cs_model *m, const char *licence, cs_outfile *f)
{
    int rc = CS_OK;
    json_t *training = m->training != NULL ? json_loads(m->training, 0, NULL) : NULL;

    CS_TRY(write_front(m, f, training, licence, m->head->is_class));
    rc = write_body(f, m, training);
out:
    json_decref(training);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* In the order of SHA256SUMS, which itself comes last. Model and card are written by hand. */
static const struct {
    const char *name;
    int (*write)(const cs_model *m, cs_outfile *f);
} files[] = {
    { "README.md", NULL },           { "calibration.json", write_calibration },
    { "config.json", write_config }, { "labels.tsv", write_labels },
    { "model.safetensors", NULL },   { "taxonomy.tsv", write_taxonomy },
    { "tokenizer.json", write_tokenizer },
};
enum { CARD, MODEL = 4, SUMS = sizeof files / sizeof files[0], N_FILE };

/* No files for absent parts of a model. */
static bool has_file(const cs_model *m, int i)
{
    if (i == SUMS || files[i].write == NULL)
        return true;
    return files[i].write == write_taxonomy ? m->taxonomy != NULL
         : files[i].write == write_calibration ? m->calibration.n > 0 : true;
}

/* A part of an earlier model would look like this one's. */
static int model_export_open_file(const cs_model *m, const char *dir, int i, cs_outfile **f)
{
    char path[PATH_BYTES];
    const char *name = i == SUMS ? "SHA256SUMS" : files[i].name;

    if (snprintf(path, PATH_BYTES, "%s/%s", dir, name) >= PATH_BYTES)
        return cs_fail(CS_EUSAGE, "the name '%s' is too long", dir);
    if (has_file(m, i))
        return cs_outfile_open(path, f);
    if (access(path, F_OK) == 0)
        return cs_fail(CS_EUSAGE, "'%s' is of another model, this one has none; remove it, or "
                       "choose another folder", path);
    return CS_OK;
}

/* A line for sha256sum -c, of a complete file. */
static int write_sum(int i, cs_outfile *of, cs_outfile *f)
{
    int rc = CS_OK;
    char hex[65];

    CS_TRY(cs_outfile_finish(of));
    if (!cs_outfile_temp_path(of))
        return cs_fail(CS_EIO, "'%s' is not a regular file", cs_outfile_name(of));
    CS_TRY(cs_sha256_file(cs_outfile_temp_path(of), hex));
    rc = cs_outfile_printf(f, "%s  %s\n", hex, files[i].name);
out:
    return rc;
}

static int write_all(cs_model *m, const char *licence, cs_outfile *const f[N_FILE])
{
    int rc = CS_OK;

    for (int i = 0; i < SUMS; i++)
        if (f[i] && files[i].write)
            CS_TRY(files[i].write(m, f[i]));
    CS_TRY(cs_model_write(m, f[MODEL]));
    CS_TRY(write_card(m, licence, f[CARD]));
    for (int i = 0; i < SUMS; i++)
        if (f[i])
            CS_TRY(write_sum(i, f[i], f[SUMS]));
out:
    return rc;
}

int cs_model_export(cs_model *m, const char *dir, const char *licence)
{
    int rc = CS_OK;
    cs_outfile *f[N_FILE] = { NULL };
    cs_outfile **all[N_FILE];
    const bool made = mkdir(dir, 0777) == 0;

    if (!made && errno != EEXIST)
        return cs_fail(CS_EIO, "cannot make folder '%s': %s", dir, strerror(errno));
    for (int i = 0; i < N_FILE; i++) {
        all[i] = &f[i];
        CS_TRY(model_export_open_file(m, dir, i, &f[i]));
    }
    CS_TRY(write_all(m, licence, f));
    rc = cs_outputs_commit(all, N_FILE);
out:
    for (int i = 0; i < N_FILE; i++)
        cs_outfile_discard(f[i]);
    if (rc != CS_OK && made)
        (void)rmdir(dir);
    return rc;
}
