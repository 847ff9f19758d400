/*
 * stress_pipe.c - many runs of a pipe with bounded queues, cancelled or failing at random points.
 *
 * DESIGN
 * read -> tokenise -> bucket -> infer (1 to 3 of them), and bucket -> write, with the window and
 * lag of ARCHITECTURE.md: the writer's queue holds `window` chunks, and a batch is closed when its
 * oldest chunk is `lag` behind. Records are numbers; a prediction is a function of its record.
 * Checks after a run without a failure: every prediction, their order, and the number of batches,
 * which is the same for any number of infer threads. After every run: the result matches the
 * injected failure, and all memory is freed. For ThreadSanitizer; alarm() ends a run that hangs.
 *
 *   stress_pipe [SECONDS]     default 3
 */
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/pipe.h"
#include "base/rng.h"

enum { N_CLASS = 5, MAX_RECORD = 12, BUDGET = 400, MAX_INFER = 3, N_STAGE = 5,
       READ = 0, TOKENISE, BUCKET, INFER, WRITE };

struct chunk {
    uint64_t number;
    int n;
    atomic_int pending;
    uint64_t record[MAX_RECORD], output[MAX_RECORD];
};

struct slot {
    struct chunk *chunk;
    int i;
};

struct batch {
    int64_t n_tok;
    int n, cap;
    uint64_t oldest;
    struct slot *slot;
};

/* Injected failure: stage `who` fails (or cancels the pipe) at its item number `when`. */
struct fault {
    int who;                     /* -1: none */
    uint64_t when;
    bool cancels;
};

struct run {
    cs_pipe *pipe;
    cs_queue *flight;
    uint64_t key, n_chunk, n_written, n_batch;
    uint64_t lag;
    struct fault fault;
    atomic_uint_fast64_t n_infer_item;
    struct batch *open[N_CLASS];
    bool wrong;
};

static atomic_long n_live;

static void fail_run(const struct run *r, const char *what)
{
    cs_error("stress_pipe: key %" PRIu64 ": %s", r->key, what);
    exit(EXIT_FAILURE);
}

static void *live(void *p)
{
    atomic_fetch_add(&n_live, 1);
    return p;
}

static void chunk_drop(void *p)
{
    atomic_fetch_sub(&n_live, 1);
    free(p);
}

static void batch_drop(void *p)
{
    struct batch *b = p;

    if (b == NULL)
        return;
    atomic_fetch_sub(&n_live, 1);
    free(b->slot);
    free(b);
}

static size_t chunk_bytes(const void *p)
{
    return (size_t)((const struct chunk *)p)->n;
}

static uint64_t output_of(uint64_t record)
{
    return cs_rng_u64(record, 99);
}

static int64_t length_of(uint64_t record)
{
    return 1 + (int64_t)(record % 300);
}

static int class_of(uint64_t record)
{
    return (int)(record >> 32 & 0xffff) % N_CLASS;
}

/* Yield at random, so that stages interleave differently. */
static void yield_at_random(const struct run *r, int stage, uint64_t item)
{
    uint64_t draw = cs_rng_below(cs_rng_key(r->key, 50 + (uint64_t)stage), item, 64);

    if (draw == 0) {
        const struct timespec t = { 0, 20000 };
        (void)nanosleep(&t, NULL);
    } else if (draw < 4) {
        (void)sched_yield();
    }
}

static int inject_fault(struct run *r, int stage, uint64_t item)
{
    yield_at_random(r, stage, item);
    if (r->fault.who != stage || r->fault.when != item)
        return CS_OK;
    if (r->fault.cancels) {
        cs_pipe_cancel(r->pipe);
        return CS_OK;
    }
    return cs_fail(CS_EFORMAT, "fault in stage %d", stage);
}

static int give_chunk(cs_queue *out, struct chunk *c)
{
    int rc = cs_queue_push(out, c);

    if (rc != CS_OK)
        chunk_drop(c);
    return rc;
}

static int run_read(void *self, cs_queue *in, cs_queue *out)
{
    struct run *r = self;
    int rc = CS_OK;

    (void)in;
    for (uint64_t k = 0; k < r->n_chunk; k++) {
        CS_TRY(inject_fault(r, READ, k));
        struct chunk *c = live(cs_xcalloc(1, sizeof *c));
        c->number = k;
        c->n = (int)cs_rng_below(r->key, k, MAX_RECORD + 1);    /* empty ones, too */
        for (int i = 0; i < c->n; i++)
            c->record[i] = cs_rng_u64(cs_rng_key(r->key, k), (uint64_t)i);
        atomic_init(&c->pending, c->n);
        CS_TRY(give_chunk(out, c));
    }
out:
    return rc;
}

