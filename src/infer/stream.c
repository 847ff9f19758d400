/* stream.c - the streaming pipeline: five stages connected by queues, results in input order.
 *
 * DESIGN
 * Memory. With P the window, c = CS_CHUNK_BYTES, t the bytes of a chunk's tokens, B those of a
 * batch's, r the bases of the longest record:
 *
 *     chunks    P c waiting for the writer and 8 elsewhere: 2 in each of the two queues before
 *               bucket, 1 in the hands of read, tokenise, bucket and write; 4 of them with tokens
 *     batches   one open per depth that occurs, 2 queued, 1 in infer, each of at most B
 *     network   activations of the largest batch, from a dry run
 *     records   queues count bytes, and admit one item above their limit when empty; so with
 *               consecutive long records, 7 are in flight (7 r), 3 of them with tokens (12 r for
 *               each strand), one with its bases reversed (r), and 3 batches hold one strand of one
 *               each (12 r). Windows have v bytes each: 7 v r / their distance. Where tokens of
 *               long records are only counted, none of them are in flight
 *
 * Nothing else grows with the input. cs_stream_run() logs the sum.
 */
#include "infer/stream.h"

#include "base/clock.h"
#include "base/signals.h"
#include "infer/workers.h"
#include "nn/exec/plan.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/resource.h>

enum { N_AHEAD = 3,              /* stages before infer */
       N_QUEUED = 2,             /* items that a queue holds, except the one before the writer */
       /* as counted above */
       N_ELSEWHERE = 8,          /* chunks that do not wait for the writer, */
       N_TOKENISED = 4,          /* and those of them with tokens */
       N_BATCH = 3,              /* batches queued or in infer */
       N_ON_WAY = 7,             /* consecutive long records in flight */
       BYTES_PER_BASE = 20,      /* of those: 7 as bases, 1 reversed, 12 as tokens in batches */
       TOKEN_BYTES = 12,         /* tokens per base and strand of 3 of them, 4 bytes each */
       OWN_PAGES = 16 << 10 };   /* bytes: larger blocks get pages of their own from mmap */

static double peak_rss_mb(void)
{
    struct rusage u;

    return getrusage(RUSAGE_SELF, &u) == 0 ? (double)u.ru_maxrss / 1024 : 0;
}

static size_t window_bytes(const cs_stream *s)
{
    return s->window_bytes ? s->window_bytes : (size_t)s->window * CS_CHUNK_BYTES;
}

static void report_memory(const cs_stream *s, const cs_stream_stat *t)
{
    const double mb = 1024 * 1024, id = sizeof(int32_t);
    const double chunks = (double)window_bytes(s) + (double)N_ELSEWHERE * CS_CHUNK_BYTES
                        + N_TOKENISED * id * CS_CHUNK_BASES;
    const double batches = (N_BATCH + 1 + (double)cs_depth(t->longest)) * id
                         * (double)t->batch_tokens;
    const double per_window = (double)N_ON_WAY * (double)(sizeof(cs_view) + sizeof(float)
                                                          * (size_t)s->model->n_label);
    const double windows = s->policy->window > 0 ? per_window / (double)s->policy->window : 0;
    const double tokens = s->policy->counts ? 0 : TOKEN_BYTES;
    const double records = (double)t->longest * (BYTES_PER_BASE + cs_policy_load(s->policy)
                                                 * (tokens + windows));

    cs_info("memory: at most %.1f MiB for chunks, %.1f for batches, %.1f for the network, %.1f "
            "for records of up to %lld bases; peak of the process %.1f MiB", chunks / mb,
            batches / mb, (double)t->act_bytes / mb, records / mb, (long long)t->longest,
            peak_rss_mb());
}

/* Chunks are filled by one thread and freed by another, in pieces of 4 kB to 1 MB: this fragments
 * the heap, and memory grows with the length of the input (measured: 80 MB after 200 Mbases, 95 MB
 * after 600). With mmap, freed pieces return to the system. */
static void limit_fragmentation(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, OWN_PAGES);
#endif
}

/* This is the diagram of ARCHITECTURE.md in code. */
struct stages {
    cs_read_stage     read;
    cs_tokenise_stage tokenise;
    cs_bucket_stage   bucket;
    cs_workers       *workers;
    cs_limit          limit;
    cs_write_stage    write;
};

