/*
 * outputs.c - every output of a run: opened together, fed together, and all under their names or
 * none.
 *
 * DESIGN: one row of a table per format says which option names its place; the rest is a loop over
 * open outputs. Closing completes every file aside first, where disks fill and pipes break, and
 * only then renames them. What is on standard output comes first in both.
 */
#include "run/outputs.h"

#include <string.h>
#include <sys/stat.h>

#include "registry.h"

static const char *const formats[] = { "auto", "sam", "bam", "cram", NULL };

#define ARG(field) .off = offsetof(cs_output_args, field)

const cs_opt cs_output_table[] = {
    { .type = CS_OPT_GROUP, .name = "Output" },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", ARG(output), .arg = "FILE",
      .help = "output table (default: standard output, unless another per-record output is "
              "given)",
      .man = "One output may be '-', standard output. Outputs are renamed into place together or "
             "not at all; a failed run leaves existing files unchanged. Without --output, the "
             "table goes to standard output, unless --jsonl, --kraken, --cami-binning, --bam or "
             "--split-dir is given or another output is '-'." },
    { .type = CS_OPT_FLAG, .name = "all", ARG(all),
      .help = "add a probability column per class" },
    { .type = CS_OPT_OUT, .name = "jsonl", ARG(jsonl), .arg = "FILE",
      .help = "JSON lines, one object per record" },
    { .type = CS_OPT_OUT, .name = "kraken", ARG(kraken), .arg = "FILE",
      .help = "Kraken 2's output format, a line per record" },
    { .type = CS_OPT_FLAG, .name = "use-names", ARG(use_names),
      .help = "with --kraken, add names to taxids" },
    { .type = CS_OPT_OUT, .name = "report", ARG(report), .arg = "FILE",
      .help = "Kraken 2's report format, a line per taxon",
      .man = "The root line is always present, the unclassified line if there are such records. "
             "Classes directly below the root have the rank code D, so that KrakenTools and "
             "Pavian include all." },
    { .type = CS_OPT_OUT, .name = "krona", ARG(krona), .arg = "FILE",
      .help = "counts and lineages for Krona's ktImportText" },
    { .type = CS_OPT_OUT, .name = "cami-binning", ARG(binning), .arg = "FILE",
      .help = "CAMI binning format",
      .man = "Taxids are NCBI's; a class without one gets its nearest ancestor's." },
    { .type = CS_OPT_OUT, .name = "cami-profile", ARG(profile), .arg = "FILE",
      .help = "CAMI profiling format, abundance by bases" },
    { .type = CS_OPT_STR, .name = "sample", ARG(sample), .arg = "NAME", .def = "sample",
      .help = "sample name in CAMI formats" },
    { .type = CS_OPT_OUT, .name = "bam", ARG(bam), .arg = "FILE",
      .help = "alignments of the input, or its sequences unaligned, with tags cl, cp and ct",
      .man = "cl:Z is the class or 'unclassified', cp:f its probability, ct:i its taxid; cr:Z is "
             "the reason if there is no call. SAM or CRAM if the name ends in .sam or .cram, "
             "else BAM. Alignments are the primary ones, under the first input's header." },
    { .type = CS_OPT_ENUM, .name = "output-fmt", ARG(format), .arg = "FORMAT", .def = "auto",
      .help = "format of --bam: auto (by its name), sam, bam or cram", .choice = formats },
    { .type = CS_OPT_FLAG, .name = "no-PG", ARG(no_pg),
      .help = "with --bam, add no @PG line to the header" },
    { .type = CS_OPT_OUT, .name = "split-dir", ARG(split), .arg = "DIR",
      .help = "folder for a FASTA or FASTQ file per class, and one for unclassified records",
      .man = "The folder is created if missing. Files are named CLASS.fasta or CLASS.fastq, for "
             "mates CLASS_1 and CLASS_2; characters in class names other than letters, digits, "
             "'.', '_', '+' and '-' become '_'. Every class has a file, even if empty. Bases are "
             "upper case, T for U." },
    { .type = CS_OPT_FLAG, .name = "split-gz", ARG(compress),
      .help = "compress these files (BGZF, .gz)" },
    { .type = CS_OPT_OUT, .name = "summary", ARG(summary), .arg = "FILE",
      .help = "run summary as JSON: versions, model, options, counts (for MultiQC: "
              "*chordseq_summary.json)",
      .man = "Identical runs write identical bytes." },
    { .type = CS_OPT_OUT, .name = "html", ARG(html), .arg = "FILE",
      .help = "HTML report: classes, reasons, probabilities, lengths",
      .man = "It is self-contained and supports print and dark mode." },
    { .type = CS_OPT_FLAG, .name = "resume", ARG(resume),
      .help = "checkpoint outputs; resume an interrupted run",
      .man = "See \"Interrupted runs\" above." },
    { .type = CS_OPT_REAL, .name = "resume-every", ARG(resume_every), .arg = "SECONDS",
      .def = "10", .help = "with --resume, interval between checkpoints", .min = 0, .max = 1e6 },
    { .type = CS_OPT_END }
};

