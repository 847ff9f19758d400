/* masked.h - what a model that was pretrained expects at places of a sequence. */
#ifndef CS_NN_MASKED_H
#define CS_NN_MASKED_H

#include "nn/model.h"

/* A sequence and the places asked about. */
typedef struct cs_masked {
    const int32_t *id;           /* [n] tokens */
    int64_t        n;
    const int64_t *pos;          /* [n_pos] places, 0 <= pos < n */
    int32_t        n_pos;
    bool           hide;         /* put the model's mask there: what the rest lets expect; else the
                                  * model sees the tokens */
} cs_masked;

/** cs_masked_check - CS_OK, or CS_EMODEL for a model that was not pretrained; `what` names it */
int cs_masked_check(const cs_model *m, const char *what) CS_MUST_CHECK;

/**
 * cs_masked_logp - log-probabilities of all tokens at the places of several sequences
 *
 * m        passed by cs_masked_check()
 * s        [n] sequences whose numbers of tokens have one depth (cs_depth()); they fit the model
 * out      [sum of n_pos, n_label] natural logarithms, sequence after sequence; token t is in
 *          column t - CS_TOK_FIRST
 * Returns  CS_OK; CS_EMEM; the errors of cs_model_predict()
 * Thread   one at a time per model
 */
int cs_masked_logp(cs_model *m, const cs_masked *s, int32_t n, float *out) CS_MUST_CHECK;

#endif
