/* host.cpp - runs kernels on the processor, a coroutine per thread of a block; see cuda_runtime.h. */
#include "cuda_runtime.h"

#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#include "cublas_v2.h"

enum { WARP = 32, MOST = 1024, STACK_BYTES = 64 << 10 };

dim3 threadIdx, blockIdx, blockDim, gridDim;
size_t cs_host_memory = SIZE_MAX;
int cs_host_fault = cudaSuccess, cs_host_devices = 1, cs_host_capability = 90;

/* ---- blocks ------------------------------------------------------------------------------ */

enum state { READY, AT_BARRIER, AT_SHUFFLE, DONE };

/* A coroutine, made once and used by every launch after. It is entered through its context, and
 * afterwards by longjmp(), which asks nothing of the kernel. */
struct thread {
    jmp_buf    place;
    ucontext_t first;
    bool       begun;
    dim3       index;
    state      at;
    double     value;            /* what it brings to a shuffle */
};

static thread all[MOST];
static jmp_buf scheduler;
static int n_thread, current;
static const std::function<void()> *running;

static void wait_at(state why)
{
    thread *me = &all[current];
    me->at = why;
    if (_setjmp(me->place) == 0)
        _longjmp(scheduler, 1);
}

static void body(void)
{
    for (;;) {
        (*running)();
        wait_at(DONE);
    }
}

void __syncthreads(void)
{
    wait_at(AT_BARRIER);
}

double cs_host_shuffle(double v, int mask)
{
    int me = current;
    all[me].value = v;
    wait_at(AT_SHUFFLE);
    double got = all[me ^ mask].value;
    wait_at(AT_SHUFFLE);         /* nobody brings the next value before all have read this one */
    return got;
}

static void run_thread(int i)
{
    thread *t = &all[i];
    current = i;
    threadIdx = t->index;
    if (_setjmp(scheduler) != 0)
        return;
    if (t->begun)
        _longjmp(t->place, 1);
    t->begun = true;
    getcontext(&t->first);
    t->first.uc_stack.ss_sp = malloc(STACK_BYTES);
    t->first.uc_stack.ss_size = STACK_BYTES;
    makecontext(&t->first, body, 0);
    setcontext(&t->first);
}

/* Let those go on who wait for something that has come: threads from..to-1 all wait for it. */
static bool release(int from, int to, state what)
{
    bool all_there = what == AT_SHUFFLE;     /* on a GPU, lanes that have ended bring nothing */
    int n = 0, n_done = 0;
    for (int i = from; i < to; i++) {
        n += all[i].at == what;
        n_done += all[i].at == DONE;
    }
    if (n == 0 || n + n_done < to - from)
        return false;
    if (all_there && n_done > 0)
        abort();
    for (int i = from; i < to; i++)
        if (all[i].at == what)
            all[i].at = READY;
    return true;
}

static void start(int i)
{
    unsigned x = blockDim.x, xy = x * blockDim.y, k = (unsigned)i;
    all[i].index = dim3(k % x, k / x % blockDim.y, k / xy);
    all[i].at = READY;
}

static void run_block(void)
{
    bool moved = true;
    for (int i = 0; i < n_thread; i++)
        start(i);
    while (moved) {
        moved = false;
        for (int i = 0; i < n_thread; i++)
            if (all[i].at == READY) {
                run_thread(i);
                moved = true;
            }
        for (int w = 0; w < n_thread; w += WARP)
            moved |= release(w, w + WARP < n_thread ? w + WARP : n_thread, AT_SHUFFLE);
        moved |= release(0, n_thread, AT_BARRIER);
    }
    for (int i = 0; i < n_thread; i++)
        if (all[i].at != DONE)
            abort();             /* a barrier that some threads never reach */
}

