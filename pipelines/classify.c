/* classify.c - class probabilities per record: `chordseq classify`. */
#include <string.h>

#include "io/writer.h"
#include "pipelines/common.h"
#include "pipelines/policy.h"
#include "pipelines/stream.h"
#include "registry.h"

struct classify_args {
    const char *output;
    int         all;
};

static struct classify_args own;
static cs_input_args input;
static cs_model_args model;
static cs_policy_args policy;
static cs_call_args calls;
static cs_compute_args compute;
static cs_stream_args stream;
static cs_log_args logs;

static const cs_opt classify_table[] = {
    { .type = CS_OPT_GROUP, .name = "Output" },
    { .type = CS_OPT_STR, .letter = 'o', .name = "output",
      .off = offsetof(struct classify_args, output), .arg = "FILE", .def = "-",
      .help = "write here; '-' is standard output",
      .man = "The file appears under its name when it is complete; a run that fails leaves what "
             "was there before." },
    { .type = CS_OPT_FLAG, .name = "all", .off = offsetof(struct classify_args, all),
      .help = "add a column with the probability of every class" },
    { .type = CS_OPT_END }
};

static void options(cs_optset *set)
{
    const cs_optset all[] = {
        { cs_input_table, &input, NULL },     { cs_model_table, &model, NULL },
        { cs_policy_table, &policy, NULL },   { cs_call_table, &calls, NULL },
        { classify_table, &own, NULL },       { cs_compute_table, &compute, NULL },
        { cs_stream_table, &stream, NULL },   { cs_log_table, &logs, NULL },
        { NULL, NULL, NULL },
    };

    memcpy(set, all, sizeof all);
}

static int sink(void *arg, const cs_record *r, const cs_answer *a)
{
    return cs_output_record(arg, r, a);
}

/* "97 called, 2 empty, 1 too_long; both strands": every record is in one of them. */
static void count_reasons(const cs_output *o, const cs_policy *p, char *buf, size_t n_buf)
{
    uint64_t n_without = 0;
    size_t n = 0;

    for (int r = CS_REASON_NONE + 1; r < CS_N_REASON; r++)
        n_without += o->n_reason[r];
    n = (size_t)snprintf(buf, n_buf, "%llu called", (unsigned long long)(o->n_record - n_without));
    for (int r = CS_REASON_NONE + 1; r < CS_N_REASON && n < n_buf; r++)
        if (o->n_reason[r] > 0)
            n += (size_t)snprintf(buf + n, n_buf - n, ", %llu %s",
                                  (unsigned long long)o->n_reason[r], cs_reason_name((cs_reason)r));
    if (n + 2 < n_buf) {
        (void)memcpy(buf + n, "; ", 2);
        (void)cs_policy_text(p, buf + n + 2, n_buf - n - 2);
    }
}

/* Classify from `in` to `out`; closes or discards out. */
static int classify(cs_inputs *in, cs_model *m, const cs_split *split, cs_output *out)
{
    int rc = CS_OK;
    char counts[512];
    cs_policy how;
    cs_stream_stat stat;
    CS_TRY(cs_policy_init(&how, &policy, &calls, m));
    const cs_stream s = {
        .in = in, .model = m, .policy = &how, .batch_tokens = stream.batch_tokens,
        .window = (int)stream.window, .n_thread = split->work, .sink = sink, .arg = out,
    };

    CS_TRY(cs_stream_run(&s, &stat));
    count_reasons(out, &how, counts, sizeof counts);
    rc = cs_output_close(out);
    out = NULL;
    if (rc != CS_OK)
        goto out;
    if (stat.n_record == 0)
        cs_warn("there are no records in the input");
    cs_stream_summary("classified", counts, &s, &stat);
out:
    cs_output_discard(out);
    return rc;
}

static int open_output(const cs_model *m, const char **label, cs_output **out)
{
    for (int32_t i = 0; i < m->n_label; i++)
        label[i] = m->label[i].name;
    const cs_output_info info = {
        .label = label, .n_label = m->n_label, .is_class = m->head->is_class, .all = own.all,
        .model_sum = m->sum,
    };
    return cs_output_open(cs_writer_find("tsv"), own.output, &info, out);
}

static int run(int argc, char **argv)
{
    int rc = CS_OK;
    cs_optset set[CS_MAX_OPTSET];
    cs_backend *be = NULL;
    cs_model *m = NULL;
    cs_inputs *in = NULL;
    cs_output *out = NULL;
    const char **label = NULL;

    options(set);
    CS_TRY(cs_args_parse(set, argc, argv, &input.file, &logs));
    CS_TRY(cs_args_input(&input));
    const cs_split split = cs_args_split(&compute);
    cs_input_opt how = { .reference = input.reference, .threads = split.inflate };
    CS_TRY(cs_model_open(model.model, split.work, &be, &m));
    how.alphabet = cs_tokenizer_alphabet(m->tok, m->tok_state);
    CS_TRY(cs_inputs_open(input.file.v, input.file.n, &how, &in));
    label = cs_xcalloc((size_t)m->n_label + 1, sizeof *label);
    CS_TRY(open_output(m, label, &out));
    CS_TRY(classify(in, m, &split, out));
out:
    free(label);
    cs_inputs_close(in);
    cs_model_free(m);
    cs_backend_close(be);
    cs_opt_release(set);
    return rc;
}

const cs_command cs_cmd_classify = {
    .name = "classify",
    .summary = "say which class each sequence belongs to",
    .usage = "[OPTIONS] [FILE...]",
    .options = options,
    .run = run,
};
