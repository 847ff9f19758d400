/* tok_kmer.c - k-mers, overlapping or strided, canonical or not.
 *
 * DESIGN: a word is a number in base 4 (A 0, C 1, G 2, T 3, first base most significant), so
 * numerical order is lexicographic order. The state is one table from word to id: plain and
 * canonical words cost the same, and 4^8 entries fit a second-level cache. Words of a block of
 * bases are computed by vectorised loops, with AVX2 if available; a block with a base other than A,
 * C, G or T is processed base by base. Neighbouring blocks share k - 1 bases.
 */
#include "tok/kmer.h"

#include "base/cpu.h"

#define ALWAYS_INLINE __attribute__((always_inline)) static inline

enum { MAX_K = 8, BLOCK = 512 };

struct kmer_cfg {
    int64_t k, stride;
    int     canonical;
};

struct kmer {
    int64_t   k, stride;
    bool      canonical;
    uint32_t  n_word;            /* 4^k */
    int32_t   n_vocab;
    int32_t  *id;                /* [n_word] */
    uint32_t *word;              /* [n_vocab - CS_TOK_FIRST] the word of an id */
};

/* A word that is larger than its reverse complement takes the id that the latter already has. */
static void number_words(struct kmer *t, int canonical)
{
    int32_t next = CS_TOK_FIRST;
    for (uint32_t w = 0; w < t->n_word; w++) {
        const uint32_t r = canonical ? cs_word_revcomp(w, (int)t->k) : w;
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
    CS_FREE(t->id, t->word, t);
}

int cs_kmer_new(int64_t k, int64_t stride, bool canonical, void **state)
{
    if (k < 1 || k > MAX_K)
        return cs_fail(CS_EUSAGE, "k-mer length %lld is not between 1 and %d", (long long)k,
                       MAX_K);
    if (stride < 1 || stride > k)
        return cs_fail(CS_EUSAGE, "%s exceeds %s; lower it, so that no base is left out",
                       CS_OPTION("tokenizer.stride %lld", (long long)stride),
                       CS_OPTION("tokenizer.k %lld", (long long)k));
    struct kmer *t = cs_xcalloc(1, sizeof *t);
    t->k = k;
    t->stride = stride;
    t->canonical = canonical;
    t->n_word = UINT32_C(1) << (2 * k);
    t->id = cs_alloc(t->n_word, sizeof *t->id);
    t->word = cs_alloc(t->n_word, sizeof *t->word);
    if (!t->id || !t->word) {
        kmer_close(t);
        return cs_fail(CS_EMEM, "out of memory for a vocabulary of %lld-mers", (long long)k);
    }
    number_words(t, canonical);
    *state = t;
    return CS_OK;
}

static int kmer_open(const void *cfg, void **state)
{
    const struct kmer_cfg *c = cfg;

    return cs_kmer_new(c->k, c->stride, c->canonical, state);
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

/* Words of 2 m bases from those of m, `n` of them, of which the last m are missing. */
ALWAYS_INLINE void double_words(const uint8_t *from, int m, int n, uint8_t *to)
{
    #pragma omp simd
    for (int i = 0; i < n - m; i++)
        to[i] = (uint8_t)(from[i] << 2 * m | from[i + m]);
}

/* Words of k bases, n of them, combined from words of 4, 2 and 1 bases: 6 is 4 and 2. */
ALWAYS_INLINE void join_words(uint8_t part[3][BLOCK], int n, int k, uint16_t word[BLOCK])
{
    const int first = k >= 4 ? 2 : k >= 2 ? 1 : 0;

    double_words(part[0], 1, n + k - 1, part[1]);
    double_words(part[1], 2, n + k - 2, part[2]);
    #pragma omp simd
    for (int i = 0; i < n; i++)
        word[i] = part[first][i];
    for (int j = 1 << first; j < k;) {
        const int size = k - j >= 4 ? 2 : k - j >= 2 ? 1 : 0;
        const uint8_t *from = part[size] + j;
        #pragma omp simd
        for (int i = 0; i < n; i++)
            word[i] = (uint16_t)(word[i] << (2 << size) | from[i]);
        j += 1 << size;
    }
}

static void join_anywhere(uint8_t part[3][BLOCK], int n, int k, uint16_t word[BLOCK])
{
    join_words(part, n, k, word);
}

#if defined(__x86_64__)
__attribute__((target("avx2")))
static void join_avx2(uint8_t part[3][BLOCK], int n, int k, uint16_t word[BLOCK])
{
    join_words(part, n, k, word);
}
#else
#define join_avx2 join_anywhere
#endif

/* The words that begin at each of n_base bases but the last k - 1; false if one of these bases is
 * not A, C, G or T. */
static bool make_words(const char *base, int n_base, int k, uint16_t word[BLOCK])
{
    uint8_t part[3][BLOCK];

    if (!cs_base_codes(base, n_base, part[0]))
        return false;
    (cs_cpu_has(CS_CPU_AVX2) ? join_avx2 : join_anywhere)(part, n_base - k + 1, k, word);
    return true;
}

/* The tokens at every stride of n_word bases, followed by k - 1 more; returns their number. */
static int64_t one_by_one(const struct kmer *t, const char *base, int n_word, int32_t *id)
{
    const uint32_t mask = t->n_word - 1;
    uint32_t word = 0;
    int64_t known = 0;           /* bases since the last one that is not A, C, G or T */
    int64_t next = t->k - 1;     /* position of the next token's last base */
    int64_t n = 0;

    for (int64_t i = 0; i < n_word + t->k - 1; i++) {
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

/* The tokens at every stride of n words; returns their number. */
static int64_t look_up(const struct kmer *t, const uint16_t word[BLOCK], int n, int32_t *id)
{
    const int32_t *of = t->id;
    int64_t n_id = 0;

    if (t->stride == 1) {
        for (int i = 0; i < n; i++)
            id[i] = of[word[i]];
        return n;
    }
    for (int64_t i = 0; i < n; i += t->stride)
        id[n_id++] = of[word[i]];
    return n_id;
}

/* The tokens that begin in the block of bases at `at`; returns their number, 0 at the end. */
static int64_t encode_block(const struct kmer *t, const cs_segment *s, int64_t at, int32_t *id)
{
    uint16_t word[BLOCK];
    const int n_base = s->n_base - at < BLOCK ? (int)(s->n_base - at) : BLOCK;
    const int n_word = n_base - (int)t->k + 1;

    if (n_word < 1)
        return 0;
    return make_words(s->base + at, n_base, (int)t->k, word)
         ? look_up(t, word, n_word, id) : one_by_one(t, s->base + at, n_word, id);
}

static int64_t kmer_encode(const void *state, const cs_segment *s, void *work, int32_t *id)
{
    const struct kmer *t = state;
    int64_t n = 0, more;

    (void)work;
    while ((more = encode_block(t, s, n * t->stride, id + n)) > 0)
        n += more;
    return n;
}

static int64_t kmer_count(const void *state, const cs_segment *s, void *work, int64_t *count)
{
    const struct kmer *t = state;
    int64_t n = 0, more;
    int32_t id[BLOCK];

    (void)work;
    while ((more = encode_block(t, s, n * t->stride, id)) > 0)
        n += cs_count_ids(id, more, count);
    return n;
}

/* With a longer stride, words from the other end begin at other positions. */
static bool kmer_mirrors(const void *state)
{
    const struct kmer *t = state;
    return t->canonical && t->stride == 1;
}

static int32_t kmer_overlap(const void *state)
{
    const struct kmer *t = state;
    return (int32_t)((t->k + t->stride - 1) / t->stride);
}

/* The middle of an even-length word differs between strands. */
static bool kmer_aligned(const void *state)
{
    const struct kmer *t = state;
    return t->stride == 1 && t->k % 2 == 1;
}

/* A token's bases are the `stride` in the middle of its k, nearer to the word's beginning if they
 * cannot be centred. */
static void kmer_cells(const void *state, const cs_segment *s, const int32_t *id, int64_t n,
                       int64_t *first)
{
    const struct kmer *t = state;

    (void)id;
    first[0] = 0;
    for (int64_t i = 1; i < n; i++)
        first[i] = i * t->stride + (t->k - t->stride) / 2;
    first[n] = s->n_base;
}

static void kmer_symbol(const void *state, int32_t id, char *buf, size_t n_buf)
{
    const struct kmer *t = state;
    CS_BUG(id < 0 || id >= t->n_vocab);
    if (id < CS_TOK_FIRST) {
        cs_tokenizer_text(buf, n_buf, id == CS_TOK_PAD ? "<pad>" : "<unk>");
        return;
    }
    char text[MAX_K + 1] = "";
    uint32_t word = t->word[id - CS_TOK_FIRST];
    for (int64_t i = t->k - 1; i >= 0; i--, word >>= 2)
        text[i] = "ACGT"[word & 3];
    cs_tokenizer_text(buf, n_buf, text);
}

static const cs_opt kmer_opt[] = {
    { .type = CS_OPT_INT, .name = "k", .off = offsetof(struct kmer_cfg, k),
      .arg = "NUM", .def = "6", .help = "bases per token",
      .man = "The vocabulary has 4^k words, or about half as many if they are canonical.",
      .min = 1, .max = MAX_K },
    { .type = CS_OPT_INT, .name = "stride", .off = offsetof(struct kmer_cfg, stride),
      .arg = "NUM", .def = "1", .help = "bases from one token to the next",
      .man = "At most k, so that every base is read. Fewer tokens make a faster, coarser model.",
      .min = 1, .max = MAX_K },
    { .type = CS_OPT_FLAG, .name = "canonical", .off = offsetof(struct kmer_cfg, canonical),
      .help = "map a word and its reverse complement to the same token" },
    { .type = CS_OPT_END }
};

const cs_tokenizer cs_tok_kmer = {
    .name = "kmer",
    .opt = kmer_opt,
    .cfg_size = sizeof(struct kmer_cfg),
    .open = kmer_open,
    .n_vocab = kmer_n_vocab,
    .bound = kmer_bound,
    .min_base = kmer_min,
    .encode = kmer_encode,
    .count = kmer_count,
    .mirrors = kmer_mirrors,
    .aligned = kmer_aligned,
    .cells = kmer_cells,
    .symbol = kmer_symbol,
    .close = kmer_close,
    .overlap = kmer_overlap,
};
