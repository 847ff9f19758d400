/*
 * lookup.c - look-up table of peptide words and its evidence for classes.
 *
 * DESIGN
 * The first bits of a word's hash are its bucket, the next ones are compared. Buckets are
 * contiguous in one array, so a table takes little more than three bytes per word. A sequence is
 * processed in blocks: discard most words by a filter that fits the cache, prefetch the bucket
 * offsets of the others, then the buckets, then compare, so memory latencies overlap. Hits are
 * counted as integers, and evidence grows with the logarithm of their number, since words of one
 * gene occur together.
 */
#include "nn/exec/lookup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MAX_WORDS = 1 << 26, MAX_BUCKET_BITS = 24, WORD_BITS = 8 * CS_LOOKUP_WORD_BYTES,
       MIN_FILTER_BITS = 6, MAX_FILTER_BITS = 24 };

/* Arrays of hits have CS_LOOKUP_MAX_CLASSES elements, and code_bits is at most 8. */
_Static_assert(CS_LOOKUP_MAX_PAIR_CLASSES * CS_LOOKUP_MAX_PAIR_CLASSES
               <= CS_LOOKUP_MAX_CLASSES && CS_LOOKUP_MAX_CLASSES <= 256,
               "no table has more codes than classes are supported");

/* Sums over the codes by larger weights may not be finite. */
static const float max_weight = 1e30f;

int32_t cs_lookup_bucket_bits(int64_t n)
{
    int32_t bits = 0;

    while (bits < MAX_BUCKET_BITS && n >> (bits + 4) > 0)
        bits++;
    return bits;
}

/* n_code of a table for so many classes. */
static int32_t lookup_codes(int32_t n_class)
{
    return n_class <= CS_LOOKUP_MAX_PAIR_CLASSES ? n_class * n_class : n_class;
}

int64_t cs_lookup_bytes(int32_t n_class, int64_t n)
{
    return CS_LOOKUP_WORD_BYTES * n + 4 * (((int64_t)1 << cs_lookup_bucket_bits(n)) + 1
                                           + (int64_t)n_class * lookup_codes(n_class));
}

int cs_lookup_new(const cs_peptides *words, int32_t n_class, int64_t n, int32_t bucket_bits,
                  cs_lookup **out)
{
    *out = NULL;
    if (n_class < 2 || n_class > CS_LOOKUP_MAX_CLASSES || n < 1 || n > MAX_WORDS ||
        bucket_bits < 0 || bucket_bits > MAX_BUCKET_BITS)
        return cs_fail(CS_EUSAGE, "a look-up table takes 1 to %d words and 2 to %d classes, not "
                       "%lld and %d", (int)MAX_WORDS, (int)CS_LOOKUP_MAX_CLASSES, (long long)n,
                       (int)n_class);
    cs_lookup *l = cs_xcalloc(1, sizeof *l);
    l->words = *words;
    l->n_label = l->n_class = n_class;
    l->class_of = cs_xcalloc((size_t)n_class, sizeof *l->class_of);
    for (int32_t c = 0; c < n_class; c++)
        l->class_of[c] = c;
    l->n_code = lookup_codes(n_class);
    while (1 << l->code_bits < l->n_code)
        l->code_bits++;
    l->bucket_bits = bucket_bits;
    l->fingerprint_bits = WORD_BITS - l->code_bits;
    if (l->fingerprint_bits > CS_LOOKUP_HASH_BITS - l->bucket_bits)
        l->fingerprint_bits = CS_LOOKUP_HASH_BITS - l->bucket_bits;
    l->n = n;
    l->first = cs_huge_alloc(((size_t)1 << l->bucket_bits) + 1, sizeof *l->first);
    l->word = cs_huge_alloc((size_t)n, CS_LOOKUP_WORD_BYTES);
    l->weight = cs_alloc((size_t)n_class * (size_t)l->n_code, sizeof *l->weight);
    if (!l->first || !l->word || !l->weight) {
        cs_lookup_free(l);
        return cs_fail(CS_EMEM, "out of memory for a look-up table of %lld words", (long long)n);
    }
    memset(l->weight, 0, (size_t)n_class * (size_t)l->n_code * sizeof *l->weight);
    *out = l;
    return CS_OK;
}