static int run_tokenise(void *self, cs_queue *in, cs_queue *out)
{
    struct run *r = self;
    void *c;
    int rc = CS_OK;

    for (uint64_t k = 0;; k++) {
        CS_TRY(cs_queue_pop(in, &c));
        if ((rc = inject_fault(r, TOKENISE, k)) != CS_OK) {
            chunk_drop(c);
            goto out;
        }
        CS_TRY(give_chunk(out, c));
    }
out:
    return rc;
}

static int close_batch(struct run *r, int class, cs_queue *out)
{
    struct batch *b = r->open[class];
    int rc;

    if (b == NULL)
        return CS_OK;
    r->open[class] = NULL;
    if ((rc = cs_queue_push(out, b)) != CS_OK)
        batch_drop(b);
    else
        r->n_batch++;
    return rc;
}

static int add_record(struct run *r, struct chunk *c, int i, cs_queue *out)
{
    int class = class_of(c->record[i]), rc = CS_OK;
    int64_t n_tok = length_of(c->record[i]);
    struct batch *b = r->open[class];

    if (b != NULL && b->n_tok + n_tok > BUDGET) {
        CS_TRY(close_batch(r, class, out));
        b = NULL;
    }
    if (b == NULL) {
        b = r->open[class] = live(cs_xcalloc(1, sizeof *b));
        b->oldest = c->number;
    }
    if (b->n == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 4;
        b->slot = cs_xrealloc(b->slot, (size_t)b->cap * sizeof *b->slot);
    }
    b->slot[b->n++] = (struct slot){ c, i };
    b->n_tok += n_tok;
out:
    return rc;
}

/* Close batches that are `lag` behind chunk k, or all at the end. */
static int close_old(struct run *r, uint64_t k, bool all, cs_queue *out)
{
    int rc = CS_OK;

    for (int class = 0; class < N_CLASS; class++)
        if (r->open[class] != NULL && (all || r->open[class]->oldest + r->lag <= k))
            CS_TRY(close_batch(r, class, out));
out:
    return rc;
}

static int run_bucket(void *self, cs_queue *in, cs_queue *out)
{
    struct run *r = self;
    void *p;
    int rc = CS_OK;

    for (uint64_t k = 0; (rc = cs_queue_pop(in, &p)) == CS_OK; k++) {
        struct chunk *c = p;
        int n = c->n;            /* an empty chunk may be freed once it is pushed */
        if ((rc = inject_fault(r, BUCKET, k)) != CS_OK) {
            chunk_drop(c);
            goto out;
        }
        if ((rc = close_old(r, k, false, out)) != CS_OK) {
            chunk_drop(c);
            goto out;
        }
        CS_TRY(give_chunk(r->flight, c));
        for (int i = 0; i < n; i++)
            CS_TRY(add_record(r, c, i, out));
    }
    if (rc == CS_EOF)
        rc = close_old(r, 0, true, out);
out:
    return rc;
}

static int run_infer(void *self, cs_queue *in, cs_queue *out)
{
    struct run *r = self;
    void *p;
    int rc;

    (void)out;
    while ((rc = cs_queue_pop(in, &p)) == CS_OK) {
        struct batch *b = p;
        rc = inject_fault(r, INFER, atomic_fetch_add(&r->n_infer_item, 1));
        for (int i = 0; i < b->n && rc == CS_OK; i++) {
            struct chunk *c = b->slot[i].chunk;
            c->output[b->slot[i].i] = output_of(c->record[b->slot[i].i]);
            cs_pipe_count_down(r->pipe, &c->pending, 1);
        }
        batch_drop(b);
        if (rc != CS_OK)
            return rc;
    }
    return rc == CS_EOF ? CS_OK : rc;
}

static int run_write(void *self, cs_queue *in, cs_queue *out)
{
    struct run *r = self;
    void *p;
    int rc = CS_OK;

    (void)out;
    for (uint64_t k = 0;; k++) {
        CS_TRY(cs_queue_pop(in, &p));
        struct chunk *c = p;
        if ((rc = inject_fault(r, WRITE, k)) != CS_OK
            || (rc = cs_pipe_wait_zero(r->pipe, &c->pending)) != CS_OK) {
            cs_pipe_keep(r->pipe, c, chunk_drop);       /* infer may still write to it */
            goto out;
        }
        if (c->number != k)
            r->wrong = true;
        for (int i = 0; i < c->n; i++)
            if (c->output[i] != output_of(c->record[i]))
                r->wrong = true;
        r->n_written++;
        memset(c, 0xA5, sizeof *c);                     /* exposes use after free */
        chunk_drop(c);
    }
out:
    return rc;
}

