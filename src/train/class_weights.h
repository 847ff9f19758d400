/* class_weights.h - loss weights by class or label: --class-weights. */
#ifndef CS_TRAIN_CLASS_WEIGHTS_H
#define CS_TRAIN_CLASS_WEIGHTS_H

#include "io/labels.h"
#include "nn/heads/head.h"
#include "train/dataset.h"

/**
 * cs_class_weights - the weights of --class-weights
 *
 * list     its value: none, balanced, a number per class, or CLASS=NUM pairs
 * d        whose training part is counted for balanced
 * classes  classes or labels of d
 * weight   receives them, to be freed: one per class; with head multilabel two per label, of its 0s
 *          and its 1s; with head variant of the 0s and 1s of all labels. NULL: none
 * Returns  CS_OK, or CS_EUSAGE for a list that does not fit the head
 */
int cs_class_weights(const char *list, const cs_head *head, const cs_dataset *d,
                     const cs_classes *classes, float **weight) CS_MUST_CHECK;

#endif
