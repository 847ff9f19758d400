/* path_conflicts.h - files of a run that no output may overwrite: inputs, and other outputs. */
#ifndef CS_BASE_PATH_CONFLICTS_H
#define CS_BASE_PATH_CONFLICTS_H

#include "base/err.h"

/* Files are identified by device and inode, for any path; "-" is standard input or output. Devices,
 * pipes, folders and missing files never conflict. Registrations are for a program that runs one
 * command: they are permanent, and made by the thread that starts the run. A file that a run
 * resumes from and rewrites (a checkpoint, a journal) is an output, not an input. */

/** cs_paths_add_input - register an input, and indexes beside it. CS_OK; CS_EUSAGE naming a
 * registered output that is the same file; CS_EMEM */
int cs_paths_add_input(const char *path) CS_MUST_CHECK;
/** cs_paths_add_output - register an output before it is opened. CS_OK; CS_EUSAGE naming an input
 * that is the same file; CS_EMEM */
int cs_paths_add_output(const char *path) CS_MUST_CHECK;
/** cs_paths_check_output - is this output different from all inputs and their indexes, also from
 * those that the run may create? Called when an output is opened. CS_OK, CS_EUSAGE. Thread: any,
 * after the inputs are registered */
int cs_paths_check_output(const char *path) CS_MUST_CHECK;

typedef struct cs_path_claim cs_path_claim;
/**
 * cs_paths_claim - this output is the only one that writes there until cs_paths_unclaim()
 *
 * path     without a symbolic link at its end (cs_path_resolve()); it may not exist
 * shown    the path in messages
 * Returns  CS_OK; CS_EUSAGE if another output has it; CS_EMEM
 * Thread   any
 */
int  cs_paths_claim(const char *path, const char *shown, cs_path_claim **out) CS_MUST_CHECK;
/** cs_paths_unclaim - accepts NULL */
void cs_paths_unclaim(cs_path_claim *c);

#endif
