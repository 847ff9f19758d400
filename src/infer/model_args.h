/* model_args.h - the option --model, and the model that it names. */
#ifndef CS_INFER_MODEL_ARGS_H
#define CS_INFER_MODEL_ARGS_H

#include "infer/device_args.h"

typedef struct cs_model_args { const char *model; } cs_model_args;

extern const cs_opt cs_model_table[];      /* -m/--model */

/** cs_args_model - find the file of --model or the default model, and register it as an input of
 * the run. CS_OK; the errors of cs_model_find_default() and cs_paths_add_input() */
int cs_args_model(const char *path, char *found, size_t n_found) CS_MUST_CHECK;

/**
 * cs_model_open - backend and model for prediction
 *
 * path     --model, or NULL for the default model
 * device   where it computes; NULL: the CPU
 * Returns  CS_OK; the errors of cs_args_model() and cs_model_load(); CS_EMODEL for a model whose
 *          input is not nucleotides
 */
int cs_model_open(const char *path, const cs_device_args *device, int n_thread, cs_backend **be,
                  cs_model **model) CS_MUST_CHECK;

/** cs_model_label_of - number of the class or label given by an option; CS_EUSAGE with the nearest
 * name */
int cs_model_label_of(const cs_model *m, const char *name, int32_t *no) CS_MUST_CHECK;

#endif
