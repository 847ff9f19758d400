/* prediction.h - a record's prediction, or the reason for none. */
#ifndef CS_IO_PREDICTION_H
#define CS_IO_PREDICTION_H

#include "io/record.h"

/* Why a record has no call. One list for every command: prediction.c has the name and the sentence
 * of each, which manual pages take from there. */
typedef enum cs_reason {
    CS_REASON_NONE, CS_REASON_EMPTY, CS_REASON_TOO_SHORT, CS_REASON_TOO_LONG, CS_REASON_ALL_N,
    CS_REASON_MOSTLY_N, CS_REASON_NO_TOKEN, CS_REASON_NO_MEMORY, CS_REASON_LOW_PROB,
    CS_REASON_LOW_CONFIDENCE, CS_REASON_UNLIKE, CS_N_REASON
} cs_reason;
/** cs_reason_name - as in outputs: "too_short"; "." for none */
const char *cs_reason_name(cs_reason r);
/** cs_reason_has_output - are there probabilities, possibly without a call? */
bool cs_reason_has_output(cs_reason r);
/** cs_reason_help - description, a fragment for the manual */
const char *cs_reason_help(cs_reason r);

/* A record's prediction: the head's output, or a reason without one. taxon and p are 0 unless calls
 * may be taxa above the classes; then the class with the largest value is called. */
typedef struct cs_prediction {
    float *v;                    /* [n] probabilities or values, if cs_reason_has_output() */
    int64_t n;
    cs_reason reason;
    int32_t taxon;               /* node called; 0: none */
    float p;                     /* its probability, or that of the best node below the root */
    /* By segment: windows with a prediction, and for a pair the call of each mate alone, a node if
     * taxon is set, else a class; -1: none. */
    int32_t n_window[CS_MAX_SEG], mate[CS_MAX_SEG];
} cs_prediction;

/** cs_argmax - index of the largest of n values, ties to the lowest index; 0 without values */
int32_t cs_argmax(const float *v, int64_t n);
/** cs_prediction_best - index of the largest value, ties to the lowest index; -1 if there are no
 * values (every reason before CS_REASON_LOW_PROB) */
int cs_prediction_best(const cs_prediction *a);

#endif
