/* input_args.c - options of the inputs: their files, formats, filters, regions, pairs. */
#include "infer/input_args.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/path_conflicts.h"
#include "io/index_name.h"
#include "io/input_pump.h"
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
      .man = "'*' stands for reads without a position, as in samtools. The file needs an index, "
             "beside it or given as FILE##idx##INDEX. May be given several times; each alignment "
             "is read once." },
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

/* Here, where the line is known: a list may be long, or not be one. */
static int check_listed(const char *list, int line, const char *name)
{
    char why[PATH_BYTES];

    if (strstr(name, "##idx##") != NULL || cs_input_check(name) == CS_OK)
        return CS_OK;
    (void)snprintf(why, sizeof why, "%s", cs_error_message());
    cs_error_clear();
    return cs_fail(CS_EIO, "'%s' line %d: %s", cs_input_shown(list), line, why);
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
        return cs_fail(CS_EFORMAT, "'%s' is not a list of file names; it has a NUL byte",
                       cs_input_shown(path));
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
void cs_args_warn_repeats(const cs_strlist *file)
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
    cs_args_warn_repeats(&a->file);
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

int cs_record_source_find(cs_input_args *a, const cs_pair_args *pair)
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

/* FASTQ files whose names differ in one digit: 1 and 2, behind '_', '.', '-' or 'R'. */
static bool have_names_of_mates(const char *first, const char *second)
{
    size_t i = 0;

    while (first[i] != '\0' && first[i] == second[i])
        i++;
    return first[i] == '1' && second[i] == '2' && strcmp(first + i + 1, second + i + 1) == 0
        && i > 0 && strchr("_.-R", first[i - 1]) && !strchr(first + i, '/')
        && (strstr(first + i + 1, ".fq") || strstr(first + i + 1, ".fastq"));
}

void cs_record_source_note_mates(const cs_input_args *a, const cs_pair_args *pair)
{
    if (pair->first.n > 0 || pair->interleaved)
        return;
    for (int i = 0; i + 1 < a->file.n; i++)
        if (have_names_of_mates(a->file.v[i], a->file.v[i + 1])) {
            cs_note("'%s' and '%s' are read as single reads; give mates with -1 and -2",
                    a->file.v[i], a->file.v[i + 1]);
            return;
        }
}

int cs_record_source_open(const cs_input_args *a, const cs_pair_args *pair,
                          const cs_input_opt *input_opt, cs_record_source *s)
{
    int rc = CS_OK;
    const int n = pair->first.n > 0 ? pair->first.n : a->file.n;
    cs_input_opt all = *input_opt;

    *s = (cs_record_source){ .paired = pair->first.n > 0 || pair->interleaved };
    all.implied = a->implied;
    CS_TRY(cs_inputs_open(a->file.v, n, &all, &s->in));
    if (pair->first.n > 0)
        CS_TRY(cs_inputs_open(a->file.v + n, n, &all, &s->second));
    s->pairs = (cs_pairs){ .first = s->in, .second = s->second ? s->second : s->in };
out:
    return rc;
}

void cs_record_source_close(cs_record_source *s)
{
    cs_inputs_close(s->in);
    cs_inputs_close(s->second);
    cs_pairs_release(&s->pairs);
    *s = (cs_record_source){ .in = NULL };
}
