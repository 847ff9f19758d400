/* test_tokenizer.c - every tokenizer against its interface; tokens against words spelled out. */
/* long: one topic, the tokenizers */
#include "check.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "registry.h"
#include "tok/kmer.h"
#include "tok/translate.h"

extern const cs_tokenizer cs_tok_base, cs_tok_codon, cs_tok_frames, cs_tok_orf;

static const char *const k_text[] = { "1", "2", "3", "4", "5", "6", "7", "8" };

static void *open_kmer(const char *k, const char *stride, int canonical)
{
    void *state = NULL;
    void *cfg = cs_xcalloc(1, cs_tok_kmer.cfg_size);
    const cs_optset set[] = { { cs_tok_kmer.opt, cfg, NULL }, { NULL, NULL, NULL } };
    cs_opt_defaults(set);
    assert_int_equal(cs_opt_set(cs_tok_kmer.opt, cfg, "k", k), CS_OK);
    assert_int_equal(cs_opt_set(cs_tok_kmer.opt, cfg, "stride", stride), CS_OK);
    if (canonical)
        *(int *)((char *)cfg + cs_opt_find(cs_tok_kmer.opt, "canonical")->off) = 1;
    assert_int_equal(cs_tok_kmer.open(cfg, &state), CS_OK);
    free(cfg);
    return state;
}

static void test_base(void **state)
{
    (void)state;
    const char *bases = "ACGTNRYSWKMBDHV";
    int32_t id[15];
    char symbol[8];
    void *st = NULL;
    const cs_segment s = { bases, NULL, 15 };
    assert_int_equal(cs_tok_base.open(NULL, &st), CS_OK);
    assert_int_equal(cs_tok_base.n_vocab(st), 6);
    assert_int_equal(cs_tok_base.min_base(st), 1);
    assert_int_equal(cs_tok_base.bound(st, 15), 15);
    assert_int_equal(cs_tok_base.encode(st, &s, NULL, id), 15);
    for (int i = 0; i < 15; i++)
        assert_int_equal(id[i], i < 4 ? i + 2 : CS_TOK_UNK);
    for (int i = 0; i < 4; i++) {
        cs_tok_base.symbol(st, i + 2, symbol, sizeof symbol);
        assert_int_equal(symbol[0], bases[i]);
        assert_int_equal(symbol[1], 0);
    }
    cs_tok_base.close(st);
}

static void test_case(void **state)
{
    (void)state;
    const struct { int cased; } cfg = { 1 };
    const char *bases = "ACGTNacgtn", *symbols = "ACGTacgt";
    const int32_t want[10] = { 2, 3, 4, 5, CS_TOK_UNK, 6, 7, 8, 9, CS_TOK_UNK };
    int32_t id[10];
    char symbol[8], revcomp[11] = "";
    void *st = NULL;
    const cs_segment s = { bases, NULL, 10 };
    assert_int_equal(cs_tok_base.cfg_size, sizeof cfg);
    assert_int_equal(cs_tok_base.open(&cfg, &st), CS_OK);
    assert_int_equal(cs_tok_base.n_vocab(st), 10);
    assert_int_equal(cs_tokenizer_alphabet(&cs_tok_base, st), CS_CASED);
    assert_int_equal(cs_tok_base.encode(st, &s, NULL, id), 10);
    assert_memory_equal(id, want, sizeof want);
    for (int i = 0; i < 8; i++) {
        cs_tok_base.symbol(st, i + 2, symbol, sizeof symbol);
        assert_int_equal(symbol[0], symbols[i]);
    }
    cs_tok_base.close(st);
    cs_base_revcomp(bases, 10, revcomp);
    assert_string_equal(revcomp, "nacgtNACGT");
}

/* The codon at each place by its letters, and of the other strand those of the reverse complement
 * spelt out; blocks of 512 and unknown letters are at either side of borders. */
