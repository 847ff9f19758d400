/* attribution.c - contributions of the bases of regions to a prediction, as tables and plots. */
#include "eval/attribution.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/outfile.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/signals.h"
#include "eval/explain_plot.h"
#include "infer/evidence.h"
#include "io/alphabet.h"
#include "io/shuffle.h"
#include "nn/exec/attribute.h"
#include "run/outputs.h"

enum { METHOD_MUTAGENESIS, METHOD_GRADIENT, METHOD_INTEGRATED, METHOD_DEEPLIFT };
static const char *const methods[] = { "mutagenesis", "gradient", "integrated", "deeplift", NULL };
enum { BASELINE_UNKNOWN, BASELINE_ZERO, BASELINE_SHUFFLED };
static const char *const baselines[] = { "unknown", "zero", "shuffled", NULL };
enum { VALUE_LOGIT, VALUE_PROBABILITY };
static const char *const values[] = { "logit", "probability", NULL };

/* LONG_S: mutagenesis of this many seconds is announced. */
enum { N_OUT = 3, LONG_S = 20 };

#define OWN(field) .off = offsetof(cs_explain_args, field)

const cs_opt cs_explain_table[] = {
    { .type = CS_OPT_GROUP, .name = "Input and output" },
    { .type = CS_OPT_IN, .letter = 'f', .name = "reference", OWN(reference), .arg = "FILE",
      .help = "FASTA file with the sequences",
      .man = "Plain or BGZF. A missing index is created beside it." },
    { .type = CS_OPT_LIST, .letter = 'r', .name = "region", OWN(region), .arg = "REGION",
      .help = "region to explain: contig, contig:from or contig:from-to (may be repeated)",
      .man = "Counted from 1, both ends included. The model sees only this region. Operands are "
             "also regions." },
    { .type = CS_OPT_IN, .letter = 'R', .name = "regions-file", OWN(bed), .arg = "FILE",
      .help = "regions to explain, as BED" },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", OWN(output), .arg = "FILE", .def = "-",
      .help = "bedGraph output; '-' is standard output",
      .man = "bedGraph needs sorted regions that do not overlap." },
    { .type = CS_OPT_OUT, .name = "tsv", OWN(tsv), .arg = "FILE",
      .help = "table with a row per base",
      .man = "With mutagenesis, also the prediction for each of A, C, G and T." },
    { .type = CS_OPT_OUT, .name = "svg", OWN(svg), .arg = "FILE",
      .help = "plot of the first region, letter heights show contributions" },
    { .type = CS_OPT_GROUP, .name = "Explanation" },
    { .type = CS_OPT_ENUM, .name = "method", OWN(method), .arg = "NAME", .def = "mutagenesis",
      .choice = methods, .help = "method: mutagenesis, gradient, integrated or deeplift",
      .man = "mutagenesis: the prediction minus the mean prediction of the three substitutions. "
             "gradient: gradient times input. integrated: integrated gradients. deeplift: the "
             "rescale rule of DeepLIFT. The last three compare with --baseline, and need a "
             "tokenizer with a token per base." },
    { .type = CS_OPT_ENUM, .name = "baseline", OWN(baseline), .arg = "NAME", .def = "unknown",
      .choice = baselines, .help = "baseline of the gradient methods: unknown, zero or shuffled",
      .man = "For gradient, integrated and deeplift. unknown: a sequence of unknown bases. zero: a "
             "zero embedding. shuffled: the mean over several shuffles that preserve the "
             "dinucleotides of the region." },
    { .type = CS_OPT_INT, .name = "shuffles", OWN(shuffles), .arg = "NUM", .def = "10",
      .help = "number of shuffled baselines", .min = 1, .max = 1e6 },
    { .type = CS_OPT_INT, .name = "seed", OWN(seed), .arg = "NUM", .def = "1",
      .help = "seed of shuffled baselines", .min = 0, .max = 1e15 },
    { .type = CS_OPT_STR, .name = "label", OWN(label), .arg = "NAME",
      .help = "label to explain (default: the most probable, or the first of a regression)" },
    { .type = CS_OPT_ENUM, .name = "value", OWN(value), .arg = "NAME", .def = "logit",
      .choice = values, .help = "with mutagenesis, quantity to compare: logit or probability",
      .man = "logit: before calibration. probability: calibrated, as in 'chordseq classify "
             "--strand forward'." },
    { .type = CS_OPT_INT, .name = "steps", OWN(steps), .arg = "NUM", .def = "64",
      .help = "steps of integrated gradients", .min = 1, .max = 1e6 },
    { .type = CS_OPT_SIZE, .letter = 'B', .name = "batch-tokens", OWN(batch_tokens), .arg = "NUM",
      .def = "65536", .help = "batch size of mutagenesis, in tokens", .min = 1, .max = 1e9 },
    { .type = CS_OPT_END }
};

