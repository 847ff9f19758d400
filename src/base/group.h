/* group.h - the ranks of a run: numbering, connecting, collective operations.
 *
 * DESIGN. A star: every rank has one connection, to rank 0, for the whole run. Rank 0 receives from
 * the others in the order of their numbers, so results do not depend on arrival. A failing rank
 * sends its reason before it disconnects, and rank 0 forwards it; for a killed rank the system
 * closes the connection. So a closed connection signals failure, and no heartbeat is needed. A lost
 * machine is detected by TCP keepalive within about a minute.
 *
 * Messages are atomic: a started one is finished before a signal is handled, since the reason could
 * not follow half a message.
 */
#ifndef CS_BASE_GROUP_H
#define CS_BASE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

typedef struct cs_group cs_group;

/* The rank of this process, and the address of rank 0. */
typedef struct cs_group_spec {
    int    rank, n;
    int    local;                /* its number on this machine; -1: unknown */
    int    port;
    char   host[256];
    double timeout;              /* timeout in seconds for silent ranks; 0: none */
} cs_group_spec;

/**
 * cs_group_env - the rank set in the environment by a launcher
 *
 * The first of these found: torchrun (RANK, WORLD_SIZE, LOCAL_RANK), Open MPI
 * (OMPI_COMM_WORLD_...), MPICH and Intel MPI (PMI_RANK, PMI_SIZE, MPI_LOCALRANKID), Slurm
 * (SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID), others with PMI (PMI_LOCAL_RANK). LOCAL_RANK is used
 * if that lacks the local rank. Rank 0 listens at MASTER_ADDR, optional if all ranks are known to
 * be on one machine, and MASTER_PORT (29500), or the next port if torchrun itself listens there.
 *
 * Returns  CS_OK; CS_EUSAGE if missing or invalid
 */
int cs_group_env(cs_group_spec *out) CS_MUST_CHECK;

/**
 * cs_group_join - connect, and wait for all ranks
 *
 * Returns  CS_OK; CS_EIO: rank 0 cannot listen, a rank did not connect within the timeout, or the
 *          numbers of ranks differ; CS_ECANCEL after a signal
 */
int cs_group_join(const cs_group_spec *spec, cs_group **out) CS_MUST_CHECK;

/** cs_group_of_threads - connections of n ranks that are threads of this process; out[n]. CS_OK or
 * CS_EIO */
int cs_group_of_threads(int n, double timeout, cs_group **out) CS_MUST_CHECK;

/**
 * cs_group_fork - start n ranks on this machine: this process is rank 0, its children the others
 *
 * Call it before opening anything or starting threads; returns in every rank. Children ignore
 * SIGINT, SIGTERM and SIGHUP, and their standard input is empty. They end with rank 0, which waits
 * for them in cs_group_finalize().
 *
 * Returns  CS_OK; CS_EIO
 */
int cs_group_fork(int n, double timeout, cs_group **out) CS_MUST_CHECK;

/** cs_group_rank, cs_group_size - number of this process, from 0, and of all processes */
int cs_group_rank(const cs_group *g);
int cs_group_size(const cs_group *g);
/** cs_group_local - its number among the ranks of this machine; -1: not known */
int cs_group_local(const cs_group *g);

/* All of these: CS_OK; CS_EIO with its message if a rank has failed or is gone; CS_ECANCEL after a
 * signal. One thread at a time per rank. */

/** cs_group_send, cs_group_recv - n bytes between rank 0 and another; both must name the same n */
int cs_group_send(cs_group *g, int to, const void *p, size_t n) CS_MUST_CHECK;
int cs_group_recv(cs_group *g, int from, void *p, size_t n) CS_MUST_CHECK;
/** cs_group_gather - n bytes of every rank, in sequence, into rank 0's `all` (else NULL) */
int cs_group_gather(cs_group *g, const void *p, size_t n, void *all) CS_MUST_CHECK;
/** cs_group_broadcast - the n bytes that rank 0 has, into p of all */
int cs_group_broadcast(cs_group *g, void *p, size_t n) CS_MUST_CHECK;
/** cs_group_barrier - returns after all ranks have called it */
int cs_group_barrier(cs_group *g) CS_MUST_CHECK;

/** cs_group_wait - start of an external wait for other ranks, with its timeout */
void cs_group_wait(cs_group *g);
/** cs_group_check - has a rank disconnected, or the timeout since cs_group_wait() passed? For
 * external waits; returns at once */
int cs_group_check(cs_group *g) CS_MUST_CHECK;
/** cs_group_lost - has a call above found that another rank has ended? */
bool cs_group_lost(const cs_group *g);

/** cs_group_finalize - disconnect; unless rc is CS_OK, first send this thread's message to the
 * others. Rank 0 waits for its child processes. Frees g; accepts NULL */
void cs_group_finalize(cs_group *g, int rc);

#endif
