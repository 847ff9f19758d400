/* tok_base.c - one token per base: A C G T are 2 3 4 5, everything else is unknown. With the case,
 * a c g t are 6 7 8 9. */
#include "tok/tokenizer.h"

#include <stddef.h>

struct base_cfg { int cased; };

static int base_open(const void *cfg, void **state)
{
    struct base_cfg *own = cs_xcalloc(1, sizeof *own);

    if (cfg)
        *own = *(const struct base_cfg *)cfg;
    *state = own;
    return CS_OK;
}

static bool is_cased(const void *state)
{
    return ((const struct base_cfg *)state)->cased;
}

static int32_t base_n_vocab(const void *state)
{
    return CS_TOK_FIRST + (is_cased(state) ? 8 : 4);
}

static cs_alphabet base_alphabet(const void *state)
{
    return is_cased(state) ? CS_CASED : CS_NUCLEOTIDES;
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
    const int32_t lower = is_cased(state) ? 4 : 0;
    (void)work;
    for (int64_t at = 0; at < s->n_base; at += BLOCK) {
        const int n = s->n_base - at < BLOCK ? (int)(s->n_base - at) : BLOCK;
        (void)cs_base_codes(s->base + at, n, code);
        #pragma omp simd
        for (int i = 0; i < n; i++)
            id[at + i] = code[i] > 3 ? CS_TOK_UNK
                       : CS_TOK_FIRST + code[i] + (s->base[at + i] >= 'a' ? lower : 0);
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
    static const char *const symbol[] = { "<pad>", "<unk>", "A", "C", "G", "T",
                                          "a", "c", "g", "t" };
    CS_BUG(id < 0 || id >= base_n_vocab(state));
    cs_tokenizer_text(buf, n_buf, symbol[id]);
}

static void base_close(void *state)
{
    free(state);
}

static const cs_opt base_opt[] = {
    { .type = CS_OPT_FLAG, .name = "case", .off = offsetof(struct base_cfg, cased),
      .help = "lower-case bases are tokens of their own",
      .man = "For sequences whose case has a meaning, such as exons in upper and introns in lower "
             "case, or soft-masked repeats. Otherwise a model ignores the case." },
    { .type = CS_OPT_END }
};

const cs_tokenizer cs_tok_base = {
    .name = "base",
    .opt = base_opt,
    .cfg_size = sizeof(struct base_cfg),
    .open = base_open,
    .n_vocab = base_n_vocab,
    .bound = base_bound,
    .min_base = base_min,
    .encode = base_encode,
    .mirrors = base_mirrors,
    .aligned = base_aligned,
    .cells = cs_tokenizer_cells,
    .alphabet = base_alphabet,
    .symbol = base_symbol,
    .close = base_close,
};
