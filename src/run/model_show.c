/* model_show.c - the text of `chordseq model show`: purpose, origin, quality, settings, tensors. */
#include "run/model_show.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/outfile.h"
#include "base/mem.h"
#include "base/names.h"
#include "infer/taxa.h"
#include "nn/ops/layer.h"

/* A text of the model file as a field: as JSON if it has tabs, newlines or other control
 * characters, which would break the line or control the terminal. */
static int print_text(cs_outfile *f, const char *text)
{
    if (cs_name_is_plain(text))
        return cs_outfile_text(f, text);
    json_t *j = json_string(text);
    char *escaped = json_dumps(j, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    const int rc = escaped != NULL ? cs_outfile_text(f, escaped)
                                   : cs_fail(CS_EMEM, "out of memory for the model's description");

    free(escaped);
    json_decref(j);
    return rc;
}

static int show_text(cs_outfile *f, const char *before, const char *text, const char *after)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_text(f, before));
    CS_TRY(print_text(f, text));
    rc = cs_outfile_text(f, after);
out:
    return rc;
}

static int show_part(cs_outfile *f, const char *kind, const char *name, const cs_opt *opt,
                     const void *cfg)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "%s\t%s\n", kind, name));
    for (; opt != NULL && opt->type != CS_OPT_END && rc == CS_OK; opt++) {
        char *value = cs_opt_value(opt, cfg);
        if (value != NULL)
            rc = cs_outfile_printf(f, "%s.%s\t%s\n", kind, opt->name, value);
        free(value);
    }
out:
    return rc;
}

static int show_proteins(cs_outfile *f, const cs_proteins *p)
{
    const long long n = p->n, n_acid = p->n_letter - p->n - 1;

    if (p->tree.n_set > 1)
        return cs_outfile_printf(f, "proteins\t%lld\t%lld amino acids\t%d top taxa\n", n, n_acid,
                                 (int)p->tree.first[1]);
    return cs_outfile_printf(f, "proteins\t%lld\t%lld amino acids\n", n, n_acid);
}

static int show_lookup(cs_outfile *f, const cs_lookup *l)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "lookup\t%lld peptide words\tk %d\tone in %d\t%s", (long long)l->n,
                             (int)l->words.k, (int)l->words.sample, l->words.alphabet));
    if (l->n_label != l->n_class)
        CS_TRY(cs_outfile_printf(f, "\t%d top taxa", (int)l->n_class));
    rc = cs_outfile_printf(f, "\n");
out:
    return rc;
}

static int show_settings(cs_outfile *f, const cs_model *m)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "sha256\t%s\n", m->sum));
    if (m->tok != NULL) {
        CS_TRY(show_part(f, "tokenizer", m->tok->name, m->tok->opt, m->tok_cfg));
        CS_TRY(cs_outfile_printf(f, "vocabulary\t%d\n", (int)m->tok->n_vocab(m->tok_state)));
        if (m->mask >= 0)
            CS_TRY(cs_outfile_printf(f, "mask\t%d\n", (int)m->mask));
    } else {
        CS_TRY(cs_outfile_printf(f, "channels\t%d\n", (int)m->n_channel));
    }
    CS_TRY(show_part(f, "encoder", m->enc->name, m->enc->opt, m->enc_cfg));
    CS_TRY(cs_outfile_printf(f, "width\t%d\n", (int)m->width));
    if (cs_params_low_rank(&m->ps) > 0)
        CS_TRY(cs_outfile_printf(f, "low-rank layers\t%d\n", (int)cs_params_low_rank(&m->ps)));
    CS_TRY(show_part(f, "head", m->head->name, m->head->opt, m->head_cfg));
    if (m->checked != CS_IN_FP32)
        CS_TRY(cs_outfile_printf(f, "precision\t%s\n", cs_precision_names[m->checked]));
    CS_TRY(cs_outfile_printf(f, "strand\t%s\n", cs_strands_names[m->strands]));
    if (m->window > 0)
        CS_TRY(cs_outfile_printf(f, "window\t%lld\n", (long long)m->window));
    if (m->lookup != NULL)
        CS_TRY(show_lookup(f, m->lookup));
    if (m->proteins != NULL)
        CS_TRY(show_proteins(f, m->proteins));
    for (int i = 0; i < m->calibration.n; i++) {
        const cs_calibration_bin *b = &m->calibration.bin[i];
        CS_TRY(cs_outfile_printf(f, "calibration\tfrom %lld bases\ttemperature %.3f\t%lld "
                                 "records\n", (long long)b->from, b->temperature,
                                 (long long)b->n));
    }
    for (int32_t i = 0; i < m->n_label; i++) {
        const cs_label *l = &m->label[i];
        CS_TRY(cs_outfile_printf(f, "label %d\t%s", (int)i, l->name));
        if (l->taxid > 0)
            CS_TRY(cs_outfile_printf(f, "\ttaxid %lld\t%s", (long long)l->taxid,
                                     l->rank != NULL ? l->rank : "no rank"));
        CS_TRY(cs_outfile_printf(f, "\n"));
    }
