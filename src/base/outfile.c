/*
 * outfile.c - outputs that are complete or absent.
 *
 * DESIGN
 * A regular file is written beside its final name, so rename() replaces it atomically on one file
 * system; symbolic links are followed first, so they are preserved. The file is synced before, and
 * its folder afterwards. Devices, FIFOs and stdout are written directly.
 *
 * What a killed process leaves stays: whether a writer is alive is unknown where machines or
 * containers share a folder, and locks are not shared by all network file systems or are lost while
 * a file has no descriptor (cs_outfile_park(), cs_outfile_finish()).
 */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/path_conflicts.h"
#include "base/signals.h"
#include "base/temps.h"

enum { BUF_BYTES = 1 << 16, MAX_TRIES = 100 };

struct cs_outfile {
    int fd;
    bool keep_open;              /* stdout: closed by cs_stdout_close() */
    bool parked;                 /* fd is -1 but while something is written */
    bool finished;               /* complete and closed; only the name is missing */
    bool waits;                  /* a pipe or socket, whose reader may block us */
    bool kept;                   /* NAME.part remains after an interrupted run */
    int failed;                  /* the first error; everything later returns it again */
    char *name;                  /* as the user gave it, for messages */
    char *target, *temp;         /* NULL when written directly */
    int slot;                    /* of cs_temps_add() */
    cs_path_claim *claim[2];     /* target, and NAME.part */
    cs_out_filter *filter;       /* filter for the path's suffix, or NULL */
    int64_t start;               /* offset of our first byte in a regular file; -1: none */
    cs_part_mark mark;           /* of NAME.part: the bytes summed so far */
    int64_t gone;                /* bytes written, without those in buf */
    int64_t synced;              /* `gone` at the last checkpoint; -1: none yet */
    size_t n;                    /* bytes in buf */
    char buf[BUF_BYTES];
};

static const char *(*content_of)(const char *path);

void cs_outfile_protect(const char *(*look)(const char *path))
{
    content_of = look;
}

/* Reads regular files only: opening a pipe would block until it has a writer. */
int cs_outfile_may_replace(const char *name, const char *holds)
{
    struct stat st;
    const bool replaces = cs_descriptor_of(name) < 0 && stat(name, &st) == 0 && S_ISREG(st.st_mode);
    const char *content = replaces && content_of ? content_of(name) : NULL;

    if (!content || (holds && strcmp(content, holds) == 0))
        return CS_OK;
    return cs_fail(CS_EUSAGE, "'%s' holds %s; writing another kind of file there needs --force",
                   name, content);
}

static int out_of_memory(const char *name)
{
    return cs_fail(CS_EMEM, "out of memory for the name of '%s'", name);
}

/* Make the temporary file. O_EXCL neither follows a planted link nor takes over another process's
 * file; leftovers with our process number are skipped. */
