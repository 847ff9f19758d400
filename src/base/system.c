/* system.c - functions with different names on Linux and macOS. */
#define _GNU_SOURCE              /* pipe2, pthread_setattr_default_np */
#include "base/system.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "base/err.h"

enum { STACK_BYTES = 2 << 20 };

int cs_close_on_exec(int fd)
{
    if (fd >= 0)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

int cs_system_pipe(int end[2])
{
#ifdef __linux__                 /* at once: no thread that forks in between inherits them */
    return pipe2(end, O_CLOEXEC);
#else
    if (pipe(end) != 0)
        return -1;
    (void)cs_close_on_exec(end[0]);
    (void)cs_close_on_exec(end[1]);
    return 0;
#endif
}

ssize_t cs_system_program(char *buf, size_t n_buf)
{
#ifdef __APPLE__
    uint32_t n_max = n_buf > UINT32_MAX ? UINT32_MAX : (uint32_t)n_buf;

    return _NSGetExecutablePath(buf, &n_max) == 0 ? (ssize_t)strlen(buf) : -1;
#else
    const ssize_t n = readlink("/proc/self/exe", buf, n_buf);

    return n > 0 && (size_t)n < n_buf ? n : -1;
#endif
}

/* ---- stacks ---------------------------------------------------------------------------------- */

struct call { int (*run)(int argc, char **argv); int argc; char **argv; int result; };

static void *make_call(void *arg)
{
    struct call *c = arg;

    c->result = c->run(c->argc, c->argv);
    return NULL;
}

/* Of threads without attributes, also those of OpenMP and htslib. */
static void widen_threads(void)
{
#ifdef __linux__
    pthread_attr_t attr;
    size_t n = 0;

    if (pthread_getattr_default_np(&attr) != 0)
        return;
    if (pthread_attr_getstacksize(&attr, &n) == 0 && n < STACK_BYTES
        && pthread_attr_setstacksize(&attr, STACK_BYTES) == 0)
        (void)pthread_setattr_default_np(&attr);
    (void)pthread_attr_destroy(&attr);
#endif
}

int cs_run_with_large_stack(int (*run)(int argc, char **argv), int argc, char **argv)
{
    struct call c = { run, argc, argv, 0 };
    struct rlimit limit;
    pthread_attr_t attr;
    pthread_t thread;
    bool started = false;

    widen_threads();
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_BYTES
        && pthread_attr_init(&attr) == 0) {
        started = pthread_attr_setstacksize(&attr, STACK_BYTES) == 0
            && pthread_create(&thread, &attr, make_call, &c) == 0;
        (void)pthread_attr_destroy(&attr);
    }
    if (started)
        CS_BUG(pthread_join(thread, NULL) != 0);
    else
        (void)make_call(&c);
    return c.result;
}
