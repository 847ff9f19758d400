/* bench_network.c - inference and training steps of a network for records in memory, as TSV.
 *
 *     bench_network [OPTION...] MODEL FILE THREADS [BASES]
 *
 *   -w WHAT[,WHAT...]   modes to time (default predict,plain)
 *   -d DEVICE           as --device (default cpu)
 *   -p PRECISION        as --precision (default fp32)
 *   -B TOKENS           most tokens of a batch (default 64k)
 *   -s SECONDS          for the rounds of one line, if 3 fit (default 3)
 *   -o FILE             batches and raw outputs, for comparison with another program:
 *                       see write_batch()
 *
 * Reads about BASES bases (default 20M) of a sequence file, or a file of series, tokenises and
 * batches them as classify does, and repeats passes over the batches. Timed from host memory to
 * host memory:
 *   predict  as classify does; on a GPU, the next batch is uploaded meanwhile
 *   plain    every row of every block, then the mean: without the exact shortcuts; models whose
 *            head reads means only
 *   step     a training step on all records: forward, backward, Adam with a rate of zero
 *   ops      the same without graphs (nn/exec/graph.c): ops are launched one by one
 * Columns: median and fastest of several rounds in millions of bases and tokens per second;
 * seconds; slowest minus fastest round in percent of the median; peak memory of the device; the
 * loss of a step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/outfile.h"
#include "base/log.h"
#include "base/opt.h"
#include "batch/bucket.h"
#include "io/io_init.h"
#include "io/reader.h"
#include "nn/exec/session.h"
#include "train/optim.h"

enum { ROUNDS = 9, MIN_ROUNDS = 3 };

struct options {
    const char *what, *device, *output;
    int         precision;
    int64_t     budget, n_base, n_thread;
    double      seconds;
};

/* All batches, in the order in which they closed, and memory for the outputs of the largest one. */
struct load {
    struct options opt;
    cs_backend *be;
    cs_model   *model;
    cs_session *session;
    cs_batch  **batch, *open[CS_MAX_DEPTH + 1];
    size_t      n, cap, cap_out;
    float      *out;
    int64_t     n_base, n_token, n_rec;
    int64_t     free_bytes, least_free;        /* of the device, before anything was there, and
                                                * since */
    double      loss;                    /* of the last step */
};

/* One round over all batches. */
typedef int round_fn(struct load *l, double *seconds);

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- batches ------------------------------------------------------------------------------- */

static int close_batch(struct load *l, int32_t depth)
{
    int rc = CS_OK;
    cs_batch *b = l->open[depth];

    if (!b)
        return CS_OK;
    CS_TRY(cs_grow((void **)&l->batch, &l->cap, l->n + 1, sizeof(cs_batch *)));
    l->batch[l->n++] = b;
    l->open[depth] = NULL;
    l->n_rec += b->n_rec;
    rc = cs_grow((void **)&l->out, &l->cap_out, (size_t)cs_session_output_len(l->session, b),
                 sizeof *l->out);
out:
    return rc;
}

/* Add to the batch of its depth, with its targets or a class in rotation. */
static int put(struct load *l, const cs_record *r, const int32_t *id, int64_t n)
{
    int rc = CS_OK;
    const int32_t d = cs_depth(n), n_target = cs_model_n_target(l->model);
    const float class_no = (float)(r->serial % (uint64_t)l->model->n_label);
    const float *target = n_target < 1 ? NULL : r->target ? r->target : &class_no;

    if (target && n_target != (r->target ? r->n_target : 1))
        return cs_fail(CS_EUSAGE, "the model predicts %d values, '%s' has another number",
                       (int)n_target, r->name);
    if (l->open[d] && !cs_batch_takes(d, l->open[d]->n_tok, n, l->opt.budget))
        CS_TRY(close_batch(l, d));
    if (!l->open[d])
        l->open[d] = cs_batch_new(r->n_channel, target ? n_target : 0);
    CS_TRY(cs_batch_append(l->open[d], id, r->x, n, target, (cs_slot){ 0 }));
    l->n_base += r->seg[0].n_base;
    l->n_token += n;
out:
    return rc;
}

