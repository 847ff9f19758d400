/* evaluate.h - predict samples of a dataset by the stages of classify. */
#ifndef CS_TRAIN_EVALUATE_H
#define CS_TRAIN_EVALUATE_H

#include "eval/fold_metrics.h"
#include "eval/metrics.h"
#include "infer/policy.h"
#include "train/dataset.h"
#include "train/labelled.h"
#include "train/sampler.h"
#include "train/train_args.h"

typedef struct cs_evaluation {
    cs_model        *model;
    const cs_policy *policy;     /* of that model */
    int64_t          batch_tokens;
    int              n_thread;   /* number of threads */
    cs_token_counts *counts;     /* used instead of scores for predictions per token */
} cs_evaluation;

/**
 * cs_evaluate_samples - predict samples and add predictions and labels to the scores
 *
 * n_without  [CS_N_REASON] incremented by the samples with a reason instead of a prediction; they
 *            are not added
 * Returns  CS_OK, or the errors of cs_stream_run()
 */
int cs_evaluate_samples(const cs_evaluation *j, const cs_dataset *d, const cs_sample *sample,
                        int64_t n, cs_scores *scores, int64_t *n_without) CS_MUST_CHECK;

/** cs_evaluate_raw - the same without calibration, with the usual policy; the errors of the policy
 * and of cs_evaluate_samples() */
int cs_evaluate_raw(cs_model *m, const cs_dataset *d, const cs_sample *sample, int64_t n,
                    int64_t batch_tokens, cs_scores *scores) CS_MUST_CHECK;

/** cs_evaluate_per_record - CS_OK, or CS_EMODEL for predictions per token, naming the command for
 * these */
int cs_evaluate_per_record(const cs_model *m) CS_MUST_CHECK;

/** cs_evaluate_wants - may the record be evaluated? With --split, only validation records may */
bool cs_evaluate_wants(const cs_labelled *l, const cs_example *e);

/**
 * cs_evaluate_blocks - read labelled records in blocks that fit the model, and call `block` on each
 *
 * d        zero; holds the records of the present block while `block` runs
 * block    sums the records that it leaves out in n_without[CS_N_REASON]
 * Returns  CS_OK, with warnings about omitted records; the errors of cs_labelled_read() and of
 *          block(); CS_EMODEL for records that do not fit the model's input or output
 */
int cs_evaluate_blocks(cs_labelled *l, const cs_model *m, cs_dataset *d, int (*block)(void *arg),
                       void *arg, const int64_t *n_without) CS_MUST_CHECK;

/** cs_evaluate_lengths - "500,1000": at most max_n increasing lengths, a suffix allowed; NULL:
 * none. CS_OK, or CS_EUSAGE naming the option */
int cs_evaluate_lengths(const char *option, const char *text, int max_n, int64_t *v, int *n)
    CS_MUST_CHECK;

/** cs_evaluate_calibrate - cs_calibrate() for a model, with taxa as calls if its head has their
 * tree; path names it in messages */
int cs_evaluate_calibrate(cs_model *m, const char *path, const cs_scores *s, const int64_t *edge,
                          int n_edge) CS_MUST_CHECK;

/* A model file and its validation data. */
typedef struct cs_evaluate_job {
    const char       *path;      /* read, and written again */
    cs_backend       *be;
    const cs_sampler *valid;     /* of the validation part, or NULL: */
    const cs_scores  *scores;    /* uncalibrated, of models of a cross-validation */
    const cs_fold    *fold;      /* [n_fold] these */
    int               n_fold;
    int64_t           batch_tokens;
    const char       *html;      /* a page about both, or NULL; then: */
    const char       *command, *history;       /* see cs_eval_report */
    double            regression, bag;
    const cs_classes *classes;
} cs_evaluate_job;

/**
 * cs_evaluate_after - measure, on the model as it is, what cs_evaluate_trained() will take
 *
 * j        without scores: with n_fold, they will be those of as many folds as large as `valid`
 * Returns  CS_OK; CS_EMEM; the errors of the model's taxonomy
 */
int cs_evaluate_after(const cs_evaluate_job *j, const cs_model *m, cs_train_after *out)
    CS_MUST_CHECK;

/** cs_evaluate_add - add a model file's uncalibrated predictions of the validation to scores, zero
 * before the first call; the errors of loading and cs_evaluate_samples() */
int cs_evaluate_add(const cs_evaluate_job *j, cs_scores *scores) CS_MUST_CHECK;

/** cs_evaluate_page - write the page during training, from predictions of the validation set:
 * uncalibrated; valid of `j` is not used. CS_OK, CS_EMEM, CS_EIO */
int cs_evaluate_page(const cs_evaluate_job *j, cs_model *m, const cs_scores *scores) CS_MUST_CHECK;

/** cs_evaluate_check_page - check before training that the page can be written and has content.
 * checkpoint: the file, or NULL. CS_OK, also with html NULL; CS_EUSAGE, CS_EIO */
int cs_evaluate_check_page(const char *html, const cs_run_args *own, const char *checkpoint,
                           const cs_head *head, const cs_sampler *valid) CS_MUST_CHECK;

/**
 * cs_evaluate_trained - after training: calibrate a model of classes, if there are enough samples,
 * and write the page; nothing for a path of cs_file_is_device()
 *
 * Returns  CS_OK; the errors of loading, evaluation and saving
 */
int cs_evaluate_trained(const cs_evaluate_job *j) CS_MUST_CHECK;

#endif
