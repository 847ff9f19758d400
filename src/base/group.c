/* group.c - communication between the ranks of a run. */
#define _GNU_SOURCE              /* POLLRDHUP */

#include "base/group_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/signals.h"

/* Seconds until forked ranks are killed; interval of the check. */
enum { REAP_S = 3, NAP_NS = 5 * 1000 * 1000 };
enum { LAST_S = 10 };            /* grace period for last messages of and to other ranks */

/* Header of every message. All ranks are the same program with the same byte order, checked on
 * connecting: numbers are sent as in memory. */
enum { DATA = 0x61746164, BYE = 0x21657962 };
struct head { uint32_t kind, pad; uint64_t n_bytes; };

cs_group *cs_group_new(int rank, int n, double timeout)
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
    char why[CS_GROUP_WHY_BYTES];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    g->lost = true;
    return cs_fail(CS_EIO, "%s", why);
}

/* Wait until the socket is ready, or `end` has passed (CS_EOF; 0: never). A signal ends the wait
 * with CS_ECANCEL, or, if not allowed, shortens it. */
static int wait_ready(int fd, short what, double end, bool may_end)
{
    struct pollfd p = { .fd = fd, .events = what };
    double last = 0;

    for (;;) {
        const bool caught = cs_signal_caught() != 0;
        if (caught && may_end)
            return CS_ECANCEL;
        if (caught && last <= 0)
            last = cs_group_deadline(LAST_S);
        const int n = poll(&p, 1, CS_GROUP_POLL_MS);
        if (n > 0)
            return CS_OK;
        if (n < 0 && errno != EINTR)
            return cs_fail(CS_EIO, "cannot wait for another rank: %s", strerror(errno));
        if (cs_group_expired(end) || cs_group_expired(last))
            return CS_EOF;
    }
}

double cs_group_deadline(double seconds)
{
    return seconds > 0 ? cs_now_s() + seconds : 0;
}

bool cs_group_expired(double end)
{
    return end > 0 && cs_now_s() > end;
}

