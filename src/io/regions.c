/* regions.c - parts of a genome, as text "contig:from-to" or from a BED file. */
#include "io/regions.h"

#include <string.h>

#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "base/mem.h"
#include "io/lines.h"

enum { MAX_LINE = 1 << 20 };

struct cs_regions {
    const char *const *text;
    int         n, at;
    cs_lines    bed;             /* src is NULL without one */
    char       *contig;          /* of a text's region */
    const char *rest;            /* of the last BED line */
    bool        any;             /* BED file with a region */
    int64_t     given_to;        /* of the last region */
};

int cs_regions_open(const char *const *text, int n, const char *bed, cs_regions **out)
{
    cs_regions *r = cs_xcalloc(1, sizeof *r);
    int rc = CS_OK;

    *out = NULL;
    r->text = text;
    r->n = n;
    r->bed.path = bed;
    r->bed.max_bytes = MAX_LINE;
    if (bed)
        CS_TRY(cs_lines_open_file(&r->bed));
    *out = r;
    r = NULL;
out:
    cs_regions_free(r);
    return rc;
}

void cs_regions_free(cs_regions *r)
{
    if (!r)
        return;
    if (cs_lines_close(&r->bed) != CS_OK)
        cs_error_clear();            /* the lines before are valid */
    free(r->contig);
    free(r);
}

/* ---- text ---------------------------------------------------------------------------------- */

/* A number with or without commas; -1: none. */
static int64_t regions_number(const char *s, size_t n)
{
    int64_t v = 0;
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        if (s[i] == ',' && any)
            continue;
        if (s[i] < '0' || s[i] > '9' || v > INT64_MAX / 100)
            return -1;
        v = 10 * v + (s[i] - '0');
        any = true;
    }
    return any ? v : -1;
}

static bool split_text(cs_regions *r, const char *s, cs_region *out)
{
    const char *colon = strrchr(s, ':'), *dash = colon ? strchr(colon, '-') : NULL;

    if (!colon)
        return false;
    const int64_t from = regions_number(colon + 1, dash ? (size_t)(dash - colon - 1)
                                                        : strlen(colon + 1));
    const int64_t to = dash && dash[1] ? regions_number(dash + 1, strlen(dash + 1)) : INT64_MAX;
    if (colon == s || from < 1 || to < from)
        return false;
    r->contig[colon - s] = '\0';
    *out = (cs_region){ r->contig, from - 1, to };
    return true;
}

const char *cs_region_remedy(const char *text)
{
    return strchr(text, ',') ? "; give several regions one by one, not as a list with commas" : "";
}

static int next_text(cs_regions *r, const cs_reference *ref, cs_region *out)
{
    const char *s = r->text[r->at++];

    free(r->contig);
    r->contig = cs_xstrdup(s);
    *out = (cs_region){ r->contig, 0, INT64_MAX };
    const bool whole = ref && cs_reference_length(ref, s) >= 0;
    if (!whole && !split_text(r, s, out))
        return cs_fail(CS_EUSAGE, "'%s' is not a region: give CONTIG or CONTIG:FROM-TO with a "
                       "contig of the reference%s", s, cs_region_remedy(s));
    if (!ref)
        return out->to < INT64_MAX ? CS_OK
             : cs_fail(CS_EUSAGE, "the region '%s' has no end; give CONTIG:FROM-TO", s);
    const int64_t n = cs_reference_length(ref, r->contig);
    if (n < 0)
        return cs_fail(CS_EUSAGE, "region '%s': the reference '%s' has no contig '%s'%s",
                       s, cs_reference_path(ref), r->contig, cs_region_remedy(s));
    if (out->from >= n)
        return cs_fail(CS_EUSAGE, "region '%s' begins after the end of '%s' (%lld bases)", s,
                       r->contig, (long long)n);
    r->given_to = out->to < HTS_POS_MAX ? out->to : HTS_POS_MAX;
    out->to = out->to < n ? out->to : n;
    return CS_OK;
}

/* ---- BED ----------------------------------------------------------------------------------- */

/* Not start and end in columns two and three, but in four and five? */
static bool is_gtf(const char *rest)
{
    const size_t n = rest ? strcspn(rest, "\t") : 0;

    return n > 0 && rest[n] && regions_number(rest, n) > 0 &&
           regions_number(rest + n + 1, strcspn(rest + n + 1, "\t")) > 0;
}

static int parse_bed(cs_regions *r, const cs_reference *ref, cs_region *out)
{
    char *field[3] = { r->bed.text, NULL, NULL };

    for (int i = 1; i < 3; i++) {
        field[i] = strchr(field[i - 1], '\t');
        if (!field[i])
            return cs_lines_error(&r->bed, "fewer than three columns; there must be contig, start "
                                  "and end");
        *field[i]++ = '\0';
    }
    const size_t n_to = strcspn(field[2], "\t");
    r->rest = field[2][n_to] ? field[2] + n_to + 1 : NULL;
    *out = (cs_region){ r->bed.text, regions_number(field[1], strlen(field[1])),
                        regions_number(field[2], n_to) };
    if (out->from < 0 || out->to < 0 || strchr(field[1], ',') || memchr(field[2], ',', n_to))
        return cs_lines_error(&r->bed, is_gtf(r->rest)
                              ? "looks like GTF or GFF3; convert it to BED, for example by awk -F "
                                "'\\t' -v OFS='\\t' '$3 == \"exon\" { print $1, $4 - 1, $5, $3 }'"
                              : "start and end must be numbers; put '#' before lines of other "
                                "text");
    if (out->from >= out->to)
        return cs_lines_error(&r->bed, "the start is not below the end; starts count from 0");
    const int64_t n = ref ? cs_reference_length(ref, r->bed.text) : INT64_MAX;
    if (n < 0)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: the reference '%s' has no contig '%s'",
                       r->bed.path, (long long)r->bed.no, cs_reference_path(ref), r->bed.text);
    if (out->to > n)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: '%s' ends at %lld, before %lld", r->bed.path,
                       (long long)r->bed.no, r->bed.text, (long long)n, (long long)out->to);
    r->given_to = out->to;
    return CS_OK;
}

int cs_regions_next(cs_regions *r, const cs_reference *ref, cs_region *out)
{
    int rc = CS_OK;

    if (r->at < r->n)
        return next_text(r, ref, out);
    if (!r->bed.src)
        return CS_EOF;
    do
        CS_TRY(cs_lines_next(&r->bed));
    while (cs_lines_is_comment(r->bed.text));
    cs_lines_blanks_to_tabs(&r->bed);
    rc = parse_bed(r, ref, out);
    r->any = true;
out:
    return rc;
}

int cs_regions_end(const cs_regions *r, int rc)
{
    if (rc != CS_EOF)
        return rc;
    return r->n > 0 || r->any ? CS_OK : cs_fail(CS_EFORMAT, "'%s' has no region", r->bed.path);
}

int64_t cs_regions_given_to(const cs_regions *r)
{
    return r->given_to;
}

const char *cs_regions_rest(const cs_regions *r, int64_t *line)
{
    *line = r->bed.no;
    return r->rest;
}
