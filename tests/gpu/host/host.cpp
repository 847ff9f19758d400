/* host.cpp - runs kernels on the processor, a coroutine per thread of a block; see cuda_runtime.h. */
#include "cuda_runtime.h"

#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#include <utility>
#include <vector>

#include "cublas_v2.h"

enum { WARP = 32, MOST = 1024, STACK_BYTES = 64 << 10 };

dim3 threadIdx, blockIdx, blockDim, gridDim;

/* ---- blocks ------------------------------------------------------------------------------ */

enum state { READY, AT_BARRIER, AT_SHUFFLE, DONE };

/* A coroutine, made once and used by every launch after. It is entered through its context, and
 * afterwards by longjmp(), which asks nothing of the kernel. */
struct thread {
    jmp_buf    place;
    ucontext_t first;
    void      *stack;
    bool       begun;
    dim3       index;
    state      at;
    double     value;            /* what it brings to a shuffle */
    uint32_t   a[4], b[2];       /* and to a product of the warp */
    std::vector<std::pair<uint4 *, const uint4 *>> asked;    /* copies: where to, where from */
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

void __trap(void)
{
    cs_host_fault = cudaErrorLaunchFailure;
    all[current].begun = false;      /* the next launch begins anew instead of going on here */
    wait_at(DONE);
}

static double brought(double v, int from)
{
    all[current].value = v;
    wait_at(AT_SHUFFLE);
    double got = all[from].value;
    wait_at(AT_SHUFFLE);         /* nobody brings the next value before all have read this one */
    return got;
}

double cs_host_shuffle(double v, int mask)
{
    return brought(v, current ^ mask);
}

double cs_host_bring(double v, int lane)
{
    return brought(v, current / WARP * WARP + lane % WARP);
}

void *cs_host_shared(size_t n_bytes)
{
    static uint32_t room[(227 << 10) / sizeof(uint32_t)];
    memset(room, 0xFF, n_bytes);
    return room;
}

/* Until it is waited for, nobody may count on what was there before, nor on what comes. */
void cs_host_ask(uint4 *to, const uint4 *from)
{
    memset(to, 0xFF, sizeof *to);
    all[current].asked.push_back({ to, from });
}

void cs_host_wait_for_asked(void)
{
    for (const auto &copy : all[current].asked)
        *copy.first = *copy.second;
    all[current].asked.clear();
}

static float of_bf16(uint32_t v)
{
    return __int_as_float((int)(v << 16));
}

uint32_t cs_host_bf16(float v)
{
    uint32_t u = (uint32_t)__float_as_int(v);
    if (v != v)
        return 0x7FFF;
    return (u + 0x7FFF + (u >> 16 & 1)) >> 16;
}

/* Element k of two words of a fragment's row or column. */
static float element(const uint32_t w[2], int k)
{
    return of_bf16(w[k / 8] >> k % 2 * 16 & 0xFFFF);
}

/* This thread's part of both factors, for its warp to see; number of the warp's first thread. */
static int show_fragments(const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    thread *me = &all[current];
    memcpy(me->a, a, sizeof me->a);
    me->b[0] = b0;
    me->b[1] = b1;
    wait_at(AT_SHUFFLE);
    return current / WARP * WARP;
}

void cs_host_mma(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    const int warp = show_fragments(a, b0, b1), g = current % WARP / 4, c = current % 4;
    for (int i = 0; i < 4; i++) {
        const int col = 2 * c + i % 2;
        double sum = 0;
        for (int k = 0; k < 16; k++) {
            const thread *row = &all[warp + 4 * g + k % 8 / 2], *of = &all[warp + 4 * col + k % 8 / 2];
            const uint32_t pair[2] = { row->a[i / 2], row->a[2 + i / 2] };
            sum += (double)element(pair, k) * (double)element(of->b, k);
        }
        d[i] += (float)sum;
    }
    wait_at(AT_SHUFFLE);         /* nobody brings the next ones before all have read these */
}

uint32_t cs_host_tf32(float v)
{
    uint32_t u = (uint32_t)__float_as_int(v), low = (1u << 13) - 1;
    return isfinite(v) ? (u + (low + 1) / 2) & ~low : u;
}

void cs_host_mma_tf32(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    const int warp = show_fragments(a, b0, b1), g = current % WARP / 4, c = current % 4;
    for (int i = 0; i < 4; i++) {
        const int col = 2 * c + i % 2;
        double sum = 0;
        for (int k = 0; k < 8; k++) {
            const thread *row = &all[warp + 4 * g + k % 4], *of = &all[warp + 4 * col + k % 4];
            sum += (double)__int_as_float((int)row->a[i / 2 + k / 4 * 2])
                 * (double)__int_as_float((int)of->b[k / 4]);
        }
        d[i] += (float)sum;
    }
    wait_at(AT_SHUFFLE);
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
    if (!t->stack)
        t->stack = malloc(STACK_BYTES);
    getcontext(&t->first);
    t->first.uc_stack.ss_sp = t->stack;
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

void cs_host_run(dim3 grid, dim3 block, const std::function<void()> &kernel)
{
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

/* ---- cuBLAS ------------------------------------------------------------------------------ */

enum { MOST_WORK = 4 << 10 };    /* bytes that a product makes use of */

struct cs_host_blas { cudaStream_t stream; void *work; size_t n_work; };

cublasStatus_t cublasCreate(cublasHandle_t *h)
{
    *h = new cs_host_blas{ NULL, NULL, 0 };
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t h)
{
    delete h;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t h, cudaStream_t s)
{
    h->stream = s;
    return CUBLAS_STATUS_SUCCESS;
}

/* As cuBLAS may: what was there before is lost with every product. */
cublasStatus_t cublasSetWorkspace(cublasHandle_t h, void *p, size_t n_bytes)
{
    h->work = p;
    h->n_work = n_bytes < (size_t)MOST_WORK ? n_bytes : (size_t)MOST_WORK;
    return CUBLAS_STATUS_SUCCESS;
}

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

struct product {
    bool ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int bits;                    /* of the factors, behind the point */
};

/* By columns, as BLAS has it: c (m, n) = alpha op(a) op(b) + beta c */
static void multiply(const product &q)
{
    for (int64_t j = 0; j < q.n; j++)
        for (int64_t i = 0; i < q.m; i++) {
            double sum = 0;
            for (int64_t l = 0; l < q.k; l++)
                sum += rounded(q.ta ? q.a[i * q.lda + l] : q.a[l * q.lda + i], q.bits)
                     * rounded(q.tb ? q.b[l * q.ldb + j] : q.b[j * q.ldb + l], q.bits);
            float *v = &q.c[j * q.ldc + i];
            *v = (float)(q.alpha * sum + (q.beta != 0 ? (double)(q.beta * *v) : 0));
        }
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,
                               int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                               cudaDataType, int64_t lda, const void *b, cudaDataType, int64_t ldb,
                               const void *beta, void *c, cudaDataType, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t)
{
    const product q = { ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc,
                        *(const float *)alpha, *(const float *)beta, (const float *)a,
                        (const float *)b, (float *)c,
                        compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 10
                        : compute == CUBLAS_COMPUTE_32F_FAST_16BF ? 7 : 23 };
    void *work = h->work;
    const size_t n_work = h->n_work;
    cs_host_put(h->stream, [q, work, n_work] {
        if (n_work > 0)
            memset(work, 0xFF, n_work);
        multiply(q);
    });
    return CUBLAS_STATUS_SUCCESS;
}
