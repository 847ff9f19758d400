/* host.cpp - kernels on the CPU, a coroutine per GPU thread; see cuda_runtime.h. */
#include "cuda_runtime.h"

#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cublas_v2.h"

enum { WARP = 32, MAX_THREADS = 1024, STACK_BYTES = 64 << 10, SET_BYTES = 256 };

dim3 threadIdx, blockIdx, blockDim, gridDim;

/* ---- order of threads -------------------------------------------------------------------- */

static uint64_t random_below(uint64_t n)
{
    static int seed;
    static uint64_t random_state;
    if (seed != cs_host_order)
        random_state = (uint64_t)(seed = cs_host_order);
    return cs_host_random(&random_state, n);
}

/* A permutation of 0..n-1: each number is `stride` after the previous one, modulo n. */
struct permutation { uint64_t n, at, stride; };

static permutation permutation_of(uint64_t n)
{
    if (cs_host_order <= 0)
        return cs_host_order == CS_ORDER_BACK ? permutation{ n, n - 1, n - 1 }
                                              : permutation{ n, 0, 1 };
    permutation p = { n, random_below(n), 1 + random_below(n) };
    while (std::gcd(p.stride, n) != 1)
        p.stride = 1 + random_below(n);
    return p;
}

static uint64_t next(permutation &p)
{
    const uint64_t i = p.at;
    p.at = (i + p.stride) % p.n;
    return i;
}

/* Does a warp that can continue do so before the other warps run? */
static bool keeps_running(void)
{
    return cs_host_order < 0 || (cs_host_order > 0 && random_below(8) > 0);
}

/* ---- shared memory ----------------------------------------------------------------------- */

cs_host_position cs_host_current = { 0, 0, 0, -1, {}, {}, {}, {} };

/* Section of the kernels' shared variables; symbols of the linker. */
extern char __start_cs_shared[] __attribute__((weak)), __stop_cs_shared[] __attribute__((weak));
static bool shared_used;         /* written by the previous block */

void *cs_host_shared(void)
{
    return (void *)cs_host_current.shared.p;
}

/* Fills shared memory with NaN before a block. */
static void poison_shared(void)
{
    if (cs_host_current.shared.n_bytes > 0)
        memset(cs_host_shared(), 0xFF, cs_host_current.shared.n_bytes);
    if (shared_used)
        memset(__start_cs_shared, 0xFF, (size_t)(__stop_cs_shared - __start_cs_shared));
    shared_used = false;
}

/* ---- blocks ------------------------------------------------------------------------------ */

enum thread_state { READY, AT_BARRIER, AT_SHUFFLE, AT_MMA, AT_MBARRIER, DONE };

/* A pending asynchronous copy. */
struct copy { void *to; const void *from; size_t n_bytes; };

/* A coroutine, made once and reused by every later launch. setcontext() starts it and longjmp()
 * resumes it, because the latter needs no system call. */
struct thread {
    jmp_buf    resume;
    ucontext_t start;
    void      *stack;
    bool       started;
    dim3       index;
    thread_state state;
    int        slot;             /* index into value, a, b of the warp's latest exchange */
    double     value[2];         /* operand of a shuffle */
    uint32_t   a[2][4], b[2][2]; /* fragments of mma.sync */
    uint64_t  *bar;              /* the mbarrier waited for, and the parity of its phase */
    int        parity;
    std::vector<copy> async_copies;          /* by cp.async */
};

static thread threads[MAX_THREADS];
/* Pending copies by cp.async.bulk, with the mbarriers that count their bytes. */
static std::vector<std::pair<uint64_t *, copy>> bulk_copies;
static jmp_buf scheduler;
static int n_thread, current_thread;
static const std::function<void()> *running_kernel;

/* Switches from the current thread to the scheduler. */
static void suspend(thread_state state)
{
    thread *me = &threads[current_thread];
    me->state = state;
    if (_setjmp(me->resume) == 0)
        _longjmp(scheduler, 1);
}

static void thread_main(void)
{
    for (;;) {
        (*running_kernel)();
        if (!threads[current_thread].async_copies.empty())
            abort();             /* a copy without a wait */
        suspend(DONE);
    }
}

/* Is this the barrier or wait that CS_HOST_WITHOUT=FILE:LINE omits? */
static bool is_omitted(const char *file, int line)
{
    static const char *const without = getenv("CS_HOST_WITHOUT");
    if (!without)
        return false;
    const char *slash = strrchr(file, '/'), *colon = strchr(without, ':');
    const std::string name = slash ? slash + 1 : file;
    return colon && name.compare(0, name.npos, without, (size_t)(colon - without)) == 0
        && strtol(colon + 1, NULL, 10) == line;
}

