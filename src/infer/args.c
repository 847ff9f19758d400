/* args.c - options that commands share: inputs, model, threads, stream, verbosity. */
#include "infer/args.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path_conflicts.h"
#include "base/suggest.h"
#include "io/index_name.h"
#include "io/io_init.h"
#include "io/regions.h"

enum { PATH_BYTES = 4096, MAX_LIST_BYTES = 64 << 20 };

static const char *const input_formats[] = {
    "auto", "fasta", "fastq", "sam", "bam", "cram", NULL             /* cs_input_format */
};

const cs_opt cs_input_table[] = {
    { .type = CS_OPT_GROUP, .name = "Input" },
    { .type = CS_OPT_INS, .letter = 'i', .name = "input",
      .off = offsetof(cs_input_args, file), .arg = "FILE",
      .help = "input file; '-' is standard input",
      .man = "May be given several times; operands are read after it. Without files, standard "
             "input is read unless it is a terminal. FASTA, FASTQ (plain, gzip, bgzf), SAM, BAM "
             "and CRAM are detected by content.", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_INS, .name = "input-list", .off = offsetof(cs_input_args, list),
      .arg = "FILE", .help = "list of input files, one per line; '-' is standard input",
      .man = "Read after -i and the operands. Empty lines and lines that begin with '#' are "
             "skipped.", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_ENUM, .name = "input-fmt", .off = offsetof(cs_input_args, format),
      .arg = "FORMAT", .def = "auto", .choice = input_formats,
      .help = "input format: auto (by content), fasta, fastq, sam, bam or cram",
      .man = "Input of another format is refused. Compression is always detected." },
    { .type = CS_OPT_IN, .letter = 'T', .name = "reference",
      .off = offsetof(cs_input_args, reference), .arg = "FILE",
      .help = "FASTA file that CRAM input was compressed against",
      .man = "By default, the file named in the CRAM header, REF_CACHE and REF_PATH are "
             "searched, and the network only if REF_PATH names a server." },
    { .type = CS_OPT_STR, .letter = 'f', .name = "require-flags",
      .off = offsetof(cs_input_args, require), .arg = "FLAGS", .def = "0",
      .help = "SAM, BAM, CRAM: require all of these FLAG bits",
      .man = "A number or comma-separated names, as in samtools. FASTA and FASTQ are refused." },
    { .type = CS_OPT_STR, .letter = 'F', .name = "exclude-flags",
      .off = offsetof(cs_input_args, exclude), .arg = "FLAGS", .def = "SECONDARY,SUPPLEMENTARY",
      .help = "SAM, BAM, CRAM: exclude any of these FLAG bits",
      .man = "The default skips alignments that repeat the bases of another alignment. With any "
             "other flag, FASTA and FASTQ are refused." },
    { .type = CS_OPT_STR, .letter = 'e', .name = "expr", .off = offsetof(cs_input_args, filter),
      .arg = "EXPR", .help = "SAM, BAM, CRAM: require this filter expression",
      .man = "For example 'mapq >= 20 && [NM] < 5'; see samtools(1)." },
    { .type = CS_OPT_LIST, .letter = 'r', .name = "region", .off = offsetof(cs_input_args, region),
      .arg = "REGION", .help = "BAM, CRAM: restrict to NAME or NAME:FROM-TO",
      .man = "The file needs an index, beside it or given as FILE##idx##INDEX. May be given "
             "several times; each alignment is read once." },
    { .type = CS_OPT_IN, .letter = 'R', .name = "regions-file",
      .off = offsetof(cs_input_args, regions), .arg = "FILE",
      .help = "BAM, CRAM: restrict to the regions of this BED file",
      .man = "Added to the regions of -r.", .same = CS_OPT_SAME_CONTENT },
    { .type = CS_OPT_END }
};

#define PAIR(field) .off = offsetof(cs_pair_args, field)

