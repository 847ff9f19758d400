/* test_diplotype.c - codes of diplotypes, calls from reads, and VCF alleles applied to a
 * reference. */
#include "check.h"

#include "io/diplotype_file.h"
#include "io/haplotypes.h"
#include "io/pileup.h"
#include "io/regions.h"
#include "tok/tokenizer.h"

extern const cs_tokenizer cs_tok_diplotype;

/* A damaged file may hold any number as a genotype. */
static void test_genotypes(void **state)
{
    (void)state;
    static const struct { int32_t gt; int want; } row[] = {
        { 2, 0 }, { 5, 1 }, { 0, CS_GT_MISSING }, { 1, CS_GT_MISSING }, { 6, CS_GT_BROKEN },
        { -1, CS_GT_BROKEN }, { -5, CS_GT_BROKEN }, { INT32_MAX, CS_GT_BROKEN } };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const cs_variant v = { .n_allele = 2, .gt = &row[i].gt, .ploidy = 1 };
        assert_int_equal(cs_variant_gt(&v, 0, 0), row[i].want);
        assert_int_equal(cs_variant_gt(&v, 0, 1), CS_GT_END);
    }
}

static void test_codes(void **state)
{
    (void)state;
    bool seen[256] = { false };
    assert_int_equal(strlen(cs_diplotype_codes), CS_N_DIPLOTYPE);
    for (int a = 0; a < CS_N_HAP; a++) {
        for (int b = 0; b < CS_N_HAP; b++) {
            int x, y;
            const char code = cs_diplotype_code(a, b);
            assert_true(code > ' ' && code < 127 && code != '>' && code != '#');
            assert_int_equal(code, cs_diplotype_code(b, a));
            assert_true(a > b || !seen[(unsigned char)code]);
            seen[(unsigned char)code] = true;
            cs_diplotype_split(cs_diplotype_of(code), &x, &y);
            assert_true(x == (a < b ? a : b) && y == (a < b ? b : a));
        }
    }
    for (int c = 0; c < 256; c++)
        assert_int_equal(cs_diplotype_of((char)c) >= 0, seen[c]);
    /* IUPAC letters of two bases are codes; those of three bases are not. */
    for (const char *p = "AAACCCGGGTTTNNNACMAGRATWCGSCTYGTK"; *p; p += 3)
        assert_int_equal(p[2], cs_diplotype_code(p[0] == 'N' ? CS_HAP_N : cs_hap_of_base(p[0]),
                                                 p[1] == 'N' ? CS_HAP_N : cs_hap_of_base(p[1])));
    for (const char *p = "BDHV"; *p; p++)
        assert_int_equal(cs_diplotype_of(*p), -1);
}

static void test_tokens(void **state)
{
    (void)state;
    void *st = NULL;
    int32_t id[CS_N_DIPLOTYPE + 1];
    char text[16];
    char codes[CS_N_DIPLOTYPE + 2];
    snprintf(codes, sizeof codes, "%sB", cs_diplotype_codes);
    const cs_segment s = { codes, NULL, CS_N_DIPLOTYPE + 1 };
    assert_int_equal(cs_tok_diplotype.open(NULL, &st), CS_OK);
    assert_int_equal(cs_tok_diplotype.n_vocab(st), 68);
    assert_int_equal(cs_tok_diplotype.encode(st, &s, NULL, id), CS_N_DIPLOTYPE + 1);
    for (int i = 0; i < CS_N_DIPLOTYPE; i++)
        assert_int_equal(id[i], CS_TOK_FIRST + i);
    assert_int_equal(id[CS_N_DIPLOTYPE], CS_TOK_UNK);
    cs_tok_diplotype.symbol(st, 2 + cs_diplotype_of('8'), text, sizeof text);
    assert_string_equal(text, "GI/DEL");
    cs_tok_diplotype.close(st);
}

/* ---- votes
 * ------------------------------------------------------------------------------------- */

static void decide(int a, int c, int del, int ref, cs_site_call want, char code)
{
    const cs_site_rule rule = { .min_depth = 8, .min_count = 3, .min_frac = 0.2 };
    cs_site s = { .n_read = a + c + del };
    int x, y;
    s.count[CS_HAP_A] = a;
    s.count[CS_HAP_C] = c;
    s.count[CS_HAP_DEL] = del;
    assert_int_equal(cs_site_decide(&s, &rule, ref, &x, &y), want);
    assert_int_equal(cs_diplotype_code(x, y), code);
}

