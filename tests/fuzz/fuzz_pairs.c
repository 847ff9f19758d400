/* fuzz_pairs.c - mates from arbitrary bytes, of two inputs with a form feed between and of one: no
 * crash; pairs have all reads and bases of their inputs; a refusal has a message. */
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "data_url.h"
#include "io/io_init.h"
#include "io/pairs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

struct count { int64_t n_seg, n_base; };

static void check_pair(const cs_record *r, uint64_t no)
{
    CS_BUG(r->n_seg < 1 || r->n_seg > 2 || r->serial != no || !r->comment);
    CS_BUG(r->n_seg == 2 && !r->mate_comment);
    for (int s = 0; s < r->n_seg; s++)
        for (int64_t i = 0; i < r->seg[s].n_base; i++)
            CS_BUG(cs_base_complement[(unsigned char)r->seg[s].base[i]] == 0);
}

/* What was read before the end, CS_EOF, or an error. Chunks are small, so that mates are in
 * two of them. */
static int read_pairs(cs_inputs *first, cs_inputs *second, struct count *sum)
{
    cs_pairs p = { .first = first, .second = second };
    cs_chunk *c = NULL;
    uint64_t no = 0;
    int rc = CS_OK;

    while (rc == CS_OK) {
        if (!c || c->n >= 2) {
            cs_chunk_free(c);
            c = cs_chunk_new(0);
        }
        CS_BUG(!c);
        rc = cs_pairs_next(&p, c);
        if (rc != CS_OK)
            continue;
        const cs_record *r = &c->rec[c->n - 1];
        check_pair(r, no++);
        sum->n_seg += r->n_seg;
        sum->n_base += cs_record_bases(r);
    }
    CS_BUG(rc != CS_EOF && *cs_error_message() == '\0');
    cs_error_clear();
    cs_pairs_release(&p);
    cs_chunk_free(c);
    return rc;
}

static cs_inputs *open_one(const char *const *url)
{
    cs_inputs *in = NULL;

    CS_BUG(cs_inputs_open(url, 1, &(cs_input_opt){ .threads = 0 }, &in) != CS_OK);
    return in;
}

static int read_single(const char *const *url, struct count *sum)
{
    cs_inputs *in = open_one(url);
    cs_chunk *c = cs_chunk_new(0);
    int rc = CS_OK;

    CS_BUG(!c);
    while (rc == CS_OK)
        rc = cs_inputs_next(in, c);
    sum->n_seg += c->n;
    sum->n_base += c->n_base;
    cs_error_clear();
    cs_chunk_free(c);
    cs_inputs_close(in);
    return rc;
}

static void check(const char *const *first, const char *const *second)
{
    struct count pairs = { 0, 0 }, single = { 0, 0 };
    cs_inputs *a = open_one(first), *b = second ? open_one(second) : a;

    const int rc = read_pairs(a, b, &pairs);
    cs_inputs_close(a);
    if (second)
        cs_inputs_close(b);
    const int rc_first = read_single(first, &single);
    const int rc_second = second ? read_single(second, &single) : CS_EOF;
    CS_BUG(!second && rc != rc_first);
    if (rc == CS_EOF)
        CS_BUG(rc_first != CS_EOF || rc_second != CS_EOF || pairs.n_seg != single.n_seg
               || pairs.n_base != single.n_base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const uint8_t *feed = n_bytes ? memchr(data, '\f', n_bytes) : NULL;
    const size_t n = feed ? (size_t)(feed - data) : n_bytes;

    cs_log_set_level(CS_LOG_ERROR);
    cs_io_init();
    /* htslib's decoders have targets of their own. */
    if (n_bytes == 0 || (data[0] != '>' && data[0] != '@') || (n > 3 && data[3] == '\t'))
        return 0;
    char *first = data_url(data, n);
    char *second = feed ? data_url(feed + 1, n_bytes - n - 1) : NULL;
    if (second)
        check((const char *const[]){ first }, (const char *const[]){ second });
    check((const char *const[]){ first }, NULL);
    free(first);
    free(second);
    return 0;
}
