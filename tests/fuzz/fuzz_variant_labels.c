/* fuzz_variant_labels.c - labelled variants from arbitrary bytes, as a table and as VCF: no crash;
 * windows have the length asked for, targets are 0, 1 or unknown; a refusal has a message. */
#include <math.h>
#include <stdint.h>

#include "data_url.h"
#include "io/io_init.h"
#include "temp_files.h"
#include "train/variant_labels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { N_BASE = 16 };

static void put_reference(void)
{
    static const char fasta[] =
        ">1\nACGTTGCATGCCGATCGATTACGATCGGCTAAACGTTTGCCATGCATCGGATCCAGTTAC\n"
        ">2\nACGTTGCATGCCGATCGATTACGATCGGCTAAACGTTTGCCATGCATCGGATCCAGTTAN\n";
    static const char index[] = "1\t60\t3\t60\t61\n2\t60\t67\t60\t61\n";

    temp_start((const char *const[]){ "r.fa.fai", "r.fa" });
    temp_put(0, index, sizeof index - 1);
    temp_put(1, fasta, sizeof fasta - 1);
    cs_io_init();
}

static void check_examples(const cs_dataset *d, const cs_classes *c)
{
    CS_BUG(d->n_target != c->n || d->n_part != 2);
    for (int64_t i = 0; i < d->n; i++) {
        int n_known = 0;
        CS_BUG(d->ex[i].n_base != 2 * N_BASE);
        for (int k = 0; k < c->n; k++) {
            const float t = d->ex[i].target[k];
            CS_BUG(!isnan(t) && t != 0 && t != 1);
            n_known += !isnan(t);
        }
        CS_BUG(n_known == 0);
    }
}

static void try_read(const char *url, const char *key, bool fill)
{
    const char *v[] = { url };
    const cs_strlist file = { .v = v, .n = 1 };
    const cs_variant_labels from = { .reference = temp_path[1], .key = key, .file = &file,
                                     .window = { .n_base = N_BASE, .fill = fill } };
    cs_dataset d = { 0 };
    cs_classes c = { 0 };

    const int rc = cs_variant_labels_read(&from, &d, &c);
    if (rc == CS_OK)
        check_examples(&d, &c);
    CS_BUG(rc != CS_OK && *cs_error_message() == '\0');
    cs_error_clear();
    cs_dataset_release(&d);
    cs_classes_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static bool ready;
    char *url = data_url(data, n_bytes);

    if (!ready)
        put_reference();
    ready = true;
    if (n_bytes > 1 && data[0] == '#' && data[1] == '#')
        try_read(url, "L,M", false);
    else
        try_read(url, NULL, true);
    free(url);
    return 0;
}