static int add(struct load *l, const cs_record *r)
{
    const cs_model *m = l->model;
    const cs_segment *s = &r->seg[0];

    if (m->n_channel != r->n_channel)
        return cs_fail(CS_EUSAGE, "the model takes %d values per position, '%s' has %d",
                       (int)m->n_channel, r->name, (int)r->n_channel);
    if (!m->tok)
        return s->n_base > 0 ? put(l, r, NULL, s->n_base) : CS_OK;
    int32_t *id = cs_alloc((size_t)m->tok->bound(m->tok_state, s->n_base) + 1, sizeof *id);
    void *work = cs_alloc(cs_tokenizer_work(m->tok, m->tok_state, s->n_base) + 1, 1);
    int rc = id && work ? CS_OK : cs_fail(CS_EMEM, "out of memory for tokens");
    const int64_t n = rc == CS_OK ? m->tok->encode(m->tok_state, s, work, id) : 0;

    if (n > 0)
        rc = put(l, r, id, n);
    free(work);
    free(id);
    return rc;
}

static int read_all(struct load *l, const char *path)
{
    int rc = CS_OK;
    cs_inputs *in = NULL;
    const cs_input_opt how = { .series = l->model->tok == NULL };
    cs_chunk *c = NULL;

    CS_TRY(cs_inputs_open(&path, 1, &how, &in));
    while (rc == CS_OK && l->n_base < l->opt.n_base) {
        if (!(c = cs_chunk_new(0)))
            rc = cs_fail(CS_EMEM, "out of memory for a chunk");
        while (rc == CS_OK && !cs_chunk_full(c))
            rc = cs_inputs_next(in, c);
        for (int i = 0; rc >= 0 && i < c->n; i++) {
            const int added = add(l, &c->rec[i]);
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

/* Numbers of the machine's byte order: records, tokens, depth, channels, values of a target, floats
 * of outputs (int64_t); offsets [records + 1] (int64_t); tokens (int32_t) or values [tokens,
 * channels] (float); targets and outputs (float). */
static int write_batch(struct load *l, const cs_batch *b, cs_outfile *f)
{
    int rc = CS_OK;
    const int64_t n_output = cs_session_output_len(l->session, b);
    const int64_t head[] = { b->n_rec, b->n_tok, b->depth, b->n_channel, b->n_target, n_output };
    const size_t n_tok = (size_t)b->n_tok;

    CS_TRY(cs_session_forward(l->session, b, l->out));
    CS_TRY(cs_outfile_write(f, head, sizeof head));
    CS_TRY(cs_outfile_write(f, b->off, ((size_t)b->n_seg + 1) * sizeof *b->off));
    CS_TRY(b->x ? cs_outfile_write(f, b->x, n_tok * (size_t)b->n_channel * sizeof *b->x)
                : cs_outfile_write(f, b->tok, n_tok * sizeof *b->tok));
    if (b->target)
        CS_TRY(cs_outfile_write(f, b->target,
                                (size_t)(b->n_rec * b->n_target) * sizeof *b->target));
    rc = cs_outfile_write(f, l->out, (size_t)n_output * sizeof *l->out);
out:
    return rc;
}

static int write_batches(struct load *l)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open(l->opt.output, &f));
    for (size_t i = 0; i < l->n; i++)
        CS_TRY(write_batch(l, l->batch[i], f));
    rc = cs_outfile_close(f);
    f = NULL;
out:
    cs_outfile_discard(f);
    return rc;
}

/* ---- rounds -------------------------------------------------------------------------------- */

static int predict_ahead(struct load *l)
{
    int rc = CS_OK;

    for (size_t i = 0; i < l->n; i++) {
        CS_TRY(cs_session_start(l->session, (int)(i % CS_STAGING_SLOTS), l->batch[i], false));
        if (i > 0)
            CS_TRY(cs_session_finish(l->session, (int)((i - 1) % CS_STAGING_SLOTS), l->out));
    }
    if (l->n > 0)
        rc = cs_session_finish(l->session, (int)((l->n - 1) % CS_STAGING_SLOTS), l->out);
out:
    return rc;
}

static int predict_round(struct load *l, double *seconds)
{
    int rc = CS_OK;
    const double start = now();

    if (l->be->staging.send)
        CS_TRY(predict_ahead(l));
    else
        for (size_t i = 0; i < l->n; i++)
            CS_TRY(cs_session_predict(l->session, l->batch[i], l->out));
    *seconds = now() - start;
out:
    return rc;
}

static int step_round(struct load *l, double *seconds)
{
    int rc = CS_OK;
    double loss;
    const double start = now();
    const cs_step_opt how = { .scale = 1 / (double)l->n_rec, .key = 1 };
    /* Learning rate zero: all of the work, without changing the weights. */
    const cs_adam h = { .lr = 0, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .grad_scale = 1,
                        .decoupled = true };

    l->loss = 0;
    cs_optim_zero_grad(&l->model->ps);
    for (size_t i = 0; i < l->n; i++) {
        CS_TRY(cs_session_forward_backward(l->session, l->batch[i], &how, &loss, NULL));
        l->loss += loss;
    }
    cs_optim_step(&l->model->ps, h, false);
    CS_TRY(l->be->op.sync(l->be));
    *seconds = now() - start;
out:
    return rc;
}

/* ---- lines --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(const struct load *l, const char *what, const double *t, int n)
{
    const double mid = t[(n - 1) / 2], best = t[0];
    char memory[32] = ".", loss[32] = ".";

    if (!l->be->is_host)
        (void)snprintf(memory, sizeof memory, "%.0f",
                       (double)(l->free_bytes - l->least_free) / (1 << 20));
    if (strcmp(what, "step") == 0 || strcmp(what, "ops") == 0)
        (void)snprintf(loss, sizeof loss, "%.6f", l->loss);
    printf("%s\t%d\t%zu\t%.2f\t%.2f\t%.3f\t%.3f\t%s\t%s\t%lld\t%lld\t%d\t%.4g\t%.4g\t%.1f\t"
           "%s\t%s\n", what, l->be->n_thread, l->n, (double)l->n_base / mid * 1e-6,
           (double)l->n_base / best * 1e-6, (double)l->n_token / mid * 1e-6,
           (double)l->n_token / best * 1e-6, l->be->device, cs_precision_names[l->be->precision],
           (long long)l->n_rec, (long long)l->n_token, n, mid, best, 100 * (t[n - 1] - best) / mid,
           memory, loss);
    (void)fflush(stdout);
}

static int measure(struct load *l, const char *what, round_fn *round)
{
    int rc = CS_OK, n = 0;
    double t[ROUNDS], unused;

    /* The first round allocates memory and tables, so it is not timed. */
    CS_TRY(round(l, &unused));
    const double start = now();
    for (; n < ROUNDS && (n < MIN_ROUNDS || now() - start < l->opt.seconds); n++)
        CS_TRY(round(l, &t[n]));
    const int64_t free_bytes = l->be->op.free_memory(l->be);
    l->least_free = free_bytes < l->least_free ? free_bytes : l->least_free;
    qsort(t, (size_t)n, sizeof *t, by_value);
    report(l, what, t, n);
out:
    return rc;
}

