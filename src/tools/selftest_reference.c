/*
 * selftest_reference.c - compare this machine's results with installed reference results.
 *
 * DESIGN
 * Vectors are installed with the program (refdata/selftest): a small model per encoder with its
 * predictions and gradients in double precision, and sequences with the default model's
 * probabilities. All are computed on every device, on the CPU once per instruction set
 * (base/cpu.h), so every level that other commands use is tested. The small models test the
 * networks alone, the default model the stages of classify, selftest_rows.c a GPU's kernels for
 * large batches.
 */
#include "tools/selftest_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/data.h"
#include "base/file.h"
#include "base/signals.h"
#include "infer/policy.h"
#include "infer/stream.h"
#include "nn/exec/safetensors.h"
#include "registry.h"
#include "tools/selftest_pass.h"
#include "tools/selftest_rows.h"

enum { PATH_BYTES = 4096, LEVEL_BYTES = 64, MAX_TABLE = 16 << 20, N_LETTER = 5 };

/* Tolerances relative to the largest value: in single precision those of the golden test, in others
 * of their rounding. Probabilities of the default model have six decimals. tol_rows: of gradients
 * in bf16, of networks of many blocks. */
static const double tol_output[] = { [CS_IN_FP32] = 1e-4, [CS_IN_TF32] = 5e-3,
                                     [CS_IN_BF16] = 2e-2 };
static const double tol_gradient = 1e-3, tol_probability = 1e-4, tol_rows = 5e-2;

#define OWN(field) .off = offsetof(cs_selftest_args, field)

const cs_opt cs_selftest_table[] = {
    { .type = CS_OPT_GROUP, .name = "Self-test" },
    { .type = CS_OPT_IN, .name = "vectors", OWN(vectors), .arg = "DIR",
      .help = "folder with reference vectors (default: the installed one)" },
    { .type = CS_OPT_IN, .letter = 'm', .name = "model", OWN(model), .arg = "FILE",
      .help = "default model to check (default: the installed one)" },
    { .type = CS_OPT_END }
};

struct job {
    const cs_selftest_args *a;
    char            folder[PATH_BYTES], model[PATH_BYTES];
    cs_model       *loaded;      /* the default model, whose proteins are indexed once, before it
                                  * is copied to each device; NULL: not yet */
    cs_backend     *host;        /* its backend */
    cs_safetensors *predictions;
    int32_t        *token;
    int64_t        *length;
    int             n_record, n_thread;
    const char     *device;      /* device of the present lines */
    char            level[LEVEL_BYTES];
    int             n_line, n_failed;
};

/* A line of the output. NaN counts as the worst error. */
static void print_result(struct job *j, const char *name, double error, double limit)
{
    const bool good = error <= limit;

    printf("%s\t%s\t%s\t%.2e\t%s\n", name, j->device, j->level, error, good ? "ok" : "FAILED");
    j->n_line++;
    j->n_failed += !good;
}

/* A failed computation: log the reason and continue, unless a signal ended it. */
static int print_failure(struct job *j, const char *name)
{
    if (cs_signal_caught() != 0)
        return CS_ECANCEL;
    cs_warn("%s on %s, %s: %s", name, j->device, j->level, cs_error_message());
    cs_error_clear();
    print_result(j, name, NAN, 0);
    return CS_OK;
}

