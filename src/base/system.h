/* system.h - functions with different names on Linux and macOS. */
#ifndef CS_BASE_SYSTEM_H
#define CS_BASE_SYSTEM_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/** cs_close_on_exec - mark a descriptor; returns it, also the -1 of a call that failed */
int cs_close_on_exec(int fd);
/** cs_system_pipe - pipe() with both ends closed on exec; 0, or -1 with errno */
int cs_system_pipe(int end[2]);
/** cs_system_program - path of the running program in buf, without '\0'; its length, or -1 */
ssize_t cs_system_program(char *buf, size_t n_buf);
/**
 * cs_run_with_large_stack - run(argc, argv), and what it returns, on a stack of 2 MB or more
 *
 * Threads that are started later have such stacks, too. glibc takes the shell's limit (ulimit -s)
 * for both, musl 128 kB for threads, and matrix products need 100 kB.
 */
int cs_run_with_large_stack(int (*run)(int argc, char **argv), int argc, char **argv);

/** cs_mtime - when a file was last written */
static inline struct timespec cs_mtime(const struct stat *st)
{
#ifdef __APPLE__
    return st->st_mtimespec;
#else
    return st->st_mtim;
#endif
}

#endif
