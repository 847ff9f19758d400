/* evidence.h - evidence for the classes of a sequence, from a model's look-up table and proteins: a
 * number per class, to be added to the raw values (logits) of the network. */
#ifndef CS_INFER_EVIDENCE_H
#define CS_INFER_EVIDENCE_H

#include "infer/policy.h"

/**
 * cs_evidence_find - the evidence for the views of a chunk that have no reason to be skipped
 *
 * Both strands of a window share their evidence. Does nothing if the model has no table and no
 * proteins.
 *
 * c        its views have been listed and encoded; gets view.evidence, in its arena
 * n_thread threads for the search of proteins; each takes a view, or all share a long one
 * Returns  CS_OK or CS_EMEM
 */
int cs_evidence_find(const cs_policy *p, cs_chunk *c, int n_thread) CS_MUST_CHECK;

/**
 * cs_evidence_of - the evidence for one sequence
 *
 * m        its proteins are indexed
 * base     n_base bases; of another strand the result is the same
 * n_thread threads that share the search; the result does not depend on it
 * evidence [m->n_label] receives it; zeros without a table and proteins
 * Returns  CS_OK or CS_EMEM
 * Thread   any number at a time
 */
int cs_evidence_of(const cs_model *m, const char *base, int64_t n_base, int n_thread,
                   float *evidence) CS_MUST_CHECK;

/** cs_evidence_add - add a view's evidence to its n raw values, after prediction */
void cs_evidence_add(const cs_view *v, int64_t n);

#endif
