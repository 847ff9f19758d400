/* mask.h - mask tokens of a sequence and store their labels (pretraining). */
#ifndef CS_TRAIN_MASK_H
#define CS_TRAIN_MASK_H

#include <stdint.h>

/* Runs of tokens are chosen; the replacement is drawn once per run. */
typedef struct cs_mask {
    double  ratio;               /* share of the tokens that are chosen, 0 < ratio < 1 */
    double  p_mask, p_random;    /* shares of the runs: masked, replaced by random tokens; the rest
                                  * is unchanged, but still predicted */
    int32_t run;                 /* tokens per run: see cs_mask_run() */
    int32_t id;                  /* the [MASK] token */
    int32_t n_vocab;             /* tokens of sequences are CS_TOK_FIRST .. n_vocab - 1 */
} cs_mask;

/** cs_mask_run - tokens of a run that masks `span` consecutive bases or pieces, if a base is in up
 * to `overlap` tokens: no visible token contains a masked base */
static inline int32_t cs_mask_run(int32_t overlap, int32_t span)
{
    return overlap - 1 + span;
}

/**
 * cs_mask_tokens - mask part of a sequence
 *
 * key      the result is a function of key and tokens
 * id       [n] tokens; chosen ones are overwritten. Unknown tokens are never chosen
 * label    [n] receives token - CS_TOK_FIRST for chosen tokens, -1 elsewhere
 * Returns  number of chosen tokens: at least one, unless all are unknown
 * Source   80/10/10: Devlin et al., BERT, NAACL 2019; runs over overlapping k-mers: Ji et al.,
 *          DNABERT, Bioinformatics 37 (2021)
 */
int64_t cs_mask_tokens(const cs_mask *m, uint64_t key, int32_t *id, int64_t n, int32_t *label);

#endif