out:
    return rc;
}

/* The model's conditions for calls and the resulting minimum probabilities. */
static int show_calls(cs_outfile *f, const cs_model *m)
{
    int rc = CS_OK;
    const cs_calibration *c = &m->calibration;

    if (!(c->max_error > 0))
        return CS_OK;
    CS_TRY(cs_outfile_printf(f, "calls\testimated error at most %g\tfrom %lld bases on%s\n",
                             c->max_error, (long long)c->shortest, c->has_likeness
                             ? "\tunlike training: by repetition and 6-mers" : ""));
    for (int i = 0; i < c->n; i++) {
        CS_TRY(cs_outfile_printf(f, "calls\tfrom %lld bases", (long long)c->bin[i].from));
        for (int32_t k = 0; k < c->n_class; k++) {
            const double min = cs_calibration_min_prob(c, i, k, c->max_error);
            CS_TRY(min > 1 ? cs_outfile_printf(f, "\t%s never", m->label[k].name)
                             : cs_outfile_printf(f, "\t%s %g", m->label[k].name, min));
        }
        CS_TRY(cs_outfile_printf(f, "\n"));
    }
out:
    return rc;
}

/* ---- purpose, origin, quality ---------------------------------------------------------------- */

enum { N_NAMED = 12 };

static int show_purpose(cs_outfile *f, const cs_model *m)
{
    int rc = CS_OK;
    const char *what = cs_model_parts(m) == 2 ? "probabilities for every alternative allele"
                     : cs_model_predicts_masked(m) ? "masked tokens"
                     : m->head->is_class && m->head->per_token ? "a class for every token"
                     : m->head->is_class ? "a class for every sequence"
                     : m->head->is_labels ? "labels for every sequence"
                     : "values for every sequence";

    const int32_t n = cs_model_n_score(m);
    CS_TRY(cs_outfile_printf(f, "predicts\t%s", what));
    for (int32_t i = 0; i < n && i < N_NAMED; i++)
        CS_TRY(cs_outfile_printf(f, "%s%s", i > 0 ? ", " : ": ", m->label[i].name));
    rc = n <= N_NAMED ? cs_outfile_printf(f, "\n")
                      : cs_outfile_printf(f, " and %d others\n", (int)(n - N_NAMED));
    for (int32_t i = 0; rc == CS_OK && i < m->n_label && i < N_NAMED; i++)
        if (m->label[i].description)
            rc = cs_outfile_printf(f, "meaning\t%s: %s\n", m->label[i].name,
                                   m->label[i].description);
    for (int32_t i = 0; rc == CS_OK && i < m->n_label && i < N_NAMED; i++)
        if (m->label[i].deviation > 0)
            rc = cs_outfile_printf(f, "standardized\t%s: mean %g, standard deviation %g of the "
                                   "training records\n", m->label[i].name, m->label[i].mean,
                                   m->label[i].deviation);
out:
    return rc;
}

