/*
 * journal.c - journal of an interrupted run.
 *
 * DESIGN
 * A JSON object: "run" describes the run (version, model, inputs with size and modification time,
 * options) and must be the same on resume, except for options that do not change results (`same` in
 * base/opt.h); "records" is the number of records in all outputs; "outputs" the state of each;
 * "more", if any, that of a shard's manifest; "sha256" a checksum of these values, as a changed
 * digit is valid JSON, too. Outputs are synced before the journal is renamed into place, so after a
 * crash they have at least its state, and are truncated to it.
 */
#include "run/journal.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/outfile.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/system.h"
#include "io/json_text.h"
#include "run/same_options.h"

struct cs_journal {
    char   *path;
    json_t *run, *old;           /* old: the journal read, or NULL */
};

/* Appends [size, seconds, nanoseconds] of a file. */
static int add_identity(json_t *all, const char *path)
{
    struct stat st;

    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return cs_fail(CS_EUSAGE, "'%s' is not a regular file: a run that reads it cannot be "
                       "resumed; omit --resume", strcmp(path, "-") == 0 ? "standard input" : path);
    json_array_append_new(all, json_pack("[I, I, I]", (json_int_t)st.st_size,
                                         (json_int_t)cs_mtime(&st).tv_sec,
                                         (json_int_t)cs_mtime(&st).tv_nsec));
    return CS_OK;
}

static int journal_describe(cs_journal *j, const cs_about *about, const char *const other[2])
{
    int rc = CS_OK;
    json_t *identities = json_array();

    j->run = cs_about_json(about);
    if (!j->run || json_object_set_new(j->run, "identities", identities) != 0)
        return cs_fail(CS_EMEM, "out of memory for '%s'", j->path);
    for (int i = 0; i < about->input->n; i++)
        CS_TRY(add_identity(identities, about->input->v[i]));
    for (int i = 0; i < 2; i++)
        if (other[i])
            CS_TRY(add_identity(identities, other[i]));
    rc = cs_same_describe(about->set, j->run);
out:
    return rc;
}

/* A model is its weights and settings; its file may have moved. */
static const json_t *part_of(const json_t *run, const char *part)
{
    const json_t *v = json_object_get(run, part);

    return strcmp(part, "model") == 0 ? json_object_get(v, "sha256") : v;
}

/* Is it the same run? Compared in an order useful for messages. */
static int check_same(const cs_journal *j, const cs_optset *set)
{
    static const char *const part[][2] = {
        { "chordseq_version", "with another version of chordseq" },
        { "model", "with another model" },
        { "inputs", "with other inputs" },
        { "precision", "in another precision" },
        { "kernels", "with other kernels (by CHORDSEQ_DISABLE, or on another processor)" },
    };
    const json_t *then = json_object_get(j->old, "run");
    cs_same_diff d;

    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const json_t *was = part_of(then, part[i][0]), *is = part_of(j->run, part[i][0]);
        if (json_equal(was, is))
            continue;
        cs_same_show(was, d.a);
        cs_same_show(is, d.b);
        return cs_fail(CS_EUSAGE, "'%s' was started %s: %s, and now %s; give the same again, or "
                       "remove it to start over", j->path, part[i][1], d.a, d.b);
    }
    if (!cs_same_options(set, then, j->run, NULL, &d))
        return cs_fail(CS_EUSAGE, "'%s' was started with other options: --%s was %s, and is %s; "
                       "give the same again, or remove it to start over", j->path, d.option, d.a,
                       d.b);
    if (!json_equal(json_object_get(then, "identities"), json_object_get(j->run, "identities")))
        return cs_fail(CS_EUSAGE, "'%s' was started before an input was changed; give the same "
                       "again, or remove it to start over", j->path);
    return CS_OK;
}

static int add_text(const char *text, size_t n_bytes, void *sum)
{
    cs_sha256_add(sum, text, n_bytes);
    return 0;
}

/* Of the values as text, in pieces: a journal may have hundreds of megabytes. */
static int checksum(const char *path, const json_t *all, char hex[65])
{
    cs_sha256 sum;

    cs_sha256_init(&sum);
    if (json_dump_callback(all, add_text, &sum, JSON_COMPACT) != 0)
        return cs_fail(CS_EMEM, "out of memory for '%s'", path);
    cs_sha256_hex(&sum, hex);
    return CS_OK;
}

