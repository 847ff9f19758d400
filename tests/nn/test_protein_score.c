/* test_protein_score.c - scores of alignments with proteins equal those of a search without index,
 * prefetches or skipped seeds. */
#include "tests/nn/toy.h"

#include <string.h>
#include "nn/exec/proteins.h"
#include "tok/translate.h"

enum { N_FAMILY = 4, N_MEMBER = 8, N_PROTEIN = N_FAMILY * N_MEMBER, LENGTH = 160, DROP = 18 };
enum { N_QUERY = 800, STRETCH = 10 };

/* BLOSUM62 of the letters ACDEFGHIKLMNPQRSTVWY (Henikoff and Henikoff 1992): a row per letter, up
 * to the diagonal. */
static const char *const blosum[CS_ACIDS] = {
    "4", "0 9", "-2 -3 6", "-1 -4 2 5", "-2 -2 -3 -3 6", "0 -3 -1 -2 -3 6", "-2 -3 -1 0 -1 -2 8",
    "-1 -1 -3 -3 0 -4 -3 4", "-1 -3 -1 1 -3 -2 -1 -3 5", "-1 -1 -4 -3 0 -4 -3 2 -2 4",
    "-1 -1 -3 -2 0 -3 -2 1 -1 2 5", "-2 -3 1 0 -3 0 1 -3 0 -3 -2 6",
    "-1 -3 -1 -1 -4 -2 -2 -3 -1 -3 -2 -2 7", "-1 -3 0 2 -3 -2 0 -3 1 -2 0 0 -1 5",
    "-1 -3 -2 0 -3 -2 0 -3 2 -2 -1 0 -2 1 5", "1 -1 0 0 -2 0 -1 -2 0 -2 -1 1 -1 0 -1 4",
    "0 -1 -1 -1 -2 -2 -2 -1 -1 -1 -1 0 -1 -1 -1 1 5",
    "0 -1 -3 -2 -1 -3 -3 3 -2 1 1 -3 -2 -2 -3 -2 0 4",
    "-3 -2 -4 -3 1 -2 -2 -3 -3 -2 -1 -4 -4 -2 -3 -3 -2 -3 11",
    "-2 -2 -3 -2 3 -3 2 -1 -2 -1 -1 -2 -3 -1 -2 -2 -2 -1 2 7",
};
static int score_of[CS_ACIDS + 1][CS_ACIDS + 1];

static void read_matrix(void)
{
    for (int a = 0; a <= CS_ACIDS; a++)
        score_of[a][CS_ACIDS] = score_of[CS_ACIDS][a] = -1000;
    for (int a = 0; a < CS_ACIDS; a++) {
        const char *at = blosum[a];
        for (int b = 0; b <= a; b++)
            score_of[a][b] = score_of[b][a] = (int)strtol(at, (char **)&at, 10);
        assert_true(*at == '\0');
    }
}

/* A member of a family: its ancestor, in stretches that keep all letters, all but every fourth one
 * (which leaves no seed, but a positive score), or none. */
static void make_member(int family, int member, uint8_t *letter)
{
    for (int i = 0; i < LENGTH; i++) {
        const uint64_t at = (uint64_t)(member * LENGTH + i);
        const uint64_t kind = cs_rng_below(100 + (uint64_t)family, at / STRETCH, 8);
        letter[i] = (uint8_t)cs_rng_below((uint64_t)family, (uint64_t)i, CS_ACIDS);
        if (kind == 0 || (kind < 4 && i % 4 == 0))
            letter[i] = (uint8_t)cs_rng_below(200 + (uint64_t)family, at, CS_ACIDS);
    }
}

static cs_proteins *make_database(void)
{
    cs_proteins *p;
    int64_t at = 0;

    assert_int_equal(cs_proteins_new(N_FAMILY, N_PROTEIN, N_PROTEIN * (LENGTH + 1) + 1, &p), CS_OK);
    p->letter[at++] = CS_ACID_STOP;
    for (int k = 0; k < N_PROTEIN; k++) {
        p->start[k] = (uint32_t)at;
        p->class_no[k] = (uint8_t)(k / N_MEMBER);
        make_member(k / N_MEMBER, k % N_MEMBER, p->letter + at);
        p->letter[at + LENGTH] = CS_ACID_STOP;
        at += LENGTH + 1;
    }
    assert_int_equal(cs_proteins_index(p, 1), CS_OK);
    return p;
}