/* Pretraining draws windows from contigs, so it counts bases only. */
static int show_amount(cs_outfile *f, const json_t *data, const char *of)
{
    static const char *const key[] = { "train_records", "train_bases", "valid_records",
                                       "valid_bases" };
    long long n[4];

    for (int k = 0; k < 4; k++)
        n[k] = (long long)json_integer_value(json_object_get(data, key[k]));
    if (!json_object_get(data, "train_records"))
        return cs_outfile_printf(f, "trained on\t%lld bases; %lld held out\n", n[1], n[3]);
    return cs_outfile_printf(f, "trained on\t%lld %s, %lld bases; %lld held out\n", n[0], of, n[1],
                             n[2]);
}

static int show_origin(cs_outfile *f, const cs_model *m, const json_t *training)
{
    int rc = CS_OK;
    const json_t *sources = json_object_get(training, "sources");
    const json_t *data = json_object_get(training, "data"),
                 *accuracy = json_object_get(training, "valid_balanced_accuracy");

    if (!json_is_object(data))
        return cs_outfile_printf(f, "trained on\tnot recorded\n");
    CS_TRY(show_amount(f, data, cs_model_parts(m) == 2 ? "labelled alleles" : "records"));
    if (json_is_string(sources))
        CS_TRY(show_text(f, "sources\t", json_string_value(sources), "\n"));
    /* With `train --proteins`, the validation includes them. */
    const bool alone = cs_model_has_evidence(m) &&
                       json_object_get(training, "baseline_without_proteins_balanced") == NULL;
    if (json_is_number(accuracy) && !json_is_array(json_object_get(training, "assays")))
        rc = cs_outfile_printf(f, "validation\tbalanced accuracy %.3f %s%s\n",
                               json_number_value(accuracy),
                               json_object_get(training, "folds") ? "in cross-validation"
                                                                  : "on held-out data",
                               alone ? ", of the network alone" : "");
out:
    return rc;
}

/* Results of a cross-validation, if the model file has them. */
static int show_assays(cs_outfile *f, const json_t *training)
{
    int rc = CS_OK;
    size_t i;
    json_t *a;

    json_array_foreach(json_object_get(training, "assays"), i, a) {
        const char *name, *read, *method;
        /* Files of early versions: "judged". */
        const json_t *how = json_object_get(a, "method") ? json_object_get(a, "method")
                                                         : json_object_get(a, "judged");
        double auroc, low, high;
        json_int_t n, n_positive;
        if (json_unpack(a, "{s:s, s:s, s:F, s:F, s:F, s:I, s:I}", "name", &name, "read", &read,
                        "auroc", &auroc, "low", &low, "high", &high, "variants", &n, "positive",
                        &n_positive) != 0 || (method = json_string_value(how)) == NULL)
            continue;
        CS_TRY(show_text(f, "quality\t", name, ", "));
        CS_TRY(show_text(f, "", read, ""));
        CS_TRY(cs_outfile_printf(f, ": AUROC %.3f, 95 %% interval %.3f to %.3f, of %lld variants, "
                                 "%lld positive", auroc, low, high, (long long)n,
                                 (long long)n_positive));
        CS_TRY(show_text(f, "; ", method, "\n"));
    }
out:
    return rc;
}

static double percent(int64_t n, int64_t of)
{
    return of > 0 ? 100 * (double)n / (double)of : 0;
}

/* Coverage of the predictions used for calibration, at the model's error rate. */
static int show_quality(cs_outfile *f, const cs_calibration *c)
{
    int rc = CS_OK;

    for (int i = 0; i < c->n && c->max_error > 0 && c->n_class > 0; i++) {
        const cs_calibration_bin *b = &c->bin[i];
        int64_t n = 0, n_wrong = 0;
        for (int32_t k = 0; k < c->n_class; k++) {
            const double min = cs_calibration_min_prob(c, i, k, c->max_error);
            int step = 0;
            while (step < CS_CALIBRATION_STEPS && cs_calibration_step[step] < min)
                step++;
            n += step < CS_CALIBRATION_STEPS ? b->called[k].n_kept[step] : 0;
            n_wrong += step < CS_CALIBRATION_STEPS ? b->called[k].n_wrong[step] : 0;
        }
        CS_TRY(cs_outfile_printf(f, "quality\tfrom %lld bases\tof all %.0f %% right\tcalled %.0f "
                                 "%%", (long long)b->from, 100 - percent(b->all.n_wrong[0], b->n),
                                 percent(n, b->n)));
        if (n > 0)
            CS_TRY(cs_outfile_printf(f, ", of these %.0f %% right", 100 - percent(n_wrong, n)));
        CS_TRY(cs_outfile_text(f, "\n"));
    }
out:
    return rc;
}

