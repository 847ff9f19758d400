/* predict_views.h - the prediction of a record without the stages of a stream. */
#ifndef CS_TESTS_PREDICT_VIEWS_H
#define CS_TESTS_PREDICT_VIEWS_H

#include "check.h"

#include "infer/views.h"
#include "nn/exec/session.h"

/** predict_views - predict every view of a record in its own batch, and combine them
 *
 * be       that of the policy's model, which predicts per sequence
 * a        n and space for n values are set; receives the prediction
 * Returns  the number of views
 */
static inline int predict_views(const cs_policy *p, const cs_record *r, cs_backend *be,
                                cs_prediction *a)
{
    int32_t first[] = { 0, (int32_t)cs_views_count(p, r) };
    cs_view *view = cs_xcalloc((size_t)first[1], sizeof *view);
    float *raw = cs_xcalloc((size_t)first[1] * (size_t)a->n, sizeof *raw);
    cs_session *s = cs_session_new((cs_model *)(uintptr_t)p->model, be);

    assert_true(first[1] >= 1);
    cs_views_list(p, r, 0, view);
    for (int i = 0; i < first[1]; i++) {
        cs_batch *b = cs_batch_new(0, 0);
        char *scratch = cs_xmalloc((size_t)cs_view_scratch(p, &view[i]) + 1);
        int32_t *id = cs_xcalloc((size_t)view[i].tok.n + 1, sizeof *id);
        view[i].tok.id = id;
        view[i].v = raw + i * a->n;
        cs_view_encode(p, r, &view[i], scratch);
        assert_true((view[i].reason != CS_REASON_NONE) == (view[i].tok.n == 0));
        if (!view[i].reason) {
            assert_int_equal(cs_batch_append(b, id, NULL, view[i].tok.n, NULL, (cs_slot){ 0 }),
                             CS_OK);
            assert_int_equal(cs_session_forward(s, b, view[i].v), CS_OK);
        }
        cs_batch_free(b);
        CS_FREE(scratch, id);
    }
    cs_session_free(s);
    cs_record copy = *r;
    cs_views views = { .view = view, .first = first, .prediction = a };
    cs_views_combine(p, &(cs_chunk){ .rec = &copy, .views = &views }, 0);
    CS_FREE(view, raw);
    return first[1];
}

#endif
