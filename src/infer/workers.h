/* workers.h - the infer stages of a stream: small batches side by side, large ones one at a time.
 *
 * DESIGN. Starting and ending a parallel loop inside an op costs some microseconds, most of the
 * time of a small network. So there is one infer stage per thread, each with its own session on the
 * model. A batch whose activations exceed CS_SMALL_BATCH bytes, as for long sequences, uses one
 * shared session with loops over all spare threads: large memory is allocated once. The choice
 * depends on the batch alone, and predictions have the same bits either way.
 *
 * GPUs have one stage per device, each with a session on the model or on a copy of it; all take
 * batches from the same queue, and slots return predictions to their records.
 */
#ifndef CS_INFER_WORKERS_H
#define CS_INFER_WORKERS_H

#include "infer/stage.h"

enum { CS_WORKERS_MAX = 64 };

/* Sessions of further threads and devices, and of the CPU as a fallback. */
typedef struct cs_worker { cs_backend *be; cs_model *copy; cs_session *session; } cs_worker;

typedef struct cs_workers {
    int             n;
    cs_infer_stage *stage;       /* [n] */
    cs_session     *shared;      /* on the model's own backend */
    cs_worker      *worker;      /* [n] sessions of each; absent ones are NULL */
    cs_worker       fallback;
    pthread_mutex_t shared_lock, fallback_lock;   /* held by the stage that uses that session */
} cs_workers;

/**
 * cs_workers_new - infer stages for n threads, at most CS_WORKERS_MAX, or for the devices in the
 * list that m's backend begins
 *
 * m, policy  must outlive the workers; one thread has one stage and one session
 * nonfinite  accept predictions that are not finite
 * Returns    CS_OK, CS_EMEM or CS_EDEVICE
 */
int cs_workers_new(cs_pipe *p, cs_model *m, const cs_policy *policy, bool nonfinite, int n,
                   cs_limit *limit, cs_workers **out) CS_MUST_CHECK;
void cs_workers_free(cs_workers *c);   /* accepts NULL */

/** cs_workers_peak_bytes - peak bytes of activations over all workers, after the run */
int64_t cs_workers_peak_bytes(const cs_workers *c);

#endif