static void test_site_calls(void **state)
{
    (void)state;
    decide(0, 0, 0, CS_HAP_A, CS_SITE_NO_READ, 'N');
    decide(4, 3, 0, CS_HAP_A, CS_SITE_LOW_DEPTH, 'N');
    decide(8, 0, 0, CS_HAP_C, CS_SITE_CALLED, 'A');
    decide(6, 2, 0, CS_HAP_A, CS_SITE_CALLED, 'A');     /* two reads are no allele */
    decide(5, 3, 0, CS_HAP_A, CS_SITE_CALLED, 'M');
    decide(20, 4, 0, CS_HAP_A, CS_SITE_CALLED, 'A');    /* a sixth is below a fifth */
    decide(20, 5, 0, CS_HAP_A, CS_SITE_CALLED, 'M');
    decide(10, 0, 10, CS_HAP_A, CS_SITE_CALLED, '1');
    decide(0, 0, 9, CS_HAP_A, CS_SITE_CALLED, '-');
    decide(8, 4, 4, CS_HAP_DEL, CS_SITE_CALLED, '1');   /* of equal ones the reference's */
    decide(8, 4, 4, CS_HAP_G, CS_SITE_CALLED, 'M');     /* then in the order of symbols */
}

/* ---- alleles
 * ------------------------------------------------------------------------------------- */

#define REFERENCE "ACGTTGCA"

struct alleles { uint8_t site[8]; cs_haplotypes h; };

static void begin(struct alleles *a, bool known)
{
    a->h = (cs_haplotypes){ a->site, REFERENCE, 100, 108 };
    cs_haplotypes_fill(&a->h, known);
}

static cs_applied put(struct alleles *a, int hap, int64_t pos, const char *ref, const char *alt)
{
    const char *const allele[] = { ref, alt };
    const cs_variant v = { .contig = "c", .pos = pos, .n_ref = (int64_t)strlen(ref),
                           .allele = allele, .n_allele = 2, .passed = true };
    assert_true(cs_haplotypes_fits(&a->h, &v));
    return cs_haplotypes_apply(&a->h, hap, &v, 1);
}

static void expect(const struct alleles *a, const char *codes)
{
    char got[9] = "";
    for (int i = 0; i < 8; i++)
        got[i] = cs_diplotype_code(a->h.site[i] & 15, a->h.site[i] >> 4);
    assert_string_equal(got, codes);
}

/* One change on the second haplotype. */
static void one(int64_t pos, const char *ref, const char *alt, cs_applied want, const char *codes)
{
    struct alleles a;
    begin(&a, true);
    assert_int_equal(put(&a, 1, pos, ref, alt), want);
    expect(&a, codes);
}

static void test_alleles(void **state)
{
    (void)state;
    one(101, "C", "T", CS_APPLIED, "AYGTTGCA");
    one(101, "C", "t", CS_APPLIED, "AYGTTGCA");
    one(101, "CG", "TA", CS_APPLIED, "AYRTTGCA");
    one(101, "CGT", "CAT", CS_APPLIED, "ACRTTGCA");
    one(102, "GTT", "G", CS_APPLIED, "ACG44GCA");
    one(103, "TT", "T", CS_APPLIED, "ACG4TGCA");          /* aligned to the left */
    one(102, "G", "GA", CS_APPLIED, "ACpTTGCA");
    one(103, "TTG", "TTTG", CS_APPLIED, "ACpTTGCA");
    one(101, "CGT", "A", CS_APPLIED, "AM34TGCA");
    one(101, "C", "AT", CS_APPLIED, "AiGTTGCA");
    one(102, "G", "<DEL>", CS_APPLIED_SYMBOLIC, "ACgTTGCA");
    one(102, "G", "G]c:7]", CS_APPLIED_SYMBOLIC, "ACgTTGCA");
    struct alleles a;
    const cs_variant long_one = { .contig = "c", .pos = 102, .n_ref = 4, .n_allele = 2,
                                  .allele = (const char *const[]){ "G", "<DEL>" } };
    begin(&a, true);
    assert_int_equal(put(&a, 1, 103, "T", "C"), CS_APPLIED);
    assert_int_equal(cs_haplotypes_apply(&a.h, 1, &long_one, 1), CS_APPLIED_SYMBOLIC);
    expect(&a, "ACgYtgCA");
    one(102, "G", "*", CS_APPLIED, "AC3TTGCA");
    /* Alleles across the ends of the region. */
    one(98, "TTACG", "T", CS_APPLIED, "123TTGCA");
    one(106, "CATT", "C", CS_APPLIED, "ACGTTGC1");
    one(98, "T", "TG", CS_APPLIED, "ACGTTGCA");
    one(99, "G", "C", CS_APPLIED, "ACGTTGCA");
    one(107, "A", "AGG", CS_APPLIED, "ACGTTGCb");
}

