/* classify.c - class probabilities per record: `chordseq classify`. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "infer/taxa.h"
#include "io/class_counts.h"
#include "pipelines/command.h"
#include "run/journal.h"
#include "run/outputs.h"
#include "run/records.h"
#include "train/evaluate.h"


/* State of a run besides its stream. */
struct job {
    cs_records   run;
    cs_outputs  *out;
    cs_journal  *journal;        /* of --resume, or NULL */
    double       saved_s;        /* when it was written last */
    cs_class_counts    *counts;         /* for its manifest, or NULL */
    cs_output_info info;
    const char **label;
    cs_taxonomy *taxonomy;
    cs_tree      tree;           /* the same, if calls are taxa */
    char        *about, *line;
};

static cs_record_args from;
static cs_call_args calls;
static cs_output_args outputs;

static void classify_options(cs_optset *set)
{
    const cs_optset before[] = {
        { cs_input_table, &from.input, NULL }, { cs_pair_table, &from.pairs, NULL },
        CS_RECORD_MODEL_TABLES(from), { cs_call_table, &calls, NULL },
    };
    const cs_optset after[] = {
        CS_RECORD_RUN_TABLES(from), { cs_log_table, &cs_command_logs, NULL },
    };

    memcpy(set, before, sizeof before);
    set += sizeof before / sizeof *before;
    set += cs_outputs_options(&outputs, set);
    memcpy(set, after, sizeof after);
}

/* "97 called, 2 empty, 1 too_long; both strands": every record is counted once, including those of
 * an interrupted run. */
static void count_reasons(const cs_output *o, uint64_t n_before, const cs_policy *p, char *buf,
                          size_t n_buf)
{
    uint64_t n_without = 0;
    size_t n = 0;

    for (int r = CS_REASON_NONE + 1; r < CS_N_REASON; r++)
        n_without += o->n_reason[r];
    if (n_before > 0)
        n = (size_t)snprintf(buf, n_buf, "with the %llu before: ", (unsigned long long)n_before);
    n += (size_t)snprintf(buf + n, n_buf - n, "%llu called",
                          (unsigned long long)(o->n_record - n_without));
    for (int r = CS_REASON_NONE + 1; r < CS_N_REASON && n < n_buf; r++)
        if (o->n_reason[r] > 0)
            n += (size_t)snprintf(buf + n, n_buf - n, ", %llu %s",
                                  (unsigned long long)o->n_reason[r], cs_reason_name((cs_reason)r));
    if (n + 2 < n_buf) {
        (void)memcpy(buf + n, "; ", 2);
        (void)cs_policy_text(p, buf + n + 2, n_buf - n - 2);
    }
}

static void warn_of_doubt(const cs_output *o)
{
    const uint64_t n = o->n_reason[CS_REASON_LOW_PROB] + o->n_reason[CS_REASON_LOW_CONFIDENCE]
                     + o->n_reason[CS_REASON_UNLIKE];

    if (n > 0 && 2 * n >= o->n_record)
        cs_warn("%llu of %llu records have no confident call; --min-prob 0 gives the best class of "
                "each", (unsigned long long)n, (unsigned long long)o->n_record);
}

/* ---- runs that may be interrupted ----------------------------------------------------------- */

static int save(struct job *j)
{
    int rc = CS_OK;
    json_t *state = NULL;

    CS_TRY(cs_outputs_save(j->out, &state));
    rc = cs_journal_write(j->journal, cs_outputs_first(j->out)->n_record, state);
    j->saved_s = cs_now_s();
out:
    return rc;
}

static int record_and_save(void *job, const cs_record *r, const cs_prediction *a)
{
    struct job *j = job;
    const int rc = cs_outputs_record(j->out, r, a);

    return rc == CS_OK && cs_now_s() - j->saved_s >= outputs.resume_every ? save(j) : rc;
}

/* Skip the records that are classified already; the journal has checked that the input is the
 * same. */