static int show_about(cs_outfile *f, const cs_model *m)
{
    int rc = CS_OK;
    json_t *training = m->training != NULL ? json_loads(m->training, 0, NULL) : NULL;

    if (m->demonstration)
        CS_TRY(cs_outfile_printf(f, "demonstration\tnot for real data\n"));
    CS_TRY(show_purpose(f, m));
    CS_TRY(show_origin(f, m, training));
    CS_TRY(show_assays(f, training));
    rc = show_quality(f, &m->calibration);
out:
    json_decref(training);
    return rc;
}

/* "taxon TAXID  RANK  NAME", two blanks per level of the tree. */
static int show_taxonomy(cs_outfile *f, const cs_model *m, const char *path)
{
    int rc = CS_OK;
    cs_taxonomy *t = NULL;

    if (m->taxonomy == NULL)
        return CS_OK;
    CS_TRY(cs_taxa_of(m, path, &t));
    for (int32_t i = 0; i < t->n; i++) {
        const cs_taxon *v = &t->node[i];
        int level = 0;
        for (int32_t k = v->parent; k >= 0; k = t->node[k].parent)
            level++;
        CS_TRY(cs_outfile_printf(f, "taxon %lld\t%s\t%*s%s\n", (long long)v->taxid, v->rank,
                                 2 * level, "", v->name));
    }
out:
    cs_taxonomy_free(t);
    return rc;
}

static int show_tensors(cs_outfile *f, const cs_model *m)
{
    int rc = CS_OK;
    int64_t n_all = 0;

    for (int32_t i = 0; i < m->ps.n; i++) {
        const cs_param *p = &m->ps.p[i];
        if (p->absent)
            continue;
        CS_TRY(cs_outfile_printf(f, "tensor\t%s\t", p->name));
        for (int32_t d = 0; d < p->shape.n_dim; d++)
            CS_TRY(cs_outfile_printf(f, "%s%lld", d > 0 ? "x" : "", (long long)p->shape.dim[d]));
        CS_TRY(cs_outfile_printf(f, "%s\n", p->buffer ? "\tbuffer" : ""));
        n_all += p->buffer ? 0 : p->n;
    }
    rc = cs_outfile_printf(f, "parameters\t%lld\n", (long long)n_all);
out:
    return rc;
}

static int show_training(cs_outfile *f, const cs_model *m)
{
    int rc = CS_OK;
    const char *name;
    json_t *v, *training = m->training != NULL ? json_loads(m->training, 0, NULL) : NULL;

    if (!json_is_object(training))
        goto out;
    json_object_foreach(training, name, v) {
        char *text = json_is_string(v) ? cs_xstrdup(json_string_value(v))
                   : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
        rc = show_text(f, "training.", name, "\t");
        if (rc == CS_OK)
            rc = show_text(f, "", text != NULL ? text : "", "\n");
        free(text);
        if (rc != CS_OK)
            break;
    }
out:
    json_decref(training);
    return rc;
}

int cs_model_show(const cs_model *m, const char *path)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open("-", &f));
    CS_TRY(show_about(f, m));
    CS_TRY(show_settings(f, m));
    CS_TRY(show_calls(f, m));
    CS_TRY(show_taxonomy(f, m, path));
    CS_TRY(show_tensors(f, m));
    CS_TRY(show_training(f, m));
out:
    return cs_outfile_end(f, rc);
}
