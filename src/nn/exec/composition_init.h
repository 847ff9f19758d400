/* composition_init.h - initialise a head's composition path from a trained bag of k-mers. */
#ifndef CS_NN_COMPOSITION_INIT_H
#define CS_NN_COMPOSITION_INIT_H

#include "nn/exec/model.h"

/**
 * cs_bag_adopt - copy a trained bag of words into the composition path
 *
 * bag      of the same words and labels: ChordMixer without blocks, the mean over all tokens, layer
 *          norm, a hidden layer
 * Returns  CS_OK, or CS_EMODEL naming the mismatch
 * Memory   both in the same backend
 */
int cs_bag_adopt(cs_model *m, const cs_model *bag) CS_MUST_CHECK;

/** cs_bag_start - before training: factor on the path's learning rate, and its weights from the bag
 * in a file (NULL: none). Errors of cs_model_load() and cs_bag_adopt() */
int cs_bag_start(cs_model *m, const char *path, double rate) CS_MUST_CHECK;

#endif
