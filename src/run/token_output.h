/* token_output.h - predictions per token or part as BED, bedGraph, or a table. */
#ifndef CS_RUN_TOKEN_OUTPUT_H
#define CS_RUN_TOKEN_OUTPUT_H

#include "base/outfile.h"
#include "io/prediction.h"
#include "io/record.h"
#include "nn/exec/model.h"

typedef enum cs_token_format {
    CS_TOKENS_BED, CS_TOKENS_TSV, CS_TOKENS_BEDGRAPH, CS_TOKENS_AUTO
} cs_token_format;

/** cs_token_format_of - the format, or that of the path's suffix instead of CS_TOKENS_AUTO; BED for
 * other suffixes */
cs_token_format cs_token_format_of(cs_token_format given, const char *path);

/* The caller sets the first four members before open. */
typedef struct cs_token_output {
    const cs_model *model;
    cs_token_format format;
    bool            parts;       /* rows of the table are parts of a record, not bases */
    int32_t         shown;       /* with bedGraph, the class whose probability is written */
    cs_outfile     *file;
    /* reused memory: tokens of a record, and the base at which each begins */
    int32_t        *id;
    void           *work;
    int64_t        *cell;
    size_t          n_id, n_work, n_cell;
} cs_token_output;

/** cs_token_output_open - open the file and write the header, if the format has one. Release it in
 * any case; errors of cs_outfile_open_as() */
int  cs_token_output_open(cs_token_output *o, const char *path) CS_MUST_CHECK;
/** cs_token_output_record - all lines of a record; a: a prediction without a reason */
int  cs_token_output_record(cs_token_output *o, const cs_record *r, const cs_prediction *a)
    CS_MUST_CHECK;
/** cs_token_output_parts - the same for parts that begin at the bases `cell`, [parts + 1] with the
 * end */
int  cs_token_output_parts(cs_token_output *o, const char *name, const cs_prediction *a,
                           const int64_t *cell) CS_MUST_CHECK;
/** cs_token_output_close - complete the file and rename it into place */
int  cs_token_output_close(cs_token_output *o) CS_MUST_CHECK;
/** cs_token_output_release - remove a file that is not closed, and free the memory */
void cs_token_output_release(cs_token_output *o);

#endif
