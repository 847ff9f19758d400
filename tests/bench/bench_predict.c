/* bench_predict.c - the network alone: answers for records that lie in memory as tokens, as TSV.
 *
 *     bench_predict MODEL FILE THREADS [BASES]
 *
 * Reads about BASES bases (default 20M) of a sequence file, tokenises and batches them as classify
 * does, and answers the batches again and again. What is timed:
 *   answer   as classify answers
 *   plain    every row of every block, then the mean: without the exact shortcuts; models whose
 *            head reads means only
 * The median of several rounds and the fastest one, in millions of bases and of tokens per second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/opt.h"
#include "batch/bucket.h"
#include "io/reader.h"
#include "nn/model.h"

enum { ROUNDS = 9, BUDGET = 64 << 10 };
static const double seconds = 3;

/* All batches, in the order in which they closed, and room for the answers of the largest one. */
struct load {
    cs_model  *model;
    cs_batch **batch, *open[CS_MAX_DEPTH + 1];
    size_t     n, cap, cap_out;
    float     *out;
    int64_t    n_base, n_token;
};

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int close_batch(struct load *l, int32_t depth)
{
    int rc = CS_OK;
    cs_batch *b = l->open[depth];

    if (!b)
        return CS_OK;
    CS_TRY(cs_grow((void **)&l->batch, &l->cap, l->n + 1, sizeof(cs_batch *)));
    l->batch[l->n++] = b;
    l->open[depth] = NULL;
    rc = cs_grow((void **)&l->out, &l->cap_out,
                 (size_t)b->n_rec * (size_t)cs_model_answer_len(l->model, 1), sizeof *l->out);
out:
    return rc;
}

static int add(struct load *l, const cs_segment *s)
{
    int rc = CS_OK;
    const cs_model *m = l->model;
    int32_t *id = cs_alloc((size_t)m->tok->bound(m->tok_state, s->n_base) + 1, sizeof *id);
    void *work = cs_alloc(cs_tokenizer_work(m->tok, m->tok_state, s->n_base) + 1, 1);

    if (!id || !work) {
        free(id);
        free(work);
        return cs_fail(CS_EMEM, "out of memory for tokens");
    }
    const int64_t n = m->tok->encode(m->tok_state, s, work, id);
    const int32_t d = cs_depth(n);
    if (n > 0 && l->open[d] && l->open[d]->n_tok + n > BUDGET)
        CS_TRY(close_batch(l, d));
    if (n > 0 && !l->open[d])
        l->open[d] = cs_batch_new(0, 0);
    if (n > 0)
        CS_TRY(cs_batch_append(l->open[d], id, NULL, n, NULL, (cs_slot){ 0 }));
    l->n_base += s->n_base;
    l->n_token += n;
out:
    free(work);
    free(id);
    return rc;
}

static int read_all(struct load *l, const char *path, int64_t n_base)
{
    int rc = CS_OK;
    cs_inputs *in = NULL;
    const cs_input_opt how = { .reference = NULL };
    cs_chunk *c = NULL;

    CS_TRY(cs_inputs_open(&path, 1, &how, &in));
    while (rc == CS_OK && l->n_base < n_base) {
        if (!(c = cs_chunk_new(0)))
            rc = cs_fail(CS_EMEM, "out of memory for a chunk");
        while (rc == CS_OK && !cs_chunk_full(c))
            rc = cs_inputs_next(in, c);
        for (int i = 0; rc >= 0 && i < c->n; i++) {
            const int added = add(l, &c->rec[i].seg[0]);
            rc = added == CS_OK ? rc : added;
        }
        cs_chunk_free(c);
    }
    rc = rc == CS_EOF ? CS_OK : rc;
    for (int32_t d = 0; rc == CS_OK && d <= CS_MAX_DEPTH; d++)
        rc = close_batch(l, d);
out:
    cs_inputs_close(in);
    return rc;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int measure(struct load *l, const char *what)
{
    int rc = CS_OK, n = 0;
    double t[ROUNDS + 1];
    const double start = now();

    /* The first round is not counted: memory and tables are made in it. */
    for (; n <= ROUNDS && (n < 4 || now() - start < seconds); n++) {
        t[n] = now();
        for (size_t i = 0; i < l->n; i++)
            CS_TRY(cs_model_predict(l->model, l->batch[i], l->out));
        t[n] = now() - t[n];
    }
    qsort(t + 1, (size_t)n - 1, sizeof *t, by_value);
    const double mid = t[1 + (n - 1) / 2], best = t[1];
    printf("%s\t%d\t%zu\t%.2f\t%.2f\t%.3f\t%.3f\n", what, l->model->be->n_thread, l->n,
           (double)l->n_base / mid * 1e-6, (double)l->n_base / best * 1e-6,
           (double)l->n_token / mid * 1e-6, (double)l->n_token / best * 1e-6);
out:
    return rc;
}

int main(int argc, char **argv)
{
    int rc = CS_EUSAGE;
    struct load l = { .n = 0 };
    cs_backend *be = NULL;
    int64_t n_thread, n_base = 20000000;

    if (argc < 4 || cs_parse_int(argv[3], &n_thread) != CS_OK ||
        (argc > 4 && cs_parse_size(argv[4], &n_base) != CS_OK)) {
        puts("usage: bench_predict MODEL FILE THREADS [BASES]");
        return 2;
    }
    cs_io_init();
    CS_TRY(cs_cpu_init());
    CS_TRY(cs_backend_open("cpu", (int)n_thread, &be));
    CS_TRY(cs_model_load(argv[1], be, false, &l.model));
    CS_TRY(read_all(&l, argv[2], n_base));
    puts("what\tthreads\tbatches\tMbases_per_s\tbest\tMtokens_per_s\tbest");
    CS_TRY(measure(&l, "answer"));
    l.model->cx.no_mean = true;
    CS_TRY(measure(&l, "plain"));
out:
    if (rc != CS_OK)
        cs_error("bench_predict: %s", cs_error_message());
    for (size_t i = 0; i < l.n; i++)
        cs_batch_free(l.batch[i]);
    for (int32_t d = 0; d <= CS_MAX_DEPTH; d++)
        cs_batch_free(l.open[d]);
    free(l.batch);
    free(l.out);
    cs_model_free(l.model);
    cs_backend_close(be);
    return rc == CS_OK ? 0 : 1;
}
