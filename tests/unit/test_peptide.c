/* test_peptide.c - peptide words of six frames against sequences translated codon by codon. */
#include "check.h"

#include "base/rng.h"
#include "io/record.h"
#include "tok/peptide.h"

static const char ten[] = "LVIM,C,A,G,ST,P,FYW,EDNQ,KR,H";

enum { MOST = 20000 };

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* All hashes of a sequence, sorted; returns how many. */
static int hashes(const cs_peptides *p, const char *base, int64_t n_base, uint64_t *out)
{
    static uint64_t block[2 * CS_PEPTIDE_BLOCK];
    int n = 0;

    for (int64_t i = 0; i < cs_peptides_windows(p, n_base); i += CS_PEPTIDE_BLOCK) {
        const int k = cs_peptides_hash(p, base, n_base, i, block);
        assert_true(n + k <= MOST);
        memcpy(out + n, block, (size_t)k * sizeof *block);
        n += k;
    }
    qsort(out, (size_t)n, sizeof *out, by_value);
    return n;
}

static void random_bases(uint64_t key, const char *letters, char *base, int n)
{
    for (int i = 0; i < n; i++)
        base[i] = letters[cs_rng_below(key, (uint64_t)i, strlen(letters))];
}

/* ---- the definition: translate a strand from every base, then take words of its letters ------ */

static char amino(const char *b)
{
    static const char *const codons[] = {          /* NCBI's table 1, by amino acid */
        "A GCA GCC GCG GCT", "C TGC TGT", "D GAC GAT", "E GAA GAG", "F TTC TTT",
        "G GGA GGC GGG GGT", "H CAC CAT", "I ATA ATC ATT", "K AAA AAG",
        "L CTA CTC CTG CTT TTA TTG", "M ATG", "N AAC AAT", "P CCA CCC CCG CCT", "Q CAA CAG",
        "R AGA AGG CGA CGC CGG CGT", "S AGC AGT TCA TCC TCG TCT", "T ACA ACC ACG ACT",
        "V GTA GTC GTG GTT", "W TGG", "Y TAC TAT",
    };
    const char codon[4] = { b[0], b[1], b[2], '\0' };

    for (size_t i = 0; i < sizeof codons / sizeof codons[0]; i++)
        if (strstr(codons[i] + 1, codon))
            return codons[i][0];
    return '*';
}

/* A group is written as its first letter, so words of one group are one text. */
static char letter_of(const char *alphabet, char c)
{
    const char *at = strchr(alphabet, c);

    while (at && at > alphabet && at[-1] != ',')
        at--;
    return at ? *at : '*';
}

static int add_words(const char *alphabet, const char *base, int n_base, int k,
                     char (*word)[CS_PEPTIDE_MAX_K + 1], int n)
{
    for (int i = 0; i + 3 * k <= n_base; i++) {
        for (int j = 0; j < k; j++)
            word[n][j] = letter_of(alphabet, amino(base + i + 3 * j));
        word[n][k] = '\0';
        n += !strchr(word[n], '*');
    }
    return n;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* How often the words of the definition occur, most often first, and how often the hashes do: the
 * same numbers, if words and hashes are one to one. */
static int by_count(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

static void check_definition(const char *alphabet, int k, const char *base, int n_base)
{
    static char word[MOST][CS_PEPTIDE_MAX_K + 1], turned[MOST];
    static uint64_t hash[MOST];
    static int by_word[MOST], by_hash[MOST];
    cs_peptides p;
    int n = 0, n_word = 0, n_hash = 0;

    assert_int_equal(cs_peptides_init(&p, alphabet, k, 1), CS_OK);
    cs_base_revcomp(base, n_base, turned);
    n = add_words(alphabet, base, n_base, k, word, n);
    n = add_words(alphabet, turned, n_base, k, word, n);
    qsort(word, (size_t)n, sizeof word[0], by_text);
    assert_int_equal(hashes(&p, base, n_base, hash), n);
    for (int i = 0; i < n; i++) {
        if (i == 0 || strcmp(word[i], word[i - 1]) != 0)
            by_word[n_word++] = 0;
        by_word[n_word - 1]++;
        if (i == 0 || hash[i] != hash[i - 1])
            by_hash[n_hash++] = 0;
        by_hash[n_hash - 1]++;
    }
    assert_int_equal(n_hash, n_word);
    qsort(by_word, (size_t)n_word, sizeof *by_word, by_count);
    qsort(by_hash, (size_t)n_word, sizeof *by_hash, by_count);
    assert_memory_equal(by_hash, by_word, (size_t)n_word * sizeof *by_word);
}

static void test_definition(void **state)
{
    static char base[4000];

    (void)state;
    random_bases(1, "ACGT", base, 3000);
    memcpy(base + 3000, base, 400);              /* words that occur twice, in another frame */
    random_bases(2, "AACCGGTTN", base + 3400, 600);
    for (int k = CS_PEPTIDE_MIN_K; k <= CS_PEPTIDE_MAX_K; k++)
        check_definition(ten, k, base, 4000);
    check_definition("A,C,DE,F,G,H,IV,KR,LM,N,P,Q,S,T,WY", 9, base, 3700);   /* more bases follow */
    for (int n = 0; n < 60; n++)
        check_definition(ten, 12, base, n);
}

/* Both strands have the same words, and a sample is a part of all. */
static void test_strands(void **state)
{
    static char base[5000], turned[5000];
    static uint64_t a[MOST], b[MOST], all[MOST];
    cs_peptides p, whole;

    (void)state;
    assert_int_equal(cs_peptides_init(&p, ten, 12, 8), CS_OK);
    assert_int_equal(cs_peptides_init(&whole, ten, 12, 1), CS_OK);
    for (int n = 1000; n < 1080; n += 7) {
        random_bases((uint64_t)n, "ACGTACGTACGTN", base, n);
        cs_base_revcomp(base, n, turned);
        const int n_a = hashes(&p, base, n, a), n_all = hashes(&whole, base, n, all);
        assert_int_equal(hashes(&p, turned, n, b), n_a);
        assert_memory_equal(a, b, (size_t)n_a * sizeof *a);
        for (int i = 0; i < n_a; i++)
            assert_non_null(bsearch(&a[i], all, (size_t)n_all, sizeof *all, by_value));
    }
    random_bases(3, "ACGT", base, 5000);
    const int n_a = hashes(&p, base, 5000, a), n_all = hashes(&whole, base, 5000, all);
    assert_in_range(n_a, n_all / 12, n_all / 5);
}

static void test_settings(void **state)
{
    static const char *const wrong[] = { "", "LVIM", "LVIM,C,A,G,ST,P,FYW,EDNQ,KR,HH",
                                         "LVIM,C,A,G,ST,P,FYW,EDNQ,KR,HX",
                                         "A,C,D,E,F,G,H,I,K,L,M,N,P,Q,R,STVWY" };
    cs_peptides p;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(cs_peptides_init(&p, wrong[i], 12, 8), CS_EUSAGE);
    assert_int_equal(cs_peptides_init(&p, ten, 7, 8), CS_EUSAGE);
    assert_int_equal(cs_peptides_init(&p, ten, 17, 8), CS_EUSAGE);
    assert_int_equal(cs_peptides_init(&p, ten, 12, 0), CS_EUSAGE);
    cs_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_strands),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