static int one_way(const uint8_t *q, const uint8_t *t, int step)
{
    int sum = 0, best = 0;

    while (sum >= best - DROP) {
        sum += score_of[*q][*t];
        best = sum > best ? sum : best;
        q += step;
        t += step;
    }
    return best;
}

/* The best score of a protein, of all pairs of equal seeds. */
static int best_score(const cs_proteins *p, int k, const uint8_t *query, const uint64_t *hash)
{
    const int n_seed = LENGTH - CS_PROTEIN_SPAN + 1;
    const uint8_t *target = p->letter + p->start[k];
    uint64_t of[LENGTH];
    int best = 0;

    cs_protein_seeds(p, target, n_seed, of);
    for (int i = 0; i < n_seed; i++)
        for (int j = 0; j < n_seed; j++) {
            int equal = 0;
            for (int at = -10; hash[i] != 0 && hash[i] == of[j] && at < 22; at++)
                equal += query[i + at] == target[j + at];
            if (equal < p->min_equal)
                continue;
            const int score = one_way(query + i, target + j, 1)
                            + one_way(query + i - 1, target + j - 1, -1);
            best = score >= p->min_score && score > best ? score : best;
        }
    return best;
}

/* Queries are members of the families that are not in the database. */
static void test_scores(void **state)
{
    (void)state;
    cs_proteins *p = make_database();
    uint8_t room[LENGTH + 2 * CS_PROTEIN_MARGIN], *query = room + CS_PROTEIN_MARGIN;
    uint64_t hash[LENGTH];
    int n_found = 0;

    memset(room, CS_ACID_STOP, sizeof room);
    for (int q = 0; q < N_QUERY; q++) {
        cs_protein_list l = { 0 };
        int best[N_PROTEIN] = { 0 };
        make_member(q % N_FAMILY, N_MEMBER + q, query);
        cs_protein_seeds(p, query, LENGTH - CS_PROTEIN_SPAN + 1, hash);
        assert_int_equal(cs_proteins_align(p, query, LENGTH, &l), CS_OK);
        for (size_t i = 0; i < l.n; i++)
            if (l.at[i].score > best[l.at[i].protein])
                best[l.at[i].protein] = l.at[i].score;
        for (int k = 0; k < N_PROTEIN; k++) {
            assert_int_equal(best[k], best_score(p, k, query, hash));
            n_found += best[k] > 0;
        }
        free(l.at);
    }
    assert_in_range(n_found, N_QUERY * N_MEMBER / 4, N_QUERY * N_MEMBER);
    cs_proteins_free(p);
}

/* Identical letters are aligned once, not at each of their seeds. */
static void test_identical(void **state)
{
    (void)state;
    cs_proteins *p = make_database();
    cs_protein_list l = { 0 };
    uint8_t room[LENGTH + 2 * CS_PROTEIN_MARGIN], *query = room + CS_PROTEIN_MARGIN;
    int n = 0, self = 0;

    memset(room, CS_ACID_STOP, sizeof room);
    memcpy(query, p->letter + p->start[0], LENGTH);
    for (int i = 0; i < LENGTH; i++)
        self += score_of[query[i]][query[i]];
    assert_int_equal(cs_proteins_align(p, query, LENGTH, &l), CS_OK);
    for (size_t i = 0; i < l.n; i++)
        if (l.at[i].protein == 0) {
            assert_int_equal(l.at[i].score, self);
            n++;
        }
    assert_int_equal(n, 1);
    free(l.at);
    cs_proteins_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores), cmocka_unit_test(test_identical),
    };

    read_matrix();
    return cs_cpu_init() != CS_OK ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
