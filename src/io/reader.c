/* reader.c - read records: detect the format, number records, iterate over inputs.
 *
 * DESIGN: the format is detected once by htslib on the open handle, so a pipe works like a file.
 * The first reader in the registry that accepts the format is used.
 */
#include "io/reader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/hts_log.h>
#include <htslib/sam.h>

#include "base/file.h"
#include "base/signals.h"
#include "io/hts_in.h"
#include "io/input_mark.h"
#include "io/input_pump.h"
#include "io/sam_header.h"
#include "registry.h"

enum { HEAD_BYTES = 64 };

struct cs_input {
    const cs_reader *reader;
    void            *state;
    char            *path;
    cs_input_mark    mark;
    uint64_t         n_record;
};

struct cs_inputs {
    char          **path;
    int             n, at;       /* `at`: the one being read, or the next to open */
    int             last;        /* input of the last record */
    cs_input       *in;          /* or NULL */
    cs_input_opt    opt;
    sam_hdr_t      *header;      /* with keep_native: of the output, or NULL */
    const char     *header_path; /* of the input that it began with */
    bool            has_header;  /* header is known */
    cs_programs    *programs;    /* [n] of each input, changed for this header */
    cs_input_count  count;
    uint64_t        n_record, n_skipped;     /* n_skipped: those in skipped chunks */
    int64_t         n_bytes;     /* of the inputs that are finished */
    int64_t        *start;       /* [n + 1] for a part: offsets of the inputs in all bytes; or
                                  * NULL */
    int64_t         from, to;    /* range of the part, in the same bytes */
    int64_t         size;
};

static const cs_reader *find_reader(hFILE *fp, const htsFormat *m)
{
    const cs_reader *r, *fallback = NULL;
    char head[HEAD_BYTES];
    const size_t n = cs_peek_text(fp, m, head, sizeof head);

    for (int i = 0; (r = cs_reader_at(i)) != NULL; i++) {
        const int sure = r->sniff(m, head, n);
        if (sure == CS_SNIFF_YES)
            return r;
        if (sure == CS_SNIFF_FALLBACK)
            fallback = r;
    }
    return fallback;
}

static int reader_refuse(const char *path, const htsFormat *m)
{
    const int rc = cs_htsin_check_compression(path, m);

    if (rc != CS_OK)
        return rc;
    char *what = hts_format_description(m);
    cs_fail(CS_EFORMAT, "'%s' is not a sequence file (%s); supported formats are FASTA, FASTQ, "
            "SAM, BAM and CRAM", path, what ? what : "unknown format");
    free(what);
    return CS_EFORMAT;
}

/* Text may be FASTA or FASTQ after blank lines, which the reader checks. */
static int check_format(const char *path, const htsFormat *m, cs_input_format wanted)
{
    static const struct { enum htsExactFormat format; const char *name; } is[] = {
        [CS_INPUT_FASTA] = { fasta_format, "FASTA" }, [CS_INPUT_FASTQ] = { fastq_format, "FASTQ" },
        [CS_INPUT_SAM] = { sam, "SAM" }, [CS_INPUT_BAM] = { bam, "BAM" },
        [CS_INPUT_CRAM] = { cram, "CRAM" },
    };
    const bool vague = m->format == text_format || m->format == unknown_format;

    if (wanted == CS_INPUT_ANY || m->format == is[wanted].format
        || (m->format == empty_format && wanted <= CS_INPUT_SAM)
        || (vague && wanted <= CS_INPUT_FASTQ))
        return CS_OK;
    char *what = hts_format_description(m);
    cs_fail(CS_EFORMAT, "'%s' is not %s, which --input-fmt requires (%s)", path, is[wanted].name,
            what ? what : "unknown format");
    free(what);
    return CS_EFORMAT;
}

