/*
 * input_pump.c - helper thread for inputs that block: a signal ends them.
 *
 * DESIGN
 * A thread that blocks in read() on a pipe may miss a signal that another thread has received, and
 * htslib continues reading after a signal. So a helper thread polls the input, a signal and the
 * reader's close at once, and forwards the bytes through a pipe to the reader. It also waits for
 * the writer of a FIFO. The cost against opening the pipe directly was not measurable (320 MB,
 * noise of 25 %). Regular files are opened directly. CRAM is forwarded container by container, each
 * checked before (cram_guard.h); a refusal ends the reader's input and is reported by it.
 */
#include "io/input_pump.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/system.h"
#include "io/cram_guard.h"
#include "io/vcf_text.h"

enum { PIECE = 1 << 16, MAGIC_BYTES = 4, MESSAGE_BYTES = 512, PEEK_BYTES = 1024,
       ARCHIVE_BYTES = 512, GZIP_OR_ZLIB = 47 };       /* for inflateInit2() */

struct input_pump {
    int     from, to;
    char   *path;                /* for messages */
    char   *piece;               /* [PIECE] */
    ssize_t n_piece;             /* bytes in it that were read ahead */
};

static const char magic[] = "CRAM";

static atomic_int broken;        /* errno of an input that could not be read to its end */

/* Message about the first input that was refused. */
static char refusal[MESSAGE_BYTES];
static atomic_int n_refused;     /* 1: it is being written; 2: it is valid */

/* False: the reader has closed its end. */
static bool write_all(int to, const char *p, ssize_t n)
{
    while (n > 0) {
        const ssize_t put = write(to, p, (size_t)n);
        if (put < 0 && errno != EINTR)
            return false;
        p += put > 0 ? put : 0;
        n -= put > 0 ? put : 0;
    }
    return true;
}

/* The next bytes; 0 at the end, after a signal, an error, or when the reader has closed its end. */
static int64_t next_bytes(void *arg, char *to, size_t n)
{
    const struct input_pump *f = arg;

    while (cs_signal_wait(f->from, f->to) == CS_OK) {
        const ssize_t got = read(f->from, to, n);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            atomic_store(&broken, errno);
        return got > 0 ? got : 0;
    }
    return 0;
}

static int64_t next_of_cram(void *arg, char *to, size_t n)
{
    struct input_pump *f = arg;
    const ssize_t ahead = f->n_piece < (ssize_t)n ? f->n_piece : (ssize_t)n;

    if (ahead == 0)
        return next_bytes(arg, to, n);
    memcpy(to, f->piece, (size_t)ahead);
    f->n_piece -= ahead;
    memmove(f->piece, f->piece + ahead, (size_t)f->n_piece);
    return ahead;
}

static void refuse(void)
{
    int none = 0;

    if (atomic_compare_exchange_strong(&n_refused, &none, 1)) {
        (void)snprintf(refusal, sizeof refusal, "%s", cs_error_message());
        atomic_store(&n_refused, 2);
    }
    cs_error_clear();
}

static void pump_cram(struct input_pump *f)
{
    size_t n = 1;
    const char *p = NULL;
    cs_cram_guard *g = cs_cram_guard_stream(f->path, next_of_cram, f);

    while (n > 0) {
        if (cs_cram_guard_pass(g, &p, &n) != CS_OK) {
            refuse();
            break;
        }
        if (!write_all(f->to, p, (ssize_t)n))
            break;
    }
    cs_cram_guard_free(g);
}

static void *pump(void *arg)
{
    struct input_pump *f = arg;
    int64_t n = 1;

    while (n > 0 && f->n_piece < MAGIC_BYTES) {
        n = next_bytes(f, f->piece + f->n_piece, (size_t)(PIECE - f->n_piece));
        f->n_piece += n;
    }
    if (f->n_piece >= MAGIC_BYTES && memcmp(f->piece, magic, MAGIC_BYTES) == 0)
        pump_cram(f);
    else
        for (n = f->n_piece; n > 0 && write_all(f->to, f->piece, n);)
            n = next_bytes(f, f->piece, PIECE);
    (void)close(f->from);
    (void)close(f->to);
    CS_FREE(f->piece, f->path, f);
    return NULL;
}

/* Other threads handle signals: SIGPIPE would end the program unless ignored. */
int cs_pump_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    CS_BUG(pthread_sigmask(SIG_SETMASK, &all, &before) != 0);
    const int bad = pthread_create(thread, NULL, run, arg);
    CS_BUG(pthread_sigmask(SIG_SETMASK, &before, NULL) != 0);
    return bad;
}

static int start(struct input_pump *f)
{
    pthread_t thread;
    const int bad = cs_pump_start(&thread, pump, f);

    if (bad == 0)
        CS_BUG(pthread_detach(thread) != 0);
    return bad;
}

