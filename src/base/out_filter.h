/* out_filter.h - filters of an output by its suffix: compression, commas, or an error. */
#ifndef CS_BASE_OUT_FILTER_H
#define CS_BASE_OUT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Kinds of output. */
typedef enum cs_out_kind {
    CS_OUT_TEXT,                 /* .gz and .bgz compress it */
    CS_OUT_REPORT,               /* the same: text in lines that is not a format of its own */
    CS_OUT_JSON,
    CS_OUT_HTML,
    CS_OUT_SVG,
    CS_OUT_BED,                  /* BED or bedGraph */
    CS_OUT_TABLE,                /* rows of fields between tabs: .csv writes commas, too */
    CS_OUT_BINARY,               /* a binary format: no suffix applies */
    CS_OUT_PACKED                /* binary, compressed by its writer if the suffix says so */
} cs_out_kind;

typedef struct cs_out_filter cs_out_filter;
typedef int (*cs_out_sink)(void *to, const void *p, size_t n_bytes);

/** cs_out_filter_set_compressor - set the function that compresses a block of at most CS_OUT_BLOCK
 * bytes; one of 0 bytes ends the file. Negative: out of memory. Without it nothing is compressed.
 * Call before threads */
void cs_out_filter_set_compressor(int (*pack)(void *to, size_t *n_to, const void *from, size_t n));
enum { CS_OUT_BLOCK = 0xff00, CS_OUT_PACKED_BLOCK = 0x10000 };   /* BGZF's */

/** cs_out_is_plain - is the output written unchanged? Only such outputs can be resumed or joined
 * from shards */
bool cs_out_is_plain(const char *path);

/** cs_out_ends - does the path, without .gz and .bgz, end with a suffix such as ".tsv"? */
bool cs_out_ends(const char *path, const char *suffix);
/** cs_out_check - CS_OK; CS_EUSAGE for a suffix of a format that the output does not have */
int cs_out_check(const char *path, cs_out_kind kind) CS_MUST_CHECK;
/** cs_out_format_name - the format that a suffix names, such as "BAM" or "a table"; NULL: none, or
 * one of plain text */
const char *cs_out_format_name(const char *path);

/**
 * cs_out_filter_new - for an output of this name
 *
 * sink     takes the changed bytes; its error is returned by put and end
 * out      NULL: nothing is changed
 * Returns  as cs_out_check()
 */
int cs_out_filter_new(const char *path, cs_out_kind kind, cs_out_sink sink, void *to,
                      cs_out_filter **out) CS_MUST_CHECK;
/** cs_out_filter_put - filter n bytes. CS_OK; CS_EMEM; the error of the sink */
int cs_out_filter_put(cs_out_filter *f, const void *p, size_t n_bytes) CS_MUST_CHECK;
/** cs_out_filter_pending, cs_out_filter_restore - the text of the incomplete block, to continue the
 * file in a later run with blocks that end at the same positions. At most CS_OUT_BLOCK - 1 bytes */
const char *cs_out_filter_pending(const cs_out_filter *f, size_t *n_bytes);
void cs_out_filter_restore(cs_out_filter *f, const char *text, size_t n_bytes);
/** cs_out_filter_end - write pending text and the end of a compressed file */
int cs_out_filter_end(cs_out_filter *f) CS_MUST_CHECK;
/** cs_out_filter_free - accepts NULL */
void cs_out_filter_free(cs_out_filter *f);

#endif