static void test_codons(void **state)
{
    enum { N = 1100 };
    char base[N], revcomp[N], symbol[8], want[8];
    int32_t id[2 * N + 2], other[2 * N + 2];
    void *st = NULL;
    (void)state;
    assert_int_equal(cs_tok_codon.open(NULL, &st), CS_OK);
    assert_int_equal(cs_tok_codon.n_vocab(st), 66);
    for (int i = 0; i < N; i++)
        base[i] = i % 97 == 13 || i == 513 ? 'N' : "ACGT"[(i * 7 + i / 5 + i / 31) % 4];
    cs_base_revcomp(base, N, revcomp);
    for (int n = 0; n < N; n += n < 8 ? 1 : 271) {
        const cs_segment s = { base, NULL, n }, r = { revcomp + N - n, NULL, n };
        const int64_t half = n < 3 ? 0 : n - 2 + 3;
        assert_int_equal(cs_tok_codon.bound(st, n), 2 * half);
        assert_int_equal(cs_tok_codon.encode(st, &s, NULL, id), 2 * half);
        assert_int_equal(cs_tok_codon.encode(st, &r, NULL, other), 2 * half);
        for (int64_t i = 0; i < half; i++) {
            assert_int_equal(id[i], other[half + i]);
            assert_int_equal(id[half + i], other[i]);
            (void)snprintf(want, sizeof want, "%.3s", i < n - 2 ? base + i : "NNN");
            cs_tok_codon.symbol(st, id[i], symbol, sizeof symbol);
            assert_string_equal(symbol, strchr(want, 'N') ? "<unk>" : want);
        }
    }
    cs_tok_codon.close(st);
}

static void test_revcomp(void **state)
{
    char base[8], revcomp[8];

    (void)state;
    for (int k = 1; k <= 8; k++) {
        for (uint32_t word = 0; word < 1U << (2 * k); word++) {
            uint32_t want = 0;
            for (int i = 0; i < k; i++)
                base[i] = "ACGT"[word >> (2 * (k - 1 - i)) & 3];
            cs_base_revcomp(base, k, revcomp);
            for (int i = 0; i < k; i++)
                want = want << 2 | cs_base_code[(unsigned char)revcomp[i]];
            assert_int_equal(cs_word_revcomp(word, k), want);
        }
    }
    for (int codon = 0; codon < CS_CODONS; codon++)
        assert_int_equal(cs_codon_revcomp(codon), cs_word_revcomp((uint32_t)codon, 3));
}

/* ---- open reading frames ------------------------------------------------------------------ */

enum { ORF_K = 3, ORF_MIN = 6, ORF_GAP = 2 };

/* setting: names and values, then NULL */
static void *open_with(const cs_tokenizer *tok, const char *const *setting)
{
    void *st = NULL;
    void *cfg = cs_xcalloc(1, tok->cfg_size);
    const cs_optset set[] = { { tok->opt, cfg, NULL }, { NULL, NULL, NULL } };
    assert_int_equal(cs_opt_check(set), CS_OK);
    cs_opt_defaults(set);
    for (; *setting; setting += 2)
        assert_int_equal(cs_opt_set(tok->opt, cfg, setting[0], setting[1]), CS_OK);
    assert_int_equal(tok->open(cfg, &st), CS_OK);
    free(cfg);
    return st;
}

static void *open_orf(void)
{
    static const char *const setting[] = { "k", "3", "min-codons", "6", "gap", "2", NULL };
    return open_with(&cs_tok_orf, setting);
}

static void *open_frames(void)
{
    static const char *const setting[] = { "min-codons", "6", NULL };
    return open_with(&cs_tok_frames, setting);
}

/* The codon of the forward strand at p as text, and its amino acid; '*' outside of the sequence. */
static char acid_at(const char *base, int64_t n, int64_t p, char codon[4])
{
    int code = 0;

    memcpy(codon, "NNN", 4);
    if (p < 0 || p + 3 > n)
        return '*';
    memcpy(codon, base + p, 3);
    for (int i = 0; i < 3; i++) {
        if (cs_base_code[(unsigned char)codon[i]] > 3)
            return '*';
        code = 4 * code + cs_base_code[(unsigned char)codon[i]];
    }
    return cs_genetic_code[code];
}

/* The first base of the run at p. */
static int64_t run_at(const char *base, int64_t n, int64_t p)
{
    char codon[4];

    while (acid_at(base, n, p - 3, codon) != '*')
        p -= 3;
    return p;
}

