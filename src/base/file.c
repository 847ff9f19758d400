/* file.c - read a small file whole; sizes and kinds of files. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/mem.h"
#include "base/signals.h"

/* Read fd to its end into a growing buffer; one byte is always left for the NUL. */
static int read_all(int fd, const char *path, size_t max_bytes, char **buf, size_t *n_bytes)
{
    size_t cap = 0, n = 0;
    int rc = CS_OK;

    for (;;) {
        CS_TRY(cs_grow((void **)buf, &cap, n + 2, 1));
        CS_TRY(cs_signal_wait(fd, -1));
        ssize_t got = read(fd, *buf + n, cap - n - 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return cs_fail(CS_EIO, "cannot read '%s': %s", path, strerror(errno));
        if (got == 0)
            break;
        n += (size_t)got;
        if (n > max_bytes)
            return cs_fail(CS_EFORMAT, "'%s' exceeds the limit of %zu bytes", path,
                           max_bytes);
    }
    (*buf)[n] = '\0';
    *n_bytes = n;
out:
    return rc;
}

int cs_file_read(const char *path, size_t max_bytes, char **p, size_t *n_bytes)
{
    char *buf = NULL;
    const bool is_stdin = strcmp(path, "-") == 0;
    const int64_t given = is_stdin ? STDIN_FILENO : cs_descriptor_of(path);
    const char *shown = is_stdin ? "standard input" : path;
    int fd, rc;

    *p = NULL;
    *n_bytes = 0;
    fd = given >= 0 ? fcntl((int)given, F_DUPFD_CLOEXEC, 3)
                    : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return cs_fail(CS_EIO, "cannot open '%s': %s", shown, strerror(errno));
    rc = read_all(fd, shown, max_bytes, &buf, n_bytes);
    (void)close(fd);
    if (rc == CS_OK)
        *p = buf;
    else
        free(buf);
    return rc;
}

int64_t cs_file_size(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

bool cs_file_is_device(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

size_t cs_bom_bytes(const char *text, size_t n)
{
    static const char bom[] = "\xef\xbb\xbf";

    return n >= sizeof bom - 1 && memcmp(text, bom, sizeof bom - 1) == 0 ? sizeof bom - 1 : 0;
}
