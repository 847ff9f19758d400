/* fuzz_cram.c - the check of CRAM before htslib reads it, of arbitrary bytes, as a file and as a
 * stream: no crash, one verdict; a refusal has a message, and a stream passes on all its bytes. */
#include <stdint.h>

#include "io/cram_guard.h"
#include "io/io_init.h"
#include "temp_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

struct stream { const uint8_t *p; size_t n; };

static int64_t read_stream(void *arg, char *to, size_t n)
{
    struct stream *s = arg;
    const size_t k = n < s->n ? n : s->n;

    if (k)
        memcpy(to, s->p, k);
    s->p += k;
    s->n -= k;
    return (int64_t)k;
}

static int check_stream(const uint8_t *data, size_t n_bytes)
{
    struct stream s = { data, n_bytes };
    cs_cram_guard *g = cs_cram_guard_stream("input", read_stream, &s);
    const char *p = NULL;
    size_t n = 0, at = 0;
    int rc;

    while ((rc = cs_cram_guard_pass(g, &p, &n)) == CS_OK && n > 0) {
        CS_BUG(n > n_bytes - at || memcmp(p, data + at, n) != 0);
        at += n;
    }
    CS_BUG(rc == CS_OK ? at != n_bytes : *cs_error_message() == '\0');
    cs_error_clear();
    cs_cram_guard_free(g);
    return rc;
}

static int check_file(const uint8_t *data, size_t n_bytes)
{
    int rc = CS_OK;

    temp_put(0, data, n_bytes);
    cs_cram_guard *g = cs_cram_guard_new(temp_path[0], 1);
    for (size_t at = 0; rc == CS_OK && at <= n_bytes; at += n_bytes / 3 + 1)
        rc = cs_cram_guard_reach(g, (int64_t)at);
    if (rc == CS_OK)
        rc = cs_cram_guard_reach(g, (int64_t)n_bytes);
    CS_BUG(rc != CS_OK && *cs_error_message() == '\0');
    cs_error_clear();
    cs_cram_guard_free(g);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_io_init();
    temp_start((const char *const[]){ "a.cram", "unused" });
    if (n_bytes < 4 || memcmp(data, "CRAM", 4) != 0)
        return 0;
    CS_BUG(check_file(data, n_bytes) != check_stream(data, n_bytes));
    return 0;
}
