/* device.cuh - helpers of kernels/cuda: launching, elementwise loops, sums.
 *
 * DESIGN. Every op is one or two launches on the backend's stream; nothing waits for the device but
 * download() and sync(). Sums are taken in an order that shapes fix (no atomic additions of reals),
 * so that two runs give identical bits. Reductions add in double: they are bound by memory.
 *
 * The sources need nothing of nvcc but CS_KERNEL_CALL, so that tests/gpu/host can compile them for
 * the CPU and run every kernel, thread by thread, where there is no GPU.
 */
#ifndef CS_KERNELS_CUDA_DEVICE_H
#define CS_KERNELS_CUDA_DEVICE_H

#include <cuda_runtime.h>

extern "C" {
#include "kernels/backend.h"
}
#include "kernels/cuda/blas.cuh"

#ifndef CS_KERNEL_CALL
#define CS_KERNEL_CALL(kernel, grid, block, stream, ...) \
    kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#endif

/* The same with n_bytes of dynamic shared memory, accessed by CS_SHARED_ARRAY. */
#ifndef CS_KERNEL_CALL_SHARED
#define CS_KERNEL_CALL_SHARED(kernel, grid, block, n_bytes, stream, ...) \
    kernel<<<grid, block, n_bytes, stream>>>(__VA_ARGS__)
#define CS_SHARED_ARRAY(type, name) extern __shared__ type name[]
#define CS_UNROLL _Pragma("unroll")
#endif

/* Launch a kernel on the backend's stream; an error is recorded with the op's name. */
#define CS_LAUNCH(be, what, kernel, grid, block, ...)                                \
    do {                                                                             \
        cs_cuda_set_device(be);                                                      \
        CS_KERNEL_CALL(kernel, grid, block, cs_cuda_of(be)->stream, __VA_ARGS__);    \
        cs_cuda_check_launch(be, what);                                              \
    } while (0)

/* A default argument with the caller's name, i.e. the op: for messages. */
#define CS_CALLER const char *what = __builtin_FUNCTION()

enum { CS_WARP = 32, CS_BLOCK = 256,      /* threads per block: 8 warps */
       CS_WARPS = CS_BLOCK / CS_WARP,
       CS_MAX_GRID = 1 << 20,             /* maximum blocks of a grid-stride loop */
       CS_MIN_GRID = 1 << 10 };           /* blocks that fill any GPU */

/* Pinned memory that uploads pass through: a part is written again after its copy has ended. */
enum { CS_RING_PARTS = 4, CS_RING_BYTES = 1 << 20 };
typedef struct cs_cuda_ring {
    char       *at;              /* [CS_RING_PARTS][CS_RING_BYTES] */
    cudaEvent_t copied[CS_RING_PARTS];
    unsigned    next;            /* parts taken so far */
} cs_cuda_ring;

/* State of the CUDA backend (cs_backend.impl). */
typedef struct cs_cuda {
    int            device;
    char           label[96];    /* "cuda:0 (NVIDIA H200)", for messages */
    int            capability;   /* 90: compute capability 9.0 */
    int            n_sm;         /* multiprocessors */
    size_t         shared_bytes; /* maximum per block */
    int64_t        l2_bytes;     /* of the L2 cache */
    bool           has_wgmma;    /* for products of warpgroups (wgmma.cuh) */
    bool           wgmma_backward;           /* CHORDSEQ_WGMMA_BACKWARD=1: backward, too */
    cudaStream_t   stream, copies;           /* copies: for staging buffers */
    cudaEvent_t    sent[CS_STAGING_SLOTS], done[CS_STAGING_SLOTS];
    cs_cuda_ring   ring;         /* of uploads */
    const cs_blas *blas;         /* cuBLAS's calls */
    cublasHandle_t handle;
    double        *scratch;      /* [n_scratch] partial sums of one op */
    size_t         n_scratch;
    struct nccl_rank *nccl_rank; /* membership in a group of ranks, or NULL: nccl.cu */
    bool           capturing;    /* ops are captured into a graph: cu_graph.cu */
    bool           capture_failed;           /* or has an op that cannot be captured */
    bool           wait;         /* CHORDSEQ_SYNC=1: wait after every op, to find a failing one */
    cudaError_t    error;        /* the first error, until sync() reports it */
    const char    *where;        /* the kernel or call of that error */
} cs_cuda;

static inline cs_cuda *cs_cuda_of(cs_backend *be) { return (cs_cuda *)be->impl; }

/** cs_cuda_set_device - select the backend's device in the calling thread, before every call */
void cs_cuda_set_device(cs_backend *be);
/** cs_cuda_record_error - keep the first error with the name of its call; clears CUDA's last
 * error */
void cs_cuda_record_error(cs_backend *be, cudaError_t e, const char *where);
/** cs_cuda_check_launch - after a launch: record its error; waits with CHORDSEQ_SYNC=1 */
void cs_cuda_check_launch(cs_backend *be, const char *where);