/* Codons of the run at p. */
static int64_t codons_at(const char *base, int64_t n, int64_t p)
{
    char codon[4];
    const int64_t from = run_at(base, n, p);
    int64_t to = p;

    if (acid_at(base, n, p, codon) == '*')
        return 0;
    while (acid_at(base, n, to, codon) != '*')
        to += 3;
    return (to - from) / 3;
}

/* count() gives the occurrences of encode()'s ids. */
static void check_count(const cs_tokenizer *tok, const void *st, const cs_segment *s,
                        const int32_t *id, int64_t n_id)
{
    const int32_t n_vocab = tok->n_vocab(st);
    int64_t *count = cs_xcalloc((size_t)n_vocab, sizeof *count);
    check_page work = check_page_new(cs_tokenizer_work(tok, st, s->n_base));

    assert_int_equal(tok->count(st, s, work.p, count), n_id);
    for (int64_t i = 0; i < n_id; i++)
        count[id[i]]--;
    for (int32_t v = 0; v < n_vocab; v++)
        assert_int_equal(count[v], 0);
    free(count);
    check_page_free(&work);
}

/* The symbols of the reading frames of `base` that the forward strand holds, after the definition;
 * revcomp: the reverse complement. Without pairs ("gap" 0), <unk> stands between runs. */
static void expect_frames(const char *base, const char *revcomp, int64_t n, int max_gap, char *text,
                          size_t size)
{
    size_t at = 0;
    int64_t run = -1;

    *text = 0;
    for (int64_t p = 0; p + 3 <= n; p++) {
        const int64_t own = codons_at(base, n, p);
        int n_most = 0;
        for (int64_t q = p - 1; q <= p + 1; q++) {
            const int64_t both[2] = { codons_at(base, n, q), codons_at(revcomp, n, n - 3 - q) };
            for (int i = 0; i < 2; i++)
                n_most += both[i] > own ? 2 : both[i] == own;
        }
        if (own < ORF_MIN || n_most > 1)
            continue;
        char codon[4], other[4];
        const char acid = acid_at(base, n, p, codon);
        const int min = own >= 80 ? 80 : own >= 50 ? 50 : own >= 30 ? 30 : ORF_MIN;
        if (max_gap == 0 && run >= 0 && run != run_at(base, n, p))
            at += (size_t)snprintf(text + at, size - at, "<unk> ");
        run = run_at(base, n, p);
        at += (size_t)snprintf(text + at, size - at, "%s/%d ", codon, min);
        for (int gap = 1; gap <= max_gap; gap++) {
            if (acid_at(base, n, p + 3 * gap, other) == '*')
                break;
            at += (size_t)snprintf(text + at, size - at, "%c%d%c ", acid, gap,
                                   acid_at(base, n, p + 3 * gap, other));
        }
    }
}

static void check_orf(void *st, const char *base, const char *revcomp, int64_t n)
{
    static char text[100000], want[100000];
    char symbol[16];
    size_t at = 0;
    const int64_t bound = cs_tok_orf.bound(st, n), n_kmer = n < ORF_K ? 0 : n - ORF_K + 1;
    const cs_segment s = { base, NULL, n }, r = { revcomp, NULL, n };
    check_page page = check_page_new((size_t)bound * sizeof(int32_t)),
               mirror = check_page_new((size_t)bound * sizeof(int32_t)),
               work = check_page_new(cs_tokenizer_work(&cs_tok_orf, st, n));
    int32_t *id = page.p, *back = mirror.p;
    const int64_t n_id = cs_tok_orf.encode(st, &s, work.p, id);
    int64_t i = 0;

    check_count(&cs_tok_orf, st, &s, id, n_id);
    assert_int_equal(cs_tok_orf.encode(st, &r, work.p, back), n_id);
    for (int64_t k = 0; k < n_id; k++)
        assert_int_equal(id[k], back[n_id - 1 - k]);
    for (*text = 0;; i++) {
        assert_true(i < n_id || n_kmer == 0);
        if (i == n_id)
            break;
        cs_tok_orf.symbol(st, id[i], symbol, sizeof symbol);
        if (strlen(symbol) == ORF_K && !strpbrk(symbol, "/12"))
            break;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s ", symbol);
    }
    expect_frames(base, revcomp, n, ORF_GAP, want, sizeof want);
    assert_string_equal(text, want);
    for (int64_t k = 0; k < n_kmer; k++) {
        cs_tok_orf.symbol(st, id[i + k], symbol, sizeof symbol);
        const bool first = !strncmp(symbol, base + k, ORF_K);
        assert_true(id[i + k] == CS_TOK_UNK || first
                    || !strncmp(symbol, revcomp + n - ORF_K - k, ORF_K));
    }
    check_page_free(&page);
    check_page_free(&mirror);
    check_page_free(&work);
}

