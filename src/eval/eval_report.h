/* eval_report.h - write the metrics of an evaluation as a table or JSON. */
#ifndef CS_EVAL_EVAL_REPORT_H
#define CS_EVAL_EVAL_REPORT_H

#include "base/outfile.h"
#include "eval/calibrate.h"
#include "eval/eval_calls.h"
#include "eval/eval_ranks.h"
#include "eval/fold_metrics.h"
#include "eval/mixture.h"

/* scores[0] are whole records, also reported by length bins; scores[1 + i] are pieces of piece[i]
 * bases. */
typedef struct cs_eval_report {
    const cs_model  *model;
    const cs_scores *scores;     /* [1 + n_piece] */
    const cs_token_counts *counts;   /* [1 + n_piece] instead, for classes per token; or NULL. Has
                                      * no bins, nor metrics that need every prediction */
    const int64_t   *piece;      /* [n_piece] bases */
    const int64_t   *bin;        /* [n_bin] bases: increasing bounds between bins */
    int              n_piece, n_bin;
    double           tolerance;  /* of values: see cs_scores_metrics() */
    bool             raw;        /* predictions are uncalibrated */
    bool             live;       /* the training still runs: the page reloads itself */
    const double    *share;      /* [n_class] of classes in predictions and in the sample that
                                  * metrics are expected for; NULL: equal, no sample */
    const cs_eval_ranks *ranks;  /* its n is 0 without a taxonomy */
    const char      *history;    /* of a page at the end of training: the rows of the run's table
                                  * (train/metrics_table.h); NULL: there was none */
    double           regression, bag;          /* balanced accuracy of baselines; NaN: none */
    const cs_fold   *fold;       /* [n_fold] of a cross-validation, or NULL; scores are theirs */
    int              n_fold;
} cs_eval_report;

/**
 * cs_eval_write - compute all metrics and write them
 *
 * tsv      columns set (record, fragment), length ("all", "500-999", "50000-", "500"), class ("."
 *          for all), metric, value ("NA" if undefined)
 * json     the same nested, null if undefined; NULL: not requested
 * Returns  CS_OK, CS_EMEM, CS_EIO. One line of summary per set goes to the log (cs_note)
 *
 * With counts the set "record" is "token", and tokens are counted instead of records.
 */
int cs_eval_write(const cs_eval_report *r, cs_outfile *tsv, cs_outfile *json) CS_MUST_CHECK;

/** cs_eval_bin_name - of a bin of lengths: "0-499", "500-999", ..., "50000-" */
void cs_eval_bin_name(const cs_eval_report *r, int bin, char *buf, size_t n_buf);

#endif
