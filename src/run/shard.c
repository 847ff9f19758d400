/*
 * shard.c - shards of the input, and their manifests for chordseq-merge(1).
 *
 * DESIGN
 * If all inputs are seekable files, a shard reads its share of the bytes (cs_inputs_divide()), and
 * its outputs are one piece. Otherwise records are dealt in pieces: piece k goes to shard k mod N.
 * The first PER_SIZE pieces of every shard are of one record, the next as many of two, then of
 * four, and so on, so few contigs are spread evenly, and many reads make few pieces. This works for
 * any sequential input: pipes, gzip, CRAM, pairs, alleles of a variant. A manifest records the
 * bytes of each output per piece, which suffices to join outputs of any format. Reports are
 * computed from counts in the manifest.
 *
 * The reader's thread deals (`piece` to `n_unit`), the writer's measures (`n_cut` on).
 */
#include "run/shard.h"

#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/json_text.h"
#include "run/same_options.h"

enum { PER_SIZE = 256, MAX_SIZE_LOG = 40, MAX_SHARD = 100000, MAX_PART = 16, BUF_BYTES = 1 << 16 };

struct part {
    const char  *option, *path;
    int64_t    (*tell)(const void *of);
    const void  *of;
    int64_t      head, at;       /* at: end of the pieces so far */
    int64_t     *piece;          /* [n_cut] their bytes */
    size_t       cap;
};

struct cs_shard {
    const char *manifest;        /* or NULL */
    uint64_t    no, n;           /* no: 0 .. n-1 */
    bool        by_bytes;        /* inputs are divided by bytes, not dealt */
    int       (*next)(void *source, cs_chunk *c);
    void       *source;
    uint64_t    piece;           /* next piece of all */
    uint64_t    left;            /* units of our present piece that are not read yet */
    uint64_t    n_unit;          /* units dealt to all shards */
    struct part part[MAX_PART];
    int         n_part;
    size_t      n_cut;           /* our pieces that are written */
    uint64_t    n_here, n_written;   /* units of the present piece, and of all */
};

#define ARG(field) .off = offsetof(cs_shard_args, field)

const cs_opt cs_shard_table[] = {
    { .type = CS_OPT_GROUP, .name = "Shards" },
    { .type = CS_OPT_STR, .name = "shard", ARG(shard), .arg = "I/N",
      .help = "process the I-th of N parts of the input, such as 2/8",
      .man = "Every record is in exactly one part; pairs stay together; a part can be empty. Plain "
             "and BGZF files of FASTA and FASTQ are divided by bytes. Other input (pipes, gzip, "
             "pairs, SAM, BAM, CRAM, VCF) is read completely by every part, which predicts only "
             "its own records." },
    { .type = CS_OPT_OUT, .name = "manifest", ARG(manifest), .arg = "FILE",
      .help = "with --shard, manifest of this part for chordseq merge",
      .man = "It is written last. See chordseq-merge(1)." },
    { .type = CS_OPT_END }
};

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t piece_size(const cs_shard *s, uint64_t piece)
{
    const uint64_t log = piece / (PER_SIZE * s->n);

    return (uint64_t)1 << (log < MAX_SIZE_LOG ? log : MAX_SIZE_LOG);
}

/* Skip the pieces of other shards, up to our next one. */
static int go_to_ours(cs_shard *s)
{
    uint64_t n = 0, n_done;

    for (; s->piece % s->n != s->no; s->piece++)
        n += piece_size(s, s->piece);
    const int rc = cs_stream_skip(s->next, s->source, n, &n_done);
    s->n_unit += n_done;
    s->left = piece_size(s, s->piece++);
    return rc;
}

static int next_of_shard(void *shard, cs_chunk *c)
{
    cs_shard *s = shard;
    int rc = CS_OK;

    if (s->left == 0)
        CS_TRY(go_to_ours(s));
    CS_TRY(s->next(s->source, c));
    s->left--;
    s->n_unit++;
out:
    return rc;
}