/* Takes the descriptor over, also on failure. */
static hFILE *through_pump(const char *path, int from)
{
    int end[2], bad;
    hFILE *fp = NULL;

    if (cs_system_pipe(end) != 0) {
        bad = errno;
        (void)close(from);
        errno = bad;
        return NULL;
    }
    const char *shown = cs_input_shown(path);
    struct input_pump *f = cs_xcalloc(1, sizeof *f);
    *f = (struct input_pump){ .from = from, .to = end[1], .path = cs_xstrdup(shown),
                              .piece = cs_xmalloc(PIECE) };
    fp = hdopen(end[0], "r");
    bad = fp ? start(f) : errno;
    if (bad == 0)
        return fp;
    if (fp)
        hclose_abruptly(fp);
    else
        (void)close(end[0]);
    (void)close(from);
    (void)close(end[1]);
    CS_FREE(f->piece, f->path, f);
    errno = bad;
    return NULL;
}

static bool waits(mode_t mode)
{
    return S_ISFIFO(mode) || S_ISCHR(mode) || S_ISSOCK(mode);
}

/* Is the rest of a regular file CRAM? It is checked as a stream, for it may not begin at byte 0. */
static bool is_cram(int fd)
{
    char head[MAGIC_BYTES];

    return pread(fd, head, sizeof head, lseek(fd, 0, SEEK_CUR)) == (ssize_t)sizeof head
        && memcmp(head, magic, sizeof head) == 0;
}

hFILE *cs_pump_open(const char *path)
{
    struct stat st;
    int fd;

    if (strcmp(path, "-") == 0) {
        if (fstat(STDIN_FILENO, &st) != 0 || (!waits(st.st_mode) && !is_cram(STDIN_FILENO)))
            return hopen(path, "r");
        fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    } else {
        if (stat(path, &st) != 0 || !waits(st.st_mode))
            return hopen(path, "r");
        /* Do not block here until a FIFO has a writer. */
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    }
    return fd < 0 ? NULL : through_pump(path, fd);
}

/* htslib recognises no text behind a byte order mark. */
static void skip_mark(hFILE *fp)
{
    char head[3];

    if (hpeek(fp, head, sizeof head) == sizeof head && cs_bom_bytes(head, sizeof head) > 0)
        CS_BUG(hread(fp, head, sizeof head) != sizeof head);   /* hpeek() has buffered them */
}

const char *cs_input_shown(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

int cs_compression_known(const char *shown, const htsFormat *m)
{
    static const struct { enum htsCompression c; const char *name, *tool; } foreign[] = {
        { bzip2_compression, "bzip2", "bzip2 -dc" }, { xz_compression, "xz", "xz -dc" },
        { zstd_compression, "zstd", "zstd -dc" }, { razf_compression, "RAZF", "razip -dc" },
    };

    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (m->compression == foreign[i].c)
            return cs_fail(CS_EFORMAT, "'%s' is compressed with %s, which is not supported; "
                           "decompress it first: %s FILE | chordseq ... -", shown, foreign[i].name,
                           foreign[i].tool);
    return CS_OK;
}

/* POSIX.1 ustar and GNU: the mark in the header of the first file. */
static bool is_tar(const char *s, size_t n)
{
    static const char mark[] = "ustar";
    enum { AT = 257 };

    return n >= AT + sizeof mark && memcmp(s + AT, mark, sizeof mark - 1) == 0;
}

/* APPNOTE.TXT, 4.3.7: the signature of the first file. */
static bool is_zip(const char *s, size_t n)
{
    return n >= 4 && memcmp(s, "PK\x03\x04", 4) == 0;
}

int cs_refuse_archive(const char *shown, const char *s, size_t n)
{
    const bool tar = is_tar(s, n);

    return !tar && !is_zip(s, n) ? CS_OK
        : cs_fail(CS_EFORMAT, "'%s' is a %s archive; extract its files (%s), or pipe them in: "
                  "%s FILE | chordseq ... -", shown, tar ? "tar" : "zip",
                  tar ? "tar -xf" : "unzip", tar ? "tar -xOf" : "unzip -p");
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

    if (cs_refuse_archive(shown, text, cs_peek_text(fp, m, text, sizeof text)) != CS_OK)
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
int cs_hts_refuse(const char *shown, const char *kinds, htsFile *fp)
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
    CS_TRY(cs_compression_known(shown, &m));
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

int cs_pump_open_hts(const char *path, const char *kinds, htsFile **out)
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

int cs_pump_interrupted(int rc)
{
    const int why = atomic_load(&broken);

    if (rc == CS_OK)
        return CS_OK;
    if (cs_signal_caught() != 0)
        return CS_ECANCEL;
    if (atomic_load(&n_refused) == 2) {
        cs_error_clear();        /* the reader saw an input that ends early */
        return cs_fail(CS_EFORMAT, "%s", refusal);
    }
    return why ? cs_fail(CS_EIO, "an input was not read completely: %s", strerror(why)) : rc;
}
