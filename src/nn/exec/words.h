/* words.h - map a tokenizer's tokens to words of bases. */
#ifndef CS_NN_WORDS_H
#define CS_NN_WORDS_H

#include "nn/heads/composition.h"
#include "tok/tokenizer.h"

/**
 * cs_words_make - map from tokens to words of k bases, equal for both strands
 *
 * tok      NULL: real values, which have no words
 * w        receives the map, to be freed
 * Returns  CS_OK; CS_EUSAGE if tokens do not determine words; CS_EMEM
 */
int cs_words_make(const cs_tokenizer *tok, const void *tok_state, int32_t k, cs_word_map *w)
    CS_MUST_CHECK;

#endif
