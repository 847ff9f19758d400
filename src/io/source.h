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
 * fp       stands at the first byte; taken over, also on failure
 * is_gzip  gzip or BGZF, any number of members of either kind in sequence
 * threads  extra threads that inflate BGZF blocks, 0 for none; the bytes do not depend on it
 * Returns  CS_OK or CS_EMEM
 */
int cs_source_open(struct hFILE *fp, bool is_gzip, int threads, cs_source **out) CS_MUST_CHECK;

/**
 * cs_source_fill - the next piece of text
 *
 * p, n     receive a piece of at least one byte, valid until the next call
 * Returns  CS_OK; CS_EOF at the end; CS_EIO, CS_EFORMAT, CS_EMEM, for which no message is kept:
 *          the caller, who knows file and record, makes one from cs_source_problem()
 *
 * What lies before a damaged place is delivered before the error is. Checksums are verified.
 */
int cs_source_fill(cs_source *s, const char **p, size_t *n) CS_MUST_CHECK;

/* Where a piece of text lies: by its own offset in a plain file, by that of its block in BGZF, of
 * its member in gzip. */
typedef enum cs_zone { CS_ZONE_BEFORE, CS_ZONE_WITHIN, CS_ZONE_BEHIND } cs_zone;

/**
 * cs_source_start - read, again, from some place of a regular file on
 *
 * at       bytes of the file. Plain text begins right there, BGZF with the first block that starts
 *          there or later; a member of gzip that starts before, and what follows it, is delivered
 * from, to bytes of the file, for cs_source_zone(): no piece lies in two zones
 * known    where a BGZF block starts, at most `at`: none before is looked at, unless this is wrong;
 *          0: not known
 * Returns  CS_OK; CS_EIO, as cs_source_fill() has it
 */
int cs_source_start(cs_source *s, int64_t at, int64_t from, int64_t to, int64_t known)
    CS_MUST_CHECK;

/** cs_source_zone - of the piece that cs_source_fill() gave last; WITHIN without a start */
cs_zone cs_source_zone(const cs_source *s);

/** cs_source_problem - after an error: what is wrong; *advice what to do, or "" */
const char *cs_source_problem(const cs_source *s, const char **advice);

/** cs_source_tell - compressed bytes consumed */
int64_t cs_source_tell(const cs_source *s);

/** cs_source_lacks_end - at CS_EOF: BGZF data whose end marker is missing, so that it may be cut */
bool cs_source_lacks_end(const cs_source *s);

/** cs_source_close - accepts NULL. CS_OK, or CS_EIO without a message */
int cs_source_close(cs_source *s) CS_MUST_CHECK;

#endif
