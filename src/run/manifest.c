/* manifest.c - manifests of shards, checked to belong to one run. */
#include "run/manifest.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "registry.h"
#include "run/outputs.h"
#include "run/same_options.h"

enum { MAX_BYTES = 1 << 30 };

/* An option of an output that merge does not join. */
static bool is_of_unjoined(const cs_opt *o)
{
    const cs_writer *w;

    for (int i = 0; (w = cs_writer_at(i)) != NULL; i++)
        for (const cs_opt *own = w->opt; own && own->type != CS_OPT_END; own++)
            if (own == o)
                return w->per_record && !w->joins;
    return false;
}

/* Shards may write other outputs, or to other places. */
static bool matters(const cs_opt *o)
{
    return o->type != CS_OPT_OUT && !is_of_unjoined(o) && strcmp(o->name, "shard") != 0;
}

/* ---- one manifest ---------------------------------------------------------------------------- */

static bool is_count(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0;
}

/* Its size is the sum of header and pieces. */
static bool is_output(const json_t *o)
{
    int64_t n = 0;
    size_t i;
    json_t *piece;
    const json_t *pieces = json_object_get(o, "pieces"), *head = json_object_get(o, "head");
    const json_t *all = json_object_get(o, "bytes");

    if (!json_is_string(json_object_get(o, "path")) || !is_count(head) || !is_count(all)
        || !is_count(json_object_get(o, "crc32")) || !json_is_array(pieces))
        return false;
    n = json_integer_value(all) - json_integer_value(head);
    json_array_foreach(pieces, i, piece) {
        if (!is_count(piece) || json_integer_value(piece) > n)
            return false;
        n -= json_integer_value(piece);
    }
    return n == 0;
}

static bool is_sound(const json_t *m)
{
    const char *name;
    json_t *o;
    const json_t *run = json_object_get(m, "run"), *outputs = json_object_get(m, "outputs");
    const json_t *no = json_object_get(m, "shard"), *n = json_object_get(m, "shards");
    bool good = json_integer_value(json_object_get(m, "chordseq_shard")) == 1
        && is_count(no) && is_count(n) && is_count(json_object_get(m, "records"))
        && json_is_string(json_object_get(run, "chordseq_version"))
        && json_is_string(json_object_get(run, "command"))
        && json_is_string(json_object_get(json_object_get(run, "model"), "sha256"))
        && json_is_string(json_object_get(run, "precision"))
        && json_is_string(json_object_get(run, "kernels"))
        && json_is_array(json_object_get(run, "inputs"))
        && json_is_object(json_object_get(run, "options"))
        && json_is_object(json_object_get(m, "lists")) && json_is_object(outputs)
        && json_integer_value(no) >= 1 && json_integer_value(no) <= json_integer_value(n);

    json_object_foreach((json_t *)(uintptr_t)outputs, name, o)
        good = good && is_output(o);
    return good;
}

static int read_one(const char *path, cs_manifest *m)
{
    char *text = NULL;
    size_t n;
    const int rc = cs_file_read(path, MAX_BYTES, &text, &n);

    if (rc != CS_OK)
        return rc;
    m->path = path;
    m->all = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    if (!is_sound(m->all))
        return cs_fail(CS_EFORMAT, "'%s' is not a shard manifest; --shard writes one with "
                       "--manifest", path);
    m->no = json_integer_value(json_object_get(m->all, "shard"));
    m->records = json_integer_value(json_object_get(m->all, "records"));
    return CS_OK;
}

/* ---- are they of one run? -------------------------------------------------------------------- */

/* Precision and kernels decide the last digits of predictions. */
static int check_digits(const cs_manifest *a, const cs_manifest *b)
{
    static const struct { const char *name, *what, *remedy; } part[] = {
        { "precision", "in different precisions", "give all shards the same --precision" },
        { "kernels", "with different kernels", "run all shards without CHORDSEQ_DISABLE, on "
          "processors with AVX2, AVX-512 or NEON (in bf16 with AMX, with CHORDSEQ_DISABLE=amx, "
          "or on aarch64), or all on GPUs" },
    };
    const json_t *x = json_object_get(a->all, "run"), *y = json_object_get(b->all, "run");

    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const json_t *p = json_object_get(x, part[i].name), *q = json_object_get(y, part[i].name);
        if (!json_equal(p, q))
            return cs_fail(CS_EUSAGE, "'%s' and '%s' are of runs %s (%s and %s); %s", a->path,
                           b->path, part[i].what, json_string_value(p), json_string_value(q),
                           part[i].remedy);
    }
    return CS_OK;
}

struct part { const char *in_run, *in_all, *what; };

static int check_parts(const cs_manifest *a, const cs_manifest *b, const struct part *part)
{
    const json_t *x = json_object_get(a->all, "run"), *y = json_object_get(b->all, "run");

    for (; part->what; part++) {
        const char *run = part->in_run, *all = part->in_all;
        const json_t *p = run ? json_object_get(x, run) : json_object_get(a->all, all);
        const json_t *q = run ? json_object_get(y, run) : json_object_get(b->all, all);
        const bool is_file = run && strcmp(run, "inputs") == 0;
        if ((p || q) && !(p && q && cs_same_value(p, q, is_file)))
            return cs_fail(CS_EUSAGE, "'%s' and '%s' are %s; only shards of one run can be merged",
                           a->path, b->path, part->what);
    }
    return CS_OK;
}

