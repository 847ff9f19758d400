/*
 * make_selftest.c - the vectors of `chordseq selftest`: small models, with their predictions
 * and gradients in double precision.
 *
 *     make_selftest FOLDER
 *
 * Writes one model per encoder, and predictions.safetensors with the tokens, predictions and
 * gradients of all. It is built with the reference kernels in double precision, which the golden
 * test holds to the original implementations; weights are those that float32 can store.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/rng.h"
#include "nn/exec/safetensors.h"
#include "registry.h"
#include "tools/selftest_pass.h"

enum { N_LABEL = 3, N_RECORD = 6, N_TOKEN = 1146, MAX_TENSORS = 64, PATH_BYTES = 4096 };

/* Of one depth, so that one batch holds all; few are multiples of a vector register. */
static int64_t length[N_RECORD] = { 129, 150, 177, 201, 233, 256 };

static const char *const setting[][2] = {
    { "max-len", "256" }, { "track", "4" }, { "hidden", "40" }, { "channels", "20" },
    { "input", "20" }, { "layers", "2" }, { "dim", "20" }, { "heads", "2" }, { "k", "5" },
    { "rank", "5" }, { "units", "3" }, { "ortho", "0.1" }, { "gamma", "0.3" },
};

/* Everything to write. Memory is not freed, because the program ends soon. */
static cs_tensor all[MAX_TENSORS];
static size_t n_all;
static int32_t token[N_TOKEN];

static void add(const char *encoder, const char *what, cs_dtype dtype, cs_shape shape,
                const void *data)
{
    const size_t size = strlen(encoder) + strlen(what) + 2;
    char *name = cs_xmalloc(size);

    CS_BUG(n_all == MAX_TENSORS);
    (void)snprintf(name, size, "%s.%s", encoder, what);
    all[n_all++] = (cs_tensor){ name, dtype, shape,
                                shape.dim[0] * (shape.n_dim == 2 ? shape.dim[1] : 1), data };
}

static int save_model(const cs_encoder *enc, cs_backend *be, const char *path)
{
    int rc = CS_OK;
    static const cs_label label[N_LABEL] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };
    cs_model_spec s = { .tok = cs_tokenizer_find("base"), .enc = enc,
                        .head = cs_head_find("class"), .label = label, .n_label = N_LABEL,
                        .seed = 7 };
    cs_model *m = NULL;
    void *enc_cfg = cs_xcalloc(1, enc->cfg_size), *tok_cfg = cs_xcalloc(1, s.tok->cfg_size + 1);
    void *head_cfg = cs_xcalloc(1, s.head->cfg_size + 1);
    const cs_optset sets[] = { { enc->opt, enc_cfg, NULL }, { s.tok->opt, tok_cfg, NULL },
                               { s.head->opt, head_cfg, NULL } };

    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (sets[i].opt)
            cs_opt_defaults((const cs_optset[]){ sets[i], { 0 } });
    for (size_t i = 0; i < sizeof setting / sizeof *setting; i++)
        if (cs_opt_find(enc->opt, setting[i][0]))
            CS_TRY(cs_opt_set(enc->opt, enc_cfg, setting[i][0], setting[i][1]));
    s.enc_cfg = enc_cfg;
    s.tok_cfg = tok_cfg;
    s.head_cfg = head_cfg;
    CS_TRY(cs_model_new(&s, be, &m));
    CS_TRY(cs_model_save(m, path));
out:
    cs_model_free(m);
    free(enc_cfg);
    free(tok_cfg);
    free(head_cfg);
    return rc;
}

static int compute(const cs_encoder *enc, cs_backend *be, const char *path)
{
    int rc = CS_OK;
    cs_model *m = NULL;
    cs_session *s = NULL;
    cs_batch *b = NULL;
    float *output = cs_xcalloc(N_RECORD, N_LABEL * sizeof *output);

    CS_TRY(cs_model_load(path, be, CS_USE_TRAINING, &m));
    cs_projection *grad = cs_xcalloc((size_t)m->ps.n, sizeof *grad);
    b = cs_selftest_batch(m, token, length, N_RECORD);
    CS_BUG(!b);
    s = cs_session_new(m, be);
    /* Predictions first: with batch norm, a pass of training moves the running statistics. */
    CS_TRY(cs_session_predict(s, b, output));
    CS_TRY(cs_selftest_train(s, b, grad));
    add(enc->name, "prediction", CS_F32, cs_shape2(N_RECORD, N_LABEL), output);
    add(enc->name, "gradient", CS_F64, cs_shape2(m->ps.n, 2), grad);
    printf("%s: %lld parameters; predictions of the first record %.4f %.4f %.4f\n", enc->name,
           (long long)m->ps.n_real, (double)output[0], (double)output[1], (double)output[2]);
out:
    cs_batch_free(b);
    cs_session_free(s);
    cs_model_free(m);
    return rc;
}

static int write_outputs(const char *path)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open(path, &f));
    CS_TRY(cs_safetensors_write(f, all, n_all, NULL, 0));
    rc = cs_outfile_close(f);
    f = NULL;
out:
    cs_outfile_discard(f);
    return rc;
}

static int make(const char *folder)
{
    int rc = CS_OK;
    const cs_encoder *enc;
    cs_backend *be = NULL;
    char path[PATH_BYTES];

    CS_TRY(cs_cpu_init());
    CS_TRY(cs_backend_open("cpu", 1, &be));
    add("input", "token", CS_I32, cs_shape1(N_TOKEN), token);
    add("input", "length", CS_I64, cs_shape1(N_RECORD), length);
    for (int i = 0; (enc = cs_encoder_at(i)) != NULL; i++) {
        (void)snprintf(path, sizeof path, "%s/%s.safetensors", folder, enc->name);
        CS_TRY(save_model(enc, be, path));
        CS_TRY(compute(enc, be, path));
    }
    (void)snprintf(path, sizeof path, "%s/predictions.safetensors", folder);
    CS_TRY(write_outputs(path));
out:
    cs_backend_close(be);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        puts("usage: make_selftest FOLDER");
        return 2;
    }
    for (int i = 0; i < N_TOKEN; i++)
        token[i] = 1 + (int32_t)cs_rng_below(3, (uint64_t)i, 5);
    if (make(argv[1]) == CS_OK)
        return 0;
    cs_error("make_selftest: %s", cs_error_message());
    return 1;
}
