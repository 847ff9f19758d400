/* args.h - options that commands share: threads, stream, verbosity. */
#ifndef CS_INFER_ARGS_H
#define CS_INFER_ARGS_H

#include "base/opt.h"

/* Each struct belongs to the table of the same name; a command lists its tables. */
typedef struct cs_compute_args { int64_t threads; } cs_compute_args;
typedef struct cs_stream_args {
    int64_t batch_tokens, chunks_in_flight;
    int     check_finite;
} cs_stream_args;
typedef struct cs_log_args { int quiet, verbose, force; int64_t verbosity; } cs_log_args;

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

/* Reading, tokenising, computing and writing share `work` threads (base/budget.h); `inflate`
 * threads only decompress. */
typedef struct cs_thread_counts { int work, inflate; } cs_thread_counts;

/** cs_args_threads - those of --threads; an eighth, rounded down, is for decompression */
cs_thread_counts cs_args_threads(const cs_compute_args *a);

#endif
