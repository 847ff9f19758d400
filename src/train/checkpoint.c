/* checkpoint.c - training checkpoints.
 *
 * DESIGN. Bytes: 8 of magic; the header's length, 8 bytes little-endian; the header, JSON; the
 * slabs value, m, v and (with averaging) ema as the machine stores them; CRC-32 of all before, 4
 * bytes little-endian. A checkpoint is for the kind of machine that wrote it; model files are
 * portable.
 */
#include "train/checkpoint.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "base/outfile.h"
#include "base/mem.h"
#include "nn/exec/safetensors.h"

static const char magic[] = CS_CHECKPOINT_MAGIC;

enum { MAGIC_BYTES = sizeof magic - 1, HEAD_BYTES = 16, MAX_SLAB = 4,
       SUM_BYTES = sizeof "sha256:" - 1 + 64 };

void cs_train_state_init(cs_train_state *st)
{
    *st = (cs_train_state){ .best = NAN, .best_loss = NAN, .best_accuracy = NAN,
                            .best_balanced = NAN, .best_r2 = NAN, .lowest_loss = NAN,
                            .own_best = NAN, .regression = NAN, .bag = NAN, .peak_share = NAN,
                            .log = cs_xstrdup("") };
}

void cs_train_state_release(cs_train_state *st)
{
    free(st->log);
    st->log = NULL;
}

/* The fields of the state by name, one list for saving and loading. */
static const struct field { const char *name; size_t off; bool real; } fields[] = {
    { "epoch", offsetof(cs_train_state, epoch), false },
    { "epoch_step", offsetof(cs_train_state, epoch_step), false },
    { "step", offsetof(cs_train_state, step), false },
    { "best_epoch", offsetof(cs_train_state, best_epoch), false },
    { "n_bad", offsetof(cs_train_state, n_bad), false },
    { "best", offsetof(cs_train_state, best), true },
    { "best_loss", offsetof(cs_train_state, best_loss), true },
    { "best_accuracy", offsetof(cs_train_state, best_accuracy), true },
    { "best_balanced", offsetof(cs_train_state, best_balanced), true },
    { "best_r2", offsetof(cs_train_state, best_r2), true },
    { "seconds", offsetof(cs_train_state, seconds), true },
    { "sum_loss", offsetof(cs_train_state, sum.loss), true },
    { "sum_weight", offsetof(cs_train_state, sum.weight), true },
    { "epoch_seconds", offsetof(cs_train_state, epoch_seconds), true },
    { "epoch_flop", offsetof(cs_train_state, epoch_flop), true },
    { "n_right", offsetof(cs_train_state, sum.n_right), false },
    { "n_seen", offsetof(cs_train_state, sum.n_seen), false },
    { "n_token", offsetof(cs_train_state, sum.n_token), false },
    { "sum_bases", offsetof(cs_train_state, sum.n_base), false },
    { "n_base", offsetof(cs_train_state, n_base), false },
    { "valid_seconds", offsetof(cs_train_state, valid_seconds), true },
    { "done_before", offsetof(cs_train_state, done_before), true },
    { "began", offsetof(cs_train_state, began), true },
    { "best_done", offsetof(cs_train_state, best_done), true },
    { "anneal_from", offsetof(cs_train_state, anneal_from), true },
    { "anneal_rate", offsetof(cs_train_state, anneal_rate), true },
    { "regression", offsetof(cs_train_state, regression), true },
    { "bag", offsetof(cs_train_state, bag), true },
    { "lowest_loss", offsetof(cs_train_state, lowest_loss), true },
    { "own_best", offsetof(cs_train_state, own_best), true },
};

enum { N_FIELD = sizeof fields / sizeof fields[0] };

/* JSON has no NaN: null is written instead. Reals are printed with 17 digits, which is exact. */
static json_t *field_value(const struct field *f, const cs_train_state *st)
{
    const char *p = (const char *)st + f->off;

    if (!f->real)
        return json_integer(*(const int64_t *)(const void *)p);
    const double v = *(const double *)(const void *)p;
    return isfinite(v) ? json_real(v) : json_null();
}

static bool set_field(const struct field *f, const json_t *v, cs_train_state *st)
{
    void *p = (char *)st + f->off;

    if (!f->real) {
        if (!json_is_integer(v))
            return false;
        *(int64_t *)p = json_integer_value(v);
        return true;
    }
    *(double *)p = json_is_number(v) ? json_number_value(v) : NAN;
    return json_is_number(v) || json_is_null(v);
}

