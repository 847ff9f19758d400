/* io_init.h - initialise htslib, and report that it failed to write. */
#ifndef CS_IO_IO_INIT_H
#define CS_IO_IO_INIT_H

#include "base/err.h"

/** cs_io_library - the version of htslib that runs */
const char *cs_io_library(void);

/**
 * cs_io_init - make htslib quiet and local; call once, after cs_log_set_level(), before threads
 *
 * Its log level follows ours (silent by default, errors with -v, all with -vv), so a failure is
 * reported once. CRAM references are fetched from the network only if REF_PATH names a server.
 */
void cs_io_init(void);

/**
 * cs_io_cannot_write - the error of a failed call of htslib that writes
 *
 * name     of the output
 * what     was tried, or NULL if errno tells enough
 * Returns  CS_ECANCEL without a message if the reader has closed its pipe, else CS_EIO
 */
int cs_io_cannot_write(const char *name, const char *what) CS_MUST_CHECK;

#endif
