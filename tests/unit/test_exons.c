/* test_exons.c - the nearest exon of a variant, and its mark in the windows. */
#include "check.h"

#include <ctype.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "io/exons.h"
#include "io/variant_windows.h"

enum { N_CONTIG = 400, N_WINDOW = 64, MOST_ALLELE = 12 };

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* ---- the nearest exon ------------------------------------------------------------------------ */

static cs_exons *exons_of(const char *bed)
{
    cs_exons *e;

    write_file("exons.bed", bed);
    assert_int_equal(cs_exons_open("exons.bed", &e), CS_OK);
    return e;
}

static void check_found(cs_exons *e, int64_t at, int64_t from, int64_t to, int strand)
{
    cs_exon x;

    assert_true(cs_exons_find(e, "c", at - 50, at + 50, at, &x));
    assert_int_equal(x.from, from);
    assert_int_equal(x.to, to);
    assert_int_equal(x.strand, strand);
}

static void test_the_nearest_exon(void **state)
{
    (void)state;
    cs_exon x;
    cs_exons *e = exons_of("c\t300\t340\tx\t0\t-\nc\t100\t140\tx\t0\t-\n");

    check_found(e, 120, 100, 140, -1);
    check_found(e, 99, 100, 140, -1);
    check_found(e, 140, 100, 140, -1);
    check_found(e, 260, 300, 340, -1);
    assert_false(cs_exons_find(e, "c", 150, 250, 200, &x));
    assert_false(cs_exons_find(e, "d", 50, 150, 100, &x));
    cs_exons_close(e);

    e = exons_of("c\t130\t140\tx\t0\t+\nc\t170\t190\tx\t0\t+\n");
    check_found(e, 159, 170, 190, 1);
    check_found(e, 150, 130, 140, 1);
    check_found(e, 155, 170, 190, 1);
    check_found(e, 154, 130, 140, 1);
    cs_exons_close(e);
}

/* Of overlapping ones the one on most lines, then the shortest, then the first, then on +. */
static void test_exons_of_several_transcripts(void **state)
{
    (void)state;
    cs_exon x;
    cs_exons *e = exons_of("c\t100\t150\ta\t0\t+\nc\t100\t130\tb\t0\t+\nc\t90\t150\tc\t0\t+\n"
                           "c\t100\t150\td\t0\t+\n");
    check_found(e, 120, 100, 150, 1);
    check_found(e, 95, 90, 150, 1);
    cs_exons_close(e);

    e = exons_of("c\t100\t150\ta\t0\t+\nc\t100\t130\tb\t0\t+\nc\t110\t140\tc\t0\t+\n");
    check_found(e, 120, 100, 130, 1);
    check_found(e, 135, 110, 140, 1);
    cs_exons_close(e);

    /* The lines of two strands in any order. */
    e = exons_of("c\t100\t150\ta\t0\t+\nc\t100\t150\tb\t0\t-\nc\t100\t150\tc\t0\t-\n"
                 "c\t100\t150\td\t0\t+\nc\t100\t150\te\t0\t+\n");
    check_found(e, 120, 100, 150, 1);
    cs_exons_close(e);

    /* The same exon on both strands. */
    e = exons_of("c\t100\t150\ta\t0\t-\nc\t100\t150\tb\t0\t+\n");
    check_found(e, 120, 100, 150, 1);
    cs_exons_close(e);
    e = exons_of("c\t100\t150\ta\t0\t+\nc\t100\t150\tb\t0\t-\nc\t100\t150\tc\t0\t-\n");
    check_found(e, 120, 100, 150, -1);
    cs_exons_close(e);

    e = exons_of("c\t100\t150\ta\t0\t+\nc\t160\t170\tb\t0\t-\n");
    assert_true(cs_exons_find(e, "c", 70, 170, 120, &x));
    assert_true(x.both && x.strand == 1 && x.from == 100);
    assert_true(cs_exons_find(e, "c", 70, 170, 156, &x));
    assert_true(x.both && x.strand == -1 && x.from == 160);
    assert_true(cs_exons_find(e, "c", 20, 120, 70, &x));
    assert_true(!x.both && x.strand == 1);
    cs_exons_close(e);
}

/* ---- its mark -------------------------------------------------------------------------------- */

static void random_text(char *out, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = "ACGT"[cs_rng_below(seed, (uint64_t)i, 4)];
    out[n] = '\0';
}

/* The contig with an exon in upper case; bases [pos, pos + n) are replaced by an allele whose base
 * k has the case of base min(k, n - 1) of these, or of the base behind it if n is 0. */