static int skip(const cs_stream *s, uint64_t n)
{
    uint64_t n_done;
    int (*next)(void *source, cs_chunk *c);
    void *source;

    cs_stream_own_next(s, &next, &source);
    int rc = cs_stream_skip(next, source, n, &n_done);
    if (rc == CS_EOF)
        rc = cs_fail(CS_EFORMAT, "the input has fewer than the %llu records classified before "
                     "the interruption", (unsigned long long)n);
    if (rc == CS_OK)
        cs_note("resuming after %llu records", (unsigned long long)n);
    return rc;
}

static int classify_and_save(struct job *j, cs_stream *s, cs_stream_stat *stat)
{
    int rc = CS_OK;
    const uint64_t n = cs_journal_records(j->journal);

    s->sink = record_and_save;
    s->arg = j;
    j->saved_s = cs_now_s();
    if (n > 0)
        CS_TRY(skip(s, n));
    rc = cs_stream_run(s, stat);
    /* On a signal: everything written is complete, so keep it. */
    if (rc == CS_ECANCEL && save(j) != CS_OK)
        return CS_EIO;
    if (rc == CS_ECANCEL && cs_signal_caught() != 0)
        cs_note("interrupted after %llu records; run the same command to resume",
                (unsigned long long)cs_outputs_first(j->out)->n_record);
    if (rc == CS_OK)
        CS_TRY(cs_outputs_finish(j->out));
    /* Without it, a crash now would start over: outputs are renamed one after the other. */
    if (rc == CS_OK)
        cs_journal_remove(j->journal);
out:
    return rc;
}

/* ---- a part of the input --------------------------------------------------------------------- */

static int record_of_shard(void *job, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;
    struct job *j = job;

    CS_TRY(cs_outputs_record(j->out, r, a));
    if (j->counts)
        cs_class_counts_add(j->counts, &j->info, r, a);
    rc = cs_shard_written(j->run.shard);
out:
    return rc;
}

/* Counts for reports, so that chordseq merge needs neither the model nor reports of parts. */
static json_t *counts_json(const struct job *j)
{
    json_t *label = json_array();
    const cs_taxonomy *t = j->taxonomy;
    char *tree = t ? cs_taxonomy_text(t) : NULL;

    for (int32_t i = 0; i < j->run.model->n_label; i++) {
        const cs_taxon *v = t ? &t->node[t->of_class[i]] : NULL;
        json_array_append_new(label, json_pack("{s:s, s:I, s:s}", "name", j->label[i], "taxid",
                                               v ? (json_int_t)v->taxid : 0, "rank",
                                               v ? v->rank : "no rank"));
    }
    json_t *all = json_pack("{s:o, s:o, s:b, s:b, s:o}", "class_counts",
                            cs_class_counts_json(j->counts), "labels", label, "is_class",
                            j->info.is_class, "taxa", j->info.taxa, "taxonomy",
                            tree ? json_string(tree) : json_null());
    free(tree);
    return all;
}

static int begin_shard(struct job *j, cs_stream *s)
{
    int rc = CS_OK;

    if (!j->run.shard)
        return CS_OK;
    CS_TRY(cs_shard_read(j->run.shard, s));
    s->sink = record_of_shard;
    s->arg = j;
    CS_TRY(cs_shard_add_outputs(j->run.shard, j->out));
    if (cs_shard_wants(j->run.shard))
        rc = cs_class_counts_new(&j->info, &j->counts);
out:
    return rc;
}

