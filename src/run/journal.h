/* journal.h - journal of an interrupted run, beside its first output. */
#ifndef CS_RUN_JOURNAL_H
#define CS_RUN_JOURNAL_H

#include <jansson.h>

#include "run/about.h"
#include "run/outputs.h"

typedef struct cs_journal cs_journal;

/**
 * cs_journal_open - read OUTPUT.resume, or start a journal if missing
 *
 * output   an output of the run
 * about    of this run; sizes and times of its inputs are stored
 * other    the same of the reference and the BED file of regions, each or NULL
 * Returns  CS_OK; CS_EUSAGE if an input is not a regular file, or the journal belongs to another
 *          run: other options that change results, inputs, model, version; CS_EFORMAT for a damaged
 *          one
 */
int  cs_journal_open(const char *output, const cs_about *about, const char *const other[2],
                     cs_journal **out) CS_MUST_CHECK;
void cs_journal_free(cs_journal *j);

/** cs_journal_records - number of finished records; 0: new run */
uint64_t cs_journal_records(const cs_journal *j);
/** cs_journal_outputs - state of the outputs from cs_outputs_save(); NULL: new run */
const json_t *cs_journal_outputs(const cs_journal *j);
/** cs_journal_more - the caller's own state; NULL: new run, or it had none */
const json_t *cs_journal_more(const cs_journal *j);

/**
 * cs_journal_write - replace the journal by the present state
 *
 * outputs  taken over. Synced before, so the journal is never ahead of the outputs
 * more     further state of the run, or NULL; taken over
 * Returns  CS_OK; CS_EIO; CS_EMEM
 */
int  cs_journal_write(cs_journal *j, uint64_t n_record, json_t *outputs, json_t *more)
    CS_MUST_CHECK;
/** cs_journal_remove - the run is complete, before renaming its outputs */
void cs_journal_remove(cs_journal *j);

#endif
