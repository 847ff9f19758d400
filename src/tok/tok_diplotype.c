/* tok_diplotype.c - one token per site: its diplotype, one of 66. */
#include "tok/tokenizer.h"

#include <stdio.h>

/* Ids by byte, so that encoding is one look-up. */
struct diplotype { int32_t of_byte[256]; };

static int diplotype_open(const void *cfg, void **state)
{
    struct diplotype *d = cs_xcalloc(1, sizeof *d);

    (void)cfg;
    for (int c = 0; c < 256; c++)
        d->of_byte[c] = CS_TOK_UNK;
    for (int i = 0; i < CS_N_DIPLOTYPE; i++)
        d->of_byte[(unsigned char)cs_diplotype_codes[i]] = CS_TOK_FIRST + i;
    *state = d;
    return CS_OK;
}

static int32_t diplotype_n_vocab(const void *state)
{
    (void)state;
    return CS_TOK_FIRST + CS_N_DIPLOTYPE;
}

static int64_t diplotype_bound(const void *state, int64_t n_base)
{
    (void)state;
    return n_base;
}

static int64_t diplotype_min(const void *state)
{
    (void)state;
    return 1;
}

static int64_t diplotype_encode(const void *state, const cs_segment *s, void *work, int32_t *id)
{
    const struct diplotype *d = state;

    (void)work;
    for (int64_t i = 0; i < s->n_base; i++)
        id[i] = d->of_byte[(unsigned char)s->base[i]];
    return s->n_base;
}

static bool diplotype_mirrors(const void *state)
{
    (void)state;
    return false;
}

/* "A/C", "CI/DEL" ...: clearer than the codes. */
static void diplotype_symbol(const void *state, int32_t id, char *buf, size_t n_buf)
{
    int hap1, hap2;

    (void)state;
    CS_BUG(id < 0 || id >= CS_TOK_FIRST + CS_N_DIPLOTYPE);
    if (id < CS_TOK_FIRST) {
        snprintf(buf, n_buf, "%s", id == CS_TOK_PAD ? "<pad>" : "<unk>");
        return;
    }
    cs_diplotype_split(id - CS_TOK_FIRST, &hap1, &hap2);
    snprintf(buf, n_buf, "%s/%s", cs_haplotype_name(hap1), cs_haplotype_name(hap2));
}

static cs_alphabet diplotype_alphabet(const void *state)
{
    (void)state;
    return CS_DIPLOTYPES;
}

static const cs_opt diplotype_opt[] = {
    { .type = CS_OPT_END }
};

const cs_tokenizer cs_tok_diplotype = {
    .name = "diplotype",
    .opt = diplotype_opt,
    .cfg_size = 0,
    .open = diplotype_open,
    .n_vocab = diplotype_n_vocab,
    .bound = diplotype_bound,
    .min_base = diplotype_min,
    .encode = diplotype_encode,
    .mirrors = diplotype_mirrors,
    .cells = cs_tokenizer_cells,
    .symbol = diplotype_symbol,
    .close = free,
    .alphabet = diplotype_alphabet,
};
