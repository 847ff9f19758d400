/* token_text.h - tokens of records as text: pieces or ids, by a vocabulary or a model. */
#ifndef CS_INFER_TOKEN_TEXT_H
#define CS_INFER_TOKEN_TEXT_H

#include "infer/args.h"

/**
 * cs_tokenize - read the inputs and write a line per record: its name, a tab, its tokens
 *
 * path     tokenizer.json, whose ids are those of other programs, or a model, whose ids are those
 *          of its network; NULL is CS_EUSAGE
 * ids      write numbers
 * Returns  CS_OK; errors of reading both and of writing; CS_EMEM
 */
int cs_tokenize(const char *path, const cs_input_args *input, const cs_split *split, bool ids,
                const char *output) CS_MUST_CHECK;

#endif
