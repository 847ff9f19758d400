/* token_text.h - tokens of records as text: pieces or ids, by a vocabulary or a model. */
#ifndef CS_INFER_TOKEN_TEXT_H
#define CS_INFER_TOKEN_TEXT_H

#include "infer/args.h"
#include "infer/input_args.h"

/**
 * cs_tokenize - read the inputs and write a line per record: its name, a tab, its tokens
 *
 * path     tokenizer.json, with the ids of that file, or a model, with the ids that its network
 *          reads; NULL is CS_EUSAGE
 * ids      write ids instead of text
 * Returns  CS_OK; CS_EMEM; errors of reading and writing
 */
int cs_tokenize(const char *path, cs_input_args *input, const cs_thread_counts *threads, bool ids,
                const char *output) CS_MUST_CHECK;

#endif
