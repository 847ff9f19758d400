/* hts_in.h - inputs that htslib reads: open them, and refuse other kinds with a reason. */
#ifndef CS_IO_HTS_IN_H
#define CS_IO_HTS_IN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct hFILE;
struct htsFile;
struct htsFormat;

/** cs_htsin_check_compression - CS_EFORMAT for compression other than gzip and BGZF (and that of
 * CRAM) */
int cs_htsin_check_compression(const char *shown, const struct htsFormat *m) CS_MUST_CHECK;

/** cs_peek_text - copy the first n bytes of a text, decompressed if m is gzip or BGZF, without
 * moving fp. Returns the bytes copied: fewer than n if the text ends or is damaged before, or if
 * they take more than 1 kB of compressed data */
size_t cs_peek_text(struct hFILE *fp, const struct htsFormat *m, char *text, size_t n);

/** cs_refuse_packed - CS_EFORMAT with a message if the first n bytes begin an archive (tar, zip,
 * 7z) or compressed data that htslib does not detect, such as lz4; else CS_OK */
int cs_refuse_packed(const char *shown, const char *s, size_t n) CS_MUST_CHECK;

/** cs_htsin_open - cs_pump_open() for htslib's readers, as hts_open(), after a byte order mark,
 * if any. kinds: of files that are expected, for messages. CS_OK, CS_EIO, CS_EFORMAT, CS_ECANCEL */
int cs_htsin_open(const char *path, const char *kinds, struct htsFile **out) CS_MUST_CHECK;

/** cs_htsin_refuse - CS_EFORMAT for an open file that is none of these kinds, with its kind, or
 * what a file that looks like VCF lacks. shown: its name in messages */
int cs_htsin_refuse(const char *shown, const char *kinds, struct htsFile *fp);

/** cs_htsin_open_reads_or_calls - cs_htsin_open() of alignments or (calls true) of VCF or BCF.
 * CS_EFORMAT for anything else */
int cs_htsin_open_reads_or_calls(const char *path, struct htsFile **fp, bool *calls) CS_MUST_CHECK;

#endif
