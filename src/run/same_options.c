/* same_options.c - the options that runs must share, to resume one or to merge shards. */
#include "run/same_options.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "io/json_text.h"
#include "run/outputs.h"

enum { MAX_LIST = 64 };

const char *cs_same_last_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- describing a run ------------------------------------------------------------------------ */

/* A BED file may have a million regions, and a journal is written every few seconds. */
static json_t *long_json(const cs_strlist *list)
{
    char text[128], hex[65];
    cs_sha256 h;

    cs_sha256_init(&h);
    for (int i = 0; i < list->n; i++)
        cs_sha256_add(&h, list->v[i], strlen(list->v[i]) + 1);
    cs_sha256_hex(&h, hex);
    (void)snprintf(text, sizeof text, "%d values, sha256:%s", list->n, hex);
    return json_string(text);
}

json_t *cs_same_list(const cs_opt *o, const void *base)
{
    cs_strlist list;

    memcpy(&list, (const char *)base + o->off, sizeof list);
    if (o->type == CS_OPT_LIST && list.n > MAX_LIST)
        return long_json(&list);
    json_t *values = json_array();
    for (int i = 0; i < list.n; i++)
        json_array_append_new(values, cs_json_of_bytes(list.v[i]));
    return values;
}

/* A pipe has neither size nor content to compare. */
static int file_json(const cs_opt *o, const char *path, json_t *files)
{
    int rc = CS_OK;
    char text[128], hex[65];
    const int64_t n = strcmp(path, "-") == 0 ? -1 : cs_file_size(path);

    if (n < 0)
        return CS_OK;
    (void)snprintf(text, sizeof text, "%lld bytes", (long long)n);
    if (o->same == CS_OPT_SAME_CONTENT) {
        CS_TRY(cs_sha256_file(path, hex));
        (void)snprintf(text, sizeof text, "%lld bytes, sha256:%s", (long long)n, hex);
    }
    json_object_set_new(files, o->name, json_string(text));
out:
    return rc;
}

int cs_same_describe(const cs_optset *set, json_t *run)
{
    int rc = CS_OK;
    json_t *lists = json_object(), *files = json_object();
    const char *path;

    json_object_set_new(run, "files", files);
    json_object_set_new(run, "lists", lists);
    for (; set->opt; set++)
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++) {
            if (o->same == CS_OPT_SAME_NOTHING || !set->base)    /* NULL: headings alone */
                continue;
            const char *field = (const char *)set->base + o->off;
            if (cs_opt_is_list(o)) {
                json_object_set_new(lists, o->name, cs_same_list(o, set->base));
            } else if (o->type == CS_OPT_IN) {
                memcpy(&path, field, sizeof path);
                if (path)
                    CS_TRY(file_json(o, path, files));
            }
        }
out:
    return rc;
}

/* ---- comparing two --------------------------------------------------------------------------- */

bool cs_same_value(const json_t *a, const json_t *b, bool is_file)
{
    const char *x = json_string_value(a), *y = json_string_value(b);

    if (!is_file)
        return json_equal(a, b);
    if (x && y)
        return strcmp(cs_same_last_name(x), cs_same_last_name(y)) == 0;
    bool same = json_array_size(a) == json_array_size(b) && json_typeof(a) == json_typeof(b);
    for (size_t i = 0; same && i < json_array_size(a); i++)
        same = cs_same_value(json_array_get(a, i), json_array_get(b, i), true);
    return same;
}

void cs_same_show(const json_t *v, char buf[CS_SAME_BYTES])
{
    char *text = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT) : cs_xstrdup("nothing");

    (void)snprintf(buf, CS_SAME_BYTES, "%s", text ? text : "?");
    free(text);
}

static const cs_opt *row_of(const cs_optset *set, const char *name)
{
    const cs_opt *o = NULL;

    for (; !o && set->opt; set++)
        o = cs_opt_find(set->opt, name);
    return o;
}

/* Are all of a's members b's? Called both ways. */
static bool has_all(const cs_optset *set, const json_t *a, const json_t *b,
                    bool (*matters)(const cs_opt *o), const char **option)
{
    json_t *x;

    json_object_foreach((json_t *)(uintptr_t)a, *option, x) {
        const json_t *y = json_object_get(b, *option);
        const cs_opt *o = row_of(set, *option);
        if (o && (o->same == CS_OPT_SAME_NOTHING || (matters && !matters(o))))
            continue;
        if (!y || !cs_same_value(x, y, o && (o->type == CS_OPT_IN || o->type == CS_OPT_INS)))
            return false;
    }
    return true;
}

bool cs_same_options(const cs_optset *set, const json_t *a, const json_t *b,
                     bool (*matters)(const cs_opt *o), cs_same_diff *d)
{
    static const char *const part[] = { "options", "files", "lists" };

    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const json_t *x = json_object_get(a, part[i]), *y = json_object_get(b, part[i]);
        if (has_all(set, x, y, matters, &d->option) && has_all(set, y, x, matters, &d->option))
            continue;
        cs_same_show(json_object_get(x, d->option), d->a);
        cs_same_show(json_object_get(y, d->option), d->b);
        return false;
    }
    return true;
}
