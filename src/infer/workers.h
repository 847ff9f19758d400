/* workers.h - the infer stages of a stream: small batches side by side, large ones one at a time.
 *
 * DESIGN. A parallel loop inside an op costs some microseconds to begin and to end, which is most
 * of what a step of a small network takes. So there is an infer stage for every thread, each with a
 * session of its own on the model. A batch whose activations take more than CS_SMALL_BATCH bytes,
 * as those of long sequences do, goes through the one session that all share, by loops over as many
 * threads as there are to spare: so large memory is taken once. Which way a batch goes follows from
 * the batch alone, and the bits of a prediction are the same both ways.
 *
 * On devices with memory of their own there is one stage per device, each with a session on the
 * model or on a copy of it, and all take batches from the same queue; slots bring answers to their
 * records.
 */
#ifndef CS_INFER_WORKERS_H
#define CS_INFER_WORKERS_H

#include "infer/stage.h"

enum { CS_WORKERS_MAX = 64 };

/* What further threads and devices need, and the CPU where devices fall back to it. */
typedef struct cs_worker { cs_backend *be; cs_model *copy; cs_session *session; } cs_worker;

typedef struct cs_workers {
    int             n;
    cs_infer_stage *stage;       /* [n] */
    cs_session     *shared;      /* on the model's own backend */
    cs_worker      *worker;      /* [n] own parts of each; absent ones are NULL */
    cs_worker       fallback;
    pthread_mutex_t shared_lock, fallback_lock;   /* held by the stage that uses that session */
} cs_workers;

/**
 * cs_workers_new - infer stages for n threads, at most CS_WORKERS_MAX, or for the devices in the
 * list that m's backend begins
 *
 * m, policy  must outlive the crew; with one thread there is one stage and one session
 * nonfinite  answers that are not finite are no error
 * Returns    CS_OK, CS_EMEM or CS_EDEVICE
 */
int cs_workers_new(cs_pipe *p, cs_model *m, const cs_policy *policy, bool nonfinite, int n,
                cs_limit *limit, cs_workers **out) CS_MUST_CHECK;
void cs_workers_free(cs_workers *c);   /* accepts NULL */

/** cs_workers_peak_bytes - activations of all of them, after they have run */
int64_t cs_workers_peak_bytes(const cs_workers *c);

#endif
