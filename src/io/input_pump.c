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

#include <htslib/hfile.h>

#include "base/mem.h"
#include "base/signals.h"
#include "base/system.h"
#include "io/cram_guard.h"

enum { PIECE = 1 << 16, MAGIC_BYTES = 4, MESSAGE_BYTES = 512 };

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

const char *cs_input_shown(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
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
