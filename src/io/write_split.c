/*
 * write_split.c - write one FASTA or FASTQ file per class, and one for unclassified records.
 *
 * DESIGN
 * Records with qualities go to CLASS.fastq, others to CLASS.fasta; mates to CLASS_1 and CLASS_2.
 * Every class has a file of each kind that occurs, even if empty, so later steps can rely on it: a
 * workflow names its files before they are written. Without records, the kind is FASTA.
 * All are parked outputs (base/outfile.h): at most one file is open at a time, for any number of
 * classes. A file takes 64 kB of memory, with compression 128 kB. BGZF blocks are self-contained,
 * so compression needs no open file either. A resumable run locks the folder instead of the files,
 * and saves the text of the partial block, so blocks end at the same positions.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/names.h"
#include "base/out_filter.h"
#include "io/content.h"
#include "io/json_text.h"
#include "io/writer.h"

struct split_cfg { const char *path; int compress; };

enum { FASTA_COLUMNS = 80, N_KIND = 6 };
/* Of a class in a file's name: file systems allow 255 bytes, with suffixes and ".tmp.PID". */
enum { NAME_BYTES = 200 };

/* One file; kind is 2 * mate (0: none) + (1: FASTQ). */
struct part {
    cs_outfile *f;
    cs_out_filter *gz;           /* NULL without compression */
    char       *path;
    cs_part_mark mark;           /* bytes synced to disk */
};

struct split {
    char       **name;           /* [n_class + 1] safe as a file name; the last: unclassified */
    struct part *part;           /* [(n_class + 1) * N_KIND] */
    cs_names     by_name;        /* those names */
    int32_t     *suffix;         /* [n_class + 1] the next one to tell names like this apart */
    int          n_class, made;  /* made: we created the folder and may remove it */
    int          kinds;          /* bits of those that occur */
    int          lock;           /* the folder, or -1 */
};

/* Letters, digits, and . _ + - but not at the beginning: no folder, no option, no hidden file. */
static char *safe_name(struct split *w, const char *label)
{
    const size_t size = strlen(label) + 16;
    char *s = cs_xmalloc(size);

    (void)snprintf(s, size, "%s", *label ? label : "_");
    for (char *p = s; *p; p++) {
        const int word = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')
                       || (*p >= '0' && *p <= '9') || *p == '_';
        if (!word && (p == s || !strchr(".+-", *p)))
            *p = '_';
    }
    const size_t n = strlen(s) < NAME_BYTES ? strlen(s) : NAME_BYTES;
    s[n] = '\0';
    const int64_t like = cs_names_find(&w->by_name, s);
    while (cs_names_find(&w->by_name, s) >= 0)
        (void)snprintf(s + n, size - n, ".%d", (int)w->suffix[like]++);
    return s;
}

static int name_class(struct split *w, int no, const char *label)
{
    w->name[no] = safe_name(w, label);
    w->suffix[no] = 2;
    return cs_names_add(&w->by_name, w->name[no], no);
}

