/* session_state.h - members of a session; callers include nn/exec/session.h. */
#ifndef CS_NN_SESSION_STATE_H
#define CS_NN_SESSION_STATE_H

#include "nn/exec/model.h"

/* Results of the last pass, in backend memory, valid until the next one; for tests and
 * explanations. A prediction overwrites x. After a training pass, cs_grad_of(&s->cx, x) is the
 * gradient of the embedded input; a reversible encoder leaves x there up to rounding, and encoded
 * is x again. A prediction with a head that pools may compute the means alone: then x is absent and
 * encoded holds a row per record, unless cx.no_mean is set. With a head of two parts x is the
 * embedded input of the first. */
typedef struct cs_trace {
    cs_mat x, encoded, y;        /* y: the head's raw output */
} cs_trace;

/* Host memory for separated parts of a head of two: all first ones, then all second. */
typedef struct cs_parts {
    int64_t *off;                /* [n_seg + 1] of either part's tokens */
    int32_t *tok;
    float   *x;
    size_t   n_off, n_tok, n_x;
} cs_parts;

/* Buffers of one batch in transfer to and from a device (nn/exec/staging.h). */
typedef struct cs_staging_buffer { char *pinned, *device; size_t cap; } cs_staging_buffer;
typedef struct cs_staging {
    cs_staging_buffer in, out;
    int64_t           n;         /* reals of its output */
    int64_t           n_tok;
    int32_t           n_seg, depth;
    bool              raw;       /* its output is before the head's activation */
} cs_staging;

/* Arguments of a training pass besides the batch. */
typedef struct cs_step_opt {
    const float *weight;         /* [cs_model_n_weight] of classes or labels, or NULL */
    double       scale;          /* multiplies the summed loss: 1 / (weights of the whole step) */
    uint64_t     key;            /* dropout masks */
    int32_t      keep;           /* CS_KEEP_ALL, or the number of stored block inputs of a stack;
                                  * fewer if they do not fit (cs_plan_checkpoint_blocks()): see
                                  * cx.keep */
} cs_step_opt;

typedef struct cs_session {
    cs_model        *model;      /* not owned; only training writes to it: gradients, marks */
    cs_backend      *be;         /* not owned */
    cs_ctx           cx;         /* tape, arenas, switches of a pass */
    cs_trace         trace;
    cs_parts         parts;
    cs_staging       staging[CS_STAGING_SLOTS];
    struct cs_graph_cache *graphs;   /* of training passes, see graph.h; NULL: none yet */
    cs_head_output   output;     /* set it before the first pass; a training pass ignores it */
    bool             freeze_encoder;   /* training leaves embedding and encoder as they are */
    bool             allow_nonfinite;  /* accept outputs that are not finite */
    int64_t          nonfinite;  /* index of the first non-finite value of the last outputs; -1:
                                  * none */
} cs_session;

#endif
