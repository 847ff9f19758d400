/* workers.c - the infer stages of a stream and their sessions. */
#include "infer/workers.h"

/* A session with the settings of the shared one. */
static cs_session *session_like(const cs_session *shared, cs_model *m, cs_backend *be)
{
    cs_session *s = cs_session_new(m, be);

    s->output = shared->output;
    s->allow_nonfinite = shared->allow_nonfinite;
    return s;
}

/* One session per thread on the model, with loops of one thread. */
static int add_threads(cs_workers *c, cs_model *m)
{
    int rc = CS_OK;

    for (int i = 0; i < c->n && c->n > 1; i++) {
        CS_TRY(cs_backend_open_like(m->be, 1, &c->worker[i].be));
        c->worker[i].session = session_like(c->shared, m, c->worker[i].be);
        c->stage[i].session = c->worker[i].session;
    }
out:
    return rc;
}

static int n_devices(const cs_backend *be)
{
    int n = 0;

    for (; be; be = be->next)
        n++;
    return n;
}

/* The sessions of further devices, on copies of the model. */
static int add_devices(cs_workers *c, const cs_model *m)
{
    cs_backend *be = m->be;
    int rc = CS_OK;

    for (int i = 1; i < c->n; i++) {
        cs_worker *w = &c->worker[i];
        be = be->next;
        CS_TRY(cs_model_copy(m, be, &w->copy));
        w->session = session_like(c->shared, w->copy, be);
        c->stage[i].session = c->stage[i].shared = w->session;
    }
out:
    return rc;
}

/* Batches beyond a device's memory are computed by all threads, like large batches. */
static int add_fallback(cs_workers *c, const cs_model *m, int n_thread)
{
    int rc = CS_OK;
    cs_worker *w = &c->fallback;

    CS_TRY(cs_backend_open("cpu", n_thread, &w->be));
    CS_TRY(cs_model_copy(m, w->be, &w->copy));
    w->session = session_like(c->shared, w->copy, w->be);
    for (int i = 0; i < c->n; i++)
        c->stage[i].fallback = w->session;
out:
    return rc;
}

int cs_workers_new(cs_pipe *p, cs_model *m, const cs_policy *policy, bool nonfinite, int n,
                   cs_limit *limit, cs_workers **out)
{
    int rc = CS_OK;
    cs_workers *c = cs_xcalloc(1, sizeof *c);

    c->n = !m->be->is_host ? n_devices(m->be) : n < CS_WORKERS_MAX ? n : CS_WORKERS_MAX;
    c->stage = cs_xcalloc((size_t)c->n, sizeof *c->stage);
    c->worker = cs_xcalloc((size_t)c->n, sizeof *c->worker);
    CS_BUG(pthread_mutex_init(&c->shared_lock, NULL) != 0
           || pthread_mutex_init(&c->fallback_lock, NULL) != 0);
    c->shared = cs_session_new(m, m->be);
    c->shared->output = policy->output;
    c->shared->allow_nonfinite = nonfinite;
    for (int i = 0; i < c->n; i++)
        c->stage[i] = (cs_infer_stage){ .pipe = p, .policy = policy, .limit = limit,
                                        .session = c->shared, .shared = c->shared,
                                        .shared_lock = &c->shared_lock,
                                        .fallback_lock = &c->fallback_lock };
    CS_TRY(m->be->is_host ? add_threads(c, m) : add_devices(c, m));
    if (!m->be->is_host && policy->on_long == CS_LONG_CPU)
        CS_TRY(add_fallback(c, m, n));
    *out = c;
    c = NULL;
out:
    cs_workers_free(c);
    return rc;
}

static void worker_release(cs_worker *w)
{
    cs_session_free(w->session);
    cs_model_free(w->copy);
    cs_backend_close(w->be);
}

void cs_workers_free(cs_workers *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n; i++) {
        free(c->stage[i].output);
        for (int k = 0; k < CS_STAGING_SLOTS; k++)
            cs_batch_free(c->stage[i].sent[k]);
        worker_release(&c->worker[i]);
    }
    worker_release(&c->fallback);
    cs_session_free(c->shared);
    CS_BUG(pthread_mutex_destroy(&c->shared_lock) != 0
           || pthread_mutex_destroy(&c->fallback_lock) != 0);
    CS_FREE(c->stage, c->worker, c);
}

int64_t cs_workers_peak_bytes(const cs_workers *c)
{
    int64_t n = c->shared->cx.cap;

    for (int i = 0; i < c->n; i++)
        n += c->worker[i].session ? c->worker[i].session->cx.cap : 0;
    return n * (int64_t)sizeof(cs_real);
}
