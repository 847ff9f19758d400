/*
 * kill_at.c - send a signal to the program after a number of file operations.
 *
 * It is preloaded (LD_PRELOAD). KILL_AT="SIGNAL JOURNALS SYNCS" sends the signal after so many
 * journals of --resume have been renamed into place, and then so many files have been synced. With
 * SYNCS of 0 outputs and journal agree, else some outputs are ahead. With JOURNALS of 0 files are
 * counted from the start. SYNCS of -N: folders instead of files.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int sig, n_journal, n_sync;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("KILL_AT");

    if (!at || sscanf(at, "%d %d %d", &sig, &n_journal, &n_sync) != 3)
        abort();
}

/* Reported, so that a test detects a run that ended before. */
static void raise_it(void)
{
    static const char message[] = "kill_at: now\n";

    if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
        abort();
    (void)kill(getpid(), sig);
}

/* The real functions: ISO C has no way from a pointer to an object to one to a function. */
static void find(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        abort();
    memcpy(function, &found, sizeof found);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *);
    const size_t n = strlen(to);

    find("rename", &real);
    const int rc = real(from, to);
    if (n > 7 && strcmp(to + n - 7, ".resume") == 0 && --n_journal == 0 && n_sync == 0)
        raise_it();
    return rc;
}

int fsync(int fd)
{
    int (*real)(int);
    struct stat st;

    find("fsync", &real);
    const int rc = real(fd);
    const bool folder = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    if (n_journal <= 0 && n_sync != 0 && folder == (n_sync < 0)) {
        n_sync += folder ? 1 : -1;
        if (n_sync == 0)
            raise_it();
    }
    return rc;
}