const cs_opt cs_pair_table[] = {
    { .type = CS_OPT_GROUP, .name = "Pairs" },
    { .type = CS_OPT_INS, .letter = '1', .name = "mates-1", PAIR(first), .arg = "FILE",
      .help = "first mates of pairs, instead of -i",
      .man = "A pair is one record. Its prediction is from the mean of the logits of both mates, "
             "and its length is written as 98|94. Names must match except for a final /1 and /2, "
             "or .1 and .2 as from fastq-dump -I (RUN.SPOT.1), which are removed. May be given "
             "several times." },
    { .type = CS_OPT_INS, .letter = '2', .name = "mates-2", PAIR(second), .arg = "FILE",
      .help = "second mates of pairs, in the same order" },
    { .type = CS_OPT_FLAG, .name = "interleaved", PAIR(interleaved),
      .help = "mates alternate in the input",
      .man = "As in a BAM file sorted by name (samtools collate). A record without an adjacent "
             "mate is predicted alone; a warning counts these records." },
    { .type = CS_OPT_END }
};

const cs_opt cs_model_table[] = {
    { .type = CS_OPT_GROUP, .name = "Model" },
    { .type = CS_OPT_IN, .letter = 'm', .name = "model", .off = offsetof(cs_model_args, model),
      .arg = "FILE",
      .help = "model file, or name of a model that comes with chordseq, such as fast",
      .man = "By default, the model is that of CHORDSEQ_MODEL in the environment, otherwise the "
             "command's own. A folder of 'chordseq model export' is also accepted. Names are "
             "'default', 'fast' (classify: only 6-mers; many times as fast, for organelles, "
             "eukaryotes and archaea: it calls few bacteria, plasmids and viruses), 'accurate' "
             "(classify: the default model with more proteins, for reads and short contigs; "
             "slower), 'taxa' (classify: phyla and classes below the default model's classes), "
             "'variant', 'variant-exons' (variant --exons) and 'human-lm' (variant --score llr). A "
             "file with such a name takes precedence.",
      .choice = cs_model_installed, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

const cs_opt cs_compute_table[] = {
    { .type = CS_OPT_GROUP, .name = "Compute" },
    { .type = CS_OPT_INT, .letter = '@', .name = "threads",
      .off = offsetof(cs_compute_args, threads), .arg = "NUM",
      .help = "total number of threads, also -t (default: one per processor)",
      .man = "Processors outside of the CPU affinity mask or above the quota of the control "
             "group (containers, batch systems) do not count. With 8 or more threads, an eighth "
             "(rounded down) is for decompression. Reading, tokenising, batching and writing use "
             "one thread each while they work; the network uses the others, for several small "
             "batches or one large batch. Predictions do not depend on this number.",
      .min = 1, .max = 4096, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

static const char *const off_on[] = { "off", "on", NULL };

const cs_opt cs_stream_table[] = {
    { .type = CS_OPT_SIZE, .letter = 'B', .name = "batch-tokens",
      .off = offsetof(cs_stream_args, batch_tokens), .arg = "NUM", .def = "auto",
      .choice = cs_opt_auto, .help = "tokens per batch, or auto",
      .man = "A longer sequence is a batch of its own. The memory of the network grows with this "
             "number and with the longest sequence. Predictions do not depend on it, except for "
             "rounding on GPUs. auto is chosen before input is read: on a GPU 4194304, halved "
             "until the network needs at most nine tenths of the free memory (of the GPU with the "
             "least); on the CPU 65536, halved until it needs at most half of the free memory of "
             "the system and the control group. --verbose reports the number. If an allocation "
             "still fails, the limit is halved once, with a warning.",
      .min = 1, .max = 1e9, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_INT, .name = "chunks-in-flight",
      .off = offsetof(cs_stream_args, chunks_in_flight),
      .arg = "NUM", .def = "128",
      .help = "chunks of about 128 kilobases in the pipeline",
      .man = "Memory is (NUM + 8) / 4 MiB, plus batches, network, and 2 bytes per base of the "
             "longest sequence, up to 7 with qualities; it does not grow with the size of the "
             "input. More chunks fill batches better if lengths are mixed. Predictions do not "
             "depend on this number.",
      .min = 1, .max = 65536, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_ENUM, .name = "check-finite", .off = offsetof(cs_stream_args, check_finite),
      .arg = "WHEN", .def = "on", .choice = off_on,
      .help = "fail on non-finite predictions: on or off",
      .man = "on: infinity and NaN are errors, reported with the record.",
      .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

const cs_opt cs_log_table[] = {
    { .type = CS_OPT_GROUP, .name = "Messages" },
    { .type = CS_OPT_FLAG, .letter = 'q', .name = "quiet", .off = offsetof(cs_log_args, quiet),
      .help = "no progress, no summary; repeat to print errors only",
      .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_FLAG, .letter = 'v', .name = "verbose", .off = offsetof(cs_log_args, verbose),
      .help = "more log messages; repeat for all", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_INT, .name = "verbosity", .off = offsetof(cs_log_args, verbosity),
      .arg = "LEVEL", .def = "3",
      .help = "0: silent, 1: errors, 3: warnings and summary, 4: as -v, 5: as -vv",
      .man = "The levels of samtools and htslib; 2 equals 1, and 6 or more equals 5. -v raises the "
             "level by one, -q limits it.",
      .min = 0, .max = 100, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_FLAG, .name = "force", .off = offsetof(cs_log_args, force),
      .help = "also overwrite files of sequences, alignments or variants",
      .man = "By default, an output replaces such a file only if it is of the same kind, so that a "
             "missing value in '--report reads.fa' does not destroy "
             "reads.", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

static cs_log_level level_of(const cs_log_args *log)
{
    static const cs_log_level of_htslib[] = {
        CS_LOG_SILENT, CS_LOG_ERROR, CS_LOG_ERROR, CS_LOG_NOTE, CS_LOG_INFO, CS_LOG_DEBUG,
    };
    const int64_t max = sizeof of_htslib / sizeof *of_htslib - 1;
    const int64_t at = log->verbosity + log->verbose;
    const cs_log_level limit = log->quiet == 0 ? CS_LOG_DEBUG
                             : log->quiet == 1 ? CS_LOG_WARN : CS_LOG_ERROR;
    const cs_log_level level = of_htslib[at < max ? at : max];

    return level < limit ? level : limit;
}

static void apply_log(const cs_log_args *log)
{
    cs_log_set_level(level_of(log));
    cs_io_init();                              /* set htslib's log level to ours */
    if (log->force)
        cs_outfile_protect(NULL);
}

int cs_args_parse(const cs_optset *set, int argc, char **argv, cs_strlist *operand,
                  const cs_log_args *log)
{
    int rc = CS_OK, n = 0;
    const char **rest = cs_xcalloc((size_t)argc + 1, sizeof *rest);

    cs_opt_defaults(set);
    CS_TRY(cs_opt_parse(set, argc, argv, rest, &n));
    if (log)
        apply_log(log);
    if (n > 0 && !operand) {
        rc = cs_fail(CS_EUSAGE, "unexpected argument '%s'; this command takes options only, which "
                     "--help lists", rest[0]);
        goto out;
    }
    for (int i = 0; i < n; i++)
        CS_TRY(cs_strlist_add(operand, rest[i]));
    rc = cs_opt_add_paths(set);
out:
    free(rest);
    return rc;
}

/* Here, where the line is known: a list may be long, or not be one. */
static int check_listed(const char *list, int line, const char *name)
{
    char why[PATH_BYTES];

    if (strstr(name, "##idx##") != NULL || cs_input_check(name) == CS_OK)
        return CS_OK;
    (void)snprintf(why, sizeof why, "%s", cs_error_message());
    cs_error_clear();
    return cs_fail(CS_EIO, "'%s' line %d: %s", strcmp(list, "-") == 0 ? "standard input" : list,
                   line, why);
}

/* One name per line; names point into the text, which is kept. */
static int read_list(cs_input_args *a, const char *path)
{
    char *text = NULL;
    size_t n;
    int rc = CS_OK, no = 1;

    CS_TRY(cs_file_read(path, MAX_LIST_BYTES, &text, &n));
    CS_TRY(cs_strlist_add(&a->text, text));
    const char *stop = text + n;
    char *rest = text + cs_bom_bytes(text, n);
    text = NULL;
    if (rest + strlen(rest) != stop)
        return cs_fail(CS_EFORMAT, "'%s' is not a list of file names; it has a NUL byte", path);
    for (char *line = rest, *next; line; line = next, no++) {
        size_t end = strcspn(line, "\n");
        next = line[end] ? line + end + 1 : NULL;
        end -= end > 0 && line[end - 1] == '\r';
        line[end] = '\0';
        if (*line == '\0' || *line == '#')
            continue;
        CS_TRY(check_listed(path, no, line));
        CS_TRY(cs_strlist_add(&a->file, line));
    }
out:
    free(text);
    return rc;
}

static bool is_stdin(const char *path)
{
    static const char *const name[] = { "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0" };
    bool is = false;

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        is |= strcmp(path, name[i]) == 0;
    return is;
}

const char *cs_args_once(const char *const *file, int n)
{
    struct stat st;

    for (int i = 0; i < n; i++) {
        if (file[i] == NULL)
            continue;
        const bool exists = stat(file[i], &st) == 0;
        if (is_stdin(file[i]) || (exists && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
            return file[i];
    }
    return NULL;
}

int cs_args_file(const char **path)
{
    int rc = CS_OK;

    *path = cs_index_split(*path);
    CS_TRY(cs_paths_add_input(*path));     /* some arguments were not option values */
    if (cs_index_given(*path))
        CS_TRY(cs_paths_add_input(cs_index_given(*path)));
    CS_TRY(cs_index_check(*path));
    rc = cs_input_check(*path);
out:
    return rc;
}

struct identity { dev_t dev; ino_t ino; int i; };

static int by_identity(const void *x, const void *y)
{
    const struct identity *a = x, *b = y;

    return a->dev != b->dev ? (a->dev < b->dev ? -1 : 1)
         : a->ino != b->ino ? (a->ino < b->ino ? -1 : 1) : a->i - b->i;
}

int *cs_args_repeats(const cs_strlist *file)
{
    struct identity *id = cs_xcalloc((size_t)file->n + 1, sizeof *id);
    int *same = cs_xcalloc((size_t)file->n + 1, sizeof *same);
    struct stat st;
    int n = 0;

    for (int i = 0; i < file->n; i++) {
        same[i] = -1;
        if (stat(file->v[i], &st) == 0 && S_ISREG(st.st_mode))
            id[n++] = (struct identity){ st.st_dev, st.st_ino, i };
    }
    qsort(id, (size_t)n, sizeof *id, by_identity);
    for (int i = 1, first = 0; i < n; i++) {
        if (id[i].dev == id[first].dev && id[i].ino == id[first].ino)
            same[id[i].i] = id[first].i;
        else
            first = i;
    }
    free(id);
    return same;
}

/* Such as x.fa with *.fa: allowed, but seldom meant. */
static void warn_repeated(const cs_strlist *file)
{
    int *same = cs_args_repeats(file), n = 0, first = 0;

    for (int i = file->n - 1; i >= 0; i--)
        if (same[i] >= 0) {
            n++;
            first = i;
        }
    if (n > 0)
        cs_warn("%d of %d input files %s given before and %s read again; first: '%s'", n, file->n,
                CS_PLURAL(n, "was", "were"), CS_PLURAL(n, "is", "are"), file->v[first]);
    free(same);
}

int cs_args_input(cs_input_args *a)
{
    int rc = CS_OK, n_stdin = 0;

    for (int i = 0; i < a->list.n; i++) {
        n_stdin += is_stdin(a->list.v[i]);
        CS_TRY(read_list(a, a->list.v[i]));
    }
    for (int i = 0; i < a->file.n; i++) {
        CS_TRY(cs_args_file(&a->file.v[i]));
        n_stdin += is_stdin(a->file.v[i]);
    }
    if (n_stdin > 1)
        return cs_fail(CS_EUSAGE, "standard input ('-') is given %d times, but can be read only "
                       "once", n_stdin);
    if (a->list.n > 0 && a->file.n == 0)
        return cs_fail(CS_EFORMAT, "'%s' lists no file", a->list.v[0]);
    warn_repeated(&a->file);
    if (a->file.n > 0)
        return CS_OK;
    if (isatty(STDIN_FILENO))
        return cs_fail(CS_EUSAGE, "no input; give FASTA, FASTQ or BAM files, or pipe one in");
    a->implied = true;
    CS_TRY(cs_strlist_add(&a->file, "-"));
    rc = cs_paths_add_input("-");
out:
    return rc;
}

/* As htslib reads them: braces end a name that may have a colon. */
static int add_region(cs_input_args *a, const cs_region *at)
{
    const size_t n = strlen(at->contig) + 48;
    char *text = cs_xmalloc(n);

    (void)snprintf(text, n, "{%s}:%lld-%lld", at->contig, (long long)at->from + 1,
                   (long long)at->to);
    const int rc = cs_strlist_add(&a->text, text);
    if (rc != CS_OK) {
        free(text);
        return rc;
    }
    return cs_strlist_add(&a->region, text);
}

static int read_regions(cs_input_args *a)
{
    int rc = CS_OK;
    cs_region at;
    cs_regions *bed = NULL;

    CS_TRY(cs_regions_open(NULL, 0, a->regions, &bed));
    while ((rc = cs_regions_next(bed, NULL, &at)) == CS_OK)
        CS_TRY(add_region(a, &at));
    rc = cs_regions_end(bed, rc);
out:
    cs_regions_free(bed);
    return rc;
}

int cs_args_input_opt(cs_input_args *a, int n_inflate, cs_input_opt *input_opt)
{
    int rc = CS_OK;

    if (a->regions && !a->has_regions)
        CS_TRY(read_regions(a));
    a->has_regions = true;
    *input_opt = (cs_input_opt){ .reference = a->reference, .threads = n_inflate, .filter = true,
                                 .region = a->region.v, .n_region = a->region.n,
                                 .implied = a->implied, .expr = a->filter,
                                 .format = (cs_input_format)a->format };
    CS_TRY(cs_alignment_flags(a->require, &input_opt->require));
    rc = cs_alignment_flags(a->exclude, &input_opt->exclude);
out:
    return rc;
}

void cs_args_release(cs_input_args *a)
{
    for (int i = 0; i < a->text.n; i++) {
        void *text;
        memcpy(&text, &a->text.v[i], sizeof text);
        free(text);
    }
    free(a->text.v);
    a->text = (cs_strlist){ NULL, 0 };
    a->has_regions = false;
}

static bool is_one_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static int check_pairs(const cs_input_args *a, const cs_pair_args *pair)
{
    if (a->file.n + a->list.n > 0)
        return cs_fail(CS_EUSAGE, "'%s' is not a mate file; give all input with -1 and -2, or "
                       "none", a->file.n > 0 ? a->file.v[0] : a->list.v[0]);
    if (pair->first.n != pair->second.n)
        return cs_fail(CS_EUSAGE, "every file of first mates (-1) needs a file of second mates "
                       "(-2); there are %d and %d", pair->first.n, pair->second.n);
    if (pair->interleaved)
        return cs_fail(CS_EUSAGE, "--interleaved takes one file; -1 and -2 take two");
    return CS_OK;
}

/* Of n files of first mates, and then n of second ones. */
static int check_mates(const char *const *file, int n)
{
    for (int i = 0; i < n; i++)
        if (is_one_file(file[i], file[n + i]))
            return cs_fail(CS_EUSAGE, "'%s' is given for -1 and for -2; if mates alternate in it, "
                           "give it with --interleaved", file[i]);
    return CS_OK;
}

int cs_sources_find(cs_input_args *a, const cs_pair_args *pair)
{
    int rc = CS_OK;

    if (pair->first.n + pair->second.n > 0)
        CS_TRY(check_pairs(a, pair));
    for (int i = 0; i < pair->first.n; i++)
        CS_TRY(cs_strlist_add(&a->file, pair->first.v[i]));
    for (int i = 0; i < pair->second.n; i++)
        CS_TRY(cs_strlist_add(&a->file, pair->second.v[i]));
    CS_TRY(cs_args_input(a));
    rc = check_mates(a->file.v, pair->first.n);
out:
    return rc;
}

int cs_sources_open(const cs_input_args *a, const cs_pair_args *pair, const cs_input_opt *input_opt,
                    cs_sources *s)
{
    int rc = CS_OK;
    const int n = pair->first.n > 0 ? pair->first.n : a->file.n;
    cs_input_opt all = *input_opt;

    *s = (cs_sources){ .paired = pair->first.n > 0 || pair->interleaved };
    all.implied = a->implied;
    CS_TRY(cs_inputs_open(a->file.v, n, &all, &s->in));
    if (pair->first.n > 0)
        CS_TRY(cs_inputs_open(a->file.v + n, n, &all, &s->second));
    s->pairs = (cs_pairs){ .first = s->in, .second = s->second ? s->second : s->in };
out:
    return rc;
}

void cs_sources_close(cs_sources *s)
{
    cs_inputs_close(s->in);
    cs_inputs_close(s->second);
    cs_pairs_release(&s->pairs);
    *s = (cs_sources){ .in = NULL };
}

cs_thread_counts cs_args_threads(const cs_compute_args *a)
{
    const int n = a->threads > 0 ? (int)a->threads : cs_cpu_count();

    return (cs_thread_counts){ .work = n - n / 8, .inflate = n / 8 };
}

int cs_args_model(const char *path, char *found, size_t n_found)
{
    int rc = CS_OK;

    CS_TRY(cs_model_find_default(path, found, n_found));
    rc = cs_paths_add_input(found);
out:
    return rc;
}

int cs_model_open(const char *path, const cs_device_args *device, int n_thread, cs_backend **be,
                  cs_model **model)
{
    int rc = CS_OK;
    static const cs_device_args processor = { .device = "cpu" };
    char found[PATH_BYTES];
    cs_backend *b = NULL;
    cs_model *m = NULL;

    CS_TRY(cs_args_model(path, found, sizeof found));
    if (!device)
        device = &processor;
    CS_TRY(cs_device_open_all(device, n_thread, &b));
    CS_TRY(cs_model_load(found, b, false, &m));
    cs_device_auto_precision(device, m);
    if (!m->tok) {
        rc = cs_fail(CS_EMODEL, "model '%s' takes %d real values per position, not nucleotides; "
                     "choose one trained on sequences", found, (int)m->n_channel);
        goto out;
    }
    cs_info("model '%s': encoder %s, tokenizer %s, %d labels", found, m->enc->name, m->tok->name,
            (int)m->n_label);
    *model = m;
    *be = b;
    m = NULL;                                  /* given away, as is b */
    b = NULL;
out:
    cs_model_free(m);
    cs_backend_close(b);
    return rc;
}

int cs_model_label_of(const cs_model *m, const char *name, int32_t *no)
{
    cs_suggest suggest = cs_suggest_begin(name);

    for (*no = 0; *no < m->n_label; ++*no) {
        if (strcmp(m->label[*no].name, name) == 0)
            return CS_OK;
        cs_suggest_try(&suggest, m->label[*no].name);
    }
    return cs_fail(CS_EUSAGE, "the model has no label '%s'; %s'chordseq model show' lists them",
                   name, cs_suggest_hint(&suggest));
}