static int run_stages(cs_pipe *p, const cs_stream *s, struct stages *g)
{
    const size_t id_bytes = sizeof(int32_t) * CS_CHUNK_BASES;
    const size_t batch_bytes = sizeof(int32_t) * (size_t)g->bucket.budget;
    cs_queue *raw = cs_pipe_queue(p, "read to tokenise", N_QUEUED, N_QUEUED * CS_CHUNK_BYTES,
                                  cs_chunk_bytes, cs_chunk_drop);
    cs_queue *tok = cs_pipe_queue(p, "tokenise to bucket", N_QUEUED,
                                  N_QUEUED * (CS_CHUNK_BYTES + id_bytes), cs_tokenised_bytes,
                                  cs_tokenised_drop);
    cs_queue *batch = cs_pipe_queue(p, "bucket to infer", N_QUEUED, N_QUEUED * 2 * batch_bytes,
                                    cs_batch_bytes, cs_batch_drop);
    cs_queue *flight = cs_pipe_queue(p, "bucket to write", s->window, window_bytes(s),
                                     cs_chunk_bytes, cs_chunk_drop);
    g->bucket.flight = flight;
    cs_stage stage[N_AHEAD + CS_WORKERS_MAX + 1] = {
        { "read",     cs_stage_read,     &g->read,     NULL,   raw,   NULL },
        { "tokenise", cs_stage_tokenise, &g->tokenise, raw,    tok,   NULL },
        { "bucket",   cs_stage_bucket,   &g->bucket,   tok,    batch, flight },
    };
    int n = N_AHEAD;
    for (int i = 0; i < g->workers->n; i++)
        stage[n++] = (cs_stage){ "infer", cs_stage_infer, &g->workers->stage[i], batch, NULL,
                                 NULL };
    stage[n++] = (cs_stage){ "write", cs_stage_write, &g->write, flight, NULL, NULL };
    return cs_pipe_run(p, stage, n);
}

static int next_of_inputs(void *source, cs_chunk *c)
{
    return cs_inputs_next(source, c);
}

cs_stream cs_stream_of(cs_record_source *src, cs_model *m, const cs_policy *policy,
                       const cs_stream_args *a, const cs_thread_counts *threads)
{
    return (cs_stream){
        .next = src->paired ? cs_pairs_next : NULL, .source = &src->pairs, .in = src->in,
        .second = src->second, .pairs = &src->pairs, .model = m, .policy = policy,
        .batch_tokens = a->batch_tokens, .allow_nonfinite = !a->check_finite,
        .window = (int)a->chunks_in_flight, .n_thread = threads->work,
    };
}

void cs_stream_own_next(const cs_stream *s, int (**next)(void *source, cs_chunk *c), void **source)
{
    *next = s->next ? s->next : next_of_inputs;
    *source = s->next ? s->source : s->in;
}

int cs_stream_skip(int (*next)(void *source, cs_chunk *c), void *source, uint64_t n,
                   uint64_t *n_done)
{
    int rc = CS_OK;
    cs_chunk *c = NULL;

    for (*n_done = 0; rc == CS_OK && *n_done < n; *n_done += rc == CS_OK) {
        if (c && cs_chunk_full(c)) {
            cs_chunk_free(c);
            c = NULL;
        }
        if (!c && (cs_signal_caught() != 0 || !(c = cs_chunk_new(0))))
            return cs_signal_caught() ? CS_ECANCEL
                                      : cs_fail(CS_EMEM, "out of memory for a chunk of the input");
        c->skipped = true;
        rc = next(source, c);
    }
    cs_chunk_free(c);
    return rc;
}

static int64_t tokens_per_batch(const cs_stream *s)
{
    if (s->batch_tokens > 0)
        return s->batch_tokens;
    cs_session *planned = cs_session_new(s->model, s->model->be);
    planned->output = s->policy->output;
    const int64_t n = cs_plan_batch(planned);
    cs_info("batches of at most %lld tokens; at most %.1f MiB for the network", (long long)n,
            (double)cs_plan_free_memory(planned) / 1024 / 1024);
    cs_session_free(planned);
    return n;
}

static const char *unit_of(const cs_stream *s)
{
    return s->unit ? s->unit : "record";
}

