/* managed.c - device memory that host code may read and write: for tests that look into it.
 *
 * The host must not look while kernels run: with CHORDSEQ_SYNC=1 none ever does.
 */
#include <cuda_runtime_api.h>

#include "kernels/backend.h"

void managed_memory(cs_backend *be);

static void *managed_alloc(cs_backend *be, size_t n_bytes)
{
    void *p = NULL;
    (void)be;
    return cudaMallocManaged(&p, n_bytes ? n_bytes : 1, cudaMemAttachGlobal) == cudaSuccess ? p
                                                                                            : NULL;
}

void managed_memory(cs_backend *be)
{
    be->op.alloc = managed_alloc;
}