/* Also removes the checksum, which is not a part of the values. */
static int check_intact(cs_journal *j, const cs_optset *set)
{
    int rc = CS_OK;
    char hex[65];
    json_t *was = json_incref(json_object_get(j->old, "sha256"));

    /* Development versions wrote none: refuse their journal, if possible with the difference. */
    if (!was) {
        CS_TRY(check_same(j, set));
        return cs_fail(CS_EFORMAT, "'%s' has no checksum: it is damaged or of another version of "
                       "chordseq; remove it to start over", j->path);
    }
    json_object_del(j->old, "sha256");
    CS_TRY(checksum(j->path, j->old, hex));
    if (!json_is_string(was) || strcmp(json_string_value(was), hex) != 0)
        rc = cs_fail(CS_EFORMAT, "'%s' is damaged (its checksum differs); remove it to start over",
                     j->path);
out:
    json_decref(was);
    return rc;
}

static int read_old(cs_journal *j, const cs_optset *set)
{
    int rc = CS_OK;
    char *text = NULL;
    size_t n;

    CS_TRY(cs_file_read(j->path, SIZE_MAX / 2, &text, &n));
    j->old = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(json_object_get(j->old, "run"))
        || !json_is_object(json_object_get(j->old, "outputs"))
        || !json_is_integer(json_object_get(j->old, "records"))
        || json_integer_value(json_object_get(j->old, "records")) < 0)
        rc = cs_fail(CS_EFORMAT, "'%s' is damaged; remove it to start over", j->path);
    else
        rc = check_intact(j, set);
    if (rc == CS_OK)
        rc = check_same(j, set);
out:
    free(text);
    return rc;
}

int cs_journal_open(const char *output, const cs_about *about, const char *const other[2],
                    cs_journal **out)
{
    int rc = CS_OK;
    const size_t size = strlen(output) + sizeof ".resume";
    cs_journal *j = cs_xcalloc(1, sizeof *j);

    j->path = cs_xmalloc(size);
    (void)snprintf(j->path, size, "%s.resume", output);
    CS_TRY(journal_describe(j, about, other));
    if (access(j->path, F_OK) == 0)
        CS_TRY(read_old(j, about->set));
    *out = j;
    j = NULL;
out:
    cs_journal_free(j);
    return rc;
}

void cs_journal_free(cs_journal *j)
{
    if (!j)
        return;
    json_decref(j->run);
    json_decref(j->old);
    free(j->path);
    free(j);
}

uint64_t cs_journal_records(const cs_journal *j)
{
    return (uint64_t)json_integer_value(json_object_get(j->old, "records"));
}

const json_t *cs_journal_outputs(const cs_journal *j)
{
    return json_object_get(j->old, "outputs");
}

const json_t *cs_journal_more(const cs_journal *j)
{
    return json_object_get(j->old, "more");
}

int cs_journal_write(cs_journal *j, uint64_t n_record, json_t *outputs, json_t *more)
{
    int rc = CS_OK;
    char hex[65];
    cs_outfile *f = NULL;
    json_t *all = json_pack("{s:O, s:I, s:o}", "run", j->run, "records", (json_int_t)n_record,
                            "outputs", outputs);

    if (more && json_object_set_new(all, "more", more) != 0)
        CS_TRY(cs_fail(CS_EMEM, "out of memory for '%s'", j->path));
    CS_TRY(checksum(j->path, all, hex));
    if (json_object_set_new(all, "sha256", json_string(hex)) != 0)
        CS_TRY(cs_fail(CS_EMEM, "out of memory for '%s'", j->path));
    /* No temporary name with the process number: a killed process would leave that file. */
    CS_TRY(cs_outfile_continue(j->path, NULL, (cs_part_mark){ 0, 0 }, &f));
    CS_TRY(cs_outfile_json(f, all, JSON_COMPACT, j->path));
out:
    rc = cs_outfile_end(f, rc);
    json_decref(all);
    return rc;
}

void cs_journal_remove(cs_journal *j)
{
    char part[PATH_MAX];

    (void)unlink(j->path);
    if ((size_t)snprintf(part, sizeof part, "%s.part", j->path) < sizeof part)
        (void)unlink(part);
}
