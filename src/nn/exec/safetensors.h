/* safetensors.h - named tensors in a file: https://github.com/huggingface/safetensors.
 *
 * 8 bytes little-endian header length; a JSON header; the tensors' bytes, little-endian, one after
 * the other without holes. Every number of the header is checked before it is used.
 */
#ifndef CS_NN_SAFETENSORS_H
#define CS_NN_SAFETENSORS_H

#include "base/outfile.h"
#include "nn/ops/param.h"

/* The first bytes of a checkpoint, which is no model but may be given as one. */
#define CS_CHECKPOINT_MAGIC "CSCKPT1\n"

typedef enum cs_dtype { CS_F64, CS_F32, CS_F16, CS_BF16, CS_I64, CS_I32, CS_U8 } cs_dtype;

/* One tensor; up to 4 dimensions, a scalar has none. data may be unaligned. */
typedef struct cs_tensor {
    const char          *name;
    cs_dtype             dtype;
    cs_shape             shape;
    int64_t              n;      /* elements */
    const unsigned char *data;   /* [n * cs_dtype_bytes] */
} cs_tensor;

/* Metadata strings. */
typedef struct cs_meta { const char *key, *value; } cs_meta;

typedef struct cs_safetensors cs_safetensors;

/** cs_dtype_bytes - of one element */
size_t cs_dtype_bytes(cs_dtype d);

/**
 * cs_safetensors_open - map a file and check its header
 *
 * Returns  CS_OK; CS_EIO; CS_EFORMAT with file, tensor and problem; CS_EMEM
 */
int  cs_safetensors_open(const char *path, cs_safetensors **out) CS_MUST_CHECK;
/** cs_safetensors_parse - the same for n bytes in memory, which must outlive *out; `what` names
 * them in messages */
int  cs_safetensors_parse(const void *p, size_t n_bytes, const char *what, cs_safetensors **out)
    CS_MUST_CHECK;
void cs_safetensors_close(cs_safetensors *s);

/** cs_safetensors_at - tensor i in the order of the data, NULL past the end */
const cs_tensor *cs_safetensors_at(const cs_safetensors *s, size_t i);
/** cs_safetensors_find - by name, or NULL */
const cs_tensor *cs_safetensors_find(const cs_safetensors *s, const char *name);
/** cs_safetensors_meta - a text of __metadata__, or NULL */
const char *cs_safetensors_meta(const cs_safetensors *s, const char *key);
/** cs_safetensors_data - all tensors' bytes (for a checksum) */
const unsigned char *cs_safetensors_data(const cs_safetensors *s, size_t *n_bytes);

/** cs_tensor_get - element i (row-major) as a double; i in 0 .. n-1 */
double cs_tensor_get(const cs_tensor *t, int64_t i);

/** cs_bf16_bytes - the bf16 nearest to each of n finite values (ties to even), little-endian, into
 * to [2 * n], which may be the values' own memory */
void cs_bf16_bytes(const float *v, int64_t n, unsigned char *to);

/**
 * cs_safetensors_write - tensors in the given order, and texts
 *
 * Returns  CS_OK; CS_EIO; CS_EMEM. f stays open
 */
int cs_safetensors_write(cs_outfile *f, const cs_tensor *t, size_t n, const cs_meta *meta,
                         size_t n_meta) CS_MUST_CHECK;

/** cs_safetensors_bad_part - the message for an invalid part of a model file; CS_EFORMAT */
int cs_safetensors_bad_part(const char *model, const char *part, const char *why);

#endif
