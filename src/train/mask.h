/* mask.h - mask tokens of a sequence and store their labels (pretraining). */
#ifndef CS_TRAIN_MASK_H
#define CS_TRAIN_MASK_H

#include <stdint.h>

/* Runs of tokens are chosen; what replaces the tokens of a run is drawn once for the run. */
typedef struct cs_mask {
    double  ratio;               /* share of the tokens that are chosen, 0 < ratio < 1 */
    double  hide, swap;          /* shares of the runs: hidden, swapped for other tokens; the rest
                                  * stays as it is and has to be told all the same */
    int32_t run;                 /* tokens per run: see cs_mask_run() */
    int32_t id;                  /* the [MASK] token */
    int32_t n_vocab;             /* tokens that a sequence has are CS_TOK_FIRST .. n_vocab - 1 */
} cs_mask;

/** cs_mask_run - tokens of a run that hides `span` bases or pieces in a row, where a base lies in
 * up to `overlap` tokens: no token that is left tells of a hidden base */
static inline int32_t cs_mask_run(int32_t overlap, int32_t span)
{
    return overlap - 1 + span;
}

/**
 * cs_mask_tokens - hide part of a sequence
 *
 * key      decides everything: the same key and tokens, the same result
 * id       [n] tokens; chosen ones are overwritten. Unknown tokens are never chosen
 * label    [n] receives token - CS_TOK_FIRST where one was chosen, -1 elsewhere
 * Returns  how many were chosen: at least one, unless all tokens are unknown
 * Source   80/10/10: Devlin et al., BERT, NAACL 2019; runs over overlapping k-mers: Ji et al.,
 *          DNABERT, Bioinformatics 37 (2021)
 */
int64_t cs_mask_tokens(const cs_mask *m, uint64_t key, int32_t *id, int64_t n, int32_t *label);

#endif