/* Warnings about a run that succeeded with n records. */
static void report_counted(const cs_stream *s, const struct stages *g, uint64_t n)
{
    const char *unit = unit_of(s);
    char what[256], remedy[CS_REMEDY_TEXT];
    const int64_t max_memory = s->policy->max_memory;

    (void)snprintf(what, sizeof what, "the model's maximum of %lld tokens%s",
                   (long long)s->policy->max_len,
                   cs_policy_may_cut(s->policy) ? "; --long-sequence window splits them" : "");
    if (s->in)
        cs_inputs_report(s->in);
    if (s->second)
        cs_inputs_report(s->second);
    if (s->pairs)
        cs_pairs_report(s->pairs);
    cs_warning_report(&g->write.too_long, n, unit, "exceeds", "exceed", what);
    (void)snprintf(what, sizeof what, "more memory than is available%s; %s",
                   max_memory > 0 ? " or --max-memory allows" : "",
                   cs_policy_remedy(s->policy, max_memory == 0 && !s->model->be->is_host, remedy));
    cs_warning_report(&g->write.no_memory, n, unit, "needs", "need", what);
    cs_warning_report(&g->write.on_cpu, n, unit, "was", "were",
                      "run on the CPU, because the device's memory was exceeded");
    cs_warning_report(&g->write.cut, n, unit, "was", "were",
                      "split into windows, because the available memory or the model's maximum was "
                      "exceeded");
}

int cs_stream_run(const cs_stream *s, cs_stream_stat *stat)
{
    const double start = cs_now_s();
    const int64_t budget = tokens_per_batch(s);
    char units[32];              /* of the progress line, which ends before it */
    limit_fragmentation();
    cs_pipe *p = cs_pipe_new();
    cs_pipe_limit(p, s->n_thread);
    struct stages g = {
        .read = { .in = s->in },
        .tokenise = { .policy = s->policy, .n_thread = s->n_thread },
        .bucket = { .pipe = p, .budget = budget, .limit = &g.limit,
                    .n_channel = s->model->n_channel, .window = (uint64_t)s->window,
                    .window_bytes = window_bytes(s) },
        .write = { .pipe = p, .policy = s->policy, .sink = s->sink, .arg = s->arg },
    };
    g.limit.first = budget;
    atomic_init(&g.limit.tokens, budget);
    *stat = (cs_stream_stat){ .batch_tokens = budget };
    cs_stream_own_next(s, &g.read.next, &g.read.source);
    int rc = cs_workers_new(p, s->model, s->policy, s->allow_nonfinite, s->n_thread, &g.limit,
                            &g.workers);
    if (rc != CS_OK) {
        cs_pipe_free(p);
        return rc;
    }
    (void)snprintf(units, sizeof units, "%ss", unit_of(s));
    g.write.progress = cs_progress_new(units, s->in ? cs_inputs_size(s->in) : 0);
    cs_progress_skipped(g.write.progress, s->in ? cs_inputs_tell(s->in) : 0);
    rc = run_stages(p, s, &g);

    cs_progress_free(g.write.progress);
    *stat = (cs_stream_stat){
        .n_record = g.write.n_record, .n_base = g.write.n_base, .batch = g.bucket.stat,
        .longest = g.tokenise.longest, .act_bytes = cs_workers_peak_bytes(g.workers),
        .wall_s = cs_now_s() - start, .batch_tokens = budget,
    };
    cs_pipe_summary(p, stat->times, sizeof stat->times);
    if (rc == CS_OK) {
        if (!s->preliminary)
            report_counted(s, &g, stat->n_record);
        cs_pipe_report(p);
        report_memory(s, stat);
    }
    cs_pipe_free(p);
    cs_workers_free(g.workers);
    return rc;
}

void cs_stream_summary(const char *verb, const char *counts, const cs_stream_stat *stat)
{
    const cs_bucket_stat *b = &stat->batch;
    const double capacity = (double)b->n_batch * (double)stat->batch_tokens;
    const double n_base = (double)stat->n_base;
    char bases[CS_SCALED_BYTES], rate[CS_SCALED_BYTES];

    cs_note("%s %llu %s (%s), %s in %.2f s (%s)", verb, (unsigned long long)stat->n_record,
            CS_PLURAL(stat->n_record, "record", "records"), counts,
            cs_scaled_text(n_base, "bases", bases, sizeof bases), stat->wall_s,
            cs_scaled_text(stat->wall_s > 0 ? n_base / stat->wall_s : 0, "bases/s", rate,
                           sizeof rate));
    cs_info("%llu batches, mean fill %.0f %%, closed by budget %llu, lag %llu, end %llu",
            (unsigned long long)b->n_batch, capacity > 0 ? 100 * (double)b->n_tok / capacity : 0,
            (unsigned long long)b->n_close[CS_CLOSE_BUDGET],
            (unsigned long long)b->n_close[CS_CLOSE_LAG],
            (unsigned long long)b->n_close[CS_CLOSE_END]);
    cs_info("%s", stat->times);
}