/* Inputs without positions have no regions, and those without flags no filters. */
static int check_filters(const char *path, const htsFormat *m, const cs_input_opt *opt)
{
    const char *shown = cs_input_shown(path);
    const bool has_places = m->format == bam || m->format == cram;
    const bool has_flags = has_places || m->format == sam || m->format == empty_format;
    const int usual = BAM_FSECONDARY | BAM_FSUPPLEMENTARY;

    if (opt->expr && !has_flags)
        return cs_fail(CS_EUSAGE, "'%s' cannot be filtered with --expr, which is for SAM, BAM and "
                       "CRAM", shown);
    if (opt->filter && !has_flags && (opt->require || (opt->exclude & ~usual)))
        return cs_fail(CS_EUSAGE, "'%s' cannot be filtered with --%s-flags, which is for SAM, BAM "
                       "and CRAM", shown, opt->require ? "require" : "exclude");
    if (opt->n_region == 0 || (has_places && strcmp(path, "-") != 0))
        return CS_OK;
    return cs_fail(CS_EUSAGE, "'%s' cannot be read with regions, which need a BAM or CRAM "
                   "file with an index", shown);
}

static int check_input(const char *path, const char *shown, const htsFormat *m,
                       const cs_input_opt *opt)
{
    const int rc = check_format(shown, m, opt->format);

    return rc == CS_OK ? check_filters(path, m, opt) : rc;
}

int cs_input_open(const char *path, const cs_input_opt *opt, cs_input **out)
{
    htsFormat m;
    cs_input *in;
    int rc;
    const char *shown = cs_input_shown(path);

    hFILE *fp = cs_pump_open(path);
    if (!fp)
        return cs_fail(CS_EIO, "cannot open '%s': %s", shown, strerror(errno));
    memset(&m, 0, sizeof m);
    if (hts_detect_format2(fp, NULL, &m) < 0) {
        rc = cs_pump_interrupted(cs_fail(CS_EIO, "cannot read '%s': %s", shown, strerror(errno)));
        hclose_abruptly(fp);
        return rc;
    }
    const cs_reader *r = find_reader(fp, &m);
    if (opt->implied && m.format == empty_format)
        rc = cs_fail(CS_EUSAGE, "no input: no file is given, and standard input is empty; give "
                     "files, or '-i -' to accept empty input");
    else
        rc = r ? check_input(path, shown, &m, opt) : reader_refuse(shown, &m);
    if (rc != CS_OK) {
        rc = cs_pump_interrupted(rc);
        hclose_abruptly(fp);
        return rc;
    }
    in = cs_xcalloc(1, sizeof *in);
    in->path = cs_xstrdup(shown);
    in->reader = r;
    cs_input_mark_set(&in->mark, path);
    rc = r->open(in->path, fp, &m, opt, &in->state);
    if (rc != CS_OK) {
        free(in->path);
        free(in);
        return cs_pump_interrupted(rc);
    }
    *out = in;
    return CS_OK;
}

int cs_input_next(cs_input *in, cs_chunk *c)
{
    const int rc = cs_pump_interrupted(in->reader->next(in->state, c));
    if (rc != CS_OK)
        return cs_input_mark_check(&in->mark, in->path, rc);
    cs_record *r = &c->rec[c->n - 1];
    r->serial = in->n_record++;
    for (int s = 0; s < r->n_seg; s++)
        c->n_base += r->seg[s].n_base;
    return CS_OK;
}

int cs_input_close(cs_input *in)
{
    if (!in)
        return CS_OK;
    int rc = in->reader->close(in->state);
    if (rc != CS_OK)
        rc = cs_fail(rc, "cannot close '%s'", in->path);
    free(in->path);
    free(in);
    return rc;
}

int cs_input_check(const char *path)
{
    struct stat st;

    if (strcmp(path, "-") == 0 || hisremote(path))
        return CS_OK;
    if (access(path, R_OK) != 0)
        return cs_fail(CS_EIO, "cannot open '%s': %s", path, strerror(errno));
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode)
        ? cs_fail(CS_EIO, "cannot read '%s': %s", path, strerror(EISDIR)) : CS_OK;
}

