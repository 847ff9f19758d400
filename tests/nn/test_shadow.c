/* test_shadow.c - the protein search skips frames within much longer ones, with any threads. */
#include "check.h"

#include <string.h>

#include "base/rng.h"
#include "io/alphabet.h"
#include "nn/exec/proteins.h"
#include "tok/translate.h"

/* Random bases with N_OPEN codons, none of them a stop, from OPEN_FROM on. */
enum { N_RANDOM = 3000, OPEN_FROM = 400, N_OPEN = 400, MIN_PART = 25 };

static void make_open(char *base)
{
    for (int i = 0; i < N_RANDOM; i++)
        base[i] = "ACGT"[cs_rng_below(17, (uint64_t)i, 4)];
    for (int i = 0; i < N_OPEN; i++) {
        char *codon = base + OPEN_FROM + 3 * i;
        for (uint64_t k = 0; cs_genetic_code[cs_codon_at(codon)] == '*'; k++)
            codon[0] = "ACGT"[cs_rng_below(18, (uint64_t)i * 100 + k, 4)];
    }
}

/* A part between stops of a reading frame, in the bases of its strand. */
struct part { int64_t at, n_base; int frame; };

static int list_parts(const char *base, struct part *part)
{
    uint8_t letter[N_RANDOM / 3 + 1];
    int n_part = 0;

    for (int f = 0; f < CS_FRAMES; f++) {
        const int64_t n = cs_translate(base, N_RANDOM, f, letter);
        letter[n] = CS_ACID_STOP;
        for (int64_t from = 0, to; from < n; from = to + 1) {
            for (to = from; letter[to] != CS_ACID_STOP; to++)
                ;
            if (to - from >= MIN_PART)
                part[n_part++] = (struct part){ f % 3 + 3 * from, 3 * (to - from), f };
        }
    }
    return n_part;
}

/* A database of the parts, all of class 1. */
static cs_proteins *of_parts(const char *strand[2], const struct part *part, int n)
{
    int64_t n_letter = 1;
    cs_proteins *p;

    for (int i = 0; i < n; i++)
        n_letter += part[i].n_base / 3 + 1;
    assert_int_equal(cs_proteins_new(2, n, n_letter, &p), CS_OK);
    memset(p->letter, CS_ACID_STOP, (size_t)n_letter);
    for (int i = 0, at = 1; i < n; i++) {
        p->start[i] = (uint32_t)at;
        p->class_no[i] = 1;
        at += 1 + (int)cs_translate(strand[part[i].frame >= 3] + part[i].at, part[i].n_base, 0,
                                    p->letter + at);
    }
    assert_int_equal(cs_proteins_index(p, 1), CS_OK);
    return p;
}

/* Parts within the open frame are skipped if less than half as long, on both strands. Alone, or
 * with a factor of 0, they are found. */
static void test_shadow(void **state)
{
    (void)state;
    char base[N_RANDOM], revcomp[N_RANDOM];
    const char *strand[] = { base, revcomp };
    struct part part[N_RANDOM];
    cs_protein_hits h;
    int n_shadow = 0;

    make_open(base);
    cs_base_revcomp(base, N_RANDOM, revcomp);
    const int n_part = list_parts(base, part);
    for (int i = 0; i < n_part; i++) {
        const struct part q = part[i];
        const int64_t from = q.frame < 3 ? q.at : N_RANDOM - q.at - q.n_base;
        if (from < OPEN_FROM || from + q.n_base > OPEN_FROM + 3 * N_OPEN || q.n_base > N_OPEN)
            continue;
        cs_proteins *p = of_parts(strand, &q, 1);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(cs_proteins_search(p, strand[k], N_RANDOM, 1, &h), CS_OK);
            assert_int_equal(h.best[1], 0);
        }
        assert_int_equal(cs_proteins_search(p, strand[q.frame >= 3] + q.at, q.n_base, 1, &h),
                         CS_OK);
        assert_true(h.best[1] >= CS_PROTEIN_MIN_SCORE);
        p->shadow = 0;
        assert_int_equal(cs_proteins_search(p, base, N_RANDOM, 1, &h), CS_OK);
        assert_true(h.best[1] >= CS_PROTEIN_MIN_SCORE);
        cs_proteins_free(p);
        n_shadow++;
    }
    assert_true(n_shadow >= 5);
}

/* A database of the parts of base, which receives random bases with an open frame. */
static cs_proteins *of_random(char base[N_RANDOM])
{
    char revcomp[N_RANDOM];
    const char *strand[] = { base, revcomp };
    struct part part[N_RANDOM];

    make_open(base);
    cs_base_revcomp(base, N_RANDOM, revcomp);
    return of_parts(strand, part, list_parts(base, part));
}

/* The same parts are skipped on both strands, whatever the length. */
static void test_strands(void **state)
{
    (void)state;
    char base[N_RANDOM], revcomp[N_RANDOM];
    cs_protein_hits h, same;

    cs_proteins *p = of_random(base);
    for (int n = OPEN_FROM; n <= N_RANDOM; n++) {
        cs_base_revcomp(base, n, revcomp);
        assert_int_equal(cs_proteins_search(p, base, n, 1, &h), CS_OK);
        assert_int_equal(cs_proteins_search(p, revcomp, n, 1, &same), CS_OK);
        assert_memory_equal(&h, &same, sizeof h);
    }
    cs_proteins_free(p);
}

/* The same index for any number of threads. */
static void test_index(void **state)
{
    (void)state;
    char base[N_RANDOM];
    cs_proteins *p = of_random(base);
    const size_t n_first = ((size_t)1 << p->bucket_bits) + 1, n_entry = p->first[n_first - 1];
    assert_true(n_first > 100 && n_entry > 1000);
    uint32_t *first = malloc(n_first * sizeof *first), *entry = malloc(n_entry * sizeof *entry);
    assert_true(first != NULL && entry != NULL);
    memcpy(first, p->first, n_first * sizeof *first);
    memcpy(entry, p->entry, n_entry * sizeof *entry);
    for (int k = 2; k <= 9; k++) {
        assert_int_equal(cs_proteins_index(p, k), CS_OK);
        assert_memory_equal(p->first, first, n_first * sizeof *first);
        assert_memory_equal(p->entry, entry, n_entry * sizeof *entry);
    }
    free(entry);
    free(first);
    cs_proteins_free(p);
}

/* The same hits, to the last bit, for any number of threads. */
static void test_threads(void **state)
{
    (void)state;
    char base[N_RANDOM];
    cs_protein_hits one, more;

    cs_proteins *p = of_random(base);
    for (p->shadow = 0; p->shadow <= 2; p->shadow += 2) {
        assert_int_equal(cs_proteins_search(p, base, N_RANDOM, 1, &one), CS_OK);
        assert_true(one.n_frame[0] > 5);
        for (int k = 2; k <= 5; k++) {
            assert_int_equal(cs_proteins_search(p, base, N_RANDOM, k, &more), CS_OK);
            assert_memory_equal(&one, &more, sizeof one);
        }
    }
    cs_proteins_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shadow), cmocka_unit_test(test_strands),
        cmocka_unit_test(test_index),  cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
