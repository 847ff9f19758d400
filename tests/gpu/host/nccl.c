/* nccl.c - a libnccl.so.2 for tests without a GPU: sums over threads and processes of one machine.
 *
 * DESIGN. Implements the functions used by kernels/cuda/nccl.cu. A group is a file mapped by all
 * ranks. A call runs on its own thread, so that it takes a while, as on a GPU, and can be aborted
 * while it waits for a dead rank. Sums go from the last rank to the first, another order than that
 * of sums in host memory.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_RANKS = 8, CHUNK = 1024, OK = 0, SYSTEM_ERROR = 2, IN_PROGRESS = 7, ID_BYTES = 128 };

typedef struct { char byte[ID_BYTES]; } unique_id;

struct shared {
    atomic_int waiting, generation;
    float part[MAX_RANKS][CHUNK];
};

struct comm {
    struct shared *shared;
    int rank, n;
    unique_id id;
    pthread_t thread;
    bool started;
    float *p;
    size_t n_real;
    atomic_int state, aborted;
};

int ncclGetVersion(int *version);
int ncclGetUniqueId(unique_id *id);
int ncclCommInitRankConfig(struct comm **out, int n, unique_id id, int rank, void *config);
int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, struct comm *c, void *s);
int ncclCommGetAsyncError(struct comm *c, int *e);
int ncclCommAbort(struct comm *c);
const char *ncclGetLastError(struct comm *c);

int ncclGetVersion(int *version)
{
    *version = 21905;
    return OK;
}

int ncclGetUniqueId(unique_id *id)
{
    const char *tmp = getenv("TMPDIR");

    memset(id, 0, sizeof *id);
    (void)snprintf(id->byte, sizeof id->byte, "%s/nccl.XXXXXX", tmp != NULL ? tmp : "/tmp");
    const int fd = mkstemp(id->byte);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared)) != 0)
        return SYSTEM_ERROR;
    (void)close(fd);
    return OK;
}

/* Barrier of all ranks; false: aborted. */
static bool barrier(struct comm *c)
{
    const int generation = atomic_load(&c->shared->generation);

    if (atomic_fetch_add(&c->shared->waiting, 1) + 1 == c->n) {
        atomic_store(&c->shared->waiting, 0);
        atomic_fetch_add(&c->shared->generation, 1);
        return true;
    }
    while (atomic_load(&c->shared->generation) == generation) {
        if (atomic_load(&c->aborted))
            return false;
        (void)sched_yield();
    }
    return true;
}

static void *init_rank(void *arg)
{
    struct comm *c = arg;

    if (barrier(c)) {
        if (c->rank == 0)
            (void)unlink(c->id.byte);
        atomic_store(&c->state, OK);
    }
    return NULL;
}

static void *all_reduce(void *arg)
{
    struct comm *c = arg;

    for (size_t at = 0, n; at < c->n_real; at += n) {
        n = c->n_real - at < CHUNK ? c->n_real - at : CHUNK;
        memcpy(c->shared->part[c->rank], c->p + at, n * sizeof *c->p);
        if (!barrier(c))
            return NULL;
        memset(c->p + at, 0, n * sizeof *c->p);
        for (int r = c->n - 1; r >= 0; r--)
            for (size_t i = 0; i < n; i++)
                c->p[at + i] += c->shared->part[r][i];
        if (!barrier(c))
            return NULL;
    }
    atomic_store(&c->state, OK);
    return NULL;
}

static int start(struct comm *c, void *(*run)(void *))
{
    if (c->started)
        (void)pthread_join(c->thread, NULL);
    atomic_store(&c->state, IN_PROGRESS);
    c->started = pthread_create(&c->thread, NULL, run, c) == 0;
    return c->started ? IN_PROGRESS : SYSTEM_ERROR;
}

int ncclCommInitRankConfig(struct comm **out, int n, unique_id id, int rank, void *config)
{
    struct comm *c = calloc(1, sizeof *c);
    const int fd = open(id.byte, O_RDWR);

    (void)config;
    *out = c;
    if (c == NULL || fd < 0 || n > MAX_RANKS)
        return SYSTEM_ERROR;
    c->rank = rank;
    c->n = n;
    c->id = id;
    c->shared = mmap(NULL, sizeof *c->shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    return c->shared != MAP_FAILED ? start(c, init_rank) : SYSTEM_ERROR;
}

/* MOCK_NCCL_KILL=R: rank R dies during its first sum. */
int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, struct comm *c, void *s)
{
    const char *kill_rank = getenv("MOCK_NCCL_KILL");

    (void)s;
    if (from != to || type != 7 || op != 0)
        return SYSTEM_ERROR;
    if (kill_rank != NULL && strtol(kill_rank, NULL, 10) == c->rank)
        (void)raise(SIGKILL);
    c->p = to;
    c->n_real = n;
    return start(c, all_reduce);
}

int ncclCommGetAsyncError(struct comm *c, int *e)
{
    *e = atomic_load(&c->state);
    return OK;
}

int ncclCommAbort(struct comm *c)
{
    atomic_store(&c->aborted, 1);
    if (c->started)
        (void)pthread_join(c->thread, NULL);
    (void)munmap(c->shared, sizeof *c->shared);
    free(c);
    return OK;
}

const char *ncclGetLastError(struct comm *c)
{
    (void)c;
    return "the emulated NCCL has failed";
}
