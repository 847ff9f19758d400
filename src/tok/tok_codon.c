/* tok_codon.c - codons of all six reading frames, one per base and strand.
 *
 * A sequence of n bases gives the n - 2 codons of its forward strand, three unknown tokens, the
 * n - 2 codons of its reverse complement and three unknown tokens again. Every third token is the
 * next codon of a frame, so taps at distances of multiples of three stay in one frame. The reverse
 * complement gives the same tokens with the halves exchanged, which is the same circular sequence.
 */
#include "tok/tokenizer.h"

#include <stdio.h>

#include "tok/translate.h"

enum { GAP = 3, BLOCK = 512 };

static int codon_open(const void *cfg, void **state)
{
    (void)cfg;
    *state = NULL;
    return CS_OK;
}

static int32_t codon_n_vocab(const void *state)
{
    (void)state;
    return CS_TOK_FIRST + CS_CODONS;
}

static int64_t codon_bound(const void *state, int64_t n_base)
{
    (void)state;
    return n_base < 3 ? 0 : 2 * (n_base - 2 + GAP);
}

static int64_t codon_min(const void *state)
{
    (void)state;
    return 3;
}

/* The codons at each of n bases; base has two more. */
static void forward_codons(const char *base, int n, int32_t *id)
{
    uint8_t code[BLOCK + 2];

    (void)cs_base_codes(base, n + 2, code);
    #pragma omp simd
    for (int i = 0; i < n; i++) {
        const int32_t codon = code[i] << 4 | code[i + 1] << 2 | code[i + 2];
        const bool known = (code[i] | code[i + 1] | code[i + 2]) < 4;
        id[i] = known ? CS_TOK_FIRST + codon : CS_TOK_UNK;
    }
}

static int32_t revcomp_token(int32_t id)
{
    return id < CS_TOK_FIRST ? id : CS_TOK_FIRST + cs_codon_revcomp(id - CS_TOK_FIRST);
}

static int64_t codon_encode(const void *state, const cs_segment *s, void *work, int32_t *id)
{
    const int64_t n = s->n_base - 2;
    int32_t *reverse = id + n + GAP;

    (void)state;
    (void)work;
    if (n < 1)
        return 0;
    for (int64_t at = 0; at < n; at += BLOCK)
        forward_codons(s->base + at, n - at < BLOCK ? (int)(n - at) : BLOCK, id + at);
    #pragma omp simd
    for (int64_t i = 0; i < n; i++)
        reverse[i] = revcomp_token(id[n - 1 - i]);
    for (int i = 0; i < GAP; i++)
        id[n + i] = reverse[n + i] = CS_TOK_UNK;
    return 2 * (n + GAP);
}

/* The halves are exchanged, not reversed. */
static bool codon_mirrors(const void *state)
{
    (void)state;
    return false;
}

static bool codon_both_strands(const void *state)
{
    (void)state;
    return true;
}

static int32_t codon_overlap(const void *state)
{
    (void)state;
    return 6;
}

static void codon_symbol(const void *state, int32_t id, char *buf, size_t n_buf)
{
    (void)state;
    CS_BUG(id < 0 || id >= CS_TOK_FIRST + CS_CODONS);
    const int32_t c = id - CS_TOK_FIRST;
    if (id < CS_TOK_FIRST)
        snprintf(buf, n_buf, "%s", id == CS_TOK_PAD ? "<pad>" : "<unk>");
    else
        snprintf(buf, n_buf, "%c%c%c", "ACGT"[c >> 4], "ACGT"[c >> 2 & 3], "ACGT"[c & 3]);
}

static void codon_close(void *state)
{
    (void)state;
}

static const cs_opt codon_opt[] = {
    { .type = CS_OPT_END }
};

const cs_tokenizer cs_tok_codon = {
    .name = "codon",
    .opt = codon_opt,
    .cfg_size = 0,
    .open = codon_open,
    .n_vocab = codon_n_vocab,
    .bound = codon_bound,
    .min_base = codon_min,
    .encode = codon_encode,
    .mirrors = codon_mirrors,
    .both_strands = codon_both_strands,
    .symbol = codon_symbol,
    .close = codon_close,
    .overlap = codon_overlap,
};
