/*
 * temps.c - the names of unfinished files, which signals and exits remove.
 *
 * DESIGN
 * The names are in a fixed table of atomic pointers. Removing a pointer takes ownership:
 * cs_temps_drop() frees it, the handler of a second signal (signals.c) unlinks the file. Nothing
 * else is safe in a handler. An exit, which any thread may cause, keeps others from making more
 * files until the process is gone.
 */
#include "base/temps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"

enum { MAX_TEMPS = 64 };

static _Atomic(char *) temps[MAX_TEMPS];
static pid_t owner;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

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

void cs_temps_unlink(void)
{
    remove_temps(false);
}

static void on_exit_remove_temps(void)
{
    if (getpid() != owner)
        return;
    cs_temps_lock();             /* never unlocked */
    remove_temps(true);
}

void cs_temps_init(void)
{
    static bool registered;

    owner = getpid();
    if (!registered)
        registered = atexit(on_exit_remove_temps) == 0;
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
