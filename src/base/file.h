/* file.h - output files, written to a temporary name and renamed when complete. */
#ifndef CS_BASE_FILE_H
#define CS_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* An output being written. A regular file is written as NAME.tmp.PID beside its final name and
 * renamed by cs_outfile_close(), with the mode of the file it replaces (the umask's for a new one);
 * symbolic links are followed and stay. Devices, FIFOs, /dev/fd/N and "-" (stdout) are written
 * directly. */
typedef struct cs_outfile cs_outfile;

/** cs_outfile_open - path NULL or "-" is stdout. CS_OK; CS_EIO naming file and reason; CS_EUSAGE
 * for an empty name, for a file that the run reads (base/path_conflicts.h), and for one whose
 * content is protected. A name that ends in .gz is warned of, once */
int cs_outfile_open(const char *path, cs_outfile **out) CS_MUST_CHECK;
/** cs_outfile_open_as - the same for an output of protected content: `holds` is its kind, or NULL,
 * and a file of that kind may be replaced; `packed`: the caller compresses what it writes */
int cs_outfile_open_as(const char *path, const char *holds, bool packed, cs_outfile **out)
    CS_MUST_CHECK;
/** cs_outfile_protect - have `look` tell the kind of content of every regular file that an output
 * would replace, or NULL for what may be lost: other kinds are replaced by their own only. With
 * NULL for `look`, as at first, everything is replaced. Call before threads */
void cs_outfile_protect(const char *(*look)(const char *path));
/**
 * cs_outfile_continue - an output that survives the end of the run: it is written to NAME.part
 *
 * holds    the kind of its content, as cs_outfile_open_as() takes it
 * n_bytes  what to keep of a NAME.part that is there: what cs_outfile_checkpoint() told
 * Returns  CS_OK; CS_EUSAGE for what is not a regular file, one that the run reads, and one whose
 *          content is protected; CS_EFORMAT when less than n_bytes are there; CS_EIO, also when
 *          another process is writing to it
 */
int cs_outfile_continue(const char *path, const char *holds, int64_t n_bytes, cs_outfile **out)
    CS_MUST_CHECK;
/** cs_outfile_checkpoint - have all of it on the disk, and tell how many bytes that is; of an
 * output of cs_outfile_continue(). Errors as cs_outfile_write() */
int cs_outfile_checkpoint(cs_outfile *f, int64_t *n_bytes) CS_MUST_CHECK;
/** cs_outfile_write - buffered. CS_OK; CS_EIO with a message; CS_ECANCEL without one when the
 * reader of a pipe has gone (not an error to the user: `| head` is fine). An error is returned
 * again by every later call */
int cs_outfile_write(cs_outfile *f, const void *p, size_t n_bytes) CS_MUST_CHECK;
/** cs_outfile_printf - formatted cs_outfile_write() */
int cs_outfile_printf(cs_outfile *f, const char *fmt, ...) CS_PRINTF(2, 3) CS_MUST_CHECK;
/** cs_outfile_text, cs_outfile_millionths - the same bytes as "%s" and "%.6f" print, sooner */
int cs_outfile_text(cs_outfile *f, const char *text) CS_MUST_CHECK;
int cs_outfile_millionths(cs_outfile *f, float v) CS_MUST_CHECK;
/** cs_outfile_flush - hand everything to the operating system, for a reader who waits */
int cs_outfile_flush(cs_outfile *f) CS_MUST_CHECK;
/** cs_outfile_tell - bytes that this run has written to it */
int64_t cs_outfile_tell(const cs_outfile *f);
/** cs_outfile_can_patch - a regular file, also one that stdout was sent to, unless it appends */
bool cs_outfile_can_patch(const cs_outfile *f);
/** cs_outfile_patch - write over n bytes at `off`, counted from where this output began, that were
 * written before. Only where cs_outfile_can_patch(). Errors as cs_outfile_write() */
int cs_outfile_patch(cs_outfile *f, int64_t off, const void *p, size_t n_bytes) CS_MUST_CHECK;
/** cs_outfile_name - as the user gave it, for messages */
const char *cs_outfile_name(const cs_outfile *f);
/** cs_outfile_fd - the descriptor, for a library that writes by itself: flush before, nothing else
 * after */
int cs_outfile_fd(const cs_outfile *f);
/** cs_outfile_place - the path where its bytes lie until it is closed, for a library that opens
 * files by name: finish before; NULL for what is written directly */
const char *cs_outfile_place(const cs_outfile *f);
/** cs_outfile_park - keep no descriptor between writes, for one of many files; only a regular
 * file's is given up. CS_OK or CS_EIO */
int cs_outfile_park(cs_outfile *f) CS_MUST_CHECK;
/** cs_outfile_finish - all that can fail about a close but the renaming: flush, sync, close. Then
 * cs_outfile_close() only renames, so that of several outputs all appear or none */
int cs_outfile_finish(cs_outfile *f) CS_MUST_CHECK;
/** cs_outfile_close - flush, sync, close, check, rename. Frees f in every case; accepts NULL. On an
 * error the temporary file is removed and what stood under the name before still stands */
int cs_outfile_close(cs_outfile *f) CS_MUST_CHECK;
/** cs_outfile_discard - close and remove the temporary file, but no NAME.part; accepts NULL */
void cs_outfile_discard(cs_outfile *f);

/** cs_file_read - a whole small file (at most max_bytes), NUL-terminated; free(*p). "-" is standard
 * input, and a descriptor's other names are the descriptor: it is read on from where it stands */
int cs_file_read(const char *path, size_t max_bytes, char **p, size_t *n_bytes) CS_MUST_CHECK;

/** cs_file_size - bytes of a regular file; -1 for anything else */
int64_t cs_file_size(const char *path);

/** cs_stdio_init - where the program was started without descriptor 0, 1 or 2, put a file that
 * refuses there, so that none opened later takes the place. Call once, first of all */
void cs_stdio_init(void);

/** cs_stdout_close - flush and close stdout: CS_OK; CS_EIO when not all of it arrived; CS_ECANCEL
 * without a message when its reader has gone */
int cs_stdout_close(void) CS_MUST_CHECK;

/** cs_signal_init - SIGINT, SIGTERM and SIGHUP set a flag (those that were ignored stay so); a
 * second one, and exit(), remove temporary outputs; SIGPIPE and SIGXFSZ are ignored: what cannot
 * be written is told by write(). Call once, from main */
void cs_signal_init(void);
/** cs_signal_caught - the signal that came, or 0 */
int cs_signal_caught(void);
/** cs_signal_wait - wait until a pipe, a terminal or the like can be read, or has ended; to is
 * where its bytes go (a pipe), or -1. CS_OK; CS_ECANCEL once a signal has come, or whoever reads
 * `to` has gone */
int cs_signal_wait(int from, int to) CS_MUST_CHECK;
/** cs_signal_wait_room - wait until PIPE_BUF bytes can be written to a pipe or socket, or its
 * reader has gone. CS_OK; CS_ECANCEL once a signal has come */
int cs_signal_wait_room(int to) CS_MUST_CHECK;

#endif
