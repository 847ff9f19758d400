/* bpe_train.h - train byte-pair merges on sequences. */
#ifndef CS_TOK_BPE_TRAIN_H
#define CS_TOK_BPE_TRAIN_H

#include "tok/bpe.h"

typedef struct cs_bpe_setting {
    cs_alphabet alphabet;
    int64_t  n_vocab;            /* ids in all: special ones, symbols, merged pieces */
    int64_t  max_piece;          /* symbols of the longest piece */
    int64_t  min_count;          /* minimum count of a merged pair */
    int64_t  n_sentence;         /* 0: use all input; else this number of sentences ... */
    int64_t  sentence_min, sentence_max;   /* ... of this many symbols */
    uint64_t seed;
} cs_bpe_setting;

/* The training corpus. Letters outside the alphabet (N, and other ambiguity codes) and the ends of
 * records split the text, so no piece contains or crosses them. */
typedef struct cs_bpe_corpus cs_bpe_corpus;

/** cs_bpe_corpus_new - CS_OK; CS_EUSAGE for incompatible settings; CS_EMEM */
int  cs_bpe_corpus_new(const cs_bpe_setting *s, cs_bpe_corpus **out) CS_MUST_CHECK;
void cs_bpe_corpus_free(cs_bpe_corpus *c);

/**
 * cs_bpe_corpus_add - a record's n symbols
 *
 * With n_sentence, the text is split into sentences of random lengths, and reservoir sampling keeps
 * n_sentence of them: memory is n_sentence * sentence_max bytes. Remainders shorter than
 * sentence_min are dropped.
 *
 * Returns  CS_OK; CS_EMEM; CS_EUSAGE for more than 2^31 symbols (sample sentences then)
 */
int cs_bpe_corpus_add(cs_bpe_corpus *c, const char *s, int64_t n) CS_MUST_CHECK;
/** cs_bpe_corpus_size - number of symbols to train on */
int64_t cs_bpe_corpus_size(const cs_bpe_corpus *c);
/** cs_bpe_corpus_short - with n_sentence, share of the symbols that are dropped as whole stretches,
 * which are shorter than sentence_min */
double cs_bpe_corpus_short(const cs_bpe_corpus *c);

/**
 * cs_bpe_train - repeatedly merge the most frequent pair
 *
 * Special pieces come first: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, then the alphabet's
 * symbols, then merged pieces in order. Among pairs of equal count the one with the smaller left id
 * is merged first, then that with the smaller right id. Overlapping occurrences, as of AA in AAA,
 * are counted each and merged from the left. A merge that recreates the text of an older piece
 * reuses its id.
 *
 * Returns  CS_OK, also if the pairs are exhausted before n_vocab; CS_EMEM
 * Memory   12 bytes per symbol and 40 per distinct pair
 * Time     every merged occurrence costs four look-ups
 */
int cs_bpe_train(cs_bpe_corpus *c, cs_bpe **out) CS_MUST_CHECK;

#endif
