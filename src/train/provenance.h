/* provenance.h - provenance of a model, and settings that a resumed run must repeat. */
#ifndef CS_TRAIN_PROVENANCE_H
#define CS_TRAIN_PROVENANCE_H

#include "base/opt.h"
#include "eval/metrics.h"
#include "io/labels.h"
#include "nn/exec/model.h"
#include "train/checkpoint.h"
#include "train/dataset.h"

/* One input file. Here and below texts are UTF-8, with other bytes written \xHH. */
typedef struct cs_origin_file { char *name; int64_t n_bytes; char sha256[65]; } cs_origin_file;

typedef struct cs_provenance {
    char           *command;     /* as given, with base names for paths */
    cs_origin_file *file;
    int             n_file;
    int64_t         seed;
    char           *initial;     /* name of the initial model's file; NULL: none */
    char            initial_sum[65];     /* SHA-256 of its weights */
    const char     *preset;      /* or NULL */
    const char     *split_by;    /* key of the validation split: a key, "name", "table" */
    const struct cs_folds *folds; /* whose means stand for a validation; NULL: none */
    int64_t         n_group;     /* groups of records that stay together; 0: not counted */
} cs_provenance;

/**
 * cs_provenance_init - the command line, and size and SHA-256 of every input
 *
 * set      the tables that argv was parsed by
 * file     paths; "-" has neither size nor checksum
 * Returns  CS_OK; CS_EIO if a file cannot be read again
 */
int  cs_provenance_init(cs_provenance *p, const cs_optset *set, int argc, char **argv,
                        const cs_strlist *file) CS_MUST_CHECK;
void cs_provenance_release(cs_provenance *p);
/** cs_provenance_start_from - the model that training starts from; path NULL: none */
void cs_provenance_start_from(cs_provenance *p, const char *path, const cs_model *from);

/** cs_provenance_text - a JSON object: command, version, inputs, classes, metrics; free() it */
char *cs_provenance_text(const cs_provenance *p, const cs_dataset *d, const cs_classes *classes,
                         const cs_train_state *st);

/**
 * cs_provenance_add_proteins - replace the validation metrics in a model's text by those with
 * proteins
 *
 * text     a model's `training`, or NULL: stays
 * without, with  metrics of the same samples
 * Returns  CS_OK or CS_EMEM
 */
int cs_provenance_add_proteins(char **text, const cs_metrics *without, const cs_metrics *with)
    CS_MUST_CHECK;

/** cs_provenance_log - log the validation metrics in a model's text with their baselines; nothing
 * if it has none (text: a model's `training`, or NULL) */
void cs_provenance_log(const char *text);

/**
 * cs_provenance_recipe - "option=value" lines of options that change results (`same` in
 * base/opt.h), of all tables but those in `skip`; the data's hash; precision and kernels of the
 * model's backend unless it is fp32; and hashes of the tokenizer's vocabulary, if it has one, of
 * the tree that the head trains on, and of the labels' names
 *
 * skip     ends with NULL
 * out      text in UTF-8, other bytes written \xHH; free() it
 * Returns  CS_OK; CS_EMEM
 */
int cs_provenance_recipe(const cs_optset *set, const cs_opt *const *skip, const cs_model *m,
                         uint64_t data_hash, char **out) CS_MUST_CHECK;

#endif
