/*
 * vector.c - a model that answers with the vectors its head sees instead of the head's answer.
 *
 * DESIGN: a head around the head. Everything between input and answer (batches, strands, windows,
 * pairs) knows a head's answer as some floats, so that vectors come out of what is there already.
 */
#include "nn/exec/vector.h"

#include "base/mem.h"

struct around { const cs_head *head; void *net; bool hidden; };

static int64_t vector_answer_len(const void *net, int64_t n_tok)
{
    const struct around *a = net;

    (void)n_tok;
    return a->head->n_vector(a->net, a->hidden);
}

static cs_mat vector_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h)
{
    const struct around *a = net;

    return a->head->vector(cx, a->net, seg, h, a->hidden);
}

static void vector_activate(cs_ctx *cx, const void *net, cs_mat y)
{
    (void)cx;
    (void)net;
    (void)y;
}

static void vector_decide(const void *net, float *v, int64_t n, double temperature)
{
    (void)net;
    (void)v;
    (void)n;
    (void)temperature;
}

static bool vector_pools(const void *net)
{
    const struct around *a = net;

    return a->head->pools && a->head->pools(a->net);
}

static void vector_release(void *net)
{
    struct around *a = net;

    a->head->release(a->net);
    free(a);
}

static const cs_head around_head = {
    .name = "vector",
    .summary = "the vectors that another head sees",
    .answer_len = vector_answer_len,
    .forward = vector_forward,
    .activate = vector_activate,
    .decide = vector_decide,
    .pools = vector_pools,
    .release = vector_release,
};

int cs_model_give_vectors(cs_model *m, bool hidden, int32_t *width)
{
    *width = m->head->n_vector ? m->head->n_vector(m->head_net, hidden) : 0;
    if (*width == 0)
        return cs_fail(CS_EUSAGE, "%s", hidden ? "the model's head has no hidden layer; its pooled "
                       "vector is what it sees" : "the model's head sees no single vector");
    struct around *a = cs_xmalloc(sizeof *a);
    *a = (struct around){ m->head, m->head_net, hidden };
    m->head = &around_head;
    m->head_net = a;
    return CS_OK;
}

void cs_model_give_answers(cs_model *m)
{
    if (!m || m->head != &around_head)
        return;
    struct around *a = m->head_net;
    m->head = a->head;
    m->head_net = a->net;
    free(a);
}
