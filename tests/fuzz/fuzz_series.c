/* fuzz_series.c - real-valued sequences from arbitrary bytes: no crash; values are finite and as
 * many as the record says; a refusal has a message. */
#include <math.h>
#include <stdint.h>

#include "data_url.h"
#include "io/io_init.h"
#include "io/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_record(const cs_record *r)
{
    CS_BUG(!*r->name || r->seg[0].n_base < 1 || r->n_channel < 1 || r->n_target < 1);
    for (int64_t i = 0; i < r->seg[0].n_base * r->n_channel; i++)
        CS_BUG(!isfinite(r->x[i]));
    for (int32_t i = 0; i < r->n_target; i++)
        CS_BUG(!isfinite(r->target[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char magic[] = "#chordseq-series";
    cs_input *in = NULL;

    cs_io_init();
    if (n_bytes < sizeof magic || memcmp(data, magic, sizeof magic - 1) != 0)
        return 0;                /* other formats have targets of their own */
    char *url = data_url(data, n_bytes);
    cs_chunk *c = cs_chunk_new(0);
    CS_BUG(!c);
    int rc = cs_input_open(url, &(cs_input_opt){ .series = true }, &in);
    while (rc == CS_OK)
        rc = cs_input_next(in, c);
    CS_BUG(rc != CS_EOF && *cs_error_message() == '\0');
    CS_BUG(cs_input_close(in) != CS_OK);
    cs_error_clear();
    for (int i = 0; i < c->n; i++)
        check_record(&c->rec[i]);
    cs_chunk_free(c);
    free(url);
    return 0;
}
