/* read_series.c - real-valued sequences with their targets, one per line of text.
 *
 * DESIGN: the format (chordseq-simulate(1) documents it) is a header line
 *
 *     #chordseq-series<TAB>1<TAB>channels=C<TAB>targets=T
 *
 * and then, per record, name<TAB>t1,..,tT<TAB>values, where positions are separated by ',' and the
 * C values of a position by ':'. Anything else is an error: non-finite numbers, a position with
 * another number of values, a record without positions, NUL bytes. Lines end with LF or CR LF.
 * Plain, gzip or BGZF; written by `chordseq simulate`.
 */
#include "io/reader.h"

#include <math.h>
#include <string.h>

#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "io/lines.h"

enum { MAX_WIDTH = 64 };

static const char magic[] = "#chordseq-series";

struct series {
    cs_lines    in;
    float      *v;               /* values of the present record */
    size_t      cap_v;
    int32_t     n_channel, n_target;
};

static int series_sniff(const htsFormat *m, const char *head, size_t n_head)
{
    (void)m;
    return n_head >= sizeof magic - 1 && memcmp(head, magic, sizeof magic - 1) == 0 ? CS_SNIFF_YES
                                                                                    : CS_SNIFF_NO;
}

static int read_header(struct series *s)
{
    int rc = CS_OK, used = 0, channels = 0, targets = 0;

    CS_TRY(cs_lines_next(&s->in));
    if (sscanf(s->in.text, "#chordseq-series\t1\tchannels=%4d\ttargets=%4d%n", &channels, &targets,
               &used) != 2 || (size_t)used != s->in.n)
        return cs_lines_error(&s->in, "the header must be #chordseq-series, 1, channels=C, "
                              "targets=T, separated by tabs");
    if (channels < 1 || channels > MAX_WIDTH || targets < 1 || targets > MAX_WIDTH)
        return cs_lines_error(&s->in, "channels and targets must be 1 .. 64");
    s->n_channel = channels;
    s->n_target = targets;
out:
    return rc;
}

static int series_close(void *state)
{
    struct series *s = state;
    const int rc = cs_lines_close(&s->in);

    free(s->v);
    free(s);
    return rc;
}

static int series_open(const char *path, struct hFILE *fp, const struct htsFormat *m,
                       const cs_input_opt *opt, void **state)
{
    struct series *s = cs_xcalloc(1, sizeof *s);

    s->in.path = path;
    int rc = cs_lines_open(&s->in, fp, m->compression != no_compression, opt->threads);
    if (rc == CS_OK)
        rc = opt->series ? read_header(s)
           : cs_fail(CS_EFORMAT, "'%s' holds real values; expected sequences", path);
    if (rc != CS_OK) {
        const int closed = series_close(s);
        (void)closed;                /* report the first failure */
        return rc;
    }
    *state = s;
    return CS_OK;
}

/* One finite decimal number at *p, which is advanced. strtof rounds correctly; the program never
 * sets a locale. */
static bool series_number(char **p, float *v)
{
    char *end;

    /* Not hexadecimal, "nan" or "infinity", nor spaces before it. */
    const size_t n = strspn(*p, "0123456789+-.eE");
    *v = strtof(*p, &end);
    if (end == *p || end > *p + n || !isfinite(*v))
        return false;
    *p = end;
    return true;
}

static int parse_targets(const struct series *s, char *text, float *target)
{
    for (int32_t i = 0; i < s->n_target; i++) {
        if (!series_number(&text, &target[i]) || *text != (i + 1 < s->n_target ? ',' : '\0'))
            return cs_lines_error(&s->in, "the second column must hold as many numbers as the "
                                  "header says, separated by ','");
        text += *text != '\0';
    }
    return CS_OK;
}

/* All positions of a record into s->v. */
static int parse_values(struct series *s, char *text, int64_t *n_pos)
{
    const int32_t c = s->n_channel;

    for (*n_pos = 0;; text++) {
        const size_t at = (size_t)*n_pos * (size_t)c;
        if (cs_grow((void **)&s->v, &s->cap_v, at + (size_t)c, sizeof *s->v) != CS_OK)
            return CS_EMEM;
        for (int32_t i = 0; i < c; i++) {
            const bool last = i + 1 == c;
            if (!series_number(&text, &s->v[at + (size_t)i]) ||
                (last ? *text != ',' && *text != '\0' : *text != ':'))
                return cs_fail(CS_EFORMAT, "'%s' line %lld: position %lld must hold %d finite "
                               "numbers, separated by ':'", s->in.path, (long long)s->in.no,
                               (long long)*n_pos + 1, (int)c);
            text += !last;
        }
        ++*n_pos;
        if (*text == '\0')
            return CS_OK;
    }
}

static int add_record(struct series *s, cs_chunk *c, const float *target, int64_t n_pos)
{
    const size_t n = (size_t)n_pos * (size_t)s->n_channel;
    char *name = cs_arena_dup(c->mem, s->in.text, strlen(s->in.text));
    float *x = cs_arena_alloc(c->mem, n, sizeof *x);
    float *t = cs_arena_alloc(c->mem, (size_t)s->n_target, sizeof *t);
    char *base = cs_arena_alloc(c->mem, (size_t)n_pos, 1);
    cs_record *r = name && x && t && base ? cs_chunk_append(c) : NULL;

    if (r == NULL)
        return cs_fail(CS_EMEM, "'%s' line %lld: out of memory for a record of %lld positions",
                       s->in.path, (long long)s->in.no, (long long)n_pos);
    memcpy(x, s->v, n * sizeof *x);
    memcpy(t, target, (size_t)s->n_target * sizeof *t);
    r->name = name;
    r->comment = "";
    /* As a sequence, the record has as many unknown bases as positions. */
    memset(base, 'N', (size_t)n_pos);
    r->seg[0] = (cs_segment){ base, NULL, n_pos };
    r->x = x;
    r->target = t;
    r->n_channel = s->n_channel;
    r->n_target = s->n_target;
    return CS_OK;
}

static int series_next(void *state, cs_chunk *c)
{
    int rc = CS_OK;
    struct series *s = state;
    float target[MAX_WIDTH];
    int64_t n_pos;

    CS_TRY(cs_lines_next(&s->in));
    char *t = memchr(s->in.text, '\t', s->in.n);
    char *v = t ? strchr(t + 1, '\t') : NULL;
    if (v == NULL || t == s->in.text)
        return cs_lines_error(&s->in, "a record has three columns: name, targets, values");
    *t++ = *v++ = '\0';
    CS_TRY(parse_targets(s, t, target));
    CS_TRY(parse_values(s, v, &n_pos));
    rc = add_record(s, c, target, n_pos);
out:
    return rc;
}

static int64_t series_tell(void *state)
{
    return cs_source_tell(((struct series *)state)->in.src);
}

const cs_reader cs_read_series = {
    .name = "series",
    .sniff = series_sniff,
    .open = series_open,
    .next = series_next,
    .tell = series_tell,
    .close = series_close,
};
