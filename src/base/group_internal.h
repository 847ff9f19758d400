/* group_internal.h - connections of one rank, shared by the files group*.c. */
#ifndef CS_BASE_GROUP_INTERNAL_H
#define CS_BASE_GROUP_INTERNAL_H

#include <sys/types.h>

#include "base/group.h"

enum { CS_GROUP_POLL_MS = 100, CS_GROUP_WHY_BYTES = 1024 };

struct cs_group {
    int    rank, n, local;
    double timeout;
    double end;                  /* of a wait elsewhere: see cs_group_wait() */
    int   *fd;                   /* [n] of rank 0, by rank; else only fd[0]; -1: none, or hung up */
    bool   lost;
    pid_t *child;                /* [n] of rank 0: the processes that are the others, if it has
                                  * forked them; else NULL */
};

/** cs_group_new - a group without connections; free it with cs_group_finalize() */
cs_group *cs_group_new(int rank, int n, double timeout);

/** cs_group_deadline - when so many seconds from now have passed; 0 of 0: never */
double cs_group_deadline(double seconds);
/** cs_group_expired - has that time passed? */
bool cs_group_expired(double end);

/**
 * cs_group_write - n bytes to the other side
 *
 * begun    they continue a message: for a few seconds a signal does not interrupt it, as after its
 *          first byte, because no message can follow half a message
 * Returns  CS_OK; CS_ECANCEL after a signal, without sending; CS_EOF on timeout; CS_EIO: the other
 *          side has disconnected
 */
int cs_group_write(int fd, const void *p, size_t n, double seconds, bool begun) CS_MUST_CHECK;
/** cs_group_hang_up - send the reason for disconnecting; waits up to 10 s for a slow reader */
void cs_group_hang_up(int fd, const char *why);
/** cs_group_gone - set the message for a rank that disconnected without a reason; CS_EIO */
int cs_group_gone(cs_group *g, int rank);

#endif