int cs_shard_read(cs_shard *s, cs_stream *stream)
{
    int rc = CS_OK;

    if (!s)
        return CS_OK;
    if (!stream->next)
        CS_TRY(cs_inputs_divide(stream->in, (int64_t)s->no, (int64_t)s->n, &s->by_bytes));
    if (s->by_bytes)
        return CS_OK;
    cs_stream_own_next(stream, &s->next, &s->source);
    stream->next = next_of_shard;
    stream->source = s;
out:
    return rc;
}

/* ---- writing the manifest -------------------------------------------------------------------- */

static int64_t tell_file(const void *of)
{
    return cs_outfile_tell(of);
}

static bool is_null_device(const struct stat *st)
{
    struct stat null;

    return S_ISCHR(st->st_mode) && stat("/dev/null", &null) == 0 && st->st_rdev == null.st_rdev;
}

int cs_shard_add(cs_shard *s, const char *option, const char *path,
                 int64_t (*tell)(const void *of), const void *of)
{
    struct stat st;
    const bool exists = stat(path, &st) == 0;

    if (!cs_shard_wants(s) || (exists && is_null_device(&st)))
        return CS_OK;
    if (cs_outputs_same(path, "-"))
        return cs_fail(CS_EUSAGE, "--manifest needs files, not standard output; give them with "
                       "--%s and the other options", option);
    if (cs_outputs_same(path, s->manifest))
        return cs_fail(CS_EUSAGE, "--%s and --manifest both write to '%s'", option, path);
    if (exists && !S_ISREG(st.st_mode))
        return cs_fail(CS_EUSAGE, "--manifest needs files, and '%s' of --%s is none; write a file, "
                       "or omit --manifest", path, option);
    CS_BUG(s->n_part == MAX_PART);
    const int64_t head = tell(of);
    s->part[s->n_part++] = (struct part){ .option = option, .path = path, .tell = tell, .of = of,
                                          .head = head, .at = head };
    return CS_OK;
}

int cs_shard_add_file(cs_shard *s, const char *option, const char *path, const cs_outfile *f)
{
    if (cs_shard_wants(s) && !cs_out_is_plain(path))
        return cs_fail(CS_EUSAGE, "--manifest needs plain outputs, neither compressed nor CSV or "
                       "NPZ: '%s'; chordseq merge compresses its own", path);
    return cs_shard_add(s, option, path, tell_file, f);
}

int cs_shard_add_outputs(cs_shard *s, cs_outputs *o)
{
    int rc = CS_OK;
    cs_output *one;

    for (int i = 0; cs_shard_wants(s) && (one = cs_outputs_at(o, i)) != NULL; i++) {
        const char *option = one->w->opt[0].name;
        if (cs_outputs_same(one->path, s->manifest))
            return cs_fail(CS_EUSAGE, "--%s and --manifest both write to '%s'", option, one->path);
        if (!one->w->joins)
            continue;
        CS_TRY(cs_output_begin(one));
        CS_TRY(cs_shard_add_file(s, option, one->path, one->file));
    }
out:
    return rc;
}

/* End the present piece. */
static int shard_cut(cs_shard *s)
{
    for (int i = 0; i < s->n_part; i++) {
        struct part *p = &s->part[i];
        if (cs_grow((void **)&p->piece, &p->cap, s->n_cut + 1, sizeof *p->piece) != CS_OK)
            return CS_EMEM;
        const int64_t at = p->tell(p->of);
        p->piece[s->n_cut] = at - p->at;
        p->at = at;
    }
    s->n_cut++;
    s->n_here = 0;
    return CS_OK;
}

int cs_shard_written(cs_shard *s)
{
    if (!s)
        return CS_OK;
    s->n_written++;
    s->n_here++;
    return !s->by_bytes && s->n_here == piece_size(s, s->n_cut * s->n + s->no) ? shard_cut(s)
                                                                               : CS_OK;
}

int cs_shard_end(cs_shard *s)
{
    return s && s->n_here > 0 ? shard_cut(s) : CS_OK;
}

