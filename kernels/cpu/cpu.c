/* cpu.c - the CPU backend: memory, and the op table, first with reference kernels, then with faster
 * ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

static void *cpu_alloc(cs_backend *be, size_t n_bytes)
{
    (void)be;
    return cs_huge_alloc(n_bytes, 1);
}

static void cpu_dealloc(cs_backend *be, void *p)
{
    (void)be;
    free(p);
}

static void cpu_move(cs_backend *be, void *dst, const void *src, size_t n_bytes)
{
    (void)be;
    if (n_bytes)
        memcpy(dst, src, n_bytes);
}

/* A matrix without gaps, such as all gradients, is cleared in blocks that fit a thread's cache. */
static void cpu_zero(cs_backend *be, cs_mat x)
{
    enum { BLOCK = 1 << 16 };
    if (x.ld == x.c) {
        const int64_t n = x.r * x.c;
        #pragma omp parallel for num_threads(cs_threads(be, n))
        for (int64_t i = 0; i < n; i += BLOCK)
            memset(x.p + i, 0, (size_t)cs_min64(BLOCK, n - i) * sizeof *x.p);
        return;
    }
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        memset(cs_row(x, r), 0, (size_t)x.c * sizeof *x.p);
}

static void cpu_copy(cs_backend *be, cs_mat x, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        memcpy(cs_row(y, r), cs_row(x, r), (size_t)x.c * sizeof *x.p);
}

/* Memory available without swapping, by /proc/meminfo (elsewhere all that the machine has) and the
 * limit of the process's cgroup; INT64_MAX if neither is known. */
static int64_t cpu_free_memory(cs_backend *be)
{
    enum { LINE = 256 };
    char line[LINE];
    long long kb = -1;
    FILE *f = fopen("/proc/meminfo", "re");

    (void)be;
    while (f && kb < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, "MemAvailable:", 13) == 0)
            kb = strtoll(line + 13, NULL, 10);
    if (f)
        (void)fclose(f);
    else
        kb = sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024);
    const int64_t n = cs_cgroup_memory(CS_CGROUP_MEMBERSHIP, CS_CGROUP_ROOT);
    return kb < 0 || kb * 1024 > n ? n : kb * 1024;
}

static int cpu_sync(cs_backend *be)
{
    (void)be;
    return CS_OK;
}

/* Installs the kernels of the best instruction set that the CPU has; none in double precision. */
static void fill_level(cs_backend *be, unsigned mask)
{
#if defined(CS_DOUBLE)
    (void)be;
    (void)mask;
#else
    static const struct { unsigned bit; void (*fill)(cs_backend *be, bool fused); } level[] = {
#if defined(__x86_64__)
        { CS_CPU_AVX512, cs_level_fill_avx512 },
        { CS_CPU_AVX2, cs_level_fill_avx2 },
#elif defined(__aarch64__)
        { CS_CPU_NEON, cs_level_fill_neon },
#endif
        { 0, NULL } };
    const bool fused = cs_cpu_has(CS_CPU_FUSED) && !(mask & CS_CPU_FUSED);
    int i = 0;
    while (level[i].fill && (!cs_cpu_has(level[i].bit) || (mask & level[i].bit)))
        i++;
    if (level[i].fill)
        level[i].fill(be, fused);
#endif
}

/* Kernels of CS_IN_BF16; false: this CPU, or the build, has none. */
static bool fill_bf16(cs_backend *be)
{
#if defined(CS_DOUBLE)
    (void)be;
    return false;
#else
    const bool fused = cs_cpu_has(CS_CPU_FUSED);
    (void)be, (void)fused;
#if defined(__x86_64__)
    if (cs_cpu_has(CS_CPU_BF16))
        cs_level_fill_bf16(be, fused);
    if (cs_cpu_has(CS_CPU_AMX))
        cs_level_fill_amx(be, fused);
#elif defined(__aarch64__)
    if (cs_cpu_has(CS_CPU_BF16))
        cs_level_fill_bfmmla(be, fused);
#endif
    return cs_cpu_has(CS_CPU_BF16);
#endif
}

int cs_cpu_compute_in(cs_backend *be, cs_precision p)
{
    cs_cpu_fill(be, 0);
    if (p == CS_IN_FP32 || (p == CS_IN_BF16 && fill_bf16(be)))
        return CS_OK;
    if (p == CS_IN_TF32)
        return cs_fail(CS_EUSAGE, "%s is for GPUs; this is device 'cpu'",
                       CS_OPTION("precision tf32"));
    return cs_fail(CS_EUSAGE, "this processor has no bf16 products (avx512_bf16; on "
                   "aarch64 bf16), or CHORDSEQ_DISABLE hides them; omit %s",
                   CS_OPTION("precision bf16"));
}

void cs_cpu_fill(cs_backend *be, unsigned mask)
{
    cs_ops *op = &be->op;
    be->fused = (cs_fused){ 0 };
    op->alloc = cpu_alloc;
    op->dealloc = cpu_dealloc;
    op->upload = cpu_move;
    op->download = cpu_move;
    op->zero = cpu_zero;
    op->copy = cpu_copy;
    op->sync = cpu_sync;
    op->free_memory = cpu_free_memory;
    cs_ref_dense(op);
    cs_ref_norm(op);
    cs_ref_seg(op);
    cs_ref_pool(op);
    cs_ref_attn(op);
    cs_ref_attn_seg(op);
    cs_ref_linear_attn(op);
    cs_ref_conv(op);
    cs_ref_sparse(op);
    cs_ref_loss(op);
    cs_ref_bag(&be->fused);
    fill_level(be, mask);
}

int cs_cpu_open(cs_backend *be)
{
    be->is_host = true;
    cs_cpu *cpu = cs_xcalloc(1, sizeof *cpu);
    be->impl = cpu;
    cs_cpu_fill(be, 0);
#ifndef CS_DOUBLE
    cpu->pack = cpu_alloc(be, (size_t)be->n_thread * CS_PACK_SCRATCH * sizeof *cpu->pack);
    if (!cpu->pack) {
        free(cpu);
        return cs_fail(CS_EMEM, "out of memory for the scratch of %d threads", be->n_thread);
    }
#endif
    return CS_OK;
}

void cs_cpu_close(cs_backend *be)
{
    cs_cpu *cpu = be->impl;
    cpu_dealloc(be, cpu->pack);
    free(cpu);
}
