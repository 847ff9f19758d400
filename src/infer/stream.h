/* stream.h - the streaming pipeline: five stages connected by queues, results in input order. */
#ifndef CS_INFER_STREAM_H
#define CS_INFER_STREAM_H

#include "infer/args.h"
#include "infer/stage.h"

typedef struct cs_stream {
    /* Where records come from: next(source), which appends one to the chunk or gives CS_EOF, in the
     * reader's thread. Without it, the inputs; with both, `in` is what the source reads from. */
    int      (*next)(void *source, cs_chunk *c);
    void      *source;
    cs_inputs *in, *second;      /* second: where mates come from, or NULL */
    cs_model  *model;
    const cs_policy *policy;     /* of the same model */
    int64_t    batch_tokens;     /* 0: as many as fit (nn/exec/plan.h) */
    bool       allow_nonfinite;  /* answers that are not finite are answers, too */
    int        window;           /* chunks that may wait for the writer */
    size_t     window_bytes;     /* their bytes; 0: window * CS_CHUNK_BYTES */
    int        n_thread;         /* that work at once, all stages together */
    /* Takes the records in input order; an error ends the run. One thread. */
    int      (*sink)(void *arg, const cs_record *r, const cs_prediction *a);
    void      *arg;
} cs_stream;

/* What a run was: for the summary. */
typedef struct cs_stream_stat {
    uint64_t       n_record, n_base;
    cs_bucket_stat batch;
    int64_t        batch_tokens; /* of a batch at most */
    int64_t        longest;      /* bases of the longest record */
    int64_t        act_bytes;    /* activations of the largest batch */
    double         wall_s;
    char           times[512];   /* of stages and queues: cs_pipe_summary() */
} cs_stream_stat;

/** cs_stream_of - a stream from the files that a command was given; its sink is for the caller to
 * set */
cs_stream cs_stream_of(cs_sources *src, cs_model *m, const cs_policy *policy,
                       const cs_stream_args *a, const cs_split *split);

/**
 * cs_stream_run - read, tokenise, batch, infer and hand over until the input ends
 *
 * stat     receives the counts, also on failure
 * Returns  CS_OK, or the first error of any stage; CS_ECANCEL without a message when the sink has
 *          nobody left to write to, or a signal came
 *
 * With CS_LOG_INFO each stage's time, each queue's waits and the memory bound are logged.
 */
int cs_stream_run(const cs_stream *s, cs_stream_stat *stat) CS_MUST_CHECK;

/** cs_stream_own_next - where a stream's records come from, the inputs where it has no `next` */
void cs_stream_own_next(const cs_stream *s, int (**next)(void *source, cs_chunk *c), void **source);

/**
 * cs_stream_skip - read what nobody wants
 *
 * n        calls of next
 * n_done   receives how many gave a record
 * Returns  CS_OK; CS_EOF when there are fewer; CS_ECANCEL when a signal came; what reading gives
 */
int cs_stream_skip(int (*next)(void *source, cs_chunk *c), void *source, uint64_t n,
                   uint64_t *n_done) CS_MUST_CHECK;

/** cs_stream_summary - what ends a run: "VERB N records (COUNTS), ...", then its times (cs_note) */
void cs_stream_summary(const char *verb, const char *counts,
                       const cs_stream_stat *stat);

#endif
