/* record.h - records in chunks that own all their memory. */
#ifndef CS_IO_RECORD_H
#define CS_IO_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/pipe.h"
#include "io/alphabet.h"
#include "io/diplotype.h"

/* Bases are upper-case IUPAC (U read as T), not NUL-terminated; qualities are Phred, no offset. */
typedef struct cs_segment {
    const char    *base;         /* [n_base]; never NULL, also when n_base is 0 */
    const uint8_t *qual;         /* [n_base] or NULL */
    int64_t        n_base;
} cs_segment;

enum { CS_MAX_SEG = 2 };

/* A labelled interval of a sequence: bases from .. to-1, from 0. */
typedef struct cs_span { int64_t from, to; int32_t class_no; } cs_span;

typedef struct cs_record {
    uint64_t     serial;         /* 0, 1, 2 ... in input order, over all inputs of a run */
    const char  *name;           /* up to the first blank of the header, NUL-terminated */
    const char  *comment;        /* the rest of the header line, "" if none */
    const char  *mate_comment;   /* that of segment 1, if it has its own header */
    int          n_seg;          /* 1: a read or contig; 2: the mates of a pair */
    cs_segment   seg[CS_MAX_SEG];
    const float *x;              /* [n_base of seg 0 * n_channel] real-valued input, or NULL */
    int32_t      n_channel, n_target;   /* widths of x and target; 0 when absent */
    const float *target;         /* [n_target] class number, values, or 0/1 each; NaN: unknown */
    bool         swapped;        /* a pair whose segment 1 came first in the input */
    int8_t       strand;         /* 1 or -1: the only strand to read; 0: by the policy */
    int64_t      mask_from, n_mask;     /* number of masked bases, from mask_from on */
    int64_t      n_whole;        /* bases of the sequence of which it is a window; 0: of none */
    const void  *native[CS_MAX_SEG];    /* bam1_t of each segment, in the chunk's arena, or NULL */
} cs_record;

/* About CS_CHUNK_RECORDS records, CS_CHUNK_BASES bases or 4 MB of memory, whichever comes first; at
 * least one record. Small, so a chunk's tokens are still in the second-level cache when the next
 * stage reads them. */
enum { CS_CHUNK_RECORDS = 4096, CS_CHUNK_BASES = 1 << 17 };

typedef struct cs_chunk {
    uint64_t    no;              /* 0, 1, 2 ... */
    int         n;
    size_t      cap;             /* space in rec */
    cs_record  *rec;             /* [n] */
    struct cs_views *views;      /* NULL; later set by batch/view.h, in mem */
    int64_t     n_base;          /* sum over records and segments */
    int64_t     input_bytes;     /* input position after the chunk; 0: unknown, or not yet */
    bool        skipped;         /* nothing is predicted for its records; warnings omit them */
    cs_arena   *mem;             /* owns everything above */
} cs_chunk;

/** cs_chunk_new - an empty chunk; NULL if out of memory */
cs_chunk *cs_chunk_new(uint64_t no) CS_MUST_CHECK;
/** cs_chunk_free - with all its records; accepts NULL */
void cs_chunk_free(cs_chunk *c);
/** cs_chunk_drop - cs_chunk_free() in the form that queues want */
void cs_chunk_drop(void *chunk);
/** cs_chunk_bytes - memory it holds, with the signature for queues */
size_t cs_chunk_bytes(const void *chunk);

/**
 * cs_chunk_append - add one empty record (no name, no bases, n_seg 1) and return it
 *
 * Returns  the record, valid until the next append; NULL when out of memory
 */
cs_record *cs_chunk_append(cs_chunk *c) CS_MUST_CHECK;

/** cs_record_bases - of all segments */
int64_t cs_record_bases(const cs_record *r);

/** cs_record_name - the name in tables: "*" if empty, as in SAM */
const char *cs_record_name(const cs_record *r);

enum { CS_LENGTH_TEXT = 48 };
/** cs_record_length - as in outputs: "150", for a pair "98|94". Returns buf */
const char *cs_record_length(const cs_record *r, char buf[CS_LENGTH_TEXT]);

/** cs_chunk_full - is it full? The owner of the records updates n_base */
bool cs_chunk_full(const cs_chunk *c);

#endif
