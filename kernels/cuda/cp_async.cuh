/* cp_async.cuh - asynchronous copies from global to shared memory.
 *
 * DESIGN. cp.async of PTX (sm_80 and later), 16 or 8 bytes at a time, the former bypassing L1. A
 * thread waits for its own copies; other threads see them after the next barrier.
 */
#ifndef CS_KERNELS_CUDA_CP_ASYNC_H
#define CS_KERNELS_CUDA_CP_ASYNC_H

#include "kernels/cuda/device.cuh"

#ifdef CS_HOST_ASYNC
__device__ static inline void cs_cp_async_16(uint4 *shared, const uint4 *from)
{
    cs_host_cp_async_16(shared, from);
}

__device__ static inline void cs_cp_async_8(uint2 *shared, const uint2 *from)
{
    cs_host_cp_async_8(shared, from);
}

__device__ static inline void cs_cp_async_wait_all(void) { cs_host_cp_async_wait_all(); }
#else
/** cs_cp_async_16 - issue the copy *shared = *from; complete after cs_cp_async_wait_all() */
__device__ static inline void cs_cp_async_16(uint4 *shared, const uint4 *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(from) : "memory");
#else
    (void)shared, (void)from;
    __trap();                    /* cs_cuda_compute_in() rejects such a device */
#endif
}

/** cs_cp_async_8 - the same with 8 bytes */
__device__ static inline void cs_cp_async_8(uint2 *shared, const uint2 *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;"
                 :: "r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(from) : "memory");
#else
    (void)shared, (void)from;
    __trap();
#endif
}

__device__ static inline void cs_cp_async_wait_all(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#else
    __trap();
#endif
}
#endif

#endif
