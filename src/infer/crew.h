/* crew.h - the infer stages of a stream: small batches side by side, large ones one at a time.
 *
 * DESIGN. A parallel loop inside an op costs some microseconds to begin and to end, which is most
 * of what a step of a small network takes. So there is an infer stage for every thread, each with a
 * model of its own over the same parameters (cs_model_twin()). A batch whose activations take more
 * than CS_SMALL_BATCH bytes, as those of long sequences do, goes through the one model that all
 * share, by loops over as many threads as there are to spare: so large memory is taken once. Which
 * way a batch goes follows from the batch alone, and the bits of an answer are the same both ways.
 *
 * On devices with memory of their own there is one stage per device, each with the model or a copy
 * of it, and all take batches from the same queue; slots bring answers to their records.
 */
#ifndef CS_INFER_CREW_H
#define CS_INFER_CREW_H

#include "infer/stage.h"

enum { CS_CREW_MAX = 64 };

typedef struct cs_crew {
    int             n;
    cs_infer_stage *stage;       /* [n] */
    cs_backend    **be;          /* [n] of the twins; NULL where there is none */
    cs_model      **copy;        /* [n] on further devices; NULL where there is none */
    cs_model       *spare;       /* on the processor, for what devices have no room for, or NULL */
    cs_backend     *spare_be;
    pthread_mutex_t whole;       /* held by the stage that uses the shared model */
    pthread_mutex_t spares;      /* and the spare one */
} cs_crew;

/**
 * cs_crew_new - infer stages for n threads, at most CS_CREW_MAX, or for the devices in the list
 * that m's backend begins
 *
 * m, policy  must outlive the crew; with one thread there is one stage and no twin
 * Returns    CS_OK, CS_EMEM or CS_EDEVICE
 */
int cs_crew_new(cs_pipe *p, cs_model *m, const cs_policy *policy, int n, cs_limit *limit,
                cs_crew **out) CS_MUST_CHECK;
void cs_crew_free(cs_crew *c);   /* accepts NULL */

/** cs_crew_peak_bytes - activations of all of them, after they have run */
int64_t cs_crew_peak_bytes(const cs_crew *c);

#endif