/* Both strands' codons after the definition, the reverse complement's with the halves exchanged. */
static void check_halves(void *st, const char *base, const char *revcomp, int64_t n)
{
    static char text[100000], want[100000];
    char symbol[16];
    size_t at = 0;
    const size_t size = (size_t)cs_tok_frames.bound(st, n) * sizeof(int32_t);
    const cs_segment s = { base, NULL, n }, r = { revcomp, NULL, n };
    check_page page = check_page_new(size), mirror = check_page_new(size),
               work = check_page_new(cs_tokenizer_work(&cs_tok_frames, st, n));
    int32_t *id = page.p, *back = mirror.p;
    const int64_t n_id = cs_tok_frames.encode(st, &s, work.p, id);

    expect_frames(base, revcomp, n, 0, want, sizeof want);
    assert_int_equal(cs_tok_frames.encode(st, &r, work.p, back), n_id);
    assert_int_equal(n_id == 0, n < 3);
    int64_t half = 0;
    for (*text = 0; half < n_id && strlen(text) < strlen(want); half++) {
        cs_tok_frames.symbol(st, id[half], symbol, sizeof symbol);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s ", symbol);
    }
    assert_string_equal(text, want);
    half += n_id > 0;
    for (int64_t k = 0; k < n_id; k++)
        assert_int_equal(id[k], back[(k + n_id - half) % n_id]);
    assert_true(n_id == 0 || (id[half - 1] == CS_TOK_UNK && id[n_id - 1] == CS_TOK_UNK));
    check_page_free(&page);
    check_page_free(&mirror);
    check_page_free(&work);
}

/* Runs of many lengths on both strands: random bases with few or no T's, which rarely stop. */
static void test_reading_frames(void **state)
{
    enum { N = 900 };
    static char base[N], revcomp[N];
    void *st = open_orf(), *frames = open_frames();

    (void)state;
    assert_int_equal(cs_tok_orf.n_vocab(st), 2 + 32 + 6 * 64 + ORF_GAP * 400);
    assert_int_equal(cs_tok_frames.n_vocab(frames), 2 + 6 * 64);
    for (uint64_t seed = 0; seed < 12; seed++) {
        for (uint64_t i = 0; i < N; i++) {
            const uint64_t part = seed + i / 150;
            base[i] = i % 331 == 330 ? 'N'
                    : (part % 3 == 0 ? "ACGT" : part % 3 == 1 ? "CCGA" : "CCGT")
                      [cs_rng_below(50 + seed, i, 4)];
        }
        cs_base_revcomp(base, N, revcomp);
        for (int64_t n = 0; n <= N; n += n < 40 ? 1 : 287) {
            check_orf(st, base, revcomp + N - n, n);
            check_halves(frames, base, revcomp + N - n, n);
        }
    }
    cs_tok_frames.close(frames);
    cs_tok_orf.close(st);
}

/* ---- every tokenizer ---------------------------------------------------------------------- */

