/*
 * fuzz_checkpoint.c - checkpoints of training from arbitrary bytes: no crash; one that is accepted
 * is accepted again after it was saved; a refusal has a message.
 *
 * DESIGN
 * The bytes get their length of the header and their checksum, which no fuzzer guesses: an input is
 * the header's JSON and, behind a form feed, the parameters.
 */
#include <stdint.h>
#include <zlib.h>

#include "base/cpu.h"
#include "nn/exec/safetensors.h"
#include "temp_files.h"
#include "train/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static const char recipe[] = "lr=0.001\nseed=1\n";
static cs_backend *be;

static void put_little_endian(char *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (char)(v >> 8 * i);
}

static void put_checkpoint(const uint8_t *data, size_t n_bytes)
{
    static const char magic[] = CS_CHECKPOINT_MAGIC;
    const uint8_t *end = n_bytes ? memchr(data, '\f', n_bytes) : NULL;
    const size_t n_head = end ? (size_t)(end - data) : n_bytes, n_magic = sizeof magic - 1;
    const size_t n_slab = n_bytes - n_head - (end != NULL), n = n_magic + 8 + n_head + n_slab;
    char *file = cs_xmalloc(n + 4);

    memcpy(file, magic, n_magic);
    put_little_endian(file + n_magic, n_head, 8);
    memcpy(file + n_magic + 8, data, n_head);
    memcpy(file + n_magic + 8 + n_head, data + n_bytes - n_slab, n_slab);
    put_little_endian(file + n, crc32_z(crc32_z(0, NULL, 0), (void *)file, n), 4);
    temp_put(0, file, n + 4);
    free(file);
}

static int load(bool save)
{
    cs_params ps;
    cs_train_state st;

    cs_params_init(&ps);
    cs_declare(&ps, cs_shape1(2), CS_INIT_ONE, 1, "a");
    cs_declare(&ps, cs_shape1(1), CS_INIT_ZERO, 1, "b");
    CS_BUG(cs_params_alloc(&ps, be, true) != CS_OK);
    cs_train_state_init(&st);
    const int rc = cs_checkpoint_load(temp_path[0], &ps, false, &st,
                                      &(cs_resume_rule){ .recipe = recipe });
    CS_BUG(rc != CS_OK && *cs_error_message() == '\0');
    cs_error_clear();
    if (save && rc == CS_OK)
        CS_BUG(cs_checkpoint_save(temp_path[0], &ps, false, &st, recipe) != CS_OK);
    cs_train_state_release(&st);
    cs_params_release(&ps);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (!be)
        CS_BUG(cs_cpu_init() != CS_OK || cs_backend_open("cpu", 1, &be) != CS_OK);
    temp_start((const char *const[]){ "run.ckpt", "unused" });
    put_checkpoint(data, n_bytes);
    if (load(true) == CS_OK)
        CS_BUG(load(false) != CS_OK);
    return 0;
}
