/* fuzz_exons.c - annotations (BED, GTF, GFF3) from arbitrary bytes: no crash; a refusal has a
 * message; an exon that is found overlaps the bases that were asked for. */
#include <stdint.h>

#include "base/log.h"
#include "data_url.h"
#include "io/exons.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_find(cs_exons *e, const char *contig, int64_t from, int64_t to)
{
    cs_exon x;

    if (!cs_exons_find(e, contig, from, to, (from + to) / 2, &x))
        return;
    CS_BUG(x.from < 0 || x.from >= x.to || x.from >= to || x.to <= from);
    CS_BUG(x.n_line < 1 || (x.strand != 1 && x.strand != -1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *const contig[] = { "1", "chr1", "c" };
    cs_exons *e = NULL;
    char *url = data_url(data, n_bytes);

    cs_log_set_level(CS_LOG_ERROR);
    const int rc = cs_exons_open(url, &e);
    CS_BUG((rc == CS_OK) != (e != NULL) || (rc != CS_OK && *cs_error_message() == '\0'));
    for (int i = 0; e && i < 3; i++) {
        check_find(e, contig[i], 0, 100);
        check_find(e, contig[i], -5, 1 << 20);
        check_find(e, contig[i], 1000, 1001);
        check_find(e, contig[i], 0, INT64_C(1) << 36);
    }
    cs_error_clear();
    cs_exons_close(e);
    free(url);
    return 0;
}
