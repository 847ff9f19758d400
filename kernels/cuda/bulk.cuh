/* bulk.cuh - bulk copies from global to shared memory, and the mbarriers that count their bytes.
 *
 * DESIGN. cp.async.bulk and mbarrier of PTX, sm_90 and later. An mbarrier is 8 bytes of shared
 * memory. A phase ends after `count` arrivals and the bytes that they expected. Phases alternate in
 * parity, from 0 on; before phase 0 a wait for parity 1 returns at once. After the wait for a phase
 * a thread sees its copies, and writes that came before its arrivals.
 */
#ifndef CS_KERNELS_CUDA_BULK_H
#define CS_KERNELS_CUDA_BULK_H

#include "kernels/cuda/device.cuh"

#ifdef CS_HOST_BULK
__device__ static inline void cs_mbarrier_init(uint64_t *bar, int count)
{
    cs_host_mbarrier_init(bar, count);
}
__device__ static inline void cs_fence_proxy_async(void) {}
__device__ static inline void cs_mbarrier_arrive(uint64_t *bar) { cs_host_mbarrier_arrive(bar, 0); }
__device__ static inline void cs_mbarrier_expect_tx(uint64_t *bar, int32_t n_bytes)
{
    cs_host_mbarrier_arrive(bar, n_bytes);
}
__device__ static inline void cs_mbarrier_wait(uint64_t *bar, int parity)
{
    cs_host_mbarrier_wait(bar, parity);
}
__device__ static inline void cs_bulk_copy(uint4 *shared, const uint4 *from, int32_t n_bytes,
                                           uint64_t *bar)
{
    cs_host_bulk_copy(shared, from, n_bytes, bar);
}
#else
__device__ static inline uint32_t cs_shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/** cs_mbarrier_init - by one thread; count: arrivals per phase */
__device__ static inline void cs_mbarrier_init(uint64_t *bar, int count)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(cs_shared_address(bar)), "r"(count) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
    (void)bar, (void)count;
    __trap();
#endif
}

/** cs_fence_proxy_async - order this thread's accesses to shared memory and inits of mbarriers
 * before bulk copies and wgmma that other threads issue later; to be followed by __syncthreads(),
 * or by cs_slots_release() of a slot that was read by ordinary loads */
__device__ static inline void cs_fence_proxy_async(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
    __trap();
#endif
}

/** cs_mbarrier_arrive - one arrival */
__device__ static inline void cs_mbarrier_arrive(uint64_t *bar)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :: "r"(cs_shared_address(bar)) : "memory");
#else
    (void)bar;
    __trap();
#endif
}

/** cs_mbarrier_expect_tx - one arrival, and n_bytes of bulk copies to expect */
__device__ static inline void cs_mbarrier_expect_tx(uint64_t *bar, int32_t n_bytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(cs_shared_address(bar)), "r"(n_bytes) : "memory");
#else
    (void)bar, (void)n_bytes;
    __trap();
#endif
}

/** cs_mbarrier_wait - wait until the phase of this parity has ended */
__device__ static inline void cs_mbarrier_wait(uint64_t *bar, int parity)
{
#if __CUDA_ARCH__ >= 900
    uint32_t done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done) : "r"(cs_shared_address(bar)), "r"(parity) : "memory");
#else
    (void)bar, (void)parity;
    __trap();
#endif
}

/** cs_bulk_copy - issue a copy of n_bytes, a multiple of 16, whose bytes `bar` counts */
__device__ static inline void cs_bulk_copy(uint4 *shared, const uint4 *from, int32_t n_bytes,
                                           uint64_t *bar)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :: "r"(cs_shared_address(shared)), "l"(from), "r"(n_bytes),
                    "r"(cs_shared_address(bar)) : "memory");
#else
    (void)shared, (void)from, (void)n_bytes, (void)bar;
    __trap();
#endif
}
#endif

/* ---- circular buffer of a producer and consumers ----------------------------------------- */

/* mbarriers of the slots of a circular buffer in shared memory, and one side's position in it. */
struct cs_slots {
    uint64_t *full, *empty;      /* [n] each: copies are complete; consumers have read the slot */
    int32_t   n, slot;
    int       parity;            /* of the slot's phase */
};

/** cs_slots_make - n slots for consumers, read by n_warp warps each; bars: [2 n], initialised by
 * the thread with `init`. To be followed by cs_fence_proxy_async() and __syncthreads() */
__device__ static inline cs_slots cs_slots_make(uint64_t *bars, int32_t n, int n_warp, bool init)
{
    for (int32_t s = 0; init && s < n; s++) {
        cs_mbarrier_init(&bars[s], 1);
        cs_mbarrier_init(&bars[n + s], n_warp);
    }
    return { bars, bars + n, n, 0, 0 };
}

/** cs_slots_producer - the slots for the producer: all are empty */
__device__ static inline void cs_slots_producer(cs_slots &f) { f.parity = 1; }

__device__ static inline void cs_slots_next(cs_slots &f)
{
    if (++f.slot == f.n) {
        f.slot = 0;
        f.parity ^= 1;
    }
}

/** cs_slots_wait_full - consumer: wait for the copies to the slot */
__device__ static inline void cs_slots_wait_full(const cs_slots &f)
{
    cs_mbarrier_wait(&f.full[f.slot], f.parity);
}

/** cs_slots_wait_empty - producer: wait until consumers have released the slot */
__device__ static inline void cs_slots_wait_empty(const cs_slots &f)
{
    cs_mbarrier_wait(&f.empty[f.slot], f.parity);
}

/** cs_slots_release - consumer: release the slot after all lanes of the warp have read it */
__device__ static inline void cs_slots_release(cs_slots &f)
{
    if (threadIdx.x % CS_WARP == 0)
        cs_mbarrier_arrive(&f.empty[f.slot]);
    cs_slots_next(f);
}

#endif
