/* pass.h - what a pass through a model reads, and the pass itself: for the files it is made of. */
#ifndef CS_NN_PASS_H
#define CS_NN_PASS_H

#include "nn/exec/model.h"

/* Host memory, or, `staged`, backend memory. Pointers are NULL in a dry run. */
typedef struct cs_input {
    const int32_t *tok;
    const float   *x, *target;   /* target, label: host memory always */
    const int32_t *label;
    const int64_t *off;
    const int64_t *each;         /* 0, 1 ... n_seg; where staged */
    int64_t        n_tok;
    int32_t        n_seg, depth;
    bool           staged;
    const cs_learn *learn;       /* NULL: predict */
} cs_input;

/* An input where the backend can read it, of all parts one behind the other. */
typedef struct cs_staged {
    cs_seg         seg;          /* of one part's tokens, as of any other's */
    const int32_t *tok;          /* [n_part * seg.rows], or NULL: x */
    cs_mat         x;            /* (n_part * seg.rows, n_channel) */
    const int64_t *each;         /* 0, 1 ... n_seg, or NULL: not yet */
    cs_mat         target, weight;           /* as a head's loss takes them; when learning */
    double         scale;
} cs_staged;

/** cs_input_of - a batch as it lies */
cs_input cs_input_of(const cs_batch *b, const cs_learn *l);

/** cs_input_parts - what the encoder reads: of a model of two parts, both parts of every record
 * apart, in m->parts, and n_tok, off and depth those of the first; else the input itself */
cs_input cs_input_parts(cs_model *m, const cs_input *in, bool dry);

/** cs_stage_input - copies what is not there yet, in an order that depends on the shape alone */
cs_staged cs_stage_input(cs_model *m, const cs_input *in);
/** cs_stage_each - the numbers from 0 to n, where the backend can read them */
const int64_t *cs_stage_each(cs_ctx *cx, int32_t n);

/**
 * cs_pass - the head's raw output, with the loss on the tape when learning
 *
 * in       as cs_input_parts() gave it; memory for it has been reserved
 */
cs_mat cs_pass(cs_model *m, const cs_input *in, bool dry);
/** cs_pass_begin, cs_pass_compute - its halves: copies from the host, and ops, which when learning
 * read no host memory but the model's own */
cs_staged cs_pass_begin(cs_model *m, const cs_input *in, bool dry);
cs_mat    cs_pass_compute(cs_model *m, const cs_staged *st);

/** cs_learn_pass - cs_pass() and cs_backward() for a batch that has been reserved for; what they
 * leave is in m->trace and m->cx. One launch where the shape came before (graph.c) */
void cs_learn_pass(cs_model *m, const cs_input *in);
void cs_graphs_release(cs_model *m);

/** cs_check_batch - CS_BUG for a batch of another kind of model, CS_EMODEL where a sequence is too
 * long for it */
int cs_check_batch(const cs_model *m, const cs_batch *b) CS_MUST_CHECK;

/** cs_check_finite - note that value number `first` of an answer is not finite (-1: all are), and
 * say so by CS_EMODEL unless the model is `unchecked` */
int cs_check_finite(cs_model *m, int64_t first) CS_MUST_CHECK;

/** cs_tell_batch - rc; the message of CS_EDEVICE gets the batch's shape */
int cs_tell_batch(int rc, const cs_input *in);

/** cs_berths_has - do batches go through berths (berths.c)? */
static inline bool cs_berths_has(const cs_backend *be) { return be->berths.send != NULL; }
/** cs_berths_bytes - what the berths take on the device, for batches of this shape with so many
 * reals of answers; 0 where there are none */
int64_t cs_berths_bytes(const cs_model *m, int64_t n_tok, int32_t n_seg, int64_t n_answer);
void cs_berths_release(cs_model *m);

#endif
