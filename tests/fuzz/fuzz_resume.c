/*
 * fuzz_resume.c - the journal of an interrupted run from arbitrary bytes: no crash; every output
 * continues, or is refused with a message; one that continues can be saved and completed.
 *
 * DESIGN
 * The input is the journal's JSON. It gets its checksum, which no fuzzer guesses, and the
 * description of the run unless it has one. Each output's file has 64 bytes, so that a state with
 * as many and their checksum continues behind them.
 */
#include <dirent.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/sha256.h"
#include "io/io_init.h"
#include "registry.h"
#include "run/about.h"
#include "run/journal.h"
#include "run/same_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static char folder[40];
static cs_model model;
static cs_backend *be;
static const cs_strlist inputs = { .n = 0 };
static const cs_optset no_options[] = { { 0 } };
static const cs_about about = { .command = "classify", .set = no_options, .input = &inputs,
                                .model = &model, .model_path = "m" };

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    CS_BUG(!f || fputs(text, f) < 0 || fclose(f) != 0);
}

/* Removes the files, and those of the folder 'split'. */
static void empty(const char *path)
{
    char inner[512];
    DIR *d = opendir(path);

    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        (void)snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && unlink(inner) != 0) {
            empty(inner);
            CS_BUG(rmdir(inner) != 0);
        }
    }
    if (d)
        (void)closedir(d);
}

static void stop(void)
{
    empty(folder);
    CS_BUG(rmdir(folder) != 0);
    cs_backend_close(be);
}

/* In memory if possible: outputs are synced. */
static void start(void)
{
    (void)snprintf(folder, sizeof folder, "%s/chordseq_fuzz_XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    CS_BUG(!mkdtemp(folder));
    CS_BUG(cs_cpu_init() != CS_OK || cs_backend_open("cpu", 1, &be) != CS_OK);
    model.be = be;
    model.enc = cs_encoder_at(0);
    model.head = cs_head_at(0);
    memset(model.sum, '0', sizeof model.sum - 1);
    cs_log_set_level(CS_LOG_ERROR);
    cs_io_init();
    atexit(stop);
}

/* The journal with the description of this run, if it has none, and its checksum. NULL: not an
 * object. */
static char *mended(const uint8_t *data, size_t n_bytes)
{
    json_t *all = json_loadb((const char *)data, n_bytes, 0, NULL);
    char hex[65], *text;
    cs_sha256 sum;

    if (!json_is_object(all)) {
        json_decref(all);
        return NULL;
    }
    if (!json_object_get(all, "run")) {
        json_t *run = cs_about_json(&about);
        json_object_set_new(run, "identities", json_array());
        CS_BUG(cs_same_describe(no_options, run) != CS_OK);
        json_object_set_new(all, "run", run);
    }
    (void)json_object_del(all, "sha256");
    text = json_dumps(all, JSON_COMPACT);
    cs_sha256_init(&sum);
    cs_sha256_add(&sum, text, strlen(text));
    cs_sha256_hex(&sum, hex);
    free(text);
    json_object_set_new(all, "sha256", json_string(hex));
    text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return text;
}

static int write_and_save(cs_output *o)
{
    int rc = CS_OK;
    float v[] = { 0.25f, 0.75f };
    const cs_record r = { .name = "r", .comment = "", .mate_comment = "", .n_seg = 1,
                          .seg = { { "ACGT", NULL, 4 } } };
    const cs_prediction called = { .v = v, .n = 2, .mate = { -1, -1 } };
    json_t *state = NULL;
    const uint64_t n = o->n_record;

    CS_TRY(cs_output_record(o, &r, &called));
    CS_TRY(cs_output_save(o, &state));
    CS_BUG(o->n_record != n + 1 || !json_is_object(state));
    rc = cs_output_finish(o);
out:
    json_decref(state);
    return rc;
}

/* An output from its state, which may be invalid. */
static void try_output(const cs_writer *w, const json_t *from, const cs_taxonomy *tree)
{
    static const char *const label[] = { "a", "b" };
    char path[64], part[80];
    cs_output *o = NULL;
    const cs_output_info info = { .label = label, .n_label = 2, .is_class = 1, .model_sum = "0",
                                  .command_line = "chordseq", .taxonomy = tree, .sample = "s",
                                  .about = "{}", .resumes = 1, .from = from };

    (void)snprintf(path, sizeof path, "%s/%s", folder, w->name);
    (void)snprintf(part, sizeof part, "%s.part", path);
    if (!w->open)
        put(part, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    int rc = cs_output_open(w, path, &info, &o);
    CS_BUG((rc == CS_OK) != (o != NULL));
    if (o)
        rc = write_and_save(o);
    CS_BUG(rc != CS_OK && *cs_error_message() == '\0');
    cs_error_clear();
    cs_output_discard(o);
}

static void try_outputs(const cs_journal *j)
{
    const json_t *from = cs_journal_outputs(j);
    cs_taxonomy *tree = NULL;
    const cs_writer *w;

    CS_BUG(!json_is_object(from) || cs_journal_records(j) > INT64_MAX);
    CS_BUG(cs_taxonomy_plain((const cs_class_taxon[]){ { .name = "a" }, { .name = "b" } }, 2, &tree)
           != CS_OK);
    for (int i = 0; (w = cs_writer_at(i)) != NULL; i++)
        if (w->resumes && json_object_get(from, w->name))
            try_output(w, json_object_get(from, w->name), tree);
    cs_taxonomy_free(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_journal *j = NULL;
    char output[64], path[80];

    if (!be)
        start();
    char *text = mended(data, n_bytes);
    if (!text)
        return 0;
    (void)snprintf(output, sizeof output, "%s/o", folder);
    (void)snprintf(path, sizeof path, "%s.resume", output);
    put(path, text);
    const int rc = cs_journal_open(output, &about, (const char *const[2]){ NULL, NULL }, &j);
    CS_BUG((rc == CS_OK) != (j != NULL) || (rc != CS_OK && *cs_error_message() == '\0'));
    cs_error_clear();
    if (j)
        try_outputs(j);
    cs_journal_free(j);
    empty(folder);
    free(text);
    return 0;
}