/* ---- save ------------------------------------------------------------------------------------ */

static char *header_text(const cs_params *ps, bool average, const cs_train_state *st,
                         const char *recipe)
{
    json_t *h = json_object(), *tensors = json_array();

    json_object_set_new(h, "format", json_integer(1));
    CS_BUG(json_object_set_new(h, "recipe", json_string(recipe)) != 0);
    json_object_set_new(h, "log", json_string(st->log));
    json_object_set_new(h, "done", json_boolean(st->done));
    json_object_set_new(h, "average", json_boolean(average));
    json_object_set_new(h, "real_bytes", json_integer(sizeof(cs_real)));
    json_object_set_new(h, "n_real", json_integer(ps->n_real));
    for (int i = 0; i < N_FIELD; i++)
        json_object_set_new(h, fields[i].name, field_value(&fields[i], st));
    for (int i = 0; i < ps->n; i++) {
        const cs_param *p = &ps->p[i];
        json_array_append_new(tensors, json_pack("[s, I, I, I]", p->name, (json_int_t)p->off,
                                                 (json_int_t)p->n, (json_int_t)p->step));
    }
    json_object_set_new(h, "tensors", tensors);
    char *text = json_dumps(h, JSON_COMPACT);
    json_decref(h);
    return text;
}

struct sink { cs_outfile *file; uLong crc; };

static int checkpoint_put(struct sink *s, const void *p, size_t n)
{
    s->crc = crc32_z(s->crc, p, n);
    return cs_outfile_write(s->file, p, n);
}

static void little_endian(uint64_t v, int n, unsigned char *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (unsigned char)(v >> (8 * i));
}

static uint64_t from_little_endian(const void *p, int n)
{
    const unsigned char *b = p;
    uint64_t v = 0;

    for (int i = 0; i < n; i++)
        v |= (uint64_t)b[i] << (8 * i);
    return v;
}

static int list_slabs(const cs_params *ps, bool average, cs_real **slab)
{
    int n = 0;

    slab[n++] = ps->value;
    slab[n++] = ps->m;
    slab[n++] = ps->v;
    if (average)
        slab[n++] = ps->ema;
    return n;
}

static int put_slabs(struct sink *s, cs_params *ps, bool average, void *host)
{
    int rc = CS_OK;
    const size_t n_bytes = (size_t)ps->n_real * sizeof(cs_real);
    cs_real *slab[MAX_SLAB];
    const int n = list_slabs(ps, average, slab);

    for (int i = 0; i < n; i++) {
        ps->be->op.download(ps->be, host, slab[i], n_bytes);
        CS_TRY(ps->be->op.sync(ps->be));
        CS_TRY(checkpoint_put(s, host, n_bytes));
    }
out:
    return rc;
}

int cs_checkpoint_save(const char *path, cs_params *ps, bool average, const cs_train_state *st,
                       const char *recipe)
{
    int rc = CS_OK;
    struct sink s = { NULL, crc32_z(0, NULL, 0) };
    unsigned char head[HEAD_BYTES], tail[4];
    char *text = header_text(ps, average, st, recipe);
    void *host = cs_alloc((size_t)ps->n_real, sizeof(cs_real));

    if (text == NULL || host == NULL) {
        rc = cs_fail(CS_EMEM, "out of memory for the checkpoint '%s'", path);
        goto out;
    }
    memcpy(head, magic, MAGIC_BYTES);
    little_endian(strlen(text), 8, head + MAGIC_BYTES);
    CS_TRY(cs_outfile_open_as(path, NULL, CS_OUT_BINARY, &s.file));
    CS_TRY(checkpoint_put(&s, head, sizeof head));
    CS_TRY(checkpoint_put(&s, text, strlen(text)));
    CS_TRY(put_slabs(&s, ps, average, host));
    little_endian(s.crc, sizeof tail, tail);
    CS_TRY(cs_outfile_write(s.file, tail, sizeof tail));
out:
    rc = cs_outfile_end(s.file, rc);
    free(host);
    free(text);
    return rc;
}

/* ---- load ------------------------------------------------------------------------------------ */

