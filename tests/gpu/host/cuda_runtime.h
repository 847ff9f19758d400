/* cuda_runtime.h - the CUDA emulator: the part of CUDA used by kernels/cuda, on the CPU, for tests
 * without a GPU.
 *
 * DESIGN. Found before the real header, it makes the .cu files ordinary C++. A launch runs block
 * after block; the threads of a block are coroutines on one real thread, which stop at barriers and
 * shuffles until the others (of the block, or of the warp) arrive. So index arithmetic, barriers
 * and reductions run as written, slowly; speed and the hardware's rounding are not emulated. The
 * order of blocks, warps and lanes can be chosen and is constrained by barriers and shuffles only:
 * a read that lacks a barrier comes too early in some order. Memory is host memory, NaN at first
 * and followed by a guard page; shared memory likewise. Streams may lag as far as events and waits
 * allow (runtime.cpp), so a missing wait changes results.
 */
#ifndef CS_TESTS_GPU_HOST_CUDA_RUNTIME_H
#define CS_TESTS_GPU_HOST_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
/* Static, because blocks run one after the other. All these variables are in one section, so that
 * they can be overwritten between blocks (except those in templates, with gcc), or thread-local, so
 * that race.cpp recognises them. */
#ifdef CS_HOST_RACE
#define __shared__ static thread_local
#else
#define __shared__ static __attribute__((section("cs_shared")))
#endif

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
#define __launch_bounds__(...)

struct alignas(8) uint2 { uint32_t x, y; };
struct alignas(16) uint4 { uint32_t x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
static inline float4 make_float4(float x, float y, float z, float w) { return { x, y, z, w }; }
static inline uint2 make_uint2(uint32_t x, uint32_t y) { return { x, y }; }
static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return { x, y, z, w };
}

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

typedef struct cs_host_stream *cudaStream_t;
typedef struct cs_host_event *cudaEvent_t;
typedef struct cs_host_graph *cudaGraph_t;
typedef struct cs_host_exec *cudaGraphExec_t;

struct cs_host_range { const char *p; size_t n_bytes; };

/* For race.cpp. The current thread, -1: none; its launch and block, from 1 on; barriers passed by
 * the block; its dynamic shared memory and stack; the launch's kernel and arguments. */
struct cs_host_position {
    uint64_t      grid;
    int64_t       block;
    uint32_t      epoch;
    int32_t       thread;
    cs_host_range shared, stack, kernel, arguments;
};
extern cs_host_position cs_host_current;

/* Shape of a launch; n_bytes: dynamic shared memory. */
struct cs_host_grid { dim3 grid, block; size_t n_bytes; };

/** cs_host_launch - enqueue a kernel; kernel_key: its address, as in cudaFuncSetAttribute() */
void cs_host_launch(const cs_host_grid &g, cudaStream_t s, const void *kernel_key,
                    std::function<void()> kernel);
/** cs_host_run - run a kernel now, for every thread of every block of a grid */
void cs_host_run(const cs_host_grid &g, const std::function<void()> &kernel);

/** cs_host_arguments_are - where the current launch has its kernel's address and arguments */
void cs_host_arguments_are(const void *from, const void *end);

/* Arguments are copied when a kernel is launched. */
template <class... P, class... A>
void cs_host_call(const cs_host_grid &g, cudaStream_t s, void (*kernel)(P...), A &&...a)
{
    std::tuple<std::decay_t<P>...> args(std::forward<A>(a)...);
    cs_host_launch(g, s, (const void *)kernel, [kernel, args] {
        cs_host_arguments_are(&kernel, &args + 1);
        std::apply(kernel, args);
    });
}
#define CS_KERNEL_CALL(kernel, grid, block, stream, ...) \
    cs_host_call({ grid, block, 0 }, stream, kernel, __VA_ARGS__)
#define CS_KERNEL_CALL_SHARED(kernel, grid, block, n_bytes, stream, ...) \
    cs_host_call({ grid, block, n_bytes }, stream, kernel, __VA_ARGS__)

