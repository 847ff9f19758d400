/* index_name.c - indexes that are given by name: FILE##idx##INDEX, as in htslib.
 *
 * DESIGN: the name is split once, where arguments are collected, so everything else sees the name
 * of the file: checks, messages, the journal of --resume.
 */
#include "io/index_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <htslib/hts.h>

#include "base/log.h"
#include "base/mem.h"

struct index_name {
    struct index_name *next;
    char *file, *index;          /* in one text */
};

static struct index_name *names;

const char *cs_index_split(const char *path)
{
    const char *mark = strstr(path, HTS_IDX_DELIM);

    if (!mark)
        return path;
    struct index_name *name = cs_xcalloc(1, sizeof *name);
    name->file = cs_xstrdup(path);
    name->file[mark - path] = '\0';
    name->index = name->file + (mark - path) + strlen(HTS_IDX_DELIM);
    name->next = names;
    names = name;
    return name->file;
}

const char *cs_index_given(const char *path)
{
    const struct index_name *name = names;

    while (name && strcmp(name->file, path) != 0)
        name = name->next;
    return name ? name->index : NULL;
}

/* htslib would wait for the writer of a pipe, deaf to signals. */
int cs_index_check(const char *path)
{
    const char *given = cs_index_given(path);
    struct stat st;

    if (!given || stat(given, &st) != 0 || S_ISREG(st.st_mode))
        return CS_OK;
    return cs_fail(CS_EUSAGE, "cannot use '%s' as the index of '%s': it is not a regular file",
                   given, path);
}

int cs_index_missing(const char *path, const char *remedy)
{
    const char *given = cs_index_given(path);

    return given ? cs_fail(CS_EIO, "cannot read '%s' as the index of '%s'", given, path)
                 : cs_fail(CS_EIO, "'%s' has no index, which regions need; %s", path, remedy);
}

/* In htslib's order: it looks for a CSI index first. */
static const char *const suffix[] = { ".csi", ".tbi", ".bai", ".crai" };
enum { N_SUFFIX = sizeof suffix / sizeof *suffix };

/* Seconds, because copies may lack fractions. */
void cs_index_warn_old(const char *path)
{
    struct stat file, index;
    const char *given = cs_index_given(path);
    const size_t n = strlen(path) + sizeof ".crai";
    char *beside = cs_xmalloc(n);
    bool found = given && stat(given, &index) == 0;

    for (size_t i = 0; !given && !found && i < N_SUFFIX; i++) {
        (void)snprintf(beside, n, "%s%s", path, suffix[i]);
        found = stat(beside, &index) == 0;
    }
    if (found && stat(path, &file) == 0 && index.st_mtime < file.st_mtime)
        cs_warn("the index '%s' is older than '%s'; if the file has changed, regions lack records: "
                "recreate the index", given ? given : beside, path);
    free(beside);
}

static void warn_left(const char *path, const char *own, const char *beside)
{
    struct stat index;

    if ((!own || strcmp(own, beside) != 0) && stat(beside, &index) == 0)
        cs_warn("the index '%s' is of an earlier '%s', and regions read with it may lack records: "
                "remove or recreate it", beside, path);
}

void cs_index_warn_left(const char *path, const char *own)
{
    const size_t n_path = strlen(path), n = n_path + sizeof ".crai";
    char *beside = cs_xmalloc(n);

    for (size_t i = 0; strcmp(path, "-") != 0 && i < N_SUFFIX; i++) {
        (void)snprintf(beside, n, "%s%s", path, suffix[i]);
        warn_left(path, own, beside);
    }
    /* Picard's name of the index of NAME.bam, which htslib finds, too. */
    if (n_path > 4 && strcmp(path + n_path - 4, ".bam") == 0) {
        (void)snprintf(beside, n, "%.*s.bai", (int)(n_path - 4), path);
        warn_left(path, own, beside);
    }
    free(beside);
}
