/* tok_base.c - one token per base: A C G T are 2 3 4 5, everything else is unknown. */
#include "tok/tokenizer.h"

#include <stdio.h>

static int base_open(const void *cfg, void **state)
{
    (void)cfg;
    *state = NULL;
    return CS_OK;
}

static int32_t base_n_vocab(const void *state)
{
    (void)state;
    return CS_TOK_FIRST + 4;
}

static int64_t base_bound(const void *state, int64_t n_base)
{
    (void)state;
    return n_base;
}

static int64_t base_min(const void *state)
{
    (void)state;
    return 1;
}

static int64_t base_encode(const void *state, const cs_segment *s, void *work, int32_t *id)
{
    enum { BLOCK = 512 };
    uint8_t code[BLOCK];
    (void)state;
    (void)work;
    for (int64_t at = 0; at < s->n_base; at += BLOCK) {
        const int n = s->n_base - at < BLOCK ? (int)(s->n_base - at) : BLOCK;
        (void)cs_base_codes(s->base + at, n, code);
        #pragma omp simd
        for (int i = 0; i < n; i++)
            id[at + i] = code[i] < 4 ? CS_TOK_FIRST + code[i] : CS_TOK_UNK;
    }
    return s->n_base;
}

static bool base_mirrors(const void *state)
{
    (void)state;
    return false;
}

static bool base_aligned(const void *state)
{
    (void)state;
    return true;
}

static void base_symbol(const void *state, int32_t id, char *buf, size_t n_buf)
{
    static const char *const symbol[] = { "<pad>", "<unk>", "A", "C", "G", "T" };
    (void)state;
    CS_BUG(id < 0 || id >= CS_TOK_FIRST + 4);
    snprintf(buf, n_buf, "%s", symbol[id]);
}

static void base_close(void *state)
{
    (void)state;
}

static const cs_opt base_opt[] = {
    { .type = CS_OPT_END }
};

const cs_tokenizer cs_tok_base = {
    .name = "base",
    .opt = base_opt,
    .cfg_size = 0,
    .open = base_open,
    .n_vocab = base_n_vocab,
    .bound = base_bound,
    .min_base = base_min,
    .encode = base_encode,
    .mirrors = base_mirrors,
    .aligned = base_aligned,
    .cells = cs_tokenizer_cells,
    .symbol = base_symbol,
    .close = base_close,
};
