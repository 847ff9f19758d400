/* system.c - what Linux and macOS offer under different names. */
#define _GNU_SOURCE              /* pipe2 */
#include "base/system.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

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
