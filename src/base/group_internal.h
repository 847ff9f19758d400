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

/** cs_group_new - an end without connections; free it with cs_group_finalize() */
cs_group *cs_group_new(int rank, int n, double timeout);

/** cs_group_deadline - when so many seconds from now have passed; 0 of 0: never */
double cs_group_deadline(double seconds);
/** cs_group_expired - has that time come? */
bool cs_group_expired(double end);

/**
 * cs_group_write - n bytes to the other side
 *
 * begun    they continue with a message, as do those after the first byte: a signal is not heeded
 *          before it is whole, for a few seconds, because half of one cannot be followed by another
 * Returns  CS_OK; CS_ECANCEL after a signal, nothing having been sent; CS_EOF when the time is up;
 *          CS_EIO: the other side has hung up
 */
int cs_group_write(int fd, const void *p, size_t n, double seconds, bool begun) CS_MUST_CHECK;
/** cs_group_hang_up - why we hang up; it waits up to 10 s for space where the other side reads
 * late */
void cs_group_hang_up(int fd, const char *why);
/** cs_group_reap - wait until forked ranks have ended, which have been hung up on */
void cs_group_reap(cs_group *g);
/** cs_group_gone - the sentence about a rank that has hung up without a word; CS_EIO */
int cs_group_gone(cs_group *g, int rank);

#endif
