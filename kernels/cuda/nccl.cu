/* nccl.cu - sums over the GPUs of several ranks. */
#include "kernels/cuda/nccl.cuh"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cuda/device.cuh"

extern "C" {
#include "base/mem.h"
#include "kernels/cuda/cuda.h"
}

enum { POLL_NS = 50 * 1000, POLLS_PER_CHECK = 200 };

/* A backend's membership in a group of ranks (cs_cuda.nccl_rank). */
struct nccl_rank {
    const cs_nccl   *nccl;
    cs_nccl_comm_ptr comm;
    cs_reduce_watch  watch;
};

#define FIND(call)                                                                   \
    do {                                                                             \
        found.call = (decltype(found.call))dlsym(library, "nccl" #call);             \
        if (!found.call)                                                             \
            *why = "libnccl.so.2 is older than 2.14";                                \
        complete = complete && found.call;                                           \
    } while (0)

const cs_nccl *cs_nccl_load(const char **why)
{
    static cs_nccl found;
    static bool complete;
    int version = 0;

    if (complete)
        return &found;
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        *why = dlerror();
        return NULL;
    }
    complete = true;
    FIND(GetVersion);
    FIND(GetUniqueId);
    FIND(CommInitRankConfig);
    FIND(AllReduce);
    FIND(CommGetAsyncError);
    FIND(CommAbort);
    FIND(GetLastError);
    if (complete && (found.GetVersion(&version) != CS_NCCL_OK || version < CS_NCCL_MIN)) {
        *why = "libnccl.so.2 is older than 2.14";
        complete = false;
    }
    return complete ? &found : NULL;
}

int cs_cuda_reducer(const char **why)
{
    const cs_nccl *nccl = cs_nccl_load(why);
    int version = 0;

    if (!nccl || nccl->GetVersion(&version) != CS_NCCL_OK)
        return 0;
    return version;
}

/* ---- waiting ----------------------------------------------------------------------------- */

static int fail_nccl(cs_backend *be, cs_nccl_comm_ptr comm, const cs_nccl *nccl)
{
    const char *why = nccl->GetLastError(comm);
    return cs_fail(CS_EDEVICE, "device %s: NCCL cannot sum over the ranks: %s",
                   cs_cuda_of(be)->label, why && *why ? why : "no reason given");
}

static void sleep_poll(void)
{
    const struct timespec t = { 0, POLL_NS };
    (void)nanosleep(&t, NULL);
}

/* Has the device finished? "Not ready" is recorded as an error until it is read; unread, it would
 * be reported by the next launch. */
static cudaError_t query_stream(cudaStream_t s)
{
    const cudaError_t e = cudaStreamQuery(s);
    if (e == cudaErrorNotReady)
        (void)cudaGetLastError();
    return e;
}

/* Waits for the last call and, with `on_device`, for its work on the device. Checks the other ranks
 * meanwhile: a call never completes if a rank has died. */
static int wait_for(cs_backend *be, const struct nccl_rank *u, bool on_device)
{
    int state = CS_NCCL_OK;

    for (int i = 1;; i++) {
        if (u->nccl->CommGetAsyncError(u->comm, &state) != CS_NCCL_OK)
            return fail_nccl(be, u->comm, u->nccl);
        if (state != CS_NCCL_OK && state != CS_NCCL_IN_PROGRESS)
            return fail_nccl(be, u->comm, u->nccl);
        const cudaError_t e = state == CS_NCCL_OK && on_device
                            ? query_stream(cs_cuda_of(be)->stream) : cudaErrorNotReady;
        if (e != cudaErrorNotReady)
            cs_cuda_record_error(be, e, "sum over ranks");
        if (state == CS_NCCL_OK && (!on_device || e != cudaErrorNotReady))
            return CS_OK;
        int rc = i % POLLS_PER_CHECK == 0 ? u->watch.check(u->watch.arg) : CS_OK;
        if (rc != CS_OK)
            return rc;
        sleep_poll();
    }
}

/* ---- the table --------------------------------------------------------------------------- */

static int reduce_id(cs_backend *be, unsigned char *id)
{
    const char *why = "";
    const cs_nccl *nccl = cs_nccl_load(&why);
    cs_nccl_id new_id;

    if (!nccl || nccl->GetUniqueId(&new_id) != CS_NCCL_OK)
        return cs_fail(CS_EDEVICE, "device %s: NCCL does not start: %s", cs_cuda_of(be)->label,
                       nccl ? nccl->GetLastError(NULL) : why);
    memcpy(id, new_id.byte, sizeof new_id.byte);
    return CS_OK;
}

static void reduce_finalize(cs_backend *be)
{
    cs_cuda *cu = cs_cuda_of(be);
    if (!cu->nccl_rank)
        return;
    /* CommAbort: CommDestroy waits for the other ranks, which may have failed. All work is done
     * here. */
    if (cu->nccl_rank->comm)
        (void)cu->nccl_rank->nccl->CommAbort(cu->nccl_rank->comm);
    free(cu->nccl_rank);
    cu->nccl_rank = NULL;
}

static int reduce_join(cs_backend *be, const unsigned char *id, int rank, int n,
                       cs_reduce_watch watch)
{
    cs_cuda *cu = cs_cuda_of(be);
    const char *why = "";
    const cs_nccl *nccl = cs_nccl_load(&why);
    cs_nccl_config how = { sizeof how, 0xcafebeef, CS_NCCL_MIN, 0 };
    cs_nccl_id new_id;

    if (!nccl)
        return cs_fail(CS_EDEVICE, "device %s: no NCCL: %s", cu->label, why);
    cs_cuda_set_device(be);
    memcpy(new_id.byte, id, sizeof new_id.byte);
    cu->nccl_rank = (struct nccl_rank *)cs_xcalloc(1, sizeof *cu->nccl_rank);
    cu->nccl_rank->nccl = nccl;
    cu->nccl_rank->watch = watch;
    int e = nccl->CommInitRankConfig(&cu->nccl_rank->comm, n, new_id, rank, &how);
    int rc = e == CS_NCCL_OK || e == CS_NCCL_IN_PROGRESS ? wait_for(be, cu->nccl_rank, false)
                                                         : fail_nccl(be, NULL, nccl);
    if (rc != CS_OK)
        reduce_finalize(be);
    return rc;
}

static int reduce_sum(cs_backend *be, cs_real *p, int64_t n)
{
    cs_cuda *cu = cs_cuda_of(be);
    const struct nccl_rank *u = cu->nccl_rank;

    cs_cuda_set_device(be);
    int e = u->nccl->AllReduce(p, p, (size_t)n, CS_NCCL_FLOAT, CS_NCCL_SUM, u->comm, cu->stream);
    int rc = e == CS_NCCL_OK || e == CS_NCCL_IN_PROGRESS ? wait_for(be, u, true)
                                                         : fail_nccl(be, u->comm, u->nccl);
    /* After another rank's failure the work on the stream never ends, so it must not be waited
     * for. */
    if (rc != CS_OK)
        reduce_finalize(be);
    return rc == CS_OK ? be->op.sync(be) : rc;
}

const cs_reduce cs_cuda_reduce = { reduce_id, reduce_join, reduce_sum, reduce_finalize };
