/* journal.h - journal of an interrupted run, beside its first output. */
#ifndef CS_RUN_JOURNAL_H
#define CS_RUN_JOURNAL_H

#include <jansson.h>

#include "base/opt.h"

typedef struct cs_journal cs_journal;

/**
 * cs_journal_open - read OUTPUT.resume, or begin one where there is none
 *
 * output   an output of the run
 * about    what cs_about_text() says of this run
 * input    files that are read, reference NULL or another one; their sizes and times are kept
 * Returns  CS_OK; CS_EUSAGE when an input is not a regular file, or when the journal belongs to
 *          another run: other options, inputs, model, version; CS_EFORMAT for a damaged one
 */
int  cs_journal_open(const char *output, const char *about, const cs_strlist *input,
                     const char *reference, cs_journal **out) CS_MUST_CHECK;
void cs_journal_free(cs_journal *j);

/** cs_journal_records - how many records are done; 0: the run begins */
uint64_t cs_journal_records(const cs_journal *j);
/** cs_journal_outputs - where the outputs stand, as cs_outputs_save() told; NULL: nowhere */
const json_t *cs_journal_outputs(const cs_journal *j);

/**
 * cs_journal_write - what is done now, in the place of what was
 *
 * outputs  taken over. It is on the disk already, so the journal never says too much
 */
int  cs_journal_write(cs_journal *j, uint64_t n_record, json_t *outputs) CS_MUST_CHECK;
/** cs_journal_remove - the run is complete but for its outputs' names */
void cs_journal_remove(cs_journal *j);

#endif
