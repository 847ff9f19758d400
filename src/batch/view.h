/* view.h - views of a chunk's records: inputs of the network, with tokens and predictions. */
#ifndef CS_BATCH_VIEW_H
#define CS_BATCH_VIEW_H

#include <stdatomic.h>

#include "io/prediction.h"

typedef struct cs_tokens { int32_t *id; int64_t n; } cs_tokens;

/* A sequence for the network: a segment of a record or a window of it, on one strand. A record has
 * one or several views; src/infer/views.h lists and combines them. */
typedef struct cs_view {
    int32_t   rec, seg;          /* the record's index in the chunk, and its segment */
    int64_t   start, n_base;     /* the part of the segment */
    bool      reverse;           /* the view is its reverse complement */
    cs_reason reason;            /* why it has no prediction, or NONE */
    cs_tokens tok;               /* id NULL for real-valued input */
    int64_t  *count;             /* [vocabulary] occurrences of each of tok.n tokens, instead of
                                  * ids; or NULL */
    float    *v;                 /* [n of the prediction] raw values, set by infer */
    const float *evidence;       /* [n of the prediction] added to v, or NULL */
    bool      on_cpu;            /* computed on the CPU, for lack of device memory */
} cs_view;

/* The views of a chunk's records, in its arena except `id`. */
typedef struct cs_views {
    cs_view    *view;            /* [n] in the records' order */
    int32_t     n;
    int32_t    *first;           /* [records + 1] record i has the views first[i] .. first[i+1]-1 */
    int32_t    *id;              /* [n_id] of all views, on the heap; NULL after copying to
                                  * batches */
    int64_t     n_id;
    cs_prediction *prediction;   /* [records] space made by tokenise, filled by write */
    atomic_int  pending;         /* missing predictions of views, plus one while the bucket stage
                                  * uses the chunk */
} cs_views;

#endif
