/* exons.c - exons by position, in htslib's interval index. */
#include "io/exons.h"

#include <string.h>

#include <htslib/regidx.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/opt.h"
#include "io/lines.h"
#include "io/reference.h"

enum { MAX_COLUMN = 12, BED_START = 1, BED_STRAND = 5, BED_BLOCKS = 9 };
enum { GTF_COLUMNS = 9, GTF_START = 3, GTF_STRAND = 6 };
enum { GTF_ATTRIBUTES = 8 };
enum exons_format { UNKNOWN, BED, GTF };

/* A circular feature from the first base of its contig on: perhaps the contig. */
struct circle { char *contig; int64_t n_base; };

struct cs_exons {
    regidx_t *index;             /* payload: 1 or -1, an int */
    regitr_t *found;
    int64_t   n, n_strandless;
    enum exons_format format;
    struct circle *circle;
    size_t    n_circle, cap_circle;
};

/* Both ends of an exon, from 0, the second not included; false if the columns hold none. BED may
 * have features without bases. */
static bool parse_span(char *const *column, int at, int64_t first, int64_t *from, int64_t *to)
{
    if (cs_parse_int(column[at], from) != CS_OK || cs_parse_int(column[at + 1], to) != CS_OK
        || *from < first)
        return false;
    *from -= first;
    return *to >= *from + (first > 0) && *to < (int64_t)REGIDX_MAX;
}

static int push(cs_exons *e, char *contig, int64_t from, int64_t to, char sign)
{
    int strand = sign == '+' ? 1 : -1;
    const size_t n = strlen(contig);

    if (regidx_push(e->index, contig, contig + n - 1, from, to - 1, &strand) != 0)
        return cs_fail(CS_EMEM, "out of memory for the exons");
    e->n++;
    return CS_OK;
}

/* ---- blocks of BED -------------------------------------------------------------------------- */

/* A number of a list such as "10,20,", which moves on; false: there is none. */
static bool next_number(char **list, int64_t *v)
{
    char *comma = strchr(*list, ',');
    char *next = comma ? comma + 1 : *list + strlen(*list);

    if (comma)
        *comma = '\0';
    const bool ok = **list && cs_parse_int(*list, v) == CS_OK;
    *list = next;
    return ok;
}

/* With twelve columns a line is a transcript, and its blocks are exons; other programs add columns
 * of their own, which are no lists of numbers. */
static bool has_blocks(char *const *column, int n)
{
    static const char list[] = "0123456789,";

    for (int i = BED_BLOCKS; i < BED_BLOCKS + 3 && i < n; i++)
        if (!*column[i] || column[i][strspn(column[i], list)])
            return false;
    return n >= BED_BLOCKS + 3;
}

