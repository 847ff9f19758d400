/* rng.h - counter-based random numbers: a value is a pure function of (key, counter). */
#ifndef CS_BASE_RNG_H
#define CS_BASE_RNG_H

#include <stdint.h>

/* Functions that kernels for a GPU use, too: a mask drawn there is the mask drawn here. */
#ifdef __CUDACC__
#define CS_EVERYWHERE __host__ __device__
#else
#define CS_EVERYWHERE
#endif

/**
 * cs_rng_u64 - 64 random bits for a counter under a key
 *
 * splitmix64's finaliser over key and counter. No state, so any element's value can be computed
 * alone, in any order, on any thread, and equally on a GPU.
 * Source   Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014
 */
CS_EVERYWHERE static inline uint64_t cs_rng_u64(uint64_t key, uint64_t counter)
{
    uint64_t z = key + (counter + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/** cs_rng_unit - uniform in [0, 1), 24 bits: exact in float and in double */
CS_EVERYWHERE static inline double cs_rng_unit(uint64_t key, uint64_t counter)
{
    return (double)(cs_rng_u64(key, counter) >> 40) * (1.0 / 16777216.0);
}

/** cs_rng_key - a key for a sub-stream (epoch, tensor, purpose) of a key */
static inline uint64_t cs_rng_key(uint64_t key, uint64_t stream)
{
    return cs_rng_u64(key ^ UINT64_C(0xD1B54A32D192ED03), stream);
}

/** cs_rng_below - uniform in [0, n) without modulo bias worth naming (n < 2^32); n > 0 */
uint64_t cs_rng_below(uint64_t key, uint64_t counter, uint64_t n);

/** cs_rng_normal - standard normal (Box-Muller on counters 2c and 2c+1) */
double cs_rng_normal(uint64_t key, uint64_t counter);

/** cs_rng_shuffle - permute index[0 .. n-1] in place (Fisher-Yates); the permutation is a function
 * of key and n alone. Does not fill `index`: any values can be shuffled. */
void cs_rng_shuffle(uint64_t key, int64_t *index, int64_t n);

/**
 * cs_rng_permute - the image of i in the permutation of 0 .. n - 1 given by the key
 *
 * Needs no memory: a Feistel network over the next power of four, iterated until the result is
 * below n, at most four times on average.
 * Source   Black, Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002
 */
uint64_t cs_rng_permute(uint64_t key, uint64_t i, uint64_t n);

#endif