static int make_folder(cs_output *o, struct split *w)
{
    struct stat st;

    if (mkdir(o->path, 0777) == 0)
        w->made = 1;
    else if (errno != EEXIST)
        return cs_fail(CS_EIO, "cannot make the folder '%s': %s", o->path, strerror(errno));
    else if (stat(o->path, &st) != 0 || !S_ISDIR(st.st_mode))
        return cs_fail(CS_EIO, "'%s' is not a folder", o->path);
    else if (access(o->path, W_OK | X_OK) != 0)
        return cs_fail(CS_EIO, "cannot write into the folder '%s': %s", o->path, strerror(errno));
    if (!o->info.resumes)
        return CS_OK;
    w->lock = open(o->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->lock >= 0 && flock(w->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return cs_fail(CS_EIO, "another run is writing into '%s'", o->path);
    return CS_OK;
}

static int split_open(cs_output *o)
{
    int rc = CS_OK;
    const int n = o->info.n_label;
    struct split *w = cs_xcalloc(1, sizeof *w);

    o->state = w;
    w->lock = -1;
    w->n_class = n;
    w->name = cs_xcalloc((size_t)n + 1, sizeof *w->name);
    w->part = cs_xcalloc(((size_t)n + 1) * N_KIND, sizeof *w->part);
    w->suffix = cs_xcalloc((size_t)n + 1, sizeof *w->suffix);
    for (int i = 0; i <= n; i++)
        CS_TRY(name_class(w, i, i > 0 ? o->info.label[i - 1] : "unclassified"));
    rc = make_folder(o, w);
out:
    return rc;
}

static int write_part(void *to, const void *p, size_t n_bytes)
{
    const struct part *part = to;

    return cs_outfile_write(part->f, p, n_bytes);
}

static const char *const mates[] = { "", "_1", "_2" };

/* Is this the name of another class, or are files of its mates called like one? */
static bool is_taken(const struct split *w, int no, const char *name)
{
    bool taken = false;
    const size_t size = strlen(name) + 4;
    char *other = cs_xmalloc(size);

    for (int k = 0; !taken && k < N_KIND / 2; k++) {
        (void)snprintf(other, size, "%s%s", name, mates[k]);
        const int64_t i = cs_names_find(&w->by_name, other);
        taken = i >= 0 && i != no;
    }
    free(other);
    return taken;
}

/* The name of class no in files of one kind. */
static char *part_name(const struct split *w, int no, int kind)
{
    const size_t n = strlen(w->name[no]), size = n + 16;
    char *s = cs_xmalloc(size);

    (void)snprintf(s, size, "%s", w->name[no]);
    for (int k = 2; kind / 2 > 0 && is_taken(w, no, s); k++)
        (void)snprintf(s + n, size - n, ".%d", k);
    return s;
}

/* Open part i, continuing after the bytes of its mark. */
static int open_part(cs_output *o, int i)
{
    int rc = CS_OK;
    struct split *w = o->state;
    struct part *p = &w->part[i];
    const struct split_cfg *cfg = o->cfg;
    const int kind = i % N_KIND;
    char *name = part_name(w, i / N_KIND, kind);
    const size_t size = strlen(o->path) + strlen(name) + 32;

    p->path = cs_xmalloc(size);
    (void)snprintf(p->path, size, "%s/%s%s.%s%s", o->path, name, mates[kind / 2],
                   kind % 2 ? "fastq" : "fasta", cfg->compress ? ".gz" : "");
    free(name);
    if (cfg->compress)
        CS_TRY(cs_out_filter_new(p->path, CS_OUT_TEXT, write_part, p, &p->gz));
    CS_TRY(o->info.resumes ? cs_outfile_continue(p->path, CS_SEQUENCES, p->mark, &p->f)
                           : cs_outfile_open_as(p->path, CS_SEQUENCES, CS_OUT_PACKED,
                                                &p->f));
    rc = cs_outfile_park(p->f);
out:
    return rc;
}

static int split_put(struct part *p, const char *s, size_t n)
{
    return p->gz ? cs_out_filter_put(p->gz, s, n) : cs_outfile_write(p->f, s, n);
}

static int put_text(struct part *p, const char *s)
{
    return split_put(p, s, strlen(s));
}

static int put_quality(struct part *p, const uint8_t *q, int64_t n)
{
    int rc = CS_OK;
    char text[512];

    for (int64_t i = 0; i < n;) {
        size_t k = 0;
        while (k < sizeof text && i < n)
            text[k++] = (char)(q[i] > 93 ? '~' : '!' + q[i]), i++;
        CS_TRY(split_put(p, text, k));
    }
out:
    return rc;
}

static int put_bases(struct part *p, const cs_segment *g)
{
    int rc = CS_OK;

    for (int64_t i = 0; i < g->n_base; i += FASTA_COLUMNS) {
        const int64_t k = g->n_base - i < FASTA_COLUMNS ? g->n_base - i : FASTA_COLUMNS;
        CS_TRY(split_put(p, g->base + i, (size_t)k));
        CS_TRY(put_text(p, "\n"));
    }
out:
    return rc;
}

/* Is a segment written to a FASTQ file? In alignments, a mate without bases has no qualities; it
 * follows the other mate, because both files of mates need the same records. */
static bool is_written_as_fastq(const cs_record *r, int s)
{
    const bool of_mate = r->n_seg > 1 && r->seg[s].n_base == 0;

    return r->seg[s].qual || (of_mate && r->seg[1 - s].qual);
}

static int put_record(struct part *p, const cs_record *r, int s, bool is_fastq)
{
    int rc = CS_OK;
    const cs_segment *g = &r->seg[s];
    const char *comment = s == 0 ? r->comment : r->mate_comment;

    CS_TRY(put_text(p, is_fastq ? "@" : ">"));
    CS_TRY(put_text(p, r->name));
    if (*comment) {
        CS_TRY(put_text(p, " "));
        CS_TRY(put_text(p, comment));
    }
    CS_TRY(put_text(p, "\n"));
    if (!is_fastq)
        return put_bases(p, g);
    CS_TRY(split_put(p, g->base, (size_t)g->n_base));
    CS_TRY(put_text(p, "\n+\n"));
    CS_TRY(put_quality(p, g->qual, g->n_base));
    CS_TRY(put_text(p, "\n"));
out:
    return rc;
}

static int split_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;
    struct split *w = o->state;
    const int no = a->reason == CS_REASON_NONE ? cs_prediction_best(a) + 1 : 0;

    for (int s = 0; s < r->n_seg; s++) {
        const bool is_fastq = is_written_as_fastq(r, s);
        const int kind = 2 * (r->n_seg == 1 ? 0 : s + 1) + is_fastq;
        struct part *p = &w->part[no * N_KIND + kind];
        w->kinds |= 1 << kind;
        if (!p->f)
            CS_TRY(open_part(o, no * N_KIND + kind));
        CS_TRY(put_record(p, r, s, is_fastq));
    }
out:
    return rc;
}

static int end_part(struct part *p)
{
    const int rc = p->gz ? cs_out_filter_end(p->gz) : CS_OK;

    return rc == CS_OK ? cs_outfile_finish(p->f) : rc;
}

static int split_end(cs_output *o)
{
    int rc = CS_OK;
    struct split *w = o->state;

    if (w->kinds == 0)
        w->kinds = 1;
    for (int i = 0; i < (w->n_class + 1) * N_KIND; i++) {
        struct part *p = &w->part[i];
        if (!p->f && (w->kinds >> i % N_KIND & 1))
            CS_TRY(open_part(o, i));
        if (p->f)
            CS_TRY(end_part(p));
    }
out:
    return rc;
}

static bool is_sequences(const char *name)
{
    static const char *const suffix[] = { ".fasta", ".fastq", ".fasta.gz", ".fastq.gz" };
    const size_t n = strlen(name);
    bool is = false;

    for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
        const size_t k = strlen(suffix[i]);
        is = is || (n > k && strcmp(name + n - k, suffix[i]) == 0);
    }
    return is;
}