static double worse(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

/* ---- encoders -------------------------------------------------------------------------------- */

static const cs_tensor *find(const struct job *j, const char *name, const char *what, int64_t n)
{
    char text[256];

    (void)snprintf(text, sizeof text, "%s.%s", name, what);
    const cs_tensor *t = cs_safetensors_find(j->predictions, text);
    if (!t || (n > 0 && t->n != n)) {
        (void)cs_fail(CS_EFORMAT, "the vectors in '%s' have no valid '%s'; reinstall them",
                      j->folder, text);
        return NULL;
    }
    return t;
}

static double output_error(const cs_tensor *want, const float *got)
{
    double max = 0, scale = 0;

    for (int64_t i = 0; i < want->n; i++) {
        const double w = cs_tensor_get(want, i);
        max = worse(fabs((double)got[i] - w), max);
        scale = fmax(scale, fabs(w));
    }
    return max / scale;
}

static int compare(struct job *j, const char *name, cs_model *m, const cs_batch *b)
{
    int rc = CS_OK;
    char gradients[128];
    const int64_t n = (int64_t)j->n_record * m->n_label;
    const cs_tensor *output = find(j, name, "prediction", n);
    const cs_tensor *gradient = find(j, name, "gradient", 2 * (int64_t)m->ps.n);
    float *got = cs_xcalloc((size_t)n, sizeof *got);
    cs_projection *grad = cs_xcalloc(2 * (size_t)m->ps.n, sizeof *grad), *want = grad + m->ps.n;
    cs_session *s = cs_session_new(m, m->be);

    if (!output || !gradient) {
        rc = CS_EFORMAT;
        goto out;
    }
    CS_TRY(cs_session_predict(s, b, got));
    print_result(j, name, output_error(output, got), tol_output[m->be->precision]);
    if (m->be->precision != CS_IN_FP32)
        goto out;
    CS_TRY(cs_selftest_train(s, b, grad));
    for (int32_t i = 0; i < m->ps.n; i++)
        want[i] = (cs_projection){ cs_tensor_get(gradient, 2 * i),
                                   cs_tensor_get(gradient, 2 * i + 1) };
    (void)snprintf(gradients, sizeof gradients, "%s-gradient", name);
    print_result(j, gradients, cs_projection_error(want, grad, m->ps.n), tol_gradient);
out:
    cs_session_free(s);
    free(grad);
    free(got);
    return rc;
}

static int test_encoder(struct job *j, const char *name, cs_backend *be)
{
    int rc = CS_OK;
    char path[PATH_BYTES + 128];
    cs_model *m = NULL;
    cs_batch *b = NULL;

    (void)snprintf(path, sizeof path, "%s/%s.safetensors", j->folder, name);
    CS_TRY(cs_model_load(path, be, CS_USE_TRAINING, &m));
    b = cs_selftest_batch(m, j->token, j->length, j->n_record);
    if (!b)
        rc = cs_fail(CS_EMEM, "out of memory for %d records", j->n_record);
    else
        rc = compare(j, name, m, b);
out:
    cs_batch_free(b);
    cs_model_free(m);
    return rc;
}

/* An encoder added locally has no vectors. */
static int test_encoders(struct job *j, cs_backend *be)
{
    int rc = CS_OK;
    const cs_encoder *enc;
    char output[256];

    for (int i = 0; (enc = cs_encoder_at(i)) != NULL; i++) {
        CS_TRY(cs_signal_caught() ? CS_ECANCEL : CS_OK);
        (void)snprintf(output, sizeof output, "%s.prediction", enc->name);
        if (!cs_safetensors_find(j->predictions, output))
            cs_warn("no vectors for the encoder '%s'", enc->name);
        else if (test_encoder(j, enc->name, be) != CS_OK)
            CS_TRY(print_failure(j, enc->name));
    }
out:
    return rc;
}

/* ---- the default model ----------------------------------------------------------------------- */

/* The expected table, in the format of classify --all, and the position of the comparison. */
struct table { char *text, *at; int n_record; double error; };

/* The next field of the line, NUL-terminated; NULL at its end. */
static char *field(char **line)
{
    char *f = *line;

    if (!f)
        return NULL;
    *line = strchr(f, '\t');
    if (*line)
        *(*line)++ = '\0';
    return f;
}

static int compare_record(void *arg, const cs_record *r, const cs_prediction *a)
{
    struct table *t = arg;
    char *line = t->at, *next = line ? strchr(line, '\n') : NULL, *f;

    if (!next)
        return cs_fail(CS_EFORMAT, "record '%s' is missing in the table of expected predictions",
                       r->name);
    *next = '\0';
    t->at = next + 1;
    t->n_record++;
    const char *name = field(&line);
    for (int k = 0; k < 3; k++)
        (void)field(&line);                    /* length, label, probability: columns before the
                                                * classes */
    const char *reason = field(&line);
    if (!reason || strcmp(name, r->name) != 0 || strcmp(reason, cs_reason_name(a->reason)) != 0)
        return cs_fail(CS_EFORMAT, "record '%s' has reason '%s', unlike the table", r->name,
                       cs_reason_name(a->reason));
    if (a->reason != CS_REASON_NONE)
        return CS_OK;
    for (int64_t i = 0; i < a->n; i++) {
        f = field(&line);
        t->error = worse(f ? fabs(strtod(f, NULL) - (double)a->v[i]) : NAN, t->error);
    }
    return CS_OK;
}

static int read_table(const struct job *j, const char *sum, struct table *t)
{
    int rc = CS_OK;
    char path[PATH_BYTES + 32], *eol;
    size_t n;

    (void)snprintf(path, sizeof path, "%s/sequences.tsv", j->folder);
    CS_TRY(cs_file_read(path, MAX_TABLE, &t->text, &n));
    /* "# model SHA-256", then the names of the columns. */
    if (strncmp(t->text, "# model ", 8) != 0 || !(eol = strchr(t->text, '\n')))
        return cs_fail(CS_EFORMAT, "'%s' does not begin with the checksum of a model", path);
    *eol = '\0';
    if (strcmp(t->text + 8, sum) != 0)
        return cs_fail(CS_EMODEL, "'%s' is not the model installed with '%s'", j->model,
                       path);
    t->at = strchr(eol + 1, '\n');
    t->at = t->at ? t->at + 1 : NULL;
out:
    return rc;
}

static int classify(struct job *j, cs_model *m, struct table *t)
{
    int rc = CS_OK;
    char path[PATH_BYTES + 32];
    const char *const paths[] = { path };
    const cs_policy_args usual = { .max_unknown = 1 };
    const cs_input_opt input_opt = { .alphabet = cs_tokenizer_alphabet(m->tok, m->tok_state) };
    cs_policy policy;
    cs_inputs *in = NULL;
    cs_stream_stat stat;

    (void)snprintf(path, sizeof path, "%s/sequences.fa", j->folder);
    CS_TRY(cs_policy_init(&policy, &usual, NULL, m));
    CS_TRY(cs_inputs_open(paths, 1, &input_opt, &in));
    const cs_stream s = { .in = in, .model = m, .policy = &policy, .batch_tokens = 1 << 14,
                          .window = 8, .n_thread = j->n_thread, .sink = compare_record, .arg = t };
    CS_TRY(cs_stream_run(&s, &stat));
    if (t->n_record == 0 || *t->at != '\0')
        rc = cs_fail(CS_EFORMAT, "'%s' has %d records, but the table of expected predictions "
                     "differs", path, t->n_record);
out:
    cs_inputs_close(in);
    return rc;
}

static int test_default(struct job *j, cs_backend *be)
{
    int rc = CS_OK;
    cs_model *m = NULL;
    struct table t = { .text = NULL };

    if (!j->loaded) {
        CS_TRY(cs_backend_open("cpu", 1, &j->host));
        CS_TRY(cs_model_load(j->model, j->host, CS_USE_INFERENCE, &j->loaded));
        CS_TRY(cs_proteins_need_index(j->loaded->proteins, j->n_thread));
    }
    CS_TRY(cs_model_copy(j->loaded, be, &m));
    CS_TRY(read_table(j, m->sum, &t));
    CS_TRY(classify(j, m, &t));
    print_result(j, "default-model", t.error, tol_probability);
out:
    free(t.text);
    cs_model_free(m);
    return rc;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Kernels that take batches of many rows only, on devices that have such. */
static int test_rows(struct job *j, cs_backend *be)
{
    double output, gradient;

    if (cs_selftest_rows(be, &output, &gradient) != CS_OK)
        return print_failure(j, "many-rows");
    print_result(j, "many-rows", output, tol_output[be->precision]);
    print_result(j, "many-rows-gradient", gradient, tol_rows);
    return CS_OK;
}

/* Below single precision the encoders alone: calls of the default model depend on the last
 * digits. */
static int test_device(struct job *j, const char *device, cs_precision precision)
{
    int rc = CS_OK;
    cs_backend *be = NULL;

    CS_TRY(cs_backend_open(device, j->n_thread, &be));
    CS_TRY(cs_backend_compute_in(be, precision));
    j->device = be->name;
    CS_TRY(test_encoders(j, be));
    if (precision == CS_IN_FP32 && test_default(j, be) != CS_OK)
        CS_TRY(print_failure(j, "default-model"));
    if (precision == CS_IN_BF16 && be->full_rows > 0)
        CS_TRY(test_rows(j, be));
out:
    cs_backend_close(be);
    return rc;
}

/* Does the device compute in this precision? */
static bool can_compute_in(cs_backend *be, cs_precision p)
{
    const bool can = cs_backend_compute_in(be, p) == CS_OK;
    if (!can)
        cs_error_clear();
    return can;
}

/* The GPU that "auto" is, if there is one. */
static int test_gpu(struct job *j)
{
    int rc = CS_OK;
    static const char *const name[] = { "-", "tf32", "bf16" };
    bool can[CS_IN_BF16 + 1];
    cs_backend *be = NULL;

    CS_TRY(cs_backend_open("auto", 1, &be));
    const bool is_gpu = strcmp(be->name, "cpu") != 0;
    for (int p = CS_IN_FP32; p <= CS_IN_BF16; p++)
        can[p] = is_gpu && can_compute_in(be, (cs_precision)p);
    cs_backend_close(be);
    for (int p = CS_IN_FP32; p <= CS_IN_BF16; p++) {
        (void)snprintf(j->level, sizeof j->level, "%s", name[p]);
        if (can[p])
            CS_TRY(test_device(j, "auto", (cs_precision)p));
    }
out:
    return rc;
}

static int test_all(struct job *j)
{
    int rc = CS_OK;

    for (int i = 0; cs_cpu_level(i, j->level, sizeof j->level); i++)
        CS_TRY(test_device(j, "cpu", CS_IN_FP32));
    for (int i = 0; i < 2; i++) {
        const unsigned bit = i == 0 ? CS_CPU_BF16 : CS_CPU_AMX;
        cs_cpu_hide(i == 0 ? CS_CPU_AMX : 0);
        (void)snprintf(j->level, sizeof j->level, "%s", i == 0 ? "bf16" : "amx");
        if (cs_cpu_has(bit))
            CS_TRY(test_device(j, "cpu", CS_IN_BF16));
    }
    CS_TRY(test_gpu(j));
out:
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int read_input(struct job *j)
{
    const cs_tensor *token = find(j, "input", "token", 0), *length = find(j, "input", "length", 0);
    int64_t sum = 0;

    if (!token || !length)
        return CS_EFORMAT;
    j->n_record = (int)length->n;
    j->token = cs_xcalloc((size_t)token->n, sizeof *j->token);
    j->length = cs_xcalloc((size_t)length->n, sizeof *j->length);
    bool good = length->n > 0;
    for (int64_t i = 0; i < length->n; i++) {
        sum += j->length[i] = (int64_t)cs_tensor_get(length, i);
        good &= j->length[i] > 0 && j->length[i] <= token->n
             && cs_depth(j->length[i]) == cs_depth(j->length[0]);
    }
    for (int64_t i = 0; i < token->n; i++) {
        j->token[i] = (int32_t)cs_tensor_get(token, i);
        good &= j->token[i] >= 0 && j->token[i] <= N_LETTER;
    }
    if (good && sum == token->n)
        return CS_OK;
    return cs_fail(CS_EFORMAT, "the vectors in '%s' are damaged; reinstall them", j->folder);
}

static int selftest_prepare(struct job *j)
{
    int rc = CS_OK;
    char path[PATH_BYTES + 32];

    if (j->a->vectors)
        (void)snprintf(j->folder, sizeof j->folder, "%s", j->a->vectors);
    else if (!cs_data_find("selftest", j->folder, sizeof j->folder))
        return cs_fail(CS_EIO, "no vectors at '%s'; give a folder with --vectors",
                       j->folder);
    if (j->a->model)
        CS_TRY(cs_model_find_default(j->a->model, j->model, sizeof j->model));
    else if (!cs_data_find("model/default.safetensors", j->model, sizeof j->model))
        return cs_fail(CS_EMODEL, "no model at '%s'; give one with --model", j->model);
    (void)snprintf(path, sizeof path, "%s/predictions.safetensors", j->folder);
    CS_TRY(cs_safetensors_open(path, &j->predictions));
    CS_TRY(read_input(j));
out:
    return rc;
}

int cs_selftest(const cs_selftest_args *a)
{
    int rc = CS_OK;
    struct job j = { .a = a };

    j.n_thread = cs_args_threads(&a->compute).work;
    CS_TRY(selftest_prepare(&j));
    CS_TRY(test_all(&j));
    if (j.n_failed)
        rc = cs_fail(CS_EDEVICE, "%d of %d comparisons failed: results of this machine with that "
                     "backend and level are wrong; CHORDSEQ_DISABLE turns levels off",
                     j.n_failed, j.n_line);
out:
    cs_model_free(j.loaded);
    cs_backend_close(j.host);
    cs_safetensors_close(j.predictions);
    free(j.token);
    free(j.length);
    return rc;
}
