/* inflow.h - inputs that may keep us waiting: a signal ends them. */
#ifndef CS_IO_INFLOW_H
#define CS_IO_INFLOW_H

#include "base/err.h"

struct hFILE;
struct htsFile;

/**
 * cs_inflow_open - open a file, or "-" for standard input, for reading
 *
 * What is no regular file (a pipe, a FIFO, a terminal) ends when SIGINT, SIGTERM or SIGHUP comes,
 * as if it were complete: cs_inflow_cut() tells.
 * Returns  for hclose(), or NULL with errno
 */
struct hFILE *cs_inflow_open(const char *path);

/** cs_inflow_hts - the same for htslib's own readers, as hts_open() gives it. CS_OK, CS_EIO,
 * CS_ECANCEL */
int cs_inflow_hts(const char *path, struct htsFile **out) CS_MUST_CHECK;

/** cs_inflow_cut - what a reader returns where the library below it says rc: an end or an error
 * that came with a signal is CS_ECANCEL */
int cs_inflow_cut(int rc) CS_MUST_CHECK;

#endif
