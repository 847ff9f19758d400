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

enum { WARP = 32, MOST = 1024, STACK_BYTES = 64 << 10, SET_BYTES = 256 };

dim3 threadIdx, blockIdx, blockDim, gridDim;

/* ---- turns ------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t n)
{
    static int seed;
    static uint64_t lottery;
    if (seed != cs_host_order)
        lottery = (uint64_t)(seed = cs_host_order);
    return cs_host_draw(&lottery, n);
}

/* A permutation of n numbers: each `stride` after the previous one. */
struct turns { uint64_t n, at, stride; };

static turns turns_of(uint64_t n)
{
    if (cs_host_order <= 0)
        return cs_host_order == CS_ORDER_BACK ? turns{ n, n - 1, n - 1 } : turns{ n, 0, 1 };
    turns t = { n, draw(n), 1 + draw(n) };
    while (std::gcd(t.stride, n) != 1)
        t.stride = 1 + draw(n);
    return t;
}

static uint64_t next(turns &t)
{
    uint64_t now = t.at;
    t.at = (now + t.stride) % t.n;
    return now;
}

/* May a warp that can continue do so before another one's turn? */
static bool goes_ahead(void)
{
    return cs_host_order < 0 || (cs_host_order > 0 && draw(8) > 0);
}

/* ---- shared memory ----------------------------------------------------------------------- */

cs_host_moment cs_host_now = { 0, 0, 0, -1, { NULL, 0 }, { NULL, 0 } };

/* Section of the kernels' shared variables; symbols of the linker. */
extern char __start_cs_shared[] __attribute__((weak)), __stop_cs_shared[] __attribute__((weak));
static bool used_shared;         /* written by the previous block */

void *cs_host_shared(void)
{
    return (void *)cs_host_now.shared.p;
}

/* Fills shared memory with NaN for a new block. */
static void forget_shared(void)
{
    if (cs_host_now.shared.n_bytes > 0)
        memset(cs_host_shared(), 0xFF, cs_host_now.shared.n_bytes);
    if (used_shared)
        memset(__start_cs_shared, 0xFF, (size_t)(__stop_cs_shared - __start_cs_shared));
    used_shared = false;
}

/* ---- blocks ------------------------------------------------------------------------------ */

enum state { READY, AT_BARRIER, AT_SHUFFLE, AT_PRODUCT, AT_PHASE, DONE };

/* A pending copy (cp.async). */
struct copy { void *to; const void *from; size_t n_bytes; };

/* A coroutine, made once and used by every later launch. The first switch uses its context, later
 * ones longjmp(), which needs no system call. */
struct thread {
    jmp_buf    place;
    ucontext_t first;
    void      *stack;
    bool       begun;
    dim3       index;
    state      at;
    int        slot;             /* of the two below, the one of the last exchange in the warp */
    double     value[2];         /* operand of a shuffle */
    uint32_t   a[2][4], b[2][2]; /* and of a warp's matrix product */
    uint64_t  *bar;              /* of a wait for a phase */
    int        parity;
    std::vector<copy> asked;
};

static thread all[MOST];
/* Copies under way whose bytes a barrier counts. */
static std::vector<std::pair<uint64_t *, copy>> bulk;
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
        if (!all[current].asked.empty())
            abort();             /* a copy without a wait */
        wait_at(DONE);
    }
}

static bool is_left_out(const char *file, int line)
{
    static const char *const without = getenv("CS_HOST_WITHOUT");
    if (!without)
        return false;
    const char *slash = strrchr(file, '/'), *colon = strchr(without, ':');
    const std::string name = slash ? slash + 1 : file;
    return colon && name.compare(0, name.npos, without, (size_t)(colon - without)) == 0
        && strtol(colon + 1, NULL, 10) == line;
}

void cs_host_barrier(const char *file, int line)
{
    if (!is_left_out(file, line))
        wait_at(AT_BARRIER);
}

void __trap(void)
{
    cs_host_fault = cudaErrorLaunchFailure;
    all[current].begun = false;      /* the next launch starts a new kernel here */
    all[current].asked.clear();
    bulk.clear();
    wait_at(DONE);
}

/* Returns the slot for this thread's part in an exchange between the threads of a warp. Two slots
 * suffice: no thread stores its part of the next exchange but one before all have read this one. */
static int next_slot(void)
{
    return all[current].slot ^= 1;
}

static double brought(double v, int from)
{
    const int slot = next_slot();
    all[current].value[slot] = v;
    wait_at(AT_SHUFFLE);
    return all[from].value[slot];
}

double cs_host_shuffle(double v, int mask)
{
    return brought(v, current ^ mask);
}

double cs_host_bring(double v, int lane)
{
    return brought(v, current / WARP * WARP + lane % WARP);
}

