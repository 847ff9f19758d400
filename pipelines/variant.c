/* variant.c - score variants: `chordseq variant`. */
#include <ctype.h>
#include <string.h>

#include "eval/variant_report.h"
#include "infer/stream.h"
#include "io/io_init.h"
#include "pipelines/command.h"
#include "run/outputs.h"
#include "run/shard.h"

enum { N_OUT = 4 };
enum { PATH_BYTES = 4096, DEFAULT_WINDOW = 1000, LEAST_WINDOW = 8 };

static const char *const scores[] = { "auto", "model", "embedding", "llr", NULL };
static const char *const strands[] = { "model", "forward", "both", "max", NULL };
static const char *const indexes[] = { "off", "auto", "tbi", "csi", NULL };   /* cs_vcf_index */
static const char *const formats[] = { "auto", "v", "z", "u", "b", NULL };

struct variant_args {
    cs_strlist  file, circular, region;
    const char *reference, *exons, *output, *tsv, *html, *summary, *prefix, *fields;
    int64_t     window;
    double      max_unknown;
    int         score, strand, ends, format, index, no_version, strict;
};

static struct variant_args own;
static cs_model_args model;
static cs_compute_args compute;
static cs_device_args device;
static cs_stream_args stream;
static cs_shard_args shards;

#define OWN(field) .off = offsetof(struct variant_args, field)

static const cs_opt variant_table[] = {
    { .type = CS_OPT_GROUP, .name = "Input and output" },
    { .type = CS_OPT_INS, .letter = 'i', .name = "input", OWN(file), .arg = "FILE",
      .help = "input VCF or BCF; '-' is standard input",
      .man = "One file, plain, gzip or BGZF, sorted or not. Without one, standard input is read "
             "unless it is a terminal." },
    { .type = CS_OPT_IN, .letter = 'f', .name = "reference", OWN(reference), .arg = "FILE",
      .help = "FASTA file that the variants refer to",
      .man = "Plain or BGZF. A missing index is created beside it." },
    { .type = CS_OPT_LIST, .letter = 'r', .name = "region", OWN(region), .arg = "REGION",
      .help = "restrict to contig, contig:from or contig:from-to (may be repeated)",
      .man = "Counted from 1, both ends included. The input needs an index. A record in several "
             "regions is written once." },
    { .type = CS_OPT_FLAG, .name = "strict-contigs", OWN(strict),
      .help = "refuse contigs whose names match the reference only without 'chr'",
      .man = "By default, 22 and chr22 are the same contig, with a warning." },
    { .type = CS_OPT_IN, .name = "exons", OWN(exons), .arg = "FILE",
      .help = "BED, GTF or GFF3 file of exons: read variants near them on their strand only",
      .man = "Of GTF and GFF3 the features 'exon' count, BED has the strand in column six. A "
             "variant with exons of one strand within half a window is read on that strand, any "
             "other as --strand says." },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", OWN(output), .arg = "FILE", .def = "-",
      .help = "output file; '-' is standard output" },
    { .type = CS_OPT_ENUM, .letter = 'O', .name = "output-type", OWN(format), .arg = "TYPE",
      .def = "auto", .choice = formats,
      .help = "v: VCF, z: BGZF-compressed VCF, b: BCF, u: uncompressed BCF",
      .man = "auto follows the output's suffix: .vcf.gz, .bcf, else VCF." },
    { .type = CS_OPT_WHEN, .letter = 'W', .name = "write-index", OWN(index), .arg = "FORMAT",
      .def = "off", .choice = indexes,
      .help = "write an index beside the output: auto, tbi, csi or off",
      .man = "Without a format it is auto: TBI for compressed VCF, CSI for BCF and for contigs of "
             "more than 512 megabases." },
    { .type = CS_OPT_OUT, .name = "tsv", OWN(tsv), .arg = "FILE",
      .help = "table with a row per alternative allele" },
    { .type = CS_OPT_OUT, .name = "html", OWN(html), .arg = "FILE",
      .help = "HTML report: distribution of scores, top variants, contributions of bases",
      .man = "For scores of models that were trained on variants. For the ten variants with the "
             "largest scores, plots show what the bases around them contribute, by mutagenesis; "
             "that takes as long as 1,500 variants." },
    { .type = CS_OPT_OUT, .name = "summary", OWN(summary), .arg = "FILE",
      .help = "summary as JSON: versions, model, options, counts, distribution of scores" },
    { .type = CS_OPT_STR, .name = "prefix", OWN(prefix), .arg = "TEXT", .def = "CS_",
      .help = "prefix of INFO field names" },
    { .type = CS_OPT_STR, .name = "fields", OWN(fields), .arg = "LIST",
      .help = "INFO fields to write, comma-separated (default: all)",
      .man = "By their names in the output, such as CS_SPLICE,CS_SKIP." },
    { .type = CS_OPT_FLAG, .name = "no-version", OWN(no_version),
      .help = "omit version, command line and model from the header" },
    { .type = CS_OPT_GROUP, .name = "Scores" },
    { .type = CS_OPT_ENUM, .name = "score", OWN(score), .arg = "NAME", .def = "auto",
      .choice = scores, .help = "score: model, embedding, llr, or auto (by the model)",
      .man = "model is the prediction of a variant head, a value per label. llr is for models of "
             "chordseq-pretrain(1): the log-likelihood ratio of ALT to REF given the rest of the "
             "window. embedding is the distance between the vectors of the two windows, for any "
             "other model." },
    { .type = CS_OPT_SIZE, .letter = 'w', .name = "window-length", OWN(window), .arg = "NUM",
      .def = "0", .help = "window length in bases; 0: that of the model's training, or 1000",
      .min = 0, .max = 1e9 },
    { .type = CS_OPT_ENUM, .name = "ends", OWN(ends), .arg = "RULE", .def = "skip",
      .choice = cs_window_ends,
      .help = "windows beyond the contig's end: skip the variant, or fill with N" },
    { .type = CS_OPT_LIST, .name = "circular", OWN(circular), .arg = "CONTIG",
      .help = "circular contig (may be repeated)" },
    { .type = CS_OPT_ENUM, .name = "strand", OWN(strand), .arg = "NAME", .def = "model",
      .choice = strands, .help = "strands to read: forward, both, max, or model (the model's "
                                 "default)",
      .man = "both averages the logits of a window and its reverse complement. max takes the "
             "larger one, for effects on genes of either strand." },
    { .type = CS_OPT_REAL, .name = "max-unknown", OWN(max_unknown), .arg = "SHARE", .def = "0.5",
      .help = "maximum share of unknown bases in a window", .min = 0, .max = 1 },
    { .type = CS_OPT_END }
};

