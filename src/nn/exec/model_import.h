/* model_import.h - import checkpoints of other programs. */
#ifndef CS_NN_EXEC_MODEL_IMPORT_H
#define CS_NN_EXEC_MODEL_IMPORT_H

#include "nn/exec/model.h"

/**
 * cs_model_import - a model from the tensors of a checkpoint, by their original names
 *
 * path     a safetensors file: encoder and decoder of CDIL for DNA (github.com/wiedersehne/cdilDNA,
 *          class Model4Pretrain), whose one-hot input is not embedded
 * alphabet the letters of the input's channels in order, `n` for an unknown base: "acgnt"
 * Returns  CS_OK; CS_EIO; CS_EFORMAT (not such a checkpoint, with the mismatch); CS_EUSAGE (the
 *          alphabet); CS_EMEM
 *
 * Tokens are bases; the embedding is one-hot, and padding, which masked tokens use, is zero. The
 * head classifies by the mean over the tokens of the decoder's output.
 */
int cs_model_import(const char *path, const char *alphabet, cs_backend *be, cs_model **out)
    CS_MUST_CHECK;

#endif
