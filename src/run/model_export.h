/* model_export.h - export a model as a folder for model hubs. */
#ifndef CS_RUN_MODEL_EXPORT_H
#define CS_RUN_MODEL_EXPORT_H

#include "nn/exec/model.h"

/**
 * cs_model_export - model.safetensors, config.json, tokenizer.json, labels.tsv, README.md (the
 * card), SHA256SUMS, and taxonomy.tsv and calibration.json if the model has them
 *
 * dir      created if missing; files of these names in it are replaced, all or none
 * licence  for the card: an SPDX identifier
 * Returns  CS_OK; CS_EUSAGE for a path that is too long, or a file in dir that this model has not;
 *          CS_EMODEL for its taxonomy; CS_EIO; CS_EMEM
 */
int cs_model_export(cs_model *m, const char *dir, const char *licence) CS_MUST_CHECK;

#endif
