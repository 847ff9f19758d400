/* group.h - the ranks of a run: numbering, connecting, collective operations.
 *
 * DESIGN. A star: every rank has one connection, to rank 0, for the whole run. Rank 0 takes what
 * the others send in the order of their numbers, so what it makes of it does not depend on who came
 * first. A rank that ends for a reason says it before it hangs up, and rank 0 passes it on; one
 * that is killed just hangs up, which the system tells rank 0. So nobody waits for the dead, and
 * nobody looks for them: whoever waits, waits at a connection. A machine that vanishes is found by
 * the system's own probes, within a minute or so.
 *
 * A message is whole: what has begun is finished before a signal is heeded, since half of one
 * could not be followed by the reason.
 */
#ifndef CS_BASE_GROUP_H
#define CS_BASE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

typedef struct cs_group cs_group;

/* Which rank this process is, and where rank 0 listens. */
typedef struct cs_group_spec {
    int    rank, n;
    int    local;                /* its number among those of this machine; -1: not known */
    int    port;
    char   host[256];
    double timeout;              /* seconds that others may be silent; 0: any number */
} cs_group_spec;

/**
 * cs_group_env - the rank that a launcher has put into the environment
 *
 * Of the first of these that is there: torchrun (RANK, WORLD_SIZE, LOCAL_RANK), Open MPI
 * (OMPI_COMM_WORLD_...), MPICH and Intel MPI (PMI_RANK, PMI_SIZE, MPI_LOCALRANKID), Slurm
 * (SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID), others with PMI (PMI_LOCAL_RANK). Where that does
 * not say which rank of its machine it is, LOCAL_RANK does. Rank 0 listens at MASTER_ADDR, which
 * may be missing where all ranks are known to be on one machine, and MASTER_PORT (29500), or the
 * one after it where torchrun itself listens at that.
 *
 * Returns  CS_OK; CS_EUSAGE when there is none, or what there is makes no sense
 */
int cs_group_env(cs_group_spec *out) CS_MUST_CHECK;

/**
 * cs_group_join - wait until all ranks are there
 *
 * Returns  CS_OK; CS_EIO: rank 0 cannot listen there, somebody did not come within the timeout, or
 *          two disagree about the number of ranks; CS_ECANCEL after a signal
 */
int cs_group_join(const cs_group_spec *spec, cs_group **out) CS_MUST_CHECK;

/** cs_group_of_threads - the ends of n ranks that are threads of this process; out[n]. CS_OK or
 * CS_EIO */
int cs_group_of_threads(int n, double timeout, cs_group **out) CS_MUST_CHECK;

/**
 * cs_group_fork - become n ranks of this machine: this process is rank 0, its children the others
 *
 * To be called before anything is opened and before there are threads; returns in every one of
 * them. Children do not hear SIGINT, SIGTERM and SIGHUP, and their standard input is empty. They
 * end with rank 0, which waits for them in cs_group_finalize().
 *
 * Returns  CS_OK; CS_EIO
 */
int cs_group_fork(int n, double timeout, cs_group **out) CS_MUST_CHECK;

int cs_group_rank(const cs_group *g);
int cs_group_size(const cs_group *g);
/** cs_group_local - its number among the ranks of this machine; -1: not known */
int cs_group_local(const cs_group *g);

/* All of these: CS_OK; CS_EIO when a rank has failed or is gone, with what it said; CS_ECANCEL
 * after a signal. Of one end only one thread at a time. */

/** cs_group_send, cs_group_recv - n bytes between rank 0 and another; both must name the same n */
int cs_group_send(cs_group *g, int to, const void *p, size_t n) CS_MUST_CHECK;
int cs_group_recv(cs_group *g, int from, void *p, size_t n) CS_MUST_CHECK;
/** cs_group_gather - n bytes of every rank, in sequence, into rank 0's `all` (else NULL) */
int cs_group_gather(cs_group *g, const void *p, size_t n, void *all) CS_MUST_CHECK;
/** cs_group_broadcast - the n bytes that rank 0 has, into p of all */
int cs_group_broadcast(cs_group *g, void *p, size_t n) CS_MUST_CHECK;
/** cs_group_barrier - nobody returns before all have called it */
int cs_group_barrier(cs_group *g) CS_MUST_CHECK;

/** cs_group_wait - a wait for the others elsewhere than here begins, and its timeout */
void cs_group_wait(cs_group *g);
/** cs_group_check - has anybody hung up, or the time since cs_group_wait() passed? For waiting
 * elsewhere than here; returns at once */
int cs_group_check(cs_group *g) CS_MUST_CHECK;
/** cs_group_lost - did one of the calls above find that another rank has ended? */
bool cs_group_lost(const cs_group *g);

/** cs_group_finalize - hang up; unless rc is CS_OK the others are told first, with this thread's
 * kept message. Rank 0 waits for those it has forked. Frees g; accepts NULL */
void cs_group_finalize(cs_group *g, int rc);

#endif
