/* metrics.h - answers beside the truth, and the figures that sum them up.
 *
 * DESIGN. Every answer is kept (one float per output, the truth and a length), because exact
 * ROC-AUC needs all scores and figures are asked for by length: 4 (n_out + n_target) + 8 bytes per
 * record.
 */
#ifndef CS_TRAIN_METRICS_H
#define CS_TRAIN_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cs_scores {
    bool     is_class;
    int32_t  n_out, n_target;
    int64_t  n;
    float   *answer;             /* [n * n_out] probabilities or values */
    float   *target;             /* [n * n_target] class number or values; NaN: unknown */
    int64_t *length;             /* [n] bases */
    size_t   cap_answer, cap_target, cap_length;
} cs_scores;

void cs_scores_init(cs_scores *s, bool is_class, int32_t n_out, int32_t n_target);
void cs_scores_release(cs_scores *s);
void cs_scores_clear(cs_scores *s);
/** cs_scores_add - one record's answer [n_out] and truth [n_target]; CS_OK or CS_EMEM */
int  cs_scores_add(cs_scores *s, const float *answer, const float *target, int64_t length)
    CS_MUST_CHECK;

/* One class against the rest. NaN: not defined (no such record, none called so). */
typedef struct cs_class_figures {
    int64_t n, n_called, n_right;
    double  precision, recall, f1, auc;
} cs_class_figures;

typedef struct cs_figures {
    int64_t n;                   /* records with a known truth */
    double  loss;                /* mean cross-entropy (natural log), or mean squared error */
    /* classes */
    double  accuracy;
    double  balanced;            /* mean recall over the classes that occur */
    double  macro_f1, macro_auc; /* means over the classes for which they are defined */
    double  mcc;                 /* multi-class Matthews correlation; 0 when a margin is constant */
    int32_t n_class;
    cs_class_figures *cls;       /* [n_class] */
    int64_t *confusion;          /* [n_class * n_class] row: truth, column: call */
    /* values, over all targets */
    double  mae;
    double  within;              /* share with |error| < tolerance */
} cs_figures;

/**
 * cs_scores_figures - the figures of the records with lo <= length < hi
 *
 * tolerance  for `within`
 * auc      compute ROC-AUC too (a sort per class)
 * Returns  CS_OK (release with cs_figures_release) or CS_EMEM. Figures without records are NaN
 * Source   MCC: Gorodkin, Comput. Biol. Chem. 28 (2004); AUC by ranks with ties: Hanley, McNeil
 *          1982
 */
int  cs_scores_figures(const cs_scores *s, int64_t lo, int64_t hi, double tolerance, bool auc,
                       cs_figures *f) CS_MUST_CHECK;
void cs_figures_release(cs_figures *f);

#endif
