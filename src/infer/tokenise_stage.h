/* tokenise_stage.h - tokenise one chunk: for the tokenise stage and the library. */
#ifndef CS_INFER_TOKENISE_STAGE_H
#define CS_INFER_TOKENISE_STAGE_H

#include "infer/policy.h"

/**
 * cs_chunk_tokenise - list every record's views, tokenise them, and reserve memory for their
 * predictions
 *
 * c        its records are set; receives views
 * n_thread threads for the search of a model's proteins
 * Returns  CS_OK; CS_EMEM naming the records
 */
int cs_chunk_tokenise(const cs_policy *p, cs_chunk *c, int n_thread) CS_MUST_CHECK;

/** cs_chunk_free_ids - token ids, after batches have copied them */
void cs_chunk_free_ids(cs_chunk *c);

#endif
