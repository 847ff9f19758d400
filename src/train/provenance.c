/* provenance.c - provenance of a model, and settings that a resumed run must repeat. */
#include "train/provenance.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "io/json_text.h"
#include "train/folds.h"

enum { VALUE_BYTES = 512, ESCAPE_BYTES = 4 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* A growing text; small, so cs_xmalloc() suffices. */
struct text { char *s; size_t n; };

/* Appends n bytes of s. The text becomes JSON: bytes that are not UTF-8, as paths may have, are
 * written \xHH. */
static void provenance_append(struct text *t, const char *s, size_t n)
{
    t->s = cs_xrealloc(t->s, t->n + ESCAPE_BYTES * n + 1);
    while (n > 0) {
        const size_t k = cs_utf8_length(s), n_read = k > 0 && k <= n ? k : 1;
        if (k == n_read)
            memcpy(t->s + t->n, s, k);
        else
            (void)snprintf(t->s + t->n, ESCAPE_BYTES + 1, "\\x%02x", (unsigned char)*s);
        t->n += k == n_read ? k : ESCAPE_BYTES;
        s += n_read;
        n -= n_read;
    }
    t->s[t->n] = '\0';
}

/* Does the option of this letter take the rest of its word? */
static bool takes_rest(const cs_optset *set, char letter)
{
    for (; set->opt != NULL; set++)
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++)
            if (o->type != CS_OPT_GROUP && o->letter == letter)
                return cs_opt_takes_word(o);
    return false;
}

/* Characters of a word of letters before its value, which ends at `end`; 0: it has none. */
static size_t count_letters(const cs_optset *set, const char *arg, const char *end)
{
    size_t n = 1;

    while (arg + n < end && !takes_rest(set, arg[n]))
        n++;
    return arg + n < end ? n + 1 : 0;
}

/* One argument without folders; options before a path in the same word stay: "--class=a=" of
 * "--class=a=/data/x.fa", "-qo" of "-qo/data/x.m". */
static void append_argument(struct text *t, const cs_optset *set, const char *arg)
{
    const char *slash = strrchr(arg, '/');
    size_t n_option = slash != NULL && arg[0] == '-' && arg[1] != '-'
                    ? count_letters(set, arg, slash) : 0;

    for (const char *p = arg; slash != NULL && p < slash; p++)
        if (*p == '=')
            n_option = (size_t)(p + 1 - arg);
    provenance_append(t, arg, n_option);
    arg = slash != NULL ? slash + 1 : arg;
    provenance_append(t, arg, strlen(arg));
}

int cs_provenance_init(cs_provenance *p, const cs_optset *set, int argc, char **argv,
                       const cs_strlist *file)
{
    int rc = CS_OK;
    struct text t = { NULL, 0 };

    provenance_append(&t, "chordseq", strlen("chordseq"));
    for (int i = 0; i < argc; i++) {
        provenance_append(&t, " ", 1);
        append_argument(&t, set, argv[i]);
    }
    p->command = t.s;
    p->file = cs_xcalloc((size_t)file->n + 1, sizeof *p->file);
    for (int i = 0; i < file->n; i++) {
        cs_origin_file *f = &p->file[p->n_file++];
        struct text name = { NULL, 0 };
        provenance_append(&name, base_name(file->v[i]), strlen(base_name(file->v[i])));
        f->name = name.s;
        f->n_bytes = cs_file_size(file->v[i]);
        /* Only a regular file can be read twice. */
        if (f->n_bytes >= 0)
            CS_TRY(cs_sha256_file(file->v[i], f->sha256));
    }
out:
    return rc;
}

void cs_provenance_start_from(cs_provenance *p, const char *path, const cs_model *from)
{
    struct text name = { NULL, 0 };

    if (path == NULL)
        return;
    provenance_append(&name, base_name(path), strlen(base_name(path)));
    free(p->initial);
    p->initial = name.s;
    (void)snprintf(p->initial_sum, sizeof p->initial_sum, "%s", from->sum);
}

