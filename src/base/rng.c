/* rng.c - distributions and permutations over the counter-based generator. */
#include "base/rng.h"

#include <math.h>

static const double TWO_PI = 6.283185307179586476925286766559;

uint64_t cs_rng_below(uint64_t key, uint64_t counter, uint64_t n)
{
    /* The high word of a product (Lemire): the bias is below n / 2^64, and there is no loop, so a
     * counter always gives one number. CUDA has the same operation (__umul64hi). */
    return (uint64_t)(((unsigned __int128)cs_rng_u64(key, counter) * n) >> 64);
}

double cs_rng_normal(uint64_t key, uint64_t counter)
{
    double u = 1.0 - cs_rng_unit(key, 2 * counter);     /* (0, 1]: the logarithm is finite */
    double v = cs_rng_unit(key, 2 * counter + 1);

    return sqrt(-2.0 * log(u)) * cos(TWO_PI * v);
}

void cs_rng_shuffle(uint64_t key, int64_t *index, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)cs_rng_below(key, (uint64_t)i, (uint64_t)i + 1);
        int64_t swap = index[i];
        index[i] = index[j];
        index[j] = swap;
    }
}

uint64_t cs_rng_permute(uint64_t key, uint64_t i, uint64_t n)
{
    enum { ROUNDS = 6 };
    int half = 1;                /* bits of each half */

    while (half < 32 && (UINT64_C(1) << 2 * half) < n)
        half++;
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint64_t round = 0; round < ROUNDS; round++) {
            const uint64_t next = left ^ (cs_rng_u64(cs_rng_key(key, round), right) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}
