/* test_record.c - chunks grow, own their records, and free attached data. */
#include "check.h"

#include <ctype.h>

#include "base/cpu.h"
#include "io/prediction.h"

static void test_append_keeps_records(void **state)
{
    (void)state;
    cs_chunk *c = cs_chunk_new(7);
    assert_non_null(c);
    assert_int_equal(c->no, 7);
    for (uint64_t i = 0; i < 5000; i++) {
        cs_record *r = cs_chunk_append(c);
        assert_non_null(r);
        assert_string_equal(r->name, "");
        assert_string_equal(r->comment, "");
        assert_int_equal(r->n_seg, 1);
        assert_non_null(r->seg[0].base);
        assert_null(r->seg[0].qual);
        assert_null(r->native[0]);
        r->serial = i;
    }
    assert_int_equal(c->n, 5000);
    for (uint64_t i = 0; i < 5000; i++)
        assert_int_equal(c->rec[i].serial, i);
    assert_true(cs_chunk_bytes(c) >= 5000 * sizeof(cs_record));
    cs_chunk_free(c);
    cs_chunk_free(NULL);
}

static void test_full_by_records_or_bases(void **state)
{
    (void)state;
    cs_chunk *c = cs_chunk_new(0);
    assert_false(cs_chunk_full(c));
    c->n_base = CS_CHUNK_BASES - 1;
    assert_false(cs_chunk_full(c));
    c->n_base++;
    assert_true(cs_chunk_full(c));
    c->n_base = 0;
    for (int i = 0; i < CS_CHUNK_RECORDS - 1; i++)
        assert_non_null(cs_chunk_append(c));
    assert_false(cs_chunk_full(c));
    assert_non_null(cs_chunk_append(c));
    assert_true(cs_chunk_full(c));
    cs_chunk_drop(c);
}

static void test_native_fills_a_chunk(void **state)
{
    (void)state;
    cs_chunk *c = cs_chunk_new(0);
    for (int i = 0; i < 4; i++) {
        cs_record *r = cs_chunk_append(c);
        assert_false(cs_chunk_full(c));
        r->native[0] = cs_arena_alloc(c->mem, 1 << 20, 1);
        assert_non_null(r->native[0]);
    }
    assert_true(cs_chunk_full(c));
    cs_chunk_free(c);
}

static void test_names_fill_a_chunk(void **state)
{
    (void)state;
    cs_chunk *c = cs_chunk_new(0);
    for (int i = 0; i < 4; i++) {
        cs_record *r = cs_chunk_append(c);
        assert_false(cs_chunk_full(c));
        char *name = cs_arena_alloc(c->mem, 1 << 20, 1);
        assert_non_null(name);
        *name = '\0';
        r->name = name;
    }
    assert_true(cs_chunk_full(c));
    cs_chunk_free(c);
}

static void test_out_of_memory_keeps_chunk(void **state)
{
    (void)state;
    cs_mem_fail_at(0);
    assert_null(cs_chunk_new(0));
    cs_mem_fail_at(-1);

    cs_chunk *c = cs_chunk_new(0);
    int n = 0;
    cs_mem_fail_at(0);
    while (n < 4096 && cs_chunk_append(c) != NULL)
        n++;
    cs_mem_fail_at(-1);
    assert_true(n < 4096);
    assert_int_equal(c->n, n);
    assert_non_null(cs_chunk_append(c));
    assert_int_equal(c->n, n + 1);
    cs_chunk_free(c);
}

static void test_reason_names(void **state)
{
    (void)state;
    static const char *const name[] = {
        ".", "empty", "too_short", "too_long", "no_known_base", "mostly_unknown",
        "no_known_token", "no_memory", "low_probability", "low_confidence", "unlike_training"
    };
    for (int r = CS_REASON_NONE; r < CS_N_REASON; r++)
        assert_string_equal(cs_reason_name((cs_reason)r), name[r]);
}

