/* class_shares.h - estimate the shares of the classes among records from their probabilities. */
#ifndef CS_IO_CLASS_SHARES_H
#define CS_IO_CLASS_SHARES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "io/prediction.h"

/* Probabilities of a random sample of the records. */
typedef struct cs_class_shares {
    int       n_label;
    int64_t   n_record;          /* of all records so far */
    int64_t   n, max;            /* records in the sample */
    uint64_t  limit;             /* it has those whose random numbers are at most this */
    uint64_t *random;            /* [max] */
    float    *p;                 /* [max][n_label] */
} cs_class_shares;

/** cs_class_shares_new - without records; the sample has up to 2^20 probabilities, or 1,000
 * records. CS_EMEM */
int  cs_class_shares_new(int n_label, cs_class_shares **out) CS_MUST_CHECK;
/** cs_class_shares_takes - has the record finite probabilities, and is it like the training
 * data? */
bool cs_class_shares_takes(const cs_prediction *a);
/** cs_class_shares_add - the next record. v: [n_label] probabilities; prior: [n_label] logarithms
 * of the shares that they include, plus a constant; NULL: equal shares. The sample depends on the
 * numbers of the records only */
void cs_class_shares_add(cs_class_shares *s, const float *v, const double *prior);
/**
 * cs_class_shares_estimate - the maximum-likelihood shares, with one more record of each class, or
 * less than a record where the sample is small for the number of classes
 *
 * share    [n_label], with the sum 1
 * Source   Saerens, Latinne, Decaestecker, "Adjusting the outputs of a classifier to new a priori
 *          probabilities: a simple procedure", Neural Computation 14, 2002
 */
void cs_class_shares_estimate(const cs_class_shares *s, double *share);
void cs_class_shares_free(cs_class_shares *s);

/** cs_class_shares_save - the sample as a JSON object; NULL: out of memory.
 * cs_class_shares_restore - the reverse, into new shares; false if it is not such an object */
json_t *cs_class_shares_save(const cs_class_shares *s);
bool    cs_class_shares_restore(cs_class_shares *s, const json_t *state) CS_MUST_CHECK;

#endif