/** cs_launch_shared - launch a kernel with n_bytes of dynamic shared memory, also more than the 48
 * KiB that need no attribute; what: the op, for errors */
template <class... P, class... A>
static void cs_launch_shared(cs_backend *be, const char *what, void (*kernel)(P...), dim3 grid,
                             unsigned n_thread, size_t n_bytes, const A &...args)
{
    cs_cuda_set_device(be);
    cs_cuda_record_error(be, cudaFuncSetAttribute(kernel,
                                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                  (int)n_bytes), what);
    CS_KERNEL_CALL_SHARED(kernel, grid, n_thread, n_bytes, cs_cuda_of(be)->stream, args...);
    cs_cuda_check_launch(be, what);
}

/** cs_cuda_abort_capture - is a graph being captured? If so, the capture fails, because the caller
 * reads or waits for the host, and it must not continue */
bool cs_cuda_abort_capture(cs_backend *be);

/** cs_cuda_error - CS_OK, or CS_EDEVICE with a message about the recorded error */
int cs_cuda_error(cs_backend *be);

/** cs_cuda_staging_open - install staging: streams and events of the slots, function pointers */
cudaError_t cs_cuda_staging_open(cs_backend *be);
void cs_cuda_staging_close(cs_backend *be);

/** cs_cuda_graphs - install graphs; not with CHORDSEQ_SYNC=1, which waits after each op */
void cs_cuda_graphs(cs_backend *be);

/* Each sets the pointers of its file, as in kernels/cpu. */
void cs_cuda_dense(cs_ops *op);
void cs_cuda_norm(cs_ops *op);
void cs_cuda_seg(cs_ops *op);
void cs_cuda_pool(cs_ops *op);
void cs_cuda_attn(cs_ops *op);
void cs_cuda_attn_seg(cs_ops *op);
void cs_cuda_linear_attn(cs_ops *op);
void cs_cuda_conv(cs_ops *op);
void cs_cuda_sparse(cs_ops *op);
void cs_cuda_loss(cs_ops *op);
/** cs_cuda_conv_epilogue - convolutions with fused epilogue, in CS_IN_BF16 or CS_IN_TF32 */
void cs_cuda_conv_epilogue(cs_backend *be);
/** cs_cuda_chord - fused ChordMixer blocks, in CS_IN_BF16 */
void cs_cuda_chord(cs_backend *be);
void cs_cuda_chord_train(cs_backend *be);
/** cs_cuda_bf16 - conversion to and from packed bf16, in CS_IN_BF16 */
void cs_cuda_bf16(cs_backend *be);

/* ---- addresses --------------------------------------------------------------------------- */

/** cs_el - element (r, j) of a matrix in device memory */
__device__ static inline cs_real &cs_el(cs_mat m, int64_t r, int64_t j)
{
    return m.p[r * m.ld + j];
}

/* Position of a token: row start + t of segment s, which starts at `start` and has len rows. */
struct cs_token_pos { int64_t start, len, t; int32_t s; };

/** cs_token_pos_at - position of the token at a row (binary search; never an empty segment) */
__device__ static inline cs_token_pos cs_token_pos_at(cs_seg seg, int64_t r)
{
    int32_t lo = 0, hi = seg.n - 1;
    while (lo < hi) {
        int32_t mid = lo + (hi - lo + 1) / 2;
        if (seg.off[mid] <= r)
            lo = mid;
        else
            hi = mid - 1;
    }
    int64_t start = seg.off[lo];
    return { start, seg.off[lo + 1] - start, r - start, lo };
}

/** cs_wrap - i modulo len; |i| may be many times len, but is divided only then: a division of 64
 * bits takes some 100 instructions */
__device__ static inline int64_t cs_wrap(int64_t i, int64_t len)
{
    if (i < 0)
        i += len;
    else if (i >= len)
        i -= len;
    if (i >= 0 && i < len)
        return i;
    i %= len;
    return i < 0 ? i + len : i;
}

/** cs_track_shift - rotation of track i in tokens: 2^(i-1) modulo the length; 0 for i = 0 */
__device__ static inline int64_t cs_track_shift(int32_t i, int64_t len)
{
    const int32_t widest = 62;   /* 2^62 is the largest power of two that fits */
    if (i == 0 || len == 0)
        return 0;
    int64_t s = cs_wrap(INT64_C(1) << (i - 1 < widest ? i - 1 : widest), len);
    for (int32_t k = widest + 1; k < i; k++)
        s = 2 * s < len ? 2 * s : 2 * s - len;
    return s;
}

static inline int64_t cs_div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static inline unsigned cs_grid(int64_t n_block)
{
    const int64_t max = CS_MAX_GRID;
    return (unsigned)(n_block < max ? n_block : max);
}

