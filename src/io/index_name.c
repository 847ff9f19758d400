/* index_name.c - indexes that are given by name: FILE##idx##INDEX, as in htslib.
 *
 * DESIGN: the name is split once, where arguments are collected, so everything else sees the name
 * of the file: checks, messages, the journal of --resume.
 */
#include "io/index_name.h"

#include <string.h>

#include <htslib/hts.h>

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

int cs_index_missing(const char *path, const char *remedy)
{
    const char *given = cs_index_given(path);

    return given ? cs_fail(CS_EIO, "cannot read '%s' as the index of '%s'", given, path)
                 : cs_fail(CS_EIO, "'%s' has no index, which regions need; %s", path, remedy);
}
