/* fuzz_bpe.c - tokenizer.json from arbitrary bytes: no crash; accepted files are written
 * and read as the same, and the pieces of a sequence spell it; a refusal keeps a message. */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "tok/bpe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { N = 200 };

/* A sequence of all symbols, in an order derived from the input. */
static void spell(const uint8_t *data, size_t n_bytes, char *s)
{
    const size_t n_code = strlen(cs_diplotype_codes);
    for (size_t i = 0; i < N; i++) {
        const uint8_t v = data[(i * 7 + i / 3) % n_bytes];
        s[i] = v % 5 < 4 ? "ACGT"[v % 5] : cs_diplotype_codes[(v + i) % n_code];
    }
}

static void check_pieces(const cs_bpe *b, const char *s)
{
    int32_t id[N], *work = cs_xmalloc(cs_bpe_work(N));
    const int64_t n = cs_bpe_encode(b, s, N, work, id);
    size_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        CS_BUG(id[i] < 0 || id[i] >= b->n_id || !b->piece[id[i]]);
        if (id[i] == b->unk) {
            CS_BUG(b->of_byte[(unsigned char)s[at]] >= 0);
            do
                at++;
            while (b->fuse_unk && at < N && b->of_byte[(unsigned char)s[at]] < 0);
            continue;
        }
        const size_t k = strlen(b->piece[id[i]]);
        CS_BUG(at + k > N || memcmp(s + at, b->piece[id[i]], k) != 0);
        at += k;
    }
    CS_BUG(at != N);
    free(work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_bpe *b = NULL, *back = NULL;
    char s[N];

    if (cs_bpe_parse((const char *)data, n_bytes, "fuzz", &b) != CS_OK) {
        CS_BUG(b || *cs_error_message() == '\0');
        cs_error_clear();
        return 0;
    }
    spell(data, n_bytes, s);
    check_pieces(b, s);
    char *text = cs_bpe_json(b);
    CS_BUG(!text || cs_bpe_parse(text, strlen(text), "fuzz", &back) != CS_OK);
    CS_BUG(back->n_id != b->n_id || back->n_merge != b->n_merge || back->unk != b->unk);
    CS_BUG(memcmp(back->of_byte, b->of_byte, sizeof b->of_byte) != 0);
    check_pieces(back, s);
    free(text);
    cs_bpe_free(back);
    cs_bpe_free(b);
    return 0;
}
