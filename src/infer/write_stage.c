/* write_stage.c - the write stage: wait for a chunk's predictions, pass its records to the sink.
 *
 * DESIGN. A record has one or several views (views.h), each a separate sequence for bucket and
 * infer. Their predictions are combined here, so the record's depends on them only.
 */
#include "infer/stage.h"
#include "infer/views.h"

static void count_reason(cs_write_stage *s, const cs_record *r, cs_reason reason)
{
    if (reason == CS_REASON_TOO_LONG)
        cs_warning_count(&s->too_long, r->name);
    if (reason == CS_REASON_NO_MEMORY)
        cs_warning_count(&s->no_memory, r->name);
}

/* Report how sequences that exceeded memory were predicted. */
static void count_detours(cs_write_stage *s, const cs_chunk *c, int i)
{
    bool on_cpu = false;

    for (int32_t k = c->views->first[i]; k < c->views->first[i + 1]; k++)
        on_cpu = on_cpu || c->views->view[k].on_cpu;
    if (on_cpu)
        cs_warning_count(&s->on_cpu, c->rec[i].name);
    if (s->policy->on_long == CS_LONG_FIT && c->views->prediction[i].n_window[0] > 1)
        cs_warning_count(&s->cut, c->rec[i].name);
}

static int write_chunk(cs_write_stage *s, const cs_chunk *c)
{
    int rc = CS_OK;

    for (int i = 0; i < c->n; i++) {
        cs_views_combine(s->policy, c, i);
        CS_TRY(cs_policy_accept(s->policy, &c->rec[i], c->views->prediction[i].reason));
        count_reason(s, &c->rec[i], c->views->prediction[i].reason);
        count_detours(s, c, i);
        CS_TRY(s->sink(s->arg, &c->rec[i], &c->views->prediction[i]));
    }
    s->n_record += (uint64_t)c->n;
    s->n_base += (uint64_t)c->n_base;
    if (s->progress)
        cs_progress_update(s->progress, s->n_record, s->n_base, c->input_bytes);
out:
    return rc;
}

int cs_stage_write(void *self, cs_queue *in, cs_queue *out)
{
    cs_write_stage *s = self;
    void *item;
    int rc;

    (void)out;
    while ((rc = cs_queue_pop(in, &item)) == CS_OK) {
        cs_chunk *c = item;
        rc = cs_pipe_wait_zero(s->pipe, &c->views->pending);
        if (rc != CS_OK) {
            cs_pipe_keep(s->pipe, c, cs_chunk_drop);   /* infer may still be writing to it */
            break;
        }
        rc = write_chunk(s, c);
        cs_chunk_free(c);
        if (rc != CS_OK)
            break;
    }
    return rc;
}
