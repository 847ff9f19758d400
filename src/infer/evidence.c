/* evidence.c - evidence of a model's look-up table for views. */
#include "infer/evidence.h"

#include <string.h>

/* Both strands of a window have the same evidence. */
static const float *shared(const cs_chunk *c, int32_t k)
{
    const cs_view *v = &c->views->view[k], *before = v - 1;

    if (k == 0 || !v->reverse || before->rec != v->rec || before->seg != v->seg ||
        before->start != v->start || before->n_base != v->n_base)
        return NULL;
    return before->evidence;
}

int cs_chunk_look_up(const cs_policy *p, cs_chunk *c)
{
    const cs_lookup *l = p->model->lookup;

    if (l == NULL || p->output != CS_HEAD_PREDICTION)
        return CS_OK;
    float *evidence = cs_arena_alloc(c->mem, (size_t)c->views->n * (size_t)l->n_class,
                                     sizeof *evidence);
    if (evidence == NULL)
        return cs_fail(CS_EMEM, "out of memory for the look-up of %d views", (int)c->views->n);
    for (int32_t k = 0; k < c->views->n; k++, evidence += l->n_class) {
        cs_view *v = &c->views->view[k];
        if (v->reason)
            continue;
        v->evidence = shared(c, k);
        if (v->evidence != NULL)
            continue;
        cs_lookup_evidence(l, c->rec[v->rec].seg[v->seg].base + v->start, v->n_base, evidence);
        v->evidence = evidence;
    }
    return CS_OK;
}

void cs_view_add_evidence(const cs_view *v, int64_t n)
{
    for (int64_t k = 0; v->evidence != NULL && k < n; k++)
        v->v[k] += v->evidence[k];
}