/* The run, and its present region. */
struct job {
    const cs_explain_args *a;
    cs_backend   *be;
    cs_model     *model;
    cs_session   *session;
    cs_reference *ref;
    cs_regions   *regions;
    cs_outfile   *out, *tsv, *svg;
    cs_region     at;
    char         *base, *mutant; /* [n] */
    int64_t       n;
    int32_t       label;
    int32_t      *id, *baseline_id;      /* [bound] */
    char         *work;          /* of the tokenizer */
    double       *value;         /* [n] contributions */
    double      (*by_base)[4];   /* [n] the prediction with each base; NaN where not computed */
    cs_names      contigs;       /* numbered, for the order of regions */
    cs_arena     *names;         /* of these */
    int64_t       last_to;       /* end of the region before */
    bool          one_per_base;  /* a token per base, as gradients need */
    uint64_t      n_region, n_base;
};

/* ---- predictions ----------------------------------------------------------------------------- */

static int64_t encode(const struct job *j, const char *base, int32_t *id)
{
    const cs_segment s = { base, NULL, j->n };

    return j->model->tok->encode(j->model->tok_state, &s, j->work, id);
}

static int fail_region(const struct job *j, int rc)
{
    char why[512];

    (void)snprintf(why, sizeof why, "%s", cs_error_message());
    cs_error_clear();
    return cs_fail(rc, "'%s' from %lld to %lld: %s", j->at.contig, (long long)j->at.from + 1,
                   (long long)j->at.to, why);
}

/* The remedy if memory is short for so many sequences. */
static int explain_no_memory(const struct job *j, int32_t n)
{
    return fail_region(j, cs_fail_also(CS_EMEM, "; %s", n > 1 ? "lower --batch-tokens"
                                                              : "explain a shorter one"));
}

/* The evidence of the model's table and proteins for the region or a mutant; zeros without any. */
static int find_evidence(const struct job *j, const char *base, float *evidence)
{
    const int rc = cs_evidence_of(j->model, base, j->n, 1, evidence);

    return rc == CS_EMEM ? fail_region(j, cs_fail(rc, "out of memory to search it for proteins"))
                         : rc;
}

/* Compared quantity: raw values with their evidence, or the predictions of classify. */
static int predict_batch(struct job *j, const cs_batch *b, const float *evidence, float *out)
{
    const cs_model *m = j->model;
    const int bin = cs_calibration_find(&m->calibration, j->n);
    const double temperature = bin < 0 ? 1 : m->calibration.bin[bin].temperature;
    const int rc = cs_session_forward(j->session, b, out);

    if (rc != CS_OK)             /* of a region, or one of its mutants */
        return rc == CS_EMEM ? explain_no_memory(j, b->n_rec) : fail_region(j, rc);
    for (int64_t i = 0; i < (int64_t)b->n_rec * m->n_label; i++)
        out[i] += evidence[i];
    for (int32_t i = 0; j->a->value == VALUE_PROBABILITY && i < b->n_rec; i++)
        cs_model_decide(m, out + (int64_t)i * m->n_label, m->n_label, temperature);
    if (j->a->value == VALUE_LOGIT)
        cs_model_destandardize(m, out, b->n_rec);
    return CS_OK;
}

