/* fuzz_diplotype.c - diplotype text from arbitrary bytes: no crash; accepted text is the
 * same after writing and reading, and when fetched by position; a refusal has a message. */
#include <stdint.h>
#include <string.h>

#include "data_url.h"
#include "io/diplotype_file.h"
#include "io/reader.h"
#include "io/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

struct text { char *s; size_t n, cap; };

static void add(struct text *t, const char *s, size_t n)
{
    CS_BUG(cs_grow((void **)&t->s, &t->cap, t->n + n + 1, 1) != CS_OK);
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = '\0';
}

/* Text with lines of equal length can be fetched by position: whole records and parts. */
static void fetch_all(const char *url, const cs_chunk *c)
{
    cs_diplotype_file *s = NULL;

    if (cs_diplotype_file_open(url, &s) != CS_OK) {
        CS_BUG(*cs_error_message() == '\0');
        cs_error_clear();
        return;
    }
    CS_BUG(cs_diplotype_file_count(s) != c->n);
    for (int i = 0; i < c->n; i++) {
        const cs_segment *seg = &c->rec[i].seg[0];
        const int64_t n = seg->n_base, from[] = { 0, n / 3 }, to[] = { n, n - n / 4 };
        char *got = cs_xmalloc((size_t)n + 1);
        CS_BUG(cs_diplotype_file_length(s, i) != n);
        CS_BUG(strcmp(cs_diplotype_file_name(s, i), c->rec[i].name) != 0);
        for (int k = 0; k < 2; k++) {
            CS_BUG(cs_diplotype_file_fetch(s, i, from[k], to[k], got) != CS_OK);
            CS_BUG(memcmp(got, seg->base + from[k], (size_t)(to[k] - from[k])) != 0);
        }
        free(got);
    }
    cs_diplotype_file_free(s);
}

/* All records; their text in the plainest form. */
static int read_all(const void *bytes, size_t n, struct text *t)
{
    cs_input *in = NULL;
    cs_chunk *c = cs_chunk_new(0);
    char *url = data_url(bytes, n);
    int rc = cs_input_open(url, &(cs_input_opt){ .alphabet = CS_DIPLOTYPES }, &in);

    while (rc == CS_OK)
        rc = cs_input_next(in, c);
    add(t, "#chordseq-diplotype\t1\n", 22);
    for (int i = 0; i < c->n; i++) {
        const cs_record *r = &c->rec[i];
        add(t, ">", 1);
        add(t, r->name, strlen(r->name));
        add(t, " ", 1);
        add(t, r->comment, strlen(r->comment));
        add(t, "\n", 1);
        add(t, r->seg[0].base, (size_t)r->seg[0].n_base);
        add(t, "\n", 1);
    }
    CS_BUG(cs_input_close(in) != CS_OK);
    if (rc == CS_EOF)
        fetch_all(url, c);
    cs_chunk_free(c);
    free(url);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char magic[] = "#chordseq-diplotype";
    struct text once = { NULL, 0, 0 }, twice = { NULL, 0, 0 };

    /* Other formats have targets of their own. */
    if (n_bytes < sizeof magic - 1 || memcmp(data, magic, sizeof magic - 1) != 0)
        return 0;
    if (read_all(data, n_bytes, &once) != CS_EOF) {
        CS_BUG(*cs_error_message() == '\0');
    } else {
        CS_BUG(read_all(once.s, once.n, &twice) != CS_EOF);
        CS_BUG(once.n != twice.n || memcmp(once.s, twice.s, once.n) != 0);
    }
    cs_error_clear();
    free(once.s);
    free(twice.s);
    return 0;
}
