/* fuzz_cohort.c - sites of a simulated cohort from arbitrary bytes as VCF: no crash; sites
 * are in order, do not overlap and have frequencies; a refusal has a message. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "data_url.h"
#include "io/io_init.h"
#include "tools/cohort.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_site(const cs_cohort_site *v)
{
    double total = 0;
    int n = 1;

    for (const char *s = v->alt; *s; s++)
        n += *s == ',';
    CS_BUG(v->n_alt < 1 || v->n_alt != n || strspn(v->ref, "ACGTacgt") != strlen(v->ref));
    for (int i = 0; i < v->n_alt; i++) {
        CS_BUG(!(v->freq[i] >= 0));
        total += v->freq[i];
    }
    CS_BUG(!(total > 0 && total <= 1 + 1e-6));
}

static void try_read(const char *url, int freq, const char *region)
{
    const cs_cohort_args a = { .input = url, .freq = freq, .region = region, .min_freq = 0.01 };
    cs_cohort_sites s;

    if (cs_cohort_sites_read(&a, 1, &s) != CS_OK)
        CS_BUG(*cs_error_message() == '\0');
    cs_error_clear();
    for (size_t i = 0; i < s.n; i++) {
        check_site(&s.v[i]);
        CS_BUG(i > 0 && strcmp(s.v[i].contig, s.v[i - 1].contig) == 0
               && s.v[i].pos < s.v[i - 1].pos + (int64_t)strlen(s.v[i - 1].ref));
    }
    cs_cohort_sites_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_log_set_level(CS_LOG_ERROR);
    cs_io_init();
    /* As in fuzz_vcf.c, which has BCF. */
    if (n_bytes < 2 || data[0] != '#')
        return 0;
    char *url = data_url(data, n_bytes);
    try_read(url, CS_FREQ_FILE, NULL);
    try_read(url, CS_FREQ_DRAW, "1:2-40");
    free(url);
    return 0;
}
