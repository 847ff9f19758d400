/* group.c - the ranks of one run: how they find each other, what they tell each other. */
#define _GNU_SOURCE              /* POLLRDHUP, accept4 */

#include "base/group.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

enum { POLL_MS = 100, HELLO_S = 10, SILENT_S = 60, WHY_BYTES = 1024 };

/* What precedes every message. All ranks are the same program with the same order of bytes, which
 * admit() sees to: numbers go as they lie in memory. */
enum { DATA = 0x61746164, BYE = 0x21657962 };
struct head { uint32_t kind, pad; uint64_t n_bytes; };

struct hello { char magic[24]; int32_t rank, n; };
static const char hello_magic[24] = "chordseq " PACKAGE_VERSION;

struct cs_group {
    int    rank, n, local;
    double timeout;
    double end;                  /* of a wait elsewhere: see cs_group_wait() */
    int   *fd;                   /* [n] of rank 0, by rank; else only fd[0] */
    bool   lost;
};

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cs_group *new_group(int rank, int n, double timeout)
{
    cs_group *g = cs_xcalloc(1, sizeof *g);

    g->rank = rank;
    g->n = n;
    g->local = rank;
    g->timeout = timeout;
    g->fd = cs_xcalloc((size_t)n, sizeof *g->fd);
    for (int r = 0; r < n; r++)
        g->fd[r] = -1;
    return g;
}

int cs_group_rank(const cs_group *g) { return g->rank; }
int cs_group_size(const cs_group *g) { return g->n; }
int cs_group_local(const cs_group *g) { return g->local; }
bool cs_group_lost(const cs_group *g) { return g->lost; }

/* ---- bytes ----------------------------------------------------------------------------------- */

static int fail_lost(cs_group *g, const char *fmt, ...) CS_PRINTF(2, 3);

static int fail_lost(cs_group *g, const char *fmt, ...)
{
    char why[WHY_BYTES];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    g->lost = true;
    return cs_fail(CS_EIO, "%s", why);
}

/* Until the socket is ready: CS_ECANCEL after a signal, CS_EOF when `end` has passed (0: never). */
static int wait_ready(int fd, short what, double end)
{
    struct pollfd p = { .fd = fd, .events = what };

    for (;;) {
        if (cs_signal_caught() != 0)
            return CS_ECANCEL;
        const int n = poll(&p, 1, POLL_MS);
        if (n > 0)
            return CS_OK;
        if (n < 0 && errno != EINTR)
            return cs_fail(CS_EIO, "cannot wait for another rank: %s", strerror(errno));
        if (end > 0 && now_s() > end)
            return CS_EOF;
    }
}

static double end_of(double seconds)
{
    return seconds > 0 ? now_s() + seconds : 0;
}