/* Our files, without the folder. */
static cs_names our_files(const struct split *w)
{
    cs_names ours = { NULL, 0, 0 };

    for (int i = 0; i < (w->n_class + 1) * N_KIND; i++) {
        const char *path = w->part[i].path, *slash = path ? strrchr(path, '/') : NULL;
        if (slash)
            cs_names_xadd(&ours, slash + 1, i);
    }
    return ours;
}

/* A later step that reads the whole folder would take those of an earlier run for ours. */
static void warn_of_others(const cs_output *o)
{
    DIR *folder = opendir(o->path);
    char first[NAME_MAX + 1] = "";
    long long n = 0;
    cs_names ours = our_files(o->state);

    for (const struct dirent *e; folder && (e = readdir(folder)) != NULL;) {
        if (!is_sequences(e->d_name) || cs_names_find(&ours, e->d_name) >= 0)
            continue;
        if (n++ == 0 || strcmp(e->d_name, first) < 0)
            (void)snprintf(first, sizeof first, "%s", e->d_name);
    }
    if (n > 0)
        cs_warn("'%s' also holds %lld %s that this run did not write, such as '%s'; if an earlier "
                "run did, use an empty folder", o->path, n, CS_PLURAL(n, "file", "files"), first);
    if (folder)
        (void)closedir(folder);
    cs_names_release(&ours);
}

static int split_commit(cs_output *o)
{
    int rc = CS_OK;
    struct split *w = o->state;
    const char *last = NULL;

    w->made = 0;
    for (int i = 0; rc == CS_OK && i < (w->n_class + 1) * N_KIND; i++) {
        last = w->part[i].f != NULL ? w->part[i].path : last;
        rc = cs_outfile_close(w->part[i].f);
        w->part[i].f = NULL;
    }
    if (last != NULL)
        cs_sync_folder_of(last);
    if (rc == CS_OK)
        warn_of_others(o);
    return rc;
}

static void split_release(cs_output *o)
{
    struct split *w = o->state;

    if (!w)
        return;
    for (int i = 0; w->part && i < (w->n_class + 1) * N_KIND; i++) {
        cs_outfile_discard(w->part[i].f);
        free(w->part[i].path);
        cs_out_filter_free(w->part[i].gz);
    }
    for (int i = 0; i <= w->n_class; i++)
        free(w->name[i]);
    if (w->made)
        (void)rmdir(o->path);
    if (w->lock >= 0)
        (void)close(w->lock);
    cs_names_release(&w->by_name);
    CS_FREE(w->name, w->suffix, w->part, w);
    o->state = NULL;
}

