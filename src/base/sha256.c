/* sha256.c - SHA-256 (FIPS 180-4). */
#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"
#include "base/mem.h"
#include "base/signals.h"

enum { PIECE_BYTES = 1 << 16 };

/* Fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_key[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

/* Macros, because gcc at -O1 calls a function, and under sanitizers models of some MB are hashed by
 * hundreds of tests. */
#define ROTR(x, n) ((x) >> (n) | (x) << (32 - (n)))
#define SUM(x, i, j, k) (ROTR(x, i) ^ ROTR(x, j) ^ ROTR(x, k))

void cs_sha256_init(cs_sha256 *s)
{
    static const uint32_t start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
    };
    memset(s, 0, sizeof *s);
    memcpy(s->h, start, sizeof start);
}

static void expand(const unsigned char *p, uint32_t w[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16
             | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (ROTR(a, 7) ^ ROTR(a, 18) ^ a >> 3)
             + w[i - 7] + (ROTR(b, 17) ^ ROTR(b, 19) ^ b >> 10);
    }
}

static void compress(cs_sha256 *s, const unsigned char *p)
{
    uint32_t w[64], *to = s->h;
    uint32_t a = to[0], b = to[1], c = to[2], d = to[3], e = to[4], f = to[5], g = to[6], h = to[7];

    expand(p, w);
    for (int i = 0; i < 64; i++) {
        const uint32_t t1 = h + SUM(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + round_key[i] + w[i];
        const uint32_t t2 = SUM(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    to[0] += a, to[1] += b, to[2] += c, to[3] += d;
    to[4] += e, to[5] += f, to[6] += g, to[7] += h;
}

#if defined(__x86_64__)
/* The same for n blocks, by the SHA extensions: their registers hold a, b, e, f and c, d, g, h, and
 * an instruction computes two rounds.
 * Source: Gulley et al. 2013, Intel SHA Extensions. */
__attribute__((target("sha,sse4.1")))
static void compress_fast(cs_sha256 *s, const unsigned char *p, size_t n)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i *const to = (__m128i *)s->h, *const to_high = (__m128i *)(s->h + 4);
    const __m128i low = _mm_shuffle_epi32(_mm_loadu_si128(to), 0xb1),
                  high = _mm_shuffle_epi32(_mm_loadu_si128(to_high), 0x1b);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0), w[4];

    for (; n > 0; n--, p += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), swap);
        for (int i = 0; i < 64; i += 4) {
            const __m128i key = _mm_loadu_si128((const __m128i *)(round_key + i));
            const __m128i wk = _mm_add_epi32(w[0], key);
            const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]),
                                              _mm_alignr_epi8(w[3], w[2], 4));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));
            w[0] = w[1];
            w[1] = w[2];
            w[2] = w[3];
            w[3] = _mm_sha256msg2_epu32(sum, w[3]);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(to, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(to_high, _mm_alignr_epi8(dchg, feba, 8));
}
#endif

static void compress_blocks(cs_sha256 *s, const unsigned char *p, size_t n)
{
#if defined(__x86_64__)
    if (cs_cpu_has(CS_CPU_SHA)) {
        compress_fast(s, p, n);
        return;
    }
#endif
    for (; n > 0; n--, p += 64)
        compress(s, p);
}

void cs_sha256_add(cs_sha256 *s, const void *data, size_t n)
{
    const unsigned char *p = data;
    const size_t at = s->n_bytes % 64;

    s->n_bytes += n;
    if (at > 0) {
        const size_t k = 64 - at < n ? 64 - at : n;
        memcpy(s->block + at, p, k);
        if (at + k < 64)
            return;
        compress_blocks(s, s->block, 1);
        p += k;
        n -= k;
    }
    compress_blocks(s, p, n / 64);
    if (n % 64 > 0)
        memcpy(s->block, p + n / 64 * 64, n % 64);
}

void cs_sha256_hex(cs_sha256 *s, char hex[65])
{
    static const unsigned char pad[64] = { 0x80 };
    uint64_t n_bits = 8 * s->n_bytes;
    unsigned char tail[8];

    for (int i = 0; i < 8; i++)
        tail[i] = (unsigned char)(n_bits >> (56 - 8 * i));
    cs_sha256_add(s, pad, 1 + (119 - s->n_bytes % 64) % 64);
    cs_sha256_add(s, tail, sizeof tail);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", s->h[i]);
}

int cs_sha256_file(const char *path, char hex[65])
{
    int rc = CS_OK;
    unsigned char *piece = cs_xmalloc(PIECE_BYTES);
    FILE *in = fopen(path, "rbe");
    cs_sha256 h;
    size_t n;

    if (in == NULL) {
        rc = cs_fail(CS_EIO, "cannot open '%s': %s", path, strerror(errno));
        goto out;
    }
    cs_sha256_init(&h);
    while (rc == CS_OK && (n = fread(piece, 1, PIECE_BYTES, in)) > 0) {
        cs_sha256_add(&h, piece, n);
        rc = cs_signal_caught() != 0 ? CS_ECANCEL : CS_OK;
    }
    if (ferror(in))
        rc = cs_fail(CS_EIO, "cannot read '%s': %s", path, strerror(errno));
    cs_sha256_hex(&h, hex);
out:
    if (in != NULL)
        (void)fclose(in);
    free(piece);
    return rc;
}
