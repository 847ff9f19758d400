/* classify.c - class probabilities per record: `chordseq classify`. */
#include <string.h>

#include "infer/taxa.h"
#include "pipelines/command.h"
#include "run/records.h"
#include "run/resume.h"
#include "run/sample_prior.h"
#include "run/shard_counts.h"
#include "train/evaluate.h"

/* State of a run besides its stream. */
struct job {
    cs_records   run;
    cs_outputs  *out;
    cs_journal  *journal;        /* of --resume, or NULL */
    cs_class_counts *counts;     /* for the manifest, or NULL */
    cs_output_info info;
    const char **label;
    cs_taxonomy *taxonomy;
    cs_tree      tree;           /* the same, if calls are taxa */
    char        *about, *line;
};

static cs_record_args from;
static cs_call_args calls = { .prior.estimates = true };
static cs_output_args outputs;

static void classify_options(cs_optset *set)
{
    const cs_optset before[] = {
        { cs_input_table, &from.input, NULL }, { cs_pair_table, &from.pairs, NULL },
        CS_RECORD_MODEL_TABLES(from), { cs_call_table, &calls, NULL },
        { cs_prior_table, &calls.prior, NULL },
    };
    const cs_optset after[] = {
        CS_RECORD_RUN_TABLES(from), { cs_log_table, &cs_command_logs, NULL },
    };

    memcpy(set, before, sizeof before);
    set += sizeof before / sizeof *before;
    set += cs_outputs_options(&outputs, set);
    memcpy(set, after, sizeof after);
}

/* ---- a part of the input, and an interrupted run --------------------------------------------- */

static int record_of_run(void *job, const cs_record *r, const cs_prediction *a)
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

/* What the manifest will state of the records so far, for the journal. */
static json_t *manifest_save(const void *job)
{
    const struct job *j = job;

    return json_pack("{s:o, s:o}", "pieces", cs_shard_save(j->run.shard), "class_counts",
                     cs_class_counts_json(j->counts));
}

static int manifest_restore(struct job *j, const json_t *state)
{
    int rc = CS_OK;

    if (!state)
        return CS_OK;
    CS_TRY(cs_shard_restore(j->run.shard, json_object_get(state, "pieces")));
    if (!cs_class_counts_read(j->counts, json_object_get(state, "class_counts")))
        rc = cs_fail(CS_EFORMAT, "the saved counts for --manifest are damaged; remove the journal "
                     "(.resume) to start over");
out:
    return rc;
}

static int begin_shard(struct job *j, cs_stream *s)
{
    int rc = CS_OK;

    CS_TRY(cs_shard_read(j->run.shard, s));
    CS_TRY(cs_shard_add_outputs(j->run.shard, j->out));
    if (!cs_shard_wants(j->run.shard))
        return CS_OK;
    CS_TRY(cs_class_counts_new(&j->info, &j->counts));
    if (j->journal)
        rc = manifest_restore(j, cs_journal_more(j->journal));
out:
    return rc;
}

static int run_stream(struct job *j, const cs_stream *s, cs_stream_stat *stat)
{
    return !j->journal ? cs_stream_run(s, stat)
         : cs_resume_run(j->out, j->journal, outputs.resume_every,
                         cs_shard_wants(j->run.shard) ? manifest_save : NULL, s, stat);
}

/* Classify from the inputs to the outputs, and close these. */
static int classify(struct job *j, const cs_about *about)
{
    int rc = CS_OK;
    char counts[512];
    cs_stream_stat stat;
    cs_stream s = cs_records_stream(&j->run, &from, record_of_run, j);

    CS_TRY(begin_shard(j, &s));
    CS_TRY(run_stream(j, &s, &stat));
    const bool none = cs_outputs_first(j->out)->n_record == 0;
    cs_outputs_summary(j->out, j->journal ? cs_journal_records(j->journal) : 0, &j->run.policy,
                       counts, sizeof counts);
    CS_TRY(cs_shard_end(j->run.shard));
    cs_outputs_warn_few_calls(j->out, calls.max_error >= 0 ? "--max-error 1 --min-prob 0"
                                                          : "--min-prob 0");
    rc = cs_outputs_close(j->out);
    j->out = NULL;
    CS_TRY(rc);
    if (cs_shard_wants(j->run.shard))
        CS_TRY(cs_shard_close(j->run.shard, about, cs_shard_counts_json(&j->info, j->counts)));
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
    const char *const other[2] = { from.input.reference, from.input.regions };

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
        CS_TRY(cs_inputs_header(j->run.src.in, j->run.src.second, &header));
    j->about = cs_about_text(about);
    j->line = cs_about_line(about);
    if (cs_outputs_resumed(&outputs))
        CS_TRY(cs_journal_open(cs_outputs_resumed(&outputs), about, other, &j->journal));
    j->info = (cs_output_info){
        .label = j->label, .n_label = m->n_label, .is_class = m->head->is_class,
        .is_labels = m->head->is_labels,
        .model_sum = m->sum, .taxonomy = j->taxonomy, .taxa = j->run.policy.tree != NULL,
        .prior = j->run.policy.prior,
        .about = j->about,
        .command_line = j->line, .header = header, .several = from.input.file.n > 1,
        .reference = from.input.reference,
        .threads = j->run.threads.inflate,
        .from = j->journal ? cs_journal_outputs(j->journal) : NULL,
    };
    rc = cs_outputs_open(&outputs, &j->info, &j->out);
out:
    return rc;
}

static int classify_prepare(struct job *j, cs_about *about)
{
    int rc = CS_OK;

    CS_TRY(cs_records_load(&j->run, &from));
    cs_record_source_note_mates(&from.input, &from.pairs);
    j->run.input_opt.keep_native = cs_outputs_want_native(&outputs);
    CS_TRY(cs_evaluate_per_record(j->run.model));
    CS_TRY(cs_outputs_check(&outputs, j->run.model, cs_policy_taxa(&calls, j->run.model),
                            from.shard.manifest != NULL));
    CS_TRY(cs_records_open(&j->run, &from, &calls));
    if (cs_prior_is_auto(&calls.prior))
        CS_TRY(cs_sample_prior(&j->run, &from));
    about->model = j->run.model;
    about->prior = j->run.policy.prior;
    CS_TRY(classify_open_outputs(j, about));
out:
    return rc;
}

static int classify_run(const cs_command_line *cmdline)
{
    int rc = CS_OK;
    struct job j = { .out = NULL };
    cs_about about = cs_command_about(cmdline, &from.input.file, NULL, j.run.model_path);

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