void cs_host_syncthreads(const char *file, int line)
{
    if (!is_omitted(file, line))
        suspend(AT_BARRIER);
}

void __trap(void)
{
    cs_host_fault = cudaErrorLaunchFailure;
    threads[current_thread].started = false;   /* the next launch starts anew */
    threads[current_thread].async_copies.clear();
    bulk_copies.clear();
    suspend(DONE);
}

/* Slot for this thread's operands of an exchange within its warp. Two slots suffice: all lanes have
 * read this exchange before any lane stores its operands of the exchange after the next. */
static int next_exchange_slot(void)
{
    return threads[current_thread].slot ^= 1;
}

static double shuffle_from(double v, int from)
{
    const int slot = next_exchange_slot();
    threads[current_thread].value[slot] = v;
    suspend(AT_SHUFFLE);
    return threads[from].value[slot];
}

double cs_host_shfl_xor(double v, int mask)
{
    return shuffle_from(v, current_thread ^ mask);
}

double cs_host_shfl(double v, int lane)
{
    return shuffle_from(v, current_thread / WARP * WARP + lane % WARP);
}

/* The destination is NaN until the wait. */
static void cp_async(void *to, const void *from, size_t n_bytes)
{
    if (((uintptr_t)to | (uintptr_t)from) % n_bytes != 0)
        abort();
    if (cs_host_access)
        cs_host_access(from, n_bytes, false);
    if (cs_host_access)
        cs_host_access(to, n_bytes, true);
    memset(to, 0xFF, n_bytes);
    threads[current_thread].async_copies.push_back({ to, from, n_bytes });
}

void cs_host_cp_async_16(uint4 *to, const uint4 *from) { cp_async(to, from, sizeof *to); }
void cs_host_cp_async_8(uint2 *to, const uint2 *from) { cp_async(to, from, sizeof *to); }

void cs_host_cp_async_wait(const char *file, int line)
{
    if (is_omitted(file, line))
        return;
    for (const copy &c : threads[current_thread].async_copies) {
        memcpy(c.to, c.from, c.n_bytes);
        if (cs_host_access)
            cs_host_access(c.to, c.n_bytes, true);
    }
    threads[current_thread].async_copies.clear();
}

/* ---- mbarriers and bulk copies ----------------------------------------------------------- */

/* Contents of the 8 bytes of an mbarrier. */
struct mbarrier {
    uint16_t count, pending;     /* arrivals: of each phase; pending in this one */
    int32_t  tx_parity;          /* 2 * pending bytes + parity of this phase */
};

static mbarrier load_mbarrier(const uint64_t *bar)
{
    mbarrier m;
    memcpy(&m, bar, sizeof m);
    return m;
}

/* Stores an mbarrier; a complete phase is replaced by the next one. */
static void store_mbarrier(uint64_t *bar, mbarrier m)
{
    if (m.pending == 0 && m.tx_parity >> 1 == 0) {
        m.pending = m.count;
        m.tx_parity ^= 1;
    }
    memcpy(bar, &m, sizeof m);
}

void cs_host_mbarrier_init(uint64_t *bar, int count)
{
    store_mbarrier(bar, { (uint16_t)count, (uint16_t)count, 0 });
}

void cs_host_mbarrier_arrive(uint64_t *bar, int32_t n_bytes)
{
    mbarrier m = load_mbarrier(bar);
    if (m.pending == 0)
        abort();                 /* more arrivals than the phase has */
    m.pending--;
    m.tx_parity += 2 * n_bytes;
    store_mbarrier(bar, m);
}

/* The destination is NaN until a thread waits for the mbarrier. */
void cs_host_bulk_copy(uint4 *to, const uint4 *from, int32_t n_bytes, uint64_t *bar)
{
    if (((uintptr_t)to | (uintptr_t)from | (uintptr_t)n_bytes) % 16 != 0)
        abort();
    if (cs_host_access)
        cs_host_access(from, (size_t)n_bytes, false);
    memset(to, 0xFF, (size_t)n_bytes);
    bulk_copies.push_back({ bar, { to, from, (size_t)n_bytes } });
}

/* Completes the copies of the mbarrier that a thread waits for; has the phase ended? */
static bool phase_ended(const thread &t)
{
    for (size_t i = 0; i < bulk_copies.size(); i++) {
        if (bulk_copies[i].first != t.bar)
            continue;
        const copy c = bulk_copies[i].second;
        bulk_copies.erase(bulk_copies.begin() + (long)i--);
        memcpy(c.to, c.from, c.n_bytes);
        if (cs_host_copy_done)
            cs_host_copy_done(c.to, c.n_bytes);
        mbarrier m = load_mbarrier(t.bar);
        m.tx_parity -= 2 * (int32_t)c.n_bytes;
        store_mbarrier(t.bar, m);
    }
    return (load_mbarrier(t.bar).tx_parity & 1) != t.parity;
}