static int manifest_check_model(const cs_manifest *a, const cs_manifest *b)
{
    const json_t *x = json_object_get(a->all, "run"), *y = json_object_get(b->all, "run");
    const char *sum_a = json_string_value(json_object_get(json_object_get(x, "model"), "sha256"));
    const char *sum_b = json_string_value(json_object_get(json_object_get(y, "model"), "sha256"));

    if (strcmp(sum_a, sum_b) == 0)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "'%s' and '%s' are from runs with different models (sha256 "
                   "%.12s and %.12s); only shards of one run can be merged", a->path, b->path,
                   sum_a, sum_b);
}

/* set: of the first manifest's command; it states which properties of an option must be equal. */
static int manifest_check_options(const cs_manifest *a, const cs_manifest *b, const cs_optset *set)
{
    cs_same_diff d;
    const json_t *x = json_object_get(a->all, "run"), *y = json_object_get(b->all, "run");

    if (cs_same_options(set, x, y, matters, &d)
        && cs_same_options(set, a->all, b->all, matters, &d))
        return CS_OK;
    return cs_fail(CS_EUSAGE, "'%s' and '%s' are from runs with different options: --%s is %s "
                   "and %s; only shards of one run can be merged", a->path, b->path, d.option, d.a,
                   d.b);
}

/* Options are compared before their effects. */
static int check_pair(const cs_manifest *a, const cs_manifest *b, const cs_optset *set)
{
    static const struct part of_run[] = {
        { "chordseq_version", NULL, "of different versions of chordseq" },
        { "command", NULL, "of different commands" },
        { "inputs", NULL, "of runs with different inputs" },
        { NULL, "sizes", "of runs with inputs of different sizes" }, { NULL, NULL, NULL },
    };
    static const struct part of_shard[] = {
        { NULL, "by", "of inputs that were divided in different ways" },
        { NULL, "records_in_all", "of runs that read different numbers of records" },
        { NULL, "shards", "of different numbers of shards" },
        { NULL, "labels", "of models with different classes" }, { NULL, NULL, NULL },
    };
    int rc = CS_OK;

    CS_TRY(manifest_check_model(a, b));
    CS_TRY(check_parts(a, b, of_run));
    CS_TRY(check_digits(a, b));
    CS_TRY(manifest_check_options(a, b, set));
    rc = check_parts(a, b, of_shard);
out:
    return rc;
}

static int by_number(const void *a, const void *b)
{
    const cs_manifest *x = a, *y = b;

    return (x->no > y->no) - (x->no < y->no);
}

/* 1 .. n, each once; they are in order. */
static int check_numbers(const cs_manifests *s)
{
    const int64_t n = json_integer_value(json_object_get(s->m[0].all, "shards"));

    for (int i = 1; i < s->n; i++)
        if (s->m[i].no == s->m[i - 1].no)
            return cs_fail(CS_EUSAGE, "'%s' and '%s' are both shard %lld of %lld; give one of "
                           "each", s->m[i - 1].path, s->m[i].path, (long long)s->m[i].no,
                           (long long)n);
    for (int i = 0; i < n; i++)
        if (i == s->n || s->m[i].no != i + 1)
            return cs_fail(CS_EUSAGE, "shard %d of %lld is missing; %d %s given", i + 1,
                           (long long)n, s->n,
                           CS_PLURAL(s->n, "manifest is", "manifests are"));
    return CS_OK;
}

int cs_manifests_read(const char *const *path, int n, cs_manifest_tables tables, cs_manifests *out)
{
    int rc = CS_OK;
    cs_optset set[CS_MAX_OPTSET] = { { NULL, NULL, NULL } };

    CS_BUG(n < 1);
    *out = (cs_manifests){ .m = cs_xcalloc((size_t)n, sizeof *out->m) };
    for (; out->n < n; out->n++) {
        CS_TRY(read_one(path[out->n], &out->m[out->n]));
        const json_t *run = json_object_get(out->m[0].all, "run");
        if (out->n == 0)
            tables(json_string_value(json_object_get(run, "command")), set);
        CS_TRY(check_pair(&out->m[0], &out->m[out->n], set));
    }
    qsort(out->m, (size_t)n, sizeof *out->m, by_number);
    rc = check_numbers(out);
out:
    if (rc != CS_OK && out->n < n)
        out->n++;                /* it may have been read */
    return rc;
}

void cs_manifests_release(cs_manifests *s)
{
    for (int i = 0; i < s->n; i++)
        json_decref(s->m[i].all);
    free(s->m);
    *s = (cs_manifests){ NULL, 0 };
}

/* ---- their outputs --------------------------------------------------------------------------- */

const json_t *cs_manifest_output(const cs_manifest *m, const char *option)
{
    return json_object_get(json_object_get(m->all, "outputs"), option);
}

char *cs_manifest_find(const cs_manifest *m, const json_t *output, const char *made)
{
    const char *path = json_string_value(json_object_get(output, "path"));
    const int n_folder = (int)(cs_same_last_name(m->path) - m->path);
    const size_t size = strlen(m->path) + strlen(path) + 1;
    char *beside = cs_xmalloc(size);

    (void)snprintf(beside, size, "%.*s%s", n_folder, m->path, cs_same_last_name(path));
    /* A file there may be another one: for example the merged output under that name, which has the
     * same size if all other shards are empty. */
    const json_t *n_bytes = json_object_get(output, "bytes");
    const bool is_ours = cs_file_size(beside) == json_integer_value(n_bytes)
                      && !cs_outputs_same(beside, made);
    if (access(beside, F_OK) == 0 && (is_ours || access(path, F_OK) != 0))
        return beside;
    free(beside);
    return cs_xstrdup(path);
}