/* Columns ten to twelve: number, sizes, and starts from the transcript's. */
static int push_blocks(cs_exons *e, const cs_lines *in, char **column, int64_t from, int64_t to)
{
    int rc = CS_OK;
    char *size = column[BED_BLOCKS + 1], *start = column[BED_BLOCKS + 2];
    int64_t n, n_base, at;
    bool ok = cs_parse_int(column[BED_BLOCKS], &n) == CS_OK && n > 0;

    for (; ok && n > 0; n--) {
        ok = next_number(&size, &n_base) && next_number(&start, &at) && n_base <= to - from
            && at <= to - from - n_base;
        if (ok && n_base > 0)
            CS_TRY(push(e, column[0], from + at, from + at + n_base, *column[BED_STRAND]));
    }
    if (!ok || *size || *start)
        rc = cs_lines_error(in, "columns ten to twelve are not the blocks of the feature");
out:
    return rc;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static bool is_strand(const char *text)
{
    return text[0] && !text[1] && strchr("+-.?", *text);
}

/* A line of BED may have numbers in the columns of GTF's positions, too: name and score. */
static enum exons_format format_of(char *const *column, int n)
{
    int64_t from, to;
    const bool bed = n > BED_STRAND && parse_span(column, BED_START, 0, &from, &to);
    const bool gtf = n >= GTF_COLUMNS && parse_span(column, GTF_START, 1, &from, &to);

    if (bed && gtf)
        return is_strand(column[GTF_STRAND]) && !is_strand(column[BED_STRAND]) ? GTF : BED;
    return bed ? BED : gtf ? GTF : UNKNOWN;
}

/* GFF3 separates attributes by ';'. */
static bool is_circular(const char *attributes)
{
    static const char flag[] = "Is_circular=true";
    const size_t n = sizeof flag - 1;

    for (const char *p = attributes; p; p = strchr(p, ';')) {
        p += strspn(p, "; ");
        if (strncmp(p, flag, n) == 0 && (p[n] == '\0' || p[n] == ';'))
            return true;
    }
    return false;
}

static int keep_circle(cs_exons *e, const char *contig, int64_t n_base)
{
    char *name = strdup(contig);

    if (!name || cs_try_grow((void **)&e->circle, &e->cap_circle, e->n_circle + 1,
                             sizeof *e->circle) != CS_OK) {
        free(name);
        return cs_fail(CS_EMEM, "out of memory for the exons");
    }
    e->circle[e->n_circle++] = (struct circle){ name, n_base };
    return CS_OK;
}

/* The first line decides the format. */
static int add_line(cs_exons *e, cs_lines *in)
{
    char *column[MAX_COLUMN];
    int64_t from, to;

    cs_lines_blanks_to_tabs(in);
    const int n = cs_lines_columns(in, column, MAX_COLUMN);

    if (e->format == UNKNOWN)
        e->format = format_of(column, n);
    if (e->format == UNKNOWN)
        return cs_lines_error(in, "neither BED with a strand in column six nor GTF or GFF3");
    const bool gtf = e->format == GTF;
    if (gtf ? n < GTF_COLUMNS || !parse_span(column, GTF_START, 1, &from, &to)
            : n <= BED_STRAND || !parse_span(column, BED_START, 0, &from, &to))
        return cs_lines_error(in, gtf ? "not GTF or GFF3, as the lines before it"
                                       : "not BED with a strand in column six, as the lines "
                                         "before it");
    if (gtf && from == 0 && is_circular(column[GTF_ATTRIBUTES])
        && keep_circle(e, column[0], to) != CS_OK)
        return CS_EMEM;
    if (gtf && strcmp(column[2], "exon") != 0)
        return CS_OK;
    if (!*column[0])
        return cs_lines_error(in, "no contig in the first column");
    const char *strand = column[gtf ? GTF_STRAND : BED_STRAND];
    if (!is_strand(strand))
        return cs_lines_error(in, "the strand is not '+', '-', '.' or '?'");
    if (to == from)
        return CS_OK;
    if (*strand != '+' && *strand != '-') {
        e->n_strandless++;
        return CS_OK;
    }
    return !gtf && has_blocks(column, n) ? push_blocks(e, in, column, from, to)
                                         : push(e, column[0], from, to, *strand);
}

/* GFF3 may end with sequences: after ##FASTA, or from a line with '>' on. */
static bool is_end(const cs_exons *e, const char *line)
{
    return strncmp(line, "##FASTA", 7) == 0 || (*line == '>' && e->format == GTF);
}

int cs_exons_open(const char *path, cs_exons **out)
{
    int rc = CS_OK;
    cs_lines in = { .path = path };
    cs_exons *e = cs_xcalloc(1, sizeof *e);

    *out = NULL;
    e->index = regidx_init(NULL, NULL, NULL, sizeof(int), NULL);
    e->found = e->index ? regitr_init(e->index) : NULL;
    if (!e->found)
        rc = cs_fail(CS_EMEM, "out of memory for the exons of '%s'", path);
    CS_TRY(rc);
    CS_TRY(cs_lines_open_file(&in));
    while ((rc = cs_lines_next(&in)) == CS_OK && !is_end(e, in.text))
        if (!cs_lines_is_comment(in.text))
            CS_TRY(add_line(e, &in));
    rc = rc == CS_EOF ? CS_OK : rc;
    if (rc == CS_OK && e->n == 0)
        rc = cs_fail(CS_EFORMAT, "'%s' has no %s with a strand", in.path,
                     e->format == GTF ? "feature 'exon'" : "exon");
    CS_TRY(rc);
    if (e->n_strandless > 0)
        cs_warn("%lld of %lld exons of '%s' left out: no strand",
                (long long)e->n_strandless, (long long)(e->n + e->n_strandless), in.path);
    *out = e;
    e = NULL;
out:
    cs_exons_close(e);
    if (cs_lines_close(&in) != CS_OK && rc == CS_OK)
        rc = cs_fail(CS_EIO, "cannot close '%s'", path);
    return rc;
}

void cs_exons_close(cs_exons *e)
{
    if (!e)
        return;
    if (e->found)
        regitr_destroy(e->found);
    if (e->index)
        regidx_destroy(e->index);
    for (size_t i = 0; i < e->n_circle; i++)
        free(e->circle[i].contig);
    CS_FREE(e->circle, e);
}

static int64_t distance(const cs_exon *x, int64_t at)
{
    return at < x->from ? x->from - at : at < x->to ? 0 : at - x->to + 1;
}

static bool is_nearer(const cs_exon *a, const cs_exon *b, int64_t at)
{
    if (b->n_line == 0 || distance(a, at) != distance(b, at))
        return b->n_line == 0 || distance(a, at) < distance(b, at);
    if (a->n_line != b->n_line)
        return a->n_line > b->n_line;
    if (a->to - a->from != b->to - b->from)
        return a->to - a->from < b->to - b->from;
    return a->from != b->from ? a->from < b->from : a->strand > b->strand;
}

bool cs_exons_find(cs_exons *e, const char *contig, int64_t from, int64_t to, int64_t at,
                   cs_exon *out)
{
    bool seen[2] = { false, false };
    char other[CS_CONTIG_BYTES];
    cs_exon x[2] = { { .n_line = 0 }, { .n_line = 0 } };     /* one per strand */

    *out = x[0];
    from = from > 0 ? from : 0;
    if (to <= from)
        return false;
    if (!regidx_overlap(e->index, contig, from, to - 1, e->found)
        && !regidx_overlap(e->index, cs_contig_other(contig, other), from, to - 1, e->found))
        return false;
    /* The index is sorted by both ends, so the lines of a strand's exon follow each other. */
    while (regitr_overlap(e->found)) {
        const int64_t first = e->found->beg, end = e->found->end + 1;
        const int strand = regitr_payload(e->found, int);
        cs_exon *own = &x[strand > 0];
        if (own->from != first || own->to != end)
            *own = (cs_exon){ first, end, strand, 0, false };
        own->n_line++;
        seen[strand > 0] = true;
        if (is_nearer(own, out, at))
            *out = *own;
    }
    out->both = seen[0] && seen[1];
    return seen[0] || seen[1];
}

bool cs_exons_near(cs_exons *e, const char *contig, const cs_window_pair *pair, int64_t n_base,
                   cs_exon *out)
{
    const int turns = pair->circle > 0;
    bool seen[2] = { false, false }, both = false;
    cs_exon x;

    *out = (cs_exon){ .n_line = 0 };
    for (int k = -turns; k <= turns; k++) {
        const int64_t shift = k * pair->circle, at = pair->pos + shift;
        if (!cs_exons_find(e, contig, at - n_base / 2, at + n_base / 2, at, &x))
            continue;
        seen[x.strand > 0] = true;
        both |= x.both;
        x.from -= shift;
        x.to -= shift;
        if (is_nearer(&x, out, pair->pos))
            *out = x;
    }
    out->both = both || (seen[0] && seen[1]);
    return seen[0] || seen[1];
}

bool cs_exons_mark(cs_exons *e, const char *contig, int64_t n_base, char *base,
                   cs_window_pair *pair, cs_exon *out)
{
    const bool near = cs_exons_near(e, contig, pair, n_base, out);

    if (near)
        cs_variant_windows_mark(pair, out->from, out->to, n_base, base, base + n_base);
    else
        pair->why = CS_UNSCORED_NO_EXON;
    return near;
}

/* ---- contigs of the reference --------------------------------------------------------------- */

/* A contig's bases by its name or the other form of that; -1: ref has none. */
static int64_t length_of(const cs_reference *ref, const char *contig)
{
    char other[CS_CONTIG_BYTES];
    const int64_t n = cs_reference_length(ref, contig);

    return n >= 0 ? n : cs_reference_length(ref, cs_contig_other(contig, other));
}

int cs_exons_circular(const cs_exons *e, const char *path, const cs_reference *ref,
                      cs_variant_windows *w)
{
    int rc = CS_OK, n = 0;
    const char *first = NULL;

    for (size_t i = 0; i < e->n_circle; i++) {
        const struct circle *c = &e->circle[i];
        if (length_of(ref, c->contig) != c->n_base || cs_variant_windows_circular(w, c->contig))
            continue;
        CS_TRY(cs_variant_windows_add_circular(w, c->contig));
        n++;
        first = first ? first : c->contig;
    }
    if (n > 0)
        cs_note("'%s' has %d circular %s, whose windows continue across the origin; first: '%s'",
                path, n, CS_PLURAL(n, "contig", "contigs"), first);
out:
    return rc;
}

/* Exons of another assembly may lie beyond the end of a contig. */
static int warn_beyond(const cs_exons *e, const char *path, const cs_reference *ref,
                       const cs_variant_windows *w, char **name, int n)
{
    int n_beyond = 0;
    const char *first = NULL;
    regitr_t *found = regitr_init(e->index);

    if (!found)
        return cs_fail(CS_EMEM, "out of memory for the exons of '%s'", path);
    for (int i = 0; i < n; i++) {
        const int64_t length = cs_reference_length(ref, name[i]);
        if (length < 0 || cs_variant_windows_circular(w, name[i])
            || !regidx_overlap(e->index, name[i], length, REGIDX_MAX - 1, found))
            continue;
        n_beyond++;
        first = first ? first : name[i];
    }
    regitr_destroy(found);
    if (n_beyond > 0)
        cs_warn("'%s' has exons beyond the end of %d of its %d %s in '%s', so it may be of another "
                "assembly; first: '%s', which has %lld bases", path, n_beyond, n,
                CS_PLURAL(n, "contig", "contigs"), cs_reference_path(ref), first,
                (long long)cs_reference_length(ref, first));
    return CS_OK;
}

int cs_exons_compare(const cs_exons *e, const char *path, const cs_reference *ref,
                     const cs_variant_windows *w)
{
    int rc, n = 0;
    char **name = regidx_seq_names(e->index, &n);
    bool some = n == 0 || cs_reference_count(ref) == 0;

    for (int i = 0; i < n; i++)
        if ((rc = cs_reference_check(ref, name[i])) != CS_OK)
            return cs_fail_also(rc, "; '%s' has exons on '%s'", path, name[i]);
    for (int i = 0; i < n && !some; i++)
        some = length_of(ref, name[i]) >= 0;
    if (!some)
        cs_warn("no exon of '%s' is on a contig of '%s', so no variant is near one: contig names "
                "are such as '%s' there and '%s' here", path, cs_reference_path(ref),
                name[0], cs_reference_name(ref, 0));
    return warn_beyond(e, path, ref, w, name, n);
}