void cs_provenance_release(cs_provenance *p)
{
    for (int i = 0; i < p->n_file; i++)
        free(p->file[i].name);
    free(p->file);
    CS_FREE(p->command, p->initial);
    *p = (cs_provenance){ 0 };
}

static json_t *inputs_json(const cs_provenance *p)
{
    json_t *list = json_array();

    for (int i = 0; i < p->n_file; i++) {
        const cs_origin_file *f = &p->file[i];
        json_t *o = json_pack("{s:s}", "name", f->name);
        if (f->n_bytes >= 0) {
            json_object_set_new(o, "bytes", json_integer(f->n_bytes));
            json_object_set_new(o, "sha256", json_string(f->sha256));
        }
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *data_json(const cs_dataset *d)
{
    int64_t n[2], n_base[2];

    cs_dataset_count(d, CS_PART_TRAIN, -1, &n[0], &n_base[0]);
    cs_dataset_count(d, CS_PART_VALID, -1, &n[1], &n_base[1]);
    return json_pack("{s:I, s:I, s:I, s:I}", "train_records", (json_int_t)n[0], "train_bases",
                     (json_int_t)n_base[0], "valid_records", (json_int_t)n[1], "valid_bases",
                     (json_int_t)n_base[1]);
}

/* Counts of a class or label in each part: records and their bases; bases of labelled intervals;
 * records with a known value of the label, and positive ones. */
struct tally { int64_t n[2], more[2]; };

static void count_bases(const cs_dataset *d, int n_class, struct tally *of)
{
    int64_t *n = cs_xcalloc((size_t)n_class, sizeof *n);

    for (int part = CS_PART_TRAIN; part <= CS_PART_VALID; part++) {
        cs_dataset_count_bases(d, (cs_part)part, n_class, n);
        for (int c = 0; c < n_class; c++)
            of[c].n[part] = n[c];
    }
    free(n);
}

static void count_labels(const cs_example *e, int n_label, struct tally *of)
{
    for (int k = 0; k < n_label; k++) {
        of[k].n[e->part] += !isnan(e->target[k]);
        of[k].more[e->part] += e->target[k] > 0;
    }
}

/* In one pass: there may be many classes. */
static void count_classes(const cs_dataset *d, int n_class, struct tally *of)
{
    if (d->n_target == CS_TARGET_TOKENS) {
        count_bases(d, n_class, of);
        return;
    }
    for (int64_t i = 0; i < d->n; i++) {
        const cs_example *e = &d->ex[i];
        if (e->part == CS_PART_SKIP)
            continue;
        if (!d->is_class) {
            count_labels(e, n_class, of);
            continue;
        }
        of[e->class_no].n[e->part]++;
        of[e->class_no].more[e->part] += e->n_base;
    }
}

static json_t *class_json(const cs_dataset *d, const struct tally *of)
{
    const json_int_t n[2] = { of->n[0], of->n[1] }, more[2] = { of->more[0], of->more[1] };

    if (d->n_target == CS_TARGET_TOKENS)
        return json_pack("{s:I, s:I}", "train_bases", n[0], "valid_bases", n[1]);
    if (d->is_class)
        return json_pack("{s:I, s:I, s:I, s:I}", "train_records", n[0], "train_bases", more[0],
                         "valid_records", n[1], "valid_bases", more[1]);
    return json_pack("{s:I, s:I, s:I, s:I}", "train_known", n[0], "train_positive", more[0],
                     "valid_known", n[1], "valid_positive", more[1]);
}

static json_t *classes_json(const cs_dataset *d, const cs_classes *classes)
{
    json_t *all = json_object();
    struct tally *of = cs_xcalloc((size_t)classes->n + 1, sizeof *of);

    CS_BUG(d->is_class && classes->n > 0 && d->n_class > classes->n);
    if (classes->n > 0)
        count_classes(d, classes->n, of);
    for (int i = 0; i < classes->n; i++)
        json_object_set_new(all, classes->name[i], class_json(d, &of[i]));
    free(of);
    return all;
}

static json_t *real_json(double v)
{
    /* Six digits suffice for a metric, and keep the text readable. */
    char digits[32];

    if (!isfinite(v))
        return json_null();
    (void)snprintf(digits, sizeof digits, "%.6g", v);
    return json_real(strtod(digits, NULL));
}

char *cs_provenance_text(const cs_provenance *p, const cs_dataset *d, const cs_classes *classes,
                         const cs_train_state *st)
{
    json_t *o = json_object();
    cs_train_state own = *st;

    if (p->folds != NULL)
        cs_folds_headline(p->folds, &own);
    json_object_set_new(o, "chordseq", json_string(PACKAGE_VERSION));
    json_object_set_new(o, "command", json_string(p->command));
    json_object_set_new(o, "seed", json_integer(p->seed));
    if (p->initial != NULL)
        json_object_set_new(o, "initial_model", json_pack("{s:s, s:s}", "name", p->initial,
                                                          "sha256", p->initial_sum));
    json_object_set_new(o, "inputs", inputs_json(p));
    if (p->split_by != NULL)
        json_object_set_new(o, "split_by", json_string(p->split_by));
    if (p->n_group > 0)
        json_object_set_new(o, "groups", json_integer(p->n_group));
    json_object_set_new(o, "data", data_json(d));
    json_object_set_new(o, "classes", classes_json(d, classes));
    json_object_set_new(o, "epoch", json_integer(st->best_epoch));
    json_object_set_new(o, "steps", json_integer(st->step));
    json_object_set_new(o, "valid_loss", real_json(own.best_loss));
    json_object_set_new(o, "valid_accuracy", real_json(own.best_accuracy));
    json_object_set_new(o, "valid_balanced_accuracy", real_json(own.best_balanced));
    if (isfinite(own.best_r2))
        json_object_set_new(o, "valid_r2", real_json(own.best_r2));
    if (p->preset != NULL)
        json_object_set_new(o, "preset", json_string(p->preset));
    if (isfinite(own.regression))
        json_object_set_new(o, "baseline_regression_balanced", real_json(own.regression));
    if (isfinite(own.bag))
        json_object_set_new(o, "baseline_bag_balanced", real_json(own.bag));
    if (p->folds != NULL)
        json_object_set_new(o, "folds", cs_folds_json(p->folds));
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(o);
    return text;
}

int cs_provenance_add_proteins(char **text, const cs_metrics *without, const cs_metrics *with)
{
    json_t *o = *text != NULL ? json_loads(*text, 0, NULL) : NULL;
    char *changed;

    if (o == NULL)
        return CS_OK;
    json_object_set_new(o, "valid_loss", real_json(with->loss));
    json_object_set_new(o, "valid_accuracy", real_json(with->accuracy));
    json_object_set_new(o, "valid_balanced_accuracy", real_json(with->balanced));
    json_object_set_new(o, "baseline_without_proteins_balanced", real_json(without->balanced));
    changed = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(o);
    if (changed == NULL)
        return cs_fail(CS_EMEM, "out of memory for the provenance of the model");
    free(*text);
    *text = changed;
    return CS_OK;
}

void cs_provenance_log(const char *text)
{
    static const struct { const char *key, *name; } base[] = {
        { "baseline_regression_balanced", "regression on 5-mers" },
        { "baseline_bag_balanced", "bag" },
        { "baseline_without_proteins_balanced", "without proteins" },
    };
    json_t *o = text != NULL ? json_loads(text, 0, NULL) : NULL;
    const double own = json_number_value(json_object_get(o, "valid_balanced_accuracy"));
    char line[128] = "";
    bool below = false;

    for (size_t i = 0; i < sizeof base / sizeof *base; i++) {
        const json_t *v = json_object_get(o, base[i].key);
        const size_t n = strlen(line);
        if (!json_is_number(v))
            continue;
        (void)snprintf(line + n, sizeof line - n, "; %s %.4f", base[i].name, json_number_value(v));
        below = below || own < json_number_value(v) - 5e-5;   /* in four decimals */
    }
    if (line[0] != '\0')
        cs_note("%s in training: balanced accuracy %.4f%s%s",
                json_object_get(o, "folds") ? "cross-validation" : "validation", own, line,
                below ? "; below its baseline" : "");
    json_decref(o);
}

static bool listed(const cs_opt *table, const cs_opt *const *skip)
{
    for (; *skip != NULL; skip++)
        if (*skip == table)
            return true;
    return false;
}

/* A line about the content of a file, because another file may have the same name. */
static void append_content(struct text *t, const char *name, const char *file, const char *content)
{
    cs_sha256 h;
    char hex[65], line[2 * VALUE_BYTES];

    cs_sha256_init(&h);
    cs_sha256_add(&h, content, strlen(content));
    cs_sha256_hex(&h, hex);
    (void)snprintf(line, sizeof line, "%s%s%ssha256:%s\n", name, file, *file != '\0' ? " " : "",
                   hex);
    provenance_append(t, line, strlen(line));
}

static int append_vocabulary(struct text *t, const cs_model *m, const char *file)
{
    if (m->tok == NULL || m->tok->save == NULL)
        return CS_OK;
    char *text = m->tok->save(m->tok_state);
    if (text == NULL)
        return cs_fail(CS_EMEM, "out of memory for the vocabulary");
    append_content(t, CS_RECIPE_VOCABULARY, file, text);
    free(text);
    return CS_OK;
}

static void append_text(struct text *t, const char *s)
{
    provenance_append(t, s, strlen(s));
}

/* "name=value" of an option that has a value; file receives the name of a vocabulary. */
static void append_option(struct text *t, const cs_optset *set, const cs_opt *o, char *file,
                          size_t n_file)
{
    const char *prefix = set->prefix != NULL ? set->prefix : "";
    char *value = cs_opt_value(o, set->base);

    if (value == NULL)
        return;
    append_text(t, prefix);
    append_text(t, *prefix != '\0' ? "." : "");
    append_text(t, o->name);
    append_text(t, "=");
    append_text(t, value);
    append_text(t, "\n");
    if (strcmp(prefix, "tokenizer") == 0 && strcmp(o->name, "file") == 0)
        (void)snprintf(file, n_file, "%s", value);
    free(value);
}

/* The hash of the data has the labels' numbers only. */
static void append_labels(struct text *t, const cs_model *m)
{
    struct text all = { NULL, 0 };
    char size[64];

    for (int32_t i = 0; i < m->n_label; i++) {
        append_text(&all, m->label[i].name);
        append_text(&all, "\n");
        if (m->label[i].deviation > 0) {
            (void)snprintf(size, sizeof size, "%.17g %.17g\n", m->label[i].mean,
                           m->label[i].deviation);
            append_text(&all, size);
        }
    }
    append_content(t, CS_RECIPE_LABELS, "", all.s);
    free(all.s);
}

int cs_provenance_recipe(const cs_optset *set, const cs_opt *const *skip, const cs_model *m,
                         uint64_t data_hash, char **out)
{
    const cs_backend *be = m->be;
    struct text t = { NULL, 0 };
    char line[VALUE_BYTES], vocabulary[VALUE_BYTES] = "";

    for (; set->opt != NULL; set++) {
        if (listed(set->opt, skip))
            continue;
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++)
            if (o->type != CS_OPT_GROUP && o->type != CS_OPT_OUT && o->same != CS_OPT_SAME_NOTHING)
                append_option(&t, set, o, vocabulary, sizeof vocabulary);
    }
    (void)snprintf(line, sizeof line, "data=%016llx\n", (unsigned long long)data_hash);
    append_text(&t, line);
    /* Other checkpoints, of older versions too, are in fp32. */
    if (be->precision != CS_IN_FP32) {
        (void)snprintf(line, sizeof line, "precision=%s\nkernels=%s\n",
                       cs_precision_names[be->precision],
                       be->is_host ? cs_cpu_bits(be->precision == CS_IN_BF16) : be->name);
        append_text(&t, line);
    }
    const int rc = append_vocabulary(&t, m, vocabulary);
    /* Only classes and their ancestors: other rows of a table of taxa do not matter. */
    if (m->head->set_taxonomy != NULL && m->taxonomy != NULL)
        append_content(&t, CS_RECIPE_TAXONOMY, "", m->taxonomy);
    append_labels(&t, m);
    *out = t.s;
    return rc;
}
