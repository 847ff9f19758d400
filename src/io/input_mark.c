/* input_mark.c - does an input change while it is read? */
#include "io/input_mark.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/system.h"

static bool mark_stat(const cs_input_mark *m, const char *path, struct stat *st)
{
    const int bad = m->is_stdin ? fstat(STDIN_FILENO, st) : stat(path, st);

    return bad == 0 && S_ISREG(st->st_mode);
}

void cs_input_mark_set(cs_input_mark *m, const char *path)
{
    m->is_stdin = strcmp(path, "-") == 0;
    m->regular = mark_stat(m, path, &m->was);
}

int cs_input_mark_check(cs_input_mark *m, const char *path, int rc)
{
    struct stat now;
    const struct stat *was = &m->was;

    if (rc == CS_OK || rc == CS_ECANCEL || !m->regular)
        return rc;
    if (!mark_stat(m, path, &now))
        return rc;
    const struct timespec written = cs_mtime(&now), written_before = cs_mtime(was);
    if (now.st_dev != was->st_dev || now.st_ino != was->st_ino
        || (now.st_size == was->st_size && written.tv_sec == written_before.tv_sec
            && written.tv_nsec == written_before.tv_nsec))
        return rc;
    m->regular = false;
    if (rc < 0)
        return cs_fail_also(rc, "; the file changed while it was read");
    const long long before = was->st_size, after = now.st_size;
    if (after < before)
        return cs_fail(CS_EIO, "'%s' shrank from %lld to %lld bytes while it was read; run again "
                       "once it is complete", path, before, after);
    if (after > before)
        cs_warn("'%s' grew from %lld to %lld bytes while it was read; what was added late is "
                "missing or cut", path, before, after);
    else
        cs_warn("'%s' was modified while it was read", path);
    return rc;
}