/* Until the wait, neither the old nor the new contents are valid. */
static void ask(void *to, const void *from, size_t n_bytes)
{
    if (((uintptr_t)to | (uintptr_t)from) % n_bytes != 0)
        abort();
    if (cs_host_touch)
        cs_host_touch(from, n_bytes, false);
    if (cs_host_touch)
        cs_host_touch(to, n_bytes, true);
    memset(to, 0xFF, n_bytes);
    all[current].asked.push_back({ to, from, n_bytes });
}

void cs_host_ask(uint4 *to, const uint4 *from) { ask(to, from, sizeof *to); }
void cs_host_ask_half(uint2 *to, const uint2 *from) { ask(to, from, sizeof *to); }

void cs_host_land(const char *file, int line)
{
    if (is_left_out(file, line))
        return;
    for (const copy &c : all[current].asked) {
        memcpy(c.to, c.from, c.n_bytes);
        if (cs_host_touch)
            cs_host_touch(c.to, c.n_bytes, true);
    }
    all[current].asked.clear();
}

/* ---- barriers with phases ---------------------------------------------------------------- */

/* What the 8 bytes of a barrier hold. */
struct phase {
    uint16_t count, left;        /* arrivals of a phase; of this one still to come */
    int32_t  twice;              /* 2 * bytes still to come + parity of this phase */
};

static phase phase_of(const uint64_t *bar)
{
    phase p;
    memcpy(&p, bar, sizeof p);
    return p;
}

/* Stores the phase, or the next one if it has ended. */
static void put_phase(uint64_t *bar, phase p)
{
    if (p.left == 0 && p.twice >> 1 == 0) {
        p.left = p.count;
        p.twice ^= 1;
    }
    memcpy(bar, &p, sizeof p);
}

void cs_host_phase_init(uint64_t *bar, int count)
{
    put_phase(bar, { (uint16_t)count, (uint16_t)count, 0 });
}

void cs_host_phase_arrive(uint64_t *bar, int32_t n_bytes)
{
    phase p = phase_of(bar);
    if (p.left == 0)
        abort();                 /* more arrivals than the phase has */
    p.left--;
    p.twice += 2 * n_bytes;
    put_phase(bar, p);
}

/* The old contents are gone at once; the new ones come when a thread waits for them. */
void cs_host_bulk_copy(uint4 *to, const uint4 *from, int32_t n_bytes, uint64_t *bar)
{
    if (((uintptr_t)to | (uintptr_t)from | (uintptr_t)n_bytes) % 16 != 0)
        abort();
    if (cs_host_touch)
        cs_host_touch(from, (size_t)n_bytes, false);
    memset(to, 0xFF, (size_t)n_bytes);
    bulk.push_back({ bar, { to, from, (size_t)n_bytes } });
}

/* Has the phase that this thread waits for ended? */
static bool phase_ended(const thread &t)
{
    for (size_t i = 0; i < bulk.size(); i++) {
        if (bulk[i].first != t.bar)
            continue;
        const copy c = bulk[i].second;
        bulk.erase(bulk.begin() + (long)i--);
        memcpy(c.to, c.from, c.n_bytes);
        if (cs_host_landed)
            cs_host_landed(c.to, c.n_bytes);
        phase p = phase_of(t.bar);
        p.twice -= 2 * (int32_t)c.n_bytes;
        put_phase(t.bar, p);
    }
    return (phase_of(t.bar).twice & 1) != t.parity;
}

void cs_host_phase_wait(uint64_t *bar, int parity)
{
    all[current].bar = bar;
    all[current].parity = parity;
    wait_at(AT_PHASE);
}

/* ---- products ---------------------------------------------------------------------------- */

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

/* Publishes this thread's fragments to its warp; returns their slot. */
static int show_fragments(const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    const int slot = next_slot();
    thread *me = &all[current];
    memcpy(me->a[slot], a, sizeof me->a[slot]);
    me->b[slot][0] = b0;
    me->b[slot][1] = b1;
    wait_at(AT_PRODUCT);
    return slot;
}