/** cs_host_guarded_shared - address of n_bytes of shared memory that end at the guard page */
void *cs_host_guarded_shared(size_t n_bytes);
/** cs_host_shared - the launch's dynamic shared memory */
void *cs_host_shared(void);
#define CS_SHARED_ARRAY(type, name) type *name = (type *)cs_host_shared()
#define CS_UNROLL

/* At a source position: CS_HOST_WITHOUT=FILE:LINE omits that barrier. */
void cs_host_syncthreads(const char *file, int line);
static inline void __syncwarp(void) {}
#define __syncthreads() cs_host_syncthreads(__FILE__, __LINE__)
/** __trap - end this thread; the launch has failed, see cudaGetLastError() */
void __trap(void);
/** cs_host_shfl_xor, cs_host_shfl - value of lane (own lane ^ mask), or of a given lane */
double cs_host_shfl_xor(double v, int mask);
double cs_host_shfl(double v, int lane);
static inline double __shfl_xor_sync(unsigned, double v, int mask)
{
    return cs_host_shfl_xor(v, mask);
}
template <class T> static inline T __shfl_sync(unsigned, T v, int lane)
{
    return (T)cs_host_shfl((double)v, lane);
}

/** __stcs - *p = v, with a hint for the cache */
template <class T> static inline void __stcs(T *p, T v) { *p = v; }

/* Tensor cores, by the tables in kernels/cuda/mma.cuh. */
#define CS_HOST_MMA
void cs_host_mma(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1);
uint32_t cs_host_bf16(float v);
void cs_host_mma_tf32(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1);
uint32_t cs_host_tf32(float v);

/* kernels/cuda/cp_async.cuh: a copy is made when its thread waits for it. */
#define CS_HOST_ASYNC
void cs_host_cp_async_16(uint4 *to, const uint4 *from);
void cs_host_cp_async_8(uint2 *to, const uint2 *from);
void cs_host_cp_async_wait(const char *file, int line);
#define cs_host_cp_async_wait_all() cs_host_cp_async_wait(__FILE__, __LINE__)
/* kernels/cuda/bulk.cuh: mbarriers, and the bulk copies whose bytes they count. */
#define CS_HOST_BULK
void cs_host_mbarrier_init(uint64_t *bar, int count);
void cs_host_mbarrier_arrive(uint64_t *bar, int32_t n_bytes);
void cs_host_mbarrier_wait(uint64_t *bar, int parity);
void cs_host_bulk_copy(uint4 *to, const uint4 *from, int32_t n_bytes, uint64_t *bar);

/* Atomic, because no other coroutine runs in between; exempt in race.cpp. */
#define CS_ATOMIC __attribute__((no_sanitize("thread")))

CS_ATOMIC static inline int atomicMax(int *p, int v)
{
    int old = *p;
    *p = v > old ? v : old;
    return old;
}

CS_ATOMIC static inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long v)
{
    unsigned long long old = *p;
    *p += v;
    return old;
}

CS_ATOMIC static inline unsigned long long atomicMin(unsigned long long *p, unsigned long long v)
{
    unsigned long long old = *p;
    *p = v < old ? v : old;
    return old;
}

static inline int __float_as_int(float v)
{
    int i;
    memcpy(&i, &v, sizeof i);
    return i;
}

static inline float __int_as_float(int i)
{
    float v;
    memcpy(&v, &i, sizeof v);
    return v;
}

/* ---- for race.cpp ------------------------------------------------------------------------ */

/** cs_host_on_device - whether devices can access it: their memory, or pinned memory of the host */
bool cs_host_on_device(const void *p, size_t n_bytes);
/** cs_host_access - a memory access of the current thread; null without race detection */
void cs_host_access(const void *p, size_t n_bytes, bool writes) __attribute__((weak));
/** cs_host_copy_done - a bulk copy is complete; null without race detection */
void cs_host_copy_done(const void *p, size_t n_bytes) __attribute__((weak));

/* ---- the runtime's calls ----------------------------------------------------------------- */