static void test_conflicts(void **state)
{
    (void)state;
    struct alleles a;
    begin(&a, true);
    assert_int_equal(put(&a, 0, 101, "C", "T"), CS_APPLIED);
    assert_int_equal(put(&a, 1, 101, "C", "A"), CS_APPLIED);
    assert_int_equal(put(&a, 1, 101, "C", "G"), CS_APPLIED_OVERLAP);
    assert_int_equal(put(&a, 1, 100, "ACG", "A"), CS_APPLIED_OVERLAP);
    expect(&a, "AWGTTGCA");
    assert_int_equal(put(&a, 1, 101, "C", "CA"), CS_APPLIED);
    assert_int_equal(put(&a, 1, 101, "C", "CT"), CS_APPLIED_OVERLAP);
    expect(&a, "AsGTTGCA");
    a.h.from = 0;
    a.h.to = 8;
    assert_int_equal(put(&a, 0, 0, "A", "CA"), CS_APPLIED_NO_ANCHOR);
}

/* Sites without a record are unknown; a reference block makes them known. */
static void test_unknown(void **state)
{
    (void)state;
    struct alleles a;
    const char *const ref[] = { "G" }, *const wrong[] = { "T" };
    cs_variant v = { .contig = "c", .pos = 102, .n_ref = 3, .allele = ref, .n_allele = 1 };
    begin(&a, false);
    expect(&a, "NNNNNNNN");
    cs_haplotypes_apply(&a.h, 0, &v, 0);
    expect(&a, "NNgttNNN");
    cs_haplotypes_apply(&a.h, 1, &v, 0);
    expect(&a, "NNGTTNNN");
    assert_int_equal(put(&a, 1, 100, "A", "AC"), CS_APPLIED);
    expect(&a, "yNGTTNNN");
    assert_int_equal(put(&a, 1, 106, "CA", "C"), CS_APPLIED);
    expect(&a, "yNGTTNc5");          /* the base before a deletion is known */
    cs_haplotypes_apply(&a.h, 1, &v, CS_GT_MISSING);
    expect(&a, "yNgttNc5");
    v.allele = wrong;
    assert_false(cs_haplotypes_fits(&a.h, &v));
}

/* ---- regions
 * --------------------------------------------------------------------------------------- */

static void region(const char *text, int want, const char *contig, int64_t from, int64_t to)
{
    cs_regions *r;
    cs_region at;
    assert_int_equal(cs_regions_open(&text, 1, NULL, &r), CS_OK);
    assert_int_equal(cs_regions_next(r, NULL, &at), want);
    if (want == CS_OK) {
        assert_string_equal(at.contig, contig);
        assert_true(at.from == from && at.to == to);
        assert_int_equal(cs_regions_next(r, NULL, &at), CS_EOF);
    }
    cs_error_clear();
    cs_regions_free(r);
}

static void test_regions(void **state)
{
    (void)state;
    region("chr1:1-10", CS_OK, "chr1", 0, 10);
    region("HLA-A*01:01:5-5", CS_OK, "HLA-A*01:01", 4, 5);
    region("c:1,000,000-2,000,000", CS_OK, "c", 999999, 2000000);
    region("chr1:0-10", CS_EUSAGE, NULL, 0, 0);
    region("chr1:7-6", CS_EUSAGE, NULL, 0, 0);
    region("chr1:x-6", CS_EUSAGE, NULL, 0, 0);
    region("chr1:1-", CS_EUSAGE, NULL, 0, 0);
    region(":1-2", CS_EUSAGE, NULL, 0, 0);
    region("chr1:5", CS_EUSAGE, NULL, 0, 0);
    region("chr1:1-99999999999999999999", CS_EUSAGE, NULL, 0, 0);
}

/* ---- random access --------------------------------------------------------------------------- */

enum { SITES_LINE = 49, SITES_LINES = 4000, SITES = 120 };

/* Codes in place of line ends must not be written beyond the sites that were requested. */
static void test_changed_sites(void **state)
{
    (void)state;
    static const char path[] = "changed.dip";
    cs_diplotype_file *s;
    char out[SITES + 16];
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, CS_DIPLOTYPE_HEAD "\n>a\n");
    const long start = ftell(f);
    for (int i = 0; i < SITES_LINES; i++)
        fprintf(f, "%0*d\n", SITES_LINE, 0);
    const long end = ftell(f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(cs_diplotype_file_open(path, &s), CS_OK);
    assert_int_equal(cs_diplotype_file_fetch(s, 0, 0, SITES, out), CS_OK);
    f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, start, SEEK_SET), 0);
    for (long i = start; i < end; i++)
        fputc('0', f);
    assert_int_equal(fclose(f), 0);
    memset(out, '.', sizeof out);
    const int64_t from = SITES_LINE * SITES_LINES / 2;
    assert_int_equal(cs_diplotype_file_fetch(s, 0, from, from + SITES, out), CS_EIO);
    assert_non_null(strstr(cs_error_message(), "was it changed?"));
    for (size_t i = SITES; i < sizeof out; i++)
        assert_int_equal(out[i], '.');
    cs_error_clear();
    cs_diplotype_file_free(s);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_genotypes),
        cmocka_unit_test(test_codes), cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_site_calls), cmocka_unit_test(test_alleles),
        cmocka_unit_test(test_conflicts), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_regions), cmocka_unit_test(test_changed_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
