/*
 * fuzz_model.c - model files from arbitrary bytes: no crash; accepted models can be written and
 * read back.
 *
 * DESIGN
 * Before parsing, the checksum in the description, if any, is corrected: no fuzzer guesses SHA-256,
 * and the code behind that check needs fuzzing. An accepted model predicts (or gives a reason), and
 * is saved and loaded again with the same weights and description.
 */
#define _GNU_SOURCE              /* memmem */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/sha256.h"
#include "infer/taxa.h"
#include "nn/exec/safetensors.h"
#include "nn/exec/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static cs_backend *be;
static char path[] = "/tmp/chordseq_fuzz_XXXXXX";

static void remove_file(void)
{
    unlink(path);
}

static void start(void)
{
    int fd = mkstemp(path);
    CS_BUG(fd < 0 || cs_cpu_init() != CS_OK || cs_backend_open("cpu", 1, &be) != CS_OK);
    close(fd);
    atexit(remove_file);
}

/* Write the true checksum over the first one that the header names. */
static void mend_checksum(uint8_t *p, size_t n)
{
    static const char key[] = "\\\"sha256\\\":\\\"";
    char hex[65];
    uint64_t length = 0;
    cs_sha256 s;

    for (int i = 7; n >= 8 && i >= 0; i--)
        length = length << 8 | p[i];
    if (n < 8 || length > n - 8)
        return;
    uint8_t *at = memmem(p + 8, length, key, strlen(key));
    if (!at || (size_t)(p + 8 + length - at) < strlen(key) + 64)
        return;
    cs_sha256_init(&s);
    cs_sha256_add(&s, p + 8 + length, n - 8 - length);
    cs_sha256_hex(&s, hex);
    memcpy(at + strlen(key), hex, 64);
}

/* Every tensor's elements are inside the file; reading the ends would fault otherwise. */
static void check_tensors(const uint8_t *p, size_t n)
{
    cs_safetensors *s;
    const cs_tensor *t;

    if (cs_safetensors_parse(p, n, "input", &s) != CS_OK) {
        CS_BUG(!*cs_error_message());
        cs_error_clear();
        return;
    }
    for (size_t i = 0; (t = cs_safetensors_at(s, i)) != NULL; i++) {
        CS_BUG(cs_safetensors_find(s, t->name) != t);
        if (t->n > 0)
            (void)(cs_tensor_get(t, 0) + cs_tensor_get(t, t->n - 1));
    }
    cs_safetensors_close(s);
}

static void check_output(cs_model *m)
{
    static const int32_t id[3] = { 2, 1, 5 };
    float *x = cs_xcalloc((size_t)m->n_channel * 3 + 1, sizeof *x);
    float *out = cs_xcalloc((size_t)cs_model_output_len(m, CS_HEAD_PREDICTION, 3) + 1, sizeof *out);
    cs_batch *b = cs_batch_new(m->n_channel, 0);

    CS_BUG(cs_batch_append(b, m->tok ? id : NULL, m->tok ? NULL : x, 3, NULL, (cs_slot){ 0 })
           != CS_OK);
    cs_session *s = cs_session_new(m, be);
    int rc = cs_session_predict(s, b, out);
    CS_BUG(rc != CS_OK && !*cs_error_message());
    cs_error_clear();
    cs_session_free(s);
    cs_batch_free(b);
    free(out);
    free(x);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_saved(cs_model *m)
{
    cs_model *q = NULL;
    char sum[65];

    CS_BUG(cs_model_save(m, path) != CS_OK);
    memcpy(sum, m->sum, sizeof sum);
    CS_BUG(cs_model_load(path, be, CS_USE_INFERENCE, &q) != CS_OK);
    CS_BUG(strcmp(sum, q->sum) != 0 || m->tok != q->tok || m->enc != q->enc || m->head != q->head);
    CS_BUG(m->n_label != q->n_label || m->n_channel != q->n_channel);
    CS_BUG(!same_text(m->training, q->training) || !same_text(m->taxonomy, q->taxonomy));
    for (int32_t i = 0; i < m->n_label; i++)
        CS_BUG(strcmp(m->label[i].name, q->label[i].name) != 0
               || !same_text(m->label[i].rank, q->label[i].rank)
               || m->label[i].taxid != q->label[i].taxid);
    CS_BUG(memcmp(m->ps.value, q->ps.value, (size_t)m->ps.n_real * sizeof *m->ps.value) != 0);
    cs_model_free(q);
}

static void check_taxonomy(const cs_model *m)
{
    cs_taxonomy *t = NULL;
    const int rc = cs_taxa_of(m, "input", &t);

    CS_BUG((rc == CS_OK) != (t != NULL) || (rc != CS_OK && !*cs_error_message()));
    for (int32_t i = 0; t && i < m->n_label; i++)
        CS_BUG(t->node[t->of_class[i]].taxid < 1 || cs_taxonomy_ncbi(t, t->of_class[i]) < 0);
    cs_error_clear();
    cs_taxonomy_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_model *m = NULL;
    uint8_t *p = cs_xmalloc(n_bytes);

    if (!be)
        start();
    if (n_bytes)
        memcpy(p, data, n_bytes);
    check_tensors(p, n_bytes);
    mend_checksum(p, n_bytes);
    int rc = cs_model_parse(p, n_bytes, "input", be, CS_USE_INFERENCE, &m);
    CS_BUG((rc == CS_OK) != (m != NULL) || (rc != CS_OK && !*cs_error_message()));
    cs_error_clear();
    if (m) {
        CS_BUG(cs_proteins_need_index(m->proteins, 1) != CS_OK);
        check_output(m);
        check_saved(m);
        check_taxonomy(m);
    }
    cs_model_free(m);
    free(p);
    return 0;
}
