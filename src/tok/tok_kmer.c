/* tok_kmer.c - words of k bases, overlapping or strided, either strand told apart or not.
 *
 * DESIGN: a word is a number in base 4 (A 0, C 1, G 2, T 3, first base most significant), so
 * numerical order is lexicographic order. The state is one table from word to id: it makes plain
 * and canonical words cost the same, and at 4^8 entries it fits a second-level cache. Words of a
 * block of bases are made side by side, by a loop that the compiler turns into vectors; a block with
 * a base that is not A, C, G or T, and what follows the last whole block, go base by base.
 */
#include "tok/tokenizer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_K = 8, BLOCK = 512 };

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

enum { READ = BLOCK + MAX_K };   /* bases that the words of a block are made of, and some more */

/* Words of 2 n bases, from those of n; `to` has the first READ - n of them. */
static void double_words(const uint8_t *from, int n, uint8_t *to)
{
    #pragma omp simd
    for (int i = 0; i < BLOCK; i++)
        to[i] = (uint8_t)(from[i] << 2 * n | from[i + n]);
    for (int i = BLOCK; i < READ - n; i++)
        to[i] = (uint8_t)(from[i] << 2 * n | from[i + n]);
}

/* The words that begin at base[0 .. BLOCK-1]; false if one of READ bases is not A, C, G or T. A word
 * is put together from words of 4, 2 and 1 bases: 6 is 4 and 2. */
static bool make_words(const char *base, int64_t k, uint16_t word[BLOCK])
{
    uint8_t part[3][READ] = { { 0 } };

    if (!cs_base_codes(base, READ, part[0]))
        return false;
    double_words(part[0], 1, part[1]);
    double_words(part[1], 2, part[2]);
    memset(word, 0, BLOCK * sizeof *word);
    for (int64_t j = 0; j < k;) {
        const int size = k - j >= 4 ? 2 : k - j >= 2 ? 1 : 0;
        const uint8_t *from = part[size] + j;
        #pragma omp simd
        for (int i = 0; i < BLOCK; i++)
            word[i] = (uint16_t)(word[i] << (2 << size) | from[i]);
        j += 1 << size;
    }
    return true;
}

/* The tokens that begin at bases `at`, at + stride, ... below `end`; returns how many. */
static int64_t one_by_one(const struct kmer *t, const char *base, int64_t at, int64_t end,
                          int32_t *id)
{
    const uint32_t mask = t->n_word - 1;
    uint32_t word = 0;
    int64_t known = 0;           /* bases since the last one that is not A, C, G or T */
    int64_t next = at + t->k - 1;              /* where the next token's last base lies */
    int64_t n = 0;

    for (int64_t i = at; i < end + t->k - 1; i++) {
        const uint32_t code = cs_base_code[(unsigned char)base[i]];
        word = (word << 2 | (code & 3)) & mask;
        known = code < 4 ? known + 1 : 0;
        if (i == next) {
            id[n++] = known >= t->k ? t->id[word] : CS_TOK_UNK;
            next += t->stride;
        }
    }
    return n;
}

/* The tokens that begin at `at` and every stride behind it in a block; returns how many. */
static int64_t look_up(const struct kmer *t, const uint16_t word[BLOCK], int64_t at, int32_t *id)
{
    const int32_t *of = t->id;
    int64_t n = 0;

    if (t->stride == 1) {
        for (int64_t i = at; i < BLOCK; i++)
            id[i - at] = of[word[i]];
        return BLOCK - at;
    }
    for (; at < BLOCK; at += t->stride)
        id[n++] = of[word[at]];
    return n;
}

static int64_t kmer_encode(const void *state, const cs_segment *s, int32_t *id)
{
    const struct kmer *t = state;
    const int64_t stop = s->n_base - t->k + 1;         /* behind the last token's first base */
    int64_t n = 0, at = 0;
    uint16_t word[BLOCK];

    while (at + BLOCK + MAX_K <= s->n_base) {
        const int64_t block = at / BLOCK * BLOCK, end = block + BLOCK;
        if (!make_words(s->base + block, t->k, word)) {
            const int64_t m = one_by_one(t, s->base, at, end, id + n);
            n += m;
            at += m * t->stride;
            continue;
        }
        n += look_up(t, word, at - block, id + n);
        at = n * t->stride;
    }
    if (at < stop)
        n += one_by_one(t, s->base, at, stop, id + n);
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