/* Encode with buffers of exactly the stated sizes; *page holds the ids. */
static int64_t encode_in_bounds(const cs_tokenizer *tok, const void *st, const cs_segment *s,
                                check_page *page)
{
    check_page work = check_page_new(cs_tokenizer_work(tok, st, s->n_base));
    *page = check_page_new((size_t)tok->bound(st, s->n_base) * sizeof(int32_t));
    const int64_t n = tok->encode(st, s, work.p, page->p);

    assert_true(n <= tok->bound(st, s->n_base));
    assert_true(s->n_base >= tok->min_base(st) || n == 0);
    for (int64_t i = 0; i < n; i++)
        assert_in_range(((int32_t *)page->p)[i], CS_TOK_UNK, tok->n_vocab(st) - 1);
    if (tok->count)
        check_count(tok, st, s, page->p, n);
    check_page_free(&work);
    return n;
}

static bool is_rotation(const int32_t *a, const int32_t *b, int64_t n)
{
    int64_t by = 0;

    while (by < n && (memcmp(a, b + by, (size_t)(n - by) * sizeof *a) != 0 ||
                      memcmp(a + n - by, b, (size_t)by * sizeof *a) != 0))
        by++;
    return by < n || n == 0;
}

/* Cells cover the sequence in order; `aligned` tokens have mirrored cells. */
static void check_cells(const cs_tokenizer *tok, const void *st, const cs_segment s[2],
                        int32_t *const id[2], int64_t n)
{
    int64_t *first[2];

    for (int i = 0; i < 2; i++) {
        first[i] = cs_xcalloc((size_t)n + 1, sizeof *first[i]);
        tok->cells(st, &s[i], id[i], n, first[i]);
        assert_true(n == 0 || (first[i][0] == 0 && first[i][n] == s[i].n_base));
        for (int64_t k = 0; k < n; k++)
            assert_true(first[i][k] <= first[i][k + 1]);
    }
    for (int64_t k = 0; n > 0 && tok->aligned && tok->aligned(st) && k <= n; k++)
        assert_int_equal(first[1][k], s[0].n_base - first[0][n - k]);
    free(first[0]);
    free(first[1]);
}

/* The interface in tokenizer.h, for the first n bases of `base` and their reverse complement. */
static void check_interface(const cs_tokenizer *tok, const void *st, const char *base, int64_t n)
{
    char *revcomp = cs_xcalloc((size_t)n + 1, 1);
    const cs_segment s[2] = { { base, NULL, n }, { revcomp, NULL, n } };
    check_page page[2];

    cs_base_revcomp(base, n, revcomp);
    const int64_t n_id = encode_in_bounds(tok, st, &s[0], &page[0]);
    assert_int_equal(encode_in_bounds(tok, st, &s[1], &page[1]), n_id);
    int32_t *const id[2] = { page[0].p, page[1].p };
    for (int64_t i = 0; tok->mirrors(st) && i < n_id; i++)
        assert_int_equal(id[0][i], id[1][n_id - 1 - i]);
    if (tok->both_strands && tok->both_strands(st))
        assert_true(is_rotation(id[0], id[1], n_id));
    if (tok->cells)
        check_cells(tok, st, s, id, n_id);
    check_page_free(&page[0]);
    check_page_free(&page[1]);
    free(revcomp);
}

/* With default options; test_bpe.c has the tokenizer that needs a file. */
static void test_every_tokenizer(void **state)
{
    static const char *const defaults[] = { NULL };
    char base[700], symbol[64];

    (void)state;
    for (uint64_t i = 0; i < sizeof base; i++)
        base[i] = i % 331 == 330 ? 'N' : (i < 300 ? "ACGT" : "CCGA")[cs_rng_below(7, i, 4)];
    for (int t = 0; cs_tokenizer_at(t); t++) {
        const cs_tokenizer *tok = cs_tokenizer_at(t);
        if (tok->restore)
            continue;
        void *st = open_with(tok, defaults);
        for (int32_t id = 0; id < tok->n_vocab(st); id++) {
            *symbol = 0;
            tok->symbol(st, id, symbol, sizeof symbol);
            assert_true(*symbol && strlen(symbol) + 1 < sizeof symbol);
        }
        assert_in_range(cs_tokenizer_mask(tok, st) + 1, 0, tok->n_vocab(st));
        for (int64_t n = 0; n <= (int64_t)sizeof base; n += n < 40 ? 1 : 165)
            check_interface(tok, st, base, n);
        tok->close(st);
    }
}

