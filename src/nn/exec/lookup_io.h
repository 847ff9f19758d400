/* lookup_io.h - a look-up table as tensors and settings of a model file. */
#ifndef CS_NN_EXEC_LOOKUP_IO_H
#define CS_NN_EXEC_LOOKUP_IO_H

#include "nn/exec/lookup.h"
#include "nn/exec/safetensors.h"

enum { CS_LOOKUP_TENSORS = 3 };

struct json_t;
/** cs_lookup_json - settings as a new JSON object; NULL when memory ran out */
struct json_t *cs_lookup_json(const cs_lookup *l);
/** cs_lookup_tensors - its arrays, not copied; t [CS_LOOKUP_TENSORS]; nothing if l is NULL */
void cs_lookup_tensors(const cs_lookup *l, cs_tensor *t);

/**
 * cs_lookup_read - settings and arrays of a file
 *
 * j        the settings
 * what     names the file in messages
 * n_label  classes of the model
 * Returns  CS_OK; CS_EFORMAT; CS_EMEM
 */
int cs_lookup_read(const struct json_t *j, const cs_safetensors *file, const char *what,
                   int32_t n_label, cs_lookup **out) CS_MUST_CHECK;

#endif
