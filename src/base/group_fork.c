/* group_fork.c - ranks that are threads of one process. */
#include "base/group_end.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int cs_group_here(int n, double timeout, cs_group **out)
{
    for (int r = 0; r < n; r++)
        out[r] = cs_group_new(r, n, timeout);
    for (int r = 1; r < n; r++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
            const int error = errno;
            for (int k = 0; k < n; k++)
                cs_group_leave(out[k], CS_OK);
            return cs_fail(CS_EIO, "cannot connect %d threads: %s", n, strerror(error));
        }
        out[0]->fd[r] = pair[0];
        out[r]->fd[0] = pair[1];
    }
    return CS_OK;
}