void cs_host_launch(dim3 grid, dim3 block, const std::function<void()> &kernel)
{
    if (cs_host_fault != cudaSuccess)
        return;
    if (block.x * block.y * block.z > MOST || grid.y > 65535 || grid.z > 65535 || grid.x == 0)
        abort();
    gridDim = grid;
    blockDim = block;
    n_thread = (int)(block.x * block.y * block.z);
    running = &kernel;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = dim3(x, y, z);
                run_block();
            }
}

/* ---- the runtime ------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = cs_host_devices;
    return cs_host_devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int device)
{
    return device >= 0 && device < cs_host_devices ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
    strcpy(p->name, "this processor");
    p->major = cs_host_capability / 10;
    p->minor = cs_host_capability % 10;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = (cudaError_t)cs_host_fault;
    cs_host_fault = cudaSuccess;
    return e;
}

const char *cudaGetErrorString(cudaError_t e)
{
    return e == cudaErrorMemoryAllocation ? "out of memory"
         : e == cudaErrorNoDevice ? "no CUDA-capable device is detected" : "unknown error";
}

/* The size lies before the memory, so that freeing gives it back. */
enum { AHEAD = 256 };

cudaError_t cudaMalloc(void **p, size_t n_bytes)
{
    char *q = n_bytes <= cs_host_memory ? (char *)aligned_alloc(AHEAD, AHEAD
                                              + (n_bytes + AHEAD - 1) / AHEAD * AHEAD) : NULL;
    if (!q)
        return cudaErrorMemoryAllocation;
    memcpy(q, &n_bytes, sizeof n_bytes);
    memset(q + AHEAD, 0xFF, n_bytes);
    cs_host_memory -= n_bytes;
    *p = q + AHEAD;
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    size_t n_bytes;
    if (!p)
        return cudaSuccess;
    memcpy(&n_bytes, (char *)p - AHEAD, sizeof n_bytes);
    cs_host_memory += n_bytes;
    free((char *)p - AHEAD);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    *s = NULL;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, cudaMemcpyKind,
                            cudaStream_t)
{
    memcpy(to, from, n_bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int v, size_t width, size_t height,
                              cudaStream_t)
{
    for (size_t i = 0; i < height; i++)
        memset((char *)to + i * pitch, v, width);
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t)
{
    for (size_t i = 0; i < height; i++)
        memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
    return cudaSuccess;
}

/* ---- cuBLAS ------------------------------------------------------------------------------ */

cublasStatus_t cublasCreate(cublasHandle_t *h)
{
    *h = NULL;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
const char *cublasGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_NOT_INITIALIZED"; }

/* To `bits` bits behind the point, to the nearest, ties to even. */
static double rounded(float v, int bits)
{
    uint32_t u, low = (1u << (23 - bits)) - 1;
    memcpy(&u, &v, sizeof u);
    if (isfinite(v) && low) {
        u += (low >> 1) + (u >> (23 - bits) & 1);
        u &= ~low;
    }
    memcpy(&v, &u, sizeof u);
    return (double)v;
}

/* By columns, as BLAS has it: c (m, n) = alpha op(a) op(b) + beta c */
cublasStatus_t cublasGemmEx_64(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb,
                               int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                               cudaDataType, int64_t lda, const void *b, cudaDataType, int64_t ldb,
                               const void *beta, void *c, cudaDataType, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t)
{
    const float *x = (const float *)a, *y = (const float *)b;
    const float scale = *(const float *)alpha, keep = *(const float *)beta;
    const int bits = compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 10
                   : compute == CUBLAS_COMPUTE_32F_FAST_16BF ? 7 : 23;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += rounded(ta == CUBLAS_OP_N ? x[l * lda + i] : x[i * lda + l], bits)
                     * rounded(tb == CUBLAS_OP_N ? y[j * ldb + l] : y[l * ldb + j], bits);
            float *v = (float *)c + j * ldc + i;
            *v = (float)(scale * sum + (keep != 0 ? (double)(keep * *v) : 0));
        }
    return CUBLAS_STATUS_SUCCESS;
}
