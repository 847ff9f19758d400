/* kmer.h - the k-mer tokenizer, for tokenizers that contain its tokens. */
#ifndef CS_TOK_KMER_H
#define CS_TOK_KMER_H

#include <stdbool.h>
#include <stdint.h>

#include "tok/tokenizer.h"

extern const cs_tokenizer cs_tok_kmer;

/**
 * cs_kmer_new - make a state of cs_tok_kmer, to be closed by its close()
 *
 * k, stride  bases of a word, and from one to the next
 * canonical  a word and its reverse complement are the same token
 * Returns    CS_OK, CS_EUSAGE (k or stride out of range), CS_EMEM
 */
int cs_kmer_new(int64_t k, int64_t stride, bool canonical, void **state) CS_MUST_CHECK;

#endif