/* The bytes of a recipe without its last lines, those about contents. */
static size_t before_contents(const char *recipe)
{
    static const char *const line[] = { "\n" CS_RECIPE_VOCABULARY, "\n" CS_RECIPE_TAXONOMY,
                                        "\n" CS_RECIPE_LABELS };
    size_t n = strlen(recipe);

    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        const char *at = strstr(recipe, line[i]);
        if (at != NULL && (size_t)(at + 1 - recipe) < n)
            n = (size_t)(at + 1 - recipe);
    }
    return n;
}

static const char *next_line(const char *recipe)
{
    recipe += strcspn(recipe, "\n");
    return recipe + (*recipe == '\n');
}

/* The recipe's line of the option that this line states, or NULL. */
static const char *find_option(const char *recipe, const char *line)
{
    const size_t n = strcspn(line, "=\n") + 1;

    for (; *recipe != '\0'; recipe = next_line(recipe))
        if (strncmp(recipe, line, n) == 0)
            return recipe;
    return NULL;
}

/* Are the values of two lines names of one file, such as x and ./x? No other values are files. */
static bool same_file(const char *line, const char *other)
{
    const size_t at = strcspn(line, "=\n") + 1, n = strcspn(line, "\n"), k = strcspn(other, "\n");
    struct stat of[2];
    bool same = false;

    if (at > n || at > k)
        return false;
    char *path[] = { strndup(line + at, n - at), strndup(other + at, k - at) };
    if (path[0] != NULL && path[1] != NULL && stat(path[0], &of[0]) == 0 &&
        stat(path[1], &of[1]) == 0)
        same = of[0].st_dev == of[1].st_dev && of[0].st_ino == of[1].st_ino;
    CS_FREE(path[0], path[1]);
    return same;
}

/* Do two lines state the same? Files may have moved: their contents are in other lines, or
 * after the file's name. */
static bool same_line(const char *was, const char *line, const char *is, const char *other)
{
    static const char *const named[][2] = {
        { "tokenizer.file=", CS_RECIPE_VOCABULARY }, { "taxonomy=", CS_RECIPE_TAXONOMY },
        { "taxa=", CS_RECIPE_TAXONOMY },
    };
    const size_t n = strcspn(line, "\n"), k = strcspn(other, "\n");

    if (n == k && strncmp(line, other, n) == 0)
        return true;
    if (strcspn(line, "=") != strcspn(other, "=") ||
        strncmp(line, other, strcspn(line, "=")) != 0)
        return false;
    if (same_file(line, other))
        return true;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strncmp(line, named[i][0], strlen(named[i][0])) == 0)
            return find_option(was, named[i][1]) != NULL && find_option(is, named[i][1]) != NULL;
    return strncmp(line, CS_RECIPE_VOCABULARY, strlen(CS_RECIPE_VOCABULARY)) == 0 &&
           n > SUM_BYTES && k > SUM_BYTES &&
           strncmp(line + n - SUM_BYTES, other + k - SUM_BYTES, SUM_BYTES) == 0;
}

/* The remedy for a checkpoint of another run. */
#define SAME_RUN "give the same options and data, or omit --resume"

static int one_sided(const char *path, const char *line)
{
    return cs_fail(CS_EUSAGE, "checkpoint '%s' belongs to another run: '%.*s' is present in only "
                   "one of them; " SAME_RUN, path, (int)strcspn(line, "\n"), line);
}

/* Is it a line of the option "name="? */
static bool states(const char *line, const char *name)
{
    return strncmp(line, name, strlen(name)) == 0;
}

static int differs(const char *path, const cs_resume_rule *rule, const char *was, const char *is)
{
    const bool length = states(is, "epochs=") || states(is, "max-steps=") || states(is, "budget=");

    (void)cs_fail(CS_EUSAGE, "checkpoint '%s' belongs to another run: it has '%.*s', this command "
                  "'%.*s'", path, (int)strcspn(was, "\n"), was, (int)strcspn(is, "\n"), is);
    return cs_fail_also(CS_EUSAGE, "; %s", !length || rule->further == NULL ? SAME_RUN
                        : rule->further);
}

