/* std_streams.c - standard input, output and error: reserve 0 to 2, and check writes to stdout. */
#include "base/std_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The errno of an earlier failed write is lost; poll() still reports the closed pipe. */
static bool reader_gone(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };

    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR) != 0;
}

/* Each is opened the wrong way round: reading stdin or writing stdout is then EBADF, as it was. */
void cs_std_streams_init(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

int cs_stdout_close(void)
{
    bool lost = ferror(stdout) != 0;
    bool gone = false;
    int why = 0;

    errno = 0;
    if (fflush(stdout) != 0) {
        lost = true;
        why = errno;
    }
    if (lost)
        gone = why == EPIPE || reader_gone(STDOUT_FILENO);
    /* Started with stdout closed and nothing written: nothing is lost. */
    if (close(STDOUT_FILENO) != 0 && errno != EBADF && errno != EINTR) {
        lost = true;
        why = errno;
    }
    if (!lost)
        return CS_OK;
    if (gone)
        return CS_ECANCEL;
    return cs_fail(CS_EIO, "cannot write standard output: %s",
                   why != 0 ? strerror(why) : "an earlier write failed");
}