/* Every class of words is that of some class of the model, and its number is by the first. */
static bool sound_classes(const cs_lookup *l, int32_t n_label, const int32_t *class_of)
{
    int32_t n_used = 0;

    for (int32_t k = 0; k < n_label; k++) {
        if (class_of[k] < 0 || class_of[k] > n_used)
            return false;
        n_used += class_of[k] == n_used;
    }
    return n_used == l->n_class && n_label <= CS_LOOKUP_MAX_CLASSES;
}

int cs_lookup_set_classes(cs_lookup *l, int32_t n_label, const int32_t *class_of)
{
    if (!sound_classes(l, n_label, class_of))
        return cs_fail(CS_EUSAGE, "the look-up table has words of %d classes, which are not those "
                       "of the model", (int)l->n_class);
    free(l->class_of);
    l->n_label = n_label;
    l->class_of = cs_xcalloc((size_t)n_label, sizeof *l->class_of);
    memcpy(l->class_of, class_of, (size_t)n_label * sizeof *class_of);
    return CS_OK;
}

bool cs_lookup_same_classes(const cs_lookup *a, const cs_lookup *b)
{
    return a->n_class == b->n_class && a->n_label == b->n_label
        && memcmp(a->class_of, b->class_of, (size_t)a->n_label * sizeof *a->class_of) == 0;
}

int cs_lookup_copy(const cs_lookup *l, cs_lookup **out)
{
    const size_t n_first = ((size_t)1 << l->bucket_bits) + 1;
    int rc = CS_OK;

    CS_TRY(cs_lookup_new(&l->words, l->n_class, l->n, l->bucket_bits, out));
    CS_TRY(cs_lookup_set_classes(*out, l->n_label, l->class_of));
    memcpy((*out)->first, l->first, n_first * sizeof *l->first);
    memcpy((*out)->word, l->word, (size_t)l->n * CS_LOOKUP_WORD_BYTES);
    memcpy((*out)->weight, l->weight,
           (size_t)l->n_class * (size_t)l->n_code * sizeof *l->weight);
    cs_lookup_index(*out);
out:
    return rc;
}

void cs_lookup_free(cs_lookup *l)
{
    if (!l)
        return;
    CS_FREE(l->class_of, l->first, l->word, l->weight, l->filter, l);
}

/* ---- reading from a model file --------------------------------------------------------------- */

static bool sound_bucket(const cs_lookup *l, int64_t b)
{
    for (uint32_t i = l->first[b]; i < l->first[b + 1]; i++) {
        const uint32_t word = cs_lookup_word(l, i), fingerprint = word >> l->code_bits;
        if ((int64_t)(word & ((1u << l->code_bits) - 1)) >= l->n_code)
            return false;
        if (fingerprint >> l->fingerprint_bits != 0)
            return false;
        if (i > l->first[b] && fingerprint <= cs_lookup_word(l, i - 1) >> l->code_bits)
            return false;
    }
    return true;
}

