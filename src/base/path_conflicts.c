/*
 * path_conflicts.c - files of a run that no output may overwrite: inputs, and other outputs.
 *
 * DESIGN
 * Two lists, inputs and outputs: device and inode of every registered file, and its name as given.
 * A file is compared with those of the other kind only. Outputs are few, so this is cheap even with
 * many inputs. A file that does not exist yet is in no list: it cannot be an input, either.
 * An index beside an input is an input, too. One that does not exist yet may be created by the run,
 * so its name is refused.
 *
 * Open outputs are in a tree, for there may be one per class. They are files only when complete, so
 * they are identified by folder and name.
 */
#include "base/path_conflicts.h"

#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

struct path_use {
    dev_t dev;
    ino_t ino;
    char *name;
    bool index;                  /* not the file itself, but an index beside it */
};

static struct path_uses { struct path_use *v; size_t n, cap; } inputs, outputs;

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

static const char *name_of(const char *path, bool output)
{
    return !is_standard(path) ? path : output ? "standard output" : "standard input";
}

static bool find_file(const char *path, bool output, struct stat *st)
{
    const int bad = is_standard(path) ? fstat(output ? STDOUT_FILENO : STDIN_FILENO, st)
                                      : stat(path, st);

    return bad == 0 && S_ISREG(st->st_mode);
}

/* Against those of the other kind. */
static int check(const char *name, const struct stat *st, bool output, bool index)
{
    const struct path_uses *other = output ? &inputs : &outputs;

    for (size_t i = 0; i < other->n; i++) {
        const struct path_use *c = &other->v[i];
        if (c->dev != st->st_dev || c->ino != st->st_ino)
            continue;
        return cs_fail(CS_EUSAGE, "output '%s' is the same file as %sinput '%s'; choose another "
                       "output", output ? name : c->name, index || c->index ? "the index of " : "",
                       output ? c->name : name);
    }
    return CS_OK;
}

/* `name` is the path in messages, or that of the file whose index this is. */
static int add_path(const char *path, const char *name, bool output, bool index)
{
    int rc = CS_OK;
    struct stat st;
    struct path_uses *own = output ? &outputs : &inputs;

    if (!find_file(path, output, &st))
        return CS_OK;
    CS_TRY(check(name, &st, output, index));
    CS_TRY(cs_grow((void **)&own->v, &own->cap, own->n + 1, sizeof *own->v));
    own->v[own->n++] = (struct path_use){ st.st_dev, st.st_ino, cs_xstrdup(name), index };
out:
    return rc;
}

static const char *const suffix[] = { ".fai", ".gzi", ".tbi", ".csi", ".bai", ".crai", NULL };

/* x.bam has its index in x.bam.bai or x.bai. */
static int add_indexes(const char *path)
{
    int rc = CS_OK;
    const size_t n = strlen(path), size = n + sizeof ".crai";
    const char *dot = strrchr(path, '.');
    const size_t n_stem = dot && (strcmp(dot, ".bam") == 0 || strcmp(dot, ".cram") == 0)
                              ? (size_t)(dot - path) : 0;
    char *index = cs_xmalloc(size);

    for (int i = 0; rc == CS_OK && suffix[i]; i++) {
        (void)snprintf(index, size, "%s%s", path, suffix[i]);
        rc = add_path(index, path, false, true);
        (void)snprintf(index, size, "%.*s%s", (int)n_stem, path, suffix[i]);
        if (rc == CS_OK && n_stem > 0)
            rc = add_path(index, path, false, true);
    }
    free(index);
    return rc;
}

int cs_paths_add_input(const char *path)
{
    const int rc = add_path(path, name_of(path, false), false, false);

    return rc == CS_OK && !is_standard(path) ? add_indexes(path) : rc;
}

int cs_paths_add_output(const char *path)
{
    return add_path(path, name_of(path, true), true, false);
}

/* The path's first n bytes and an end: is it an input? */
static int check_stem(const char *path, size_t n, const char *end)
{
    struct stat st;
    const size_t size = n + strlen(end) + 1;
    char *stem = cs_xmalloc(size);

    (void)snprintf(stem, size, "%.*s%s", (int)n, path, end);
    const bool found = find_file(stem, false, &st);
    free(stem);
    for (size_t i = 0; found && i < inputs.n; i++)
        if (inputs.v[i].dev == st.st_dev && inputs.v[i].ino == st.st_ino && !inputs.v[i].index)
            return cs_fail(CS_EUSAGE, "output '%s' has the name of an index of input '%s'; choose "
                           "another output", path, inputs.v[i].name);
    return CS_OK;
}

/* Would it become the index of an input? */
static int check_index_name(const char *path)
{
    static const char *const stem_end[] = { "", ".bam", ".cram" };
    const char *dot = strrchr(path, '.');
    int rc = CS_OK, k = 0;

    while (dot && suffix[k] && strcmp(dot, suffix[k]) != 0)
        k++;
    for (size_t i = 0; rc == CS_OK && dot && suffix[k] && i < 3; i++)
        rc = check_stem(path, (size_t)(dot - path), stem_end[i]);
    return rc;
}

int cs_paths_check_output(const char *path)
{
    struct stat st;
    const int rc = find_file(path, true, &st) ? check(name_of(path, true), &st, true, false)
                                              : CS_OK;

    return rc == CS_OK ? check_index_name(path) : rc;
}

/* ---- open outputs ---------------------------------------------------------------------------- */

struct cs_path_claim {
    dev_t dev;                   /* of the folder */
    ino_t ino;
    char *name;                  /* in it */
};

static void *claims;             /* of tsearch() */
static pthread_mutex_t claiming = PTHREAD_MUTEX_INITIALIZER;

static int by_place(const void *x, const void *y)
{
    const cs_path_claim *a = x, *b = y;

    if (a->ino != b->ino)
        return a->ino < b->ino ? -1 : 1;
    if (a->dev != b->dev)
        return a->dev < b->dev ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void claim_free(cs_path_claim *c)
{
    CS_FREE(c->name, c);
}

int cs_paths_claim(const char *path, const char *shown, cs_path_claim **out)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? cs_xstrdup(path) : NULL;
    struct stat st;

    *out = NULL;
    if (slash)
        folder[slash - path + 1] = '\0';
    const int bad = stat(slash ? folder : ".", &st);
    free(folder);
    if (bad != 0)
        return CS_OK;                    /* creating the file will fail, with the reason */
    cs_path_claim *c = cs_xcalloc(1, sizeof *c);
    *c = (cs_path_claim){ st.st_dev, st.st_ino, cs_xstrdup(slash ? slash + 1 : path) };
    CS_BUG(pthread_mutex_lock(&claiming) != 0);
    cs_path_claim *const *found = tsearch(c, &claims, by_place);
    CS_BUG(pthread_mutex_unlock(&claiming) != 0);
    if (found && *found == c) {
        *out = c;
        return CS_OK;
    }
    claim_free(c);
    return found ? cs_fail(CS_EUSAGE, "two outputs write to '%s'", shown)
                 : cs_fail(CS_EMEM, "out of memory for the name of '%s'", shown);
}

void cs_paths_unclaim(cs_path_claim *c)
{
    if (!c)
        return;
    CS_BUG(pthread_mutex_lock(&claiming) != 0);
    (void)tdelete(c, &claims, by_place);
    CS_BUG(pthread_mutex_unlock(&claiming) != 0);
    claim_free(c);
}