static int choose_label(struct job *j, const float *y)
{
    const cs_model *m = j->model;

    j->label = 0;
    if (j->a->label == NULL) {
        const bool sure = m->head->is_class || m->head->is_labels;
        for (int32_t k = 1; sure && k < m->n_label; k++)
            j->label = y[k] > y[j->label] ? k : j->label;
        return CS_OK;
    }
    return cs_model_label_of(m, j->a->label, &j->label);
}

/* The prediction for the region as it is. */
static int predict_whole(struct job *j, double *f)
{
    int rc = CS_OK;
    const int64_t n_tok = encode(j, j->base, j->id), max_len = cs_model_max_len(j->model);
    cs_batch *b = cs_batch_new(0, 0);
    const int32_t n_out = j->model->n_label;
    float *y = cs_alloc(2 * (size_t)n_out, sizeof *y);     /* and the evidence */

    if (!y) {
        rc = cs_fail(CS_EMEM, "out of memory for %d predictions", (int)n_out);
        goto out;
    }
    j->one_per_base = n_tok == j->n;
    if (n_tok < 1 || (max_len > 0 && n_tok > max_len)) {
        rc = cs_fail(CS_EUSAGE, "'%s' from %lld to %lld has %lld tokens, which the model does "
                     "not support; choose a %s part", j->at.contig, (long long)j->at.from + 1,
                     (long long)j->at.to, (long long)n_tok, n_tok < 1 ? "longer" : "shorter");
        goto out;
    }
    CS_TRY(cs_batch_append(b, j->id, NULL, n_tok, NULL, (cs_slot){ 0 }));
    CS_TRY(find_evidence(j, j->base, y + n_out));
    CS_TRY(predict_batch(j, b, y + n_out, y));
    CS_TRY(choose_label(j, y));
    *f = (double)y[j->label];
out:
    free(y);
    cs_batch_free(b);
    return rc;
}

/* ---- mutagenesis ----------------------------------------------------------------------------- */

/* Mutants of a batch: the base that each changes. */
struct mutants {
    cs_batch *b;
    int64_t  *place;
    float    *y, *evidence;
    int64_t   cap, n_done;
    double    began;
};

/* Every mutant is a pass over the whole region, so the time grows with its square. */
static void tell_time(const struct job *j, const struct mutants *k)
{
    const double s = (cs_now_s() - k->began) * (double)(3 * j->n) / (double)k->n_done;

    if (s < LONG_S)
        return;
    cs_note("'%s' from %lld: %lld mutants of %lld bases will take about %.0f %s; %s", j->at.contig,
            (long long)j->at.from + 1, (long long)(3 * j->n), (long long)j->n,
            s < 120 ? s : s / 60, s < 120 ? "seconds" : "minutes",
            j->one_per_base ? "--method gradient, integrated or deeplift is faster"
                            : "a region of half the length takes a quarter");
}

static int flush(struct job *j, struct mutants *k)
{
    int rc = CS_OK;

    if (k->b->n_rec == 0)
        return CS_OK;
    CS_TRY(predict_batch(j, k->b, k->evidence, k->y));
    for (int32_t i = 0; i < k->b->n_rec; i++)
        j->by_base[k->place[i] / 4][k->place[i] % 4] =
            (double)k->y[(int64_t)i * j->model->n_label + j->label];
    if (k->n_done == 0) {
        k->n_done = k->b->n_rec;
        tell_time(j, k);
    }
    cs_batch_reset(k->b);
    rc = cs_signal_caught() != 0 ? CS_ECANCEL : CS_OK;
out:
    return rc;
}

