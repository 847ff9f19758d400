/* path_conflicts.h - input files of a run, which no output may overwrite. */
#ifndef CS_BASE_PATH_CONFLICTS_H
#define CS_BASE_PATH_CONFLICTS_H

#include "base/err.h"

/* Files are told by device and number, whatever path leads to them; "-" is standard input or
 * output. What is not a regular file (a device, a pipe, a folder) or not there is never in the way.
 * Claims are for a program that runs one command: they are never given back, and all of them are
 * made by the thread that starts the run. A file that a run continues from and writes again (a
 * checkpoint, a journal) is an output and not claimed as an input. */

/** cs_paths_add_input - the run reads this file. CS_OK; CS_EUSAGE naming an output that was claimed
 * before and is the same file; CS_EMEM */
int cs_paths_add_input(const char *path) CS_MUST_CHECK;
/** cs_paths_add_output - the run will write this file; for outputs that are known before they are
 * opened. CS_OK; CS_EUSAGE naming an input that is the same file; CS_EMEM */
int cs_paths_add_output(const char *path) CS_MUST_CHECK;
/** cs_paths_check_output - is this output none of the inputs? Every output is asked for when it is
 * opened. CS_OK, CS_EUSAGE. Thread: any, once inputs are claimed */
int cs_paths_check_output(const char *path) CS_MUST_CHECK;

#endif
