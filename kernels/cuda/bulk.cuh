/* bulk.cuh - copies of whole ranges from global to shared memory, which a barrier counts.
 *
 * DESIGN. cp.async.bulk and mbarrier of PTX, sm_90 and later. A barrier is 8 bytes of shared memory
 * with phases: a phase ends when `count` arrivals were made and all bytes that these announced have
 * come. Phases alternate in parity, beginning with 0; a new barrier counts as after a phase of
 * parity 1. Who waits for a phase sees what was copied, or written before arrivals, in it.
 */
#ifndef CS_KERNELS_CUDA_BULK_H
#define CS_KERNELS_CUDA_BULK_H

#include "kernels/cuda/device.cuh"

#ifdef CS_HOST_BULK
__device__ static inline void cs_phase_init(uint64_t *bar, int count)
{
    cs_host_phase_init(bar, count);
}
__device__ static inline void cs_phase_publish(void) {}
__device__ static inline void cs_phase_arrive(uint64_t *bar) { cs_host_phase_arrive(bar, 0); }
__device__ static inline void cs_phase_announce(uint64_t *bar, int32_t n_bytes)
{
    cs_host_phase_arrive(bar, n_bytes);
}
__device__ static inline void cs_phase_wait(uint64_t *bar, int parity)
{
    cs_host_phase_wait(bar, parity);
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

/** cs_phase_init - make a barrier, by one thread */
__device__ static inline void cs_phase_init(uint64_t *bar, int count)
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

/** cs_phase_publish - order this thread's reads and writes of shared memory, and barriers that it
 * made, before the copies and products that others start later; before __syncthreads(), or before
 * a slot that was read by ordinary loads is done (cs_slots_done()) */
__device__ static inline void cs_phase_publish(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
    __trap();
#endif
}

/** cs_phase_arrive - one arrival */
__device__ static inline void cs_phase_arrive(uint64_t *bar)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :: "r"(cs_shared_address(bar)) : "memory");
#else
    (void)bar;
    __trap();
#endif
}

/** cs_phase_announce - one arrival, and n_bytes that copies will bring */
__device__ static inline void cs_phase_announce(uint64_t *bar, int32_t n_bytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(cs_shared_address(bar)), "r"(n_bytes) : "memory");
#else
    (void)bar, (void)n_bytes;
    __trap();
#endif
}

/** cs_phase_wait - until the phase of this parity has ended */
__device__ static inline void cs_phase_wait(uint64_t *bar, int parity)
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

/** cs_bulk_copy - start a copy of n_bytes, a multiple of 16, whose arrival `bar` counts */
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

/* ---- slots that are filled and read in turn ---------------------------------------------- */

/* Barriers of slots in shared memory: copies have come to one; its readers are done with it. */
struct cs_slots {
    uint64_t *full, *read;       /* [n] each */
    int32_t   n, slot;
    int       parity;            /* of the slot's phase */
};

/** cs_slots_make - n slots, whose barriers are at `bars`, 2 n of them; the caller with `init` makes
 * these. Each slot is read by n_warp warps. To be followed by cs_phase_publish() and
 * __syncthreads() */
__device__ static inline cs_slots cs_slots_make(uint64_t *bars, int32_t n, int n_warp, bool init)
{
    for (int32_t s = 0; init && s < n; s++) {
        cs_phase_init(&bars[s], 1);
        cs_phase_init(&bars[n + s], n_warp);
    }
    return { bars, bars + n, n, 0, 0 };
}

/** cs_slots_to_fill - these slots for who fills them: all count as read */
__device__ static inline void cs_slots_to_fill(cs_slots &f) { f.parity = 1; }

__device__ static inline void cs_slots_next(cs_slots &f)
{
    if (++f.slot == f.n) {
        f.slot = 0;
        f.parity ^= 1;
    }
}

/** cs_slots_wait - for the copies to the slot */
__device__ static inline void cs_slots_wait(const cs_slots &f)
{
    cs_phase_wait(&f.full[f.slot], f.parity);
}

/** cs_slots_wait_read - for the readers of the slot */
__device__ static inline void cs_slots_wait_read(const cs_slots &f)
{
    cs_phase_wait(&f.read[f.slot], f.parity);
}

/** cs_slots_done - the slot has been read by all lanes of a warp; go to the next one */
__device__ static inline void cs_slots_done(cs_slots &f)
{
    if (threadIdx.x % CS_WARP == 0)
        cs_phase_arrive(&f.read[f.slot]);
    cs_slots_next(f);
}

#endif