static bool wanted(const struct load *l, const char *what)
{
    const size_t n = strlen(what);

    for (const char *at = l->opt.what; (at = strstr(at, what)); at += n)
        if ((at == l->opt.what || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

/* Each mode has a model of its own: data derived from the weights is cached between passes, in a
 * form that depends on the mode. */
static int measure_one(struct load *l, const char *path, const char *what)
{
    int rc = CS_OK;
    const bool apart = strcmp(what, "ops") == 0, is_training = apart || strcmp(what, "step") == 0;

    cs_session_free(l->session);
    cs_model_free(l->model);
    l->model = NULL;
    l->session = NULL;
    l->least_free = l->free_bytes;
    CS_TRY(cs_model_load(path, l->be, is_training ? CS_USE_TRAINING : CS_USE_INFERENCE, &l->model));
    l->session = cs_session_new(l->model, l->be);
    l->session->cx.no_mean = strcmp(what, "plain") == 0;
    l->session->cx.no_graph = apart;
    rc = measure(l, what, is_training ? step_round : predict_round);
out:
    return rc;
}

static int measure_all(struct load *l, const char *model, const char *input)
{
    int rc = CS_OK;
    static const char *const all[] = { "predict", "plain", "step", "ops" };

    CS_TRY(cs_backend_open(l->opt.device, (int)l->opt.n_thread, &l->be));
    CS_TRY(cs_backend_compute_in(l->be, (cs_precision)l->opt.precision));
    l->free_bytes = l->be->op.free_memory(l->be);
    CS_TRY(cs_model_load(model, l->be, CS_USE_INFERENCE, &l->model));
    l->session = cs_session_new(l->model, l->be);
    CS_TRY(read_all(l, input));
    if (l->opt.output)
        CS_TRY(write_batches(l));
    puts("what\tthreads\tbatches\tMbases_per_s\tbest\tMtokens_per_s\tbest\tdevice\tprecision\t"
         "records\ttokens\trounds\tmedian_s\tbest_s\tspread_percent\tdevice_MiB\tloss");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (wanted(l, all[i]))
            CS_TRY(measure_one(l, model, all[i]));
out:
    return rc;
}

/* ---- options ------------------------------------------------------------------------------- */

static int parse_precision(const char *text, int *precision)
{
    static const char *const names[] = { CS_PRECISION_NAMES, NULL };
    int i = 0;

    while (names[i] && strcmp(names[i], text) != 0)
        i++;
    *precision = i;
    return names[i] ? CS_OK : CS_EUSAGE;
}

static int parse_one(struct options *o, int letter, const char *text)
{
    switch (letter) {
    case 'w':
        o->what = text;
        return CS_OK;
    case 'd':
        o->device = text;
        return CS_OK;
    case 'p':
        return parse_precision(text, &o->precision);
    case 'B':
        return cs_parse_size(text, &o->budget);
    case 's':
        return cs_parse_real(text, &o->seconds);
    case 'o':
        o->output = text;
        return CS_OK;
    default:
        return CS_EUSAGE;
    }
}

static int parse(struct options *o, int argc, char **argv)
{
    int rc = CS_OK, letter;

    *o = (struct options){ .what = "predict,plain", .device = "cpu", .budget = 64 << 10,
                           .n_base = 20000000, .seconds = 3 };
    while ((letter = getopt(argc, argv, "w:d:p:B:s:o:")) != -1)
        CS_TRY(parse_one(o, letter, optarg));
    if (argc - optind < 3 || argc - optind > 4)
        return CS_EUSAGE;
    CS_TRY(cs_parse_int(argv[optind + 2], &o->n_thread));
    if (argc - optind == 4)
        CS_TRY(cs_parse_size(argv[optind + 3], &o->n_base));
out:
    return rc;
}

int main(int argc, char **argv)
{
    int rc = CS_OK;
    struct load l = { .n = 0 };

    if (parse(&l.opt, argc, argv) != CS_OK) {
        puts("usage: bench_network [-w predict,plain,step,ops] [-d DEVICE] [-p PRECISION] "
             "[-B TOKENS] [-s SECONDS] [-o FILE] MODEL FILE THREADS [BASES]");
        return 2;
    }
    cs_io_init();
    CS_TRY(cs_cpu_init());
    rc = measure_all(&l, argv[optind], argv[optind + 1]);
out:
    if (rc != CS_OK)
        cs_error("bench_network: %s", cs_error_message());
    for (size_t i = 0; i < l.n; i++)
        cs_batch_free(l.batch[i]);
    for (int32_t d = 0; d <= CS_MAX_DEPTH; d++)
        cs_batch_free(l.open[d]);
    free(l.batch);
    free(l.out);
    cs_session_free(l.session);
    cs_model_free(l.model);
    cs_backend_close(l.be);
    return rc == CS_OK ? 0 : 1;
}