/* Which option names the place of which writer's output. `line`: one per record. `joins`: what
 * shards write, one behind the other, is what one run writes; others have beginnings and ends. */
static const struct format {
    const char *writer, *option;
    size_t      off;
    bool        line, joins;
} format[] = {
    { "tsv", "--output", offsetof(cs_output_args, output), true, true },
    { "jsonl", "--jsonl", offsetof(cs_output_args, jsonl), true, true },
    { "kraken", "--kraken", offsetof(cs_output_args, kraken), true, true },
    { "kreport", "--report", offsetof(cs_output_args, report), false, false },
    { "krona", "--krona", offsetof(cs_output_args, krona), false, false },
    { "binning", "--cami-binning", offsetof(cs_output_args, binning), true, true },
    { "profile", "--cami-profile", offsetof(cs_output_args, profile), false, false },
    { "bam", "--bam", offsetof(cs_output_args, bam), true, false },
    { "split", "--split-dir", offsetof(cs_output_args, split), true, false },
    { "summary", "--summary", offsetof(cs_output_args, summary), false, false },
    { "html", "--html", offsetof(cs_output_args, html), false, false },
};
enum { N_FORMAT = sizeof format / sizeof *format };

struct cs_outputs { cs_output *o[N_FORMAT]; int n; };

static const char *place(const cs_output_args *a, int i)
{
    const char *path;

    memcpy(&path, (const char *)a + format[i].off, sizeof path);
    return path;
}

static bool is_stdout(const char *path)
{
    return path && (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0
                    || strcmp(path, "/dev/fd/1") == 0 || strcmp(path, "/proc/self/fd/1") == 0);
}

/* Where output i goes; NULL: it is not wanted. */
static const char *resolved(const cs_output_args *a, int i)
{
    bool other = false;

    if (i > 0 || a->output)
        return place(a, i);
    for (int k = 1; k < N_FORMAT; k++)
        other |= place(a, k) && (format[k].line || is_stdout(place(a, k)));
    return other ? NULL : "-";
}

/* The last name of a path, and what is known of its folder. */
static const char *last_name(const char *path, struct stat *folder, bool *found)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) + 1 : 1;
    char *name = cs_xmalloc(n + 1);

    (void)snprintf(name, n + 1, "%s", slash ? path : ".");
    *found = stat(name, folder) == 0;
    free(name);
    return slash ? slash + 1 : path;
}