int cs_group_write(int fd, const void *p, size_t n, double seconds, bool begun)
{
    const double end = cs_group_deadline(seconds);
    const char *from = p;

    while (n > 0) {
        int rc = wait_ready(fd, POLLOUT, end, !begun);
        if (rc != CS_OK)
            return rc;
        const ssize_t k = send(fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return CS_EIO;
        begun = begun || k > 0;
        from += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return CS_OK;
}

/* As cs_group_write(), but a signal ends it at once: a disconnecting rank reads no more. */
static int get_bytes(int fd, void *p, size_t n, double seconds)
{
    const double end = cs_group_deadline(seconds);
    char *to = p;

    while (n > 0) {
        int rc = wait_ready(fd, POLLIN, end, true);
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

void cs_group_hang_up(int fd, const char *why)
{
    const size_t n = strlen(why) < CS_GROUP_WHY_BYTES ? strlen(why) : CS_GROUP_WHY_BYTES - 1;
    const struct head h = { BYE, 0, n };
    char text[sizeof h + CS_GROUP_WHY_BYTES];

    memcpy(text, &h, sizeof h);
    memcpy(text + sizeof h, why, n);
    /* It fits unless a long message is unread; the wait for a slow reader is short. */
    struct pollfd pfd = { .fd = fd, .events = POLLOUT };
    (void)poll(&pfd, 1, LAST_S * 1000);
    (void)send(fd, text, sizeof h + n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int cs_group_gone(cs_group *g, int rank)
{
    return fail_lost(g, "rank %d is gone: it was killed, or its machine or the network failed",
                     rank);
}

/* The other side's last message before disconnecting. */
static int read_disconnect(cs_group *g, int from, size_t n)
{
    char why[CS_GROUP_WHY_BYTES];

    if (n >= sizeof why || get_bytes(g->fd[from], why, n, LAST_S) != CS_OK)
        return cs_group_gone(g, from);
    why[n] = '\0';
    return fail_lost(g, "%s", why);
}

static int fail_late(cs_group *g, int rank)
{
    return fail_lost(g, "rank %d has been silent for %.0f seconds, the limit set by "
                     "--ranks-timeout", rank, g->timeout);
}

int cs_group_recv(cs_group *g, int from, void *p, size_t n)
{
    struct head h;
    int rc = get_bytes(g->fd[from], &h, sizeof h, g->timeout);

    if (rc == CS_OK && h.kind == BYE)
        return read_disconnect(g, from, (size_t)h.n_bytes);
    if (rc == CS_OK && (h.kind != DATA || h.n_bytes != n))
        return fail_lost(g, "rank %d is at a different point of the run than rank %d", from,
                         g->rank);
    if (rc == CS_OK)
        rc = get_bytes(g->fd[from], p, n, g->timeout);
    if (rc == CS_EOF)
        return fail_late(g, from);
    return rc == CS_EIO ? cs_group_gone(g, from) : rc;
}

/* The other side's last message, if any, has the reason why sending failed. */
static int fail_send(cs_group *g, int to)
{
    struct head h;
    char skipped[4096];

    while (get_bytes(g->fd[to], &h, sizeof h, LAST_S) == CS_OK) {
        if (h.kind == BYE)
            return read_disconnect(g, to, (size_t)h.n_bytes);
        for (uint64_t n = h.n_bytes, k; n > 0; n -= k) {
            k = n < sizeof skipped ? n : sizeof skipped;
            if (get_bytes(g->fd[to], skipped, (size_t)k, LAST_S) != CS_OK)
                return cs_group_gone(g, to);
        }
    }
    return cs_group_gone(g, to);
}

/* Timeout within a message: any further bytes would be taken for the rest of it. */
static int group_cut(cs_group *g, int to)
{
    (void)close(g->fd[to]);
    g->fd[to] = -1;
    return cs_signal_caught() != 0 ? CS_ECANCEL : fail_late(g, to);
}

int cs_group_send(cs_group *g, int to, const void *p, size_t n)
{
    const struct head h = { DATA, 0, n };
    int rc = cs_group_write(g->fd[to], &h, sizeof h, g->timeout, false);

    if (rc == CS_OK)
        rc = cs_group_write(g->fd[to], p, n, g->timeout, true);
    if (rc == CS_EOF)
        return group_cut(g, to);
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

int cs_group_broadcast(cs_group *g, void *p, size_t n)
{
    int rc = CS_OK;

    if (g->rank > 0)
        return cs_group_recv(g, 0, p, n);
    for (int r = 1; r < g->n; r++)
        CS_TRY(cs_group_send(g, r, p, n));
out:
    return rc;
}

int cs_group_barrier(cs_group *g)
{
    const int rc = cs_group_gather(g, NULL, 0, NULL);

    return rc == CS_OK ? cs_group_broadcast(g, NULL, 0) : rc;
}

void cs_group_wait(cs_group *g)
{
    g->end = cs_group_deadline(g->timeout);
}

/* macOS lacks POLLRDHUP, but reports POLLHUP without request. */
#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

int cs_group_check(cs_group *g)
{
    if (g->end > 0 && cs_now_s() > g->end)
        return fail_lost(g, "the ranks' devices have not communicated for %.0f seconds, the "
                         "limit set by --ranks-timeout; are NCCL's ports reachable?", g->timeout);
    if (cs_signal_caught() != 0)
        return CS_ECANCEL;
    for (int r = 0; r < g->n; r++) {
        struct pollfd p = { .fd = g->fd[r], .events = POLLRDHUP };
        if (p.fd >= 0 && poll(&p, 1, 0) > 0)
            return fail_send(g, r);
    }
    return CS_OK;
}

/* pid 0: none */
static void wait_for(pid_t pid, double end)
{
    const struct timespec nap = { 0, NAP_NS };

    while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
        if (cs_group_expired(end))
            (void)kill(pid, SIGKILL);
        (void)nanosleep(&nap, NULL);
    }
}

/* Wait for forked ranks to end, after disconnecting. */
static void reap(cs_group *g)
{
    const double end = cs_group_deadline(REAP_S);

    for (int r = 1; r < g->n && g->child != NULL; r++)
        wait_for(g->child[r], end);
    free(g->child);
    g->child = NULL;
}

void cs_group_finalize(cs_group *g, int rc)
{
    char text[CS_GROUP_WHY_BYTES];
    const char *why = cs_error_message();

    if (g == NULL)
        return;
    /* Forward another rank's message unchanged. */
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
            cs_group_hang_up(g->fd[r], text);
        (void)close(g->fd[r]);
    }
    reap(g);
    free(g->fd);
    free(g);
}
