/* metrics_table.h - metrics table of a training run: a row per epoch. */
#ifndef CS_TRAIN_METRICS_TABLE_H
#define CS_TRAIN_METRICS_TABLE_H

#include "base/outfile.h"
#include "eval/metrics.h"
#include "nn/exec/model.h"
#include "train/loop_opt.h"

/* The log's lines about epochs: one in several seconds, unless --verbose, and the last. */
typedef struct cs_epoch_log {
    double last;                 /* seconds: time of the last line, at first of the start */
    char   line[320];            /* not printed yet; empty: none */
} cs_epoch_log;

/** cs_epoch_log_flush - print the line of the last epoch, if it was not */
void cs_epoch_log_flush(cs_epoch_log *log);

/**
 * cs_metrics_table_add - the row of the epoch that has just ended in st
 *
 * The table is kept in the state and written whole, so that a run that continues from a checkpoint
 * also removes the rows of repeated steps. The row may be a line of the log, too.
 *
 * m        the model in training, with its head and the names of its values
 * lr       of the epoch's last step
 * f        of the validation; f->n 0: there was none
 * Returns  CS_OK; the errors of cs_outfile_open() and cs_outfile_close()
 */
int cs_metrics_table_add(const cs_loop_opt *o, const cs_model *m, double lr, const cs_metrics *f,
                         cs_train_state *st, cs_epoch_log *log) CS_MUST_CHECK;

/** cs_run_file_end - as cs_outfile_end() for an output beside the model: a pipe whose reader has
 * closed it would end the training, and is an error (CS_EIO) */
int cs_run_file_end(cs_outfile *f, const char *path, int rc) CS_MUST_CHECK;

#endif
