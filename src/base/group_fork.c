/* group_fork.c - ranks started here: threads of this process, or forked processes.
 *
 * DESIGN. A process forks before it has opened files or started threads, so every rank has its own
 * files and offsets, device and memory. Rank 0 is the original process. It alone handles signals,
 * though a terminal or batch system sends them to all: the others ignore them, and end when it
 * disconnects. They need no cleanup, so slow ones are killed, and none outlives rank 0.
 */
#include "base/group_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system.h"

int cs_group_of_threads(int n, double timeout, cs_group **out)
{
    for (int r = 0; r < n; r++)
        out[r] = cs_group_new(r, n, timeout);
    for (int r = 1; r < n; r++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
            const int error = errno;
            for (int k = 0; k < n; k++)
                cs_group_finalize(out[k], CS_OK);
            return cs_fail(CS_EIO, "cannot connect %d ranks: %s", n, strerror(error));
        }
        out[0]->fd[r] = cs_close_on_exec(pair[0]);
        out[r]->fd[0] = cs_close_on_exec(pair[1]);
    }
    return CS_OK;
}

/* Standard input can be read once: by rank 0. */
static void become_child_rank(pid_t first)
{
    static const int heard[] = { SIGINT, SIGTERM, SIGHUP };
    const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
        (void)signal(heard[i], SIG_IGN);
    if (none < 0 || dup2(none, STDIN_FILENO) < 0)
        (void)close(STDIN_FILENO);
    if (none > STDIN_FILENO)
        (void)close(none);
#ifdef __linux__                 /* elsewhere it ends when it misses rank 0 */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != first)      /* rank 0 died before prctl() */
        _exit(1);
}

int cs_group_fork(int n, double timeout, cs_group **out)
{
    int rc = CS_OK, rank = 0;
    const pid_t first = getpid();
    cs_group **end = cs_xcalloc((size_t)n, sizeof *end);
    pid_t *child = cs_xcalloc((size_t)n, sizeof *child), pid;

    *out = NULL;
    CS_TRY(cs_group_of_threads(n, timeout, end));
    for (int r = 1; r < n && rank == 0 && rc == CS_OK; r++) {
        pid = fork();
        if (pid < 0)
            rc = cs_fail(CS_EIO, "cannot start rank %d of %d: %s", r, n, strerror(errno));
        rank = pid == 0 ? r : 0;
        child[r] = pid;
    }
    if (rank > 0) {
        become_child_rank(first);
    } else {
        end[0]->child = child;
        child = NULL;
    }
    /* A connection ends when its other end is closed everywhere. */
    for (int r = 0; r < n; r++)
        if (r != rank)
            cs_group_finalize(end[r], CS_OK);
    if (rc == CS_OK)
        *out = end[rank];
    else
        cs_group_finalize(end[0], rc);
out:
    free(child);
    free(end);
    return rc;
}
