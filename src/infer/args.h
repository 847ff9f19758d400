/* args.h - options that commands share: inputs, model, threads, stream, verbosity. */
#ifndef CS_INFER_ARGS_H
#define CS_INFER_ARGS_H

#include "base/opt.h"
#include "infer/device_args.h"
#include "io/pairs.h"
#include "nn/exec/model.h"

/* Each struct belongs to the table of the same name; a command lists its tables. */
typedef struct cs_input_args {
    cs_strlist  file, list, region;
    const char *reference, *require, *exclude, *regions, *filter;
    int         format;          /* cs_input_format */
    cs_strlist  text;            /* names from lists, regions of a BED file; owned, see
                                  * cs_args_release() */
    bool        has_regions;     /* those of the BED file are in `region` */
    bool        implied;         /* standard input, by default */
} cs_input_args;
typedef struct cs_pair_args { cs_strlist first, second; int interleaved; } cs_pair_args;
typedef struct cs_model_args { const char *model; } cs_model_args;
typedef struct cs_compute_args { int64_t threads; } cs_compute_args;
typedef struct cs_stream_args {
    int64_t batch_tokens, chunks_in_flight;
    int     check_finite;
} cs_stream_args;
typedef struct cs_log_args { int quiet, verbose, force; int64_t verbosity; } cs_log_args;

extern const cs_opt cs_input_table[];      /* -i/--input, --input-fmt, -T, -f, -F, -e, -r, ... */
extern const cs_opt cs_pair_table[];       /* -1/--mates-1, -2/--mates-2, --interleaved */
extern const cs_opt cs_model_table[];      /* -m/--model */
extern const cs_opt cs_compute_table[];    /* -@/--threads */
extern const cs_opt cs_stream_table[];     /* -B/--batch-tokens, --chunks-in-flight,
                                            * --check-finite */
extern const cs_opt cs_log_table[];        /* -q/--quiet, -v/--verbose, --verbosity, --force */

/**
 * cs_args_parse - defaults, then argv; operands are appended to the files of -i
 *
 * set      the command's tables, ending with {0}
 * operand  receives the operands; NULL: an operand is a mistake. Release with cs_opt_release() if
 *          it is a table's field
 * log      applied to the log level, or NULL
 * Returns  CS_OK, or CS_EUSAGE with a message, also if an input is also an output
 */
int cs_args_parse(const cs_optset *set, int argc, char **argv, cs_strlist *operand,
                  const cs_log_args *log) CS_MUST_CHECK;

/** cs_args_file - take the index off an input's name (io/index_name.h), and check that the file can
 * be opened. CS_OK; CS_EUSAGE if one of the two is an output; CS_EIO */
int cs_args_file(const char **path) CS_MUST_CHECK;

/**
 * cs_args_input - collect the input files: -i, operands and lists, or standard input
 *
 * Files that are given twice are read twice, with a warning.
 *
 * Returns  CS_OK; CS_EUSAGE if there are none and standard input is a terminal, if standard input
 *          is named twice, or if one of them is an output; CS_EIO for a list or an input that
 *          cannot be read
 */
int cs_args_input(cs_input_args *a) CS_MUST_CHECK;

/** cs_args_repeats - for every file, the first one of the list that is the same regular file, by
 * device and inode, if that is another one; otherwise -1. free() it */
int *cs_args_repeats(const cs_strlist *file);

/** cs_args_once - the first of n files that can be read only once (a pipe, a terminal), or NULL.
 * Elements of `file` may be NULL */
const char *cs_args_once(const char *const *file, int n);

/* Source of records: `in` alone, or pairs, by cs_pairs_next(). */
typedef struct cs_sources { cs_inputs *in, *second; cs_pairs pairs; bool paired; } cs_sources;

/**
 * cs_sources_find - collect the names of the inputs, and check that they can be opened: -i, lists
 * and operands, or mates (-1 and -2)
 *
 * a        receives the names, those of all first mates before those of the second ones
 * Returns  CS_OK; CS_EUSAGE if both kinds are named, or -1 and -2 differ in number; the errors of
 *          cs_args_input()
 */
int  cs_sources_find(cs_input_args *a, const cs_pair_args *pair) CS_MUST_CHECK;

/** cs_sources_open - open the inputs that cs_sources_find() has found. CS_OK; the errors of
 * cs_inputs_open() */
int  cs_sources_open(const cs_input_args *a, const cs_pair_args *pair,
                     const cs_input_opt *input_opt, cs_sources *s) CS_MUST_CHECK;
void cs_sources_close(cs_sources *s);

/** cs_args_input_opt - reader settings from the options, with the regions of -R; points into `a`.
 * CS_OK; CS_EUSAGE; CS_EIO and CS_EFORMAT of the BED file; CS_EMEM */
int cs_args_input_opt(cs_input_args *a, int n_inflate, cs_input_opt *input_opt) CS_MUST_CHECK;

/** cs_args_release - free what cs_args_input() has read */
void cs_args_release(cs_input_args *a);

/* Reading, tokenising, computing and writing share `work` threads (base/budget.h); `inflate`
 * threads only decompress. */
typedef struct cs_thread_counts { int work, inflate; } cs_thread_counts;

/** cs_args_threads - those of --threads; an eighth, rounded down, is for decompression */
cs_thread_counts cs_args_threads(const cs_compute_args *a);

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
