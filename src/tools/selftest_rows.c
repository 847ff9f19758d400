/*
 * selftest_rows.c - a device's kernels for many rows beside the ops that they replace.
 *
 * DESIGN
 * A GPU has other kernels for batches that fill it than for the few tokens of the installed
 * vectors. No reference results exist for so many tokens, whose number follows from the device, so
 * a network with random weights is computed twice on the device itself.
 */
#include "tools/selftest_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "registry.h"
#include "tools/selftest_pass.h"

enum { N_LABEL = 3, N_RECORD = 3, SHORTER = 7, HIDDEN = 128, TRACK = 16, N_BASE = 4 };

/* A ChordMixer for records of n tokens, with wide blocks. */
static int make_model(cs_backend *be, int64_t n, cs_model **out)
{
    int rc = CS_OK;
    static const cs_label label[N_LABEL] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };
    const cs_encoder *enc = cs_encoder_find("chordmixer");
    const cs_tokenizer *tok = cs_tokenizer_find("base");
    const cs_head *head = cs_head_find("class");
    void *enc_cfg = cs_opt_new(enc->opt, enc->cfg_size);
    void *tok_cfg = cs_opt_new(tok->opt, tok->cfg_size);
    void *head_cfg = cs_opt_new(head->opt, head->cfg_size);
    const struct { const char *name; int64_t value; } set[] = {
        { "max-len", n }, { "track", TRACK }, { "hidden", HIDDEN }
    };
    const cs_model_spec spec = { .tok = tok, .enc = enc, .head = head, .tok_cfg = tok_cfg,
                                 .enc_cfg = enc_cfg, .head_cfg = head_cfg, .label = label,
                                 .n_label = N_LABEL, .seed = 1, .training = true };

    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%lld", (long long)set[i].value);
        CS_TRY(cs_opt_set(enc->opt, enc_cfg, set[i].name, text));
    }
    CS_TRY(cs_model_new(&spec, be, out));
out:
    free(enc_cfg);
    free(tok_cfg);
    free(head_cfg);
    return rc;
}

/* Records of n tokens and a few less, of one depth; NULL: no memory. */
static cs_batch *make_batch(const cs_model *m, int64_t n)
{
    int64_t length[N_RECORD], n_token = 0;
    cs_batch *b;

    for (int i = 0; i < N_RECORD; i++)
        n_token += length[i] = n - SHORTER * i;
    int32_t *token = cs_alloc((size_t)n_token, sizeof *token);
    if (!token)
        return NULL;
    for (int64_t i = 0; i < n_token; i++)
        token[i] = (int32_t)cs_rng_below(1, (uint64_t)i, N_BASE);
    b = cs_selftest_batch(m, token, length, N_RECORD);
    free(token);
    return b;
}

/* Predictions and gradients of one way. */
struct results { float predicted[N_RECORD * N_LABEL]; cs_projection *grad; };

static int compute(cs_session *s, const cs_batch *b, bool fused, struct results *out)
{
    int rc = CS_OK;

    s->cx.no_fused = !fused;
    CS_TRY(cs_session_predict(s, b, out->predicted));
    CS_TRY(cs_selftest_train(s, b, out->grad));
out:
    return rc;
}

int cs_selftest_rows(cs_backend *be, double *output, double *gradient)
{
    int rc = CS_OK;
    int64_t n = be->full_rows / N_RECORD + SHORTER * N_RECORD;
    cs_model *m = NULL;
    cs_session *s = NULL;
    cs_batch *b = NULL;
    struct results plain = { .grad = NULL }, fused = { .grad = NULL };
    double max = 0, scale = 0;

    if (cs_depth(n) != cs_depth(n - SHORTER * N_RECORD))
        n += SHORTER * N_RECORD;
    CS_TRY(make_model(be, n, &m));
    plain.grad = cs_xcalloc((size_t)m->ps.n, sizeof *plain.grad);
    fused.grad = cs_xcalloc((size_t)m->ps.n, sizeof *fused.grad);
    b = make_batch(m, n);
    if (!b) {
        rc = cs_fail(CS_EMEM, "out of memory for %lld tokens", (long long)n * N_RECORD);
        goto out;
    }
    s = cs_session_new(m, be);
    CS_TRY(compute(s, b, false, &plain));
    CS_TRY(compute(s, b, true, &fused));
    for (int i = 0; i < N_RECORD * N_LABEL; i++) {
        const double off = fabs((double)fused.predicted[i] - (double)plain.predicted[i]);
        max = isnan(off) || off > max ? off : max;
        scale = fmax(scale, fabs((double)plain.predicted[i]));
    }
    *output = max / scale;
    *gradient = cs_projection_error(plain.grad, fused.grad, m->ps.n);
out:
    cs_session_free(s);
    cs_batch_free(b);
    free(plain.grad);
    free(fused.grad);
    cs_model_free(m);
    return rc;
}
