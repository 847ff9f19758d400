/*
 * proteins_add.c - add peptide words and proteins to a classifier that was just trained.
 *
 * DESIGN
 * Weights that are fitted to the validation part make its accuracy and a calibration on it too
 * good. Therefore each half of its groups is predicted with weights that are fitted to the other
 * half. The mean of both weights is also more accurate on further groups than one fit to all: in a
 * prototype with seven classes of genomes, by 0.021, 0.026, 0.005 and 0.001 at 500 to 10,000 bases.
 * Each fit predicts its crops twice, without and with the table, which takes long for networks.
 * 14,000 crops instead of 4,000 changed the accuracy by 0.006, -0.003, 0.001 and 0.000.
 *
 * Words and proteins do not depend on the trained model, so they are made before it, in the time
 * that a budget counts as spent, and errors of the data are known early. The rest is estimated from
 * some of the crops, so that the budget can reserve it.
 */
#include "refine/proteins_add.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "eval/metrics.h"
#include "refine/lookup_fit.h"
#include "refine/model_proteins.h"
#include "refine/proteins_fit.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/provenance.h"

enum {
    TABLE_FIFTHS = 2,            /* the table's part of the size */
    WORD_BYTES = 16,             /* memory per base to build a table of all its words */
    MIN_CROPS = 400, MAX_CROPS = 4000,         /* of a fit */
    BASES_PER_CROP = 200,        /* of the validation part, between these limits */
    N_PROBE = 32,                /* crops whose evidence is timed */
    BOTH = 2, NONE = 3           /* beside the halves 0 and 1 */
};
static const int64_t table_memory = 2LL << 30;
static const double noise = 0.01;      /* of the balanced accuracy of a validation */

const cs_opt cs_proteins_add_table[] = {
    { .type = CS_OPT_SIZE, .name = "proteins", .off = offsetof(cs_train_extension, size),
      .arg = "BYTES", .def = "0",
      .help = "add peptide words and proteins of this size to the trained model, e.g. 12M; 0: none",
      .man = "For classes of genomes or genes. Two fifths of the size are a look-up table of "
             "peptide words that groups of a class share, the rest is a database of proteins "
             "of the training records, with which sequences are aligned (see 'model lookup' "
             "and 'model proteins' in chordseq-model(1)). Weights are fitted to one half of "
             "the groups of the validation and tested on the other, and the reverse; the "
             "model gets the mean of both, or no proteins if they lower its balanced "
             "accuracy by more than 0.01. About a minute per 100 megabases, and longer if a "
             "network is the model, which is part of --budget. Only for nucleotides and "
             "sequence classes, at most 160, and with validation records. --preset best adds "
             "12M where these are given, without --folds, unless they would take more than a "
             "quarter of the budget.",
      .min = 0, .max = 256 << 20 },
    { .type = CS_OPT_END }
};

static int check(const cs_model *m, const cs_dataset *d)
{
    int64_t n_group = 0;
    uint64_t first = 0;

    if (!cs_model_takes_proteins(m) || d->n_part > 1)
        return cs_fail(CS_EUSAGE, "--proteins is for classifiers of nucleotide sequences with at "
                       "most %d classes", (int)CS_PROTEIN_MAX_CLASSES);
    for (int64_t i = 0; i < d->n && n_group < 2; i++)
        if (d->ex[i].part == CS_PART_VALID && (n_group == 0 || d->ex[i].group != first)) {
            first = d->ex[i].group;
            n_group++;
        }
    return n_group > 1 ? CS_OK
         : cs_fail(CS_EUSAGE, "--proteins needs two groups of validation records or more; there "
                   "%s", n_group == 1 ? "is one" : "are none");
}

/* ---- halves of the validation part ----------------------------------------------------------- */

/* A validation record, and the lowest class of its group. */
struct member { uint64_t group; int64_t example; int32_t class_no; };

static int compare_groups(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->class_no > y->class_no) - (x->class_no < y->class_no);
}

