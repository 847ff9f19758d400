/* diplotype.c - diplotypes per site from reads or genotypes: `chordseq diplotype`. */
#include "io/diplotype_out.h"
#include "io/haplotypes.h"
#include "io/hts_in.h"
#include "pipelines/command.h"

#include <string.h>

#include "base/log.h"
#include "infer/args.h"
#include "infer/input_args.h"
#include "io/content.h"
#include "io/input_pump.h"

struct diplotype_args {
    cs_strlist  file, region, sample;
    const char *reference, *bed, *output;
    int64_t     skip_flags, min_mapq, min_baseq, max_depth, min_depth, min_count, max_memory;
    double      min_frac;
    int         absent, names, all_filters, strict;
};

static struct diplotype_args own;
static cs_compute_args compute;

static const char *const absents[] = { "reference", "unknown", NULL };
static const char *const names[] = { "sample", "region", "both", NULL };

#define AT(field) offsetof(struct diplotype_args, field)

static const cs_opt diplotype_table[] = {
    { .type = CS_OPT_GROUP, .name = "Input and output" },
    { .type = CS_OPT_INS, .letter = 'i', .name = "input", .off = AT(file), .arg = "FILE",
      .help = "input file; '-' is standard input",
      .man = "One file, detected by content: SAM, BAM or CRAM sorted by coordinate, VCF or BCF." },
    { .type = CS_OPT_IN, .letter = 'f', .name = "reference", .off = AT(reference), .arg = "FILE",
      .help = "FASTA file that the input refers to",
      .man = "Plain or BGZF. A missing index is created beside it." },
    { .type = CS_OPT_FLAG, .name = "strict-contigs", .off = AT(strict),
      .help = "refuse contigs whose names match the reference only without 'chr'",
      .man = "By default, 22 and chr22 are the same contig, with a warning." },
    { .type = CS_OPT_LIST, .letter = 'r', .name = "region", .off = AT(region), .arg = "REGION",
      .help = "restrict to contig, contig:from or contig:from-to (may be repeated)",
      .man = "Counted from 1, both ends included. Each region is one output record. The input "
             "needs an index, beside it or given as FILE##idx##INDEX." },
    { .type = CS_OPT_IN, .letter = 'R', .name = "regions-file", .off = AT(bed), .arg = "FILE",
      .help = "restrict to the regions of this BED file" },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", .off = AT(output), .arg = "FILE",
      .def = "-", .help = "output file; '-' is standard output" },
    { .type = CS_OPT_ENUM, .name = "names", .off = AT(names), .arg = "NAME", .def = "sample",
      .help = "names of records: sample, region or both",
      .man = "region: contig:from-to. both: sample:contig:from-to. Use region or both to "
             "distinguish regions in tables of labels and predictions.",
      .choice = names },
    { .type = CS_OPT_GROUP, .name = "Reads" },
    { .type = CS_OPT_INT, .name = "skip-flags", .off = AT(skip_flags), .arg = "NUM",
      .def = "1796", .help = "exclude reads with any of these SAM flags",
      .man = "1796: unmapped, secondary, QC fail, duplicate.", .min = 0, .max = 65535 },
    { .type = CS_OPT_INT, .name = "min-mapq", .off = AT(min_mapq), .arg = "NUM", .def = "20",
      .help = "minimum mapping quality", .min = 0, .max = 255 },
    { .type = CS_OPT_INT, .name = "min-baseq", .off = AT(min_baseq), .arg = "NUM", .def = "13",
      .help = "minimum base quality",
      .man = "Where mates overlap, only one of them is counted; with 0, both are.", .min = 0,
      .max = 255 },
    { .type = CS_OPT_INT, .name = "max-depth", .off = AT(max_depth), .arg = "NUM",
      .def = "8000", .help = "maximum depth; further reads are ignored", .min = 1, .max = 1e6 },
    { .type = CS_OPT_INT, .name = "min-depth", .off = AT(min_depth), .arg = "NUM", .def = "8",
      .help = "minimum depth; below it a site is N", .min = 1, .max = 1e6 },
    { .type = CS_OPT_INT, .name = "min-count", .off = AT(min_count), .arg = "NUM", .def = "3",
      .help = "minimum reads of a second allele", .min = 1, .max = 1e6 },
    { .type = CS_OPT_REAL, .name = "min-frac", .off = AT(min_frac), .arg = "NUM", .def = "0.2",
      .help = "minimum share of a second allele", .min = 0, .max = 1 },
    { .type = CS_OPT_GROUP, .name = "Genotypes" },
    { .type = CS_OPT_LIST, .letter = 's', .name = "sample", .off = AT(sample), .arg = "NAME",
      .help = "restrict to this sample (may be repeated; default: all)" },
    { .type = CS_OPT_ENUM, .name = "absent", .off = AT(absent), .arg = "NAME",
      .def = "reference", .help = "sites without a record: reference or unknown",
      .man = "With unknown, sites within reference blocks (INFO/END) are still known.",
      .choice = absents },
    { .type = CS_OPT_FLAG, .name = "all-filters", .off = AT(all_filters),
      .help = "include records that failed a filter" },
    { .type = CS_OPT_BYTES, .name = "max-memory", .off = AT(max_memory), .arg = "NUM",
      .def = "2Gi",
      .help = "memory limit for the haplotypes of one region; they take a byte per site and sample",
      .min = 1, .max = 1e15 },
    { .type = CS_OPT_END }
};

