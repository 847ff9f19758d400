/* window_hmm.h - segment a sequence by class with a per-sequence model: windows and an HMM. */
#ifndef CS_INFER_WINDOW_HMM_H
#define CS_INFER_WINDOW_HMM_H

#include "infer/stream.h"

/* Windows of the records of a stream, and the classes along each record. The caller zeroes it and
 * sets the first six members. The reading and the writing thread use members of their own. */
typedef struct cs_window_hmm {
    const cs_policy *policy;     /* the stream's; its windows */
    double      penalty;         /* nats of evidence that a change of class costs */
    const double *prior;         /* of cs_prior_new(): shares of classes among bases; or NULL */
    int       (*next)(void *source, cs_chunk *c);   /* of whole records: cs_stream_own_next() */
    void       *source;
    cs_inputs  *in;              /* that the records come from, for the progress; or NULL */
    /* reading */
    cs_chunk   *whole;           /* the record that is cut, or NULL */
    int64_t     from, to;        /* its bytes in the inputs */
    int64_t     at, n_at;        /* its next window, of this many */
    int64_t     longest;         /* bases of the longest record so far */
    /* writing: of the record whose windows arrive */
    int64_t     n;               /* windows so far */
    cs_reason   reason;          /* why the first one without a prediction has none */
    bool        has_prediction;  /* of any window */
    double     *factor;          /* [classes] share of a class, over the mean share */
    double     *evidence, *forward;      /* [n][classes] emissions; forward messages */
    float      *v;               /* [n][classes] */
    int64_t    *cell;            /* [n + 1] first base of each part, then the record's length */
    size_t      n_factor, n_evidence, n_forward, n_v, n_cell;
    uint64_t    n_record, n_base;    /* finished */
} cs_window_hmm;

/**
 * cs_window_hmm_next - the next window of the source's records, as a record; the `next` of a
 * cs_stream
 *
 * Windows are cut by cs_policy_window(). A record shorter than a window is one.
 *
 * Returns  CS_OK; CS_EOF; CS_EMEM; the errors of the source
 */
int cs_window_hmm_next(void *source, cs_chunk *c) CS_MUST_CHECK;

/**
 * cs_window_hmm_add - take the prediction of the next window; after a record's last one, return its
 * classes
 *
 * The record's bases are divided at the midpoints between the centres of neighbouring windows; the
 * parts are the steps of a hidden Markov model whose states are the classes. The emission of a part
 * is the log of its window's calibrated probability, of which a thousandth is spread over all
 * classes, times the share of the window inside the part, so that every base counts once; a window
 * without a prediction emits nothing. A change of class costs `penalty`: its weight is
 * exp(-penalty), times the share of the new class over the mean share. The first class has the
 * probability of its share; without evidence, all others then have theirs. The result is each
 * part's posterior (forward-backward). If windows and their reverse complements have the same
 * predictions, so have records, bit for bit, except that a boundary in the middle of an odd number
 * of bases differs by one base.
 *
 * a        of the window
 * whole    receives, after the last window, the record's prediction: values [parts][classes] until
 *          the next call, or the reason of its first window; before that, none (n is 0)
 * Returns  CS_OK or CS_EMEM
 */
int cs_window_hmm_add(cs_window_hmm *g, const cs_record *window, const cs_prediction *a,
                      cs_prediction *whole) CS_MUST_CHECK;

/** cs_window_hmm_release - free the memory */
void cs_window_hmm_release(cs_window_hmm *g);

#endif
