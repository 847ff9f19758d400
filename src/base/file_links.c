/* file_links.c - follow symbolic links, also to a file that does not exist yet. */
#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { MAX_LINKS = 40 };

/* Where `link` points, relative to its own folder; NULL with errno when it cannot be read. */
static char *link_target(const char *link)
{
    char to[PATH_MAX];
    ssize_t n = readlink(link, to, sizeof to);
    const char *slash = strrchr(link, '/');
    size_t n_dir = slash != NULL ? (size_t)(slash - link) + 1 : 0;
    char *path;

    if (n < 0)
        return NULL;
    if (n == (ssize_t)sizeof to) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    if (n > 0 && to[0] == '/')
        n_dir = 0;
    if ((path = cs_alloc(n_dir + (size_t)n + 1, 1)) == NULL)
        return NULL;
    memcpy(path, link, n_dir);
    memcpy(path + n_dir, to, (size_t)n);
    path[n_dir + (size_t)n] = '\0';
    return path;
}

/* By hand: realpath() fails for a missing target. */
int cs_path_resolve(const char *name, char **out)
{
    struct stat st;
    char *path = cs_alloc(strlen(name) + 1, 1);

    if (path == NULL)
        return cs_fail(CS_EMEM, "out of memory for the name of '%s'", name);
    memcpy(path, name, strlen(name) + 1);
    for (int i = 0; lstat(path, &st) == 0 && S_ISLNK(st.st_mode); i++) {
        char *next = NULL;
        if (i < MAX_LINKS)
            next = link_target(path);
        else
            errno = ELOOP;
        free(path);
        if (next == NULL)
            return cs_fail(CS_EIO, "cannot follow '%s': %s", name, strerror(errno));
        path = next;
    }
    *out = path;
    return CS_OK;
}
