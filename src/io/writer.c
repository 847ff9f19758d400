/* writer.c - records and answers to bytes: what every output format does alike.
 *
 * DESIGN: the file is opened at once, so that a path that cannot be written to fails before any
 * work, but begin() waits for the first record or the close: a run that fails early leaves nothing.
 */
#include "io/writer.h"

#include <string.h>

int cs_answer_best(const cs_answer *a)
{
    if ((a->reason != CS_REASON_NONE && a->reason != CS_REASON_LOW_PROB) || a->n < 1)
        return -1;
    int best = 0;
    for (int i = 1; i < a->n; i++) {
        if (a->v[i] > a->v[best])
            best = i;
    }
    return best;
}

int cs_output_open(const cs_writer *w, const char *path, const cs_output_info *info,
                   cs_output **out)
{
    int rc = CS_OK;
    cs_output *o = cs_xcalloc(1, sizeof *o);
    o->w = w;
    o->info = *info;
    o->cfg = cs_xcalloc(1, w->cfg_size ? w->cfg_size : 1);
    if (w->opt)
        cs_opt_defaults((const cs_optset[]){ { w->opt, o->cfg, NULL }, { NULL, NULL, NULL } });
    o->path = path;
    if (w->open)
        CS_TRY(w->open(o));
    else
        CS_TRY(cs_outfile_open(path, &o->file));
    *out = o;
    o = NULL;
out:
    cs_output_discard(o);
    return rc;
}

/* begin() once, before whatever comes first. */
static int begin(cs_output *o)
{
    if (o->begun)
        return CS_OK;
    o->begun = 1;
    return o->w->begin(o);
}

int cs_output_record(cs_output *o, const cs_record *r, const cs_answer *a)
{
    int rc = CS_OK;
    CS_TRY(begin(o));
    CS_TRY(o->w->record(o, r, a));
    o->n_record++;
    o->n_reason[a->reason]++;
out:
    return rc;
}

void cs_output_discard(cs_output *o)
{
    if (!o)
        return;
    if (o->w->release)
        o->w->release(o);
    cs_outfile_discard(o->file);
    if (o->w->opt)
        cs_opt_release((const cs_optset[]){ { o->w->opt, o->cfg, NULL }, { NULL, NULL, NULL } });
    free(o->cfg);
    free(o);
}

int cs_output_finish(cs_output *o)
{
    int rc = CS_OK;
    if (o->finished)
        return CS_OK;
    CS_TRY(begin(o));
    CS_TRY(o->w->end(o));
    if (o->file)
        CS_TRY(cs_outfile_finish(o->file));
    o->finished = 1;
out:
    return rc;
}

int cs_output_close(cs_output *o)
{
    int rc = CS_OK;
    CS_TRY(cs_output_finish(o));
    if (o->w->commit)
        CS_TRY(o->w->commit(o));
    rc = cs_outfile_close(o->file);
    o->file = NULL;              /* gone, whether that went well or not */
out:
    cs_output_discard(o);
    return rc;
}
