/* cpu.c - CPU features, CHORDSEQ_DISABLE, and the number of available CPUs. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE              /* sched_getaffinity, CPU_ALLOC */
#endif
#include "base/cpu.h"

#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include "base/cgroup.h"

/* Instruction sets in ascending order, each with the words that disable it. */
static const struct { const char *word; unsigned bit, hides; } feature[] = {
    { "neon", CS_CPU_NEON, CS_CPU_NEON | CS_CPU_BF16 },
    { "avx2", CS_CPU_AVX2, CS_CPU_AVX2 | CS_CPU_AVX512 | CS_CPU_BF16 | CS_CPU_AMX },
    { "avx512", CS_CPU_AVX512, CS_CPU_AVX512 | CS_CPU_BF16 | CS_CPU_AMX },
    /* not in N_SET: only some kernels use these */
    { "bf16", CS_CPU_BF16, CS_CPU_BF16 | CS_CPU_AMX },
    { "amx", CS_CPU_AMX, CS_CPU_AMX },
    { "fused", CS_CPU_FUSED, CS_CPU_FUSED },
    { "wgmma", CS_CPU_WGMMA, CS_CPU_WGMMA },
};
enum { N_FEATURE = sizeof feature / sizeof feature[0], N_SET = N_FEATURE - 4 };

/* Written before threads start, only read afterwards. `allowed` is set by cs_cpu_init(). */
static unsigned features, allowed;

#if defined(__x86_64__) || defined(__i386__)
/* Older compilers have no name of it for __builtin_cpu_supports(). */
static bool detect_sha(void)
{
#if defined(__x86_64__) && defined(__linux__)
    enum { SHA = 1 << 29 };
    unsigned a, b, c, d;

    return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d)
           && (b & SHA);
#else
    return false;
#endif
}

/* AMX needs the process's permission to use tiles (Linux, Documentation/arch/x86/xstate.rst). */
static bool detect_amx(void)
{
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX_BF16) && (d & AMX_TILE)
           && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}
#elif defined(__aarch64__)
/* FEAT_BF16: Linux, Documentation/arch/arm64/elf_hwcaps.rst; Apple, "Determining Instruction Set
 * Characteristics". */
static bool detect_bf16(void)
{
#if defined(__linux__)
    enum { HAS_BF16 = 1 << 14 };
    return (getauxval(AT_HWCAP2) & HAS_BF16) != 0;
#elif defined(__APPLE__)
    int has = 0;
    size_t n = sizeof has;
    return sysctlbyname("hw.optional.arm.FEAT_BF16", &has, &n, NULL, 0) == 0 && has;
#else
    return false;
#endif
}
#endif

static unsigned detect(void)
{
    unsigned bits = CS_CPU_FUSED | CS_CPU_WGMMA;

#if defined(__x86_64__) || defined(__i386__)
    /* The compiler's run-time library also asks whether the system saves the wide registers. */
    __builtin_cpu_init();
    if (detect_sha())
        bits |= CS_CPU_SHA;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        bits |= CS_CPU_AVX2;
    if ((bits & CS_CPU_AVX2) && __builtin_cpu_supports("avx512f")
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl"))
        bits |= CS_CPU_AVX512;
    if ((bits & CS_CPU_AVX512) && __builtin_cpu_supports("avx512bf16"))
        bits |= CS_CPU_BF16;
    if ((bits & CS_CPU_BF16) && detect_amx())
        bits |= CS_CPU_AMX;
#elif defined(__aarch64__)
    bits |= CS_CPU_NEON;         /* every processor of this architecture has it */
    if (detect_bf16())
        bits |= CS_CPU_BF16;
#endif
    return bits;
}

static unsigned hidden_by(const char *word, size_t n)
{
    for (int i = 0; i < N_FEATURE; i++)
        if (strlen(feature[i].word) == n && memcmp(feature[i].word, word, n) == 0)
            return feature[i].hides;
    return 0;
}

int cs_cpu_init(void)
{
    const char *s = getenv("CHORDSEQ_DISABLE");
    unsigned bits = detect();

    for (size_t n; s != NULL && *s != '\0'; s += n + (s[n] == ',')) {
        n = strcspn(s, ",");
        unsigned hide = hidden_by(s, n);
        if (n > 0 && hide == 0)
            return cs_fail(CS_EUSAGE, "unknown name '%.*s' in CHORDSEQ_DISABLE; it takes a "
                           "comma-separated list of amx, bf16, avx512, avx2, neon, fused, wgmma",
                           (int)n, s);
        bits &= ~hide;
    }
    features = allowed = bits;
    return CS_OK;
}

bool cs_cpu_level(int level, char *name, size_t n_name)
{
    unsigned bits = 0;
    int n = 0;

    (void)snprintf(name, n_name, "reference");
    for (int i = 0; i < N_SET && n < level; i++) {
        if (!(allowed & feature[i].bit))
            continue;
        bits = (bits | feature[i].bit) & ~(unsigned)CS_CPU_FUSED;
        n++;
        if (n < level && (allowed & CS_CPU_FUSED)) {
            bits |= CS_CPU_FUSED;
            n++;
        }
        (void)snprintf(name, n_name, "%s%s", feature[i].word, bits & CS_CPU_FUSED ? "+fused" : "");
    }
    features = n == level ? bits : allowed;
    return n == level;
}

const char *cs_cpu_kernels(void)
{
    for (int i = N_SET - 1; i >= 0; i--)
        if (cs_cpu_has(feature[i].bit))
            return feature[i].word;
    return "portable";
}

void cs_cpu_hide(unsigned mask)
{
    features = allowed & ~mask;
}

const char *cs_cpu_bits(bool bf16)
{
    if (bf16 && cs_cpu_has(CS_CPU_AMX))
        return cs_cpu_has(CS_CPU_FUSED) ? "amx+fused" : "amx";
    if (bf16 && cs_cpu_has(CS_CPU_NEON))
        return cs_cpu_has(CS_CPU_FUSED) ? "bfmmla+fused" : "bfmmla";
    for (int i = 0; i < N_SET; i++)
        if (cs_cpu_has(feature[i].bit))
            return cs_cpu_has(CS_CPU_FUSED) ? "vector+fused" : "vector";
    return "reference";
}

bool cs_cpu_has(unsigned mask)
{
    return (features & mask) == mask;
}

static int affinity_count(void)
{
#ifdef __linux__
    /* The kernel refuses a set smaller than its own, so ask with larger ones (1024 is common). */
    for (size_t n = 1024; n <= 1 << 20; n *= 4) {
        cpu_set_t *set = CPU_ALLOC(n);
        size_t size = CPU_ALLOC_SIZE(n);
        if (set == NULL)
            break;
        int rc = sched_getaffinity(0, size, set);
        int count = rc == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < INT_MAX ? (int)online : 1;
}

void cs_cpu_flush_subnormals(void)
{
#if defined(__SSE2__)
    enum { OPERANDS_AS_0 = 1 << 6, RESULTS_AS_0 = 1 << 15 };
    _mm_setcsr(_mm_getcsr() | OPERANDS_AS_0 | RESULTS_AS_0);
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"(mode | 1 << 24));
#endif
}

int cs_cpu_count(void)
{
    int count = affinity_count();
    int64_t quota = cs_cgroup_cpus(CS_CGROUP_MEMBERSHIP, CS_CGROUP_ROOT);

    return quota > 0 && quota < count ? (int)quota : count;
}
