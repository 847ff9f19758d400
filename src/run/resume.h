/* resume.h - run a stream whose outputs are saved, to be resumed after an interruption. */
#ifndef CS_RUN_RESUME_H
#define CS_RUN_RESUME_H

#include "infer/stream.h"
#include "run/journal.h"
#include "run/outputs.h"

/**
 * cs_resume_run - skip the records of the interrupted run, and stream the others to the outputs
 *
 * every_s  seconds between two states of the outputs in the journal
 * more     further state for the journal, or NULL when out of memory; called with the sink's
 *          argument, in its thread. NULL: there is none
 * s        its source is set; the sink writes to `out`
 * Returns  CS_OK: outputs are finished, to be renamed, and the journal is removed; CS_ECANCEL after
 *          a signal, with everything saved; CS_EFORMAT if the input has fewer records than before;
 *          CS_EIO; the errors of cs_stream_run()
 */
int cs_resume_run(cs_outputs *out, cs_journal *journal, double every_s,
                  json_t *(*more)(const void *arg), const cs_stream *s, cs_stream_stat *stat)
    CS_MUST_CHECK;

#endif