/* CS_EOF: the time is up. errno 0 with CS_EIO: the other side has hung up. */
static int put_bytes(int fd, const void *p, size_t n, double seconds)
{
    const double end = end_of(seconds);
    const char *from = p;

    while (n > 0) {
        int rc = wait_ready(fd, POLLOUT, end);
        if (rc != CS_OK)
            return rc;
        const ssize_t k = send(fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return CS_EIO;
        from += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return CS_OK;
}

static int get_bytes(int fd, void *p, size_t n, double seconds)
{
    const double end = end_of(seconds);
    char *to = p;

    while (n > 0) {
        int rc = wait_ready(fd, POLLIN, end);
        if (rc != CS_OK)
            return rc;
        const ssize_t k = recv(fd, to, n, MSG_DONTWAIT);
        if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
            return CS_EIO;
        to += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return CS_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void tell_bye(int fd, const char *why)
{
    const size_t n = strlen(why) < WHY_BYTES ? strlen(why) : WHY_BYTES - 1;
    const struct head h = { BYE, 0, n };
    char text[sizeof h + WHY_BYTES];

    memcpy(text, &h, sizeof h);
    memcpy(text + sizeof h, why, n);
    /* A text this short fits: nobody waits for one who does not read. */
    (void)send(fd, text, sizeof h + n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int fail_gone(cs_group *g, int rank)
{
    return fail_lost(g, "rank %d is gone: it was killed, or its machine or the network failed",
                     rank);
}

/* What the other side said before it hung up. */
static int take_bye(cs_group *g, int from, size_t n)
{
    char why[WHY_BYTES];

    if (n >= sizeof why || get_bytes(g->fd[from], why, n, HELLO_S) != CS_OK)
        return fail_gone(g, from);
    why[n] = '\0';
    return fail_lost(g, "%s", why);
}

static int fail_late(cs_group *g, int rank)
{
    return fail_lost(g, "rank %d has been silent for %.0f seconds; --ranks-timeout says how many "
                     "it may", rank, g->timeout);
}

int cs_group_recv(cs_group *g, int from, void *p, size_t n)
{
    struct head h;
    int rc = get_bytes(g->fd[from], &h, sizeof h, g->timeout);

    if (rc == CS_OK && h.kind == BYE)
        return take_bye(g, from, (size_t)h.n_bytes);
    if (rc == CS_OK && (h.kind != DATA || h.n_bytes != n))
        return fail_lost(g, "rank %d is at another point of the run than rank %d", from, g->rank);
    if (rc == CS_OK)
        rc = get_bytes(g->fd[from], p, n, g->timeout);
    if (rc == CS_EOF)
        return fail_late(g, from);
    return rc == CS_EIO ? fail_gone(g, from) : rc;
}

/* Why sending failed stands in what the other side sent last, if it did. */
static int fail_send(cs_group *g, int to)
{
    struct head h;
    char skipped[4096];

    while (get_bytes(g->fd[to], &h, sizeof h, HELLO_S) == CS_OK) {
        if (h.kind == BYE)
            return take_bye(g, to, (size_t)h.n_bytes);
        for (uint64_t n = h.n_bytes, k; n > 0; n -= k) {
            k = n < sizeof skipped ? n : sizeof skipped;
            if (get_bytes(g->fd[to], skipped, (size_t)k, HELLO_S) != CS_OK)
                return fail_gone(g, to);
        }
    }
    return fail_gone(g, to);
}

int cs_group_send(cs_group *g, int to, const void *p, size_t n)
{
    const struct head h = { DATA, 0, n };
    int rc = put_bytes(g->fd[to], &h, sizeof h, g->timeout);

    if (rc == CS_OK)
        rc = put_bytes(g->fd[to], p, n, g->timeout);
    if (rc == CS_EOF)
        return fail_late(g, to);
    return rc == CS_EIO ? fail_send(g, to) : rc;
}

int cs_group_gather(cs_group *g, const void *p, size_t n, void *all)
{
    int rc = CS_OK;

    if (g->rank > 0)
        return cs_group_send(g, 0, p, n);
    if (n > 0)
        memcpy(all, p, n);
    for (int r = 1; r < g->n; r++)
        CS_TRY(cs_group_recv(g, r, n > 0 ? (char *)all + (size_t)r * n : NULL, n));
out:
    return rc;
}

int cs_group_share(cs_group *g, void *p, size_t n)
{
    int rc = CS_OK;

    if (g->rank > 0)
        return cs_group_recv(g, 0, p, n);
    for (int r = 1; r < g->n; r++)
        CS_TRY(cs_group_send(g, r, p, n));
out:
    return rc;
}

int cs_group_meet(cs_group *g)
{
    const int rc = cs_group_gather(g, NULL, 0, NULL);

    return rc == CS_OK ? cs_group_share(g, NULL, 0) : rc;
}

void cs_group_wait(cs_group *g)
{
    g->end = end_of(g->timeout);
}

int cs_group_check(cs_group *g)
{
    if (g->end > 0 && now_s() > g->end)
        return fail_lost(g, "the ranks' devices have not heard of each other for %.0f seconds; can "
                         "they (NCCL has ports of its own)? --ranks-timeout says how long it may "
                         "take", g->timeout);
    if (cs_signal_caught() != 0)
        return CS_ECANCEL;
    for (int r = 0; r < g->n; r++) {
        struct pollfd p = { .fd = g->fd[r], .events = POLLRDHUP };
        if (p.fd >= 0 && poll(&p, 1, 0) > 0)
            return fail_send(g, r);
    }
    return CS_OK;
}

void cs_group_leave(cs_group *g, int rc)
{
    char text[WHY_BYTES];
    const char *why = cs_error_message();

    if (g == NULL)
        return;
    /* What another rank said is passed on as it came. */
    if (g->lost)
        (void)snprintf(text, sizeof text, "%s", why);
    else if (rc == CS_ECANCEL)
        (void)snprintf(text, sizeof text, "rank %d was ended by a signal", g->rank);
    else
        (void)snprintf(text, sizeof text, "rank %d failed: %s", g->rank,
                       why[0] != '\0' ? why : cs_error_name(rc));
    for (int r = 0; r < g->n; r++) {
        if (g->fd[r] < 0)
            continue;
        if (rc != CS_OK)
            tell_bye(g->fd[r], text);
        (void)close(g->fd[r]);
    }
    free(g->fd);
    free(g);
}

/* ---- finding each other ---------------------------------------------------------------------- */

/* Small messages go at once; a machine that vanished is noticed. */
static void set_up(int fd)
{
    const int one = 1, idle = 30, interval = 10, count = 3;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

static int resolve(const cs_group_spec *s, struct addrinfo **out)
{
    const struct addrinfo want = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    char port[16];

    (void)snprintf(port, sizeof port, "%d", s->port);
    const int e = getaddrinfo(s->host, port, &want, out);
    if (e != 0)
        return cs_fail(CS_EIO, "there is no machine '%s' (MASTER_ADDR): %s", s->host,
                       gai_strerror(e));
    return CS_OK;
}

/* Only the address that rank 0 is told listens, not every network of the machine. */
static int listen_at(const cs_group_spec *s, int *fd)
{
    const int one = 1, silent = SILENT_S;
    struct addrinfo *list;
    int rc = resolve(s, &list), error = 0;

    *fd = -1;
    if (rc != CS_OK)
        return rc;
    for (const struct addrinfo *a = list; a != NULL && *fd < 0; a = a->ai_next) {
        *fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (*fd >= 0)
            (void)setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        /* Who connects and says nothing, as scanners of ports do, is the system's to wait for. */
        if (*fd >= 0)
            (void)setsockopt(*fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silent, sizeof silent);
        if (*fd >= 0 && bind(*fd, a->ai_addr, a->ai_addrlen) == 0 && listen(*fd, SOMAXCONN) == 0)
            break;
        error = errno;
        if (*fd >= 0)
            (void)close(*fd);
        *fd = -1;
    }
    freeaddrinfo(list);
    if (*fd >= 0)
        return CS_OK;
    if (error == EADDRINUSE)
        return cs_fail(CS_EIO, "port %d of '%s' is taken, by another run perhaps; set MASTER_PORT "
                       "to a free one for all ranks", s->port, s->host);
    return cs_fail(CS_EIO, "rank 0 cannot listen at '%s', port %d: %s; MASTER_ADDR must be the "
                   "machine that rank 0 runs on", s->host, s->port, strerror(error));
}

/* Takes in one who says what a rank says; others are not for us and go unanswered. */
static int admit(cs_group *g, int fd)
{
    struct hello h;
    const char *why = NULL;
    char text[WHY_BYTES];

    if (get_bytes(fd, &h, sizeof h, HELLO_S) != CS_OK ||
        memcmp(h.magic, hello_magic, strlen("chordseq ")) != 0) {
        (void)close(fd);
        return CS_OK;
    }
    if (memcmp(h.magic, hello_magic, sizeof hello_magic) != 0)
        why = "rank 0 runs another version of chordseq than another rank";
    else if (h.n != g->n)
        why = "rank 0 was told of another number of ranks than another rank";
    else if (h.rank < 1 || h.rank >= g->n || g->fd[h.rank] >= 0)
        why = "two processes were told that they are the same rank";
    if (why == NULL) {
        set_up(fd);
        g->fd[h.rank] = fd;
        return CS_OK;
    }
    (void)snprintf(text, sizeof text, "%s (rank %d of %d, and rank 0 of %d)", why, (int)h.rank,
                   (int)h.n, g->n);
    tell_bye(fd, text);
    (void)close(fd);
    return cs_fail(CS_EIO, "%s", text);
}

static int fail_missing(const cs_group *g, const cs_group_spec *s)
{
    int first = 0, n = 0;

    for (int r = g->n - 1; r > 0; r--) {
        first = g->fd[r] < 0 ? r : first;
        n += g->fd[r] < 0;
    }
    return cs_fail(CS_EIO, "%d of %d ranks, the first of them rank %d, did not come to '%s', port "
                   "%d, within %.0f seconds", n, g->n, first, s->host, s->port, s->timeout);
}

static int take_in(cs_group *g, const cs_group_spec *s)
{
    int rc = CS_OK, door, n = 1;
    const double end = end_of(s->timeout);

    CS_TRY(listen_at(s, &door));
    while (n < g->n && rc == CS_OK) {
        rc = wait_ready(door, POLLIN, end);
        const int fd = rc == CS_OK ? accept4(door, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0)
            rc = admit(g, fd);
        n = 1;
        for (int r = 1; r < g->n; r++)
            n += g->fd[r] >= 0;
    }
    if (rc == CS_EOF)
        rc = fail_missing(g, s);
    (void)close(door);
out:
    return rc;
}

static int try_connect(const cs_group_spec *s, int *fd)
{
    struct addrinfo *list;
    const int rc = resolve(s, &list);

    *fd = -1;
    if (rc != CS_OK)
        return rc;
    for (const struct addrinfo *a = list; a != NULL && *fd < 0; a = a->ai_next) {
        *fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (*fd >= 0 && connect(*fd, a->ai_addr, a->ai_addrlen) != 0) {
            (void)close(*fd);
            *fd = -1;
        }
    }
    freeaddrinfo(list);
    return CS_OK;
}

/* Rank 0 may start later than others: they knock until it opens. */
static int knock(cs_group *g, const cs_group_spec *s)
{
    const struct timespec pause = { 0, POLL_MS * 1000 * 1000 };
    const double end = end_of(s->timeout);
    struct hello h = { .rank = g->rank, .n = g->n };
    int rc = CS_OK, fd = -1;

    memcpy(h.magic, hello_magic, sizeof h.magic);
    for (;;) {
        CS_TRY(try_connect(s, &fd));
        if (fd >= 0)
            break;
        if (cs_signal_caught() != 0)
            return CS_ECANCEL;
        if (end > 0 && now_s() > end)
            return cs_fail(CS_EIO, "rank %d could not reach rank 0 at '%s', port %d, within %.0f "
                           "seconds", g->rank, s->host, s->port, s->timeout);
        (void)nanosleep(&pause, NULL);
    }
    set_up(fd);
    g->fd[0] = fd;
    rc = put_bytes(fd, &h, sizeof h, s->timeout);
    if (rc == CS_EIO || rc == CS_EOF)
        rc = fail_gone(g, 0);
out:
    return rc;
}

int cs_group_join(const cs_group_spec *s, cs_group **out)
{
    int rc = CS_OK;
    cs_group *g = new_group(s->rank, s->n, s->timeout);

    *out = NULL;
    g->local = s->local;
    if (s->n > 1)
        CS_TRY(s->rank == 0 ? take_in(g, s) : knock(g, s));
    /* Whoever was let in waits here for the others, or hears why not. */
    CS_TRY(cs_group_meet(g));
    *out = g;
    g = NULL;
out:
    cs_group_leave(g, rc);
    return rc;
}

int cs_group_here(int n, double timeout, cs_group **out)
{
    for (int r = 0; r < n; r++)
        out[r] = new_group(r, n, timeout);
    for (int r = 1; r < n; r++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
            const int error = errno;
            for (int k = 0; k < n; k++)
                cs_group_leave(out[k], CS_OK);
            return cs_fail(CS_EIO, "cannot connect %d threads: %s", n, strerror(error));
        }
        out[0]->fd[r] = pair[0];
        out[r]->fd[0] = pair[1];
    }
    return CS_OK;
}