const char *cs_lookup_flaw(const cs_lookup *l)
{
    const int64_t n_bucket = (int64_t)1 << l->bucket_bits;

    if (l->first[0] != 0 || l->first[n_bucket] != l->n)
        return "does not begin or end where its words do";
    for (int64_t b = 0; b < n_bucket; b++)
        if (l->first[b] > l->first[b + 1] || l->first[b + 1] > l->n)
            return "has buckets that are not in order";
    for (int64_t b = 0; b < n_bucket; b++)
        if (!sound_bucket(l, b))
            return "has words that are not in order, or of no class";
    for (int64_t i = 0; i < (int64_t)l->n_class * l->n_code; i++)
        if (!(fabsf(l->weight[i]) <= max_weight))
            return "has weights that are not finite, or too large";
    return NULL;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* The filter has one bit per hash's first filter_bits. */
static bool may_have(const cs_lookup *l, uint64_t hash)
{
    const uint64_t at = hash >> (64 - l->filter_bits);

    return l->filter[at / 64] >> at % 64 & 1;
}

void cs_lookup_index(cs_lookup *l)
{
    const int32_t hash_bits = l->bucket_bits + l->fingerprint_bits;

    l->filter_bits = MIN_FILTER_BITS;
    while (l->filter_bits < MAX_FILTER_BITS && l->n >> (l->filter_bits - 3) > 0)
        l->filter_bits++;
    if (l->filter_bits > hash_bits)
        l->filter_bits = hash_bits;
    free(l->filter);
    l->filter = cs_xcalloc(((size_t)1 << l->filter_bits) / 64 + 1, sizeof *l->filter);
    for (int64_t b = 0; b < (int64_t)1 << l->bucket_bits; b++)
        for (uint32_t i = l->first[b]; i < l->first[b + 1]; i++) {
            const uint32_t fingerprint = cs_lookup_word(l, i) >> l->code_bits;
            const uint64_t hash = (uint64_t)b << l->fingerprint_bits | fingerprint;
            const uint64_t at = hash >> (hash_bits - l->filter_bits);
            l->filter[at / 64] |= (uint64_t)1 << at % 64;
        }
}

static void find_hit(const cs_lookup *l, uint64_t hash, int64_t *hit)
{
    const uint32_t b = cs_lookup_bucket(l, hash), fingerprint = cs_lookup_fingerprint(l, hash);
    const uint32_t mask = (1u << l->code_bits) - 1;

    for (uint32_t i = l->first[b]; i < l->first[b + 1]; i++) {
        const uint32_t word = cs_lookup_word(l, i);
        if (word >> l->code_bits == fingerprint)
            hit[word & mask]++;
    }
}

/* Moves the hashes that may be in the table to the front; returns their number. */
static int sieve(const cs_lookup *l, uint64_t *hash, int n)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        const uint64_t h = hash[i];
        hash[kept] = h;
        kept += may_have(l, h);
    }
    return kept;
}

/* The words of the block of windows at `from`, as by cs_peptides_hash(). */
static void count_block(const cs_lookup *l, const char *base, int64_t n_base, int64_t from,
                        int64_t *hit)
{
    uint64_t hash[2 * CS_PEPTIDE_BLOCK];
    const int n = sieve(l, hash, cs_peptides_hash(&l->words, base, n_base, from, hash));

    for (int i = 0; i < n; i++)
        __builtin_prefetch(&l->first[cs_lookup_bucket(l, hash[i])]);
    for (int i = 0; i < n; i++)
        __builtin_prefetch(&l->word[CS_LOOKUP_WORD_BYTES
                                    * (int64_t)l->first[cs_lookup_bucket(l, hash[i])]]);
    for (int i = 0; i < n; i++)
        find_hit(l, hash[i], hit);
}

void cs_lookup_count(const cs_lookup *l, const char *base, int64_t n_base, int n_thread,
                     int64_t *hit)
{
    const int64_t n_window = cs_peptides_windows(&l->words, n_base);

    memset(hit, 0, (size_t)l->n_code * sizeof *hit);
    if (n_thread == 1) {
        for (int64_t from = 0; from < n_window; from += CS_PEPTIDE_BLOCK)
            count_block(l, base, n_base, from, hit);
        return;
    }
    #pragma omp parallel for reduction(+ : hit[:l->n_code]) num_threads(n_thread)
    for (int64_t from = 0; from < n_window; from += CS_PEPTIDE_BLOCK)
        count_block(l, base, n_base, from, hit);
}

void cs_lookup_evidence(const cs_lookup *l, const char *base, int64_t n_base, int n_thread,
                        float *out)
{
    int64_t hit[CS_LOOKUP_MAX_CLASSES];
    double sum[CS_LOOKUP_MAX_CLASSES] = { 0 };

    cs_lookup_count(l, base, n_base, n_thread, hit);
    for (int32_t h = 0; h < l->n_code; h++) {
        const double log_hit = hit[h] > 0 ? log1p((double)hit[h]) : 0;
        for (int32_t c = 0; hit[h] > 0 && c < l->n_class; c++)
            sum[c] += (double)l->weight[c * l->n_code + h] * log_hit;
    }
    for (int32_t k = 0; k < l->n_label; k++)
        out[k] = (float)sum[l->class_of[k]];
}
