/* descriptor.c - paths to descriptors of this process (/dev/fd/N). */
#include "base/descriptor.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/opt.h"

int64_t cs_descriptor_of(const char *path)
{
    static const char *const folder[] = { "/dev/fd/", "/proc/self/fd/" };
    int64_t fd;

    if (strcmp(path, "/dev/stdin") == 0)
        return STDIN_FILENO;
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folder / sizeof folder[0]; i++) {
        size_t n = strlen(folder[i]);
        if (strncmp(path, folder[i], n) == 0 && cs_parse_int(path + n, &fd) == CS_OK
            && fd >= 0 && fd <= INT_MAX)
            return fd;
    }
    return -1;
}