void cs_host_mbarrier_wait(uint64_t *bar, int parity)
{
    threads[current_thread].bar = bar;
    threads[current_thread].parity = parity;
    suspend(AT_MBARRIER);
}

/* ---- products ---------------------------------------------------------------------------- */

static float bf16_to_float(uint32_t v)
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

/* Element k of a row or column of a fragment, in two words. */
static float element(const uint32_t w[2], int k)
{
    return bf16_to_float(w[k / 8] >> k % 2 * 16 & 0xFFFF);
}

/* Shares this thread's fragments with its warp; returns their slot. */
static int share_fragments(const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    const int slot = next_exchange_slot();
    thread *me = &threads[current_thread];
    memcpy(me->a[slot], a, sizeof me->a[slot]);
    me->b[slot][0] = b0;
    me->b[slot][1] = b1;
    suspend(AT_MMA);
    return slot;
}

void cs_host_mma(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    const int slot = share_fragments(a, b0, b1), lane = current_thread % WARP;
    const int g = lane / 4, c = lane % 4;
    const thread *warp = &threads[current_thread - lane];
    for (int i = 0; i < 4; i++) {
        const int col = 2 * c + i % 2;
        double sum = 0;
        for (int k = 0; k < 16; k++) {
            const uint32_t *row = warp[4 * g + k % 8 / 2].a[slot];
            const uint32_t *b_col = warp[4 * col + k % 8 / 2].b[slot];
            const uint32_t pair[2] = { row[i / 2], row[2 + i / 2] };
            sum += (double)element(pair, k) * (double)element(b_col, k);
        }
        d[i] += (float)sum;
    }
}

uint32_t cs_host_tf32(float v)
{
    uint32_t u = (uint32_t)__float_as_int(v), low = (1u << 13) - 1;
    return isfinite(v) ? (u + (low + 1) / 2) & ~low : u;
}

void cs_host_mma_tf32(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    const int slot = share_fragments(a, b0, b1), lane = current_thread % WARP;
    const int g = lane / 4, c = lane % 4;
    const thread *warp = &threads[current_thread - lane];
    for (int i = 0; i < 4; i++) {
        const int col = 2 * c + i % 2;
        double sum = 0;
        for (int k = 0; k < 8; k++) {
            const uint32_t *row = warp[4 * g + k % 4].a[slot];
            const uint32_t *b_col = warp[4 * col + k % 4].b[slot];
            sum += (double)__int_as_float((int)row[i / 2 + k / 4 * 2])
                 * (double)__int_as_float((int)b_col[k / 4]);
        }
        d[i] += (float)sum;
    }
}

static void resume_thread(int i)
{
    thread *t = &threads[i];
    if (!t->stack)               /* threads of a warp do not share cache sets */
        t->stack = (char *)malloc(STACK_BYTES + WARP * SET_BYTES) + i % WARP * SET_BYTES;
    current_thread = i;
    threadIdx = t->index;
    if (_setjmp(scheduler) != 0) {
        cs_host_current.thread = -1;
        return;
    }
    cs_host_current.thread = i;
    cs_host_current.stack = { (const char *)t->stack, STACK_BYTES };
    if (t->started)
        _longjmp(t->resume, 1);
    t->started = true;
    getcontext(&t->start);
    t->start.uc_stack.ss_sp = t->stack;
    t->start.uc_stack.ss_size = STACK_BYTES;
    makecontext(&t->start, thread_main, 0);
    setcontext(&t->start);
}

/* Makes threads from..to-1 ready if all of them wait at `stop`. */
static bool release_threads(int from, int to, thread_state stop)
{
    const bool needs_all = stop != AT_BARRIER;    /* ended threads may miss a barrier only */
    int n = 0, n_done = 0;
    for (int i = from; i < to; i++) {
        n += threads[i].state == stop;
        n_done += threads[i].state == DONE;
    }
    if (n == 0 || n + n_done < to - from)
        return false;
    shared_used |= stop == AT_BARRIER;
    cs_host_current.epoch += stop == AT_BARRIER;
    if (needs_all && n_done > 0)
        abort();
    for (int i = from; i < to; i++)
        if (threads[i].state == stop)
            threads[i].state = READY;
    return true;
}

