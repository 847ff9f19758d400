/* input_pump.h - helper thread for inputs that block: a signal ends them. */
#ifndef CS_IO_INPUT_PUMP_H
#define CS_IO_INPUT_PUMP_H

#include "base/err.h"

struct hFILE;
struct htsFile;

/**
 * cs_pump_open - open a file, or "-" for standard input, for reading
 *
 * What is no regular file (a pipe, a FIFO, a terminal) ends when SIGINT, SIGTERM or SIGHUP comes,
 * as if it were complete: cs_pump_interrupted() tells.
 * Returns  for hclose(), or NULL with errno
 */
struct hFILE *cs_pump_open(const char *path);

/** cs_pump_open_hts - the same for htslib's own readers, as hts_open() gives it. CS_OK, CS_EIO,
 * CS_ECANCEL */
int cs_pump_open_hts(const char *path, struct htsFile **out) CS_MUST_CHECK;

/** cs_pump_interrupted - what a reader returns where the library below it says rc: an end or an
 * error that came with a signal is CS_ECANCEL */
int cs_pump_interrupted(int rc) CS_MUST_CHECK;

#endif
