/* stream.h - the streaming pipeline: five stages connected by queues, results in input order. */
#ifndef CS_INFER_STREAM_H
#define CS_INFER_STREAM_H

#include "infer/args.h"
#include "infer/input_args.h"
#include "infer/stage.h"

typedef struct cs_stream {
    /* Source of records: next(source) appends one to the chunk or returns CS_EOF, in the reader's
     * thread. NULL: the inputs; with both, the source reads from `in`. */
    int      (*next)(void *source, cs_chunk *c);
    void      *source;
    cs_inputs *in, *second;      /* second: reader of mates, or NULL */
    const cs_pairs *pairs;       /* for its report, or NULL */
    const char *unit;            /* of progress and warnings, in the singular; NULL: record */
    cs_model  *model;
    const cs_policy *policy;     /* of the same model */
    int64_t    batch_tokens;     /* 0: as many as fit (nn/exec/plan.h) */
    bool       allow_nonfinite;  /* accept predictions that are not finite */
    int        window;           /* chunks that may wait for the writer */
    size_t     window_bytes;     /* their bytes; 0: window * CS_CHUNK_BYTES */
    bool       preliminary;      /* reports that the run proper repeats are omitted */
    int        n_thread;         /* number of threads that work at once, over all stages */
    /* Takes the records in input order; an error ends the run. One thread. */
    int      (*sink)(void *arg, const cs_record *r, const cs_prediction *a);
    void      *arg;
} cs_stream;

/* Statistics of a run, for the summary. */
typedef struct cs_stream_stat {
    uint64_t       n_record, n_base;
    cs_bucket_stat batch;
    int64_t        batch_tokens; /* maximum per batch */
    int64_t        longest;      /* bases of the longest record */
    int64_t        act_bytes;    /* activations of the largest batch */
    double         wall_s;
    char           times[512];   /* of stages and queues: cs_pipe_summary() */
} cs_stream_stat;

/** cs_stream_of - a stream from a command's input files; the caller sets its sink */
cs_stream cs_stream_of(cs_record_source *src, cs_model *m, const cs_policy *policy,
                       const cs_stream_args *a, const cs_thread_counts *threads);

/**
 * cs_stream_run - read, tokenise, batch, infer and pass to the sink until the input ends
 *
 * stat     receives the counts, also on failure
 * Returns  CS_OK, or the first error of any stage; CS_ECANCEL without a message if the sink's
 *          reader closed its end, or on a signal
 *
 * With CS_LOG_INFO each stage's time, each queue's waits and the memory bound are logged.
 */
int cs_stream_run(const cs_stream *s, cs_stream_stat *stat) CS_MUST_CHECK;

/** cs_stream_own_next - a stream's source: its inputs if it has no `next` */
void cs_stream_own_next(const cs_stream *s, int (**next)(void *source, cs_chunk *c), void **source);

/**
 * cs_stream_skip - read and drop records
 *
 * n        calls of next
 * n_done   receives number of records read
 * Returns  CS_OK; CS_EOF if there are fewer; CS_ECANCEL on a signal; reading errors
 */
int cs_stream_skip(int (*next)(void *source, cs_chunk *c), void *source, uint64_t n,
                   uint64_t *n_done) CS_MUST_CHECK;

/** cs_stream_summary - last lines of a run: "VERB N records (COUNTS), ...", then its times
 * (cs_note) */
void cs_stream_summary(const char *verb, const char *counts, const cs_stream_stat *stat);

#endif
