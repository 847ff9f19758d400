/* variant.c - score variants: `chordseq variant`. */
#include <ctype.h>
#include <string.h>

#include "base/log.h"
#include "eval/variant_outputs.h"
#include "infer/args.h"
#include "infer/model_args.h"
#include "pipelines/command.h"

enum { PATH_BYTES = 4096 };

static const char *const scores[] = { "auto", "model", "embedding", "llr", NULL };
static const char *const indexes[] = { "off", "auto", "tbi", "csi", NULL };   /* cs_vcf_index */

struct variant_args {
    cs_strlist  file, circular, region;
    const char *reference, *bed, *exons, *prefix, *fields;
    int64_t     window;
    double      max_unknown;
    int         score, strand, ends, strict;
    cs_variant_output_args out;
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
             "unless it is a terminal.", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_IN, .letter = 'f', .name = "reference", OWN(reference), .arg = "FILE",
      .help = "FASTA file that the variants refer to",
      .man = "Plain or BGZF. A missing index is created beside it." },
    { .type = CS_OPT_LIST, .letter = 'r', .name = "region", OWN(region), .arg = "REGION",
      .help = "restrict to contig, contig:from or contig:from-to (may be repeated)",
      .man = "Counted from 1, both ends included. contig:from reaches to the end of the contig, as "
             "in samtools; in bcftools it is one base. The input needs an index, beside it or "
             "given as FILE##idx##INDEX. A record in several regions is written once. The order "
             "is that of the input, not of the regions." },
    { .type = CS_OPT_IN, .letter = 'R', .name = "regions-file", OWN(bed), .arg = "FILE",
      .help = "restrict to the regions of this BED file", .man = "Added to the regions of -r.",
      .same = CS_OPT_SAME_CONTENT },
    { .type = CS_OPT_FLAG, .name = "strict-contigs", OWN(strict),
      .help = "refuse contigs whose names match the reference only without 'chr'",
      .man = "By default, 22 and chr22 are the same contig, with a warning." },
    { .type = CS_OPT_IN, .name = "exons", OWN(exons), .arg = "FILE",
      .help = "exons as BED, GTF or GFF3: predict variants with the nearest one",
      .man = "In GTF and GFF3, only features 'exon' are used. BED needs the strand in column six; "
             "with twelve columns its blocks are the exons. Without --model, the model is then "
             "variant-exons, which reads the nearest exon in the window and its strand; of "
             "equally near ones it is the one on most lines, then the shortest, then the first, "
             "then that on '+'. Variants without an exon in their window have no score (NO_EXON). "
             "For models without --tokenizer.case, exons only choose the strand: if those in the "
             "window are on one, the variant is predicted on it, otherwise by --strand.",
      .same = CS_OPT_SAME_CONTENT },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", OWN(out.output), .arg = "FILE",
      .def = "-", .help = "output file; '-' is standard output" },
    { .type = CS_OPT_STR, .letter = 'O', .name = "output-type", OWN(out.format), .arg = "TYPE",
      .def = "auto", .choice = cs_variant_formats,
      .help = "v: VCF, z: BGZF-compressed VCF, b: BCF, u: uncompressed BCF, or auto",
      .man = "auto uses the suffix of the output: .vcf.gz, .bcf, otherwise VCF. A digit after z or "
             "b is the compression level, as in z9." },
    { .type = CS_OPT_WHEN, .letter = 'W', .name = "write-index", OWN(out.index), .arg = "FORMAT",
      .def = "off", .choice = indexes,
      .help = "write an index beside the output: auto, tbi, csi or off",
      .man = "Without a format it is auto: CSI, as in bcftools. TBI is for compressed VCF with "
             "contigs of at most 512 megabases." },
    { .type = CS_OPT_OUT, .name = "tsv", OWN(out.tsv), .arg = "FILE",
      .help = "table with a row per alternative allele" },
    { .type = CS_OPT_OUT, .name = "html", OWN(out.html), .arg = "FILE",
      .help = "HTML report: distribution of scores, top variants, contributions of bases",
      .man = "Only for models trained on variants. For the ten variants with the largest scores, "
             "plots show the contributions of the bases around them, by mutagenesis; these take as "
             "long as 1,500 variants." },
    { .type = CS_OPT_OUT, .name = "summary", OWN(out.summary), .arg = "FILE",
      .help = "summary as JSON: versions, model, options, counts, distribution of scores" },
    { .type = CS_OPT_STR, .name = "prefix", OWN(prefix), .arg = "TEXT", .def = "CS_",
      .help = "prefix of INFO field names" },
    { .type = CS_OPT_STR, .name = "fields", OWN(fields), .arg = "LIST",
      .help = "INFO fields to write, comma-separated (default: all)",
      .man = "Names as in the output, such as CS_SPLICE,CS_SKIP." },
    { .type = CS_OPT_FLAG, .name = "no-version", OWN(out.no_version),
      .help = "omit version, command line and model from the header" },
    { .type = CS_OPT_GROUP, .name = "Scores" },
    { .type = CS_OPT_ENUM, .name = "score", OWN(score), .arg = "NAME", .def = "auto",
      .choice = scores, .help = "score: model, embedding, llr, or auto (by the model)",
      .man = "model: the prediction of a variant head, a value per label. llr: for models of "
             "chordseq-pretrain(1), by default human-lm, the log-likelihood ratio of ALT to REF "
             "given the rest of the window. embedding: for any other model, the distance between "
             "the vectors of the two windows." },
    { .type = CS_OPT_SIZE, .letter = 'w', .name = "window-length", OWN(window), .arg = "NUM",
      .def = "0", .help = "window length in bases; 0: that of the model's training, or 1000",
      .min = 0, .max = 1e9 },
    { .type = CS_OPT_ENUM, .name = "ends", OWN(ends), .arg = "RULE", .def = "skip",
      .choice = cs_window_ends,
      .help = "windows beyond the contig's end: skip the variant, or fill with N" },
    { .type = CS_OPT_LIST, .name = "circular", OWN(circular), .arg = "CONTIG",
      .help = "circular contig (may be repeated)",
      .man = "Windows continue across its origin, and exons may end beyond its end, as in GFF3. So "
             "do those of contigs that a GFF3 file of --exons states as circular: with "
             "Is_circular=true in a feature of all their bases." },
    { .type = CS_OPT_ENUM, .name = "strand", OWN(strand), .arg = "NAME", .def = "model",
      .choice = cs_policy_strands,
      .help = "strands to read: forward, both, max, weighted, or model (the model's default)",
      .man = "both: the mean of the logits of a window and its reverse complement. max: the larger "
             "logit, for effects on genes of either strand. weighted: the mean weighted by the "
             "softmax over the strands of the last label's logits, if that label is the strand." },
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
    cs_shard     *shard;         /* of --shard, or NULL */
    cs_variant_outputs out;
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
        rc = cs_variant_outputs_check(&own.out);
    if (rc != CS_OK)
        return rc;
    const char c = own.prefix[0];
    bool good = isalpha((unsigned char)c) || c == '_';
    for (const char *p = own.prefix; *p; p++)
        good = good && (isalnum((unsigned char)*p) || *p == '_' || *p == '.');
    return good ? CS_OK : cs_fail(CS_EUSAGE, "--prefix '%s' is not a valid start of a VCF key; "
                                  "use letters, digits, '_' and '.'", own.prefix);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int prepare_model(struct job *j, int n_thread)
{
    int rc = CS_OK;
    cs_variant_score kind;

    CS_TRY(cs_variants_model(model.model, (cs_variant_score)own.score, own.exons != NULL,
                             j->model_path, sizeof j->model_path));
    CS_TRY(cs_model_open(j->model_path, &device, n_thread, &j->be, &j->model));
    CS_TRY(cs_variants_choose_score(j->model, j->model_path, (cs_variant_score)own.score, &kind,
                                    &j->values.width));
    j->values.score = (int)kind;
    const cs_policy_args usual = {
        .strand = own.strand,
        .max_unknown = own.max_unknown,
        .pair = j->values.score == CS_SCORE_MODEL ? CS_PAIR_JOINT : CS_PAIR_CONCAT,
        .output = j->values.score == CS_SCORE_EMBEDDING ? CS_HEAD_POOLED : CS_HEAD_PREDICTION,
    };
    j->source.mask_alleles = j->values.score == CS_SCORE_LLR;
    j->source.mark = cs_model_reads_case(j->model);
    if (j->source.mark && !own.exons)
        return cs_fail(CS_EUSAGE, "model '%s' reads exons in upper case and other bases in lower "
                       "case; give them with --exons", j->model_path);
    CS_TRY(cs_policy_init(&j->policy, &usual, NULL, j->model));
    j->policy.per_base = j->source.mask_alleles;
    CS_TRY(cs_variants_choose_window(j->model, own.window, &j->source.n_base));
    CS_TRY(cs_variant_values_init(&j->values, j->model, own.prefix));
    CS_TRY(cs_variant_values_choose(&j->values, own.fields));
    if (own.out.html && j->values.score != CS_SCORE_MODEL)
        rc = cs_fail(CS_EUSAGE, "--html needs a model trained on variants; use --tsv");
out:
    return rc;
}

