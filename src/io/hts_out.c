/*
 * hts_out.c - outputs that htslib writes.
 *
 * DESIGN
 * htslib writes through a descriptor of ours, so renaming, closed pipes and stdout work as for
 * every other format.
 */
#include "io/hts_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <htslib/hfile.h>
#include <htslib/hts.h>

int cs_htsout_open(cs_htsout *o, cs_outfile *file, const char *path, const char *mode)
{
    o->file = file;
    errno = 0;
    const int fd = fcntl(cs_outfile_fd(file), F_DUPFD_CLOEXEC, 3);
    hFILE *raw = fd < 0 ? NULL : hdopen(fd, "w");
    if (!raw) {
        const int rc = cs_htsout_failed(o, "no descriptor");
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    o->fp = hts_hopen(raw, path, mode);
    if (o->fp)
        return CS_OK;
    const int rc = cs_htsout_failed(o, "htslib refuses");
    hclose_abruptly(raw);
    return rc;
}

int cs_htsout_failed(const cs_htsout *o, const char *what)
{
    if (errno == EPIPE)
        return CS_ECANCEL;
    return cs_fail(CS_EIO, "cannot write '%s': %s%s%s", cs_outfile_name(o->file), what ? what : "",
                   what && errno ? ": " : "",
                   errno ? strerror(errno) : what ? "" : "htslib reports an error");
}

int cs_htsout_close(cs_htsout *o)
{
    errno = 0;
    const bool bad = hts_close(o->fp) < 0;

    o->fp = NULL;
    return bad ? cs_htsout_failed(o, NULL) : CS_OK;
}

void cs_htsout_discard(cs_htsout *o)
{
    if (o->fp)
        (void)hts_close(o->fp);
    o->fp = NULL;
}
