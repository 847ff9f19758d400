/* words.h - map a tokenizer's tokens to words of bases. */
#ifndef CS_NN_WORDS_H
#define CS_NN_WORDS_H

#include "nn/heads/composition.h"
#include "tok/tokenizer.h"

/**
 * cs_words_make - how tokens make words of k bases, either strand's the same
 *
 * tok      NULL: real values, which make none
 * w        receives the map, to be freed
 * Returns  CS_OK; CS_EUSAGE where tokens do not tell words apart; CS_EMEM
 */
int cs_words_make(const cs_tokenizer *tok, const void *tok_state, int32_t k, cs_word_map *w)
    CS_MUST_CHECK;

#endif