/* ---- words --------------------------------------------------------------------------------- */

/* The vocabulary is the sorted list of words, or of the smaller of each word and its reverse
 * complement: its size by the formula, its order by strcmp, its members by the definition. */
static void check_vocabulary(int k, int canonical)
{
    void *st = open_kmer(k_text[k - 1], "1", canonical);
    const int64_t all = INT64_C(1) << (2 * k);
    const int64_t palindromes = k % 2 ? 0 : INT64_C(1) << k;
    const int32_t n = cs_tok_kmer.n_vocab(st);
    assert_int_equal(n, 2 + (canonical ? (all + palindromes) / 2 : all));
    char last[16] = "", word[16], other[16] = "";
    for (int32_t id = 2; id < n; id++) {
        int32_t got[2] = { -1, -1 };
        cs_tok_kmer.symbol(st, id, word, sizeof word);
        assert_int_equal(strlen(word), k);
        assert_true(strcmp(last, word) < 0);
        cs_base_revcomp(word, k, other);
        assert_true(!canonical || strcmp(word, other) <= 0);
        const cs_segment s[] = { { word, NULL, k }, { other, NULL, k } };
        assert_int_equal(cs_tok_kmer.encode(st, &s[0], NULL, &got[0]), 1);
        assert_int_equal(cs_tok_kmer.encode(st, &s[1], NULL, &got[1]), 1);
        assert_int_equal(got[0], id);
        assert_true(canonical ? got[1] == id : (got[1] == id) == (strcmp(word, other) == 0));
        memcpy(last, word, sizeof last);
    }
    cs_tok_kmer.close(st);
}

static void test_vocabularies(void **state)
{
    (void)state;
    for (int k = 1; k <= 8; k++) {
        check_vocabulary(k, 0);
        check_vocabulary(k, 1);
    }
}

/* Every stride, a sequence with unknown bases at word borders, against one word at a time. */
static void check_words_in_order(int k, int stride)
{
    const char *bases = "NACGTACGATTTNACGGGTACCATRGACCAGTACCCATGNNACGTTTGACATTACAGGATC";
    void *st = open_kmer(k_text[k - 1], k_text[stride - 1], 0);
    for (int64_t n = 0; n <= (int64_t)strlen(bases); n++) {
        const cs_segment s = { bases, NULL, n };
        const int64_t want = n < k ? 0 : (n - k) / stride + 1;
        int32_t id[64], alone;
        assert_int_equal(cs_tok_kmer.bound(st, n), want);
        assert_int_equal(cs_tok_kmer.encode(st, &s, NULL, id), want);
        for (int64_t i = 0; i < want; i++) {
            const char *word = bases + i * stride;
            const cs_segment w = { word, NULL, k };
            assert_int_equal(cs_tok_kmer.encode(st, &w, NULL, &alone), 1);
            assert_int_equal(id[i], alone);
            assert_int_equal(id[i] == CS_TOK_UNK, (int64_t)strspn(word, "ACGT") < k);
        }
    }
    cs_tok_kmer.close(st);
}

/* Blocks of bases at once, with and without the odd letter, against one word at a time. */
static void check_long(const cs_tokenizer *tok, void *st, int64_t k, int64_t stride, int odd)
{
    enum { N = 1700 };
    static char bases[N];
    static int32_t id[N];
    for (int i = 0; i < N; i++)
        bases[i] = "ACGT"[cs_rng_below(3, (uint64_t)i, 4)];
    for (int i = 0; i < odd; i++)
        bases[cs_rng_below(4, (uint64_t)i, N)] = "NUaR"[i % 4];
    for (int64_t n = N - 530; n <= N; n += 53) {
        const cs_segment s = { bases + N - n, NULL, n };
        const int64_t want = (n - k) / stride + 1;
        assert_int_equal(tok->encode(st, &s, NULL, id), want);
        if (tok->count)
            check_count(tok, st, &s, id, want);
        for (int64_t i = 0; i < want; i++) {
            const cs_segment w = { s.base + i * stride, NULL, k };
            int32_t alone;
            assert_int_equal(tok->encode(st, &w, NULL, &alone), 1);
            assert_int_equal(id[i], alone);
        }
    }
}

