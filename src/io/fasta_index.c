/* fasta_index.c - the index of a FASTA file, made until a signal, and complete or not at all.
 *
 * DESIGN: htslib reads the whole file, deaf to signals, and writes the index under its name, where
 * a run that starts meanwhile would read a part of it. So a thread makes it under another name.
 * After a signal that thread is left to the end of the process.
 */
#include "io/fasta_index.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <htslib/faidx.h>

#include "base/mem.h"
#include "base/signals.h"
#include "base/system.h"
#include "base/temps.h"
#include "io/input_pump.h"

/* An index under its name and before it is complete. */
struct part { char *name, *temp; int slot; };

struct making {
    char       *path;
    struct part fai, gzi;        /* gzi: of BGZF only */
    int         end;             /* of a pipe, closed when the index is made or not */
    bool        made;
};

static char *joined(const char *a, const char *b)
{
    const size_t n = strlen(a) + strlen(b) + 1;
    char *s = cs_xmalloc(n);

    (void)snprintf(s, n, "%s%s", a, b);
    return s;
}

static struct part part_new(const char *path, const char *suffix)
{
    char end[32];
    struct part p = { .name = joined(path, suffix) };

    (void)snprintf(end, sizeof end, ".tmp.%ld", (long)getpid());
    p.temp = joined(p.name, end);
    p.slot = cs_temps_add(cs_xstrdup(p.temp));
    return p;
}

/* To its name if it is there and complete. */
static void part_end(struct part *p, bool complete)
{
    if (!complete || rename(p->temp, p->name) != 0)
        (void)unlink(p->temp);
    cs_temps_drop(p->slot);
    CS_FREE(p->name, p->temp);
}

static void *make_index(void *arg)
{
    struct making *m = arg;

    m->made = fai_build3(m->path, m->fai.temp, m->gzi.temp) == 0;
    (void)close(m->end);
    return NULL;
}

/* Can the file be made? Otherwise htslib would find out at the end. */
static bool create(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

/* Runs the thread. */
static int wait_for(struct making *m)
{
    pthread_t thread;
    int end[2], rc = CS_OK;

    if (cs_system_pipe(end) != 0)
        return CS_OK;
    m->end = end[1];
    if (cs_pump_start(&thread, make_index, m) != 0) {
        (void)close(end[1]);
    } else {
        rc = cs_signal_wait(end[0], -1);
        CS_BUG((rc == CS_OK ? pthread_join(thread, NULL) : pthread_detach(thread)) != 0);
    }
    (void)close(end[0]);
    return rc;
}

int cs_fasta_index(const char *path)
{
    int rc = CS_OK;
    char *name = joined(path, ".fai");
    const bool has = strstr(path, "://") != NULL || access(name, F_OK) == 0;

    free(name);
    if (has)
        return CS_OK;
    struct making *m = cs_xcalloc(1, sizeof *m);
    m->path = cs_xstrdup(path);
    m->fai = part_new(path, ".fai");
    m->gzi = part_new(path, ".gzi");
    if (create(m->fai.temp))
        rc = wait_for(m);
    if (rc != CS_OK) {           /* the thread has m, and has not begun to write */
        (void)unlink(m->fai.temp);
        return rc;
    }
    part_end(&m->gzi, m->made);
    part_end(&m->fai, m->made);
    CS_FREE(m->path, m);
    return CS_OK;
}
