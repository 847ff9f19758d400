/* fuzz_import.c - checkpoints of other programs from arbitrary bytes: no crash, and no more memory
 * than the file suggests; an accepted one can be saved and loaded; a refusal has a message. */
#include <stdint.h>
#include <string.h>

#include "base/cpu.h"
#include "nn/exec/model_import.h"
#include "temp_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static cs_backend *be;

static void stop(void)
{
    cs_backend_close(be);
}

static void start(void)
{
    temp_start((const char *const[]){ "checkpoint", "model" });
    CS_BUG(cs_cpu_init() != CS_OK || cs_backend_open("cpu", 1, &be) != CS_OK);
    atexit(stop);
}

static void check_saved(cs_model *m)
{
    cs_model *q = NULL;

    if (cs_model_save(m, temp_path[1]) != CS_OK) {
        CS_BUG(*cs_error_message() == '\0');
        cs_error_clear();
        return;
    }
    CS_BUG(cs_model_load(temp_path[1], be, CS_USE_INFERENCE, &q) != CS_OK);
    CS_BUG(q->n_label != m->n_label || q->ps.n_real != m->ps.n_real);
    CS_BUG(memcmp(m->ps.value, q->ps.value, (size_t)m->ps.n_real * sizeof *m->ps.value) != 0);
    cs_model_free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *const alphabet[] = { "acgnt", "acgt", "" };

    if (!be)
        start();
    temp_put(0, data, n_bytes);
    for (size_t i = 0; i < sizeof alphabet / sizeof *alphabet; i++) {
        cs_model *m = NULL;
        const int rc = cs_model_import(temp_path[0], alphabet[i], be, &m);
        CS_BUG((rc == CS_OK) != (m != NULL) || (rc != CS_OK && *cs_error_message() == '\0'));
        cs_error_clear();
        if (m)
            CS_BUG(m->ps.n_real > 64 * (int64_t)(n_bytes + 64));
        if (m)
            check_saved(m);
        cs_model_free(m);
    }
    return 0;
}
