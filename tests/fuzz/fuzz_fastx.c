/* fuzz_fastx.c - sequences from arbitrary bytes: nothing crashes, and what is read, printed as
 * FASTA or FASTQ, reads back equal; a refusal keeps a message. */
#include <stdint.h>
#include <string.h>

#include "data_url.h"
#include "io/io_init.h"
#include "io/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

struct out { char *p; size_t n, cap; };

static void put(struct out *o, const void *p, size_t n)
{
    void *grown = o->p;
    CS_BUG(cs_grow(&grown, &o->cap, o->n + n + 1, 1) != CS_OK);
    o->p = grown;
    if (n)
        memcpy(o->p + o->n, p, n);
    o->n += n;
}

/* The records before the first error; CS_EOF without one. */
static int read_all(const void *bytes, size_t n, int threads, cs_chunk **out)
{
    cs_input *in = NULL;
    const cs_input_opt opt = { .threads = threads };
    cs_chunk *c = cs_chunk_new(0);
    char *url = data_url(bytes, n);
    CS_BUG(!c);
    int rc = cs_input_open(url, &opt, &in);
    while (rc == CS_OK)
        rc = cs_input_next(in, c);
    CS_BUG(cs_input_close(in) != CS_OK);
    CS_BUG(rc != CS_EOF && *cs_error_message() == '\0');
    free(url);
    *out = c;
    return rc;
}

static void print(const cs_chunk *c, struct out *o)
{
    for (int i = 0; i < c->n; i++) {
        const cs_record *r = &c->rec[i];
        const size_t n = (size_t)r->seg[0].n_base;
        put(o, r->seg[0].qual ? "@" : ">", 1);
        put(o, r->name, strlen(r->name));
        put(o, " ", *r->comment != '\0');
        put(o, r->comment, strlen(r->comment));
        put(o, "\n", 1);
        put(o, r->seg[0].base, n);
        put(o, r->seg[0].qual ? "\n+\n" : "\n", r->seg[0].qual ? 3 : 1);
        for (size_t k = 0; r->seg[0].qual && k < n; k++)
            put(o, &(char){ (char)(r->seg[0].qual[k] + 33) }, 1);
        put(o, "\n", r->seg[0].qual != NULL);
    }
}

static void check_equal(const cs_chunk *a, const cs_chunk *b)
{
    CS_BUG(a->n != b->n || a->n_base != b->n_base);
    for (int i = 0; i < a->n; i++) {
        const cs_record *r = &a->rec[i], *s = &b->rec[i];
        const size_t n = (size_t)r->seg[0].n_base;
        CS_BUG(r->serial != s->serial || r->seg[0].n_base != s->seg[0].n_base);
        CS_BUG(strcmp(r->name, s->name) != 0 || strcmp(r->comment, s->comment) != 0);
        CS_BUG(memcmp(r->seg[0].base, s->seg[0].base, n) != 0);
        CS_BUG((r->seg[0].qual == NULL) != (s->seg[0].qual == NULL));
        CS_BUG(n && r->seg[0].qual && memcmp(r->seg[0].qual, s->seg[0].qual, n) != 0);
    }
}

static void check_letters(const cs_chunk *c)
{
    for (int i = 0; i < c->n; i++) {
        const cs_segment *s = &c->rec[i].seg[0];
        for (int64_t k = 0; k < s->n_base; k++)
            CS_BUG(cs_base_complement[(unsigned char)s->base[k]] == 0);
        for (int64_t k = 0; s->qual && k < s->n_base; k++)
            CS_BUG(s->qual[k] > 126 - 33);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_chunk *first, *again, *threaded;
    struct out o = { NULL, 0, 0 };

    cs_io_init();
    /* Other formats have other readers, and htslib's decoders their own fuzzers. */
    if (n_bytes == 0 || (data[0] != '>' && data[0] != '@' && data[0] != 0x1f && data[0] != '\n'))
        return 0;
    const int rc = read_all(data, n_bytes, 0, &first);
    cs_error_clear();
    const int rc_threaded = read_all(data, n_bytes, 2, &threaded);
    cs_error_clear();
    CS_BUG(rc != rc_threaded);
    check_equal(first, threaded);
    check_letters(first);
    print(first, &o);
    CS_BUG(read_all(o.p ? o.p : "", o.n, 0, &again) != CS_EOF);
    check_equal(first, again);
    cs_chunk_free(first);
    cs_chunk_free(threaded);
    cs_chunk_free(again);
    free(o.p);
    return 0;
}