/* One run; the number of batches that were closed. */
static uint64_t run_once(uint64_t key, int n_infer, struct fault fault, int *rc)
{
    int window = 2 + (int)cs_rng_below(key, 1001, 7);
    struct run r = { .key = key, .n_chunk = cs_rng_below(key, 1000, 120), .fault = fault };
    cs_stage stage[N_STAGE + MAX_INFER];
    int n = 0;

    /* From half of the window up to the bound: lag <= window + 1. */
    r.lag = 1 + cs_rng_below(key, 1002, (uint64_t)window + 1);
    r.pipe = cs_pipe_new();
    cs_queue *raw = cs_pipe_queue(r.pipe, "raw", 2, 15, chunk_bytes, chunk_drop);
    cs_queue *tok = cs_pipe_queue(r.pipe, "tok", 2, 0, NULL, chunk_drop);
    cs_queue *batch = cs_pipe_queue(r.pipe, "batch", 2, 0, NULL, batch_drop);
    r.flight = cs_pipe_queue(r.pipe, "flight", window, 0, NULL, chunk_drop);
    if (key % 3 > 0)
        cs_pipe_limit(r.pipe, (int)(key % 3));
    stage[n++] = (cs_stage){ .name = "read", .run = run_read, .self = &r, .out = raw };
    stage[n++] = (cs_stage){ .name = "tokenise", .run = run_tokenise, .self = &r, .in = raw,
                             .out = tok };
    stage[n++] = (cs_stage){ .name = "bucket", .run = run_bucket, .self = &r, .in = tok,
                             .out = batch, .out2 = r.flight };
    for (int i = 0; i < n_infer; i++)
        stage[n++] = (cs_stage){ .name = "infer", .run = run_infer, .self = &r, .in = batch };
    stage[n++] = (cs_stage){ .name = "write", .run = run_write, .self = &r, .in = r.flight };
    *rc = cs_pipe_run(r.pipe, stage, n);
    for (int class = 0; class < N_CLASS; class++)
        batch_drop(r.open[class]);
    cs_pipe_free(r.pipe);
    if (atomic_load(&n_live) != 0)
        fail_run(&r, "chunks or batches were leaked");
    if (r.wrong)
        fail_run(&r, "a prediction is wrong or out of order");
    if (*rc == CS_OK && r.n_written != r.n_chunk)
        fail_run(&r, "the pipe succeeded without writing everything");
    return r.n_batch;
}

static void check_clean_run(uint64_t key)
{
    const struct fault none = { .who = -1 };
    const struct run name = { .key = key };
    uint64_t first = 0;
    int rc;

    for (int n_infer = 1; n_infer <= MAX_INFER; n_infer++) {
        uint64_t n = run_once(key, n_infer, none, &rc);
        if (rc != CS_OK)
            fail_run(&name, "a run without faults failed");
        if (n_infer > 1 && n != first)
            fail_run(&name, "the batches depend on the number of threads");
        first = n;
    }
}

static void check_failed_run(uint64_t key)
{
    const struct run name = { .key = key };
    struct fault t = { (int)cs_rng_below(key, 2000, N_STAGE), cs_rng_below(key, 2001, 100),
                         cs_rng_below(key, 2002, 2) == 0 };
    char want[40];
    int rc;

    (void)snprintf(want, sizeof want, "fault in stage %d", t.who);
    cs_error_clear();
    (void)run_once(key, 1 + (int)cs_rng_below(key, 2003, MAX_INFER), t, &rc);
    /* The run may have ended before the failure, or no stage may have seen it. */
    if (rc != CS_OK && rc != (t.cancels ? CS_ECANCEL : CS_EFORMAT))
        fail_run(&name, "the result does not match the fault");
    if (strcmp(cs_error_message(), rc == CS_EFORMAT ? want : "") != 0)
        fail_run(&name, "the message is not the failing stage's");
}

int main(int argc, char **argv)
{
    int64_t seconds = 3;
    uint64_t n = 0;

    if (argc > 1 && cs_parse_int(argv[1], &seconds) != CS_OK)
        return 2;
    (void)alarm((unsigned)seconds + 60);         /* a hang is a failure */
    for (time_t end = time(NULL) + seconds; time(NULL) < end; n++) {
        check_clean_run(2 * n);
        for (uint64_t i = 0; i < 4; i++)
            check_failed_run(cs_rng_key(n, i));
    }
    (void)printf("stress_pipe: %" PRIu64 " runs\n", 7 * n);
    return n > 0 ? 0 : 1;
}
