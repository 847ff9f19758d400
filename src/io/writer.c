/* writer.c - shared functions of output writers.
 *
 * DESIGN: the file is opened at once, so an unwritable path fails before any work, but begin() is
 * called at the first record or the close: a run that fails early leaves nothing.
 */
#include "io/writer.h"

#include <string.h>

/* Numbers that cs_output_save() wrote are counts. */
static bool restore_counts(cs_output *o, const json_t *from)
{
    const json_t *records = json_object_get(from, "records");
    const json_t *reasons = json_object_get(from, "reasons");

    o->n_record = (uint64_t)json_integer_value(records);
    bool good = json_integer_value(records) >= 0 && json_is_integer(records)
             && json_array_size(reasons) == CS_N_REASON;
    for (size_t r = 0; good && r < CS_N_REASON; r++) {
        const json_int_t n = json_integer_value(json_array_get(reasons, r));
        o->n_reason[r] = (uint64_t)n;
        good = n >= 0;
    }
    return good;
}

static int writer_open_file(cs_output *o)
{
    int rc = CS_OK;
    const json_t *from = o->info.from;
    const cs_writer *w = o->w;

    if (!o->info.resumes)
        return cs_outfile_open_as(o->path, w->holds, w->kind, &o->file);
    CS_TRY(cs_outfile_may_replace(o->path, w->holds));
    CS_TRY(cs_out_check(o->path, w->kind));
    if (w->kind != CS_OUT_PACKED && !cs_out_is_plain(o->path))
        return cs_fail(CS_EUSAGE, "--resume supports neither compressed outputs nor CSV: '%s'; "
                       "write a plain one and convert it after the run", o->path);
    const cs_part_mark mark = { json_integer_value(json_object_get(from, "bytes")),
                                json_integer_value(json_object_get(from, "sum")) };
    rc = cs_outfile_continue(o->path, w->holds, mark, &o->file);
out:
    return rc;
}

static int restore(cs_output *o)
{
    int rc = CS_OK;
    const json_t *from = o->info.from;

    if (!from || !json_is_true(json_object_get(from, "begun")))
        return CS_OK;
    o->begun = true;
    rc = !restore_counts(o, from) ? CS_EFORMAT
       : o->w->restore ? o->w->restore(o, json_object_get(from, "state")) : CS_OK;
    if (rc == CS_EFORMAT)        /* unless a file of the output has the message */
        rc = cs_fail(CS_EFORMAT, "the saved state of '%s' is damaged", o->path);
    return rc;
}

int cs_output_save(cs_output *o, json_t **out)
{
    int rc = CS_OK;
    cs_part_mark mark = { 0, 0 };
    json_t *reasons = NULL;

    *out = NULL;
    CS_BUG(!o->w->resumes || !o->info.resumes);
    if (o->w->sync)
        CS_TRY(o->w->sync(o));
    if (o->file)
        CS_TRY(cs_outfile_checkpoint(o->file, &mark));
    reasons = json_array();
    for (int r = 0; r < CS_N_REASON; r++)
        json_array_append_new(reasons, json_integer((json_int_t)o->n_reason[r]));
    *out = json_pack("{s:b, s:I, s:I, s:I, s:o, s:o}", "begun", o->begun, "bytes",
                     (json_int_t)mark.n_bytes, "sum", (json_int_t)mark.sum, "records",
                     (json_int_t)o->n_record, "reasons", reasons, "state",
                     o->begun && o->w->save ? o->w->save(o) : json_null());
    if (!*out)
        rc = cs_fail(CS_EMEM, "out of memory for the state of '%s'", o->path);
out:
    return rc;
}

int32_t cs_prediction_taxon(const cs_output_info *info, const cs_prediction *a)
{
    const int best = a->reason == CS_REASON_NONE ? cs_prediction_best(a) : -1;

    if (best < 0)
        return -1;
    return a->taxon > 0 ? a->taxon : info->taxonomy->of_class[best];
}

double cs_prediction_prob(const cs_prediction *a)
{
    return a->p > 0 ? (double)a->p : (double)a->v[cs_prediction_best(a)];
}

/* Names from the root down, joined by ';'; false: buf is too small. */
static bool lineage(const cs_taxonomy *t, int32_t node, char *buf, size_t n_buf)
{
    size_t n = 0;

    if (t->node[node].parent > 0) {
        if (!lineage(t, t->node[node].parent, buf, n_buf))
            return false;
        n = strlen(buf);
    }
    const int more = snprintf(buf + n, n_buf - n, "%s%s", n ? ";" : "", t->node[node].name);
    return more >= 0 && (size_t)more < n_buf - n;
}

const char *cs_taxon_label(const cs_output_info *info, int32_t node, char buf[CS_LABEL_TEXT])
{
    const cs_taxon *v = &info->taxonomy->node[node];

    if (v->class_no >= 0)
        return info->label[v->class_no];
    if (!lineage(info->taxonomy, node, buf, CS_LABEL_TEXT))
        (void)snprintf(buf, CS_LABEL_TEXT, "%s", v->name);
    return buf;
}

const char *cs_prediction_label(const cs_output_info *info, const cs_prediction *a,
                                char buf[CS_LABEL_TEXT])
{
    if (a->reason != CS_REASON_NONE || a->n == 0)
        return "unclassified";
    return a->taxon > 0 ? cs_taxon_label(info, a->taxon, buf) : info->label[cs_prediction_best(a)];
}

const char *cs_output_path(const cs_writer *w, const void *cfg)
{
    const char *path;

    memcpy(&path, (const char *)cfg + w->opt[0].off, sizeof path);
    return path;
}

int cs_output_check_sample(const cs_output_info *info)
{
    if (!*info->sample || strpbrk(info->sample, "\t\r\n"))
        return cs_fail(CS_EUSAGE, "--sample '%s' is not a valid name in CAMI formats; give one "
                       "without tabs and line ends", info->sample);
    return CS_OK;
}

int cs_output_open(const cs_writer *w, const char *path, const cs_output_info *info,
                   cs_output **out)
{
    int rc = CS_OK;
    cs_output *o = cs_xcalloc(1, sizeof *o);
    o->w = w;
    o->info = *info;
    o->cfg = info->cfg;
    if (w->opt && !info->cfg)
        o->cfg = o->defaults = cs_opt_new(w->opt, w->cfg_size);
    o->path = path;
    if (w->open)
        CS_TRY(w->open(o));
    else
        CS_TRY(writer_open_file(o));
    CS_TRY(restore(o));
    *out = o;
    o = NULL;
out:
    cs_output_discard(o);
    return rc;
}

/* Once, before the first write. */
int cs_output_begin(cs_output *o)
{
    if (o->begun)
        return CS_OK;
    o->begun = true;
    return o->w->begin ? o->w->begin(o) : CS_OK;
}

int cs_output_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;
    CS_TRY(cs_output_begin(o));
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
    free(o->defaults);
    free(o);
}

int cs_output_finish(cs_output *o)
{
    int rc = CS_OK;
    if (o->finished)
        return CS_OK;
    CS_TRY(cs_output_begin(o));
    if (o->w->end)
        CS_TRY(o->w->end(o));
    if (o->file)
        CS_TRY(cs_outfile_finish(o->file));
    o->finished = true;
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
    o->file = NULL;              /* freed, also after an error */
out:
    cs_output_discard(o);
    return rc;
}
