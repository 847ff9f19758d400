/* fuzz_vcf.c - VCF and BCF from arbitrary bytes: nothing crashes, a refusal keeps a message, and a
 * record's columns are those of its line. */
#include <stdint.h>
#include <string.h>

#include "data_url.h"
#include "io/vcf.h"
#include "io/vcf_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_record(const cs_vcf_record *r)
{
    size_t n;
    const char *contig = cs_vcf_column(r->line, r->n_line, 0, &n);

    CS_BUG(!contig || n != strlen(r->contig) || memcmp(contig, r->contig, n) != 0);
    CS_BUG(r->n_alt < 0 || r->pos < -1 || *r->ref == '\0');
    for (int i = 0; i < r->n_alt; i++)
        CS_BUG(*r->alt[i] == '\0' || strchr(r->alt[i], ',') != NULL);
}

static void check_keys(const cs_vcf *v, const cs_vcf_record *r, cs_arena *mem)
{
    const char **value = cs_arena_alloc(mem, (size_t)r->n_alt + 1, sizeof *value);

    CS_BUG(!value);
    if (cs_vcf_info(v, r, "AF", mem, value) != CS_OK)
        CS_BUG(*cs_error_message() == '\0');
    cs_error_clear();
}

static void read_all(const char *url, bool as_native)
{
    cs_vcf *v = NULL;
    int rc = cs_vcf_open(url, 0, as_native, &v);

    while (rc == CS_OK) {
        cs_arena *mem = cs_arena_new();
        cs_vcf_record *r;
        rc = cs_vcf_next(v, mem, &r);
        if (rc == CS_OK && !as_native) {
            check_record(r);
            check_keys(v, r, mem);
        }
        CS_BUG(rc == CS_OK && as_native && !r->native);
        cs_arena_free(mem);
    }
    CS_BUG(rc != CS_EOF && *cs_error_message() == '\0');
    cs_error_clear();
    cs_vcf_close(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char *url = data_url(data, n_bytes);

    read_all(url, false);
    read_all(url, true);
    free(url);
    return 0;
}
