/* cpu.h - CPU features except those in CHORDSEQ_DISABLE; the number of threads. */
#ifndef CS_BASE_CPU_H
#define CS_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { CS_CPU_AVX2 = 1 << 0,     /* AVX2 and FMA, saved by the operating system */
       CS_CPU_FUSED = 1 << 1,    /* fused kernels may be used (a switch, not a feature) */
       CS_CPU_AVX512 = 1 << 2,   /* AVX-512 F, BW, DQ and VL, and AVX2 */
       CS_CPU_NEON = 1 << 3,     /* aarch64's vectors */
       CS_CPU_BF16 = 1 << 4,     /* AVX-512 BF16, and AVX-512; on aarch64 FEAT_BF16, and NEON; only
                                  * used for --precision bf16 */
       CS_CPU_AMX = 1 << 5,      /* AMX-BF16, permitted, and AVX-512 BF16; the same */
       CS_CPU_WGMMA = 1 << 6,    /* GPUs may use products of warpgroups (a switch, too) */
       CS_CPU_SHA = 1 << 7 };    /* x86's SHA extensions and SSE4.1; for checksums */

/**
 * cs_cpu_init - read the feature bits and CHORDSEQ_DISABLE, a comma-separated list of amx, bf16
 * (hides amx too), avx512 (hides both), avx2 (hides all three), neon (hides bf16), fused and
 * wgmma
 *
 * Asks Linux for permission to use AMX, once per process.
 *
 * Returns  CS_OK, or CS_EUSAGE naming an unknown word. Call once, before threads start; again after
 *          the variable changed (tests).
 */
int cs_cpu_init(void) CS_MUST_CHECK;
/**
 * cs_cpu_level - disable the features above level i, for backends opened from now on
 *
 * Level 0 has none: the reference kernels. Higher levels are the available instruction sets, except
 * those in CHORDSEQ_DISABLE, each without and then with fused kernels; the highest is that of
 * cs_cpu_init().
 *
 * name     receives "reference", "avx2", "avx2+fused", "avx512", ...
 * Returns  false if there is no such level; features are unchanged. Call while no other thread runs
 */
bool cs_cpu_level(int i, char *name, size_t n_name) CS_MUST_CHECK;
/** cs_cpu_hide - disable the features in `mask` instead, except 0: none */
void cs_cpu_hide(unsigned mask);
/** cs_cpu_has - are all bits of `mask` available? */
bool cs_cpu_has(unsigned mask);
/** cs_cpu_kernels - instruction set of the kernels in use: "avx512", "avx2", "neon", "portable" */
const char *cs_cpu_kernels(void);
/** cs_cpu_bits - kernels with identical results: "vector+fused", "vector" (avx2, avx512, neon) or
 * "reference"; in bf16 also "amx+fused", "amx", and on aarch64 "bfmmla+fused" or "bfmmla" */
const char *cs_cpu_bits(bool bf16);
/**
 * cs_cpu_flush_subnormals - results and operands below 1.2e-38 become 0, in this thread and in
 * those that it starts afterwards
 *
 * For training: gradients of nearly certain predictions and the optimiser's averages of them are
 * subnormal, and arithmetic on subnormal numbers takes 100 times as long on many processors.
 */
void cs_cpu_flush_subnormals(void);
/** cs_cpu_count - CPUs this process may run on (affinity and cgroup respected) */
int cs_cpu_count(void);

#endif
