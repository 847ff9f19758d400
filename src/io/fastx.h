/* fastx.h - parse the records of FASTA and FASTQ text. */
#ifndef CS_IO_FASTX_H
#define CS_IO_FASTX_H

#include "io/reader.h"
#include "io/source.h"

typedef struct cs_fastx_text { char *s; size_t n, cap; } cs_fastx_text;

typedef struct cs_fastx {
    const char     *file, *path; /* path: for messages, with the start offset */
    cs_source      *src;
    cs_input_count *count;       /* or NULL */
    const char     *p, *end;     /* unread text */
    int64_t         line;        /* the line that p is in, from 1 */
    int             kind;        /* '>' or '@'; 0 before the first record */
    int             wanted;      /* required kind; 0: either */
    bool            cased;       /* keep the case of bases */
    char            nl;          /* end of a line: '\n', or '\r' in old Macintosh files */
    cs_fastx_text   name, comment, head, base, qual;
    cs_fastx_text   last;        /* name of the last complete record */
    uint64_t        n_record;
    bool            has_x;       /* this record has an X */
    /* of a part of the file */
    int64_t         from, to;
    bool            seek_pending;    /* not started, and only a part is wanted */
    bool            drop;        /* the record starts before the part */
    bool            past_part;   /* the next one starts after it */
    char           *part_path;   /* the path with the start offset, or NULL */
} cs_fastx;

/** cs_fastx_more - CS_OK if at least one byte is available; CS_EOF; the source's error */
int cs_fastx_more(cs_fastx *f) CS_MUST_CHECK;
/** cs_fastx_failed - the message for a source's error */
int cs_fastx_failed(cs_fastx *f, int code);
/** cs_fastx_line - append the rest of the line to t and skip its end. CS_EOF: none left */
int cs_fastx_line(cs_fastx *f, cs_fastx_text *t) CS_MUST_CHECK;
/** cs_fastx_begin - detect the line end; skips a byte order mark */
int cs_fastx_begin(cs_fastx *f) CS_MUST_CHECK;
/** cs_fastx_skip_blank - skip empty lines. As cs_fastx_more() */
int cs_fastx_skip_blank(cs_fastx *f) CS_MUST_CHECK;
/** cs_fastx_split - `head`, a header without its '>' or '@', into name and comment */
int cs_fastx_split(cs_fastx *f) CS_MUST_CHECK;
/** cs_fastx_rest - read a FASTQ record after its header */
int cs_fastx_rest(cs_fastx *f) CS_MUST_CHECK;
/** cs_fastx_record - read the next record, not yet into a chunk. CS_OK; CS_EOF; CS_EFORMAT */
int cs_fastx_record(cs_fastx *f) CS_MUST_CHECK;
/** cs_fastx_append - append the present record to a chunk. CS_OK; CS_EMEM */
int cs_fastx_append(cs_fastx *f, cs_chunk *c) CS_MUST_CHECK;
/** cs_fastx_finish - release the present record */
void cs_fastx_finish(cs_fastx *f);

/**
 * cs_fastx_seek_part - before the first record, seek to a position before every record of the part
 *
 * Returns  CS_OK; the errors of reading
 */
int cs_fastx_seek_part(cs_fastx *f) CS_MUST_CHECK;

#endif
