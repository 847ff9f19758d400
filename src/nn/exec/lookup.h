/* lookup.h - look-up table of peptide words and its evidence for classes. */
#ifndef CS_NN_EXEC_LOOKUP_H
#define CS_NN_EXEC_LOOKUP_H

#include <stdbool.h>

#include "tok/peptide.h"

enum {
    CS_LOOKUP_HASH_BITS = 44,            /* of a word's hash, from the top, that are stored */
    CS_LOOKUP_MAX_CLASSES = 256,
    CS_LOOKUP_MAX_PAIR_CLASSES = 16,     /* of a model whose words have second classes */
    CS_LOOKUP_WORD_BYTES = 3
};

/* Words by the upper bits of their hashes. A word's 24 bits are its fingerprint (further bits of
 * its hash) above its code: the majority class of its groups, and, with few classes, the second
 * class: first n_class + second, and first twice without a second. */
typedef struct cs_lookup {
    cs_peptides words;
    int32_t     n_label;         /* classes of the model */
    int32_t    *class_of;        /* [n_label] the class of words of each */
    int32_t     n_class;         /* of words: those of the model, or the top taxa of a tree */
    int32_t     n_code;          /* n_class^2, or n_class */
    int32_t     code_bits, fingerprint_bits, bucket_bits, filter_bits;
    int64_t     n;               /* words */
    uint32_t   *first;           /* [2^bucket_bits + 1] a bucket's first word */
    uint8_t    *word;            /* [3 n] 24 bits each, little-endian, in order within a bucket */
    uint64_t   *filter;          /* [2^filter_bits / 64] bit set: some word's hash begins so */
    float      *weight;          /* [n_class * n_code] row c: weights of each code for c */
} cs_lookup;

/**
 * cs_lookup_new - an empty table with space for n words
 *
 * n_class      classes of words: also those of the model, unless cs_lookup_set_classes() follows
 * bucket_bits  log2 of the number of buckets
 * Returns  CS_OK; CS_EUSAGE (too many classes, no or too many words); CS_EMEM
 */
int cs_lookup_new(const cs_peptides *words, int32_t n_class, int64_t n, int32_t bucket_bits,
                  cs_lookup **out) CS_MUST_CHECK;
/**
 * cs_lookup_set_classes - let several classes of the model share a class of words
 *
 * class_of  [n_label] the class of words of each class of the model, numbered in the order of their
 *           first classes
 * Returns   CS_OK; CS_EUSAGE with other numbers, or unless every class of words has a class
 */
int cs_lookup_set_classes(cs_lookup *l, int32_t n_label, const int32_t *class_of) CS_MUST_CHECK;
/** cs_lookup_same_classes - do the classes of two models share classes of words alike? */
bool cs_lookup_same_classes(const cs_lookup *a, const cs_lookup *b);
/** cs_lookup_copy - another one with the same words and weights; CS_OK or CS_EMEM */
int  cs_lookup_copy(const cs_lookup *l, cs_lookup **out) CS_MUST_CHECK;
void cs_lookup_free(cs_lookup *l);

/** cs_lookup_bucket_bits - for eight to sixteen words in a bucket, of n in all */
int32_t cs_lookup_bucket_bits(int64_t n);
/** cs_lookup_bytes - of a table of n words for so many classes, in a file */
int64_t cs_lookup_bytes(int32_t n_class, int64_t n);

/** cs_lookup_bucket, cs_lookup_fingerprint - bucket of a hash, and its stored bits */
static inline uint32_t cs_lookup_bucket(const cs_lookup *l, uint64_t hash)
{
    return l->bucket_bits ? (uint32_t)(hash >> (64 - l->bucket_bits)) : 0;
}
static inline uint32_t cs_lookup_fingerprint(const cs_lookup *l, uint64_t hash)
{
    return (uint32_t)(hash << l->bucket_bits >> (64 - l->fingerprint_bits));
}

/** cs_lookup_word, cs_lookup_set_word - word i: fingerprint << code_bits | code */
static inline uint32_t cs_lookup_word(const cs_lookup *l, int64_t i)
{
    const uint8_t *w = l->word + CS_LOOKUP_WORD_BYTES * i;

    return (uint32_t)w[0] | (uint32_t)w[1] << 8 | (uint32_t)w[2] << 16;
}
static inline void cs_lookup_set_word(cs_lookup *l, int64_t i, uint32_t word)
{
    for (int k = 0; k < CS_LOOKUP_WORD_BYTES; k++)
        l->word[CS_LOOKUP_WORD_BYTES * i + k] = (uint8_t)(word >> 8 * k);
}

/** cs_lookup_code - code of a word with majority class `first` and second class `second`; the same
 * twice without a second */
static inline int32_t cs_lookup_code(const cs_lookup *l, int32_t first, int32_t second)
{
    return l->n_code > l->n_class ? first * l->n_class + second : first;
}

/**
 * cs_lookup_index - build the filter of a table whose words are final
 *
 * Most words of a sequence are in no table; the filter, at most 2 MiB, discards most of these
 * without access to the table. Hits do not depend on it.
 */
void cs_lookup_index(cs_lookup *l);

/** cs_lookup_flaw - the first inconsistency of a table from a file, or NULL */
const char *cs_lookup_flaw(const cs_lookup *l);

/**
 * cs_lookup_count - words of a sequence that are in the table, by their codes
 *
 * n_thread  threads that count; hits do not depend on it
 * hit       [n_code]
 * Thread    any
 */
void cs_lookup_count(const cs_lookup *l, const char *base, int64_t n_base, int n_thread,
                     int64_t *hit);

/**
 * cs_lookup_evidence - added to a sequence's raw prediction: weight log(1 + hits)
 *
 * The same bit for bit for the reverse complement. n_thread as in cs_lookup_count(); out [n_label]
 */
void cs_lookup_evidence(const cs_lookup *l, const char *base, int64_t n_base, int n_thread,
                        float *out);

#endif