typedef enum cudaError {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidPitchValue = 12,
    cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101, cudaErrorNoKernelImageForDevice = 209,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600, cudaErrorLaunchFailure = 719, cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901, cudaErrorStreamCaptureWrongThread = 908,
    cudaErrorUnknown = 999
} cudaError_t;
typedef enum cudaMemcpyKind {
    cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice
} cudaMemcpyKind;
typedef struct cudaDeviceProp {
    char   name[256];
    int    major, minor, multiProcessorCount, l2CacheSize;
    size_t sharedMemPerBlockOptin;
} cudaDeviceProp;
typedef enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize } cudaFuncAttribute;
cudaError_t cs_host_set_max_shared(const void *kernel, int n_bytes);
template <class F>
static inline cudaError_t cudaFuncSetAttribute(F kernel, cudaFuncAttribute, int n_bytes)
{
    return cs_host_set_max_shared((const void *)kernel, n_bytes);
}
typedef enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 } cudaStreamCaptureMode;
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };

cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t e);
cudaError_t cudaMemGetInfo(size_t *n_free, size_t *n_total);
cudaError_t cudaMalloc(void **p, size_t n_bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t n_bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamQuery(cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, cudaMemcpyKind kind,
                            cudaStream_t s);
cudaError_t cudaMemsetAsync(void *to, int v, size_t n_bytes, cudaStream_t s);
cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int v, size_t width, size_t height,
                              cudaStream_t s);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t s);
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s);
cudaError_t cudaGraphDestroy(cudaGraph_t g);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e);

/** cs_host_random - a random number below n */
static inline uint64_t cs_host_random(uint64_t *state, uint64_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % n;
}

/** cs_host_enqueue - enqueue work other than a kernel: cuBLAS's product */
void cs_host_enqueue(cudaStream_t s, std::function<void()> work);

/* Settings of tests, from code or the environment (names in runtime.cpp). */
extern "C" {
extern size_t cs_host_memory;    /* bytes per emulated device */
extern int cs_host_fault;        /* error of the next launches; cudaSuccess: none */
extern int cs_host_devices;      /* number of devices */
extern int cs_host_capability;   /* per device: 90 is compute capability 9.0 */
extern int cs_host_min_capability;       /* the lowest capability with kernel code */
extern int cs_host_pageable_access;      /* devices read pageable memory when a copy runs */
extern int cs_host_unified;      /* the host can access memory of devices: the mock of NCCL does */
extern int cs_host_multiprocessors;      /* of each device */
extern int cs_host_l2;           /* bytes of a device's L2 cache */
extern int cs_host_order;        /* of threads, blocks: CS_ORDER_..., or the seed of random ones */
extern int cs_host_lag;          /* how streams lag: CS_LAG_..., or the seed of a random order */
extern long cs_host_fail;        /* number of the cudaMalloc(), cudaStreamBeginCapture() or
                                  * cudaGraphInstantiate() from now that fails; 0: none */
extern long cs_host_2d_calls;    /* cudaMemset2DAsync() and cudaMemcpy2DAsync() so far */
extern long cs_host_skip_wait;   /* number of the event wait from now that is omitted; 0: none */
extern long cs_host_kernel_launches;     /* kernels and products launched outside of graphs */
extern long cs_host_graph_launches;      /* graphs launched */
size_t cs_host_used(void);       /* bytes allocated at present, on all devices */
size_t cs_host_n_graphs(void);       /* graphs, executable or not, at present */
}

enum { CS_ORDER_STEPS = 0,       /* ascending: each warp to its next stop, then all warps again */
       CS_ORDER_BACK = -1,       /* descending: each warp until it has to wait for another one */
       CS_ORDER_AHEAD = -2 };    /* ascending, likewise */

enum { CS_LAG_NEVER = 0,         /* everything runs as early as possible */
       CS_LAG_MAX = -1,          /* everything runs as late as possible */
       CS_LAG_FIRST = -2,        /* the first stream of each device late, the others early */
       CS_LAG_OTHERS = -3 };     /* the reverse */

#endif
