/* encoder_bench.c - time and memory of encoders by sequence length. */
#include "tools/encoder_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/outfile.h"
#include "base/log.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/signals.h"
#include "nn/exec/plan.h"
#include "nn/exec/session.h"
#include "registry.h"
#include "train/optim.h"

enum { MAX_LENGTHS = 41, MAX_REPEATS = 99, STREAM_TOKENS = 141 };
enum { FORWARD, STEP, N_PASS };

#define BENCH(field) .off = offsetof(cs_bench_args, field)

const cs_opt cs_bench_table[] = {
    { .type = CS_OPT_GROUP, .name = "Measurement" },
    { .type = CS_OPT_LIST, .name = "encoder", BENCH(encoder), .arg = "NAME[:OPTION=VALUE...]",
      .help = "encoder to measure; may be repeated (default: all)",
      .man = "Can have options of chordseq-train(1), without 'encoder.', as in "
             "linformer:max-len=128k:k=128; dim, channels and track override --width." },
    { .type = CS_OPT_SIZE, .name = "min-len", BENCH(min_len), .arg = "NUM", .def = "256",
      .help = "shortest sequence, in tokens; lengths double", .min = 1,
      .max = 1e12 },
    { .type = CS_OPT_SIZE, .name = "max-len", BENCH(max_len), .arg = "NUM", .def = "131072",
      .help = "longest sequence", .min = 1, .max = 1e12 },
    { .type = CS_OPT_INT, .name = "width", BENCH(width), .arg = "NUM", .def = "64",
      .help = "channels of a token, or the nearest width that the encoder supports", .min = 1,
      .max = 65536 },
    { .type = CS_OPT_INT, .name = "repeats", BENCH(repeats), .arg = "NUM", .def = "5",
      .help = "passes per measurement; the median is reported", .min = 1, .max = MAX_REPEATS },
    { .type = CS_OPT_REAL, .name = "max-seconds", BENCH(max_seconds), .arg = "NUM", .def = "10",
      .help = "time limit per length",
      .man = "The time of a pass is extrapolated from the two previous lengths. Each length has "
             "at least one warm-up pass and one timed pass.", .min = 1e-9,
      .max = 1e9 },
    { .type = CS_OPT_BYTES, .name = "max-memory", BENCH(max_memory), .arg = "BYTES", .def = "2Gi",
      .help = "maximum memory for the activations of a pass", .min = 1, .max = 1e15 },
    { .type = CS_OPT_INT, .name = "seed", BENCH(seed), .arg = "NUM", .def = "1",
      .help = "seed of weights and tokens", .min = 0, .max = 9e15 },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", BENCH(output), .arg = "FILE",
      .def = "-", .help = "output file; '-' is standard output" },
    { .type = CS_OPT_END }
};

/* Measurements of one pass at one length. */
struct point {
    double      seconds;         /* NaN: see `why` */
    int64_t     n_bytes;         /* 0: unknown */
    const char *why;
};

/* An encoder with its options, which point into text and number. */
struct subject {
    const char       *name;
    char             *text, number[24];
    const cs_encoder *enc;
    void             *cfg;
    int32_t           width;
    int64_t           n_param;
    struct point      at[N_PASS][MAX_LENGTHS];
};

struct job {
    const cs_bench_args *a;
    cs_backend         *be;
    const cs_tokenizer *tok;
    const cs_head      *head;
    void               *tok_cfg, *head_cfg;
    cs_batch           *batch;
    float               output[2];
    int64_t             len[MAX_LENGTHS];
    int                 n_len;
    cs_outfile         *out;
};

/* ---- the encoder and its options ------------------------------------------------------------- */

/* The encoder's width with its present options. */
static int width_of(const struct subject *s, int32_t *width)
{
    int rc = CS_OK;
    cs_params ps;

    CS_TRY(s->enc->check(s->cfg));
    cs_params_init(&ps);
    void *net = s->enc->build(s->cfg, &ps);
    *width = s->enc->width(net);
    s->enc->release(net);
    cs_params_release(&ps);
out:
    return rc;
}

/* Encoders call their width dim or channels; ChordMixer's is a multiple of its tracks' width. */
static const char *const width_names[] = { "dim", "channels", "track" };
enum { N_WIDTH_NAMES = 3, TRACK = 2, NEAR = 4096 };

static int width_name(const char *name)
{
    int i = 0;

    while (i < N_WIDTH_NAMES && strcmp(name, width_names[i]) != 0)
        i++;
    return i;
}

