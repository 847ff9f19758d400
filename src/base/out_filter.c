/*
 * out_filter.c - filters of an output by its suffix: compression, commas, or an error.
 *
 * DESIGN: the one place that reads suffixes of outputs. Tables have no tab or line end within a
 * field, so that commas can replace tabs in the tables of every writer.
 */
#include "base/out_filter.h"

#include <string.h>

#include "base/mem.h"

struct cs_out_filter {
    cs_out_sink sink;
    void  *to;
    bool   csv, gz;
    char  *field;                /* [n_field] the one in hand, of CSV */
    size_t n_field, cap_field;
    char  *text;                 /* [n_text] of a block that is not full */
    size_t n_text;
};

/* Suffixes of formats that no output here has under this name. */
static const struct { const char *suffix, *what; } foreign[] = {
    { ".parquet", "Parquet" }, { ".arrow", "Arrow" }, { ".feather", "Feather" },
    { ".npz", "NPZ" }, { ".xlsx", "Excel" }, { ".h5", "HDF5" }, { ".hdf5", "HDF5" },
    { ".rds", "RDS" }, { ".bz2", "bzip2" }, { ".xz", "xz" }, { ".zst", "Zstandard" },
    { ".lz4", "LZ4" }, { ".zip", "ZIP" }, { ".png", "PNG" }, { ".jpg", "JPEG" },
    { ".jpeg", "JPEG" }, { ".pdf", "PDF" }, { ".gff", "GFF" }, { ".gff3", "GFF" },
    { ".gtf", "GTF" }, { ".wig", "Wiggle" }, { ".bw", "bigWig" }, { ".bigwig", "bigWig" },
    { ".bigWig", "bigWig" }, { ".bb", "bigBed" },
};

/* Suffixes of binary formats that other outputs have, and no text. */
static const struct { const char *suffix, *what; } binary[] = {
    { ".bam", "BAM" }, { ".cram", "CRAM" }, { ".bcf", "BCF" }, { ".npy", "NPY" },
};

/* Suffixes of text, and the kind of output that has them; CS_OUT_TEXT: none of the others. */
static const struct { const char *suffix, *what; cs_out_kind kind; } texts[] = {
    { ".json", "JSON", CS_OUT_JSON }, { ".jsonl", "JSON", CS_OUT_JSON },
    { ".html", "HTML", CS_OUT_HTML }, { ".htm", "HTML", CS_OUT_HTML },
    { ".svg", "SVG", CS_OUT_SVG }, { ".vcf", "VCF", CS_OUT_TEXT }, { ".sam", "SAM", CS_OUT_TEXT },
    { ".bed", "BED", CS_OUT_BED }, { ".tsv", "a table", CS_OUT_TABLE },
};

/* What outputs of a kind may be named. */
static const char *const named[] = {
    [CS_OUT_TEXT] = "this output is text, compressed if its name ends in .gz",
    [CS_OUT_REPORT] = "this output is text, compressed if its name ends in .gz",
    [CS_OUT_JSON] = "this output is JSON, compressed if its name ends in .gz",
    [CS_OUT_HTML] = "this output is HTML, compressed if its name ends in .gz",
    [CS_OUT_SVG] = "this output is SVG, compressed if its name ends in .gz",
    [CS_OUT_BED] = ("this output is BED, bedGraph or a table: .bed, .bedgraph, .tsv or .csv, "
                    "compressed if .gz follows"),
    [CS_OUT_TABLE] = "a table is written as .tsv or .csv, compressed as .tsv.gz or .csv.gz",
};

static int (*packer)(void *to, size_t *n_to, const void *from, size_t n);

void cs_out_filter_set_compressor(int (*pack)(void *to, size_t *n_to, const void *from, size_t n))
{
    packer = pack;
}

/* Do the first n bytes of the path end so? */
static bool ends(const char *path, size_t n, const char *suffix)
{
    const size_t k = strlen(suffix);

    return n > k && strncmp(path + n - k, suffix, k) == 0;
}

/* The length without .gz or .bgz. */
static size_t unpacked_length(const char *path)
{
    const size_t n = strlen(path);

    return ends(path, n, ".gz") ? n - 3 : ends(path, n, ".bgz") ? n - 4 : n;
}

bool cs_out_ends(const char *path, const char *suffix)
{
    return ends(path, unpacked_length(path), suffix);
}

bool cs_out_is_plain(const char *path)
{
    const size_t n = strlen(path);

    return unpacked_length(path) == n && !ends(path, n, ".csv") && !ends(path, n, ".npz");
}

const char *cs_out_format_name(const char *path)
{
    const size_t n = unpacked_length(path);

    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (ends(path, n, foreign[i].suffix))
            return foreign[i].what;
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        if (ends(path, strlen(path), binary[i].suffix))
            return binary[i].what;
    if (ends(path, n, ".csv") || ends(path, n, ".tsv"))
        return "a table";
    return n < strlen(path) ? "compressed text" : NULL;
}

/* May an output of one kind have a suffix of another? Every report in lines may be named .tsv, and
 * rows are often named .bed. */
static bool may_be(cs_out_kind kind, cs_out_kind named_as)
{
    const bool rows = kind == CS_OUT_REPORT || kind == CS_OUT_BED || kind == CS_OUT_TABLE;

    return kind == CS_OUT_TEXT || kind == named_as
        || (rows && (named_as == CS_OUT_TABLE || named_as == CS_OUT_BED));
}

