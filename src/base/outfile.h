/* outfile.h - output files, written to a temporary name and renamed when complete. */
#ifndef CS_BASE_OUTFILE_H
#define CS_BASE_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/out_filter.h"

/* An output being written. A regular file is written as NAME.tmp.PID beside its final name and
 * renamed by cs_outfile_close(), with the mode of the file it replaces (the umask's for a new one);
 * symbolic links are followed and stay. Devices, FIFOs, /dev/fd/N and "-" (stdout) are written
 * directly. */
typedef struct cs_outfile cs_outfile;

/** cs_outfile_open - path NULL or "-" is stdout. CS_OK; CS_EIO naming file and reason; CS_EUSAGE
 * for an empty name, for an input of the run (base/path_conflicts.h), for a file with protected
 * content, and for a suffix of another format. Suffixes .gz and .bgz compress it */
int cs_outfile_open(const char *path, cs_outfile **out) CS_MUST_CHECK;
/** cs_outfile_open_as - the same for an output of another kind (base/out_filter.h), or of protected
 * content: `holds` is the kind of content, or NULL, and a file of the same kind may be replaced */
int cs_outfile_open_as(const char *path, const char *holds, cs_out_kind kind, cs_outfile **out)
    CS_MUST_CHECK;
/** cs_outfile_protect - `look` returns the kind of content of a regular file that an output would
 * replace, or NULL for unprotected content: other kinds are replaced by their own only. With `look`
 * NULL, the default, all files are replaced. Call before starting threads */
void cs_outfile_protect(const char *(*look)(const char *path));
/** cs_outfile_may_replace - may an output of this kind of content (or NULL) replace a file at the
 * path, if any? CS_OK; CS_EUSAGE for protected content */
int cs_outfile_may_replace(const char *path, const char *holds) CS_MUST_CHECK;

/* State of NAME.part at a checkpoint. */
typedef struct cs_part_mark { int64_t n_bytes, sum; } cs_part_mark;

/**
 * cs_outfile_continue - an output that survives an interrupted run: it is written to NAME.part
 *
 * holds    the kind of its content, as for cs_outfile_open_as()
 * mark     what to keep of an existing NAME.part, from cs_outfile_checkpoint(); zeroed: nothing
 * Returns  CS_OK; CS_EUSAGE for other than regular files, inputs of the run, and protected content;
 *          CS_EFORMAT if the file is shorter or its bytes are others; CS_EIO, also when another
 *          process is writing to it
 */
int cs_outfile_continue(const char *path, const char *holds, cs_part_mark mark, cs_outfile **out)
    CS_MUST_CHECK;
/** cs_outfile_checkpoint - sync an output of cs_outfile_continue(), and mark its bytes. Errors as
 * cs_outfile_write() */
int cs_outfile_checkpoint(cs_outfile *f, cs_part_mark *mark) CS_MUST_CHECK;
/** cs_outfile_write - buffered. CS_OK; CS_EIO with a message; CS_ECANCEL without one if the reader
 * of a pipe has closed it (not an error to the user: `| head`). Later calls return the same
 * error */
int cs_outfile_write(cs_outfile *f, const void *p, size_t n_bytes) CS_MUST_CHECK;
/** cs_outfile_printf - formatted cs_outfile_write() */
int cs_outfile_printf(cs_outfile *f, const char *fmt, ...) CS_PRINTF(2, 3) CS_MUST_CHECK;
/** cs_outfile_text, cs_outfile_int, cs_outfile_millionths - the same bytes as "%s", "%lld" and
 * "%.6f", faster */
int cs_outfile_text(cs_outfile *f, const char *text) CS_MUST_CHECK;
int cs_outfile_int(cs_outfile *f, int64_t v) CS_MUST_CHECK;
int cs_outfile_millionths(cs_outfile *f, float v) CS_MUST_CHECK;
/** cs_outfile_flush - write buffered bytes to the operating system, for a waiting reader */
int cs_outfile_flush(cs_outfile *f) CS_MUST_CHECK;
/** cs_outfile_tell - bytes of the output so far, with those kept of an interrupted run */
int64_t cs_outfile_tell(const cs_outfile *f);
/** cs_outfile_can_patch - is it a regular file, also as stdout, and not in append mode? */
bool cs_outfile_can_patch(const cs_outfile *f);
/** cs_outfile_patch - overwrite n bytes at `off`, relative to this output's start, that were
 * written before. Only where cs_outfile_can_patch(). Errors as cs_outfile_write() */
int cs_outfile_patch(cs_outfile *f, int64_t off, const void *p, size_t n_bytes) CS_MUST_CHECK;
/** cs_outfile_name - as the user gave it, for messages */
const char *cs_outfile_name(const cs_outfile *f);
/** cs_outfile_fd - the descriptor, for a library that writes by itself: flush before, and write
 * nothing afterwards */
int cs_outfile_fd(const cs_outfile *f);
/** cs_outfile_temp_path - the path of the temporary file, for a library that opens files by name:
 * finish before; NULL for outputs written directly */
const char *cs_outfile_temp_path(const cs_outfile *f);
/** cs_outfile_park - keep no descriptor between writes, for one of many files; regular files only.
 * The caller syncs their folder once all are closed. CS_OK or CS_EIO */
int cs_outfile_park(cs_outfile *f) CS_MUST_CHECK;
/** cs_outfile_finish - flush, sync, close: all of a close that can fail except the rename. Then
 * cs_outfile_close() only renames, so several outputs are renamed together */
int cs_outfile_finish(cs_outfile *f) CS_MUST_CHECK;
/** cs_outfile_close - flush, sync, close, check, rename. Always frees f; accepts NULL. On an error
 * the temporary file is removed and the old file remains */
int cs_outfile_close(cs_outfile *f) CS_MUST_CHECK;
/** cs_outfile_discard - close and remove the temporary file, but no NAME.part that has bytes;
 * accepts NULL */
void cs_outfile_discard(cs_outfile *f);
/** cs_outfile_end - after success (rc CS_OK) close f, else discard it; accepts NULL. Returns rc, or
 * the error of closing */
int cs_outfile_end(cs_outfile *f, int rc) CS_MUST_CHECK;

#endif
