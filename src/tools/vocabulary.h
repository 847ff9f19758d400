/* vocabulary.h - train a vocabulary of subwords on records, and write tokenizer.json. */
#ifndef CS_TOOLS_VOCABULARY_H
#define CS_TOOLS_VOCABULARY_H

#include "infer/input_args.h"
#include "tok/bpe_train.h"

/** cs_vocabulary_train - read the inputs, train and write. CS_OK; CS_EFORMAT if the input has no
 * symbols of the alphabet; errors of reading and writing; CS_EMEM */
int cs_vocabulary_train(cs_input_args *input, int n_inflate, const cs_bpe_setting *set,
                        const char *output) CS_MUST_CHECK;

#endif
