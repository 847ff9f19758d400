/* crew.c - the infer stages of a stream and the models that they answer with. */
#include "pipelines/crew.h"

static int add_twin(cs_crew *c, int i, const cs_model *m)
{
    const int rc = cs_backend_open(m->be->device, 1, &c->be[i]);

    if (rc == CS_OK)
        c->stage[i].twin = cs_model_twin(m, c->be[i]);
    return rc;
}

int cs_crew_new(cs_pipe *p, cs_model *m, const cs_policy *policy, int n, cs_crew **out)
{
    int rc = CS_OK;
    cs_crew *c = cs_xcalloc(1, sizeof *c);

    /* A device has its own order of work, and who watches blocks expects one pass at a time. */
    const bool alone = !m->be->is_host || m->ps.grad || m->cx.watch || m->cx.note;
    c->n = alone ? 1 : n < CS_CREW_MAX ? n : CS_CREW_MAX;
    c->stage = cs_xcalloc((size_t)c->n, sizeof *c->stage);
    c->be = cs_xcalloc((size_t)c->n, sizeof(cs_backend *));
    CS_BUG(pthread_mutex_init(&c->whole, NULL) != 0);
    for (int i = 0; i < c->n; i++) {
        c->stage[i] = (cs_infer_stage){ .pipe = p, .model = m, .policy = policy,
                                        .whole = &c->whole };
        if (c->n > 1)
            CS_TRY(add_twin(c, i, m));
    }
    *out = c;
    c = NULL;
out:
    cs_crew_free(c);
    return rc;
}

void cs_crew_free(cs_crew *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n; i++) {
        free(c->stage[i].answer);
        cs_model_free(c->stage[i].twin);
        cs_backend_close(c->be[i]);
    }
    CS_BUG(pthread_mutex_destroy(&c->whole) != 0);
    free(c->stage);
    free(c->be);
    free(c);
}

int64_t cs_crew_peak_bytes(const cs_crew *c)
{
    int64_t n = c->stage[0].model->cx.cap;

    for (int i = 0; i < c->n; i++)
        n += c->stage[i].twin ? c->stage[i].twin->cx.cap : 0;
    return n * (int64_t)sizeof(cs_real);
}
