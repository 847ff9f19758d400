/* stage.h - the shared stages of every command that streams: read, tokenise, bucket, infer, write.
 *
 * Each is the `run` of a cs_stage with the struct of the same name as `self`. A chunk goes
 *
 *     read -> tokenise -> bucket -> (flight) -> write
 *
 * and is always owned by exactly one of them; its records go from bucket to infer as copies of
 * their tokens, and their predictions come back into the chunk's own slots. `pending` counts the
 * answers that are still missing, and one more as long as the bucket stage looks at the chunk.
 */
#ifndef CS_INFER_STAGE_H
#define CS_INFER_STAGE_H

#include <pthread.h>

#include "base/log.h"
#include "batch/bucket.h"
#include "infer/policy.h"
#include "io/reader.h"
#include "nn/exec/session.h"

/* What a chunk of CS_CHUNK_BASES bases may occupy: bases, qualities, names and predictions. */
enum { CS_CHUNK_BYTES = 256 << 10 };

/* Activations of a batch that an infer stage answers by its own session: see workers.h. */
enum { CS_SMALL_BATCH = 8 << 20 };

/* Tokens of a batch: where there is no space for one, infer makes them half of its, once. Less than
 * `first`: that has happened. */
typedef struct cs_limit { int64_t first; _Atomic int64_t tokens; } cs_limit;

typedef struct cs_read_stage {
    int      (*next)(void *source, cs_chunk *c);   /* appends a record, or CS_EOF */
    void      *source;
    cs_inputs *in;               /* where the records come from, for its position; or NULL */
} cs_read_stage;

typedef struct cs_tokenise_stage {
    const cs_policy *policy;
    int64_t          longest;    /* bases of the longest record so far */
} cs_tokenise_stage;

typedef struct cs_bucket_stage {
    cs_pipe       *pipe;
    cs_queue      *flight;       /* to the writer; also named as the stage's out2 */
    int64_t        budget;       /* tokens per batch, to begin with */
    cs_limit      *limit;        /* what it is now; NULL: the same always */
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
    cs_session *fallback;        /* on the CPU, for what a device has no space for; or NULL */
    pthread_mutex_t *fallback_lock;
    cs_limit   *limit;           /* NULL: a batch that needs too much ends the run */
    cs_batch   *sent[CS_STAGING_SLOTS];     /* in the device's staging slots, or NULL */
    bool        started[CS_STAGING_SLOTS];  /* and computed there: there was memory for it */
    float      *answer;          /* [cap] of one batch; freed by the owner */
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
    cs_counted   too_long;       /* records beyond the model's longest sequence */
    cs_counted   no_memory;
    cs_counted   on_cpu, cut;    /* computed on the CPU, or in windows, for lack of space */
} cs_write_stage;

/** cs_stage_read - chunks of records, numbered from 0 */
int cs_stage_read(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;

/** cs_stage_tokenise - every record's views with their tokens, and space for predictions */
int cs_stage_tokenise(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;

/** cs_stage_bucket - chunks to `flight`, then their records into batches; bucket_stage.c has the
 * proof that it cannot wait for itself */
int cs_stage_bucket(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;

/** cs_stage_infer - answers for batches, into the slots of their chunks, by as many threads as the
 * other stages leave (cs_pipe_share()) */
int cs_stage_infer(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;

/** cs_stage_write - chunks whose answers have all come, to the sink, in input order */
int cs_stage_write(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;

/** cs_tokenised_bytes, cs_tokenised_drop - for the queue between tokenise and bucket, where a chunk
 * also owns its token ids, which do not lie in its arena */
size_t cs_tokenised_bytes(const void *chunk);
void   cs_tokenised_drop(void *chunk);

#endif
