/* model_show.h - describe a model as text. */
#ifndef CS_RUN_MODEL_SHOW_H
#define CS_RUN_MODEL_SHOW_H

#include "nn/exec/model.h"

/** cs_model_show - write a description to standard output: a line per item, tab-separated. path
 * names the model in messages. CS_OK; CS_EMODEL for its taxonomy; CS_EIO */
int cs_model_show(const cs_model *m, const char *path) CS_MUST_CHECK;

#endif