/* Such a model was perhaps selected by mistake. */
static void note_distances(const struct job *j)
{
    if (own.score == CS_SCORE_AUTO && j->values.score == CS_SCORE_EMBEDDING)
        cs_note("%s '%s', which was not trained on variants: scores are distances between its "
                "vectors (as with --score embedding); -m variant predicts loss of splicing",
                model.model ? "--model names" : "CHORDSEQ_MODEL names", j->model_path);
}

static int variant_prepare(struct job *j, const cs_thread_counts *threads, cs_about *about)
{
    int rc = CS_OK;
    const char format = cs_variant_format(&own.out);
    const bool native = format == 'b' || format == 'u';

    CS_TRY(cs_shard_new(&shards, &j->shard));
    if (cs_shard_wants(j->shard) && format != 'v')
        return cs_fail(CS_EUSAGE, "--manifest needs plain VCF (-O v), which 'chordseq merge' "
                       "joins; join other formats with 'bcftools concat'");
    CS_TRY(prepare_model(j, threads->work));
    CS_TRY(cs_reference_open(own.reference, &j->ref));
    if (own.strict)
        cs_reference_strict(j->ref);
    const cs_window_opt w = { .n_base = j->source.n_base, .fill = own.ends == CS_ENDS_FILL,
                              .circular = own.circular.v, .n_circular = own.circular.n };
    CS_TRY(cs_variant_windows_check(&w, j->ref));
    j->source.windows = cs_variant_windows_new(j->ref, &w);
    if (own.exons) {
        CS_TRY(cs_exons_open(own.exons, &j->source.exons));
        CS_TRY(cs_exons_circular(j->source.exons, own.exons, j->ref, j->source.windows));
        CS_TRY(cs_exons_compare(j->source.exons, own.exons, j->ref, j->source.windows));
    }
    CS_TRY(cs_vcf_open(own.file.v[0], threads->inflate, native, &j->source.in));
    cs_vcf_compare(j->source.in, j->ref);
    if (own.region.n > 0 || own.bed)
        CS_TRY(cs_vcf_restrict(j->source.in, own.region.v, own.region.n, own.bed, j->ref));
    about->model = j->model;
    j->out = (cs_variant_outputs){ .a = &own.out, .values = &j->values, .shard = j->shard };
    CS_TRY(cs_variant_outputs_open(&j->out, &j->source, threads->inflate, about));
    note_distances(j);
out:
    return rc;
}