static int split_sync(cs_output *o)
{
    int rc = CS_OK;
    struct split *w = o->state;

    for (int i = 0; rc == CS_OK && i < (w->n_class + 1) * N_KIND; i++)
        if (w->part[i].f)
            rc = cs_outfile_checkpoint(w->part[i].f, &w->part[i].mark);
    return rc;
}

static json_t *split_save(const cs_output *o)
{
    const struct split *w = o->state;
    json_t *all = json_array();
    bool bad = !all;

    for (int i = 0; i < (w->n_class + 1) * N_KIND; i++) {
        const struct part *p = &w->part[i];
        size_t n = 0;
        const char *text = p->gz ? cs_out_filter_pending(p->gz, &n) : "";
        if (p->f)
            bad |= json_array_append_new(all, json_pack("[i, I, I, o]", i,
                                                        (json_int_t)p->mark.n_bytes,
                                                        (json_int_t)p->mark.sum,
                                                        cs_json_hex(text, n))) != 0;
    }
    if (!bad)
        return all;
    json_decref(all);
    return NULL;
}

static bool restore_pending(struct part *p, const json_t *hex)
{
    char text[CS_OUT_BLOCK - 1];
    size_t n;

    if (!cs_json_unhex(hex, text, p->gz ? sizeof text : 0, &n))
        return false;
    if (p->gz)
        cs_out_filter_restore(p->gz, text, n);
    return true;
}

static int split_restore(cs_output *o, const json_t *state)
{
    int rc = CS_OK;
    struct split *w = o->state;
    json_int_t i, n_bytes, sum;
    json_t *each, *text;
    size_t k;

    json_array_foreach(state, k, each) {
        if (json_unpack(each, "[I, I, I, o]", &i, &n_bytes, &sum, &text) != 0 || i < 0
            || n_bytes < 0 || i >= (json_int_t)(w->n_class + 1) * N_KIND || w->part[i].f)
            return CS_EFORMAT;
        w->part[i].mark = (cs_part_mark){ n_bytes, sum };
        w->kinds |= 1 << i % N_KIND;
        CS_TRY(open_part(o, (int)i));
        if (!restore_pending(&w->part[i], text))
            return CS_EFORMAT;
    }
    rc = json_is_array(state) ? CS_OK : CS_EFORMAT;
out:
    return rc;
}

#define CFG(field) .off = offsetof(struct split_cfg, field)

static const cs_opt split_opt[] = {
    { .type = CS_OPT_OUT, .name = "split-dir", CFG(path), .arg = "DIR",
      .help = "folder for a FASTA or FASTQ file per class, and one for unclassified records",
      .man = "The folder is created if missing. Files are named CLASS.fasta or CLASS.fastq, for "
             "mates CLASS_1 and CLASS_2 (CLASS.2_1 and CLASS.2_2 if another class has the name "
             "CLASS_1 or CLASS_2). In class names, characters other than letters, digits, '.', "
             "'_', '+' and '-' become '_'; names are cut at 200 bytes. Every class has a file, "
             "even if empty, so that a workflow knows its files; for input without records, they "
             "are FASTA. Bases are written in upper case, U as T, tags of alignments not at all. "
             "Files of an earlier run that have other names remain, with a warning." },
    { .type = CS_OPT_FLAG, .name = "split-gz", CFG(compress),
      .help = "compress these files (BGZF, .gz)" },
    { .type = CS_OPT_END }
};

static int split_check(const void *cfg, const cs_output_info *info)
{
    const struct split_cfg *c = cfg;

    (void)info;
    return c->compress && !c->path ? cs_fail(CS_EUSAGE, "--split-gz needs --split-dir") : CS_OK;
}

const cs_writer cs_write_split = {
    .name = "split",
    .opt = split_opt,
    .cfg_size = sizeof(struct split_cfg),
    .check = split_check,
    .record = split_record,
    .end = split_end,
    .per_record = true,
    .for_classes = true,
    .for_leaves = true,
    .for_nucleotides = true,
    .open = split_open,
    .commit = split_commit,
    .release = split_release,
    .resumes = true,
    .sync = split_sync,
    .save = split_save,
    .restore = split_restore,
};
