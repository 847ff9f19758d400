/*
 * outputs.c - all outputs of a run: opened, written and renamed into place together.
 *
 * DESIGN: a writer declares its options, the first of which names its output's place; everything
 * here loops over writers or open outputs. Closing completes every temporary file first, where
 * disks fill and pipes break, and only then renames them. Standard output comes first in both.
 */
#include "run/outputs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "registry.h"

static const cs_opt group_table[] = {
    { .type = CS_OPT_GROUP, .name = "Output" },
    { .type = CS_OPT_END }
};

#define EVERY 10                 /* seconds */
#define ARG(field) .off = offsetof(cs_output_args, field)

static const cs_opt resume_table[] = {
    { .type = CS_OPT_FLAG, .name = "resume", ARG(resume),
      .help = "checkpoint outputs; resume an interrupted run",
      .man = "See \"Interrupted runs\" above.", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_REAL, .name = "resume-every", ARG(resume_every), .arg = "SECONDS",
      .def = CS_OPT_TEXT(EVERY), .help = "with --resume, interval between checkpoints", .min = 0,
      .max = 1e6, .man = "A checkpoint syncs all outputs; 0 makes one after every record, which is "
      "slow.", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

struct cs_outputs { cs_output *o[CS_MAX_WRITER]; int n; };

static bool is_stdout(const char *path)
{
    return path && (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0
                    || strcmp(path, "/dev/fd/1") == 0 || strcmp(path, "/proc/self/fd/1") == 0);
}

/* The first writer from number *i on that has an option, and its number; NULL: there is none. */
static const cs_writer *next_writer(int *i)
{
    const cs_writer *w = cs_writer_at(*i);

    while (w && !w->opt)
        w = cs_writer_at(++*i);
    CS_BUG(w && (*i >= CS_MAX_WRITER || w->cfg_size > CS_WRITER_CFG));
    return w;
}

#define EACH_WRITER(i, w) for (int i = 0; ((w) = next_writer(&i)) != NULL; i++)

int cs_outputs_options(cs_output_args *a, cs_optset *set)
{
    int n = 0;
    const cs_writer *w;

    set[n++] = (cs_optset){ group_table, NULL, NULL };
    EACH_WRITER(i, w)
        set[n++] = (cs_optset){ w->opt, a->cfg[i], NULL };
    set[n++] = (cs_optset){ resume_table, a, NULL };
    return n;
}

/* Where the output of writer i goes; NULL: it is not wanted. */
static const char *resolved(const cs_output_args *a, int i)
{
    const cs_writer *w = cs_writer_at(i), *other;
    const char *path = cs_output_path(w, a->cfg[i]);

    if (path || !w->is_default)
        return path;
    EACH_WRITER(k, other) {
        path = cs_output_path(other, a->cfg[k]);
        if (path && (other->per_record || is_stdout(path)))
            return NULL;
    }
    return "-";
}

/* The base name of a path, and its folder's stat. */
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

/* Do two paths, at least one of them of no file yet, name the same place? */
static bool same_names(const char *a, const char *b)
{
    struct stat x, y;
    bool in_x, in_y;
    const char *p = last_name(a, &x, &in_x), *q = last_name(b, &y, &in_y);

    return strcmp(p, q) == 0 && in_x && in_y && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The path that symbolic links lead to. If they cannot be followed, the path itself, whose opening
 * then fails with a message. */
static char *end_of_links(const char *path)
{
    char *end;

    if (cs_path_resolve(path, &end) == CS_OK)
        return end;
    cs_error_clear();
    return cs_xstrdup(path);
}

bool cs_outputs_same(const char *a, const char *b)
{
    struct stat x, y;

    if (is_stdout(a) || is_stdout(b))
        return is_stdout(a) && is_stdout(b);
    if (stat(a, &x) == 0 && stat(b, &y) == 0)
        return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    char *p = end_of_links(a), *q = end_of_links(b);
    const bool same = same_names(p, q);
    CS_FREE(p, q);
    return same;
}

/* Would two outputs end in one place? Also if standard output is redirected to the other's file,
 * which the rename would replace. */
static bool collide(const char *a, const char *b)
{
    struct stat x, y;
    const char *file = is_stdout(a) ? b : a;

    if (is_stdout(a) == is_stdout(b))
        return cs_outputs_same(a, b);
    return fstat(STDOUT_FILENO, &x) == 0 && stat(file, &y) == 0 && S_ISREG(x.st_mode)
        && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int cs_outputs_distinct(const char *const *path, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (path[i] && path[k] && collide(path[i], path[k]))
                return is_stdout(path[i]) && is_stdout(path[k])
                    ? cs_fail(CS_EUSAGE, "two outputs write to standard output, perhaps one by "
                              "default; name a file for one of them")
                    : cs_fail(CS_EUSAGE, "two outputs write to '%s'", path[i]);
    return CS_OK;
}

/* A block to the temporary file, which a full disk refuses; to others nothing, which /dev/full
 * does. */
static int probe_write(cs_outfile *f)
{
    static const char block[4096];
    int rc = CS_OK;

    if (cs_outfile_temp_path(f)) {
        CS_TRY(cs_outfile_write(f, block, sizeof block));
        rc = cs_outfile_flush(f);
    } else if (write(cs_outfile_fd(f), block, 0) < 0) {
        rc = cs_fail(CS_EIO, "cannot write '%s': %s", cs_outfile_name(f), strerror(errno));
    }
out:
    return rc;
}

/* A named pipe is opened once only: its reader takes our closing it for the end. */
int cs_outputs_probe(const char *path, cs_out_kind kind)
{
    struct stat st;
    cs_outfile *f = NULL;
    const bool wanted = path && !(stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
    int rc = wanted ? cs_outfile_open_as(path, NULL, kind, &f) : CS_OK;

    if (f)
        rc = probe_write(f);
    cs_outfile_discard(f);
    return rc;
}

int cs_outputs_commit(cs_outfile **const file[], int n)
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

/* --sample is of both CAMI formats, and the option of one. */
static const char *sample_of(const cs_output_args *a)
{
    const cs_writer *w;
    const char *sample = NULL;

    EACH_WRITER(i, w) {
        const cs_opt *o = cs_opt_find(w->opt, "sample");
        if (o)
            memcpy(&sample, (const char *)a->cfg[i] + o->off, sizeof sample);
    }
    return sample;
}

const char *cs_outputs_resumed(const cs_output_args *a)
{
    const cs_writer *w;

    EACH_WRITER(i, w)
        if (a->resume && resolved(a, i))
            return resolved(a, i);
    return NULL;
}

/* Does writer w support the model's predictions? */
static int check_model(const cs_writer *w, const cs_model *m, bool taxa)
{
    const char *option = w->opt[0].name;

    if (w->for_classes && !m->head->is_class)
        return cs_fail(CS_EUSAGE, "--%s is for classes, but the model predicts %s", option,
                       m->head->is_labels
                       ? "labels that do not exclude each other; their probabilities are in the "
                         "table and --jsonl" : "values");
    if (w->for_nucleotides && m->tok
        && cs_tokenizer_alphabet(m->tok, m->tok_state) == CS_DIPLOTYPES)
        return cs_fail(CS_EUSAGE, "--%s is for nucleotides, but the model takes diplotypes",
                       option);
    if (w->for_leaves && taxa)
        return cs_fail(CS_EUSAGE, "--%s writes a file per class, but calls are taxa here; use "
                       "--call class", option);
    return CS_OK;
}

/* Is path, of writer i, a place that it can write to, and no other's? */
static int check_path(const cs_output_args *a, int i, const cs_writer *w, const char *path)
{
    const cs_writer *other;

    EACH_WRITER(k, other) {
        if (k == i)
            break;
        if (!resolved(a, k) || !collide(path, resolved(a, k)))
            continue;
        return cs_fail(CS_EUSAGE, "--%s and --%s both write to %s%s%s; rename one of them",
                       other->opt[0].name, w->opt[0].name, is_stdout(path) ? "" : "'",
                       is_stdout(path) ? "standard output" : path, is_stdout(path) ? "" : "'");
    }
    if (w->open && is_stdout(path))
        return cs_fail(CS_EUSAGE, "--%s needs a folder, not standard output", w->opt[0].name);
    CS_BUG(a->resume && !w->resumes);
    if (a->resume && is_stdout(path))
        return cs_fail(CS_EUSAGE, "--resume needs files, not standard output; give them with "
                       "--output and the other options");
    return CS_OK;
}

/* Options without effect in this run; --sample is used by merge, too. */
static int check_effects(const cs_output_args *a, bool merged)
{
    const cs_writer *w;
    const char *sample = sample_of(a);
    bool named = merged || !sample || strcmp(sample, CS_USUAL_SAMPLE) == 0;

    EACH_WRITER(i, w)
        named = named || (w->names_sample && resolved(a, i));
    if (!named)
        cs_warn("--sample has no effect without --cami-binning, --cami-profile or --summary");
    if (!a->resume && cs_opt_given(&a->resume_every))
        return cs_fail(CS_EUSAGE, "--resume-every needs --resume");
    return CS_OK;
}

int cs_outputs_check(const cs_output_args *a, const cs_model *m, bool taxa, bool merged)
{
    int rc = CS_OK;
    const cs_writer *w;
    cs_output_info info = { .sample = sample_of(a), .resumes = a->resume };

    EACH_WRITER(i, w) {
        if (!resolved(a, i))
            continue;
        CS_TRY(check_model(w, m, taxa));
        CS_TRY(check_path(a, i, w, resolved(a, i)));
    }
    EACH_WRITER(i, w) {
        info.wanted = resolved(a, i) != NULL;
        if (w->check)
            CS_TRY(w->check(a->cfg[i], &info));
    }
    rc = check_effects(a, merged);
out:
    return rc;
}

bool cs_outputs_want_native(const cs_output_args *a)
{
    const cs_writer *w;

    EACH_WRITER(i, w)
        if (w->wants_native && cs_output_path(w, a->cfg[i]))
            return true;
    return false;
}

int cs_outputs_open(const cs_output_args *a, const cs_output_info *given, cs_outputs **out)
{
    int rc = CS_OK;
    const cs_writer *w;
    cs_outputs *s = cs_xcalloc(1, sizeof *s);
    cs_output_info info = *given;

    info.sample = sample_of(a);
    info.resumes = a->resume;
    for (int first = 1; first >= 0; first--) {
        EACH_WRITER(i, w) {
            const char *path = resolved(a, i);
            if (!path || is_stdout(path) != first)
                continue;
            info.from = json_object_get(given->from, w->name);
            info.cfg = a->cfg[i];
            CS_TRY(cs_output_open(w, path, &info, &s->o[s->n]));
            s->n++;
        }
    }
    *out = s;
    s = NULL;
out:
    cs_outputs_discard(s);
    return rc;
}

int cs_outputs_explain(int rc, int n, const char *path)
{
    const char *mark = path && !is_stdout(path) ? "'" : "";

    if (rc != CS_ECANCEL || n < 2 || cs_signal_caught() != 0)
        return rc;
    return cs_fail(CS_EIO, "the reader of %s%s%s closed it; the other outputs are not written "
                   "either", mark, !path ? "an output" : *mark ? path : "standard output", mark);
}

/* The same after a loop over outputs that has ended behind number n - 1. */
static int explain(const cs_outputs *s, int rc, int n)
{
    const char *path = n > 0 ? s->o[n - 1]->path : NULL;

    return cs_outputs_explain(rc, s->n, path ? path : "-");
}

int cs_outputs_record(void *outputs, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK, n = 0;
    cs_outputs *s = outputs;

    while (rc == CS_OK && n < s->n)
        rc = cs_output_record(s->o[n++], r, a);
    return explain(s, rc, n);
}

const cs_output *cs_outputs_first(const cs_outputs *s)
{
    return s->o[0];
}

cs_output *cs_outputs_at(const cs_outputs *s, int i)
{
    return i < s->n ? s->o[i] : NULL;
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
    int rc = CS_OK, n = 0;

    while (rc == CS_OK && n < s->n)
        rc = cs_output_finish(s->o[n++]);
    return explain(s, rc, n);
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
    for (int i = 0; i < CS_MAX_WRITER; i++)
        cs_output_discard(s->o[i]);
    free(s);
}

/* ---- counts of all records ------------------------------------------------------------------- */

void cs_outputs_summary(const cs_outputs *s, uint64_t n_before, const cs_policy *p, char *buf,
                        size_t n_buf)
{
    const cs_output *o = s->o[0];
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

void cs_outputs_warn_few_calls(const cs_outputs *s, const char *remedy)
{
    const cs_output *o = s->o[0];
    const uint64_t n = o->n_reason[CS_REASON_LOW_PROB] + o->n_reason[CS_REASON_LOW_CONFIDENCE]
                     + o->n_reason[CS_REASON_UNLIKE];

    if (n > 0 && 2 * n >= o->n_record)
        cs_warn("%llu of %llu %s %s no confident call; %s gives the best class of each%s",
                (unsigned long long)n, (unsigned long long)o->n_record,
                CS_PLURAL(o->n_record, "record", "records"), CS_PLURAL(n, "has", "have"), remedy,
                o->info.prior ? "" : "; if some classes are rare in the input, use --prior auto");
}