static void init_thread(int i)
{
    unsigned x = blockDim.x, xy = x * blockDim.y, k = (unsigned)i;
    threads[i].index = dim3(k % x, k / x % blockDim.y, k / xy);
    threads[i].state = READY;
    threads[i].slot = 0;
}

/* Runs each lane to its next stop, and releases a stop of the whole warp; did any lane run? */
static bool run_warp(int from)
{
    const int to = from + WARP < n_thread ? from + WARP : n_thread;
    bool progressed = false;
    permutation lanes = permutation_of((uint64_t)(to - from));
    for (int k = from; k < to; k++) {
        const int i = from + (int)next(lanes);
        if (threads[i].state == AT_MBARRIER && phase_ended(threads[i]))
            threads[i].state = READY;
        if (threads[i].state != READY)
            continue;
        resume_thread(i);
        progressed = true;
    }
    return progressed | release_threads(from, to, AT_SHUFFLE) | release_threads(from, to, AT_MMA);
}

static bool run_warps(void)
{
    const int n = (n_thread + WARP - 1) / WARP;
    bool progressed = false;
    permutation warps = permutation_of((uint64_t)n);
    for (int k = 0; k < n; k++) {
        const int from = WARP * (int)next(warps);
        bool again = true;
        while (again && run_warp(from)) {
            progressed = true;
            again = keeps_running();
        }
    }
    return progressed;
}

static void run_block(void)
{
    poison_shared();
    cs_host_current.block++;
    cs_host_current.epoch = 0;
    for (int i = 0; i < n_thread; i++)
        init_thread(i);
    while (run_warps() || release_threads(0, n_thread, AT_BARRIER))
        continue;
    for (int i = 0; i < n_thread; i++)
        if (threads[i].state != DONE)
            abort();             /* a barrier that some threads do not reach */
    if (!bulk_copies.empty())
        abort();                 /* a copy without a wait */
}

void cs_host_arguments_are(const void *from, const void *end)
{
    cs_host_current.arguments = { (const char *)from,
                                  (size_t)((const char *)end - (const char *)from) };
}

void cs_host_run(const cs_host_grid &g, const std::function<void()> &kernel)
{
    const uint64_t x = g.grid.x, y = g.grid.y, n = x * y * g.grid.z;
    if (g.block.x * g.block.y * g.block.z > MAX_THREADS || y > 65535 || g.grid.z > 65535 || n == 0)
        abort();
    gridDim = g.grid;
    blockDim = g.block;
    n_thread = (int)(g.block.x * g.block.y * g.block.z);
    running_kernel = &kernel;
    cs_host_current.shared = { (const char *)cs_host_guarded_shared(g.n_bytes), g.n_bytes };
    cs_host_current.kernel = { (const char *)&kernel, sizeof kernel };
    cs_host_current.grid++;
    permutation blocks = permutation_of(n);
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t i = next(blocks);
        blockIdx = dim3((unsigned)(i % x), (unsigned)(i / x % y), (unsigned)(i / x / y));
        run_block();
    }
}

/* ---- cuBLAS ------------------------------------------------------------------------------ */

enum { MAX_WORKSPACE_BYTES = 4 << 10 };      /* bytes of workspace that a product overwrites */

struct cs_host_blas { cudaStream_t stream; void *work; size_t work_bytes; };

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

/* As with cuBLAS, every product overwrites the workspace. */
cublasStatus_t cublasSetWorkspace(cublasHandle_t h, void *p, size_t n_bytes)
{
    h->work = p;
    h->work_bytes = n_bytes < (size_t)MAX_WORKSPACE_BYTES ? n_bytes : (size_t)MAX_WORKSPACE_BYTES;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_NOT_INITIALIZED"; }

/* Rounds to `bits` fraction bits, to nearest, ties to even. */
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

struct gemm_args {
    bool ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int bits;                    /* fraction bits of the factors */
};

/* Column-major as in BLAS: c (m, n) = alpha op(a) op(b) + beta c */
static void gemm(const gemm_args &q)
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
    const gemm_args q = { ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc,
                          *(const float *)alpha, *(const float *)beta, (const float *)a,
                          (const float *)b, (float *)c,
                          compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 10
                          : compute == CUBLAS_COMPUTE_32F_FAST_16BF ? 7 : 23 };
    void *work = h->work;
    const size_t work_bytes = h->work_bytes;
    cs_host_enqueue(h->stream, [q, work, work_bytes] {
        if (work_bytes > 0)
            memset(work, 0xFF, work_bytes);
        gemm(q);
    });
    return CUBLAS_STATUS_SUCCESS;
}
