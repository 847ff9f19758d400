/* common.h - options that commands share: inputs, model, threads, stream, verbosity. */
#ifndef CS_PIPELINES_COMMON_H
#define CS_PIPELINES_COMMON_H

#include "io/reader.h"
#include "nn/model.h"
#include "pipelines/command.h"

/* Each struct belongs to the table of the same name; a command lists the tables it wants. */
typedef struct cs_input_args { cs_strlist file; const char *reference; } cs_input_args;
typedef struct cs_model_args { const char *model; } cs_model_args;
typedef struct cs_compute_args { int64_t threads; } cs_compute_args;
typedef struct cs_stream_args { int64_t batch_tokens, window; } cs_stream_args;
typedef struct cs_log_args { int quiet, verbose; } cs_log_args;

extern const cs_opt cs_input_table[];      /* -i/--input, --reference */
extern const cs_opt cs_model_table[];      /* -m/--model */
extern const cs_opt cs_compute_table[];    /* -@/--threads */
extern const cs_opt cs_stream_table[];     /* -B/--batch-tokens, --window */
extern const cs_opt cs_log_table[];        /* -q/--quiet, -v/--verbose */

/**
 * cs_args_parse - defaults, then argv; operands are added behind what -i gave
 *
 * set      the command's tables, ending with {0}
 * operand  receives the operands; NULL: an operand is a mistake. Release with cs_opt_release() when
 *          it is the field of a table
 * log      applied to the log level, or NULL
 * Returns  CS_OK, or CS_EUSAGE with a sentence
 */
int cs_args_parse(const cs_optset *set, int argc, char **argv, cs_strlist *operand,
                  const cs_log_args *log) CS_MUST_CHECK;

/**
 * cs_args_input - what to read: the files given, or standard input when there are none
 *
 * Returns  CS_OK; CS_EUSAGE when there are none and standard input is a terminal, or when standard
 *          input is named twice
 */
int cs_args_input(cs_input_args *a) CS_MUST_CHECK;

/* How one budget of threads is divided: those that read, tokenise, compute and write share `work`
 * as they find something to do (base/budget.h), `inflate` are there for decompression only. */
typedef struct cs_split { int work, inflate; } cs_split;

/** cs_args_split - an eighth, rounded down, is for decompression */
cs_split cs_args_split(const cs_compute_args *a);

/**
 * cs_model_open - backend and model of a command that answers
 *
 * path     --model, or NULL for the default model
 * Returns  CS_OK; the errors of cs_model_find_default() and cs_model_load(); CS_EMODEL for a model
 *          whose input is not nucleotides
 */
int cs_model_open(const char *path, int n_thread, cs_backend **be, cs_model **model) CS_MUST_CHECK;

#endif