static int create_temp(cs_outfile *f)
{
    size_t size = strlen(f->target) + 64;
    char *noted = cs_alloc(size, 1);
    int n_try = 0;

    if (noted == NULL || (f->temp = cs_alloc(size, 1)) == NULL) {
        free(noted);
        return out_of_memory(f->name);
    }
    cs_temps_lock();
    do {
        if (n_try == 0)
            (void)snprintf(f->temp, size, "%s.tmp.%ld", f->target, (long)getpid());
        else
            (void)snprintf(f->temp, size, "%s.tmp.%ld.%d", f->target, (long)getpid(), n_try);
        f->fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (f->fd < 0 && errno == EEXIST && ++n_try < MAX_TRIES);
    if (f->fd >= 0) {
        (void)snprintf(noted, size, "%s", f->temp);
        f->slot = cs_temps_add(noted);
        noted = NULL;
    }
    const int why = errno;
    cs_temps_unlock();
    free(noted);
    return f->fd >= 0 ? CS_OK : cs_fail(CS_EIO, "cannot create '%s': %s", f->name, strerror(why));
}

static int open_temp(cs_outfile *f, bool exists, mode_t mode)
{
    int rc = CS_OK;

    if (exists && access(f->name, W_OK) != 0)
        return cs_fail(CS_EIO, "cannot write '%s': %s", f->name, strerror(errno));
    CS_TRY(cs_path_resolve(f->name, &f->target));
    CS_TRY(cs_paths_claim(f->target, f->name, &f->claim[0]));
    CS_TRY(create_temp(f));
    /* Some file systems have no modes; ignore that. */
    if (exists)
        (void)fchmod(f->fd, mode & 07777);
out:
    return rc;
}

static int open_any(cs_outfile *f)
{
    struct stat st;
    int64_t fd = cs_descriptor_of(f->name);
    const int rc = cs_paths_check_output(f->name);

    if (rc != CS_OK)
        return rc;
    if (fd >= 0) {
        if (fd == STDOUT_FILENO)
            (void)fflush(stdout);
        f->fd = fcntl((int)fd, F_DUPFD_CLOEXEC, 3);
    } else if (stat(f->name, &st) != 0) {
        if (errno == ENOENT)
            return open_temp(f, false, 0);
    } else if (S_ISREG(st.st_mode)) {
        return open_temp(f, true, st.st_mode);
    } else if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
    } else {
        f->fd = open(f->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (f->fd < 0 && cs_signal_caught() != 0)
            return CS_ECANCEL;   /* the pipe has no reader yet */
    }
    if (f->fd < 0)
        return cs_fail(CS_EIO, "cannot open '%s' for writing: %s", f->name, strerror(errno));
    return CS_OK;
}

/* Only one run may write NAME.part. The lock is held until the rename; the next holder then has a
 * file that is no longer NAME.part. */
static int lock_part(const cs_outfile *f, struct stat *st)
{
    struct stat named;

    if ((flock(f->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        || lstat(f->temp, &named) != 0 || fstat(f->fd, st) != 0
        || named.st_dev != st->st_dev || named.st_ino != st->st_ino)
        return cs_fail(CS_EIO, "another run is writing '%s'", f->temp);
    return CS_OK;
}

/* Sum the file's bytes up to `end`, by FNV-1a (draft-eastlake-fnv). Needs an empty buf. */
static int sum_to(cs_outfile *f, int64_t end)
{
    uint64_t sum = (uint64_t)f->mark.sum;

    while (f->mark.n_bytes < end) {
        const int64_t left = end - f->mark.n_bytes;
        const ssize_t n = pread(f->fd, f->buf, left < BUF_BYTES ? (size_t)left : BUF_BYTES,
                                (off_t)f->mark.n_bytes);
        if (n <= 0)
            return cs_fail(CS_EIO, "cannot read '%s': %s", f->temp,
                           n < 0 ? strerror(errno) : "it was cut");
        for (ssize_t i = 0; i < n; i++)
            sum = (sum ^ (unsigned char)f->buf[i]) * UINT64_C(0x100000001b3);
        f->mark.n_bytes += n;
        f->mark.sum = (int64_t)sum;
    }
    return CS_OK;
}

/* Another run that shares an output may have replaced NAME.part. */
static int check_part(cs_outfile *f, int64_t n_there, cs_part_mark mark)
{
    if (n_there < mark.n_bytes)
        return cs_fail(CS_EFORMAT, "'%s' has %lld bytes, fewer than the %lld written before the "
                       "interruption; remove the journal (.resume) to start over", f->temp,
                       (long long)n_there, (long long)mark.n_bytes);
    const int rc = sum_to(f, mark.n_bytes);
    if (rc != CS_OK || f->mark.sum == mark.sum)
        return rc;
    return cs_fail(CS_EFORMAT, "'%s' was changed after the interruption; remove the journal "
                   "(.resume) to start over", f->temp);
}

static int open_part(cs_outfile *f, const char *holds, cs_part_mark mark)
{
    struct stat st, old;
    const bool exists = stat(f->name, &old) == 0;
    int rc = CS_OK;

    if (cs_descriptor_of(f->name) >= 0 || (exists && !S_ISREG(old.st_mode)))
        return cs_fail(CS_EUSAGE, "'%s' is not a regular file, which --resume needs", f->name);
    if (exists && access(f->name, W_OK) != 0)
        return cs_fail(CS_EIO, "cannot write '%s': %s", f->name, strerror(errno));
    CS_TRY(cs_outfile_may_replace(f->name, holds));
    CS_TRY(cs_path_resolve(f->name, &f->target));
    CS_TRY(cs_paths_claim(f->target, f->name, &f->claim[0]));
    const size_t size = strlen(f->target) + sizeof ".part";
    if ((f->temp = cs_alloc(size, 1)) == NULL)
        return out_of_memory(f->name);
    (void)snprintf(f->temp, size, "%s.part", f->target);
    CS_TRY(cs_paths_claim(f->temp, f->temp, &f->claim[1]));
    CS_TRY(cs_paths_check_output(f->name));
    CS_TRY(cs_paths_check_output(f->temp));
    f->fd = open(f->temp, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (f->fd < 0)               /* ENOENT: it has no folder */
        return cs_fail(CS_EIO, "cannot create '%s': %s", errno == ENOENT ? f->name : f->temp,
                       strerror(errno));
    CS_TRY(lock_part(f, &st));
    CS_TRY(check_part(f, (int64_t)st.st_size, mark));
    if (ftruncate(f->fd, (off_t)mark.n_bytes) != 0 || lseek(f->fd, 0, SEEK_END) < 0)
        return cs_fail(CS_EIO, "cannot write '%s': %s", f->temp, strerror(errno));
    f->gone = mark.n_bytes;
    if (exists)
        (void)fchmod(f->fd, old.st_mode & 07777);
out:
    return rc;
}

static void file_release(cs_outfile *f)
{
    cs_temps_drop(f->slot);
    cs_paths_unclaim(f->claim[0]);
    cs_paths_unclaim(f->claim[1]);
    cs_out_filter_free(f->filter);
    CS_FREE(f->temp, f->target, f->name, f);
}

static bool is_waiting(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/* With O_APPEND every write goes to the end, regardless of its offset. */
static int64_t start_of(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (fcntl(fd, F_GETFL) & O_APPEND) != 0)
        return -1;
    return lseek(fd, 0, SEEK_CUR);
}

int cs_outfile_open(const char *path, cs_outfile **out)
{
    return cs_outfile_open_as(path, NULL, CS_OUT_TEXT, out);
}

static int put_plain(void *file, const void *p, size_t n_bytes);

int cs_outfile_open_as(const char *path, const char *holds, cs_out_kind kind, cs_outfile **out)
{
    cs_outfile *f = cs_xcalloc(1, sizeof *f);
    int rc = CS_OK;

    *out = NULL;
    f->fd = f->slot = -1;
    if (path == NULL || strcmp(path, "-") == 0) {
        (void)fflush(stdout);
        f->name = cs_xstrdup("standard output");
        f->fd = STDOUT_FILENO;
        f->keep_open = true;
        rc = cs_paths_check_output("-");
    } else {
        f->name = cs_xstrdup(path);
        rc = *path ? cs_outfile_may_replace(path, holds)
                   : cs_fail(CS_EUSAGE, "an output's name is empty; is a shell variable unset?");
        if (rc == CS_OK)
            rc = cs_out_filter_new(path, kind, put_plain, f, &f->filter);
        if (rc == CS_OK)
            rc = open_any(f);
    }
    if (rc != CS_OK) {
        file_release(f);
        return rc;
    }
    f->start = f->filter ? -1 : start_of(f->fd);
    f->waits = is_waiting(f->fd);
    *out = f;
    return CS_OK;
}

int cs_outfile_continue(const char *path, const char *holds, cs_part_mark mark, cs_outfile **out)
{
    cs_outfile *f = cs_xcalloc(1, sizeof *f);

    *out = NULL;
    f->synced = f->fd = f->slot = -1;
    f->kept = true;
    f->name = cs_xstrdup(path);
    const int rc = open_part(f, holds, mark);
    f->start = rc == CS_OK ? 0 : -1;
    if (rc == CS_OK)
        *out = f;
    else
        cs_outfile_discard(f);
    return rc;
}

static int unpark(cs_outfile *f)
{
    if (f->parked && f->failed == CS_OK && f->fd < 0) {
        f->fd = open(f->temp, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
        if (f->fd < 0)
            f->failed = cs_fail(CS_EIO, "cannot open '%s' again: %s", f->temp, strerror(errno));
    }
    return f->failed;
}

static int park(cs_outfile *f)
{
    const int fd = f->fd;

    if (!f->parked || fd < 0)
        return f->failed;
    f->fd = -1;
    if (close(fd) != 0 && errno != EINTR && f->failed == CS_OK)
        f->failed = cs_fail(CS_EIO, "cannot write '%s': %s", f->name, strerror(errno));
    return f->failed;
}

int cs_outfile_checkpoint(cs_outfile *f, cs_part_mark *mark)
{
    int rc = CS_OK;
    struct stat st;

    CS_TRY(cs_outfile_flush(f));
    if (f->parked && f->gone == f->synced) {
        *mark = f->mark;
        return CS_OK;
    }
    CS_TRY(unpark(f));
    if (cs_sync_file(f->fd) != 0 || fstat(f->fd, &st) != 0)
        f->failed = cs_fail(CS_EIO, "cannot write '%s': %s", f->name, strerror(errno));
    else
        f->failed = sum_to(f, (int64_t)st.st_size);
    f->synced = f->failed == CS_OK ? f->gone : -1;
    *mark = f->mark;
    rc = park(f);
out:
    return rc;
}

int cs_outfile_park(cs_outfile *f)
{
    f->parked = f->temp != NULL;
    return park(f);
}

const char *cs_outfile_temp_path(const cs_outfile *f)
{
    return f->temp;
}

const char *cs_outfile_name(const cs_outfile *f)
{
    return f->name;
}

int cs_outfile_fd(const cs_outfile *f)
{
    return f->fd;
}

/* A call wrote nothing. A signal and a full terminal or device, opened by others without blocking,
 * are no errors. */
static void not_written(cs_outfile *f)
{
    if (errno == EPIPE)
        f->failed = CS_ECANCEL;
    else if (errno == EAGAIN)
        f->failed = cs_signal_wait_writable(f->fd);
    else if (errno != EINTR)
        f->failed = cs_fail(CS_EIO, "cannot write '%s': %s", f->name, strerror(errno));
}

/* Write all of it. Keeps the first error, and returns it again to later calls. */
static int write_all(cs_outfile *f, const char *p, size_t n_bytes)
{
    if (n_bytes > 0 && unpark(f) != CS_OK)
        return f->failed;
    while (n_bytes > 0 && f->failed == CS_OK) {
        /* A larger write to a pipe could block and delay the reaction to a signal. */
        const size_t max = f->waits && n_bytes > PIPE_BUF ? PIPE_BUF : n_bytes;
        if (f->waits && (f->failed = cs_signal_wait_writable(f->fd)) != CS_OK)
            break;
        ssize_t n = write(f->fd, p, max);
        if (n >= 0) {
            p += n;
            n_bytes -= (size_t)n;
            f->gone += n;
        } else {
            not_written(f);
        }
    }
    return park(f);
}

int cs_outfile_flush(cs_outfile *f)
{
    size_t n = f->n;

    f->n = 0;
    return write_all(f, f->buf, n);
}

static int put_plain(void *file, const void *p, size_t n_bytes)
{
    cs_outfile *f = file;

    if (n_bytes > sizeof f->buf - f->n && cs_outfile_flush(f) != CS_OK)
        return f->failed;
    if (n_bytes > sizeof f->buf)
        return write_all(f, p, n_bytes);
    if (n_bytes > 0)
        memcpy(f->buf + f->n, p, n_bytes);
    f->n += n_bytes;
    return f->failed;
}

int cs_outfile_write(cs_outfile *f, const void *p, size_t n_bytes)
{
    if (!f->filter)
        return put_plain(f, p, n_bytes);
    if (f->failed == CS_OK)
        f->failed = cs_out_filter_put(f->filter, p, n_bytes);
    return f->failed;
}

int64_t cs_outfile_tell(const cs_outfile *f)
{
    return f->gone + (int64_t)f->n;
}

bool cs_outfile_can_patch(const cs_outfile *f)
{
    return f->start >= 0;
}

int cs_outfile_patch(cs_outfile *f, int64_t off, const void *p, size_t n_bytes)
{
    const char *from = p;

    CS_BUG(f->start < 0);
    for (int rc = cs_outfile_flush(f); rc == CS_OK && n_bytes > 0; rc = f->failed) {
        ssize_t n = pwrite(f->fd, from, n_bytes, (off_t)(f->start + off));
        if (n >= 0) {
            from += n;
            off += n;
            n_bytes -= (size_t)n;
        } else {
            not_written(f);
        }
    }
    return f->failed;
}

int cs_outfile_printf(cs_outfile *f, const char *fmt, ...)
{
    char text[1024], *longer = NULL;
    va_list ap;
    int rc;

    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    CS_BUG(n < 0);
    if ((size_t)n < sizeof text)
        return cs_outfile_write(f, text, (size_t)n);
    if ((longer = cs_alloc((size_t)n + 1, 1)) == NULL)
        return f->failed = cs_fail(CS_EMEM, "out of memory for a line of %d bytes in '%s'", n,
                                   f->name);
    va_start(ap, fmt);
    (void)vsnprintf(longer, (size_t)n + 1, fmt, ap);
    va_end(ap);
    rc = cs_outfile_write(f, longer, (size_t)n);
    free(longer);
    return rc;
}

void cs_outfile_discard(cs_outfile *f)
{
    struct stat st;

    if (f == NULL)
        return;
    const bool used = f->kept && (f->start < 0 || stat(f->temp, &st) != 0 || st.st_size > 0);
    if (f->temp != NULL && !used)
        (void)unlink(f->temp);   /* before the lock ends */
    if (!f->keep_open && f->fd >= 0)
        (void)close(f->fd);
    file_release(f);
}

/* Sync and close: delayed errors of disks and network file systems appear here. Without the sync, a
 * power failure could leave an empty file under the final name. */
int cs_outfile_finish(cs_outfile *f)
{
    int rc = CS_OK;

    if (f->finished)
        return CS_OK;
    if (f->filter) {
        CS_TRY(cs_out_filter_end(f->filter));
        cs_out_filter_free(f->filter);
        f->filter = NULL;
    }
    CS_TRY(cs_outfile_flush(f));
    if (f->keep_open)
        return CS_OK;
    CS_TRY(unpark(f));
    /* A library may have written to a file with a descriptor. */
    const bool empty = f->parked && !f->kept && f->gone == 0;
    if (f->temp != NULL && !empty && cs_sync_file(f->fd) != 0 && errno != EINVAL && errno != EROFS)
        rc = cs_fail(CS_EIO, "cannot write '%s': %s", f->name, strerror(errno));
    /* NAME.part is locked until renamed, except for one of many files. */
    if (!f->kept || f->parked) {
        if (close(f->fd) != 0 && errno != EINTR && rc == CS_OK)
            rc = cs_fail(CS_EIO, "cannot close '%s': %s", f->name, strerror(errno));
        f->fd = -1;
    }
    f->finished = rc == CS_OK;
out:
    return rc;
}

int cs_outfile_close(cs_outfile *f)
{
    int rc;

    if (f == NULL)
        return CS_OK;
    if ((rc = cs_outfile_finish(f)) != CS_OK) {
        cs_outfile_discard(f);
        return rc;
    }
    if (f->temp != NULL && rename(f->temp, f->target) != 0) {
        rc = cs_fail(CS_EIO, "cannot rename '%s' to '%s': %s", f->temp, f->target,
                     strerror(errno));
        if (!f->kept)
            (void)unlink(f->temp);
    } else if (f->temp != NULL && !f->parked) {
        cs_sync_folder_of(f->target);
    }
    if (f->fd >= 0 && !f->keep_open)
        (void)close(f->fd);      /* all is on disk: nothing can fail any more */
    file_release(f);
    return rc;
}

int cs_outfile_end(cs_outfile *f, int rc)
{
    if (rc == CS_OK)
        return cs_outfile_close(f);
    cs_outfile_discard(f);
    return rc;
}
