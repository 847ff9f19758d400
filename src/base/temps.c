/*
 * temps.c - the names of unfinished files, and the signals and exits that remove them.
 *
 * DESIGN
 * The names are in a fixed table of atomic pointers. Removing a pointer takes ownership:
 * cs_temps_drop() frees it, the handler of a second signal unlinks the file. Nothing else is safe
 * in a handler. The first signal only sets a flag and wakes pollers, and the program ends
 * regularly. An exit, which any thread may cause, keeps others from making more files until the
 * process is gone.
 */
#include "base/temps.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system.h"

enum { MAX_TEMPS = 64 };

static _Atomic(char *) temps[MAX_TEMPS];
static atomic_int caught;
static pid_t owner;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static int wake_read = -1, wake_write = -1; /* the ends of a pipe, which holds a byte after a
                                             * signal, and one per cs_waits_cancel() */
static atomic_int n_cancel;                 /* those bytes */

static void remove_temps(bool may_free)
{
    /* A forked child that exits must not take its parent's files with it. */
    if (getpid() != owner)
        return;
    for (int i = 0; i < MAX_TEMPS; i++) {
        char *temp = atomic_exchange(&temps[i], NULL);
        if (temp != NULL)
            (void)unlink(temp);
        if (may_free)
            free(temp);
    }
}

static void on_exit_remove_temps(void)
{
    if (getpid() != owner)
        return;
    cs_temps_lock();             /* never unlocked */
    remove_temps(true);
}

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
    remove_temps(false);
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
    static bool registered;
    int end[2];

    owner = getpid();
    if (wake_read < 0 && cs_system_pipe(end) == 0) {
        wake_read = end[0];
        wake_write = end[1];
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    catch_signal(SIGHUP);
    if (!registered)
        registered = atexit(on_exit_remove_temps) == 0;
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

void cs_temps_lock(void)
{
    CS_BUG(pthread_mutex_lock(&making) != 0);
}

void cs_temps_unlock(void)
{
    CS_BUG(pthread_mutex_unlock(&making) != 0);
}

int cs_temps_add(char *temp)
{
    for (int i = 0; i < MAX_TEMPS; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&temps[i], &none, temp))
            return i;
    }
    free(temp);                  /* a 65th file is only removed by cs_outfile_discard() */
    return -1;
}

void cs_temps_drop(int slot)
{
    if (slot >= 0)
        free(atomic_exchange(&temps[slot], NULL));
}