/* ---- the run --------------------------------------------------------------------------------- */

static int score_variants(struct job *j, const cs_thread_counts *threads, const cs_about *about)
{
    int rc = CS_OK;
    cs_stream_stat stat;
    cs_stream s = {
        .next = cs_variants_next, .source = &j->source, .model = j->model, .policy = &j->policy,
        .batch_tokens = stream.batch_tokens, .allow_nonfinite = !stream.check_finite,
        .window = (int)stream.chunks_in_flight, .n_thread = threads->work,
        .sink = cs_variant_outputs_record, .arg = &j->out,
    };

    CS_TRY(cs_shard_read(j->shard, &s));
    CS_TRY(cs_variant_outputs_begin(&j->out));
    CS_TRY(cs_stream_run(&s, &stat));
    CS_TRY(cs_shard_end(j->shard));
    CS_TRY(cs_variant_outputs_close(&j->out, &s, about));
    CS_TRY(cs_shard_close(j->shard, about, NULL));
    cs_variant_values_report(&j->values, j->out.n_record, own.prefix, own.reference, &stat);
    if (!j->shard && own.region.n == 0 && !own.bed)      /* a part may well have none */
        rc = cs_variant_values_check(&j->values, own.prefix);
out:
    return rc;
}

static void variant_release(struct job *j)
{
    cs_variant_outputs_release(&j->out);
    cs_shard_free(j->shard);
    cs_vcf_close(j->source.in);
    cs_variant_windows_free(j->source.windows);
    cs_exons_close(j->source.exons);
    cs_reference_free(j->ref);
    cs_variant_values_release(&j->values);
    cs_model_free(j->model);
    cs_backend_close(j->be);
}

static int variant_run(const cs_command_line *cmdline)
{
    int rc = CS_OK;
    struct job j = { .be = NULL };

    CS_TRY(variant_check_options());
    const cs_thread_counts threads = cs_args_threads(&compute);
    cs_about about = cs_command_about(cmdline, &own.file, NULL, j.model_path);
    CS_TRY(variant_prepare(&j, &threads, &about));
    CS_TRY(score_variants(&j, &threads, &about));
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
