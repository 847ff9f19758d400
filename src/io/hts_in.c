/* hts_in.c - inputs that htslib reads: open them, and refuse other kinds with a reason. */
#include "io/hts_in.h"

#include <errno.h>
#include <string.h>

#include <zlib.h>

#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "base/file.h"
#include "io/input_pump.h"
#include "io/vcf_text.h"

enum { PEEK_BYTES = 1024, ARCHIVE_BYTES = 512, GZIP_OR_ZLIB = 47 };      /* for inflateInit2() */

/* POSIX.1 ustar and GNU: the mark in the header of the first file. */
static bool is_tar(const char *s, size_t n)
{
    static const char mark[] = "ustar";
    enum { AT = 257 };

    return n >= AT + sizeof mark && memcmp(s + AT, mark, sizeof mark - 1) == 0;
}

/* Compression and archives that htslib does not detect, by their first bytes. */
static const struct packing { const char *magic; size_t n; const char *name, *tool, *pipe; }
packing[] = {
    { "PK\x03\x04", 4, "zip", "unzip", "unzip -p" },            /* APPNOTE.TXT, 4.3.7 */
    { "7z\xbc\xaf\x27\x1c", 6, "7z", "7z x", "7z x -so" },
    { "\x04\x22\x4d\x18", 4, "lz4", NULL, "lz4 -dc" },
    { "\x1f\x9d", 2, "compress", NULL, "gzip -dc" },
    { "LZIP\x01", 5, "lzip", NULL, "lzip -dc" },
    { "]\0\0", 3, "lzma", NULL, "xz -dc" },
};

static int refuse_compression(const char *shown, const char *name, const char *pipe)
{
    return cs_fail(CS_EFORMAT, "'%s' is compressed with %s, which is not supported; decompress it "
                   "first: %s FILE | chordseq ... -", shown, name, pipe);
}

int cs_htsin_check_compression(const char *shown, const htsFormat *m)
{
    static const struct { enum htsCompression c; const char *name, *pipe; } foreign[] = {
        { bzip2_compression, "bzip2", "bzip2 -dc" }, { xz_compression, "xz", "xz -dc" },
        { zstd_compression, "zstd", "zstd -dc" }, { razf_compression, "RAZF", "razip -dc" },
    };

    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (m->compression == foreign[i].c)
            return refuse_compression(shown, foreign[i].name, foreign[i].pipe);
    return CS_OK;
}

int cs_refuse_packed(const char *shown, const char *s, size_t n)
{
    static const struct packing tar = { "", 0, "tar", "tar -xf", "tar -xOf" };
    const struct packing *p = is_tar(s, n) ? &tar : NULL;

    for (size_t i = 0; !p && i < sizeof packing / sizeof *packing; i++)
        if (n >= packing[i].n && memcmp(s, packing[i].magic, packing[i].n) == 0)
            p = &packing[i];
    if (p && !p->tool)
        return refuse_compression(shown, p->name, p->pipe);
    return !p ? CS_OK
        : cs_fail(CS_EFORMAT, "'%s' is a %s archive; extract its files (%s), or pipe them in: "
                  "%s FILE | chordseq ... -", shown, p->name, p->tool, p->pipe);
}

size_t cs_peek_text(hFILE *fp, const htsFormat *m, char *text, size_t n)
{
    unsigned char raw[PEEK_BYTES];
    const ssize_t n_raw = hpeek(fp, raw, sizeof raw);
    z_stream z = { .next_in = raw, .avail_in = n_raw > 0 ? (uInt)n_raw : 0,
                   .next_out = (Bytef *)text, .avail_out = (uInt)n };

    if (n_raw <= 0)
        return 0;
    if (m->compression != gzip && m->compression != bgzf) {
        n = n < (size_t)n_raw ? n : (size_t)n_raw;
        memcpy(text, raw, n);
        return n;
    }
    if (inflateInit2(&z, GZIP_OR_ZLIB) != Z_OK)
        return 0;
    (void)inflate(&z, Z_SYNC_FLUSH);      /* an error gives fewer bytes, which suffices */
    inflateEnd(&z);
    return n - z.avail_out;
}

