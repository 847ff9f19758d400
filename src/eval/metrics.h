/* metrics.h - metrics of predictions against labels.
 *
 * DESIGN. All predictions are kept (one float per output, the truth and a length), because exact
 * ROC-AUC needs all scores and metrics are reported by length: 4 (n_out + n_target) + 8 bytes per
 * record.
 */
#ifndef CS_EVAL_METRICS_H
#define CS_EVAL_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/exec/model.h"

typedef struct cs_scores {
    bool     is_class;
    bool     is_labels;          /* targets are 0, 1 or NaN, outputs probabilities */
    double   threshold;          /* of labels: minimum probability of a call */
    int32_t  n_out, n_target;
    double  *deviation;          /* [n_target] of standardized values: the loss divides errors by
                                  * it; or NULL */
    int64_t  n;
    float   *output;             /* [n * n_out] probabilities or values */
    float   *target;             /* [n * n_target] class number (n_out or more: a class beyond the
                                  * model's) or values; NaN: unknown */
    int64_t *length;             /* [n] bases */
    uint8_t *reason;             /* [n] reason without a call (cs_reason); 0 until set */
    size_t   cap_output, cap_target, cap_length, cap_reason;
} cs_scores;

/** cs_scores_init - empty, for records of n_out values or probabilities and n_target targets.
 * Release it with cs_scores_release() */
void cs_scores_init(cs_scores *s, bool is_class, int32_t n_out, int32_t n_target);
/** cs_scores_for - the same for the predictions of a model, with a threshold of 0.5 */
void cs_scores_for(cs_scores *s, const cs_model *m);
void cs_scores_release(cs_scores *s);
/** cs_scores_clear - remove all records, keep their memory */
void cs_scores_clear(cs_scores *s);
/** cs_scores_add - one record's prediction [n_out] and truth [n_target]; CS_OK or CS_EMEM */
int  cs_scores_add(cs_scores *s, const float *output, const float *target, int64_t length)
    CS_MUST_CHECK;

/** cs_scores_known - is any truth of record i known, and for classes among the model's? */
bool cs_scores_known(const cs_scores *s, int64_t i);

/** cs_scores_within - the same, and lo <= length < hi? */
bool cs_scores_within(const cs_scores *s, int64_t i, int64_t lo, int64_t hi);

/** cs_scores_truth - class number of record i, which must not be NaN */
int32_t cs_scores_truth(const cs_scores *s, int64_t i);
/** cs_scores_best - index of record i's largest output, ties to the lowest */
int32_t cs_scores_best(const cs_scores *s, int64_t i);

/* One class against the rest, a label's 1s against its 0s over records with a known value, or one
 * value of a regression. NaN: undefined (no such record or call, or constant values). */
typedef struct cs_class_metrics {
    int64_t n;                   /* records of the class; positive ones; known values */
    int64_t n_called, n_right;   /* calls, and those that are right */
    double  precision, recall, f1, auc;
    /* labels only */
    int64_t n_known;             /* records with a known value */
    double  ap;                  /* average precision */
    double  balanced;            /* mean of recall and specificity */
    double  mcc;
    /* values only */
    double  mse, mae, within;
    double  r2, pearson, spearman;
} cs_class_metrics;

/* An entry of the confusion matrix: records, or tokens. */
typedef struct cs_called { int32_t truth, call; int64_t n; } cs_called;

typedef struct cs_metrics {
    int64_t n;                   /* records, or tokens, with a known truth */
    double  loss;                /* mean cross-entropy (natural log), or mean squared error, of
                                  * standardized values if the model has such */
    /* classes */
    double  accuracy;
    double  balanced;            /* mean recall over the classes present */
    double  macro_f1, macro_auc; /* means over the classes where defined */
    double  mcc;                 /* multi-class Matthews correlation; 0 when a margin is constant */
    /* labels: accuracy is the share of correct calls of known targets, balanced and mcc are means
     * over the labels; micro: over all known targets of all labels */
    int64_t n_known;
    double  macro_ap, micro_f1, micro_auc, micro_ap;
    int32_t n_class;             /* or labels, or values */
    cs_class_metrics *cls;       /* [n_class] */
    cs_called *called;           /* [n_called] the confusion matrix without zeros, by truth and
                                  * then by call; or NULL */
    int64_t n_called;
    /* values, over all targets */
    double  mse, mae;
    double  within;              /* share with |error| < tolerance */
    double  r2, pearson, spearman;   /* means over the values where defined */
} cs_metrics;

/**
 * cs_scores_metrics - the metrics of the records with lo <= length < hi
 *
 * tolerance  for `within`
 * full       compute ROC-AUC too (a sort per class), the confusion matrix, and of values
 *            correlations
 * Returns  CS_OK (release with cs_metrics_release) or CS_EMEM. Metrics without records are NaN
 * Source   MCC: Gorodkin, Comput. Biol. Chem. 28 (2004); AUC by ranks with ties: Hanley, McNeil
 *          1982; r2 = 1 - (squared errors) / (squared deviations of the truth from its mean)
 */
int  cs_scores_metrics(const cs_scores *s, int64_t lo, int64_t hi, double tolerance, bool full,
                       cs_metrics *f) CS_MUST_CHECK;
void cs_metrics_release(cs_metrics *f);

/** cs_metrics_called - records of class `truth` called as class `call`; 0 without the matrix */
int64_t cs_metrics_called(const cs_metrics *f, int32_t truth, int32_t call);
/** cs_metrics_next_call - the first class from `call` on that records of class `truth` were called
 * as; n_class: none, or no matrix */
int32_t cs_metrics_next_call(const cs_metrics *f, int32_t truth, int32_t call);

/* ---- classes of tokens: counted, not stored: one per base is too many ----------- */

enum { CS_CONFUSION_CLASSES = 256 };   /* maximum classes of their confusion matrix */

typedef struct cs_token_counts {
    int32_t  n_class;
    int64_t  n;                  /* tokens with a known class */
    double   loss;               /* their summed cross-entropy */
    cs_class_metrics *cls;       /* [n_class] n, n_called and n_right */
    int64_t *confusion;          /* [n_class * n_class] row: truth, column: call; or NULL */
} cs_token_counts;

/** cs_token_counts_init - CS_OK (release with cs_token_counts_release) or CS_EMEM */
int  cs_token_counts_init(cs_token_counts *c, int32_t n_class) CS_MUST_CHECK;
void cs_token_counts_release(cs_token_counts *c);
/** cs_token_counts_clear - set all counts to 0 */
void cs_token_counts_clear(cs_token_counts *c);
/** cs_token_counts_add - n tokens' probabilities [n * n_class] and classes [n], negative: not
 * known */
void cs_token_counts_add(cs_token_counts *c, const float *output, const int32_t *label, int64_t n);
/** cs_token_counts_metrics - as cs_scores_metrics(), without ROC-AUC */
int  cs_token_counts_metrics(const cs_token_counts *c, cs_metrics *f) CS_MUST_CHECK;

#endif
