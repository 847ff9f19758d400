/* bench_tiles.c - the peak rate of AMX's products of bf16 in tile registers, in Gflop/s.
 *
 * Prints the median and the best of 300 samples of a millisecond on one thread.
 */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cpu.h"

enum { SAMPLES = 300, STEPS = 50000, TILES = 4, FLOP = 2 * 16 * 16 * 32 };

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Four independent sums. */
static double sample(void)
{
    const double start = now();
    for (int i = 0; i < STEPS; i++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    return (double)STEPS * TILES * FLOP / (now() - start) * 1e-9;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    struct { uint8_t palette, rest[15]; uint16_t row_bytes[16]; uint8_t rows[16]; } c = { 0 };
    double rate[SAMPLES];

    if (cs_cpu_init() != CS_OK || !cs_cpu_has(CS_CPU_AMX)) {
        printf("# this processor has no such kernels\n");
        return 0;
    }
    c.palette = 1;
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = 64;
        c.rows[i] = 16;
    }
    __asm__ volatile("" : : "r"(&c) : "memory");
    _tile_loadconfig(&c);
    for (int i = 0; i < SAMPLES; i++)
        rate[i] = sample();
    _tile_release();
    qsort(rate, SAMPLES, sizeof *rate, compare);
    printf("peak\tbest\n%.0f\t%.0f\n", rate[SAMPLES / 2], rate[SAMPLES - 1]);
    return 0;
}
