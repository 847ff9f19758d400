/* model_export.h - export a model as a folder for model hubs. */
#ifndef CS_RUN_MODEL_EXPORT_H
#define CS_RUN_MODEL_EXPORT_H

#include "nn/exec/model.h"

/**
 * cs_model_export - model.safetensors, config.json, tokenizer.json, labels.tsv, README.md,
 * SHA256SUMS
 *
 * dir      created if missing; files of these names in it are replaced
 * licence  for the card: an SPDX identifier
 * Returns  CS_OK; CS_EIO; CS_EMEM
 */
int cs_model_export(cs_model *m, const char *dir, const char *licence) CS_MUST_CHECK;

#endif