int cs_inputs_open(const char *const *paths, int n, const cs_input_opt *opt, cs_inputs **out)
{
    CS_BUG(n < 1);
    cs_inputs *s = cs_xcalloc(1, sizeof *s);
    s->path = cs_xcalloc((size_t)n, sizeof *s->path);
    s->programs = cs_xcalloc((size_t)n, sizeof *s->programs);
    s->n = n;
    s->opt = *opt;
    s->opt.count = &s->count;
    for (int i = 0; i < n; i++) {
        const int64_t size = strcmp(paths[i], "-") == 0 ? -1 : cs_file_size(paths[i]);
        s->path[i] = cs_xstrdup(paths[i]);
        s->size = size < 0 || s->size < 0 ? -1 : s->size + size;
    }
    *out = s;
    return CS_OK;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Can reading begin anywhere in it? */
static int can_divide(const char *path, bool *can)
{
    htsFormat m;

    *can = false;
    if (strcmp(path, "-") == 0 || cs_file_size(path) < 0)
        return CS_OK;
    hFILE *fp = hopen(path, "r");
    memset(&m, 0, sizeof m);
    if (!fp || hts_detect_format2(fp, NULL, &m) < 0) {
        const int rc = cs_fail(CS_EIO, "cannot %s '%s': %s", fp ? "read" : "open", path,
                               strerror(errno));
        if (fp)
            hclose_abruptly(fp);
        return rc;
    }
    const cs_reader *r = find_reader(fp, &m);
    hclose_abruptly(fp);
    *can = r && r->divides && (m.compression == no_compression || m.compression == bgzf);
    return CS_OK;
}

int cs_inputs_divide(cs_inputs *s, int64_t no, int64_t n, bool *done)
{
    int rc = CS_OK;

    CS_BUG(s->at > 0 || s->n_record > 0);
    *done = true;
    for (int i = 0; i < s->n && *done; i++)
        CS_TRY(can_divide(s->path[i], done));
    if (!*done)
        return CS_OK;
    s->start = cs_xcalloc((size_t)s->n + 1, sizeof *s->start);
    for (int i = 0; i < s->n; i++)
        s->start[i + 1] = s->start[i] + cs_file_size(s->path[i]);
    const int64_t whole = s->start[s->n] / n, rest = s->start[s->n] % n;
    s->from = no * whole + (no < rest ? no : rest);
    s->to = s->from + whole + (no < rest);
    s->size = s->to - s->from;
    /* It may be open for its header. It is opened again for the part, so errors of this close are
     * ignored. */
    if (cs_input_close(s->in) != CS_OK)
        cs_error_clear();
    s->in = NULL;
out:
    return rc;
}

/* The range of input i in the part; false: none. */
static bool choose_range(cs_inputs *s, int i)
{
    if (!s->start)
        return true;
    const int64_t start = s->start[i], end = s->start[i + 1];
    s->opt.from = s->from > start ? s->from - start : 0;
    s->opt.to = s->to < end ? s->to - start : INT64_MAX;
    return s->from < s->to && s->from < end && s->to > start;
}

/* ---- in sequence --------------------------------------------------------------------- */

/* Bytes of the part that are consumed; reading may begin before it. */
static int64_t tell_one(cs_inputs *s)
{
    const int64_t n = s->in->reader->tell(s->in->state) - (s->start ? s->opt.from : 0);

    return n > 0 ? n : 0;
}

static int finish_one(cs_inputs *s)
{
    s->n_bytes += tell_one(s);
    const int rc = cs_input_close(s->in);
    s->in = NULL;
    s->at++;
    return rc;
}

static bool same_references(sam_hdr_t *a, sam_hdr_t *b)
{
    const int n = a ? sam_hdr_nref(a) : 0;
    bool same = n == sam_hdr_nref(b);

    for (int i = 0; same && i < n; i++)
        same = strcmp(sam_hdr_tid2name(a, i), sam_hdr_tid2name(b, i)) == 0
            && sam_hdr_tid2len(a, i) == sam_hdr_tid2len(b, i);
    return same;
}

static sam_hdr_t *header_of(const cs_input *in)
{
    return in->reader->header ? in->reader->header(in->state) : NULL;
}

static int check_references(const cs_inputs *s, sam_hdr_t *h, const char *path)
{
    if (same_references(s->header, h))
        return CS_OK;
    return !s->header
        ? cs_fail(CS_EUSAGE, "'%s' has references, which the header of the output lacks, as it was "
                  "written before that input could be read; give that input first, or as a file",
                  path)
        : cs_fail(CS_EUSAGE, "'%s' is aligned to other references than '%s'; alignments in one "
                  "output need the same references", path, s->header_path);
}

/* A copy of the header, for the output; NULL: none. */
static int keep_header(cs_inputs *s, const sam_hdr_t *h, const char *path)
{
    s->has_header = true;
    s->header_path = cs_input_shown(path);
    s->header = h ? sam_hdr_dup(h) : NULL;
    return h && !s->header ? cs_fail(CS_EMEM, "out of memory for the header of '%s'", path) : CS_OK;
}

/* Records are copied under one header, by the numbers of their references. */
static int take_header(cs_inputs *s)
{
    int rc = CS_OK;
    sam_hdr_t *h = header_of(s->in);

    if (!s->opt.keep_native)
        return CS_OK;
    if (!s->has_header)
        return keep_header(s, h, s->path[s->at]);
    if (!h)
        return CS_OK;
    CS_TRY(cs_sam_header_check(h, s->in->path));
    CS_TRY(check_references(s, h, s->in->path));
    if (!s->programs[s->at].joined)
        rc = cs_sam_header_covers(s->header, h, s->in->path, &s->programs[s->at]);
out:
    return rc;
}

static int open_one(cs_inputs *s)
{
    int rc = CS_OK;

    s->opt.programs = &s->programs[s->at];
    CS_TRY(cs_input_open(s->path[s->at], &s->opt, &s->in));
    CS_TRY(take_header(s));
out:
    return rc;
}

/* Join the header of a later input. A pipe cannot be read before its turn. */
static int look_ahead(cs_inputs *s, const char *path, cs_programs *programs)
{
    int rc = CS_OK;
    cs_input *in = NULL;
    cs_input_opt opt = s->opt;

    opt.threads = 0;
    opt.count = NULL;
    opt.programs = NULL;
    if (strcmp(path, "-") == 0 || cs_file_size(path) < 0)
        return CS_OK;
    CS_TRY(cs_input_open(path, &opt, &in));
    sam_hdr_t *h = header_of(in);
    if (h)
        CS_TRY(cs_sam_header_check(h, path));
    if (h && !s->header)
        CS_TRY(keep_header(s, h, path));
    else if (h) {
        CS_TRY(check_references(s, h, path));
        CS_TRY(cs_sam_header_join(s->header, h, path, programs));
    }
out:
    if (cs_input_close(in) != CS_OK && rc == CS_OK)
        rc = CS_EIO;             /* with its message */
    return rc;
}

int cs_inputs_header(cs_inputs *s, cs_inputs *mates, const void **header)
{
    int rc = CS_OK;
    const int n_mates = mates ? mates->n : 0;

    CS_BUG(s->at > 0 || !s->opt.keep_native);
    if (!s->in)
        CS_TRY(open_one(s));
    if (s->header && s->n + n_mates > 1)
        CS_TRY(cs_sam_header_check(s->header, s->header_path));
    for (int i = 1; i < s->n; i++)
        CS_TRY(look_ahead(s, s->path[i], &s->programs[i]));
    for (int i = 0; i < n_mates; i++)
        CS_TRY(look_ahead(s, mates->path[i], &mates->programs[i]));
    if (s->header && s->n + n_mates > 1)
        CS_TRY(cs_sam_header_unsort(s->header));
    if (mates)
        CS_TRY(keep_header(mates, s->header, s->header_path));
    *header = s->header;
out:
    return rc;
}

int cs_inputs_next(cs_inputs *s, cs_chunk *c)
{
    int rc = CS_OK;
    for (;;) {
        while (!s->in && s->at < s->n && !choose_range(s, s->at))
            s->at++;
        if (!s->in && s->at == s->n)
            return CS_EOF;
        if (!s->in)
            CS_TRY(open_one(s));
        rc = cs_input_next(s->in, c);
        if (rc != CS_EOF)
            break;
        CS_TRY(finish_one(s));
    }
    if (rc == CS_OK) {
        c->rec[c->n - 1].serial = s->n_record++;
        s->n_skipped += c->skipped;
        s->last = s->at;
    }
out:
    return rc;
}

/* CS_EOF at the end of the input, with or without records. */
static int fill_chunk(cs_inputs *in, cs_chunk *c)
{
    int rc = CS_OK;

    while (rc == CS_OK && !cs_chunk_full(c))
        rc = cs_inputs_next(in, c);
    return rc == CS_OK && cs_signal_caught() != 0 ? CS_ECANCEL : rc;
}

int cs_inputs_each_chunk(cs_inputs *in, int (*take)(void *arg, const cs_chunk *c), void *arg)
{
    int rc = CS_OK;

    for (uint64_t no = 0; rc == CS_OK; no++) {
        cs_chunk *c = cs_chunk_new(no);
        if (c == NULL)
            return cs_fail(CS_EMEM, "out of memory for a chunk of the input");
        rc = fill_chunk(in, c);
        if (rc == CS_OK || rc == CS_EOF) {
            const int taken = c->n > 0 ? take(arg, c) : CS_OK;
            rc = taken != CS_OK ? taken : rc;
        }
        cs_chunk_free(c);
    }
    return rc == CS_EOF ? CS_OK : rc;
}

int cs_inputs_index(const cs_inputs *s)
{
    return s->last;
}

const char *cs_inputs_path(const cs_inputs *s)
{
    const char *path = s->path[s->at < s->n ? s->at : s->n - 1];

    return cs_input_shown(path);
}

int64_t cs_inputs_tell(cs_inputs *s)
{
    return s->n_bytes + (s->in ? tell_one(s) : 0);
}

int64_t cs_inputs_size(const cs_inputs *s)
{
    return s->size > 0 ? s->size : 0;
}

void cs_inputs_report(const cs_inputs *s)
{
    const cs_input_count *k = &s->count;
    cs_warning_report(&k->outside_iupac, s->n_record - s->n_skipped, "record", "contains",
                      "contain", "X, read as N");
    if (k->no_end_marker.n)
        cs_warn("the BGZF end marker is missing in %llu of %d inputs, which may be truncated; "
                "first: '%s'", (unsigned long long)k->no_end_marker.n, s->n,
                k->no_end_marker.first);
    if (k->n_secondary || k->n_supplementary)
        cs_note("skipped %llu secondary and %llu supplementary alignments",
                (unsigned long long)k->n_secondary, (unsigned long long)k->n_supplementary);
    if (k->n_filtered)
        cs_note("skipped %llu %s by flags%s", (unsigned long long)k->n_filtered,
                CS_PLURAL(k->n_filtered, "alignment", "alignments"),
                s->opt.expr ? " or --expr" : "");
}

void cs_inputs_close(cs_inputs *s)
{
    if (!s)
        return;
    /* All records are read, or an error is reported already. */
    const int rc = cs_input_close(s->in);
    (void)rc;
    for (int i = 0; i < s->n; i++) {
        free(s->path[i]);
        cs_programs_release(&s->programs[i]);
    }
    CS_FREE(s->path, s->programs);
    sam_hdr_destroy(s->header);
    free(s->start);
    free(s);
}
