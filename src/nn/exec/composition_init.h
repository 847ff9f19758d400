/* composition_init.h - initialise a head's composition path from a trained bag of k-mers. */
#ifndef CS_NN_COMPOSITION_INIT_H
#define CS_NN_COMPOSITION_INIT_H

#include "nn/exec/model.h"

/**
 * cs_composition_adopt - copy a trained bag of words into the composition path
 *
 * bag      of the same words and labels: ChordMixer without blocks, the mean over all tokens, layer
 *          norm, a hidden layer
 * Returns  CS_OK, or CS_EMODEL naming the mismatch
 * Memory   both in the same backend
 */
int cs_composition_adopt(cs_model *m, const cs_model *bag) CS_MUST_CHECK;

/**
 * cs_composition_init - before training: set the factor on the path's learning rate, and copy the
 * bag
 *
 * path     file of the bag; NULL: the path keeps its weights
 * rate     the factor
 * Returns  CS_OK; the errors of cs_model_load() and cs_composition_adopt(), naming the file
 */
int cs_composition_init(cs_model *m, const char *path, double rate) CS_MUST_CHECK;

#endif
