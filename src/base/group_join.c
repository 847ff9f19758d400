/* group_join.c - connect the ranks of a run: rank 0 listens, the others connect. */
#include "base/group_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/system.h"

#ifndef TCP_KEEPIDLE             /* macOS */
#define TCP_KEEPIDLE TCP_KEEPALIVE
#endif

enum { HELLO_S = 10, SILENT_S = 60, MAX_PEERS = 32 };

struct hello { char magic[24]; int32_t rank, n; };
static const char hello_magic[24] = "chordseq " PACKAGE_VERSION;

/* Send small messages at once; detect lost machines. */
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
        return cs_fail(CS_EIO, "cannot resolve host '%s' (MASTER_ADDR): %s", s->host,
                       gai_strerror(e));
    return CS_OK;
}

static void prepare_listener(int fd)
{
    const int one = 1;

    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
#ifdef TCP_DEFER_ACCEPT
    /* Let the system wait for the first byte, for port scanners that send nothing. */
    const int silent = SILENT_S;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silent, sizeof silent);
#endif
}

/* Returns -1 if the connection is gone. The socket is made blocking: on some systems it inherits
 * O_NONBLOCK. */
static int accept_one(int listener)
{
    const int fd = cs_close_on_exec(accept(listener, NULL, NULL));

    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, 0);
    return fd;
}

/* Listen only at rank 0's address, not on every network of the machine. */
static int listen_at(const cs_group_spec *s, int *fd)
{
    struct addrinfo *list;
    int rc = resolve(s, &list), error = 0;

    *fd = -1;
    if (rc != CS_OK)
        return rc;
    for (const struct addrinfo *a = list; a != NULL && *fd < 0; a = a->ai_next) {
        *fd = cs_close_on_exec(socket(a->ai_family, a->ai_socktype, a->ai_protocol));
        if (*fd >= 0)
            prepare_listener(*fd);
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
        return cs_fail(CS_EIO, "port %d of '%s' is in use, perhaps by another run; set "
                       "MASTER_PORT to a free port on all ranks", s->port, s->host);
    return cs_fail(CS_EIO, "rank 0 cannot listen at '%s', port %d: %s; MASTER_ADDR must be the "
                   "host of rank 0", s->host, s->port, strerror(error));
}

/* Accept a peer with a valid greeting; ignore others. */
static int admit(cs_group *g, int fd, const struct hello *h)
{
    const char *why = NULL;
    char text[CS_GROUP_WHY_BYTES];

    if (memcmp(h->magic, hello_magic, strlen("chordseq ")) != 0) {
        (void)close(fd);
        return CS_OK;
    }
    if (memcmp(h->magic, hello_magic, sizeof hello_magic) != 0)
        why = "rank 0 runs another version of chordseq than another rank";
    else if (h->n != g->n)
        why = "ranks disagree on the number of ranks";
    else if (h->rank < 1 || h->rank >= g->n || g->fd[h->rank] >= 0)
        why = "two processes have the same rank number";
    if (why == NULL) {
        set_up(fd);
        g->fd[h->rank] = fd;
        return CS_OK;
    }
    (void)snprintf(text, sizeof text, "%s (rank %d of %d, and rank 0 of %d)", why, (int)h->rank,
                   (int)h->n, g->n);
    cs_group_hang_up(fd, text);
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
    return cs_fail(CS_EIO, "%d of %d ranks, the first of them rank %d, did not connect to '%s', "
                   "port %d, within %.0f seconds", n, g->n, first, s->host, s->port, s->timeout);
}

/* Connections without a complete greeting. They are read concurrently, so a silent one
 * blocks no other. */
struct peer { int fd; size_t n; double end; struct hello hello; };
struct pending { int listener, n; struct peer peer[MAX_PEERS]; };

static int read_greeting(cs_group *g, struct pending *h, int i, bool readable)
{
    struct peer *who = &h->peer[i];
    char *to = (char *)&who->hello + who->n;
    const ssize_t k = readable ? recv(who->fd, to, sizeof who->hello - who->n, MSG_DONTWAIT) : -1;
    const bool leaves = k == 0 || (readable && k < 0 && errno != EAGAIN && errno != EINTR);

    who->n += k > 0 ? (size_t)k : 0;
    const struct peer was = *who;
    if (was.n < sizeof was.hello && !leaves && !cs_group_expired(was.end))
        return CS_OK;
    *who = h->peer[--h->n];
    if (was.n == sizeof was.hello)
        return admit(g, was.fd, &was.hello);
    (void)close(was.fd);
    return CS_OK;
}

static int poll_peers(cs_group *g, struct pending *h)
{
    int rc = CS_OK;
    struct pollfd p[1 + MAX_PEERS] = { { .fd = h->n < MAX_PEERS ? h->listener : -1,
                                         .events = POLLIN } };

    for (int i = 0; i < h->n; i++)
        p[1 + i] = (struct pollfd){ .fd = h->peer[i].fd, .events = POLLIN };
    if (poll(p, 1 + (nfds_t)h->n, CS_GROUP_POLL_MS) < 0 && errno != EINTR)
        return cs_fail(CS_EIO, "cannot wait for another rank: %s", strerror(errno));
    /* From the last: the last entry moves to a removed one's slot. */
    for (int i = h->n - 1; i >= 0; i--)
        CS_TRY(read_greeting(g, h, i, p[1 + i].revents != 0));
    const int fd = p[0].revents != 0 ? accept_one(h->listener) : -1;
    if (fd >= 0)
        h->peer[h->n++] = (struct peer){ .fd = fd, .end = cs_group_deadline(HELLO_S) };
out:
    return rc;
}

static bool is_complete(const cs_group *g)
{
    for (int r = 1; r < g->n; r++)
        if (g->fd[r] < 0)
            return false;
    return true;
}

static int accept_ranks(cs_group *g, const cs_group_spec *s)
{
    int rc;
    struct pending h = { .n = 0 };
    const double end = cs_group_deadline(s->timeout);

    CS_TRY(listen_at(s, &h.listener));
    while (rc == CS_OK && !is_complete(g)) {
        if (cs_signal_caught() != 0)
            rc = CS_ECANCEL;
        else
            rc = cs_group_expired(end) ? fail_missing(g, s) : poll_peers(g, &h);
    }
    for (int i = 0; i < h.n; i++)
        (void)close(h.peer[i].fd);
    (void)close(h.listener);
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
        *fd = cs_close_on_exec(socket(a->ai_family, a->ai_socktype, a->ai_protocol));
        if (*fd >= 0 && connect(*fd, a->ai_addr, a->ai_addrlen) != 0) {
            (void)close(*fd);
            *fd = -1;
        }
    }
    freeaddrinfo(list);
    return CS_OK;
}

