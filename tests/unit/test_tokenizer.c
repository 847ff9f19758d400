/* test_tokenizer.c - base and k-mer tokens against words spelled out one by one. */
#include "check.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "tok/tokenizer.h"

extern const cs_tokenizer cs_tok_base, cs_tok_codon, cs_tok_kmer;

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

/* The codon at each place by its letters, and of the other strand those of the reverse complement
 * spelt out; blocks of 512 and unknown letters lie at either side of borders. */
static void test_codons(void **state)
{
    enum { N = 1100 };
    char base[N], turned[N], symbol[8], want[8];
    int32_t id[2 * N + 2], other[2 * N + 2];
    void *st = NULL;
    (void)state;
    assert_int_equal(cs_tok_codon.open(NULL, &st), CS_OK);
    assert_int_equal(cs_tok_codon.n_vocab(st), 66);
    for (int i = 0; i < N; i++)
        base[i] = i % 97 == 13 || i == 513 ? 'N' : "ACGT"[(i * 7 + i / 5 + i / 31) % 4];
    cs_base_revcomp(base, N, turned);
    for (int n = 0; n < N; n += n < 8 ? 1 : 271) {
        const cs_segment s = { base, NULL, n }, r = { turned + N - n, NULL, n };
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

/* Every stride, a sequence with unknown bases in awkward places, against one word at a time. */
static void check_walk(int k, int stride)
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
        check_long(&cs_tok_base, NULL, 1, 1, odd);
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
            check_walk(k, stride);
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
            const size_t room = (size_t)cs_tok_kmer.bound(st, n) * sizeof(int32_t);
            check_page page = check_page_new(room);
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
    assert_string_equal(cs_error_message(), "k-mer stride 4 is not between 1 and k (3)");
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
        cmocka_unit_test(test_base), cmocka_unit_test(test_codons),
        cmocka_unit_test(test_vocabularies),
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
