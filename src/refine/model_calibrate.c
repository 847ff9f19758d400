/* model_calibrate.c - calibrate a model: temperatures, error rates and conditions for calls. */
#include "refine/model_calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "eval/calibrate.h"
#include "eval/scores_io.h"
#include "refine/likeness_fit.h"
#include "train/evaluate.h"

#define OFF(field) offsetof(cs_calibrate_args, field)

enum { SEED = 1 };

const cs_opt cs_calibrate_table[] = {
    { .type = CS_OPT_GROUP, .name = "Calibrate" },
    { .type = CS_OPT_INS, .name = "scores", .off = OFF(scores), .arg = "FILE",
      .help = "table of 'chordseq eval --scores'; may be repeated",
      .man = "Use sequences that the model was not trained on, such as the folds of a "
             "cross-validation, each predicted by its own model." },
    { .type = CS_OPT_STR, .name = "bins", .off = OFF(bins), .arg = "LIST",
      .def = "500,1000,3000,10000,50000",
      .help = "boundaries of length bins in bases, comma-separated" },
    { .type = CS_OPT_REAL, .name = "max-error", .off = OFF(max_error), .arg = "RATE",
      .def = "0.1", .help = "maximum error rate of calls, stored in the model",
      .min = 1e-6, .max = 1,
      .man = "The default of --max-error in chordseq-classify(1), for each class and length range. "
             "Sequences shorter than the first length at which a class reaches it are not "
             "called." },
    { .type = CS_OPT_END }
};

/* A table that is read twice would count twice. Only regular files can be compared. */
static int check_repeats(const cs_strlist *scores)
{
    int rc = CS_OK;
    char (*sum)[65] = cs_xcalloc((size_t)scores->n, sizeof *sum);

    for (int i = 0; i < scores->n; i++) {
        if (cs_file_size(scores->v[i]) < 0)
            continue;
        CS_TRY(cs_sha256_file(scores->v[i], sum[i]));
        for (int k = 0; k < i; k++)
            if (strcmp(sum[k], sum[i]) == 0) {
                rc = cs_fail(CS_EUSAGE, "--scores '%s' has the content of '%s': give each table "
                             "once", scores->v[i], scores->v[k]);
                goto out;
            }
    }
out:
    free(sum);
    return rc;
}

/* The earlier test for unlike sequences stays, until one is fitted to sequences. */
static int fit_scores(cs_model *m, const char *path, const cs_calibrate_args *a)
{
    int rc = CS_OK;
    int64_t edge[CS_CALIBRATION_BINS];
    int n_edge;
    cs_scores s;
    cs_calibration *earlier = cs_xmalloc(sizeof *earlier);

    *earlier = m->calibration;
    cs_scores_for(&s, m);
    CS_TRY(cs_evaluate_lengths("bins", a->bins, CS_CALIBRATION_BINS - 1, edge, &n_edge));
    for (int i = 0; i < a->scores.n; i++)
        CS_TRY(cs_scores_read(a->scores.v[i], m->label, m->n_label, &s));
    CS_TRY(cs_evaluate_calibrate(m, path, &s, edge, n_edge));
    cs_calibrate_keep_conditions(&m->calibration, &s, earlier);
    cs_calibrate_set_conditions(&m->calibration, &s, a->max_error);
    cs_note("fitted temperatures and error rates to %lld predictions; maximum error rate of calls "
            "%g; shortest sequence with a call: %lld bases", (long long)s.n, a->max_error,
            (long long)m->calibration.shortest);
out:
    free(earlier);
    cs_scores_release(&s);
    return rc;
}

int cs_model_calibrate(cs_model *m, const char *path, const cs_calibrate_args *a,
                       cs_input_args *input, const cs_label_args *label)
{
    int rc = CS_OK;
    cs_dataset d = { 0 };
    bool given;

    if (a->scores.n == 0)
        return cs_fail(CS_EUSAGE, "'calibrate' needs predictions with their classes; give tables "
                       "of 'chordseq eval --scores' with --scores");
    CS_TRY(check_repeats(&a->scores));
    CS_TRY(cs_labelled_optional(label, input, &given));
    /* With a tree all calls share one curve, and the test needs limits of classes. */
    const bool tree = m->head->set_taxonomy != NULL;
    if (!m->head->is_class || m->head->per_token ||
        (tree ? given : m->n_label > CS_CALIBRATION_CLASSES))
        return cs_fail(CS_EUSAGE, "'calibrate' is for models of sequences with up to %d classes, "
                       "or with the head tree and no input", CS_CALIBRATION_CLASSES);
    if (given && (m->tok == NULL || cs_tokenizer_alphabet(m->tok, m->tok_state) == CS_DIPLOTYPES))
        return cs_fail(CS_EUSAGE, "the test for unlike sequences is for nucleotides, but the model "
                       "takes %s; give no input",
                       m->tok == NULL ? "real values" : "diplotypes");
    CS_TRY(fit_scores(m, path, a));
    if (given) {
        CS_TRY(cs_labelled_read_all(label, input, m, &d));
        CS_TRY(cs_likeness_fit(&d, m->n_label, SEED, &m->calibration));
    }
out:
    if (d.mem)
        cs_dataset_release(&d);
    return rc;
}
