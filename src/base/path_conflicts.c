/*
 * path_conflicts.c - input files of a run, which no output may overwrite.
 *
 * DESIGN
 * Two lists, inputs and outputs: device and inode of every registered file, and its name as given.
 * A file is compared with those of the other kind only. Outputs are few, so this is cheap even with
 * many inputs. A file that does not exist yet is in no list: it cannot be an input, either.
 */
#include "base/path_conflicts.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

struct path_use {
    dev_t dev;
    ino_t ino;
    char *name;
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
static int check(const char *name, const struct stat *st, bool output)
{
    const struct path_uses *other = output ? &inputs : &outputs;

    for (size_t i = 0; i < other->n; i++) {
        const struct path_use *c = &other->v[i];
        if (c->dev != st->st_dev || c->ino != st->st_ino)
            continue;
        return cs_fail(CS_EUSAGE, "output '%s' is the same file as input '%s'; choose another "
                       "output", output ? name : c->name, output ? c->name : name);
    }
    return CS_OK;
}

static int add_path(const char *path, bool output)
{
    int rc = CS_OK;
    struct stat st;
    struct path_uses *own = output ? &outputs : &inputs;
    const char *name = name_of(path, output);

    if (!find_file(path, output, &st))
        return CS_OK;
    CS_TRY(check(name, &st, output));
    CS_TRY(cs_grow((void **)&own->v, &own->cap, own->n + 1, sizeof *own->v));
    own->v[own->n++] = (struct path_use){ st.st_dev, st.st_ino, cs_xstrdup(name) };
out:
    return rc;
}

int cs_paths_add_input(const char *path)
{
    return add_path(path, false);
}

int cs_paths_add_output(const char *path)
{
    return add_path(path, true);
}

int cs_paths_check_output(const char *path)
{
    struct stat st;

    return find_file(path, true, &st) ? check(name_of(path, true), &st, true) : CS_OK;
}
