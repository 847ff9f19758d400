/* hts_out.h - outputs that htslib writes. */
#ifndef CS_IO_HTS_OUT_H
#define CS_IO_HTS_OUT_H

#include "base/outfile.h"

struct htsFile;

/* An output of htslib. All 0: not open. */
typedef struct cs_htsout {
    struct htsFile *fp;          /* for calls of htslib */
    cs_outfile     *file;        /* not owned */
    struct output_pump *pump;    /* NULL: htslib writes to the file's descriptor */
    int             fd;          /* that htslib writes to */
} cs_htsout;

/**
 * cs_htsout_open - let htslib write to a file
 *
 * Pipes, sockets and terminals are written by a thread as cs_outfile_write() does: a signal ends
 * them, and they may be non-blocking.
 * o        all 0
 * file     empty or flushed; until `o` is closed, not to be written or finished by others
 * path     from which htslib derives nothing but messages
 * mode     as of hts_open()
 * Returns  CS_OK; CS_EIO. cs_htsout_discard() also after an error
 */
int cs_htsout_open(cs_htsout *o, cs_outfile *file, const char *path, const char *mode)
    CS_MUST_CHECK;

/**
 * cs_htsout_failed - the error of a failed call of htslib that writes; set errno to 0 before it
 *
 * what     was tried, or NULL if errno tells enough
 * Returns  CS_ECANCEL without a message after a signal, or if the reader has closed its pipe; else
 *          CS_EIO
 */
int cs_htsout_failed(const cs_htsout *o, const char *what) CS_MUST_CHECK;

/** cs_htsout_close - flush htslib's buffers to the file. As cs_htsout_failed() */
int cs_htsout_close(cs_htsout *o) CS_MUST_CHECK;

/** cs_htsout_discard - close after an error, without messages and without the format's end marker,
 * so that readers see that the file is truncated; also where not open */
void cs_htsout_discard(cs_htsout *o);

#endif
