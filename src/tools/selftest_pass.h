/* selftest_pass.h - the training pass of a selftest and fingerprints of its gradients: computed in
 * double precision by tests/nn/make_selftest.c, and compared by `chordseq selftest`. */
#ifndef CS_TOOLS_SELFTEST_PASS_H
#define CS_TOOLS_SELFTEST_PASS_H

#include "nn/exec/session.h"

/* Fingerprint of a tensor's gradient, stored instead of all elements: its sum with fixed random
 * weights, which any wrong element changes, and its norm. */
typedef struct cs_projection { double sum, norm; } cs_projection;

/** cs_selftest_batch - records back to back as one batch, record r of class r modulo the labels.
 *
 * tok      ids of all records
 * len      [n] of one depth
 */
cs_batch *cs_selftest_batch(const cs_model *m, const int32_t *tok, const int64_t *len, int n);

/**
 * cs_selftest_train - one training pass
 *
 * s        of a model made for training
 * grad     [s->model->ps.n] receives a projection per tensor; zero without a gradient
 */
int cs_selftest_train(cs_session *s, const cs_batch *b, cs_projection *grad) CS_MUST_CHECK;
/** cs_projection_error - the largest difference of n tensors' projections, relative to the norm of
 * each, but at least to a thousandth of the largest norm: smaller gradients are rounding noise */
double cs_projection_error(const cs_projection *want, const cs_projection *got, int64_t n);

#endif