static int compare_classes(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return x->class_no != y->class_no ? x->class_no - y->class_no : compare_groups(a, b);
}

static int64_t list_members(const cs_dataset *d, struct member *v)
{
    int64_t n = 0;

    for (int64_t i = 0; i < d->n; i++)
        if (d->ex[i].part == CS_PART_VALID)
            v[n++] = (struct member){ d->ex[i].group, i, d->ex[i].class_no };
    qsort(v, (size_t)n, sizeof *v, compare_groups);
    for (int64_t i = 1; i < n; i++)
        if (v[i].group == v[i - 1].group)
            v[i].class_no = v[i - 1].class_no;
    qsort(v, (size_t)n, sizeof *v, compare_classes);
    return n;
}

/* Groups of a class alternate between the halves: half [d->n] of each record. */
static int halve(const cs_dataset *d, uint8_t *half)
{
    struct member *v = cs_alloc((size_t)d->n, sizeof *v);
    uint8_t next = 0;

    if (!v)
        return cs_fail(CS_EMEM, "out of memory for the validation records");
    memset(half, NONE, (size_t)d->n);
    const int64_t n = list_members(d, v);
    for (int64_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && v[to].group == v[from].group; )
            to++;
        const bool only = (from == 0 || v[from - 1].class_no != v[from].class_no) &&
                          (to == n || v[to].class_no != v[from].class_no);
        for (int64_t i = from; i < to; i++)
            half[v[i].example] = only ? BOTH : next;
        next ^= !only;
    }
    free(v);
    return CS_OK;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* What is made before the training. */
struct made {
    cs_lookup   *lookup;
    cs_proteins *proteins;
    cs_crop_draw draw;           /* of the fits */
};

struct job {
    cs_model         *m;
    cs_dataset       *d;
    const cs_sampler *valid;
    int64_t           batch_tokens;
    cs_crop_draw      draw;
    uint8_t          *half;      /* [d->n] */
    size_t            n_table, n_database;
    float            *weight;    /* [2 * (n_table + n_database)] of the fits to the halves */
};

static float *weights_of(const struct job *j, int fit)
{
    return j->weight + (size_t)fit * (j->n_table + j->n_database);
}

static void use_weights(const struct job *j, const float *w)
{
    memcpy(j->m->lookup->weight, w, j->n_table * sizeof *w);
    memcpy(j->m->proteins->weight, w + j->n_table, j->n_database * sizeof *w);
}

/* Leaves the other half out while it fits. */
static int fit(const struct job *j, int half)
{
    int rc = CS_OK;
    double before, after;
    float *w = weights_of(j, half);

    for (int64_t i = 0; i < j->d->n; i++)
        if (j->half[i] == !half)
            j->d->ex[i].part = CS_PART_SKIP;
    CS_TRY(cs_lookup_fit(j->m, j->d, &j->draw, &before, &after));
    CS_TRY(cs_proteins_fit(j->m, j->d, &j->draw, &before, &after));
    memcpy(w, j->m->lookup->weight, j->n_table * sizeof *w);
    memcpy(w + j->n_table, j->m->proteins->weight, j->n_database * sizeof *w);
out:
    for (int64_t i = 0; i < j->d->n; i++)
        if (j->half[i] == !half)
            j->d->ex[i].part = CS_PART_VALID;
    return rc;
}

/* Predicts validation samples: those of a half, or all (BOTH). */
static int predict(const struct job *j, int half, cs_scores *scores)
{
    const int64_t n_all = cs_sampler_count(j->valid);
    cs_sample *sample = cs_alloc((size_t)n_all, sizeof *sample);
    int64_t n = 0;

    if (!sample)
        return cs_fail(CS_EMEM, "out of memory for %lld validation samples", (long long)n_all);
    for (int64_t i = 0; i < n_all; i++) {
        sample[n] = cs_sampler_get(j->valid, CS_VALID_EPOCH, i);
        const uint8_t of = j->half[sample[n].example];
        n += half == BOTH || of == half || (of == BOTH && half == 0);
    }
    const int rc = cs_evaluate_raw(j->m, j->d, sample, n, j->batch_tokens, scores);
    free(sample);
    return rc;
}