/* Against the definition: an ambiguity code is a set of bases, its complement the set of theirs. */
static void test_alphabet(void **state)
{
    (void)state;
    static const char *const set[] = { "AA", "CC", "GG", "TT", "RAG", "YCT", "SCG", "WAT", "KGT",
                                       "MAC", "BCGT", "DAGT", "HACT", "VACG", "NACGT" };
    static const char other[] = "TGCA";
    unsigned bits[256] = { 0 };
    int n_letter = 0;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        for (const char *s = set[i] + 1; *s; s++)
            bits[(unsigned char)set[i][0]] |= 1u << (strchr("ACGT", *s) - "ACGT");
    }
    for (int c = 0; c < 256; c++) {
        unsigned want = 0;
        for (int b = 0; b < 4; b++)
            want |= bits[c] >> b & 1 ? 1u << (strchr("ACGT", other[b]) - "ACGT") : 0;
        const unsigned char comp = (unsigned char)cs_base_complement[c];
        if (c >= 'a' && c <= 'z')
            assert_int_equal(comp, tolower(cs_base_complement[toupper(c)]));
        else
            assert_int_equal(bits[c] ? bits[comp] : comp, want);
        n_letter += cs_base_upper[c] != 0;
        const char *four = strchr("ACGT", c == 'U' || c == 'u' ? 'T' : c & ~0x20);
        const bool letter = c >= 'A' && c <= 'z' && (c & ~0x20) && four;
        assert_int_equal(cs_base_code[c], letter ? four - "ACGT" : 4);
    }
    assert_int_equal(n_letter, 2 * 16 + 3);
    assert_int_equal(cs_base_upper['u'], 'T');
    assert_int_equal(cs_base_upper['-'], 'N');
    assert_int_equal(cs_base_upper['X'], 0);
    for (const char *s = "ACGTRYSWKMBDHVN"; *s; s++) {
        assert_int_equal(cs_base_upper[(unsigned char)*s], *s);
        assert_int_equal(cs_base_upper[(unsigned char)*s | 0x20], *s);
    }
}

/* Blocks of letters give the results of single letters, in both implementations, at both ends of
 * memory. */
static void check_many(const char *src, int64_t n)
{
    check_page from = check_page_new((size_t)n), to = check_page_new((size_t)n);
    uint8_t *code = to.p;
    char *upper = to.p;
    bool known = true, plain = true;
    if (n > 0)
        memcpy(from.p, src, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        known &= cs_base_code[(unsigned char)src[i]] < 4;
        plain &= cs_base_upper[(unsigned char)src[i]] && strchr("ACGT",
                                                            cs_base_upper[(unsigned char)src[i]]);
    }
    assert_int_equal(cs_base_codes(from.p, n, code), known);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(code[i], cs_base_code[(unsigned char)src[i]]);
    assert_int_equal(cs_base_fold(from.p, n, upper), plain);
    for (int64_t i = 0; plain && i < n; i++)
        assert_int_equal(upper[i], cs_base_upper[(unsigned char)src[i]]);
    check_page_free(&from);
    check_page_free(&to);
}

static void test_many_letters(void **state)
{
    enum { N = 131 };
    char text[N];
    (void)state;
    for (int pass = 0; pass < 2; pass++) {
        (void)setenv("CHORDSEQ_DISABLE", pass ? "avx2" : "", 1);
        assert_int_equal(cs_cpu_init(), CS_OK);
        for (int64_t n = 0; n <= N; n++) {
            for (int64_t i = 0; i < N; i++)
                text[i] = "ACGTacgt"[i * i % 8];
            check_many(text, n);
        }
        for (int c = 0; c < 256; c++) {
            for (int at = 5; at < N; at += 62) {
                memset(text, 'G', N);
                text[at] = (char)c;
                check_many(text, N);
            }
        }
    }
    (void)unsetenv("CHORDSEQ_DISABLE");
    assert_int_equal(cs_cpu_init(), CS_OK);
}

static void test_revcomp(void **state)
{
    (void)state;
    char out[16];
    cs_base_revcomp("ACGTRYSWKMBDHVN", 15, out);
    assert_memory_equal(out, "NBDHVKMWSRYACGT", 15);
    cs_base_revcomp("", 0, out);
    assert_int_equal(out[0], 'N');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append_keeps_records),
        cmocka_unit_test(test_full_by_records_or_bases),
        cmocka_unit_test(test_native_fills_a_chunk),
        cmocka_unit_test(test_names_fill_a_chunk),
        cmocka_unit_test(test_out_of_memory_keeps_chunk),
        cmocka_unit_test(test_reason_names), cmocka_unit_test(test_alphabet),
        cmocka_unit_test(test_many_letters), cmocka_unit_test(test_revcomp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
