/* test_tokenizer.c - every tokenizer against its interface; tokens against words spelled out. Those
 * of open reading frames: test_frames.c. */
#include "tokenizing.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "registry.h"
#include "tok/kmer.h"
#include "tok/translate.h"

extern const cs_tokenizer cs_tok_base, cs_tok_codon;

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

/* ---- every tokenizer ---------------------------------------------------------------------- */

/* Encode with buffers of exactly the stated sizes; *page holds the ids. */
static int64_t encode_in_bounds(const cs_tokenizer *tok, const void *st, const cs_segment *s,
                                check_page *page)
{
    check_page work = check_page_new(cs_tokenizer_work(tok, st, s->n_base));
    *page = check_page_new((size_t)tok->bound(st, s->n_base) * sizeof(int32_t));
    const int64_t n = tok->encode(st, s, work.p, page->p);

    assert_true(n <= tok->bound(st, s->n_base));
    assert_int_equal(n > 0, s->n_base >= tok->min_base(st));
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
            if (id < CS_TOK_FIRST)
                assert_string_equal(symbol, id == CS_TOK_PAD ? "<pad>" : "<unk>");
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
        cmocka_unit_test(test_revcomp), cmocka_unit_test(test_vocabularies),
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