bool cs_outputs_same(const char *a, const char *b)
{
    struct stat x, y;
    bool in_x, in_y;

    if (is_stdout(a) || is_stdout(b))
        return is_stdout(a) && is_stdout(b);
    if (stat(a, &x) == 0 && stat(b, &y) == 0)
        return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    const char *p = last_name(a, &x, &in_x), *q = last_name(b, &y, &in_y);
    return strcmp(p, q) == 0 && in_x && in_y && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int cs_outputs_apart(const char *const *path, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (path[i] && path[k] && cs_outputs_same(path[i], path[k]))
                return cs_fail(CS_EUSAGE, "two outputs write to '%s'", path[i]);
    return CS_OK;
}

int cs_outputs_probe(const char *path)
{
    cs_outfile *f = NULL;
    const int rc = path ? cs_outfile_open(path, &f) : CS_OK;

    cs_outfile_discard(f);
    return rc;
}

int cs_outputs_appear(cs_outfile **const file[], int n)
{
    int rc = CS_OK;

    for (int i = 0; rc == CS_OK && i < n; i++)
        rc = *file[i] ? cs_outfile_finish(*file[i]) : CS_OK;
    if (rc == CS_OK && cs_signal_caught() != 0)
        rc = CS_ECANCEL;
    for (int i = 0; rc == CS_OK && i < n; i++) {
        rc = cs_outfile_close(*file[i]);
        *file[i] = NULL;
    }
    return rc;
}

/* With --resume: are all outputs files that a later run can continue with? */
static int check_resume(const cs_output_args *a)
{
    const char *asked = a->format ? formats[a->format] : NULL;

    if (a->resume && a->bam && strcmp(cs_alignments_format(a->bam, asked), "cram") == 0)
        return cs_fail(CS_EUSAGE, "--resume does not support CRAM, which buffers records in "
                       "memory; write BAM and convert it: samtools view -C");
    for (int i = 0; a->resume && i < N_FORMAT; i++) {
        const char *path = resolved(a, i);
        CS_BUG(path && !cs_writer_find(format[i].writer)->resumes);
        if (is_stdout(path))
            return cs_fail(CS_EUSAGE, "--resume needs files, not standard output; give them with "
                           "--output and the other options");
    }
    return CS_OK;
}

const char *cs_outputs_resumed(const cs_output_args *a)
{
    const char *path = NULL;

    for (int i = 0; a->resume && !path && i < N_FORMAT; i++)
        path = resolved(a, i);
    return path;
}

int cs_outputs_check(const cs_output_args *a, const cs_model *m)
{
    for (int i = 0; i < N_FORMAT; i++) {
        const char *path = resolved(a, i);
        if (path && !m->head->is_class && cs_writer_find(format[i].writer)->for_classes)
            return cs_fail(CS_EUSAGE, "%s is for classes, but the model predicts %s",
                           format[i].option, m->head->is_labels
                           ? "labels that do not exclude each other; their probabilities are in "
                             "the table and --jsonl" : "values");
        for (int k = 0; path && k < i; k++) {
            if (!resolved(a, k) || !cs_outputs_same(path, resolved(a, k)))
                continue;
            return cs_fail(CS_EUSAGE, "%s and %s both write to %s%s%s; rename one of them",
                           format[k].option, format[i].option, is_stdout(path) ? "" : "'",
                           is_stdout(path) ? "standard output" : path, is_stdout(path) ? "" : "'");
        }
    }
    if ((a->split || a->bam) && m->tok
        && cs_tokenizer_alphabet(m->tok, m->tok_state) == CS_DIPLOTYPES)
        return cs_fail(CS_EUSAGE, "%s is for nucleotides, but the model takes diplotypes",
                       a->split ? "--split-dir" : "--bam");
    if (is_stdout(a->split))
        return cs_fail(CS_EUSAGE, "--split-dir needs a folder, not standard output");
    if ((a->binning || a->profile) && (!*a->sample || strpbrk(a->sample, "\t\r\n")))
        return cs_fail(CS_EUSAGE, "--sample '%s' is not a valid name in CAMI formats",
                       a->sample);
    if (a->use_names && !a->kraken)
        return cs_fail(CS_EUSAGE, "--use-names needs --kraken");
    if (a->compress && !a->split)
        return cs_fail(CS_EUSAGE, "--split-gz needs --split-dir");
    if ((a->format || a->no_pg) && !a->bam)
        return cs_fail(CS_EUSAGE, "--output-fmt and --no-PG need --bam");
    return check_resume(a);
}

bool cs_outputs_want_native(const cs_output_args *a)
{
    return a->bam != NULL;
}

int cs_outputs_open(const cs_output_args *a, const cs_output_info *told, cs_outputs **out)
{
    int rc = CS_OK;
    cs_outputs *s = cs_xcalloc(1, sizeof *s);
    cs_output_info info = *told;

    info.all = a->all;
    info.use_names = a->use_names;
    info.compress = a->compress;
    info.sample = a->sample;
    info.alignments = a->format ? formats[a->format] : NULL;
    info.no_pg = a->no_pg;
    info.resumes = a->resume;
    for (int first = 1; first >= 0; first--) {
        for (int i = 0; i < N_FORMAT; i++) {
            const char *path = resolved(a, i);
            if (!path || is_stdout(path) != first)
                continue;
            info.from = json_object_get(told->from, format[i].writer);
            CS_TRY(cs_output_open(cs_writer_find(format[i].writer), path, &info, &s->o[s->n]));
            s->n++;
        }
    }
    *out = s;
    s = NULL;
out:
    cs_outputs_discard(s);
    return rc;
}

int cs_outputs_explain(int rc, int n)
{
    if (rc != CS_ECANCEL || n < 2 || cs_signal_caught() != 0)
        return rc;
    return cs_fail(CS_EIO, "the reader of standard output closed it; the other outputs are not "
                   "written either");
}

int cs_outputs_record(void *outputs, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;
    cs_outputs *s = outputs;

    for (int i = 0; rc == CS_OK && i < s->n; i++)
        rc = cs_output_record(s->o[i], r, a);
    return cs_outputs_explain(rc, s->n);
}

const cs_output *cs_outputs_first(const cs_outputs *s)
{
    return s->o[0];
}

bool cs_outputs_at(const cs_outputs *s, int i, cs_output **o, const char **option, bool *joins)
{
    int k = 0;

    if (i >= s->n)
        return false;
    *o = s->o[i];
    while (strcmp(format[k].writer, s->o[i]->w->name) != 0)
        k++;
    *option = format[k].option;
    *joins = format[k].joins;
    return true;
}

int cs_outputs_save(const cs_outputs *s, json_t **out)
{
    int rc = CS_OK;
    json_t *all = json_object(), *one;

    *out = NULL;
    for (int i = 0; i < s->n; i++) {
        CS_TRY(cs_output_save(s->o[i], &one));
        json_object_set_new(all, s->o[i]->w->name, one);
    }
    *out = all;
    all = NULL;
out:
    json_decref(all);
    return rc;
}

int cs_outputs_finish(cs_outputs *s)
{
    int rc = CS_OK;

    for (int i = 0; rc == CS_OK && i < s->n; i++)
        rc = cs_output_finish(s->o[i]);
    return cs_outputs_explain(rc, s->n);
}

int cs_outputs_close(cs_outputs *s)
{
    int rc = cs_outputs_finish(s);

    for (int i = 0; rc == CS_OK && i < s->n; i++) {
        rc = cs_output_close(s->o[i]);
        s->o[i] = NULL;
    }
    cs_outputs_discard(s);
    return rc;
}

void cs_outputs_discard(cs_outputs *s)
{
    if (!s)
        return;
    for (int i = 0; i < N_FORMAT; i++)
        cs_output_discard(s->o[i]);
    free(s);
}