/* Weights of both halves, and the predictions of each by the weights of the other. */
static int cross_fit(struct job *j, cs_scores *scores)
{
    int rc = CS_OK;
    const size_t n = j->n_table + j->n_database;

    j->weight = cs_alloc(2 * n, sizeof *j->weight);
    if (!j->weight)
        return cs_fail(CS_EMEM, "out of memory for the weights of proteins");
    for (int half = 0; half < 2; half++)
        CS_TRY(fit(j, half));
    for (int half = 0; half < 2; half++) {
        use_weights(j, weights_of(j, !half));
        CS_TRY(predict(j, half, scores));
    }
    for (size_t k = 0; k < n; k++)
        j->weight[k] = (j->weight[k] + j->weight[n + k]) / 2;
    use_weights(j, j->weight);
out:
    return rc;
}

/* ---- before the training --------------------------------------------------------------------- */

static void release(void *made)
{
    struct made *k = made;

    if (!k)
        return;
    cs_lookup_free(k->lookup);
    cs_proteins_free(k->proteins);
    free(k);
}

/* The table takes its part of the size, and the database the rest. */
static int make_parts(cs_model *m, const cs_dataset *d, int64_t size, struct made *k)
{
    int rc = CS_OK;
    cs_lookup_args a;
    cs_protein_args p;
    int64_t n = 0, n_base = 0, n_valid = 0;

    cs_opt_defaults((const cs_optset[]){ { cs_lookup_table, &a, NULL },
                                         { cs_protein_table, &p, NULL }, { 0 } });
    cs_dataset_count(d, CS_PART_TRAIN, -1, &n, &n_base);
    a.sample = 1 + n_base * WORD_BYTES / table_memory;
    a.size = size * TABLE_FIFTHS / 5;
    CS_TRY(cs_model_make_lookup(m, &a, d));
    a.size = size - a.size;
    CS_TRY(cs_model_make_proteins(m, &p, &a, d));
    CS_TRY(cs_proteins_need_index(m->proteins, m->be->n_thread));
    cs_dataset_count(d, CS_PART_VALID, -1, &n, &n_valid);
    n = n_valid / BASES_PER_CROP > MIN_CROPS ? n_valid / BASES_PER_CROP : MIN_CROPS;
    k->draw = (cs_crop_draw){ .n = n < MAX_CROPS ? n : MAX_CROPS, .seed = (uint64_t)a.seed };
out:
    k->lookup = m->lookup;
    k->proteins = m->proteins;
    m->lookup = NULL;
    m->proteins = NULL;
    return rc;
}

static int64_t sum_bases(const cs_sampler *s, uint64_t epoch)
{
    int64_t n = 0;

    for (int64_t i = 0; i < cs_sampler_count(s); i++)
        n += cs_sampler_get(s, epoch, i).n_base;
    return n;
}

/* Both fits predict their crops twice, and there are two predictions of the validation. */
static int estimate(const struct made *k, const cs_model *m, const cs_dataset *d,
                    const cs_sampler *valid, cs_train_after *after)
{
    int rc = CS_OK;
    cs_sampler *crops = NULL;
    double table, database, solve;

    CS_TRY(cs_crop_sampler(d, &k->draw, &crops));
    const double n_valid = (double)sum_bases(valid, CS_VALID_EPOCH),
                 n_crop = (double)sum_bases(crops, 0);
    CS_TRY(cs_lookup_probe(k->lookup, d, crops, N_PROBE, &table, &solve));
    CS_TRY(cs_proteins_probe(k->proteins, d, crops, N_PROBE, &database));
    after->n_valid = (m->strands == CS_STRANDS_FORWARD ? 1 : 2)
                   * (2 + 4 * n_crop / (n_valid > 0 ? n_valid : 1));
    after->seconds = table * (4 * n_crop + n_valid) + database * (2 * n_crop + n_valid)
                   + 2 * solve * (double)k->draw.n;
out:
    cs_sampler_free(crops);
    return rc;
}

