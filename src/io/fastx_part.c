/*
 * fastx_part.c - seek to the first record of a part of a FASTA or FASTQ file.
 *
 * DESIGN: a part has the records that start in it. Reading begins some way before it, at a line
 * that must be a header: in FASTA one that begins with '>', in FASTQ one that begins with '@' and
 * contains a blank or another byte outside of the quality alphabet, since quality lines may look
 * like other headers. From there records are read as usual, and those that start before the part
 * are dropped. Without such a line, reading begins at the file's start.
 */
#include "io/fastx.h"

#include <string.h>

#include "io/gzi.h"

/* Distance before a part to search for a header. */
enum { LEAD_BYTES = 1 << 16, MORE_LEAD = 16 };

/* To a line that begins with '>', or to the end of the part. The text may begin within a line. */
static int find_fasta_header(cs_fastx *f)
{
    bool line_start = false;
    int rc;
    while ((rc = cs_fastx_more(f)) == CS_OK && cs_source_zone(f->src) != CS_ZONE_BEHIND
           && !(line_start && *f->p == '>')) {
        const char *eol = memchr(f->p, f->nl, (size_t)(f->end - f->p));
        f->p = eol ? eol + 1 : f->end;
        line_start = eol != NULL;
    }
    return rc == CS_EOF ? CS_OK : rc;
}

/* Is the line in `head`, whose '@' is its first byte, no quality? */
static bool is_header(const cs_fastx *f)
{
    for (size_t i = 0; i < f->head.n; i++)
        if (f->head.s[i] < '!' || f->head.s[i] > '~')
            return f->head.s[0] == '@';
    return false;
}

/* Skip a record with an unambiguous header before the part; CS_EOF: there is none. */
static int find_fastq_header(cs_fastx *f)
{
    int rc = cs_fastx_line(f, &f->head);
    do {
        CS_TRY(rc);
        CS_TRY(cs_fastx_more(f));
        if (cs_source_zone(f->src) != CS_ZONE_BEFORE)
            return CS_EOF;
        f->head.n = 0;
        rc = cs_fastx_line(f, &f->head);
    } while (rc != CS_OK || !is_header(f));
    f->head.n--;
    memmove(f->head.s, f->head.s + 1, f->head.n);
    CS_TRY(cs_fastx_split(f));
    CS_TRY(cs_fastx_rest(f));
    cs_fastx_finish(f);
out:
    f->head.n = f->base.n = f->qual.n = 0;
    return rc;
}

/* Line numbers in messages count from here. */
static int start_at(cs_fastx *f, int64_t at)
{
    const size_t n = strlen(f->file) + 48;

    free(f->part_path);
    f->part_path = cs_xmalloc(n);
    (void)snprintf(f->part_path, n, "%s from byte %lld", f->file, (long long)at);
    f->path = at > 0 ? f->part_path : f->file;
    f->p = f->end = NULL;
    f->line = 1;
    f->n_record = 0;
    f->last.n = f->head.n = 0;
    const int64_t known = at > 0 ? cs_gzi_before(f->file, at) : 0;
    const int rc = cs_source_start(f->src, at, f->from, f->to, known);
    return rc == CS_OK ? CS_OK : cs_fastx_failed(f, rc);
}

/* To a header some way before the part; CS_EOF: there is none, or it may have been missed. */
static int try_lead(cs_fastx *f, int kind, int64_t lead)
{
    int rc;

    f->kind = kind;
    CS_TRY(start_at(f, f->from - lead));
    CS_TRY(cs_fastx_more(f));
    if (cs_source_zone(f->src) != CS_ZONE_BEFORE)
        return CS_EOF;
    rc = kind == '>' ? find_fasta_header(f) : find_fastq_header(f);
out:
    return rc;
}

/* The file's kind and line ends are found at its start. */
int cs_fastx_seek_part(cs_fastx *f)
{
    int rc = cs_fastx_begin(f);

    if (rc == CS_OK)
        rc = cs_fastx_skip_blank(f);
    const int kind = rc == CS_OK && (*f->p == '>' || *f->p == '@') ? *f->p : 0;
    rc = CS_EOF;
    for (int64_t lead = LEAD_BYTES; rc == CS_EOF && kind && lead < f->from; lead *= MORE_LEAD)
        rc = try_lead(f, kind, lead);
    if (rc != CS_EOF)
        return rc;
    f->kind = 0;
    return start_at(f, 0);
}
