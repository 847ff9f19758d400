/* nccl.cuh - NCCL, loaded for training with several ranks.
 *
 * DESIGN. The functions used are declared here as in nccl.h since version 2.14, so that building
 * does not need NCCL. It is loaded like cuBLAS, for the same reasons. Communicators are
 * non-blocking: after every call a wait also checks that all ranks are alive.
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
       CS_NCCL_MIN = 21400 };              /* version 2.14.0: the first with all of these */

/* Functions used, by NCCL's names without "nccl". */
typedef struct cs_nccl {
    int (*GetVersion)(int *version);
    int (*GetUniqueId)(cs_nccl_id *id);
    int (*CommInitRankConfig)(cs_nccl_comm_ptr *c, int n, cs_nccl_id id, int rank,
                              cs_nccl_config *config);
    int (*AllReduce)(const void *from, void *to, size_t n, int type, int op, cs_nccl_comm_ptr c,
                     cudaStream_t s);
    int (*CommGetAsyncError)(cs_nccl_comm_ptr c, int *e);
    int (*CommAbort)(cs_nccl_comm_ptr c);
    const char *(*GetLastError)(cs_nccl_comm_ptr c);
} cs_nccl;

/** cs_nccl_load - load the library's functions; NULL with the reason in `why` (valid until the next
 * dlopen). Loaded once, never unloaded; the first call must be from one thread */
const cs_nccl *cs_nccl_load(const char **why);

#endif
