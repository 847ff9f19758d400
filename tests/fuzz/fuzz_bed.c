/* fuzz_bed.c - BED files from arbitrary bytes: nothing crashes, every region has a contig and at
 * least one base; a refusal keeps a message. The first line is also tried as a region. */
#include <stdint.h>
#include <string.h>

#include "data_url.h"
#include "io/regions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_region(const cs_region *at)
{
    CS_BUG(!at->contig || at->from < 0 || at->to <= at->from);
    CS_BUG(strpbrk(at->contig, "\t\n") != NULL);
}

static void try_text(const uint8_t *data, size_t n_bytes)
{
    const uint8_t *eol = memchr(data, '\n', n_bytes);
    const size_t n = eol ? (size_t)(eol - data) : n_bytes;
    char *text = cs_xmalloc(n + 1);
    const char *list[] = { text };
    cs_regions *r;
    cs_region at;

    memcpy(text, data, n);
    text[n] = '\0';
    CS_BUG(cs_regions_open(list, 1, NULL, &r) != CS_OK);
    const int rc = cs_regions_next(r, NULL, &at);
    CS_BUG(rc == CS_OK ? at.from < 0 || at.to <= at.from : *cs_error_message() == '\0');
    cs_error_clear();
    cs_regions_free(r);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char *url = data_url(data, n_bytes);
    cs_regions *r = NULL;
    cs_region at;
    int rc = cs_regions_open(NULL, 0, url, &r);

    while (rc == CS_OK) {
        rc = cs_regions_next(r, NULL, &at);
        if (rc == CS_OK)
            check_region(&at);
    }
    CS_BUG(rc != CS_EOF && *cs_error_message() == '\0');
    cs_error_clear();
    cs_regions_free(r);
    free(url);
    if (n_bytes > 0)
        try_text(data, n_bytes);
    return 0;
}
