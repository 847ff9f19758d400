/* vector.h - a model that answers with the vectors its head sees instead of the head's answer. */
#ifndef CS_NN_VECTOR_H
#define CS_NN_VECTOR_H

#include "nn/exec/model.h"

/**
 * cs_model_give_vectors - from now on an answer is a vector: raw, of values that are no classes
 *
 * hidden   what the head's last layer takes, instead of the pooled output of the encoder
 * width    receives its length, which cs_model_answer_len() then gives
 * Returns  CS_OK; CS_EUSAGE when the head has no such vector
 *
 * Labels stay as they are. Such a model neither learns nor is it saved.
 */
int cs_model_give_vectors(cs_model *m, bool hidden, int32_t *width) CS_MUST_CHECK;

/** cs_model_give_answers - undo it: the head answers again. Also before a twin that gives vectors
 * is freed (cs_model_twin()), since its head belongs to another model. Accepts NULL */
void cs_model_give_answers(cs_model *m);

#endif
