/* io_init.h - initialise htslib. */
#ifndef CS_IO_IO_INIT_H
#define CS_IO_IO_INIT_H

/** cs_io_library - the version of htslib that runs */
const char *cs_io_library(void);

/**
 * cs_io_init - make htslib quiet and local; call once, after cs_log_set_level(), before threads
 *
 * Its message level follows ours (silent by default, errors with -v, all with -vv), so that a
 * failure is told once. CRAM references are never fetched from the network unless REF_PATH says so.
 */
void cs_io_init(void);

#endif