static int set_number(struct subject *s, const char *option, int64_t n)
{
    (void)snprintf(s->number, sizeof s->number, "%lld", (long long)n);
    return cs_opt_set(s->enc->opt, s->cfg, option, s->number);
}

static bool takes_width(struct subject *s, const char *option, int64_t n)
{
    const bool takes = n > 0 && set_number(s, option, n) == CS_OK && s->enc->check(s->cfg) == CS_OK;

    if (!takes)
        cs_error_clear();
    return takes;
}

/* The nearest width that the encoder takes, for example a multiple of its heads; the larger one of
 * two. Without any, check() of the given one states the reason. */
static int set_nearest(struct subject *s, const char *option, int64_t width)
{
    for (int64_t d = 0; d < NEAR; d++)
        if (takes_width(s, option, width + d) || takes_width(s, option, width - d))
            return CS_OK;
    return set_number(s, option, width);
}

/* After the other options: the number of tracks depends on them. Reversible blocks need an even
 * track width, so widths are multiples of two. */
static int set_width(struct subject *s, int64_t width)
{
    int rc = CS_OK, i = 0;
    int32_t pair;

    while (i < N_WIDTH_NAMES && cs_opt_find(s->enc->opt, width_names[i]) == NULL)
        i++;
    if (i == N_WIDTH_NAMES)
        return CS_OK;
    if (i != TRACK)
        return set_nearest(s, width_names[i], width);
    CS_TRY(set_number(s, width_names[i], 2));
    CS_TRY(width_of(s, &pair));
    const int64_t n = (2 * width + pair / 2) / pair;
    CS_TRY(set_number(s, width_names[i], n > 0 ? n : 1));
    if (s->enc->check(s->cfg) != CS_OK) {
        cs_error_clear();
        rc = set_number(s, width_names[i], n + 1);
    }
out:
    return rc;
}

static int set_option(struct subject *s, char *word, bool *sized)
{
    char *value = strchr(word, '=');

    if (value == NULL)
        return cs_fail(CS_EUSAGE, "--encoder takes NAME[:OPTION=VALUE...], not '%s'", s->name);
    *value++ = '\0';
    *sized |= width_name(word) < N_WIDTH_NAMES;
    return cs_opt_set(s->enc->opt, s->cfg, word, value);
}

static void subject_release(struct subject *s)
{
    free(s->cfg);
    free(s->text);
}