/** cs_block_copy - copy n words by all threads of a block of CS_BLOCK; ends with a barrier */
__device__ static inline void cs_block_copy(const uint4 *from, uint4 *to, int32_t n)
{
    for (int32_t i = (int32_t)threadIdx.x; i < n; i += CS_BLOCK)
        to[i] = from[i];
    __syncthreads();
}

/* ---- loops ------------------------------------------------------------------------------- */

/* Block shape for a matrix: x along columns, y along rows. */
static inline dim3 cs_shape_of_block(int64_t rows, int32_t cols)
{
    unsigned x = 1, widest = rows < 64 ? CS_BLOCK : CS_WARP;
    while (x < widest && x < (unsigned)cols)
        x *= 2;
    return dim3(x, CS_BLOCK / x);
}

template <class F> static __global__ void cs_each_kernel(F f, int64_t rows, int32_t cols)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.y;
    const int32_t first = (int32_t)(blockIdx.y * blockDim.x + threadIdx.x);
    for (int64_t r = (int64_t)blockIdx.x * blockDim.y + threadIdx.y; r < rows; r += step)
        for (int32_t j = first; j < cols; j += (int32_t)(gridDim.y * blockDim.x))
            f(r, j);
}

/* Grid for a matrix. Few rows do not fill a GPU: their columns are divided among blocks, too. */
static inline dim3 cs_grid_of(int64_t rows, int32_t cols, dim3 block)
{
    const unsigned x = cs_grid(cs_div_up(rows, block.y)), min_y = CS_MIN_GRID / x;
    const unsigned max_y = (unsigned)cs_div_up(cols, block.x);
    return dim3(x, min_y < 1 ? 1 : min_y < max_y ? min_y : max_y);
}

/** cs_each - call f(r, j) for every element, in any order */
template <class F> static void cs_each(cs_backend *be, int64_t rows, int32_t cols, F f, CS_CALLER)
{
    if (rows <= 0 || cols <= 0)
        return;
    const dim3 block = cs_shape_of_block(rows, cols);
    CS_LAUNCH(be, what, cs_each_kernel<F>, cs_grid_of(rows, cols, block), block, f, rows, cols);
}

template <class F>
static __global__ void cs_each_token_kernel(F f, cs_seg seg, int64_t first, int64_t n, int32_t cols)
{
    int64_t step = (int64_t)gridDim.x * blockDim.y;
    for (int64_t r = (int64_t)blockIdx.x * blockDim.y + threadIdx.y; r < n; r += step) {
        cs_token_pos at = cs_token_pos_at(seg, first + r);
        for (int32_t j = (int32_t)threadIdx.x; j < cols; j += (int32_t)blockDim.x)
            f(at, r, j);
    }
}

/** cs_each_token_of - call f(place, r, j) for every element of n rows of segments, from row `first`
 * on, with r from 0 */
template <class F>
static void cs_each_token_of(cs_backend *be, cs_seg seg, int64_t first, int64_t n, int32_t cols,
                             F f, CS_CALLER)
{
    if (n <= 0 || cols <= 0)
        return;
    dim3 block = cs_shape_of_block(n, cols);
    CS_LAUNCH(be, what, cs_each_token_kernel<F>, cs_grid(cs_div_up(n, block.y)), block, f, seg,
              first, n, cols);
}

/** cs_each_token - the same for all rows */
template <class F>
static void cs_each_token(cs_backend *be, cs_seg seg, int32_t cols, F f, CS_CALLER)
{
    cs_each_token_of(be, seg, 0, seg.rows, cols, f, what);
}

/* ---- a warp per row ---------------------------------------------------------------------- */

/** cs_warp_sum, cs_warp_max - reduction over the lanes of a warp, returned to all of them, in fixed
 * order */
__device__ static inline double cs_warp_sum(double v)
{
    for (int m = CS_WARP / 2; m > 0; m /= 2)
        v += __shfl_xor_sync(0xFFFFFFFFu, v, m);
    return v;
}

__device__ static inline double cs_warp_max(double v)
{
    for (int m = CS_WARP / 2; m > 0; m /= 2) {
        double w = __shfl_xor_sync(0xFFFFFFFFu, v, m);
        v = v > w ? v : w;
    }
    return v;
}

template <class F> static __global__ void cs_warp_kernel(F f, int64_t n)
{
    int64_t step = (int64_t)gridDim.x * blockDim.y;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y; i < n; i += step)
        f(i, (int32_t)threadIdx.x);
}

/** cs_each_warp - call f(i, lane) by a whole warp for every i < n */
template <class F> static void cs_each_warp(cs_backend *be, int64_t n, F f, CS_CALLER)
{
    if (n > 0)
        CS_LAUNCH(be, what, cs_warp_kernel<F>, cs_grid(cs_div_up(n, CS_WARPS)),
                  dim3(CS_WARP, CS_WARPS), f, n);
}

#endif