void cs_host_mma(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    const int slot = show_fragments(a, b0, b1), lane = current % WARP, g = lane / 4, c = lane % 4;
    const thread *warp = &all[current - lane];
    for (int i = 0; i < 4; i++) {
        const int col = 2 * c + i % 2;
        double sum = 0;
        for (int k = 0; k < 16; k++) {
            const uint32_t *row = warp[4 * g + k % 8 / 2].a[slot];
            const uint32_t *of = warp[4 * col + k % 8 / 2].b[slot];
            const uint32_t pair[2] = { row[i / 2], row[2 + i / 2] };
            sum += (double)element(pair, k) * (double)element(of, k);
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
    const int slot = show_fragments(a, b0, b1), lane = current % WARP, g = lane / 4, c = lane % 4;
    const thread *warp = &all[current - lane];
    for (int i = 0; i < 4; i++) {
        const int col = 2 * c + i % 2;
        double sum = 0;
        for (int k = 0; k < 8; k++) {
            const uint32_t *row = warp[4 * g + k % 4].a[slot], *of = warp[4 * col + k % 4].b[slot];
            sum += (double)__int_as_float((int)row[i / 2 + k / 4 * 2])
                 * (double)__int_as_float((int)of[k / 4]);
        }
        d[i] += (float)sum;
    }
}

static void run_thread(int i)
{
    thread *t = &all[i];
    if (!t->stack)               /* threads of a warp do not share cache sets */
        t->stack = (char *)malloc(STACK_BYTES + WARP * SET_BYTES) + i % WARP * SET_BYTES;
    current = i;
    threadIdx = t->index;
    if (_setjmp(scheduler) != 0) {
        cs_host_now.thread = -1;
        return;
    }
    cs_host_now.thread = i;
    cs_host_now.stack = { (const char *)t->stack, STACK_BYTES };
    if (t->begun)
        _longjmp(t->place, 1);
    t->begun = true;
    getcontext(&t->first);
    t->first.uc_stack.ss_sp = t->stack;
    t->first.uc_stack.ss_size = STACK_BYTES;
    makecontext(&t->first, body, 0);
    setcontext(&t->first);
}

/* Releases threads from..to-1 if all of them wait for `what`. */
static bool release(int from, int to, state what)
{
    bool all_there = what != AT_BARRIER;     /* on a GPU, lanes that have ended do not take part */
    int n = 0, n_done = 0;
    for (int i = from; i < to; i++) {
        n += all[i].at == what;
        n_done += all[i].at == DONE;
    }
    if (n == 0 || n + n_done < to - from)
        return false;
    used_shared |= what == AT_BARRIER;
    cs_host_now.epoch += what == AT_BARRIER;
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
    all[i].slot = 0;
}

/* Runs each lane to its next stop, and releases stops that all have reached; did any run? */
static bool run_warp(int from)
{
    const int to = from + WARP < n_thread ? from + WARP : n_thread;
    bool moved = false;
    turns lanes = turns_of((uint64_t)(to - from));
    for (int k = from; k < to; k++) {
        const int i = from + (int)next(lanes);
        if (all[i].at == AT_PHASE && phase_ended(all[i]))
            all[i].at = READY;
        if (all[i].at != READY)
            continue;
        run_thread(i);
        moved = true;
    }
    return moved | release(from, to, AT_SHUFFLE) | release(from, to, AT_PRODUCT);
}

static bool run_warps(void)
{
    const int n = (n_thread + WARP - 1) / WARP;
    bool moved = false;
    turns warps = turns_of((uint64_t)n);
    for (int k = 0; k < n; k++) {
        const int from = WARP * (int)next(warps);
        bool again = true;
        while (again && run_warp(from)) {
            moved = true;
            again = goes_ahead();
        }
    }
    return moved;
}

static void run_block(void)
{
    forget_shared();
    cs_host_now.block++;
    cs_host_now.epoch = 0;
    for (int i = 0; i < n_thread; i++)
        start(i);
    while (run_warps() || release(0, n_thread, AT_BARRIER))
        continue;
    for (int i = 0; i < n_thread; i++)
        if (all[i].at != DONE)
            abort();             /* a barrier that some threads never reach */
    if (!bulk.empty())
        abort();                 /* a copy without a wait */
}

void cs_host_run(const cs_host_grid &g, const std::function<void()> &kernel)
{
    const uint64_t x = g.grid.x, y = g.grid.y, n = x * y * g.grid.z;
    if (g.block.x * g.block.y * g.block.z > MOST || y > 65535 || g.grid.z > 65535 || n == 0)
        abort();
    gridDim = g.grid;
    blockDim = g.block;
    n_thread = (int)(g.block.x * g.block.y * g.block.z);
    running = &kernel;
    cs_host_now.shared = { (const char *)cs_host_free_memory(g.n_bytes), g.n_bytes };
    cs_host_now.grid++;
    turns blocks = turns_of(n);
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t i = next(blocks);
        blockIdx = dim3((unsigned)(i % x), (unsigned)(i / x % y), (unsigned)(i / x / y));
        run_block();
    }
}

/* ---- cuBLAS ------------------------------------------------------------------------------ */

enum { MAX_WORK = 4 << 10 };     /* bytes of workspace that a product overwrites */

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

/* As with cuBLAS, every product overwrites the workspace. */
cublasStatus_t cublasSetWorkspace(cublasHandle_t h, void *p, size_t n_bytes)
{
    h->work = p;
    h->n_work = n_bytes < (size_t)MAX_WORK ? n_bytes : (size_t)MAX_WORK;
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

struct product {
    bool ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int bits;                    /* fraction bits of the factors */
};

/* Column-major as in BLAS: c (m, n) = alpha op(a) op(b) + beta c */
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