/* Names the first line in which two recipes differ. Versions may order options differently. */
static int compare_recipes(const char *path, const char *was, const cs_resume_rule *rule)
{
    const char *is = rule->recipe;
    /* Checkpoints of older versions have no contents. */
    const char *end = is + (was[before_contents(was)] != '\0' ? strlen(is) : before_contents(is));

    for (const char *p = was; *p != '\0'; p = next_line(p)) {
        const char *own = find_option(is, p);
        if (own == NULL)
            return one_sided(path, p);
        if (!same_line(was, p, is, own) && !(rule->any_epochs && states(p, "epochs=")))
            return differs(path, rule, p, own);
    }
    for (const char *p = is; p < end; p = next_line(p))
        if (find_option(was, p) == NULL)
            return one_sided(path, p);
    return CS_OK;
}

static int bad(const char *path, const char *what)
{
    return cs_fail(CS_EFORMAT, "'%s' is not a valid checkpoint: %s; start again without --resume",
                   path, what);
}

static int64_t get_int(const json_t *h, const char *name)
{
    return json_integer_value(json_object_get(h, name));
}

static int load_tensors(const char *path, const json_t *list, cs_params *ps)
{
    if (!json_is_array(list) || json_array_size(list) != (size_t)ps->n)
        return cs_fail(CS_EMODEL, "checkpoint '%s' belongs to a model with different tensors; "
                       SAME_RUN, path);
    for (int i = 0; i < ps->n; i++) {
        cs_param *p = &ps->p[i];
        const char *name;
        json_int_t off, n, step;
        if (json_unpack(json_array_get(list, (size_t)i), "[s, I, I, I!]", &name, &off, &n,
                        &step) != 0)
            return bad(path, "its list of tensors is malformed");
        if (strcmp(name, p->name) != 0 || off != p->off || n != p->n || step < 0)
            return cs_fail(CS_EMODEL, "checkpoint '%s' has tensor '%s', but the model has '%s'; "
                           SAME_RUN, path, name, p->name);
        p->step = step;
        p->touched = false;
    }
    return CS_OK;
}

/* The header's texts; `log` is the metrics table so far. */
static int read_texts(const char *path, const json_t *h, const char **recipe, const char **log)
{
    *recipe = json_string_value(json_object_get(h, "recipe"));
    *log = json_string_value(json_object_get(h, "log"));
    return get_int(h, "format") == 1 && *recipe != NULL && *log != NULL
         ? CS_OK : bad(path, "its header lacks fields");
}

static int load_state(const char *path, const json_t *h, cs_train_state *st)
{
    for (int i = 0; i < N_FIELD; i++)
        if (!set_field(&fields[i], json_object_get(h, fields[i].name), st) &&
            fields[i].off != offsetof(cs_train_state, epoch_flop))    /* versions up to 0.2.0 */
            return bad(path, "its header lacks fields");
    st->done = json_is_true(json_object_get(h, "done"));
    return CS_OK;
}

static int load_header(const char *path, const json_t *h, cs_params *ps, bool average,
                       cs_train_state *st, const cs_resume_rule *rule)
{
    int rc = CS_OK;
    const char *was, *log;

    CS_TRY(read_texts(path, h, &was, &log));
    CS_TRY(compare_recipes(path, was, rule));
    if (get_int(h, "real_bytes") != sizeof(cs_real) || get_int(h, "n_real") != ps->n_real ||
        json_is_true(json_object_get(h, "average")) != average)
        return cs_fail(CS_EMODEL, "checkpoint '%s' belongs to a model of a different size; "
                       SAME_RUN, path);
    CS_TRY(load_state(path, h, st));
    free(st->log);
    st->log = cs_xstrdup(log);
    rc = load_tensors(path, json_object_get(h, "tensors"), ps);
out:
    return rc;
}

static int load_slabs(const char *path, const char *p, size_t n, cs_params *ps, bool average)
{
    const size_t n_bytes = (size_t)ps->n_real * sizeof(cs_real);
    cs_real *slab[MAX_SLAB];
    const int n_slab = list_slabs(ps, average, slab);

    if (n != (size_t)n_slab * n_bytes)
        return bad(path, "its size does not match its header");
    for (int i = 0; i < n_slab; i++)
        ps->be->op.upload(ps->be, slab[i], p + (size_t)i * n_bytes, n_bytes);
    return ps->be->op.sync(ps->be);
}

/* A checkpoint in memory. */
struct content { char *file; size_t n, n_head; json_t *head; };

