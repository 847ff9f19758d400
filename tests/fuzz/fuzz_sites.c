/*
 * fuzz_sites.c - diplotypes from arbitrary bytes as alignments or genotypes: no crash; what is
 * written reads back with as many records and sites as were counted; a refusal has a message.
 *
 * DESIGN
 * The output is a file in memory at a fixed descriptor, so that nothing is synced to a disk.
 * Damaged CRAM crashes versions of htslib (fuzz_bam.c) and is left to that target.
 */
#define _GNU_SOURCE              /* memfd_create */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "data_url.h"
#include "io/diplotype_out.h"
#include "io/hts_in.h"
#include "io/io_init.h"
#include "io/reader.h"
#include "temp_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { OUT = 100 };

static const char out_path[] = "/dev/fd/100";
static cs_reference *ref;

static void close_reference(void)
{
    cs_reference_free(ref);
}

static void start(void)
{
    static const char fasta[] =
        ">1\nACGTTGCATGCCGATCGATTACGATCGGCTAAACGTTTGCCATGCATCGGATCCAGTTAC\n"
        ">chr2\nACGTTGCATGCCGATCGATTACGATCGGCTAAACGTTTGCCATGCATCGGATCCAGNNNN\n";
    static const char index[] = "1\t60\t3\t60\t61\nchr2\t60\t70\t60\t61\n";
    const int fd = memfd_create("sites", 0);

    CS_BUG(fd < 0 || dup2(fd, OUT) < 0 || close(fd) != 0);
    temp_start((const char *const[]){ "r.fa.fai", "r.fa" });
    temp_put(0, index, sizeof index - 1);
    temp_put(1, fasta, sizeof fasta - 1);
    cs_io_init();
    CS_BUG(cs_reference_open(temp_path[1], &ref) != CS_OK);
    atexit(close_reference);
}

/* Does the output have the records and sites that were counted? */
static void check_text(const cs_diplotype_out *t)
{
    const cs_input_opt opt = { .alphabet = CS_DIPLOTYPES };
    cs_chunk *c = cs_chunk_new(0);
    cs_input *in = NULL;

    CS_BUG(!c || cs_input_open(out_path, &opt, &in) != CS_OK);
    int rc = CS_OK;
    while (rc == CS_OK)
        rc = cs_input_next(in, c);
    CS_BUG(rc != CS_EOF || (uint64_t)c->n != t->n_record || (uint64_t)c->n_base != t->n_site);
    CS_BUG(t->n_same + t->n_other + t->n_unknown != t->n_site || t->n_het > t->n_other);
    CS_BUG(cs_input_close(in) != CS_OK);
    cs_chunk_free(c);
}

static int read_sites(cs_diplotype_source *s, bool calls, bool all)
{
    const cs_pileup_opt reads = { .skip_flags = all ? 0 : 1796, .min_mapq = all ? 0 : 20,
                                  .min_baseq = all ? 0 : 13, .max_depth = all ? 8000 : 3 };
    const cs_site_rule rule = { 1, 1, all ? 0 : 0.2 };
    const cs_diplotype_calls_opt opt = { .absent_unknown = all, .all_filters = all,
                                     .max_memory = 1 << 20 };
    uint64_t reason[CS_N_SITE_CALL] = { 0 }, n = 0;
    cs_diplotype_calls_stat stat = { 0 };

    if (calls)
        return cs_diplotype_from_calls(s, &opt, &stat);
    const int rc = cs_diplotype_from_reads(s, &reads, &rule, reason);
    for (int i = 0; i < CS_N_SITE_CALL; i++)
        n += reason[i];
    CS_BUG(rc == CS_OK && n != s->text->n_site);
    return rc;
}

/* all: no filter */
static void convert(const char *url, bool all)
{
    int rc = CS_OK;
    cs_diplotype_out text = { .name = all ? CS_NAME_BOTH : CS_NAME_SAMPLE };
    cs_diplotype_source s = { .path = url, .shown = "input", .ref = ref, .text = &text };
    bool calls = false;

    CS_BUG(ftruncate(OUT, 0) != 0 || lseek(OUT, 0, SEEK_SET) != 0);
    CS_TRY(cs_outfile_open(out_path, &text.f));
    CS_TRY(cs_outfile_printf(text.f, CS_DIPLOTYPE_HEAD "\n"));
    CS_TRY(cs_htsin_open_reads_or_calls(s.path, &s.fp, &calls));
    CS_TRY(read_sites(&s, calls, all));
    CS_TRY(cs_diplotype_out_close(&text));
    check_text(&text);
out:
    CS_BUG(rc != CS_OK && *cs_error_message() == '\0');
    cs_error_clear();
    cs_outfile_discard(text.f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (!ref)
        start();
    if (n_bytes >= 4 && memcmp(data, "CRAM", 4) == 0)
        return 0;
    char *url = data_url(data, n_bytes);
    convert(url, false);
    convert(url, true);
    free(url);
    return 0;
}
