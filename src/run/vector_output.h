/* vector_output.h - a vector per record: NPY or NPZ with a table of names, or a table alone. */
#ifndef CS_RUN_VECTOR_OUTPUT_H
#define CS_RUN_VECTOR_OUTPUT_H

#include "io/writer.h"
#include "run/shard.h"

typedef enum cs_vector_format {
    CS_VECTORS_AUTO, CS_VECTORS_NPY, CS_VECTORS_NPZ, CS_VECTORS_TSV
} cs_vector_format;
extern const char *const cs_vector_formats[];      /* their names, ends with NULL */

enum { CS_N_VECTOR_OUT = 2 };

/* The caller sets the first three members, and zeroes the others. */
typedef struct cs_vector_output {
    const char  *path, *names;   /* --output and --names; names NULL: by cs_vector_names() */
    int          format;         /* cs_vector_format; AUTO is replaced by check */
    cs_output   *out[CS_N_VECTOR_OUT];   /* vectors and, with NPY and NPZ, names of rows */
    int32_t      width;
    char        *own_names;
    char       (*column)[16];    /* [width] */
    const char **label;
} cs_vector_output;

/** cs_vector_names - default path of the names: the vectors' with ".names.tsv"; free() it */
char *cs_vector_names(const char *path);

/** cs_vector_output_check - find the format by the output's name, and check that paths differ.
 * Release it in any case. CS_OK; CS_EUSAGE */
int  cs_vector_output_check(cs_vector_output *o) CS_MUST_CHECK;
/** cs_vector_output_open - open for vectors of a width. CS_OK; CS_EUSAGE if the file cannot hold
 * NPY; errors of cs_output_open() */
int  cs_vector_output_open(cs_vector_output *o, int32_t width) CS_MUST_CHECK;
/** cs_vector_output_add - add the outputs to a shard's manifest */
int  cs_vector_output_add(cs_vector_output *o, cs_shard *shard) CS_MUST_CHECK;
/** cs_vector_output_record - write the vector of a record to all outputs. Errors of the writers */
int  cs_vector_output_record(cs_vector_output *o, const cs_record *r, const cs_prediction *a)
    CS_MUST_CHECK;
/** cs_vector_output_close - complete both, then rename both */
int  cs_vector_output_close(cs_vector_output *o) CS_MUST_CHECK;
void cs_vector_output_release(cs_vector_output *o);

#endif
