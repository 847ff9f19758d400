/* source.h - the bytes of a text input: plain, gzip or BGZF, decompressed and verified. */
#ifndef CS_IO_SOURCE_H
#define CS_IO_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hFILE;

typedef struct cs_source cs_source;

/**
 * cs_source_open - read a text through a file handle
 *
 * fp       at the first byte; taken over, also on failure
 * is_gzip  gzip or BGZF, any number of members of either kind in sequence
 * threads  extra threads that inflate BGZF blocks, 0 for none; the bytes do not depend on it
 * Returns  CS_OK or CS_EMEM
 */
int cs_source_open(struct hFILE *fp, bool is_gzip, int threads, cs_source **out) CS_MUST_CHECK;

/**
 * cs_source_open_file - the same for a file, or "-" for standard input
 *
 * Returns  CS_OK; CS_EIO, CS_EFORMAT, CS_EMEM, CS_ECANCEL with a message
 */
int cs_source_open_file(const char *path, cs_source **out) CS_MUST_CHECK;

/**
 * cs_source_fill - the next piece of text
 *
 * p, n     receive a piece of at least one byte, valid until the next call
 * Returns  CS_OK; CS_EOF at the end; CS_EIO, CS_EFORMAT or CS_EMEM without a message: the caller
 *          adds file and record to cs_source_problem(); CS_ECANCEL after a signal
 *
 * Text before a damaged position is delivered before the error. Checksums are verified.
 */
int cs_source_fill(cs_source *s, const char **p, size_t *n) CS_MUST_CHECK;

/* Zone of a piece of text, by its offset in a plain file, or that of its BGZF block or gzip
 * member. */
typedef enum cs_zone { CS_ZONE_BEFORE, CS_ZONE_WITHIN, CS_ZONE_BEHIND } cs_zone;

/**
 * cs_source_start - restart reading at an offset of a regular file
 *
 * at       bytes of the file. Plain text begins exactly there, BGZF with the first block that
 *          starts there or later; gzip with the member that contains it
 * from, to bytes of the file, for cs_source_zone(): no piece spans two zones
 * known    start of a BGZF block, at most `at`, to begin the search; ignored if wrong; 0: unknown
 * Returns  CS_OK; CS_EIO, as in cs_source_fill()
 */
int cs_source_start(cs_source *s, int64_t at, int64_t from, int64_t to, int64_t known)
    CS_MUST_CHECK;

/** cs_source_zone - zone of the last piece of cs_source_fill(); WITHIN before cs_source_start() */
cs_zone cs_source_zone(const cs_source *s);

/** cs_source_problem - after an error: the problem; *advice is the remedy, or "" */
const char *cs_source_problem(const cs_source *s, const char **advice);

/** cs_source_tell - compressed bytes consumed */
int64_t cs_source_tell(const cs_source *s);

/** cs_source_lacks_end - at CS_EOF: BGZF data without an end marker, possibly truncated */
bool cs_source_lacks_end(const cs_source *s);

/** cs_source_close - accepts NULL. CS_OK, or CS_EIO without a message */
int cs_source_close(cs_source *s) CS_MUST_CHECK;

/** cs_bgzf_size - bytes of the BGZF block at p, of which n are here, and of its header; 0: it is
 * none */
size_t cs_bgzf_size(const unsigned char *p, size_t n, size_t *n_head);

#endif
