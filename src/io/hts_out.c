/*
 * hts_out.c - outputs that htslib writes.
 *
 * DESIGN
 * htslib writes through a descriptor of ours, so renaming, closed pipes and stdout work as for
 * every other format. But on a pipe whose reader stalls it would remain in write() after a signal,
 * and EAGAIN of a non-blocking one is an error to it. There it writes into a pipe of ours, and a
 * helper thread forwards the bytes by cs_outfile_write(). At a signal, an error or when the run
 * fails, the thread stores the reason and closes its end, so that htslib fails with EPIPE. Other
 * files need no thread, and --resume must know what is in them.
 */
#include "io/hts_out.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "base/mem.h"
#include "base/signals.h"
#include "base/system.h"
#include "io/input_pump.h"

enum { PIECE = 1 << 16 };

struct output_pump {
    int         from;            /* the pipe that htslib fills */
    cs_outfile *file;
    pthread_t   thread;
    bool        joined;
    char       *message;         /* of rc; valid once rc is not CS_OK */
    atomic_int  rc;              /* why it stopped before the end of the pipe */
    char        piece[PIECE];
};

static void *forward(void *arg)
{
    struct output_pump *p = arg;
    ssize_t n;
    int rc = CS_OK;

    while (rc == CS_OK && (n = read(p->from, p->piece, PIECE)) != 0) {
        CS_BUG(n < 0 && errno != EINTR);
        if (n < 0)
            continue;
        rc = cs_outfile_write(p->file, p->piece, (size_t)n);
        if (rc == CS_OK)
            rc = cs_outfile_flush(p->file);
    }
    p->message = cs_xstrdup(cs_error_message());
    atomic_store(&p->rc, rc);
    (void)close(p->from);        /* after the store: it makes htslib fail */
    return NULL;
}

/* The end of a new pump's pipe that htslib fills; -1 with errno. */
static int start_pump(cs_htsout *o)
{
    int end[2];

    if (cs_system_pipe(end) != 0)
        return -1;
    struct output_pump *p = o->pump = cs_xcalloc(1, sizeof *p);
    p->from = end[0];
    p->file = o->file;
    const int bad = cs_pump_start(&p->thread, forward, p);
    if (bad == 0)
        return end[1];
    (void)close(end[0]);
    (void)close(end[1]);
    CS_FREE(p);
    o->pump = NULL;
    errno = bad;
    return -1;
}

/* htslib has closed the pipe. */
static void join_pump(struct output_pump *p)
{
    if (p && !p->joined)
        CS_BUG(pthread_join(p->thread, NULL) != 0);
    if (p)
        p->joined = true;
}

static bool may_block(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd));
}

int cs_htsout_open(cs_htsout *o, cs_outfile *file, const char *path, const char *mode)
{
    const int to = cs_outfile_fd(file);
    const bool slow = may_block(to);

    o->file = file;
    errno = 0;
    const int fd = slow ? start_pump(o) : fcntl(to, F_DUPFD_CLOEXEC, 3);
    hFILE *raw = fd < 0 ? NULL : hdopen(fd, "w");
    /* hfile_init() (1.22 and later) takes an error of posix_memalign() for success. */
    if (raw && !raw->buffer) {
        hclose_abruptly(raw);    /* with the descriptor */
        errno = ENOMEM;
        return cs_htsout_failed(o, "no buffer");
    }
    if (!raw) {
        const int rc = cs_htsout_failed(o, "no descriptor");
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    o->fd = fd;
    o->fp = hts_hopen(raw, path, mode);
    if (o->fp)
        return CS_OK;
    const int rc = cs_htsout_failed(o, "htslib refuses");
    hclose_abruptly(raw);
    return rc;
}

int cs_htsout_failed(const cs_htsout *o, const char *what)
{
    const int why = errno, stopped = o->pump ? atomic_load(&o->pump->rc) : CS_OK;

    if (stopped != CS_OK)
        return *o->pump->message ? cs_fail(stopped, "%s", o->pump->message) : stopped;
    return cs_fail(CS_EIO, "cannot write '%s': %s%s%s", cs_outfile_name(o->file), what ? what : "",
                   what && why ? ": " : "",
                   why ? strerror(why) : what ? "" : "htslib reports an error");
}

int cs_htsout_close(cs_htsout *o)
{
    BGZF *b = o->fp->is_bgzf ? o->fp->fp.bgzf : NULL;

    errno = 0;
    /* bgzf_close() (1.16) leaks if it cannot flush or close. */
    if (b && ((b->is_compressed && bgzf_flush(b) < 0) || hflush(b->fp) < 0)) {
        const int rc = cs_htsout_failed(o, NULL);
        cs_htsout_discard(o);
        return rc;
    }
    const bool bad = hts_close(o->fp) < 0;
    const int why = errno;

    o->fp = NULL;
    join_pump(o->pump);
    errno = why;
    const int rc = bad || (o->pump && o->pump->rc != CS_OK) ? cs_htsout_failed(o, NULL) : CS_OK;
    cs_htsout_discard(o);
    return rc;
}

/* What htslib writes from now on, when it closes, is lost. */
static void redirect_to_null(int fd)
{
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0)
        return;
    (void)dup2(null, fd);
    (void)close(null);
}

void cs_htsout_discard(cs_htsout *o)
{
    const bool unfinished = o->fp != NULL;

    if (unfinished) {
        redirect_to_null(o->fd);
        if (o->fp->is_bgzf)
            hclearerr(o->fp->fp.bgzf->fp);
        (void)hts_close(o->fp);
        cs_waits_cancel();
    }
    o->fp = NULL;
    join_pump(o->pump);
    if (unfinished)
        cs_waits_allow();
    if (o->pump)
        free(o->pump->message);
    CS_FREE(o->pump);
    o->pump = NULL;
}
