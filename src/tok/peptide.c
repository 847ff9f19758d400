/*
 * peptide.c - peptide words in all six reading frames of a sequence, and a sample of them.
 *
 * DESIGN
 * A codon begins at every base, on either strand: one table gives the letters of both. Quads of
 * letters three bases apart are computed for a whole block at once, in simple loops that compilers
 * vectorise. A word is sampled by its first quad, so seven windows in eight (--sample 8) need
 * nothing else; other words are combined from four quads, which overlap if k is below 16.
 * Minimizers were rejected: their choice depends on neighbours, so a change of one letter affects
 * more words.
 */
#include "tok/peptide.h"

#include <stdbool.h>
#include <string.h>

#include "tok/translate.h"

enum { STOP = 15, QUAD = 4 };

static int read_alphabet(const char *alphabet, uint8_t *letter)
{
    unsigned group = 0;

    memset(letter, STOP, 256);
    for (const char *s = alphabet; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        group += c == ',';
        if (c == ',')
            continue;
        if (!strchr(cs_amino_acids, c) || letter[c] != STOP || group >= CS_PEPTIDE_GROUPS)
            return cs_fail(CS_EUSAGE, "the peptide alphabet '%s' is not the 20 amino acids in at "
                           "most %d groups, each once", alphabet, (int)CS_PEPTIDE_GROUPS);
        letter[c] = (uint8_t)group;
    }
    for (const char *s = cs_amino_acids; *s; s++)
        if (letter[(unsigned char)*s] == STOP)
            return cs_fail(CS_EUSAGE, "the peptide alphabet '%s' lacks the amino acid %c", alphabet,
                           *s);
    return CS_OK;
}

int cs_peptides_init(cs_peptides *p, const char *alphabet, int64_t k, int64_t sample)
{
    uint8_t letter[256];
    int rc = CS_OK;

    if (k < CS_PEPTIDE_MIN_K || k > CS_PEPTIDE_MAX_K)
        return cs_fail(CS_EUSAGE, "a peptide word has %d to %d letters, not %lld",
                       (int)CS_PEPTIDE_MIN_K, (int)CS_PEPTIDE_MAX_K, (long long)k);
    if (sample < 1 || sample > 4096)
        return cs_fail(CS_EUSAGE, "the sampling rate of peptide words is one in 1 to 4096, not "
                       "in %lld", (long long)sample);
    if (strlen(alphabet) >= sizeof p->alphabet)
        return cs_fail(CS_EUSAGE, "the peptide alphabet '%s' is too long", alphabet);
    CS_TRY(read_alphabet(alphabet, letter));
    memset(p, 0, sizeof *p);
    memcpy(p->alphabet, alphabet, strlen(alphabet));
    p->k = (int32_t)k;
    p->sample = (int32_t)sample;
    memset(p->codon, STOP << 4 | STOP, sizeof p->codon);
    for (int i = 0; i < CS_CODONS; i++)
        p->codon[(i >> 4) << 6 | (i >> 2 & 3) << 3 | (i & 3)] = (uint8_t)(
            letter[(unsigned char)cs_genetic_code[i]] |
            letter[(unsigned char)cs_genetic_code[cs_codon_revcomp(i)]] << 4);
out:
    return rc;
}

/* Letters of a block, four at a time: those of the codons that begin at i, i + 3, i + 6, i + 9, in
 * the order in which a strand is read. */
enum { MAX_CODONS = CS_PEPTIDE_BLOCK + 3 * (CS_PEPTIDE_MAX_K - 1) };
struct quads { uint16_t forward[MAX_CODONS], reverse[MAX_CODONS]; };

static void fill_quads(const cs_peptides *p, const char *base, int n_codon, struct quads *q)
{
    uint8_t code[MAX_CODONS + 2], letter[MAX_CODONS];
    unsigned three;

    (void)cs_base_codes(base, n_codon + 2, code);
    three = (unsigned)code[0] << 3 | code[1];
    for (int i = 0; i < n_codon; i++) {
        three = (three << 3 | code[i + 2]) & 511;
        letter[i] = p->codon[three];
    }
    #pragma omp simd
    for (int i = 0; i < n_codon - 3 * (QUAD - 1); i++) {
        const uint16_t a = letter[i], b = letter[i + 3], c = letter[i + 6], d = letter[i + 9];
        q->forward[i] = (uint16_t)((a & 15) << 12 | (b & 15) << 8 | (c & 15) << 4 | (d & 15));
        q->reverse[i] = (uint16_t)((d >> 4) << 12 | (c >> 4) << 8 | (b >> 4) << 4 | (a >> 4));
    }
}

/* The finaliser of MurmurHash3. */
static uint64_t peptide_mix(uint64_t h)
{
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

/* Has the word a letter STOP? */
static bool has_stop(uint64_t word)
{
    return (word & word >> 1 & word >> 2 & word >> 3 & 0x1111111111111111u) != 0;
}

/* Positions i with a sampled quad at i + skip. */
static int sampled(const cs_peptides *p, const uint16_t *quad, int n, int skip, uint16_t *at)
{
    const uint32_t below = 65536 / (uint32_t)p->sample;
    int n_at = 0;

    for (int i = 0; i < n; i++) {
        at[n_at] = (uint16_t)i;
        n_at += (uint16_t)(quad[i + skip] * 40503u) < below;
    }
    return n_at;
}

/* Hashes of the words at those positions; place[j]: offset of their quad j. */
static int words(const uint16_t *quad, const uint16_t *at, int n_at, const int place[QUAD],
                 uint64_t *hash)
{
    int n = 0;

    for (int i = 0; i < n_at; i++) {
        const uint16_t *q = quad + at[i];
        const uint64_t word = (uint64_t)q[place[0]] << 48 | (uint64_t)q[place[1]] << 32 |
                              (uint64_t)q[place[2]] << 16 | q[place[3]];
        hash[n] = peptide_mix(word);
        n += !has_stop(word);
    }
    return n;
}

int cs_peptides_hash(const cs_peptides *p, const char *base, int64_t n_base, int64_t from,
                     uint64_t *hash)
{
    const int64_t left = cs_peptides_windows(p, n_base) - from;
    const int n_window = left < CS_PEPTIDE_BLOCK ? (int)left : CS_PEPTIDE_BLOCK, last = p->k - QUAD;
    const int letter[QUAD] = { 0, last < 4 ? last : 4, last < 8 ? last : 8, last };
    uint16_t at[CS_PEPTIDE_BLOCK];
    int forward[QUAD], reverse[QUAD], n_at, n;
    struct quads q;

    for (int j = 0; j < QUAD; j++) {
        forward[j] = 3 * letter[j];
        reverse[j] = 3 * (last - letter[j]);
    }
    fill_quads(p, base + from, n_window + 3 * (p->k - 1), &q);
    n_at = sampled(p, q.forward, n_window, 0, at);
    n = words(q.forward, at, n_at, forward, hash);
    n_at = sampled(p, q.reverse, n_window, 3 * last, at);
    return n + words(q.reverse, at, n_at, reverse, hash + n);
}
