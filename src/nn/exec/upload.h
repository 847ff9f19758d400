/* upload.h - copy a batch to the backend, split into parts. */
#ifndef CS_NN_UPLOAD_H
#define CS_NN_UPLOAD_H

#include "nn/exec/session_state.h"

/* Host memory, or, `on_device`, backend memory. Pointers are NULL in a dry run. */
typedef struct cs_pass_input {
    const int32_t *tok;
    const float   *x, *target;   /* target, label: host memory always */
    const int32_t *label;
    const int64_t *off;
    const int64_t *arange;       /* 0, 1 ... n_seg; where on_device */
    const int64_t *count;        /* of each token, instead of tok; host memory always */
    int64_t        n_tok;
    int32_t        n_seg, depth;
    bool           on_device;
    const cs_step_opt *train;    /* NULL: predict */
} cs_pass_input;

/* An input readable by the backend, with all parts concatenated. */
typedef struct cs_uploaded {
    cs_seg         seg;          /* of one part's tokens, as of any other's */
    const int32_t *tok;          /* [n_part * seg.rows], or NULL: x */
    cs_mat         x;            /* (n_part * seg.rows, n_channel) */
    const int64_t *arange;       /* 0, 1 ... n_seg, or NULL: not yet */
    const int64_t *count;        /* of each token, instead of tok; host memory */
    cs_mat         target, weight;           /* as a head's loss takes them; when training */
    double         scale;
} cs_uploaded;

/** cs_pass_input_of - the arrays of a batch */
cs_pass_input cs_pass_input_of(const cs_batch *b, const cs_step_opt *o);

/** cs_pass_input_parts - the encoder's input: for a model of two parts, both parts of every record
 * separated, in s->parts, with n_tok, off and depth of the first; else the input itself */
cs_pass_input cs_pass_input_parts(cs_session *s, const cs_pass_input *in, bool dry);
/** cs_parts_reserve - memory for the parts of such a batch; CS_OK or CS_EMEM */
int  cs_parts_reserve(cs_session *s, int64_t n_tok, int32_t n_seg) CS_MUST_CHECK;
void cs_parts_release(cs_session *s);

/** cs_upload - copy arrays that are not on the backend yet, in an order that depends on the shape
 * alone */
cs_uploaded cs_upload(cs_session *s, const cs_pass_input *in);
/** cs_upload_arange - the numbers from 0 to n, readable by the backend */
const int64_t *cs_upload_arange(cs_ctx *cx, int32_t n);

#endif
