/* file_sync.c - have the operating system write a file, or the names in a folder, to disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

/* On a network file system a signal can interrupt fsync(). */
int cs_sync_file(int fd)
{
    int rc;

    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    return rc;
}

/* The file is complete under its name, and some file systems cannot sync folders, so errors are
 * ignored. */
void cs_sync_folder_of(const char *path)
{
    char *folder = cs_xstrdup(path), *slash = strrchr(folder, '/');

    if (slash)
        slash[slash == folder] = '\0';
    const int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)cs_sync_file(fd);
        (void)close(fd);
    }
    free(folder);
}
