/* stage.h - the shared stages of every command that streams: read, tokenise, bucket, infer, write.
 *
 * Each is the `run` of a cs_stage; `self` is the struct of the same name. A chunk goes
 *
 *     read -> tokenise -> bucket -> (flight) -> write
 *
 * and is always owned by exactly one of them; copies of its records' tokens go from bucket to
 * infer, and predictions return into the chunk's slots. `pending` counts missing predictions, plus
 * one while the bucket stage uses the chunk.
 */
#ifndef CS_INFER_STAGE_H
#define CS_INFER_STAGE_H

#include <pthread.h>

#include "base/log.h"
#include "batch/bucket.h"
#include "infer/policy.h"
#include "io/reader.h"
#include "nn/exec/session.h"

/* Maximum bytes of a chunk of CS_CHUNK_BASES bases: bases, qualities, names and predictions. */
enum { CS_CHUNK_BYTES = 256 << 10 };

/* Maximum activations of a batch for a worker's own session: see workers.h. */
enum { CS_SMALL_BATCH = 8 << 20 };

/* Batch budget in tokens. If a batch does not fit into memory, infer reduces `tokens` once, to half
 * of that batch. */
typedef struct cs_limit { int64_t first; _Atomic int64_t tokens; } cs_limit;

typedef struct cs_read_stage {
    int      (*next)(void *source, cs_chunk *c);   /* appends a record, or CS_EOF */
    void      *source;
    cs_inputs *in;               /* the records' reader, for its position; or NULL */
} cs_read_stage;

typedef struct cs_tokenise_stage {
    const cs_policy *policy;
    int              n_thread;   /* for the search of proteins */
    int64_t          longest;    /* bases of the longest record so far */
} cs_tokenise_stage;

typedef struct cs_bucket_stage {
    cs_pipe       *pipe;
    cs_queue      *flight;       /* to the writer; also named as the stage's out2 */
    int64_t        budget;       /* tokens per batch, to begin with */
    cs_limit      *limit;        /* the present budget; NULL: constant */
    int32_t        n_channel;    /* of real-valued input; 0: tokens */
    uint64_t       window;       /* items that `flight` holds */
    size_t         window_bytes; /* bytes that `flight` holds */
    cs_bucket_stat stat;         /* set when the stage returns */
} cs_bucket_stage;

typedef struct cs_infer_stage {
    cs_pipe    *pipe;
    const cs_policy *policy;
    cs_session *session;         /* its own */
    cs_session *shared;          /* for large batches (see workers.h); may be the same */
    pthread_mutex_t *shared_lock;    /* held while `shared` is used */
    cs_session *fallback;        /* on the CPU, for sequences that exceed the device's memory; or
                                  * NULL */
    pthread_mutex_t *fallback_lock;
    cs_limit   *limit;           /* NULL: a batch that exceeds memory ends the run */
    cs_batch   *sent[CS_STAGING_SLOTS];     /* in the device's staging slots, or NULL */
    bool        started[CS_STAGING_SLOTS];  /* computed there, as memory sufficed */
    float      *output;          /* [cap] of one batch; freed by the owner */
    size_t      cap;
} cs_infer_stage;

typedef struct cs_write_stage {
    cs_pipe     *pipe;
    const cs_policy *policy;
    int        (*sink)(void *arg, const cs_record *r, const cs_prediction *a);   /* in input
                                                                                  * order */
    void        *arg;
    cs_progress *progress;       /* or NULL */
    uint64_t     n_record, n_base;
    cs_warning   too_long;       /* records beyond the model's longest sequence */
    cs_warning   no_memory;
    cs_warning   on_cpu, cut;    /* computed on the CPU, or in windows, for lack of memory */
} cs_write_stage;

/** cs_stage_read - chunks of records, numbered from 0 */
int cs_stage_read(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;

/** cs_stage_tokenise - every record's views with their tokens, and space for predictions */
int cs_stage_tokenise(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;

/** cs_stage_bucket - chunks to `flight`, then their records into batches; bucket_stage.c proves
 * that it cannot deadlock */
int cs_stage_bucket(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;

/** cs_stage_infer - predictions of batches, into the slots of their chunks, with the threads that
 * the other stages leave (cs_pipe_share()) */
int cs_stage_infer(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;

/** cs_stage_write - completed chunks to the sink, in input order */
int cs_stage_write(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;

/** cs_tokenised_bytes, cs_tokenised_drop - for the queue between tokenise and bucket, where a chunk
 * also owns its token ids, outside of its arena */
size_t cs_tokenised_bytes(const void *chunk);
void   cs_tokenised_drop(void *chunk);

#endif
