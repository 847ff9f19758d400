/* mapped.c - memory that device and host share, for tests that inspect what the device computed.
 *
 * It is pinned memory of the host, mapped into the device: slower than the device's own, but there
 * everywhere, unlike managed memory, which a GPU of a virtual machine can lack. The host must not
 * access it while kernels run: CHORDSEQ_SYNC=1 ensures that.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "kernels/backend.h"

void mapped_memory(cs_backend *be);

static void *mapped_alloc(cs_backend *be, size_t n_bytes)
{
    void *p = NULL;
    (void)be;
    const cudaError_t e = cudaHostAlloc(&p, n_bytes ? n_bytes : 1, cudaHostAllocMapped);
    if (e != cudaSuccess)
        fprintf(stderr, "cudaHostAlloc: %s\n", cudaGetErrorString(e));
    return e == cudaSuccess ? p : NULL;
}

static void mapped_dealloc(cs_backend *be, void *p)
{
    (void)be;
    (void)cudaFreeHost(p);
}

void mapped_memory(cs_backend *be)
{
    be->op.alloc = mapped_alloc;
    be->op.dealloc = mapped_dealloc;
}
