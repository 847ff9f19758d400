/* tok_kmer.c - words of k bases, overlapping or strided, either strand told apart or not.
 *
 * DESIGN: a word is a number in base 4 (A 0, C 1, G 2, T 3, first base most significant), so
 * numerical order is lexicographic order. The state is one table from word to id: it makes plain
 * and canonical words cost the same, and at 4^8 entries it fits a second-level cache.
 */
#include "tok/tokenizer.h"

#include <stdio.h>

enum { MAX_K = 8 };

struct kmer_cfg {
    int64_t k, stride;
    int     canonical;
};

struct kmer {
    int64_t   k, stride;
    uint32_t  n_word;            /* 4^k */
    int32_t   n_vocab;
    int32_t  *id;                /* [n_word] */
    uint32_t *word;              /* [n_vocab - CS_TOK_FIRST] the word of an id */
};

static uint32_t revcomp_word(uint32_t word, int64_t k)
{
    uint32_t r = 0;
    for (int64_t i = 0; i < k; i++, word >>= 2)
        r = r << 2 | (3 - (word & 3));
    return r;
}

/* A word that is larger than its reverse complement takes the id that the latter already has. */
static void number_words(struct kmer *t, int canonical)
{
    int32_t next = CS_TOK_FIRST;
    for (uint32_t w = 0; w < t->n_word; w++) {
        const uint32_t r = canonical ? revcomp_word(w, t->k) : w;
        if (r < w) {
            t->id[w] = t->id[r];
        } else {
            t->word[next - CS_TOK_FIRST] = w;
            t->id[w] = next++;
        }
    }
    t->n_vocab = next;
}

static void kmer_close(void *state)
{
    struct kmer *t = state;
    if (!t)
        return;
    free(t->id);
    free(t->word);
    free(t);
}

static int kmer_open(const void *cfg, void **state)
{
    const struct kmer_cfg *c = cfg;
    if (c->k < 1 || c->k > MAX_K)
        return cs_fail(CS_EUSAGE, "k-mer length %lld is not between 1 and %d", (long long)c->k,
                       MAX_K);
    if (c->stride < 1 || c->stride > c->k)
        return cs_fail(CS_EUSAGE, "k-mer stride %lld is not between 1 and k (%lld)",
                       (long long)c->stride, (long long)c->k);
    struct kmer *t = cs_xcalloc(1, sizeof *t);
    t->k = c->k;
    t->stride = c->stride;
    t->n_word = UINT32_C(1) << (2 * c->k);
    t->id = cs_alloc(t->n_word, sizeof *t->id);
    t->word = cs_alloc(t->n_word, sizeof *t->word);
    if (!t->id || !t->word) {
        kmer_close(t);
        return cs_fail(CS_EMEM, "out of memory for a vocabulary of %lld-mers", (long long)c->k);
    }
    number_words(t, c->canonical);
    *state = t;
    return CS_OK;
}

static int32_t kmer_n_vocab(const void *state)
{
    const struct kmer *t = state;
    return t->n_vocab;
}

static int64_t kmer_bound(const void *state, int64_t n_base)
{
    const struct kmer *t = state;
    return n_base < t->k ? 0 : (n_base - t->k) / t->stride + 1;
}

static int64_t kmer_min(const void *state)
{
    const struct kmer *t = state;
    return t->k;
}

static int64_t kmer_encode(const void *state, const cs_segment *s, int32_t *id)
{
    const struct kmer *t = state;
    const uint32_t mask = t->n_word - 1;
    uint32_t word = 0;
    int64_t known = 0;           /* bases since the last one that is not A, C, G or T */
    int64_t next = t->k - 1;     /* where the next token's last base lies */
    int64_t n = 0;

    for (int64_t i = 0; i < s->n_base; i++) {
        const uint32_t code = cs_base_code[(unsigned char)s->base[i]];
        word = (word << 2 | (code & 3)) & mask;
        known = code < 4 ? known + 1 : 0;
        if (i == next) {
            id[n++] = known >= t->k ? t->id[word] : CS_TOK_UNK;
            next += t->stride;
        }
    }
    return n;
}

static void kmer_symbol(const void *state, int32_t id, char *buf, size_t n_buf)
{
    const struct kmer *t = state;
    CS_BUG(id < 0 || id >= t->n_vocab);
    if (id < CS_TOK_FIRST) {
        snprintf(buf, n_buf, "%s", id == CS_TOK_PAD ? "<pad>" : "<unk>");
        return;
    }
    char text[MAX_K + 1] = "";
    uint32_t word = t->word[id - CS_TOK_FIRST];
    for (int64_t i = t->k - 1; i >= 0; i--, word >>= 2)
        text[i] = "ACGT"[word & 3];
    snprintf(buf, n_buf, "%s", text);
}

static const cs_opt kmer_opt[] = {
    { CS_OPT_INT, 0, "k", offsetof(struct kmer_cfg, k), "NUM", "6", "bases per token",
      "The vocabulary has 4^k words, about half of them with canonical words.", 1, MAX_K, NULL },
    { CS_OPT_INT, 0, "stride", offsetof(struct kmer_cfg, stride), "NUM", "1",
      "bases from one token to the next",
      "At most k, so that every base is read. Fewer tokens make a faster, coarser model.",
      1, MAX_K, NULL },
    { CS_OPT_FLAG, 0, "canonical", offsetof(struct kmer_cfg, canonical), NULL, NULL,
      "give a word and its reverse complement the same token", NULL, 0, 0, NULL },
    { .type = CS_OPT_END }
};

const cs_tokenizer cs_tok_kmer = {
    .name = "kmer",
    .summary = "words of k bases, overlapping or strided",
    .opt = kmer_opt,
    .cfg_size = sizeof(struct kmer_cfg),
    .open = kmer_open,
    .n_vocab = kmer_n_vocab,
    .bound = kmer_bound,
    .min_base = kmer_min,
    .encode = kmer_encode,
    .symbol = kmer_symbol,
    .close = kmer_close,
};