static void cased(char *out, const char *contig, int64_t from, int64_t to, int64_t pos, int64_t n,
                  const char *allele)
{
    const int64_t n_allele = (int64_t)strlen(allele);
    int64_t at = 0;

    for (int64_t i = 0; i < pos; i++)
        out[at++] = (char)(i >= from && i < to ? contig[i] : tolower(contig[i]));
    for (int64_t k = 0; k < n_allele; k++) {
        const int64_t i = pos + (k < n ? k : n > 0 ? n - 1 : 0);
        out[at++] = (char)(i >= from && i < to ? allele[k] : tolower(allele[k]));
    }
    for (int64_t i = pos + n; i < N_CONTIG; i++)
        out[at++] = (char)(i >= from && i < to ? contig[i] : tolower(contig[i]));
    out[at] = '\0';
}

static void check_mark(const char *contig, const cs_window_pair *v, char base[2][N_WINDOW],
                       cs_exons *e)
{
    char whole[2][N_CONTIG + MOST_ALLELE + 1], here[MOST_ALLELE + 1], other[MOST_ALLELE + 1];
    const int is = v->swapped;
    const int64_t n[2] = { v->n_ref, v->n_alt };
    cs_window_pair pair = *v;
    cs_exon x;

    (void)snprintf(here, sizeof here, "%.*s", (int)n[is], base[is] + v->at);
    (void)snprintf(other, sizeof other, "%.*s", (int)n[!is], base[!is] + v->at);
    if (!cs_exons_mark(e, "c", N_WINDOW, base[0], &pair, &x)) {
        assert_int_equal(pair.why, CS_UNSCORED_NO_EXON);
        return;
    }
    assert_int_equal(pair.why, CS_SCORED);
    assert_true(x.from < v->pos + N_WINDOW / 2 && x.to > v->pos - N_WINDOW / 2);
    cased(whole[is], contig, x.from, x.to, v->pos, n[is], here);
    cased(whole[!is], contig, x.from, x.to, v->pos, n[is], other);
    for (int i = 0; i < 2; i++)
        assert_memory_equal(base[i], whole[i] + v->pos - v->at, N_WINDOW);
}

static void test_marks(void **state)
{
    (void)state;
    char contig[N_CONTIG + 1], text[N_CONTIG + 10], ref[MOST_ALLELE + 1], alt[MOST_ALLELE + 1];
    char base[2][N_WINDOW];
    cs_reference *reference;
    cs_window_pair v;
    int n_kind[3] = { 0 }, n_swapped = 0;
    cs_exons *e = exons_of("c\t100\t110\ta\t0\t+\nc\t200\t270\tb\t0\t-\n");
    const cs_window_opt o = { .n_base = N_WINDOW };

    random_text(contig, N_CONTIG, 3);
    (void)snprintf(text, sizeof text, ">c\n%s\n", contig);
    write_file("c.fa", text);
    assert_int_equal(cs_reference_open("c.fa", &reference), CS_OK);
    cs_variant_windows *w = cs_variant_windows_new(reference, &o);
    for (uint64_t i = 0; i < 4000; i++) {
        const int64_t pos = 40 + (int64_t)cs_rng_below(7, 4 * i, N_CONTIG - 100);
        const int64_t n_ref = 1 + (int64_t)cs_rng_below(7, 4 * i + 1, MOST_ALLELE / 2);
        (void)snprintf(ref, sizeof ref, "%.*s", (int)n_ref, contig + pos);
        random_text(alt, 1 + (int64_t)cs_rng_below(7, 4 * i + 2, MOST_ALLELE / 2), 100 + i);
        const bool turn = i % 3 == 0;
        const cs_window_allele a = { "c", pos, turn ? alt : ref, turn ? ref : alt };
        assert_int_equal(cs_variant_windows_make(w, &a, base[0], base[1], &v), CS_OK);
        if (v.why)
            continue;
        n_swapped += v.swapped;
        n_kind[v.n_ref == 0 ? 0 : v.n_alt == 0 ? 1 : 2]++;
        check_mark(contig, &v, base, e);
    }
    assert_true(n_swapped > 200 && n_kind[0] > 20 && n_kind[1] > 20 && n_kind[2] > 1000);
    cs_variant_windows_free(w);
    cs_reference_free(reference);
    cs_exons_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nearest_exon),
        cmocka_unit_test(test_exons_of_several_transcripts),
        cmocka_unit_test(test_marks),
    };
    if (cs_cpu_init() != CS_OK)
        return 1;
    return cmocka_run_group_tests(tests, check_enter_scratch, check_leave_scratch);
}