static void test_long(void **state)
{
    (void)state;
    for (int odd = 0; odd < 9; odd += 4) {
        void *base = NULL;
        assert_int_equal(cs_tok_base.open(NULL, &base), CS_OK);
        check_long(&cs_tok_base, base, 1, 1, odd);
        cs_tok_base.close(base);
        for (int k = 1; k <= 8; k++) {
            for (int stride = 1; stride <= k; stride++) {
                void *st = open_kmer(k_text[k - 1], k_text[stride - 1], k % 2);
                check_long(&cs_tok_kmer, st, k, stride, odd);
                cs_tok_kmer.close(st);
            }
        }
    }
}

static void test_strides(void **state)
{
    (void)state;
    for (int k = 1; k <= 8; k++) {
        for (int stride = 1; stride <= k; stride++)
            check_words_in_order(k, stride);
    }
}

static void test_never_writes_past_bound(void **state)
{
    (void)state;
    char bases[200];
    memset(bases, 'G', sizeof bases);
    for (int stride = 1; stride <= 6; stride++) {
        void *st = open_kmer("6", k_text[stride - 1], 1);
        for (int64_t n = 0; n < 200; n++) {
            const cs_segment s = { bases, NULL, n };
            const size_t n_byte = (size_t)cs_tok_kmer.bound(st, n) * sizeof(int32_t);
            check_page page = check_page_new(n_byte);
            assert_int_equal(cs_tok_kmer.encode(st, &s, NULL, page.p), cs_tok_kmer.bound(st, n));
            check_page_free(&page);
        }
        cs_tok_kmer.close(st);
    }
}

static void test_bad_options(void **state)
{
    (void)state;
    void *st = NULL;
    void *cfg = cs_xcalloc(1, cs_tok_kmer.cfg_size);
    const cs_optset set[] = { { cs_tok_kmer.opt, cfg, NULL }, { NULL, NULL, NULL } };
    assert_int_equal(cs_opt_check(set), CS_OK);
    cs_opt_defaults(set);
    assert_int_equal(cs_opt_set(cs_tok_kmer.opt, cfg, "k", "9"), CS_EUSAGE);
    cs_error_clear();
    assert_int_equal(cs_opt_set(cs_tok_kmer.opt, cfg, "stride", "0"), CS_EUSAGE);
    cs_error_clear();
    assert_int_equal(cs_opt_set(cs_tok_kmer.opt, cfg, "k", "3"), CS_OK);
    assert_int_equal(cs_opt_set(cs_tok_kmer.opt, cfg, "stride", "4"), CS_OK);
    assert_int_equal(cs_tok_kmer.open(cfg, &st), CS_EUSAGE);
    assert_string_equal(cs_error_message(), "--tokenizer.stride 4 exceeds --tokenizer.k 3; lower "
                        "it, so that no base is left out");
    cs_error_clear();
    assert_int_equal(cs_opt_set(cs_tok_kmer.opt, cfg, "stride", "3"), CS_OK);
    for (long i = 0; i < 2; i++) {
        cs_mem_fail_at(i);
        assert_int_equal(cs_tok_kmer.open(cfg, &st), CS_EMEM);
        cs_error_clear();
    }
    cs_mem_fail_at(-1);
    cs_tok_kmer.close(NULL);
    free(cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base), cmocka_unit_test(test_case),
        cmocka_unit_test(test_every_tokenizer), cmocka_unit_test(test_codons),
        cmocka_unit_test(test_revcomp),
        cmocka_unit_test(test_reading_frames), cmocka_unit_test(test_vocabularies),
        cmocka_unit_test(test_strides), cmocka_unit_test(test_long),
        cmocka_unit_test(test_never_writes_past_bound),
        cmocka_unit_test(test_bad_options),
    };
    char level[64];
    int n_failed = 0;

    if (cs_cpu_init() != CS_OK)
        return 2;
    for (int i = 0; cs_cpu_level(i, level, sizeof level); i++)
        n_failed += cmocka_run_group_tests_name(level, tests, NULL, NULL);
    return n_failed;
}
