/* lines.h - a text input line by line, with messages that name file and line. */
#ifndef CS_IO_LINES_H
#define CS_IO_LINES_H

#include "io/source.h"

typedef struct cs_lines {
    const char *path;            /* for messages; the caller's */
    size_t      max_bytes;       /* bytes of a line; 0: any number */
    int64_t     no;              /* of the present line, from 1 */
    char       *text;            /* the present line without its end, NUL-terminated */
    size_t      n;               /* its bytes */
    /* ---- its own ---- */
    cs_source  *src;
    const char *p, *end;         /* unread text */
    size_t      cap;
} cs_lines;

/**
 * cs_lines_open - begin to read
 *
 * l        zeroed, except path and max_bytes
 * Other arguments as in cs_source_open()
 */
int cs_lines_open(cs_lines *l, struct hFILE *fp, bool is_gzip, int threads) CS_MUST_CHECK;

/** cs_lines_open_file - the same with the file at l->path, plain, gzip or BGZF; "-" is standard
 * input, by which messages name it. CS_OK; CS_EIO; CS_EFORMAT for other compression */
int cs_lines_open_file(cs_lines *l) CS_MUST_CHECK;

/**
 * cs_lines_next - the next line into l->text. Lines end with LF or CR LF, the last one also with
 * the input
 *
 * Returns  CS_OK: the caller may change l->text; CS_EOF: there is none; CS_EFORMAT (a NUL byte, too
 *          long, damaged), CS_EIO, CS_EMEM; CS_ECANCEL after a signal
 */
int cs_lines_next(cs_lines *l) CS_MUST_CHECK;

/**
 * cs_lines_columns - split the present line at its tabs, in place
 *
 * column   receives the columns' texts, valid until the next line
 * max      capacity of column; further columns are dropped
 * Returns  the number of columns, at least 1 if max is
 */
int cs_lines_columns(cs_lines *l, char **column, int max);

/** cs_lines_blanks_to_tabs - if the present line has no tab, make a tab of each run of blanks, and
 * drop those at its ends: columns of BED may be separated by either */
void cs_lines_blanks_to_tabs(cs_lines *l);

/** cs_lines_is_comment - is it a line of BED or GFF without data: blank, after '#', or "track" or
 * "browser" as a word of its own? Contigs may have names that begin so */
bool cs_lines_is_comment(const char *line);

/** cs_lines_error - CS_EFORMAT: "'PATH' line NUMBER: WHAT" */
int cs_lines_error(const cs_lines *l, const char *what);

/** cs_lines_close - as cs_source_close(); accepts lines that were never opened */
int cs_lines_close(cs_lines *l) CS_MUST_CHECK;

#endif