static int refuse_unknown(const char *shown, const char *kinds, hFILE *fp, const htsFormat *m)
{
    char text[ARCHIVE_BYTES];

    if (cs_refuse_packed(shown, text, cs_peek_text(fp, m, text, sizeof text)) != CS_OK)
        return CS_EFORMAT;
    return cs_fail(CS_EFORMAT, "'%s' is not a %s file", shown, kinds);
}

/* A kind of files, or NULL if it is none of those that are often given by mistake. */
static const char *kind_of(enum htsExactFormat format)
{
    switch (format) {
    case empty_format:
        return "empty";
    case sam:
        return "SAM";
    case bam:
        return "BAM";
    case cram:
        return "CRAM";
    case fasta_format:
        return "FASTA";
    case fastq_format:
        return "FASTQ";
    default:
        return NULL;
    }
}

/* Nothing was read yet, so the beginning is still in the buffer. */
int cs_htsin_refuse(const char *shown, const char *kinds, htsFile *fp)
{
    const htsFormat *m = hts_get_format(fp);
    hFILE *raw = fp->is_bgzf ? fp->fp.bgzf->fp : fp->is_cram ? NULL : fp->fp.hfile;
    char text[PEEK_BYTES];
    const size_t n = raw ? cs_peek_text(raw, m, text, sizeof text) : 0;
    const char *lacks = n > 0 ? cs_vcf_lacks(text, n) : NULL, *kind = kind_of(m->format);

    if (kind)
        return cs_fail(CS_EFORMAT, "'%s' is %s, not a %s file", shown, kind, kinds);
    return cs_fail(CS_EFORMAT, "'%s' is not a %s file%s%s", shown, kinds, lacks ? ": " : "",
                   lacks ? lacks : "");
}

/* htslib opens text that it recognises with any compression, and aborts when it is read. */
static int open_known(const char *shown, const char *kinds, hFILE *fp, htsFile **out)
{
    int rc = CS_OK;
    htsFormat m;

    memset(&m, 0, sizeof m);
    if (hts_detect_format2(fp, NULL, &m) < 0)
        return cs_fail(CS_EIO, "cannot read '%s': %s", shown, strerror(errno));
    CS_TRY(cs_htsin_check_compression(shown, &m));
    if (m.format == empty_format && m.compression != no_compression)
        return cs_fail(CS_EFORMAT, "'%s' has compressed data without text; it is empty or "
                       "truncated", shown);
    errno = 0;
    *out = hts_hopen(fp, shown, "r");
    if (*out)
        return CS_OK;
    rc = errno == ENOMEM ? cs_fail(CS_EMEM, "out of memory for '%s'", shown)
                         : refuse_unknown(shown, kinds, fp, &m);
out:
    return rc;
}

/* htslib recognises no text behind a byte order mark. */
static void skip_mark(hFILE *fp)
{
    char head[3];

    if (hpeek(fp, head, sizeof head) == sizeof head && cs_bom_bytes(head, sizeof head) > 0)
        CS_BUG(hread(fp, head, sizeof head) != sizeof head);   /* hpeek() has buffered them */
}

int cs_htsin_open(const char *path, const char *kinds, htsFile **out)
{
    const char *shown = cs_input_shown(path);
    hFILE *fp = cs_pump_open(path);

    *out = NULL;
    if (!fp)
        return cs_pump_interrupted(cs_fail(CS_EIO, "cannot open '%s': %s", shown,
                                           strerror(errno)));
    skip_mark(fp);
    const int rc = open_known(shown, kinds, fp, out);
    if (rc == CS_OK)
        return CS_OK;
    hclose_abruptly(fp);
    return cs_pump_interrupted(rc);
}

int cs_htsin_open_reads_or_calls(const char *path, struct htsFile **fp, bool *calls)
{
    static const char kinds[] = "SAM, BAM, CRAM, VCF or BCF";
    htsFile *f;
    const int rc = cs_htsin_open(path, kinds, &f);

    *fp = NULL;
    if (rc != CS_OK)
        return rc;
    const enum htsFormatCategory what = hts_get_format(f)->category;
    const enum htsExactFormat format = hts_get_format(f)->format;
    *calls = what == variant_data;
    if (*calls || (what == sequence_data && (format == sam || format == bam || format == cram))) {
        *fp = f;
        return CS_OK;
    }
    const int refused = cs_htsin_refuse(cs_input_shown(path), kinds, f);
    hts_close(f);
    return cs_pump_interrupted(refused);
}
