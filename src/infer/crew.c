/* crew.c - the infer stages of a stream and the models that they answer with. */
#include "infer/crew.h"

static int add_twin(cs_crew *c, int i, const cs_model *m)
{
    const int rc = cs_backend_open(m->be->device, 1, &c->be[i]);

    if (rc == CS_OK)
        c->stage[i].twin = cs_model_twin(m, c->be[i]);
    return rc;
}

static int n_devices(const cs_backend *be)
{
    int n = 0;

    for (; be; be = be->next)
        n++;
    return n;
}

/* The stages of further devices; what they wait for is theirs alone. */
static int add_copies(cs_crew *c, const cs_model *m)
{
    cs_backend *be = m->be;
    int rc = CS_OK;

    for (int i = 1; i < c->n && rc == CS_OK; i++) {
        be = be->next;
        rc = cs_model_copy(m, be, &c->copy[i]);
        c->stage[i].model = c->copy[i];
        c->stage[i].whole = NULL;
    }
    return rc;
}

/* What a device has no room for is computed by all threads, as large batches are. */
static int add_spare(cs_crew *c, const cs_model *m, int n_thread)
{
    int rc = CS_OK;

    CS_TRY(cs_backend_open("cpu", n_thread, &c->spare_be));
    CS_TRY(cs_model_copy(m, c->spare_be, &c->spare));
    for (int i = 0; i < c->n; i++) {
        c->stage[i].spare = c->spare;
        c->stage[i].spares = &c->spares;
    }
out:
    return rc;
}

int cs_crew_new(cs_pipe *p, cs_model *m, const cs_policy *policy, int n, cs_limit *limit,
                cs_crew **out)
{
    int rc = CS_OK;
    cs_crew *c = cs_xcalloc(1, sizeof *c);

    /* Who watches blocks expects one pass at a time. */
    const bool alone = m->ps.grad || m->cx.watch || m->cx.note;
    c->n = alone ? 1 : !m->be->is_host ? n_devices(m->be) : n < CS_CREW_MAX ? n : CS_CREW_MAX;
    c->stage = cs_xcalloc((size_t)c->n, sizeof *c->stage);
    c->be = cs_xcalloc((size_t)c->n, sizeof(cs_backend *));
    c->copy = cs_xcalloc((size_t)c->n, sizeof(cs_model *));
    CS_BUG(pthread_mutex_init(&c->whole, NULL) != 0 || pthread_mutex_init(&c->spares, NULL) != 0);
    for (int i = 0; i < c->n; i++) {
        c->stage[i] = (cs_infer_stage){ .pipe = p, .model = m, .policy = policy,
                                        .limit = limit, .whole = &c->whole };
        if (c->n > 1 && m->be->is_host)
            CS_TRY(add_twin(c, i, m));
    }
    if (!m->be->is_host)
        CS_TRY(add_copies(c, m));
    if (!m->be->is_host && policy->on_long == CS_LONG_CPU)
        CS_TRY(add_spare(c, m, n));
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
        for (int k = 0; k < CS_BERTHS; k++)
            cs_batch_free(c->stage[i].berth[k]);
        cs_model_free(c->stage[i].twin);
        cs_model_free(c->copy[i]);
        cs_backend_close(c->be[i]);
    }
    cs_model_free(c->spare);
    cs_backend_close(c->spare_be);
    CS_BUG(pthread_mutex_destroy(&c->whole) != 0 || pthread_mutex_destroy(&c->spares) != 0);
    free(c->stage);
    free(c->be);
    free(c->copy);
    free(c);
}

int64_t cs_crew_peak_bytes(const cs_crew *c)
{
    int64_t n = c->stage[0].model->cx.cap;

    for (int i = 0; i < c->n; i++)
        n += (c->stage[i].twin ? c->stage[i].twin->cx.cap : 0)
           + (c->copy[i] ? c->copy[i]->cx.cap : 0);
    return n * (int64_t)sizeof(cs_real);
}
