/* views.h - split a record into views, and combine their predictions. */
#ifndef CS_INFER_VIEWS_H
#define CS_INFER_VIEWS_H

#include "infer/policy.h"

/**
 * cs_views_count - views of a record: at least one
 *
 * A segment that is too short has one, with that reason; others have one per window and strand.
 */
int64_t cs_views_count(const cs_policy *p, const cs_record *r);

/**
 * cs_views_list - list these views, without tokens
 *
 * rec      the record's place in its chunk
 * out      [cs_views_count] segment by segment, windows from left to right, forward first. tok.n is
 *          the upper bound of a view's tokens; 0 if they are counted
 */
void cs_views_list(const cs_policy *p, const cs_record *r, int32_t rec, cs_view *out);

/** cs_view_counts - are the tokens of this view counted instead of stored? True for long sequences,
 * to save memory. The owner then sets v->count before cs_view_encode() */
bool cs_view_counts(const cs_policy *p, const cs_view *v);

/** cs_view_scratch - bytes of scratch memory that cs_view_encode() needs for this view */
int64_t cs_view_scratch(const cs_policy *p, const cs_view *v);

/**
 * cs_view_encode - tokenise a view, or set its reason and tok.n = 0
 *
 * v        tok.id holds tok.n ids, or count a number per token of the vocabulary
 * scratch  [cs_view_scratch()] aligned to 16; NULL if that is 0
 * Thread   any, each view once
 */
void cs_view_encode(const cs_policy *p, const cs_record *r, cs_view *v, char *scratch);

/**
 * cs_views_combine - combine the predictions of the views of record i of a chunk
 *
 * The mean of raw values over the strands of a window, over windows, over segments, with the same
 * bits for the reverse complement and for swapped mates; then the head's activation. A view with a
 * reason is left out; if none is left, the first one's reason is the record's. Lack of memory
 * always is the record's reason. Segments that are apart or joint (policy.h) are both required;
 * apart, the prediction is the raw values of the first segment, then of the second.
 */
void cs_views_combine(const cs_policy *p, const cs_chunk *c, int i);

#endif
