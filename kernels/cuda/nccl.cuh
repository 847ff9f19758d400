/* nccl.cuh - NCCL, loaded for training with several ranks.
 *
 * DESIGN. The few calls that we make are declared here as nccl.h has them since version 2.14, so
 * that building needs no NCCL. Loaded like cuBLAS, for the same reasons. Communicators do not
 * block: every call is followed by a wait that also looks whether all ranks are still there.
 */
#ifndef CS_KERNELS_CUDA_NCCL_CUH
#define CS_KERNELS_CUDA_NCCL_CUH

#include <cuda_runtime.h>

extern "C" {
#include "kernels/backend.h"
}

typedef struct cs_nccl_comm *cs_nccl_comm_ptr;
typedef struct cs_nccl_id { char byte[CS_REDUCE_ID]; } cs_nccl_id;
typedef struct cs_nccl_config {
    size_t   size;
    unsigned magic, version;
    int      blocking;
} cs_nccl_config;

enum { CS_NCCL_OK = 0, CS_NCCL_IN_PROGRESS = 7, CS_NCCL_FLOAT = 7, CS_NCCL_SUM = 0,
       CS_NCCL_LEAST = 21400 };            /* version 2.14.0: the first with all this */

/* The calls, by NCCL's own names without "nccl". */
typedef struct cs_nccl {
    int (*GetVersion)(int *version);
    int (*GetUniqueId)(cs_nccl_id *id);
    int (*CommInitRankConfig)(cs_nccl_comm_ptr *c, int n, cs_nccl_id id, int rank,
                              cs_nccl_config *how);
    int (*AllReduce)(const void *from, void *to, size_t n, int type, int op, cs_nccl_comm_ptr c,
                     cudaStream_t s);
    int (*CommGetAsyncError)(cs_nccl_comm_ptr c, int *e);
    int (*CommAbort)(cs_nccl_comm_ptr c);
    const char *(*GetLastError)(cs_nccl_comm_ptr c);
} cs_nccl;

/** cs_nccl_load - the library's calls; NULL with the reason in `why` (valid until the next dlopen).
 * Loaded once, for good; call it first from one thread */
const cs_nccl *cs_nccl_load(const char **why);

#endif
