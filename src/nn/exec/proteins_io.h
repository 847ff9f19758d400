/* proteins_io.h - a protein database as tensors and settings of a model file. */
#ifndef CS_NN_EXEC_PROTEINS_IO_H
#define CS_NN_EXEC_PROTEINS_IO_H

#include "nn/exec/proteins.h"
#include "nn/exec/safetensors.h"

enum { CS_PROTEIN_TENSORS = 4 };

struct json_t;
/** cs_proteins_json - settings as a new JSON object; NULL when memory ran out */
struct json_t *cs_proteins_json(const cs_proteins *p);

/** cs_proteins_bytes - in a file, of n proteins with n_acid amino acids */
int64_t cs_proteins_bytes(int64_t n, int64_t n_acid);

/**
 * cs_proteins_tensors - its arrays
 *
 * t        [CS_PROTEIN_TENSORS]; nothing if p is NULL
 * packed   receives memory that t[0] and t[1] point to, for free(); NULL if p is NULL
 * Returns  CS_OK or CS_EMEM
 */
int cs_proteins_tensors(const cs_proteins *p, cs_tensor *t, uint8_t **packed) CS_MUST_CHECK;

/**
 * cs_proteins_read - settings and arrays of a file, without an index
 *
 * j        the settings
 * what     names the file in messages
 * n_class  of the model; 0: its kind takes no proteins
 * Returns  CS_OK; CS_EFORMAT; CS_EMEM
 */
int cs_proteins_read(const struct json_t *j, const cs_safetensors *file, const char *what,
                     int32_t n_class, cs_proteins **out) CS_MUST_CHECK;

#endif
