/* io_init.h - initialise htslib. */
#ifndef CS_IO_IO_INIT_H
#define CS_IO_IO_INIT_H

/** cs_io_library - the version of htslib that runs */
const char *cs_io_library(void);

/**
 * cs_io_init - make htslib quiet and local; call once, after cs_log_set_level(), before threads
 *
 * Its log level follows ours (silent by default, errors with -v, all with -vv), so a failure is
 * reported once. CRAM references are fetched from the network only if REF_PATH names a server.
 */
void cs_io_init(void);

#endif
