/* fuzz_reference.c - an index of FASTA and the FASTA, with a form feed between, from arbitrary
 * bytes: no crash; what is read has the length that was asked for; a refusal has a message. */
#include <stdint.h>

#include "io/reference.h"
#include "temp_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_fetch(cs_reference *r, const char *contig, int64_t from, int64_t to)
{
    char *base;

    if (cs_reference_fetch(r, contig, from, to, &base) != CS_OK)
        CS_BUG(base || *cs_error_message() == '\0');
    else
        CS_BUG((int64_t)strlen(base) != to - from);
    cs_error_clear();
    free(base);
}

static void check_contig(cs_reference *r, const char *contig)
{
    const int64_t n = cs_reference_length(r, contig);
    char base;

    CS_BUG(n < 0);
    check_fetch(r, contig, 0, n < 1000 ? n : 1000);
    check_fetch(r, contig, n > 7 ? n - 7 : 0, n);
    if (n > 0 && cs_reference_base(r, contig, n - 1, &base) != CS_OK)
        CS_BUG(*cs_error_message() == '\0');
    cs_error_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_reference *r = NULL;

    temp_start((const char *const[]){ "r.fa.fai", "r.fa" });
    temp_put_both(data, n_bytes);
    const int rc = cs_reference_open(temp_path[1], &r);
    CS_BUG((rc == CS_OK) != (r != NULL) || (rc != CS_OK && *cs_error_message() == '\0'));
    cs_error_clear();
    for (int i = 0; r && i < cs_reference_count(r) && i < 20; i++)
        check_contig(r, cs_reference_name(r, i));
    cs_reference_free(r);
    return 0;
}
