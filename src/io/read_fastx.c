/* read_fastx.c - reader fastx: FASTA and FASTQ files, or parts of them. */
#include <stdlib.h>

#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "base/mem.h"
#include "io/fastx.h"

static int fastx_next(void *state, cs_chunk *c)
{
    cs_fastx *f = state;
    int rc = CS_OK;
    if (f->seek_pending)
        CS_TRY(cs_fastx_seek_part(f));
    f->seek_pending = false;
    rc = cs_fastx_record(f);
    while (rc == CS_OK && f->drop) {
        cs_fastx_finish(f);
        rc = cs_fastx_record(f);
    }
    CS_TRY(rc);
    CS_TRY(cs_fastx_append(f, c));
    cs_fastx_finish(f);
out:
    return rc;
}

static int fastx_sniff(const htsFormat *m, const char *head, size_t n_head)
{
    (void)head;
    (void)n_head;
    const bool readable = m->compression == no_compression || m->compression == gzip ||
                          m->compression == bgzf;
    switch (m->format) {
    case fasta_format:
    case fastq_format:
    case empty_format:
        return readable ? CS_SNIFF_YES : CS_SNIFF_NO;
    case text_format:            /* may begin with blank lines; if not, the first line is named */
    case unknown_format:
        return readable ? CS_SNIFF_FALLBACK : CS_SNIFF_NO;
    default:
        return CS_SNIFF_NO;
    }
}

static int fastx_open(const char *path, hFILE *fp, const htsFormat *m, const cs_input_opt *opt,
                      void **state)
{
    cs_fastx *f = cs_xcalloc(1, sizeof *f);
    const int rc = cs_source_open(fp, m->compression != no_compression, opt->threads, &f->src);
    if (rc != CS_OK) {
        free(f);
        return rc;
    }
    f->file = f->path = path;
    f->count = opt->count;
    f->line = 1;
    f->nl = '\n';
    f->wanted = opt->format == CS_INPUT_FASTA ? '>' : opt->format == CS_INPUT_FASTQ ? '@' : 0;
    f->cased = opt->alphabet == CS_CASED;
    f->from = opt->from;
    f->to = opt->to;
    f->seek_pending = opt->to > 0 && (opt->from > 0 || opt->to < INT64_MAX);
    *state = f;
    return CS_OK;
}

static int64_t fastx_tell(void *state)
{
    const cs_fastx *f = state;
    return cs_source_tell(f->src);
}

static int fastx_close(void *state)
{
    cs_fastx *f = state;
    const int rc = cs_source_close(f->src);
    cs_fastx_text *const all[] = { &f->name, &f->comment, &f->head, &f->base, &f->qual, &f->last };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->s);
    free(f->part_path);
    free(f);
    return rc;
}

const cs_reader cs_read_fastx = {
    .name = "fastx",
    .sniff = fastx_sniff,
    .open = fastx_open,
    .next = fastx_next,
    .tell = fastx_tell,
    .divides = true,
    .close = fastx_close,
};