static const cs_optset diplotype_tables[] = {
    { diplotype_table, &own, NULL }, { cs_compute_table, &compute, NULL },
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

/* ---- the command ----------------------------------------------------------------------------- */

static void report_text(const cs_diplotype_out *t)
{
    cs_note("wrote %llu %s, %llu %s: %llu reference, %llu variant (%llu heterozygous), "
            "%llu unknown", (unsigned long long)t->n_record,
            CS_PLURAL(t->n_record, "record", "records"), (unsigned long long)t->n_site,
            CS_PLURAL(t->n_site, "site", "sites"), (unsigned long long)t->n_same,
            (unsigned long long)t->n_other, (unsigned long long)t->n_het,
            (unsigned long long)t->n_unknown);
}

static int from_reads(const cs_diplotype_source *s)
{
    const cs_pileup_opt opt = {
        .skip_flags = own.skip_flags, .min_mapq = own.min_mapq, .min_baseq = own.min_baseq,
        .max_depth = own.max_depth, .threads = s->threads, .in_regions = s->regions != NULL,
    };
    if (own.sample.n > 0)
        cs_warn("--sample is for genotypes; '%s' holds alignments", s->shown);
    const cs_site_rule rule = { own.min_depth, own.min_count, own.min_frac };
    uint64_t reason[CS_N_SITE_CALL] = { 0 };
    int rc = cs_diplotype_from_reads(s, &opt, &rule, reason);

    if (rc == CS_OK && (rc = cs_diplotype_out_close(s->text)) == CS_OK) {
        report_text(s->text);
        cs_note("unknown sites by reason: %llu no_read, %llu low_depth",
                (unsigned long long)reason[CS_SITE_NO_READ],
                (unsigned long long)reason[CS_SITE_LOW_DEPTH]);
    }
    return rc;
}

static int from_calls(const cs_diplotype_source *s)
{
    const cs_diplotype_calls_opt opt = {
        .sample = own.sample.v, .n_sample = own.sample.n, .absent_unknown = own.absent == 1,
        .all_filters = own.all_filters > 0, .max_memory = own.max_memory,
    };
    cs_diplotype_calls_stat stat = { 0 };
    int rc = cs_diplotype_from_calls(s, &opt, &stat);

    if (rc == CS_OK && (rc = cs_diplotype_out_close(s->text)) == CS_OK) {
        report_text(s->text);
        cs_note("of %llu VCF %s: %llu filtered, %llu no_genotype; alleles: %llu taken, %llu "
                "symbolic, %llu overlap, %llu no_anchor; %llu %s of more than 2",
                (unsigned long long)stat.n_record, CS_PLURAL(stat.n_record, "record", "records"),
                (unsigned long long)stat.n_filtered,
                (unsigned long long)stat.n_no_gt,
                (unsigned long long)stat.n_applied[CS_APPLIED],
                (unsigned long long)stat.n_applied[CS_APPLIED_SYMBOLIC],
                (unsigned long long)stat.n_applied[CS_APPLIED_OVERLAP],
                (unsigned long long)stat.n_applied[CS_APPLIED_NO_ANCHOR],
                (unsigned long long)stat.n_ploidy,
                CS_PLURAL(stat.n_ploidy, "genotype", "genotypes"));
    }
    return rc;
}

static int diplotype_check_options(void)
{
    if (own.file.n != 1)
        return cs_fail(CS_EUSAGE, "give one file of alignments or genotypes, not %d",
                       own.file.n);
    if (own.reference == NULL)
        return cs_fail(CS_EUSAGE, "no reference; give one with -f FILE");
    return CS_OK;
}

static int convert(cs_diplotype_source *s)
{
    int rc = CS_OK;
    bool calls = false;

    CS_TRY(cs_reference_open(own.reference, &s->ref));
    if (own.strict)
        cs_reference_strict(s->ref);
    if (own.region.n > 0 || own.bed != NULL)
        CS_TRY(cs_regions_open(own.region.v, own.region.n, own.bed, &s->regions));
    CS_TRY(cs_outfile_open_as(own.output, CS_SEQUENCES, CS_OUT_TEXT, &s->text->f));
    CS_TRY(cs_outfile_printf(s->text->f, CS_DIPLOTYPE_HEAD "\n"));
    CS_TRY(cs_htsin_open_reads_or_calls(s->path, &s->fp, &calls));
    rc = calls ? from_calls(s) : from_reads(s);
out:
    return rc;
}

static int diplotype_run(const cs_command_line *cmdline)
{
    int rc = CS_OK;
    cs_diplotype_out text = { 0 };
    cs_diplotype_source s = { .text = &text };

    (void)cmdline;
    CS_TRY(diplotype_check_options());
    CS_TRY(cs_args_file(&own.file.v[0]));
    s.path = own.file.v[0];
    s.shown = cs_input_shown(s.path);
    text.name = (cs_diplotype_name)own.names;
    s.threads = cs_args_threads(&compute).inflate;
    rc = convert(&s);
out:
    cs_outfile_discard(text.f);
    cs_regions_free(s.regions);
    cs_reference_free(s.ref);
    return rc;
}

const cs_command cs_cmd_diplotype = {
    .name = "diplotype",
    .summary = "convert reads or genotypes to diplotype symbols",
    .usage = "[OPTIONS] -f REFERENCE FILE",
    .tables = diplotype_tables,
    .operands = &own.file,
    .run = diplotype_run,
};
