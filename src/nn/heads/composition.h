/* composition.h - composition path of heads: logits from word counts, added to the encoder's.
 *
 * DESIGN. A branch of a head: the mean embedding of a sequence's words of k bases (equal for both
 * strands), normalisation, a hidden layer, and logits, which are added to those of the encoder's
 * branch. It is the network of the default model (ChordMixer without blocks). The encoder's branch
 * starts at zero, so the head starts with the composition's prediction.
 *
 * A path that starts from a trained bag fits most training records, and the gradient that is left
 * may be too small to teach the encoder's branch. A share `skip` of the training batches therefore
 * has the logits of the encoder alone.
 * Source   Neverova et al. 2016, ModDrop: the same for modalities of a sample
 *
 * Words are formed from tokens (exec/words.c), so batches hold one token sequence.
 */
#ifndef CS_NN_COMPOSITION_H
#define CS_NN_COMPOSITION_H

#include "nn/ops/layer.h"

/* Words of bases as tokens at distance `shift`: word map[sum_i id[i] n_vocab^(n-1-i)]. */
typedef struct cs_word_map { int32_t *map; int32_t n, shift, n_vocab; } cs_word_map;

typedef struct cs_composition {
    int32_t     k, n_word, channels;
    double      dropout, skip;
    int         embed;
    cs_norm     norm;
    cs_linear   fc, out;
    cs_word_map words;           /* map: owned, host memory; NULL until set */
} cs_composition;

enum { CS_COMPOSITION_K = 8 };   /* the longest words */

/** cs_composition_words - number of words of k bases, a word and its reverse complement counted
 * once, plus the two first ids of every vocabulary */
int32_t cs_composition_words(int32_t k);

/**
 * cs_composition_new - declares "head.composition.embedding.weight" (words, channels), "...norm"
 * (layer norm), "...fc" (channels to hidden) and "...out" (hidden to n_out)
 *
 * dropout  rate of hidden units
 * skip     share of training batches without the path
 */
cs_composition *cs_composition_new(int32_t k, int32_t channels, int32_t hidden, double dropout,
                                   double skip, int32_t n_out, cs_params *ps);
void cs_composition_free(cs_composition *c);     /* accepts NULL */

/** cs_composition_skips - does this training pass leave the path out? Drawn from the pass's key and
 * the number of dropout layers before: ask once per pass. false in a dry pass (memory counting) */
bool cs_composition_skips(cs_ctx *cx, const cs_composition *c);

/** cs_composition_apply - a new (n_seg, n_out) matrix, of the pass's tokens (cx->text). Positions
 * without a whole word count as zero vectors in the mean */
cs_mat cs_composition_apply(cs_ctx *cx, const cs_composition *c);

#endif
