/* impl.h - helpers of kernels/cpu: rows, spans of segments, fixed chunks, scratch.
 *
 * DESIGN. Sums over rows are cut into at most CS_CHUNKS chunks whose size depends on the number of
 * rows only. Chunks are summed in parallel and added in order, so no sum depends on the number of
 * threads.
 */
#ifndef CS_KERNELS_CPU_IMPL_H
#define CS_KERNELS_CPU_IMPL_H

#ifdef _OPENMP
#include <omp.h>
#endif

#include "kernels/backend.h"

enum { CS_CHUNKS = 32,           /* maximum number of chunks of a sum over rows */
       CS_CHUNK_COLS = 128,      /* columns summed together; bounds the partial sums on the stack */
       CS_ROW_BLOCK = 256,       /* rows per parallel step in loops over segments */
       CS_SMALL = 16384,         /* elements below which a parallel loop does not pay */
       CS_PACK_SCRATCH = 384 * 192 };    /* floats of packing scratch per thread: see gemm.h */

/* State of the CPU backend (cs_backend.impl). */
typedef struct cs_cpu {
    float *pack;                 /* n_thread * CS_PACK_SCRATCH, for packed panels; see below */
} cs_cpu;

/** cs_cpu_open - fill a backend's table and allocate its scratch; CS_EMEM */
int  cs_cpu_open(cs_backend *be) CS_MUST_CHECK;
/** cs_cpu_close - free what cs_cpu_open() allocated */
void cs_cpu_close(cs_backend *be);
/** cs_cpu_compute_in - fill in the kernels of a precision; CS_EUSAGE if this CPU has none */
int  cs_cpu_compute_in(cs_backend *be, cs_precision p) CS_MUST_CHECK;

/** cs_row - the first element of a row */
static inline cs_real *cs_row(cs_mat m, int64_t r) { return m.p + r * m.ld; }

/** cs_min64 - the smaller one */
static inline int64_t cs_min64(int64_t a, int64_t b) { return a < b ? a : b; }

/** cs_thread_no - which thread of a parallel loop this is, from 0 */
static inline int cs_thread_no(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/** cs_pack_scratch - CS_PACK_SCRATCH floats of this thread of a parallel loop */
static inline float *cs_pack_scratch(const cs_backend *be)
{
    const cs_cpu *cpu = be->impl;
    return cpu->pack + (size_t)cs_thread_no() * CS_PACK_SCRATCH;
}

/** cs_threads - threads for a loop over n_work elements: one if it is small */
static inline int cs_threads(const cs_backend *be, int64_t n_work)
{
    return n_work < CS_SMALL ? 1 : be->n_thread;
}

/** cs_chunk_rows - rows per chunk of a sum over `rows` rows, at least 64 */
static inline int64_t cs_chunk_rows(int64_t rows)
{
    int64_t n = (rows + CS_CHUNKS - 1) / CS_CHUNKS;
    return n < 64 ? 64 : n;
}

/** cs_chunk_sum - add the sums of all chunks, in order */
static inline double cs_chunk_sum(const double part[CS_CHUNKS])
{
    double sum = 0;
    for (int k = 0; k < CS_CHUNKS; k++)
        sum += part[k];
    return sum;
}

/** cs_shift - rotation of track i, in tokens, in a segment of len > 0: 2^(i-1) mod len; 0 for i =
 * 0 */
static inline int64_t cs_shift(int32_t i, int64_t len)
{
    enum { WIDEST = 62 };        /* 2^62 is the largest power of two that fits */
    if (i == 0)
        return 0;
    int64_t s = (INT64_C(1) << (i - 1 < WIDEST ? i - 1 : WIDEST)) % len;
    for (int32_t k = WIDEST + 1; k < i; k++)
        s = 2 * s < len ? 2 * s : 2 * s - len;
    return s;
}

/** cs_tap_shift - offset of tap k (or of its adjoint) modulo len, in 0 .. len-1, for len > 0 */
static inline int64_t cs_tap_shift(cs_taps taps, int32_t k, bool adjoint, int64_t len)
{
    int64_t s = (k - taps.n / 2) * (taps.dilation % len) % len;
    s = adjoint ? -s : s;
    return s < 0 ? s + len : s;
}

/** cs_link_to, cs_link_from - the token of a segment that link k of token t leads to, and the token
 * whose link k leads to t, in 0 .. len-1 */
static inline int64_t cs_link_to(const cs_links *links, int32_t k, int64_t t, int64_t len)
{
    const int64_t s = (t + links->off[k] % len) % len;
    return s < 0 ? s + len : s;
}
static inline int64_t cs_link_from(const cs_links *links, int32_t k, int64_t t, int64_t len)
{
    const int64_t s = (t - links->off[k] % len) % len;
    return s < 0 ? s + len : s;
}

/* Tokens t0 .. t0+n-1 of the segment that starts at row `start` and has `len` rows. */
typedef struct cs_seg_span { int64_t start, len, t0, n; } cs_seg_span;

/** cs_seg_find - the segment of a row (never an empty segment) */
static inline int32_t cs_seg_find(cs_seg seg, int64_t row)
{
    int32_t lo = 0, hi = seg.n - 1;
    while (lo < hi) {
        int32_t mid = lo + (hi - lo + 1) / 2;
        if (seg.off[mid] <= row)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

/** cs_seg_span_at - the longest span from `row` (in segment s or later) that ends before `end` */
static inline cs_seg_span cs_seg_span_at(cs_seg seg, int32_t *s, int64_t row, int64_t end)
{
    while (seg.off[*s + 1] <= row)
        (*s)++;
    int64_t start = seg.off[*s], stop = seg.off[*s + 1];
    return (cs_seg_span){ start, stop - start, row - start, cs_min64(stop, end) - row };
}

#endif
