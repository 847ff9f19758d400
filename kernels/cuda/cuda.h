/* cuda.h - interface of the CUDA backend. */
#ifndef CS_KERNELS_CUDA_CUDA_H
#define CS_KERNELS_CUDA_CUDA_H

#include "kernels/backend.h"

/** cs_cuda_count - number of usable devices; 0 with the reason in `why` (static text) */
int cs_cuda_count(const char **why);

/** cs_cuda_reducer - version of a usable NCCL, as from ncclGetVersion(); 0 with the reason in `why`
 * (valid until the next dlopen) */
int cs_cuda_reducer(const char **why);
extern const cs_reduce cs_cuda_reduce;

/**
 * cs_cuda_open - fill a backend's table for one device
 *
 * device   its number, from 0
 * Returns  CS_OK, or CS_EDEVICE with a message (no driver, no such device, no memory)
 * Thread   a device's calls come from one thread at a time
 */
int cs_cuda_open(cs_backend *be, int device) CS_MUST_CHECK;
void cs_cuda_close(cs_backend *be);
/** cs_cuda_multiprocessors - of the device: sizes at which kernels change follow from it */
int32_t cs_cuda_multiprocessors(const cs_backend *be);
/** cs_cuda_shared_bytes - shared memory of a block, at most: limits the shapes of fused kernels */
size_t cs_cuda_shared_bytes(const cs_backend *be);
/** cs_cuda_compute_in - see cs_backend_compute_in(); CS_EUSAGE for GPUs older than sm_80 */
int cs_cuda_compute_in(cs_backend *be, cs_precision p) CS_MUST_CHECK;

#endif
