/*
 * signals.c - signals that end a run, and waits for pipes that they end.
 *
 * DESIGN
 * The first signal only sets a flag and wakes waits through a pipe, and the program ends regularly.
 * A second one removes unfinished files (temps.h) and exits at once.
 */
#include "base/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "base/temps.h"

static atomic_int caught;
static int wake_read = -1, wake_write = -1; /* the ends of a pipe, which holds a byte after a
                                             * signal, and one per cs_waits_cancel() */
static atomic_int n_cancel;                 /* those bytes */

static void on_signal(int sig)
{
    int none = 0;

    if (atomic_compare_exchange_strong(&caught, &none, sig)) {
        const int saved = errno;
        const ssize_t n = write(wake_write, "", 1);
        (void)n;                 /* without the pipe, a signal does not wake poll() */
        errno = saved;
        return;
    }
    cs_temps_unlink();
    _exit(128 + sig);
}

static void catch_signal(int sig)
{
    struct sigaction act, old;

    /* A shell starts background jobs, and nohup its command, with the signal ignored. */
    if (sigaction(sig, NULL, &old) != 0 || old.sa_handler == SIG_IGN)
        return;
    memset(&act, 0, sizeof act);
    act.sa_handler = on_signal;
    (void)sigemptyset(&act.sa_mask);
    (void)sigaction(sig, &act, NULL);
}

void cs_signal_init(void)
{
    int end[2];

    cs_temps_init();
    if (wake_read < 0 && cs_system_pipe(end) == 0) {
        wake_read = end[0];
        wake_write = end[1];
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    catch_signal(SIGHUP);
}

int cs_signal_caught(void)
{
    return atomic_load(&caught);
}

void cs_waits_cancel(void)
{
    ssize_t n = -1;

    if (wake_write < 0)
        return;
    do
        n = write(wake_write, "", 1);
    while (n < 0 && errno == EINTR);
    if (n == 1)
        atomic_fetch_add(&n_cancel, 1);
}

void cs_waits_allow(void)
{
    char byte;
    int n = atomic_load(&n_cancel);

    while (n > 0 && !atomic_compare_exchange_weak(&n_cancel, &n, n - 1))
        continue;
    while (n > 0 && read(wake_read, &byte, 1) < 0 && errno == EINTR)
        continue;
}

int cs_signal_wait(int from, int to)
{
    struct pollfd on[] = { { .fd = from, .events = POLLIN }, { .fd = to },
                           { .fd = wake_read, .events = POLLIN } };

    while (poll(on, sizeof on / sizeof *on, -1) < 0)
        CS_BUG(errno != EINTR && errno != EAGAIN && errno != ENOMEM);
    return on[1].revents == 0 && on[2].revents == 0 ? CS_OK : CS_ECANCEL;
}

int cs_signal_wait_writable(int to)
{
    struct pollfd on[] = { { .fd = to, .events = POLLOUT }, { .fd = wake_read, .events = POLLIN } };

    while (poll(on, sizeof on / sizeof *on, -1) < 0)
        CS_BUG(errno != EINTR && errno != EAGAIN && errno != ENOMEM);
    return on[1].revents == 0 ? CS_OK : CS_ECANCEL;
}