static int subject_init(struct subject *s, const char *name, int64_t width)
{
    int rc = CS_OK;
    bool sized = false;
    char *save = NULL;

    *s = (struct subject){ .name = name, .text = cs_xstrdup(name) };
    const char *first = strtok_r(s->text, ":", &save);
    s->enc = first != NULL ? cs_encoder_find(first) : NULL;
    if (s->enc == NULL) {
        rc = cs_fail(CS_EUSAGE, "there is no encoder '%s'; 'chordseq train --help' lists them",
                     first != NULL ? first : "");
        goto out;
    }
    s->cfg = cs_opt_new(s->enc->opt, s->enc->cfg_size);
    for (char *w; (w = strtok_r(NULL, ":", &save)) != NULL;)
        CS_TRY(set_option(s, w, &sized));
    if (!sized)
        CS_TRY(set_width(s, width));
    rc = s->enc->check(s->cfg);
out:
    return rc;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static int one_pass(struct job *j, cs_session *s, int pass)
{
    int rc = CS_OK;
    double loss;
    const cs_step_opt step_opt = { .scale = 1, .key = 1,
                                   .keep = cs_memory_checkpoint_blocks(&j->a->memory) };
    /* Learning rate zero: the full work, but every pass starts with the same weights. */
    const cs_adam h = { .lr = 0, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .grad_scale = 1 };

    if (pass == FORWARD)
        return cs_session_predict(s, j->batch, j->output);
    cs_optim_zero_grad(&s->model->ps);
    CS_TRY(cs_session_forward_backward(s, j->batch, &step_opt, &loss, NULL));
    cs_optim_step(&s->model->ps, h, false);
out:
    return rc;
}

/* The first pass is a warm-up and not counted: a virtual machine may take two seconds per gigabyte
 * of untouched memory, several times the pass itself. */
static int time_passes(struct job *j, cs_session *s, int pass, double *seconds)
{
    int rc = CS_OK, n = 0;
    double t[MAX_REPEATS];
    const double start = cs_now_s();

    CS_TRY(one_pass(j, s, pass));
    do {
        const double begin = cs_now_s();
        CS_TRY(one_pass(j, s, pass));
        t[n++] = cs_now_s() - begin;
        if (cs_signal_caught() != 0)
            return CS_ECANCEL;
    } while (n < j->a->repeats && cs_now_s() - start < j->a->max_seconds);
    qsort(t, (size_t)n, sizeof *t, cs_by_double);
    *seconds = (t[(n - 1) / 2] + t[n / 2]) / 2;
out:
    return rc;
}

static int fill_batch(struct job *j, const cs_model *m, int64_t n)
{
    int rc = CS_OK;
    const float class_no = 0;
    const uint64_t key = cs_rng_key((uint64_t)j->a->seed, STREAM_TOKENS);
    const uint64_t n_id = (uint64_t)(m->tok->n_vocab(m->tok_state) - CS_TOK_FIRST);
    int32_t *id = cs_alloc((size_t)n, sizeof *id);

    if (id == NULL)
        return cs_fail(CS_EMEM, "out of memory for %lld tokens", (long long)n);
    for (int64_t t = 0; t < n; t++)
        id[t] = CS_TOK_FIRST + (int32_t)cs_rng_below(key, (uint64_t)t, n_id);
    cs_batch_reset(j->batch);
    rc = cs_batch_append(j->batch, id, NULL, n, &class_no, (cs_slot){ 0 });
    free(id);
    return rc;
}

static int64_t count_parameters(const cs_params *ps)
{
    int64_t n = 0;

    for (int i = 0; i < ps->n; i++)
        n += ps->p[i].buffer ? 0 : ps->p[i].n;
    return n;
}

static int bench_measure(struct job *j, cs_session *s, int pass, struct point *at)
{
    int rc = CS_OK;
    const cs_model *m = s->model;
    const int64_t max_len = cs_model_max_len(m);
    double last = NAN, expected = 0, ratio = 2;

    for (int i = 0; i < j->n_len; i++, at++) {
        const int64_t n = j->len[i];
        *at = (struct point){ .seconds = NAN };
        if (max_len > 0 && n > max_len) {
            at->why = "too_long";
            continue;
        }
        s->cx.keep = cs_memory_checkpoint_blocks(&j->a->memory);
        at->n_bytes = cs_plan_memory(s, n, 1, cs_depth(n), pass == STEP);
        if (at->n_bytes > j->a->max_memory || expected > j->a->max_seconds) {
            at->why = at->n_bytes > j->a->max_memory ? "too_large" : "too_slow";
            expected *= ratio;
            continue;
        }
        CS_TRY(fill_batch(j, m, n));
        CS_TRY(time_passes(j, s, pass, &at->seconds));
        /* No encoder is worse than quadratic: a larger ratio is noise of the machine. */
        ratio = isfinite(last) ? fmin(4, fmax(2, at->seconds / last)) : 2;
        last = at->seconds;
        expected = last * ratio;
    }
out:
    return rc;
}

/* Two models: the one for inference caches values derived from its weights, as in use. */
static int measure_passes(struct job *j, struct subject *s)
{
    int rc = CS_OK;
    static const cs_label label[2] = { { .name = (char *)"a" }, { .name = (char *)"b" } };
    cs_model *m = NULL;

    for (int pass = 0; pass < N_PASS; pass++) {
        const cs_model_spec spec = {
            .tok = j->tok, .tok_cfg = j->tok_cfg, .enc = s->enc, .enc_cfg = s->cfg,
            .head = j->head, .head_cfg = j->head_cfg, .label = label, .n_label = 2,
            .seed = (uint64_t)j->a->seed, .training = pass == STEP,
        };
        CS_TRY(cs_model_new(&spec, j->be, &m));
        s->width = m->width;
        s->n_param = count_parameters(&m->ps);
        cs_session *session = cs_session_new(m, j->be);
        rc = bench_measure(j, session, pass, s->at[pass]);
        cs_session_free(session);
        cs_model_free(m);
        m = NULL;
        CS_TRY(rc);
    }
out:
    cs_model_free(m);
    return rc;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The slope of log y over log n by least squares, over the upper half of the known values (y >
 * 0). */
static double exponent(const struct job *j, const double *y)
{
    double x[MAX_LENGTHS], v[MAX_LENGTHS], sx = 0, sy = 0, sxx = 0, sxy = 0;
    int n = 0, k = 0;

    for (int i = 0; i < j->n_len; i++) {
        if (!(y[i] > 0))
            continue;
        x[n] = log2((double)j->len[i]);
        v[n++] = log2(y[i]);
    }
    for (int i = n / 2; i < n; i++, k++) {
        sx += x[i];
        sy += v[i];
        sxx += x[i] * x[i];
        sxy += x[i] * v[i];
    }
    return k < 2 ? NAN : (k * sxy - sx * sy) / (k * sxx - sx * sx);
}

static int write_lengths(struct job *j, const struct subject *s)
{
    int rc = CS_OK;

    for (int i = 0; i < j->n_len; i++) {
        CS_TRY(cs_outfile_printf(j->out, "%s\t%d\t%lld\t%lld", s->name, (int)s->width,
                                 (long long)s->n_param, (long long)j->len[i]));
        for (int pass = 0; pass < N_PASS; pass++) {
            const struct point *p = &s->at[pass][i];
            if (p->why != NULL)
                CS_TRY(cs_outfile_printf(j->out, "\t%s", p->why));
            else
                CS_TRY(cs_outfile_printf(j->out, "\t%.6f", p->seconds));
            if (p->n_bytes > 0)
                CS_TRY(cs_outfile_printf(j->out, "\t%lld", (long long)p->n_bytes));
            else
                CS_TRY(cs_outfile_printf(j->out, "\t."));
        }
        CS_TRY(cs_outfile_printf(j->out, "\n"));
    }
out:
    return rc;
}

static int write_exponents(struct job *j, const struct subject *s)
{
    int rc = CS_OK;
    double y[2][MAX_LENGTHS];

    CS_TRY(cs_outfile_printf(j->out, "%s\t%d\t%lld\texponent", s->name, (int)s->width,
                             (long long)s->n_param));
    for (int pass = 0; pass < N_PASS; pass++) {
        for (int i = 0; i < j->n_len; i++) {
            y[0][i] = s->at[pass][i].seconds;
            y[1][i] = (double)s->at[pass][i].n_bytes;
        }
        for (int k = 0; k < 2; k++) {
            const double e = exponent(j, y[k]);
            CS_TRY(isfinite(e) ? cs_outfile_printf(j->out, "\t%.3f", e)
                               : cs_outfile_printf(j->out, "\t."));
        }
    }
    rc = cs_outfile_printf(j->out, "\n");
out:
    return rc;
}

static int bench_one(struct job *j, const char *name)
{
    int rc = CS_OK;
    struct subject *s = cs_xcalloc(1, sizeof *s);
    const double start = cs_now_s();

    CS_TRY(subject_init(s, name, j->a->width));
    CS_TRY(measure_passes(j, s));
    CS_TRY(write_lengths(j, s));
    CS_TRY(write_exponents(j, s));
    CS_TRY(cs_outfile_flush(j->out));
    cs_info("%s: %.1f s", name, cs_now_s() - start);
out:
    subject_release(s);
    free(s);
    return rc;
}

static int bench_all(struct job *j)
{
    int rc = CS_OK;
    const cs_encoder *e;

    for (int i = 0; i < j->a->encoder.n; i++)
        CS_TRY(bench_one(j, j->a->encoder.v[i]));
    for (int i = 0; j->a->encoder.n == 0 && (e = cs_encoder_at(i)) != NULL; i++)
        CS_TRY(bench_one(j, e->name));
out:
    return rc;
}

static int open_job(struct job *j)
{
    int rc = CS_OK;

    if (j->a->min_len > j->a->max_len)
        return cs_fail(CS_EUSAGE, "--min-len %lld is longer than --max-len %lld",
                       (long long)j->a->min_len, (long long)j->a->max_len);
    for (int64_t n = j->a->min_len; n <= j->a->max_len; n *= 2)
        j->len[j->n_len++] = n;
    j->tok = cs_tokenizer_find("base");
    j->head = cs_head_find("class");
    CS_BUG(j->tok == NULL || j->head == NULL);
    j->tok_cfg = cs_opt_new(j->tok->opt, j->tok->cfg_size);
    j->head_cfg = cs_opt_new(j->head->opt, j->head->cfg_size);
    j->batch = cs_batch_new(0, 1);
    CS_TRY(cs_device_open(&j->a->device, (int)j->a->compute.threads, &j->be));
    CS_TRY(cs_outfile_open_as(j->a->output, NULL, CS_OUT_TABLE, &j->out));
    rc = cs_outfile_printf(j->out, "encoder\twidth\tparameters\tlength\tforward_s\tforward_bytes\t"
                           "step_s\tstep_bytes\n");
out:
    return rc;
}

int cs_bench_encoders(const cs_bench_args *a)
{
    int rc = CS_OK;
    struct job j = { .a = a };

    CS_TRY(open_job(&j));
    CS_TRY(bench_all(&j));
out:
    rc = cs_outfile_end(j.out, rc);
    cs_batch_free(j.batch);
    cs_backend_close(j.be);
    free(j.tok_cfg);
    free(j.head_cfg);
    return rc;
}
