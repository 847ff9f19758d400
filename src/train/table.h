/* table.h - metrics table of a training run: a row per epoch. */
#ifndef CS_TRAIN_TABLE_H
#define CS_TRAIN_TABLE_H

#include "eval/metrics.h"
#include "nn/heads/head.h"
#include "train/train_opt.h"

/**
 * cs_table_add - the row of the epoch that st is at the end of
 *
 * The table is kept in the state and written whole, so that a run that continues from a checkpoint
 * also removes the rows of repeated steps. The row is a line of the log, too.
 *
 * lr       of the epoch's last step
 * f        of the validation; f->n 0: there was none
 * Returns  CS_OK; the errors of cs_outfile_open() and cs_outfile_close()
 */
int cs_table_add(const cs_train_opt *o, const cs_head *head, double lr, const cs_metrics *f,
                 cs_train_state *st) CS_MUST_CHECK;

#endif
