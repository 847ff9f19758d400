/* managed.c - device memory that host code can access, for tests that inspect it.
 *
 * The host must not access it while kernels run: CHORDSEQ_SYNC=1 ensures that.
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