static void content_release(struct content *c)
{
    json_decref(c->head);
    free(c->file);
}

static int content_read(const char *path, struct content *c)
{
    const int rc = cs_file_read(path, SIZE_MAX / 2, &c->file, &c->n);

    if (rc != CS_OK)
        return rc;
    if (c->n < HEAD_BYTES + 4 || memcmp(c->file, magic, MAGIC_BYTES) != 0)
        return bad(path, "its signature is missing");
    if (from_little_endian(c->file + c->n - 4, 4) !=
        crc32_z(crc32_z(0, NULL, 0), (void *)c->file, c->n - 4))
        return bad(path, "its checksum is wrong");
    const uint64_t n_head = from_little_endian(c->file + MAGIC_BYTES, 8);
    if (n_head > c->n - HEAD_BYTES - 4)
        return bad(path, "its header is longer than the file");
    c->n_head = (size_t)n_head;
    c->head = json_loadb(c->file + HEAD_BYTES, c->n_head, 0, NULL);
    return c->head != NULL ? CS_OK : bad(path, "its header is not JSON");
}

int cs_checkpoint_load(const char *path, cs_params *ps, bool average, cs_train_state *st,
                       const cs_resume_rule *rule)
{
    int rc = CS_OK;
    struct content c = { 0 };

    CS_TRY(content_read(path, &c));
    CS_TRY(load_header(path, c.head, ps, average, st, rule));
    rc = load_slabs(path, c.file + HEAD_BYTES + c.n_head, c.n - HEAD_BYTES - 4 - c.n_head, ps,
                    average);
out:
    content_release(&c);
    return rc;
}

/* ---- show ------------------------------------------------------------------------------------ */

bool cs_checkpoint_begins(const char *path)
{
    char head[MAGIC_BYTES];
    FILE *f = fopen(path, "rbe");

    if (f == NULL)
        return false;
    const bool is = fread(head, sizeof head, 1, f) == 1 && memcmp(head, magic, sizeof head) == 0;
    (void)fclose(f);
    return is;
}

static int show_real(cs_outfile *f, const char *name, double v)
{
    return isfinite(v) ? cs_outfile_printf(f, "%s\t%.6g\n", name, v) : CS_OK;
}

static int show_state(cs_outfile *f, const cs_train_state *st)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "state\t%s\nfinished epochs\t%lld\nfinished steps\t%lld\n"
                             "seconds\t%.1f\n",
                             st->done ? "ended" : "unfinished", (long long)st->epoch,
                             (long long)st->step, st->seconds));
    if (st->best_epoch > 0)
        CS_TRY(cs_outfile_printf(f, "best epoch\t%lld\n", (long long)st->best_epoch));
    CS_TRY(show_real(f, "best loss", st->best_loss));
    CS_TRY(show_real(f, "best accuracy", st->best_accuracy));
    CS_TRY(show_real(f, "best balanced accuracy", st->best_balanced));
    rc = show_real(f, "best R2", st->best_r2);
out:
    return rc;
}

/* A row per line "name=value". */
static int show_recipe(cs_outfile *f, const char *recipe)
{
    int rc = CS_OK;

    for (size_t n; *recipe != '\0'; recipe += n + (recipe[n] == '\n')) {
        n = strcspn(recipe, "\n");
        const size_t n_name = strcspn(recipe, "=\n");
        if (n_name < n)
            CS_TRY(cs_outfile_printf(f, "%.*s\t%.*s\n", (int)n_name, recipe,
                                     (int)(n - n_name - 1), recipe + n_name + 1));
    }
out:
    return rc;
}

int cs_checkpoint_show(const char *path)
{
    int rc = CS_OK;
    struct content c = { 0 };
    cs_train_state st;
    cs_outfile *f = NULL;
    const char *recipe, *log;

    cs_train_state_init(&st);
    CS_TRY(content_read(path, &c));
    CS_TRY(read_texts(path, c.head, &recipe, &log));
    CS_TRY(load_state(path, c.head, &st));
    CS_TRY(cs_outfile_open("-", &f));
    CS_TRY(cs_outfile_printf(f, "for\tresuming training\n"));
    CS_TRY(show_state(f, &st));
    rc = show_recipe(f, recipe);
out:
    rc = cs_outfile_end(f, rc);
    cs_train_state_release(&st);
    content_release(&c);
    return rc;
}