static json_t *pieces_json(const cs_shard *s, const struct part *p)
{
    json_t *all = json_array();

    for (size_t k = 0; k < s->n_cut; k++)
        json_array_append_new(all, json_integer(p->piece[k]));
    return all;
}

/* ---- an interrupted run ---------------------------------------------------------------------- */

json_t *cs_shard_save(const cs_shard *s)
{
    json_t *heads = json_object(), *pieces = json_object();

    for (int i = 0; i < s->n_part; i++) {
        json_object_set_new(heads, s->part[i].option, json_integer(s->part[i].head));
        json_object_set_new(pieces, s->part[i].option, pieces_json(s, &s->part[i]));
    }
    return json_pack("{s:I, s:I, s:I, s:o, s:o}", "written", (json_int_t)s->n_written, "here",
                     (json_int_t)s->n_here, "cuts", (json_int_t)s->n_cut, "heads", heads, "pieces",
                     pieces);
}

static bool read_count(const json_t *all, const char *name, uint64_t *n)
{
    const json_t *v = json_object_get(all, name);

    *n = (uint64_t)json_integer_value(v);
    return json_is_integer(v) && json_integer_value(v) >= 0;
}

/* Its head and pieces are not longer than the output. */
static int restore_part(struct part *p, size_t n_cut, const json_t *state)
{
    uint64_t head;
    const json_t *piece = json_object_get(json_object_get(state, "pieces"), p->option);
    const bool good = read_count(json_object_get(state, "heads"), p->option, &head);

    if (!good || json_array_size(piece) != n_cut)
        return CS_EFORMAT;
    if (cs_grow((void **)&p->piece, &p->cap, n_cut, sizeof *p->piece) != CS_OK)
        return CS_EMEM;
    p->head = p->at = (int64_t)head;
    for (size_t k = 0; k < n_cut; k++) {
        const json_int_t n = json_integer_value(json_array_get(piece, k));
        if (n < 0 || n > p->tell(p->of) - p->at)
            return CS_EFORMAT;
        p->piece[k] = n;
        p->at += n;
    }
    return p->at <= p->tell(p->of) ? CS_OK : CS_EFORMAT;
}

int cs_shard_restore(cs_shard *s, const json_t *state)
{
    uint64_t n_cut;
    int rc = read_count(state, "written", &s->n_written) && read_count(state, "here", &s->n_here)
             && read_count(state, "cuts", &n_cut) ? CS_OK : CS_EFORMAT;

    if (rc == CS_OK)
        s->n_cut = n_cut;
    for (int i = 0; rc == CS_OK && i < s->n_part; i++)
        rc = restore_part(&s->part[i], s->n_cut, state);
    return rc == CS_EFORMAT ? cs_fail(rc, "the saved state of --manifest is damaged; remove the "
                                      "journal (.resume) to start over") : rc;
}

/* ---- the manifest ---------------------------------------------------------------------------- */

/* Size and checksum of a complete file, to detect changes. */
static int add_identity(json_t *o, const char *path)
{
    unsigned char *buf = cs_xmalloc(BUF_BYTES);
    FILE *f = fopen(path, "rbe");
    uLong crc = crc32(0, NULL, 0);
    int64_t n_bytes = 0;

    for (size_t n; f && (n = fread(buf, 1, BUF_BYTES, f)) > 0; n_bytes += (int64_t)n)
        crc = crc32(crc, buf, (uInt)n);
    const bool bad = !f || ferror(f);
    if (f)
        (void)fclose(f);         /* read only: errors do not matter */
    free(buf);
    json_object_set_new(o, "bytes", json_integer(n_bytes));
    json_object_set_new(o, "crc32", json_integer((json_int_t)crc));
    return bad ? cs_fail(CS_EIO, "cannot read '%s' for the manifest", path) : CS_OK;
}

static int outputs_json(const cs_shard *s, json_t *all)
{
    int rc = CS_OK;

    for (int i = 0; i < s->n_part; i++) {
        const struct part *p = &s->part[i];
        json_t *o = json_object();
        json_object_set_new(all, p->option, o);
        json_object_set_new(o, "path", cs_json_of_bytes(p->path));
        CS_TRY(add_identity(o, p->path));
        json_object_set_new(o, "head", json_integer(p->head));
        json_object_set_new(o, "pieces", pieces_json(s, p));
    }
out:
    return rc;
}