static const cs_optset variant_tables[] = {
    { variant_table, &own, NULL }, { cs_model_table, &model, NULL },
    { cs_compute_table, &compute, NULL }, { cs_device_table, &device, NULL },
    { cs_stream_table, &stream, NULL }, { cs_shard_table, &shards, NULL },
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

/* ---- the job --------------------------------------------------------------------------------- */

struct job {
    cs_backend   *be;
    cs_model     *model;
    char          model_path[PATH_BYTES];
    cs_policy     policy;
    cs_reference *ref;
    cs_variant_source source;
    cs_variant_values values;
    cs_vcfout    *out;
    cs_outfile   *tsv, *html, *summary;
    cs_variant_report *report;   /* of --html, or NULL */
    cs_shard     *shard;         /* of --shard, or NULL */
    uint64_t      n_record;
};

/* One input, or standard input. */
static int check_input(void)
{
    cs_input_args in = { .file = own.file };

    if (own.file.n > 1)
        return cs_fail(CS_EUSAGE, "give one VCF or BCF file, not %d", own.file.n);
    const int rc = cs_args_input(&in);
    own.file = in.file;
    return rc;
}

static int variant_check_options(void)
{
    if (!own.reference)
        return cs_fail(CS_EUSAGE, "no reference; give one with -f FILE");
    int rc = check_input();
    if (rc == CS_OK)
        rc = cs_outputs_apart((const char *const[]){ own.output, own.tsv, own.html,
                                                     own.summary }, N_OUT);
    if (rc != CS_OK)
        return rc;
    const char c = own.prefix[0];
    bool good = isalpha((unsigned char)c) || c == '_';
    for (const char *p = own.prefix; *p; p++)
        good = good && (isalnum((unsigned char)*p) || *p == '_' || *p == '.');
    return good ? CS_OK : cs_fail(CS_EUSAGE, "--prefix '%s' is not a valid start of a VCF key; "
                                  "use letters, digits, '_' and '.'", own.prefix);
}

/* ---- records --------------------------------------------------------------------------------- */

static int sink(void *job, const cs_record *rec, const cs_prediction *a)
{
    int rc = CS_OK;
    struct job *j = job;
    const cs_variant_alt *v = rec->native[0];
    const cs_vcf_record *r = v->of;

    cs_variant_values_set(&j->values, v, a);
    if (j->report)
        CS_TRY(cs_variant_report_add(j->report, v, rec));
    if (v->no + 1 < r->n_alt)
        return CS_OK;
    j->n_record++;
    for (int i = 0; j->tsv && i < r->n_alt; i++)
        CS_TRY(cs_variant_values_row(&j->values, r, i, j->tsv));
    CS_TRY(cs_vcfout_record(j->out, r, j->values.value));
    rc = cs_shard_written(j->shard);
out:
    return cs_outputs_explain(rc, 1 + (j->tsv != NULL) + (j->html != NULL)
                                  + (j->summary != NULL));
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

static char format_of(void)
{
    if (own.format > 0)
        return formats[own.format][0];
    if (ends_with(own.output, ".bcf"))
        return 'b';
    return ends_with(own.output, ".gz") || ends_with(own.output, ".bgz") ? 'z' : 'v';
}

static int choose_score(struct job *j)
{
    const bool trained = cs_model_parts(j->model) == 2;
    const bool guesses = j->model->head->per_token && j->model->mask >= 0;

    j->values.score = own.score != CS_SCORE_AUTO ? own.score : trained ? CS_SCORE_MODEL
             : guesses ? CS_SCORE_LLR : CS_SCORE_EMBEDDING;
    if (j->values.score == CS_SCORE_LLR) {
        const int rc = cs_model_check_masked(j->model, j->model_path);
        const bool bases = rc == CS_OK && j->model->n_label == 4;
        return rc != CS_OK || bases ? rc : cs_fail(CS_EUSAGE, "model '%s' has tokens that are not "
               "bases; --score llr needs --tokenizer base", j->model_path);
    }
    if (!trained && own.score == CS_SCORE_MODEL)
        return cs_fail(CS_EUSAGE, "model '%s' was not trained on variants; --score embedding works "
                       "with any model", j->model_path);
    if (trained && j->values.score == CS_SCORE_EMBEDDING)
        return cs_fail(CS_EUSAGE, "model '%s' has no vector per sequence; use --score model",
                       j->model_path);
    if (j->values.score != CS_SCORE_EMBEDDING)
        return CS_OK;
    const int rc = cs_model_check_output(j->model, CS_HEAD_POOLED);
    j->values.width = rc != CS_OK ? 0
                    : (int32_t)cs_model_output_len(j->model, CS_HEAD_POOLED, 1);
    return rc;
}

static int choose_window(struct job *j, int64_t *n_base)
{
    const cs_model *m = j->model;
    const int64_t longest = cs_model_max_len(m);

    *n_base = own.window > 0 ? own.window : m->window > 0 ? m->window : DEFAULT_WINDOW;
    const int64_t n_tok = m->tok->bound(m->tok_state, *n_base) * cs_model_parts(m);
    if (*n_base < LEAST_WINDOW || *n_base < m->tok->min_base(m->tok_state))
        return cs_fail(CS_EUSAGE, "--window-length %lld is too short", (long long)*n_base);
    if (longest > 0 && n_tok > longest)
        return cs_fail(CS_EUSAGE, "windows of %lld bases exceed the model's maximum; lower "
                       "--window-length", (long long)*n_base);
    return CS_OK;
}

static int prepare_model(struct job *j, int n_thread)
{
    int rc = CS_OK;

    CS_TRY(cs_variants_model(model.model, (cs_variant_score)own.score, j->model_path,
                             sizeof j->model_path));
    CS_TRY(cs_model_open(j->model_path, &device, n_thread, &j->be, &j->model));
    CS_TRY(choose_score(j));
    const cs_policy_args usual = {
        .strand = own.strand,
        .max_unknown = own.max_unknown,
        .pair = j->values.score == CS_SCORE_MODEL ? CS_PAIR_JOINT : CS_PAIR_APART,
        .output = j->values.score == CS_SCORE_EMBEDDING ? CS_HEAD_POOLED : CS_HEAD_PREDICTION,
    };
    j->source.guess = j->values.score == CS_SCORE_LLR;
    CS_TRY(cs_policy_init(&j->policy, &usual, NULL, j->model));
    j->policy.of_bases = j->source.guess;
    CS_TRY(choose_window(j, &j->source.n_base));
    CS_TRY(cs_variant_values_init(&j->values, j->model, own.prefix));
    CS_TRY(cs_variant_values_choose(&j->values, own.fields));
    if (own.html && j->values.score != CS_SCORE_MODEL)
        rc = cs_fail(CS_EUSAGE, "--html shows probabilities, which only a model that was trained "
                     "on variants gives; use --tsv");
    else if (own.html)
        j->report = cs_variant_report_new(&j->values, j->source.n_base);
out:
    return rc;
}

/* One line, without line ends in the text. */
static char *header_line(const char *key, const char *text)
{
    const size_t n = strlen(key) + strlen(text) + sizeof "##chordseq_variant=";
    char *line = cs_xmalloc(n);

    (void)snprintf(line, n, "##chordseq_variant%s=%s", key, text);
    for (char *p = line; *p; p++)
        *p = iscntrl((unsigned char)*p) ? ' ' : *p;
    return line;
}

static int variant_open_outputs(struct job *j, int argc, char **argv, int threads)
{
    int rc = CS_OK;
    char text[PATH_BYTES + 160];
    const cs_about about = { .argc = argc, .argv = argv };
    char *command = cs_about_line(&about), *line[3];

    (void)snprintf(text, sizeof text, "%s+htslib-%s", PACKAGE_VERSION, cs_io_library());
    line[0] = header_line("Version", text);
    line[1] = header_line("Command", command);
    (void)snprintf(text, sizeof text, "sha256:%s encoder:%s head:%s window:%lld", j->model->sum,
                   j->model->enc->name, j->model->head->name, (long long)j->source.n_base);
    line[2] = header_line("Model", text);
    const cs_vcfout_opt o = {
        .path = own.output, .format = format_of(), .index = (cs_vcf_index)own.index,
        .threads = threads,
        .line = (const char *const *)line, .n_line = own.no_version ? 0 : 3,
        .field = j->values.field, .n_field = j->values.n_field,
    };
    CS_TRY(cs_vcfout_open(j->source.in, &o, &j->out));
    if (own.html)
        CS_TRY(cs_outfile_open(own.html, &j->html));
    if (own.summary)
        CS_TRY(cs_outfile_open(own.summary, &j->summary));
    if (own.tsv) {
        CS_TRY(cs_outfile_open_as(own.tsv, NULL, CS_OUT_TABLE, &j->tsv));
        rc = cs_variant_values_head(&j->values, j->tsv);
    }
out:
    for (int i = 0; i < 3; i++)
        free(line[i]);
    free(command);
    return rc;
}

static int variant_prepare(struct job *j, const cs_split *split, int argc, char **argv)
{
    int rc = CS_OK;
    const bool native = format_of() == 'b' || format_of() == 'u';

    CS_TRY(cs_shard_new(&shards, &j->shard));
    if (cs_shard_wants(j->shard) && format_of() != 'v')
        return cs_fail(CS_EUSAGE, "--manifest needs plain VCF (-O v), which 'chordseq merge' "
                       "joins; join other formats with 'bcftools concat'");
    CS_TRY(prepare_model(j, split->work));
    CS_TRY(cs_reference_open(own.reference, &j->ref));
    if (own.strict)
        cs_reference_strict(j->ref);
    const cs_window_opt w = { .n_base = j->source.n_base, .fill = own.ends == CS_ENDS_FILL,
                              .circular = own.circular.v, .n_circular = own.circular.n };
    for (int i = 0; i < w.n_circular; i++)
        if (cs_reference_length(j->ref, w.circular[i]) < 0)
            return cs_fail(CS_EUSAGE, "--circular '%s' is not a contig of '%s'", w.circular[i],
                           own.reference);
    j->source.windows = cs_windows_new(j->ref, &w);
    if (own.exons)
        CS_TRY(cs_exons_open(own.exons, &j->source.exons));
    CS_TRY(cs_vcf_open(own.file.v[0], split->inflate, native, &j->source.in));
    if (own.region.n > 0)
        CS_TRY(cs_vcf_restrict(j->source.in, own.region.v, own.region.n, j->ref));
    rc = variant_open_outputs(j, argc, argv, split->inflate);
out:
    return rc;
}

/* ---- the run --------------------------------------------------------------------------------- */

static int64_t log_vcf(const void *out)
{
    return cs_vcfout_tell(out);
}

static int begin_shard(struct job *j, cs_stream *s)
{
    int rc = CS_OK;

    CS_TRY(cs_shard_read(j->shard, s));
    CS_TRY(cs_shard_add(j->shard, "output", own.output, log_vcf, j->out));
    if (j->tsv)
        rc = cs_shard_add_file(j->shard, "tsv", own.tsv, j->tsv);
out:
    return rc;
}

static int write_reports(struct job *j, const cs_stream *s, const cs_about *about)
{
    int rc = CS_OK;
    char *command = cs_about_line(about);
    json_t *all = cs_about_json(about);

    cs_variant_report_json(&j->values, j->n_record, all);
    if (j->summary)
        CS_TRY(cs_outfile_json(j->summary, all, JSON_INDENT(2), own.summary));
    if (j->html)
        rc = cs_variant_report_html(j->report, j->html, s, j->n_record, command);
out:
    json_decref(all);
    free(command);
    return rc;
}

/* All are complete before the first has its name; from there on a signal comes too late. */
static int close_outputs(struct job *j)
{
    int rc = CS_OK;
    cs_outfile **const file[N_OUT - 1] = { &j->tsv, &j->html, &j->summary };

    CS_TRY(cs_vcfout_finish(j->out));
    for (int i = 0; i < N_OUT - 1; i++)
        if (*file[i])
            CS_TRY(cs_outfile_finish(*file[i]));
    if (cs_signal_caught() != 0)
        return CS_ECANCEL;
    rc = cs_vcfout_close(j->out);
    j->out = NULL;
    for (int i = 0; rc == CS_OK && i < N_OUT - 1; i++) {
        rc = cs_outfile_close(*file[i]);
        *file[i] = NULL;
    }
out:
    return rc;
}

static int score(struct job *j, const cs_split *split, const cs_about *about)
{
    int rc = CS_OK;
    cs_stream_stat stat;
    cs_stream s = {
        .next = cs_variants_next, .source = &j->source, .model = j->model, .policy = &j->policy,
        .batch_tokens = stream.batch_tokens, .allow_nonfinite = !stream.check_finite,
        .window = (int)stream.chunks_in_flight, .n_thread = split->work, .sink = sink, .arg = j,
    };

    CS_TRY(begin_shard(j, &s));
    CS_TRY(cs_stream_run(&s, &stat));
    CS_TRY(cs_shard_end(j->shard));
    CS_TRY(write_reports(j, &s, about));
    CS_TRY(close_outputs(j));
    CS_TRY(cs_shard_close(j->shard, about, NULL));
    cs_variant_values_report(&j->values, j->n_record, own.prefix, own.reference, &stat);
    if (!j->shard)               /* of which one may well have none */
        rc = cs_variant_values_check(&j->values, own.prefix);
out:
    return rc;
}

static void variant_release(struct job *j)
{
    cs_vcfout_discard(j->out);
    cs_outfile_discard(j->tsv);
    cs_outfile_discard(j->html);
    cs_outfile_discard(j->summary);
    cs_variant_report_free(j->report);
    cs_shard_free(j->shard);
    cs_vcf_close(j->source.in);
    cs_windows_free(j->source.windows);
    cs_exons_close(j->source.exons);
    cs_reference_free(j->ref);
    cs_variant_values_release(&j->values);
    cs_model_free(j->model);
    cs_backend_close(j->be);
}

static int variant_run(const cs_call *call)
{
    int rc = CS_OK;
    struct job j = { .be = NULL };

    CS_TRY(variant_check_options());
    const cs_split split = cs_args_split(&compute);
    CS_TRY(variant_prepare(&j, &split, call->argc, call->argv));
    const cs_about about = cs_call_about(call, &own.file, j.model, j.model_path);
    CS_TRY(score(&j, &split, &about));
out:
    variant_release(&j);
    return rc;
}

const cs_command cs_cmd_variant = {
    .name = "variant",
    .summary = "score variants",
    .usage = "[OPTIONS] -f REFERENCE [FILE]",
    .tables = variant_tables,
    .operands = &own.file,
    .run = variant_run,
};