/* Classify from the inputs to the outputs, and close these. */
static int classify(struct job *j, const cs_about *about)
{
    int rc = CS_OK;
    char counts[512];
    cs_stream_stat stat;
    cs_stream s = cs_records_stream(&j->run, &from, cs_outputs_record, j->out);

    CS_TRY(begin_shard(j, &s));
    CS_TRY(j->journal ? classify_and_save(j, &s, &stat) : cs_stream_run(&s, &stat));
    const bool none = cs_outputs_first(j->out)->n_record == 0;
    count_reasons(cs_outputs_first(j->out), j->journal ? cs_journal_records(j->journal) : 0,
                  &j->run.policy, counts, sizeof counts);
    CS_TRY(cs_shard_end(j->run.shard));
    warn_of_doubt(cs_outputs_first(j->out));
    rc = cs_outputs_close(j->out);
    j->out = NULL;
    CS_TRY(rc);
    if (cs_shard_wants(j->run.shard))
        CS_TRY(cs_shard_close(j->run.shard, about, counts_json(j)));
    if (none)
        cs_shard_warn_empty(j->run.shard);
    cs_stream_summary("classified", counts, &stat);
out:
    return rc;
}

static int classify_open_outputs(struct job *j, const cs_about *about)
{
    int rc = CS_OK;
    const cs_model *m = j->run.model;
    const void *header = NULL;

    j->label = cs_xcalloc((size_t)m->n_label + 1, sizeof *j->label);
    for (int32_t i = 0; i < m->n_label; i++)
        j->label[i] = m->label[i].name;
    if (m->head->is_class)
        CS_TRY(cs_taxa_of(m, j->run.model_path, &j->taxonomy));
    if (m->head->is_class && cs_policy_taxa(&calls, m)) {
        CS_TRY(cs_taxa_tree(j->taxonomy, &j->tree));
        j->run.policy.tree = &j->tree;
    }
    if (cs_outputs_want_native(&outputs))
        CS_TRY(cs_inputs_header(j->run.src.in, &header));
    j->about = cs_about_text(about);
    j->line = cs_about_line(about);
    if (cs_outputs_resumed(&outputs))
        CS_TRY(cs_journal_open(cs_outputs_resumed(&outputs), j->about, &from.input.file,
                               from.input.reference, &j->journal));
    j->info = (cs_output_info){
        .label = j->label, .n_label = m->n_label, .is_class = m->head->is_class,
        .is_labels = m->head->is_labels,
        .model_sum = m->sum, .taxonomy = j->taxonomy, .taxa = j->run.policy.tree != NULL,
        .about = j->about,
        .command_line = j->line, .header = header, .reference = from.input.reference,
        .threads = j->run.split.inflate, .from = j->journal ? cs_journal_outputs(j->journal) : NULL,
    };
    rc = cs_outputs_open(&outputs, &j->info, &j->out);
out:
    return rc;
}

static int classify_prepare(struct job *j, cs_about *about)
{
    int rc = CS_OK;

    if (from.shard.shard && outputs.resume)
        return cs_fail(CS_EUSAGE, "--resume is incompatible with --shard; rerun an interrupted "
                       "shard");
    CS_TRY(cs_records_load(&j->run, &from));
    j->run.how.keep_native = cs_outputs_want_native(&outputs);
    CS_TRY(cs_evaluate_per_record(j->run.model));
    CS_TRY(cs_outputs_check(&outputs, j->run.model, cs_policy_taxa(&calls, j->run.model)));
    CS_TRY(cs_records_open(&j->run, &from, &calls));
    about->model = j->run.model;
    CS_TRY(classify_open_outputs(j, about));
out:
    return rc;
}

static int classify_run(const cs_call *call)
{
    int rc = CS_OK;
    struct job j = { .out = NULL };
    cs_about about = cs_call_about(call, &from.input.file, NULL, j.run.model_path);

    CS_TRY(classify_prepare(&j, &about));
    CS_TRY(classify(&j, &about));
out:
    cs_outputs_discard(j.out);
    cs_class_counts_free(j.counts);
    cs_journal_free(j.journal);
    CS_FREE(j.label, j.about, j.line);
    cs_taxonomy_free(j.taxonomy);
    cs_taxa_tree_release(&j.tree);
    cs_records_close(&j.run, &from);
    return rc;
}

const cs_command cs_cmd_classify = {
    .name = "classify",
    .summary = "classify sequences",
    .usage = "[OPTIONS] [FILE...]",
    .options = classify_options,
    .operands = &from.input.file,
    .run = classify_run,
};