/* The size of every input, -1 if unknown. */
static json_t *sizes_json(const cs_about *about)
{
    json_t *all = json_array();

    for (int i = 0; i < about->input->n; i++) {
        const char *path = about->input->v[i];
        const int64_t n = strcmp(path, "-") == 0 ? -1 : cs_file_size(path);
        json_array_append_new(all, json_integer(n));
    }
    return all;
}

int cs_shard_close(cs_shard *s, const cs_about *about, json_t *more)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;
    json_t *all = NULL, *outputs = json_object();

    if (!cs_shard_wants(s))
        goto out;
    CS_TRY(outputs_json(s, outputs));
    json_t *n_unit = s->by_bytes ? json_null() : json_integer((json_int_t)s->n_unit);
    all = json_pack("{s:i, s:I, s:I, s:s, s:I, s:o, s:O, s:o, s:o}", "chordseq_shard", 1,
                    "shard", (json_int_t)s->no + 1, "shards", (json_int_t)s->n, "by",
                    s->by_bytes ? "bytes" : "number", "records", (json_int_t)s->n_written,
                    "records_in_all", n_unit, "outputs", outputs, "run", cs_about_json(about),
                    "sizes", sizes_json(about));
    CS_TRY(cs_same_describe(about->set, all));
    if (more)
        json_object_update(all, more);
    CS_TRY(cs_outfile_open_as(s->manifest, NULL, CS_OUT_JSON, &f));
    CS_TRY(cs_outfile_json(f, all, JSON_COMPACT, s->manifest));
out:
    rc = cs_outfile_end(f, rc);
    json_decref(outputs);
    json_decref(more);
    json_decref(all);
    return rc;
}

void cs_shard_warn_empty(const cs_shard *s)
{
    if (!s || (s->n_unit == 0 && !s->by_bytes))
        cs_warn("the input has no records");
}

/* ---- the options ----------------------------------------------------------------------------- */

bool cs_shard_wants(const cs_shard *s)
{
    return s && s->manifest;
}

static int parse(const char *text, int64_t *no, int64_t *n)
{
    const char *slash = strchr(text, '/');
    char *first = cs_xstrdup(text);

    if (slash)
        first[slash - text] = '\0';
    const bool good = slash && cs_parse_int(first, no) == CS_OK
                   && cs_parse_int(slash + 1, n) == CS_OK;
    free(first);
    if (!good)
        return cs_fail(CS_EUSAGE, "--shard '%s' is not of the form I/N, from 1/1 to %d/%d, such "
                       "as 2/8", text, MAX_SHARD, MAX_SHARD);
    if (*n < 1 || *n > MAX_SHARD)
        return cs_fail(CS_EUSAGE, "--shard '%s': the number of parts is not between 1 and %d",
                       text, MAX_SHARD);
    if (*no < 1 || *no > *n)
        return cs_fail(CS_EUSAGE, "--shard '%s': there is no part %lld; parts are counted from 1 "
                       "to %lld", text, (long long)*no, (long long)*n);
    return CS_OK;
}

int cs_shard_new(const cs_shard_args *a, cs_shard **out)
{
    int64_t no, n;

    *out = NULL;
    if (!a->shard)
        return a->manifest ? cs_fail(CS_EUSAGE, "--manifest needs --shard") : CS_OK;
    int rc = parse(a->shard, &no, &n);
    if (rc == CS_OK)
        rc = cs_outputs_probe(a->manifest, CS_OUT_JSON);
    if (rc != CS_OK)
        return rc;
    cs_shard *s = *out = cs_xcalloc(1, sizeof *s);
    s->manifest = a->manifest;
    s->no = (uint64_t)no - 1;
    s->n = (uint64_t)n;
    return CS_OK;
}

void cs_shard_free(cs_shard *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n_part; i++)
        free(s->part[i].piece);
    free(s);
}
