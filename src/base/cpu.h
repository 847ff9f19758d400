/* cpu.h - what this processor can do, minus what CHORDSEQ_DISABLE hides; the thread budget. */
#ifndef CS_BASE_CPU_H
#define CS_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { CS_CPU_AVX2 = 1 << 0,     /* AVX2 and FMA, saved by the operating system */
       CS_CPU_FUSED = 1 << 1 };  /* fused kernels may be used (a switch, not a feature) */

/**
 * cs_cpu_init - read the feature bits and CHORDSEQ_DISABLE (comma-separated: avx2, fused)
 *
 * Returns  CS_OK, or CS_EUSAGE naming an unknown word. Call once, before threads start; again after
 *          the variable changed (tests).
 */
int cs_cpu_init(void) CS_MUST_CHECK;
/**
 * cs_cpu_level - go without the features above level i, for what is opened from now on
 *
 * Level 0 has none of them: the reference kernels. Each one above adds the next feature that there
 * is and that CHORDSEQ_DISABLE does not hide; the highest is what cs_cpu_init() has set.
 *
 * name     receives "reference", "avx2", "avx2+fused"
 * Returns  false when there is no such level, and all features stay. While no other thread runs
 */
bool cs_cpu_level(int i, char *name, size_t n_name) CS_MUST_CHECK;
/** cs_cpu_has - are all bits of `mask` there? */
bool cs_cpu_has(unsigned mask);
/** cs_cpu_count - processors this process may run on (affinity and cgroup respected) */
int cs_cpu_count(void);

#endif
