/* fuzz_bam.c - SAM, BAM and CRAM from arbitrary bytes: no crash; accepted records have valid
 * letters and lengths, a complete file gives the same sequences with and without alignments, and a
 * refusal has a message.
 *
 * htslib's CRAM decoder is fuzzed along. Before 1.24 it writes behind buffers on some damaged files
 * (CVE-2026-31971 in cram_byte_array_len_decode() is what stopped this target with 1.16), which
 * nothing here can prevent: with such a htslib, CRAM is only replayed from the corpus. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <htslib/hts.h>

#include "base/log.h"
#include "data_url.h"
#include "io/io_init.h"
#include "io/reader.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static bool without_cram;

/* libFuzzer calls it; what is given a time makes inputs of its own. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char *end;
    const long major = strtol(hts_version(), &end, 10);
    const long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

    for (int i = 1; i < *argc; i++)
        without_cram |= strncmp((*argv)[i], "-max_total_time=", 16) == 0
                     && (major < 1 || (major == 1 && minor < 24));
    if (without_cram)
        cs_note("fuzz_bam: CRAM is left out, for htslib %s writes behind buffers when it is "
                "damaged; 1.24 does not", hts_version());
    return 0;
}

static int read_all(const char *url, bool whole, cs_chunk **out)
{
    cs_input *in = NULL;
    const cs_input_opt opt = { .keep_native = whole };
    cs_chunk *c = cs_chunk_new(0);

    CS_BUG(!c);
    int rc = cs_input_open(url, &opt, &in);
    while (rc == CS_OK)
        rc = cs_input_next(in, c);
    CS_BUG(rc != CS_EOF && *cs_error_message() == '\0');
    cs_error_clear();
    const int closed = cs_input_close(in);
    CS_BUG(closed != CS_OK && *cs_error_message() == '\0');
    cs_error_clear();
    *out = c;
    return rc;
}

static void check_record(const cs_record *r)
{
    const cs_segment *s = &r->seg[0];

    CS_BUG(r->n_seg != 1 || s->n_base < 0 || strlen(r->name) > 512);
    for (int64_t k = 0; k < s->n_base; k++)
        CS_BUG(cs_base_complement[(unsigned char)s->base[k]] == 0);
    for (int64_t k = 0; s->qual && k < s->n_base; k++)
        CS_BUG(s->qual[k] == 0xff);
}

static void check_same(const cs_chunk *a, const cs_chunk *b)
{
    CS_BUG(a->n != b->n || a->n_base != b->n_base);
    for (int i = 0; i < a->n; i++) {
        const cs_segment *s = &a->rec[i].seg[0], *t = &b->rec[i].seg[0];
        CS_BUG(strcmp(a->rec[i].name, b->rec[i].name) != 0 || s->n_base != t->n_base);
        CS_BUG(s->n_base && memcmp(s->base, t->base, (size_t)s->n_base) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_chunk *bases, *whole;

    cs_io_init();
    /* FASTA and FASTQ have a target of their own; a header line of SAM has a tab. */
    if (n_bytes < 4 || data[0] == '>' || (data[0] == '@' && data[3] != '\t'))
        return 0;
    if (without_cram && memcmp(data, "CRAM", 4) == 0)
        return 0;
    char *url = data_url(data, n_bytes);
    const int rc = read_all(url, false, &bases);
    const int rc_whole = read_all(url, true, &whole);
    for (int i = 0; i < bases->n; i++)
        check_record(&bases->rec[i]);
    for (int i = 0; i < whole->n; i++)
        check_record(&whole->rec[i]);
    /* Without alignments htslib decodes less of a CRAM file, and may miss damage. */
    if (rc == CS_EOF && rc_whole == CS_EOF)
        check_same(bases, whole);
    cs_chunk_free(bases);
    cs_chunk_free(whole);
    free(url);
    return 0;
}