static int add_mutant(struct job *j, struct mutants *k, int64_t at, int base)
{
    int rc = CS_OK;
    const char was = j->mutant[at];

    j->mutant[at] = "ACGT"[base];
    const int64_t n_tok = encode(j, j->mutant, j->id);
    /* A mutant may have another number of tokens, and so another depth. */
    if (k->b->n_rec == k->cap || (k->b->n_rec > 0 && cs_depth(n_tok) != k->b->depth))
        CS_TRY(flush(j, k));
    CS_TRY(find_evidence(j, j->mutant, k->evidence + (int64_t)k->b->n_rec * j->model->n_label));
    k->place[k->b->n_rec] = 4 * at + base;
    rc = cs_batch_append(k->b, j->id, NULL, n_tok, NULL, (cs_slot){ 0 });
out:
    j->mutant[at] = was;
    return rc;
}

/* Prediction minus the mean of the other bases; 0 for an unknown base. */
static double contribution(const struct job *j, int64_t at)
{
    const int is = cs_base_code[(unsigned char)j->base[at]];
    double others = 0;

    if (is > 3)
        return 0;
    for (int b = 0; b < 4; b++)
        others += b != is ? j->by_base[at][b] : 0;
    return j->by_base[at][is] - others / 3;
}

static int mutate(struct job *j, double f)
{
    int rc = CS_OK;
    const int64_t fit = j->a->batch_tokens / j->n, all = 3 * j->n;
    struct mutants k = { .b = cs_batch_new(0, 0), .cap = fit < 1 ? 1 : fit < all ? fit : all,
                         .began = cs_now_s() };
    cs_progress *progress = cs_progress_new("bases explained", j->n);

    k.place = cs_alloc((size_t)k.cap, sizeof *k.place);
    k.y = cs_alloc((size_t)(k.cap * j->model->n_label), sizeof *k.y);
    k.evidence = cs_alloc((size_t)(k.cap * j->model->n_label), sizeof *k.evidence);
    if (!k.place || !k.y || !k.evidence) {
        rc = cs_fail(CS_EMEM, "out of memory for %lld mutants", (long long)k.cap);
        goto out;
    }
    for (int64_t i = 0; i < j->n; i++) {
        const int is = cs_base_code[(unsigned char)j->base[i]];
        for (int b = 0; b < 4; b++)
            j->by_base[i][b] = is == b ? f : NAN;
        for (int b = 0; is < 4 && b < 4; b++)
            if (b != is)
                CS_TRY(add_mutant(j, &k, i, b));
        cs_progress_update(progress, (uint64_t)i, (uint64_t)(3 * i * j->n), i);
    }
    CS_TRY(flush(j, &k));
    for (int64_t i = 0; i < j->n; i++)
        j->value[i] = contribution(j, i);
out:
    cs_progress_free(progress);
    CS_FREE(k.place, k.y, k.evidence);
    cs_batch_free(k.b);
    return rc;
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Baseline k of the region: its tokens in baseline_id. */
static int make_baseline(void *job, int64_t k)
{
    struct job *j = job;
    if (j->a->baseline == BASELINE_SHUFFLED) {
        memcpy(j->mutant, j->base, (size_t)j->n);
        const int rc = cs_shuffle_pairs(j->mutant, j->n, cs_rng_key((uint64_t)j->a->seed,
                                                                    (uint64_t)k));
        (void)encode(j, j->mutant, j->baseline_id);
        return rc;
    }
    for (int64_t i = 0; i < j->n; i++)
        j->baseline_id[i] = CS_TOK_UNK;
    return CS_OK;
}

/* Do the contributions add up to the difference of the predictions, as the steps allow? */
static void check_sum(const struct job *j, const double ends[2])
{
    const double all = ends[0] - ends[1];
    double sum = 0;

    for (int64_t i = 0; i < j->n; i++)
        sum += j->value[i];
    if (fabs(sum - all) > 0.05 * fabs(all))
        cs_warn("contributions of '%s' from %lld sum to %.4g, but the prediction differs from the "
                "baseline's by %.4g; increase --steps", j->at.contig, (long long)j->at.from + 1,
                sum, all);
}

static int attribute(struct job *j)
{
    const int64_t n_tok = encode(j, j->base, j->id);
    const bool integrates = j->a->method == METHOD_INTEGRATED;
    double ends[2];
    const cs_attribute a = {
        .baseline = j->a->baseline == BASELINE_ZERO ? NULL : j->baseline_id,
        .id = j->id, .n = n_tok, .label = j->label, .n_step = (int32_t)j->a->steps,
        .n_baseline = j->a->baseline == BASELINE_SHUFFLED ? j->a->shuffles : 1,
        .next = make_baseline, .arg = j,
        .rule = j->a->method == METHOD_GRADIENT ? CS_ATTRIBUTE_GRADIENT
              : integrates ? CS_ATTRIBUTE_INTEGRATED : CS_ATTRIBUTE_RESCALE,
    };

    if (n_tok != j->n)
        return cs_fail(CS_EUSAGE, "the model's tokenizer '%s' has %lld tokens for %lld bases; "
                       "--method mutagenesis works with any tokenizer", j->model->tok->name,
                       (long long)n_tok, (long long)j->n);
    if (cs_model_has_evidence(j->model) && j->n_region == 0)
        cs_warn("--method %s explains the network alone; mutagenesis includes the model's look-up "
                "table and proteins", methods[j->a->method]);
    const int rc = cs_attribute_tokens(j->session, &a, j->value, integrates ? ends : NULL);
    if (rc == CS_OK && integrates)
        check_sum(j, ends);
    return rc == CS_EMEM ? explain_no_memory(j, 1) : rc;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int write_bedgraph(struct job *j)
{
    int rc = CS_OK;

    for (int64_t i = 0; rc == CS_OK && i < j->n; i++)
        rc = cs_outfile_printf(j->out, "%s\t%lld\t%lld\t%.6g\n", j->at.contig,
                               (long long)(j->at.from + i), (long long)(j->at.from + i + 1),
                               j->value[i]);
    return rc;
}

static int write_table(struct job *j)
{
    int rc = CS_OK;

    for (int64_t i = 0; i < j->n; i++) {
        CS_TRY(cs_outfile_printf(j->tsv, "%s\t%lld\t%c\t%s\t%.6g", j->at.contig,
                                 (long long)(j->at.from + i) + 1, j->base[i],
                                 j->model->label[j->label].name, j->value[i]));
        for (int b = 0; j->a->method == METHOD_MUTAGENESIS && b < 4; b++) {
            if (isnan(j->by_base[i][b]))
                CS_TRY(cs_outfile_printf(j->tsv, "\t."));
            else
                CS_TRY(cs_outfile_printf(j->tsv, "\t%.9g", j->by_base[i][b]));
        }
        CS_TRY(cs_outfile_printf(j->tsv, "\n"));
    }
out:
    return rc;
}

static int plot(const struct job *j)
{
    char title[512];

    if (j->svg == NULL || j->n_region > 0)
        return CS_OK;
    (void)snprintf(title, sizeof title, "%.120s:%lld-%lld %.120s, %s", j->at.contig,
                   (long long)j->at.from + 1, (long long)j->at.to,
                   j->model->label[j->label].name, methods[j->a->method]);
    return cs_logo_write(j->svg, title, &j->at, j->base, j->value);
}

/* ---- regions --------------------------------------------------------------------------------- */

static void drop_region(struct job *j)
{
    CS_FREE(j->base, j->mutant, j->id, j->baseline_id, j->work, j->value, j->by_base);
    j->base = j->mutant = j->work = NULL;
    j->id = j->baseline_id = NULL;
    j->value = NULL;
    j->by_base = NULL;
}

static int check_order(struct job *j)
{
    int rc = CS_OK;
    const char *contig = j->at.contig;
    const int64_t no = cs_names_find(&j->contigs, contig), n = (int64_t)j->contigs.n;

    if (no >= 0 && (no + 1 < n || j->at.from < j->last_to))
        return cs_fail(CS_EUSAGE, "the region of '%s' from %lld is out of order; bedGraph needs "
                       "sorted regions without overlap", contig, (long long)j->at.from + 1);
    if (no < 0) {
        const char *name = cs_arena_dup(j->names, contig, strlen(contig));
        if (!name)
            return cs_fail(CS_EMEM, "out of memory for %lld contigs", (long long)n + 1);
        CS_TRY(cs_names_add(&j->contigs, name, n));
    }
    j->last_to = j->at.to;
out:
    return rc;
}

static int begin_region(struct job *j)
{
    int rc = CS_OK;
    const cs_model *m = j->model;

    drop_region(j);
    CS_TRY(check_order(j));
    j->n = j->at.to - j->at.from;
    if (j->svg != NULL && j->n_region == 0 && j->n > CS_LOGO_MAX)
        return cs_fail(CS_EUSAGE, "--svg plots at most %d bases, not %lld; choose a shorter part",
                       CS_LOGO_MAX, (long long)j->n);
    CS_TRY(cs_reference_fetch(j->ref, j->at.contig, j->at.from, j->at.to, &j->base));
    const size_t n = (size_t)j->n, n_work = cs_tokenizer_work(m->tok, m->tok_state, j->n);
    const size_t n_id = (size_t)m->tok->bound(m->tok_state, j->n) + 1;
    j->mutant = cs_alloc(n + 1, 1);
    j->id = cs_alloc(n_id, sizeof *j->id);
    j->baseline_id = cs_alloc(n_id, sizeof *j->baseline_id);
    j->work = cs_alloc(n_work + 1, 1);
    j->value = cs_alloc(n + 1, sizeof *j->value);
    j->by_base = cs_alloc(n + 1, sizeof *j->by_base);
    if (!j->mutant || !j->id || !j->baseline_id || !j->work || !j->value || !j->by_base)
        return cs_fail(CS_EMEM, "out of memory for %lld bases", (long long)j->n);
    memcpy(j->mutant, j->base, n);
out:
    return rc;
}

/* A finite prediction may have gradients that are not finite. */
static int check_values(const struct job *j)
{
    for (int64_t i = 0; i < j->n; i++)
        if (!isfinite(j->value[i]))
            return cs_fail(CS_EMODEL, "'%s' base %lld: its contribution is not finite; the "
                           "model's weights are damaged or training diverged", j->at.contig,
                           (long long)(j->at.from + i + 1));
    return CS_OK;
}

static int explain_region(struct job *j)
{
    int rc = CS_OK;
    double f = 0;

    CS_TRY(begin_region(j));
    CS_TRY(predict_whole(j, &f));
    CS_TRY(j->a->method == METHOD_MUTAGENESIS ? mutate(j, f) : attribute(j));
    CS_TRY(check_values(j));
    CS_TRY(write_bedgraph(j));
    if (j->tsv)
        CS_TRY(write_table(j));
    CS_TRY(plot(j));
    j->n_region++;
    j->n_base += (uint64_t)j->n;
    rc = cs_signal_caught() != 0 ? CS_ECANCEL : CS_OK;
out:
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int explain_check_options(const cs_explain_args *a)
{
    if (a->reference == NULL)
        return cs_fail(CS_EUSAGE, "no sequences; give a FASTA file with -f FILE");
    if (a->region.n == 0 && a->bed == NULL)
        return cs_fail(CS_EUSAGE, "no region; give regions, or a BED file with -R");
    if (a->value == VALUE_PROBABILITY && a->method != METHOD_MUTAGENESIS)
        return cs_fail(CS_EUSAGE, "--value probability needs --method mutagenesis");
    return cs_outputs_distinct((const char *const[]){ a->output, a->tsv, a->svg }, N_OUT);
}

/* Requires a model with gradients and one prediction per sequence. */
static int open_model(struct job *j)
{
    int rc = CS_OK;
    char path[4096];

    CS_TRY(cs_args_model(j->a->model.model, path, sizeof path));
    CS_TRY(cs_device_open(&j->a->device, cs_args_threads(&j->a->compute).work, &j->be));
    CS_TRY(cs_model_load(path, j->be, j->a->method == METHOD_MUTAGENESIS ? CS_USE_INFERENCE
                                      : CS_USE_TRAINING, &j->model));
    cs_model *m = j->model;
    j->session = cs_session_new(m, j->be);
    CS_TRY(cs_proteins_need_index(m->proteins, m->be->n_thread));
    if (cs_model_parts(m) > 1)
        rc = cs_fail(CS_EMODEL, "model '%s' compares the two alleles of a variant; score "
                     "substitutions with 'chordseq variant' instead", path);
    else if (!m->tok || m->head->per_token
        || cs_tokenizer_alphabet(m->tok, m->tok_state) != CS_NUCLEOTIDES)
        rc = cs_fail(CS_EMODEL, "model '%s' does not predict one result per nucleotide sequence "
                     "of any case, so bases have no contributions", path);
out:
    return rc;
}

static int explain_open_outputs(struct job *j)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_open_as(j->a->output, NULL, CS_OUT_REPORT, &j->out));
    if (j->a->svg != NULL)
        CS_TRY(cs_outfile_open_as(j->a->svg, NULL, CS_OUT_SVG, &j->svg));
    if (j->a->tsv == NULL)
        return CS_OK;
    CS_TRY(cs_outfile_open_as(j->a->tsv, NULL, CS_OUT_TABLE, &j->tsv));
    rc = cs_outfile_printf(j->tsv, "#contig\tpos\tbase\tlabel\tcontribution%s\n",
                           j->a->method == METHOD_MUTAGENESIS ? "\tA\tC\tG\tT" : "");
out:
    return rc;
}

static int explain(struct job *j)
{
    int rc;

    while ((rc = cs_regions_next(j->regions, j->ref, &j->at)) == CS_OK)
        CS_TRY(explain_region(j));
    rc = cs_regions_end(j->regions, rc);
    if (rc == CS_OK)
        rc = cs_outputs_commit((cs_outfile **const[]){ &j->out, &j->tsv, &j->svg }, N_OUT);
    if (rc == CS_OK)
        cs_note("explained %llu %s in %llu %s by %s", (unsigned long long)j->n_base,
                CS_PLURAL(j->n_base, "base", "bases"), (unsigned long long)j->n_region,
                CS_PLURAL(j->n_region, "region", "regions"),
                methods[j->a->method]);
out:
    return rc;
}

int cs_explain(const cs_explain_args *a)
{
    int rc = CS_OK;
    struct job j = { .a = a, .names = cs_arena_new() };

    CS_TRY(explain_check_options(a));
    CS_TRY(open_model(&j));
    CS_TRY(cs_reference_open(a->reference, &j.ref));
    CS_TRY(cs_regions_open(a->region.v, a->region.n, a->bed, &j.regions));
    CS_TRY(explain_open_outputs(&j));
    rc = cs_outputs_explain(explain(&j), 1 + (a->tsv != NULL) + (a->svg != NULL), NULL);
out:
    drop_region(&j);
    cs_arena_free(j.names);
    cs_names_release(&j.contigs);
    cs_outfile_discard(j.out);
    cs_outfile_discard(j.tsv);
    cs_outfile_discard(j.svg);
    cs_regions_free(j.regions);
    cs_reference_free(j.ref);
    cs_session_free(j.session);
    cs_model_free(j.model);
    cs_backend_close(j.be);
    return rc;
}
