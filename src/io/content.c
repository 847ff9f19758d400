/* content.c - detect input files that an output of another kind must not overwrite. */
#include "io/content.h"

#include <stdbool.h>
#include <string.h>

#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "io/diplotype.h"
#include "io/reader.h"

static const char *kind_of(const htsFormat *m)
{
    switch (m->format) {
    case fasta_format:
    case fastq_format:
        return CS_SEQUENCES;
    case sam:
    case bam:
    case cram:
        return CS_ALIGNMENTS;
    case vcf:
    case bcf:
        return CS_VARIANTS;
    default:
        return NULL;
    }
}

/* If htslib is not sure: does it begin with a valid record for our readers? */
static bool has_record(const char *path)
{
    static const cs_input_opt any = { .series = false };
    cs_input *in = NULL;
    cs_chunk *c = cs_chunk_new(0);
    const bool failed = *cs_error_message() != '\0';    /* a checkpoint is written after an error */

    const bool has = c && cs_input_open(path, &any, &in) == CS_OK && cs_input_next(in, c) == CS_OK;
    const int rc = cs_input_close(in);
    cs_chunk_free(c);
    if (!failed)
        cs_error_clear();        /* its records are not needed */
    return has && rc == CS_OK;
}

const char *cs_content_of(const char *path)
{
    char head[sizeof CS_DIPLOTYPE_MAGIC - 1];
    htsFormat m;
    hFILE *fp = hopen(path, "r");

    if (!fp)
        return NULL;
    memset(&m, 0, sizeof m);
    const bool diplotypes = hpeek(fp, head, sizeof head) == (ssize_t)sizeof head
                         && memcmp(head, CS_DIPLOTYPE_MAGIC, sizeof head) == 0;
    const bool known = hts_detect_format2(fp, NULL, &m) == 0;
    hclose_abruptly(fp);
    if (diplotypes)
        return CS_SEQUENCES;
    if (known && (m.format == text_format || m.format == unknown_format))
        return has_record(path) ? CS_SEQUENCES : NULL;
    return known ? kind_of(&m) : NULL;
}
