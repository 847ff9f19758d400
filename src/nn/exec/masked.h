/* masked.h - check whether a model was pretrained by masking. */
#ifndef CS_NN_MASKED_H
#define CS_NN_MASKED_H

#include "nn/exec/model.h"

/** cs_masked_check - CS_OK, or CS_EMODEL for a model that was not pretrained; `what` names it */
int cs_masked_check(const cs_model *m, const char *what) CS_MUST_CHECK;

#endif