/* Rank 0 may start later than others: they retry until it listens. */
static int connect_to_rank0(cs_group *g, const cs_group_spec *s)
{
    const struct timespec pause = { 0, CS_GROUP_POLL_MS * 1000 * 1000 };
    const double end = cs_group_deadline(s->timeout);
    struct hello h = { .rank = g->rank, .n = g->n };
    int rc = CS_OK, fd = -1;

    memcpy(h.magic, hello_magic, sizeof h.magic);
    for (;;) {
        CS_TRY(try_connect(s, &fd));
        if (fd >= 0)
            break;
        if (cs_signal_caught() != 0)
            return CS_ECANCEL;
        if (cs_group_expired(end))
            return cs_fail(CS_EIO, "rank %d could not connect to rank 0 at '%s', port %d, within "
                           "%.0f seconds", g->rank, s->host, s->port, s->timeout);
        (void)nanosleep(&pause, NULL);
    }
    set_up(fd);
    g->fd[0] = fd;
    rc = cs_group_write(fd, &h, sizeof h, s->timeout, false);
    if (rc == CS_EIO || rc == CS_EOF)
        rc = cs_group_gone(g, 0);
out:
    return rc;
}

int cs_group_join(const cs_group_spec *s, cs_group **out)
{
    int rc = CS_OK;
    cs_group *g = cs_group_new(s->rank, s->n, s->timeout);

    *out = NULL;
    g->local = s->local;
    if (s->n > 1)
        CS_TRY(s->rank == 0 ? accept_ranks(g, s) : connect_to_rank0(g, s));
    /* Accepted ranks wait here for the others, or receive the error. */
    CS_TRY(cs_group_barrier(g));
    *out = g;
    g = NULL;
out:
    cs_group_finalize(g, rc);
    return rc;
}

