/* input_pump.h - helper thread for inputs that block: a signal ends them. */
#ifndef CS_IO_INPUT_PUMP_H
#define CS_IO_INPUT_PUMP_H

#include <pthread.h>
#include <stddef.h>

#include "base/err.h"

struct hFILE;
struct htsFile;
struct htsFormat;

/**
 * cs_pump_open - open a file, or "-" for standard input, for reading
 *
 * Pipes, FIFOs and terminals end on SIGINT, SIGTERM or SIGHUP as if complete: see
 * cs_pump_interrupted().
 * Returns  for hclose(), or NULL with errno
 */
struct hFILE *cs_pump_open(const char *path);

/** cs_input_shown - the name of an input in messages: "-" is standard input */
const char *cs_input_shown(const char *path);

/** cs_compression_known - CS_EFORMAT for compression other than gzip and BGZF (and that of CRAM) */
int cs_compression_known(const char *shown, const struct htsFormat *m) CS_MUST_CHECK;

/** cs_peek_text - copy the first n bytes of a text, decompressed if m is gzip or BGZF, without
 * moving fp. Returns the bytes copied: fewer than n if the text ends or is damaged before, or if
 * they take more than 1 kB of compressed data */
size_t cs_peek_text(struct hFILE *fp, const struct htsFormat *m, char *text, size_t n);

/** cs_refuse_archive - CS_EFORMAT with a message if the first n bytes begin a tar or zip archive */
int cs_refuse_archive(const char *shown, const char *s, size_t n) CS_MUST_CHECK;

/** cs_pump_open_hts - the same for htslib's readers, as hts_open(), after a byte order mark, if
 * any. kinds: of files that are expected, for messages. CS_OK, CS_EIO, CS_EFORMAT, CS_ECANCEL */
int cs_pump_open_hts(const char *path, const char *kinds, struct htsFile **out) CS_MUST_CHECK;

/** cs_hts_refuse - CS_EFORMAT for an open file that is none of these kinds, with its kind, or what
 * a file that looks like VCF lacks. shown: its name in messages */
int cs_hts_refuse(const char *shown, const char *kinds, struct htsFile *fp);

/** cs_pump_interrupted - a reader's return value for rc of the library below: an end or error after
 * a signal is CS_ECANCEL */
int cs_pump_interrupted(int rc) CS_MUST_CHECK;

/** cs_pump_start - pthread_create() of a thread that handles no signals; 0 or an errno */
int cs_pump_start(pthread_t *thread, void *(*run)(void *), void *arg) CS_MUST_CHECK;

#endif
