/* alphabet.c - the letters of nucleotide sequences: case, codes, complements.
 *
 * Source   Nomenclature Committee of the IUB, "Nomenclature for incompletely specified bases in
 *          nucleic acid sequences", 1984 (NAR 13:3021), table 1.
 *
 * DESIGN: with AVX2, 32 letters are processed at a time. The low four bits of A, C, G and T differ,
 * so a shuffle gives the only candidate for a byte; bits 1 and 2 are 0 1 3 2, whose Gray code is
 * the base's number. Other letters use the tables.
 */
#include "io/alphabet.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"

#define REST4 4, 4, 4, 4
#define REST16 REST4, REST4, REST4, REST4
#define REST64 REST16, REST16, REST16, REST16
/* The columns of ASCII from '@' to 'O', and from 'P' to '_': A C G at 1 3 7, T U at 4 5. */
#define ROW_A 4, 0, 4, 1, 4, 4, 4, 2, REST4, REST4
#define ROW_P REST4, 3, 3, 4, 4, REST4, REST4

const uint8_t cs_base_code[256] = {
    REST64, ROW_A, ROW_P, ROW_A, ROW_P, REST64, REST64
};

/* Either case of one letter. */
#define BOTH(upper, lower, value) [upper] = value, [lower] = value

const char cs_base_upper[256] = {
    BOTH('A', 'a', 'A'), BOTH('C', 'c', 'C'), BOTH('G', 'g', 'G'), BOTH('T', 't', 'T'),
    BOTH('U', 'u', 'T'), BOTH('R', 'r', 'R'), BOTH('Y', 'y', 'Y'), BOTH('S', 's', 'S'),
    BOTH('W', 'w', 'W'), BOTH('K', 'k', 'K'), BOTH('M', 'm', 'M'), BOTH('B', 'b', 'B'),
    BOTH('D', 'd', 'D'), BOTH('H', 'h', 'H'), BOTH('V', 'v', 'V'), BOTH('N', 'n', 'N'),
    ['-'] = 'N', ['.'] = 'N', ['*'] = 'N'
};

const char cs_base_complement[256] = {
    ['A'] = 'T', ['C'] = 'G', ['G'] = 'C', ['T'] = 'A', ['R'] = 'Y', ['Y'] = 'R',
    ['S'] = 'S', ['W'] = 'W', ['K'] = 'M', ['M'] = 'K', ['B'] = 'V', ['V'] = 'B',
    ['D'] = 'H', ['H'] = 'D', ['N'] = 'N',
    ['a'] = 't', ['c'] = 'g', ['g'] = 'c', ['t'] = 'a', ['r'] = 'y', ['y'] = 'r',
    ['s'] = 's', ['w'] = 'w', ['k'] = 'm', ['m'] = 'k', ['b'] = 'v', ['v'] = 'b',
    ['d'] = 'h', ['h'] = 'd', ['n'] = 'n'
};

int64_t cs_base_max_unknown(double share, int64_t n)
{
    return (int64_t)(share * (double)n * (1 + 1e-12));
}

void cs_base_revcomp(const char *in, int64_t n, char *out)
{
    for (int64_t i = 0; i < n; i++)
        out[n - 1 - i] = cs_base_complement[(unsigned char)in[i]];
}

bool cs_allele_is_sequence(const char *s)
{
    while (cs_base_upper[(unsigned char)*s] && *s != '*' && *s != '.' && *s != '-')
        s++;
    return *s == '\0';
}

static bool codes_by_table(const char *base, int64_t n, uint8_t *code)
{
    uint8_t all = 0;
    for (int64_t i = 0; i < n; i++) {
        code[i] = cs_base_code[(unsigned char)base[i]];
        all |= code[i];
    }
    return all < 4;
}

static bool fold_by_table(const char *restrict src, int64_t n, char *restrict dst)
{
    bool plain = true;
    for (int64_t i = 0; i < n; i++) {
        dst[i] = cs_base_upper[(unsigned char)src[i]];
        plain &= dst[i] == 'A' || dst[i] == 'C' || dst[i] == 'G' || dst[i] == 'T';
    }
    return plain;
}

enum { STEP = 32 };              /* letters of a vector */

#if defined(__x86_64__)

#define TARGET __attribute__((target("avx2")))

/* All ones where a byte is A, C, G or T. */
TARGET static inline __m256i is_plain(__m256i c)
{
    /* 0 is no byte that ends in 1 to 15, nor 1 one that ends in 0; bytes from 128 on give 0. */
    const __m256i letter = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(1, 'A', 0, 'C', 'T', 0, 0, 'G', 0, 0, 0, 0, 0, 0, 0, 0));
    return _mm256_cmpeq_epi8(c, _mm256_shuffle_epi8(letter, c));
}

TARGET static int64_t fold_avx2(const char *restrict src, int64_t n, char *restrict dst)
{
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(src + i));
        c = _mm256_and_si256(c, _mm256_set1_epi8((char)0xdf));
        if (_mm256_movemask_epi8(is_plain(c)) != -1)
            break;
        _mm256_storeu_si256((__m256i *)(void *)(dst + i), c);
    }
    return i;
}

TARGET static int64_t codes_avx2(const char *restrict base, int64_t n, uint8_t *restrict code)
{
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        const __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(base + i));
        if (_mm256_movemask_epi8(is_plain(c)) != -1)
            break;
        const __m256i two = _mm256_and_si256(_mm256_srli_epi16(c, 1), _mm256_set1_epi8(3));
        const __m256i one = _mm256_and_si256(_mm256_srli_epi16(two, 1), _mm256_set1_epi8(1));
        _mm256_storeu_si256((__m256i *)(void *)(code + i), _mm256_xor_si256(two, one));
    }
    return i;
}

#else

static int64_t fold_avx2(const char *src, int64_t n, char *dst)
{
    (void)src, (void)n, (void)dst;
    return 0;
}

static int64_t codes_avx2(const char *base, int64_t n, uint8_t *code)
{
    (void)base, (void)n, (void)code;
    return 0;
}

#endif

/* fold_avx2() stops where fewer than STEP letters are left, or one is not A, C, G or T. */
bool cs_base_fold(const char *restrict src, int64_t n, char *restrict dst)
{
    const int64_t i = cs_cpu_has(CS_CPU_AVX2) ? fold_avx2(src, n, dst) : 0;
    return fold_by_table(src + i, n - i, dst + i);
}

bool cs_base_codes(const char *restrict base, int64_t n, uint8_t *restrict code)
{
    const bool wide = cs_cpu_has(CS_CPU_AVX2);
    bool plain = true;
    int64_t i = 0;
    while (i < n) {
        i += wide ? codes_avx2(base + i, n - i, code + i) : 0;
        const int64_t m = wide && n - i > STEP ? STEP : n - i;
        plain &= codes_by_table(base + i, m, code + i);
        i += m;
    }
    return plain;
}
