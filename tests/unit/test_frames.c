/* test_frames.c - tokens of open reading frames, against their definition. */
#include "tokenizing.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "io/alphabet.h"
#include "tok/translate.h"

extern const cs_tokenizer cs_tok_frames, cs_tok_orf;

enum { ORF_K = 3, ORF_MIN = 6, ORF_GAP = 2 };

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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reading_frames) };
    char level[64];
    int n_failed = 0;

    if (cs_cpu_init() != CS_OK)
        return 2;
    for (int i = 0; cs_cpu_level(i, level, sizeof level); i++)
        n_failed += cmocka_run_group_tests_name(level, tests, NULL, NULL);
    return n_failed;
}