int cs_out_check(const char *path, cs_out_kind kind)
{
    const size_t n = unpacked_length(path);
    const bool table = kind == CS_OUT_TABLE;

    if (kind == CS_OUT_BINARY && n < strlen(path))
        return cs_fail(CS_EUSAGE, "'%s': this output is not compressed; omit '%s'", path, path + n);
    if (kind == CS_OUT_BINARY || kind == CS_OUT_PACKED)
        return CS_OK;
    const char *list = named[kind];
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (ends(path, n, foreign[i].suffix))
            return cs_fail(CS_EUSAGE, "'%s': %s is not supported; %s", path, foreign[i].what, list);
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        if (ends(path, n, binary[i].suffix))
            return cs_fail(CS_EUSAGE, "'%s': this output is not %s; %s", path, binary[i].what,
                           list);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (ends(path, n, texts[i].suffix) && !may_be(kind, texts[i].kind))
            return cs_fail(CS_EUSAGE, "'%s': this output is not %s; %s", path, texts[i].what, list);
    if (!table && ends(path, n, ".csv"))
        return cs_fail(CS_EUSAGE, "'%s': CSV is for tables; %s", path, list);
    return CS_OK;
}

int cs_out_filter_new(const char *path, cs_out_kind kind, cs_out_sink sink, void *to,
                      cs_out_filter **out)
{
    const int rc = cs_out_check(path, kind);
    const size_t n = unpacked_length(path);
    const bool text = kind != CS_OUT_BINARY && kind != CS_OUT_PACKED;
    const bool gz = text && packer && n < strlen(path);
    const bool csv = kind == CS_OUT_TABLE && ends(path, n, ".csv");

    *out = NULL;
    if (rc != CS_OK || (!gz && !csv))
        return rc;
    cs_out_filter *f = *out = cs_xcalloc(1, sizeof *f);
    f->sink = sink;
    f->to = to;
    f->gz = gz;
    f->csv = csv;
    f->text = gz ? cs_xmalloc(CS_OUT_BLOCK) : NULL;
    return CS_OK;
}

void cs_out_filter_free(cs_out_filter *f)
{
    if (!f)
        return;
    CS_FREE(f->field, f->text, f);
}

/* ---- compression ----------------------------------------------------------------------------- */

static int put_block(cs_out_filter *f)
{
    char block[CS_OUT_PACKED_BLOCK];
    size_t n = sizeof block;

    if (packer(block, &n, f->text, f->n_text) < 0)
        return cs_fail(CS_EMEM, "out of memory for compression");
    f->n_text = 0;
    return f->sink(f->to, block, n);
}

static int put_bytes(cs_out_filter *f, const char *p, size_t n)
{
    int rc = CS_OK;

    if (!f->gz)
        return f->sink(f->to, p, n);
    while (n > 0) {
        const size_t space = CS_OUT_BLOCK - f->n_text, k = n < space ? n : space;
        memcpy(f->text + f->n_text, p, k);
        f->n_text += k;
        p += k;
        n -= k;
        if (f->n_text == CS_OUT_BLOCK)
            CS_TRY(put_block(f));
    }
out:
    return rc;
}

/* ---- commas ---------------------------------------------------------------------------------- */

static int add(cs_out_filter *f, const char *p, size_t n)
{
    if (cs_try_grow((void **)&f->field, &f->cap_field, f->n_field + n + 1, 1) != CS_OK)
        return cs_fail(CS_EMEM, "out of memory for a field of %zu bytes", f->n_field + n);
    memcpy(f->field + f->n_field, p, n);
    f->n_field += n;
    return CS_OK;
}

/* Fields with a comma or a quote are quoted, and quotes in them doubled (RFC 4180). */
static int put_field(cs_out_filter *f)
{
    int rc = CS_OK;
    const char *p = f->field, *end = p + f->n_field;
    const bool quoted = f->n_field > 0 && (memchr(p, ',', f->n_field)
                                           || memchr(p, '"', f->n_field));

    if (quoted)
        CS_TRY(put_bytes(f, "\"", 1));
    for (const char *q; p < end; p = q) {
        const char *quote = quoted ? memchr(p, '"', (size_t)(end - p)) : NULL;
        q = quote ? quote + 1 : end;
        CS_TRY(put_bytes(f, p, (size_t)(q - p)));
        if (quote)
            CS_TRY(put_bytes(f, "\"", 1));
    }
    if (quoted)
        CS_TRY(put_bytes(f, "\"", 1));
    f->n_field = 0;
out:
    return rc;
}

static int put_table(cs_out_filter *f, const char *p, size_t n)
{
    int rc = CS_OK;

    while (n > 0) {
        size_t k = 0;
        while (k < n && p[k] != '\t' && p[k] != '\n')
            k++;
        CS_TRY(add(f, p, k));
        if (k < n) {
            CS_TRY(put_field(f));
            CS_TRY(put_bytes(f, p[k] == '\t' ? "," : "\n", 1));
            k++;
        }
        p += k;
        n -= k;
    }
out:
    return rc;
}

int cs_out_filter_put(cs_out_filter *f, const void *p, size_t n_bytes)
{
    return f->csv ? put_table(f, p, n_bytes) : put_bytes(f, p, n_bytes);
}

const char *cs_out_filter_pending(const cs_out_filter *f, size_t *n_bytes)
{
    *n_bytes = f->n_text;
    return f->text;
}

void cs_out_filter_restore(cs_out_filter *f, const char *text, size_t n_bytes)
{
    CS_BUG(!f->gz || n_bytes >= CS_OUT_BLOCK);
    memcpy(f->text, text, n_bytes);
    f->n_text = n_bytes;
}

int cs_out_filter_end(cs_out_filter *f)
{
    int rc = CS_OK;

    if (f->n_field > 0)
        CS_TRY(put_field(f));
    if (f->gz && f->n_text > 0)
        CS_TRY(put_block(f));
    if (f->gz)
        CS_TRY(put_block(f));    /* the empty one that ends BGZF: SAM specification, 4.1.2 */
out:
    return rc;
}