static int make(int64_t size, cs_model *m, const cs_dataset *d, const cs_sampler *valid,
                void **made, cs_train_after *after)
{
    const double began = cs_now_s();
    struct made *k = cs_xcalloc(1, sizeof *k);
    int rc = make_parts(m, d, size, k);

    if (rc == CS_OK)
        rc = estimate(k, m, d, valid, after);
    if (rc == CS_OK) {
        *made = k;
        cs_info("made %lld peptide words and %lld proteins in %.1f s", (long long)k->lookup->n,
                (long long)k->proteins->n, cs_now_s() - began);
        return CS_OK;
    }
    release(k);
    return rc;
}

/* ---- the model ------------------------------------------------------------------------------- */

static void remove_proteins(cs_model *m)
{
    cs_lookup_free(m->lookup);
    cs_proteins_free(m->proteins);
    m->lookup = NULL;
    m->proteins = NULL;
}

/* The model receives what was made, instead of that of a finished run that was resumed. */
static void take_made(struct job *j, struct made *k)
{
    j->m->lookup = k->lookup;
    j->m->proteins = k->proteins;
    k->lookup = NULL;
    k->proteins = NULL;
    j->draw = k->draw;
    j->n_table = (size_t)(j->m->lookup->n_class * j->m->lookup->n_code);
    j->n_database = (size_t)(j->m->proteins->tree.n * CS_PROTEIN_WEIGHTS);
}

static void swap_scores(cs_scores *a, cs_scores *b)
{
    const cs_scores s = *a;

    *a = *b;
    *b = s;
}

/* Takes the proteins back if the validation is clearly worse: scores are `before` then. */
static int judge(const struct job *j, cs_scores *before, cs_scores *scores)
{
    int rc = CS_OK;
    cs_metrics without = { 0 }, with = { 0 };

    CS_TRY(cs_scores_metrics(before, 0, INT64_MAX, 0, false, &without));
    CS_TRY(cs_scores_metrics(scores, 0, INT64_MAX, 0, false, &with));
    if (with.balanced < without.balanced - noise) {
        cs_warn("with proteins, the balanced accuracy of the validation is %.4f, not %.4f; wrote "
                "the model without them", with.balanced, without.balanced);
        remove_proteins(j->m);
        swap_scores(before, scores);
        goto out;
    }
    cs_note("%lld peptide words and %lld proteins: validation balanced accuracy %.4f, without them "
            "%.4f", (long long)j->m->lookup->n, (long long)j->m->proteins->n, with.balanced,
            without.balanced);
    rc = cs_provenance_add_proteins(&j->m->training, &without, &with);
out:
    cs_metrics_release(&without);
    cs_metrics_release(&with);
    return rc;
}

static int add(void *made, cs_model *m, cs_dataset *d, const cs_sampler *valid,
               int64_t batch_tokens, cs_scores *scores)
{
    int rc = CS_OK;
    cs_scores before = { 0 };
    struct job j = { .m = m, .d = d, .valid = valid, .batch_tokens = batch_tokens,
                     .half = cs_alloc((size_t)d->n, 1) };

    if (!j.half)
        return cs_fail(CS_EMEM, "out of memory for the validation records");
    cs_scores_for(&before, m);
    cs_scores_for(scores, m);
    CS_TRY(halve(d, j.half));
    remove_proteins(m);
    CS_TRY(predict(&j, BOTH, &before));
    take_made(&j, made);
    CS_TRY(cross_fit(&j, scores));
    rc = judge(&j, &before, scores);
out:
    cs_scores_release(&before);
    CS_FREE(j.half, j.weight);
    return rc;
}

cs_train_extension cs_proteins_extension(int64_t size)
{
    return (cs_train_extension){ .size = size, .option = "--proteins", .speed = 3e6,
                                 .check = check, .make = make, .add = add, .release = release };
}
