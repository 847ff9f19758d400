/* test_lookup.c - look-up tables: their words are found, on both strands and after reading a
 * file. */
#include "tests/nn/genes.h"
#include "tests/nn/toy.h"

#include "nn/exec/lookup.h"
#include "refine/lookup_build.h"
#include "refine/lookup_fit.h"

static cs_backend *be;

static cs_peptides words_of(int k, int sample)
{
    cs_peptides p;

    assert_int_equal(cs_peptides_init(&p, "LVIM,C,A,G,ST,P,FYW,EDNQ,KR,H", k, sample), CS_OK);
    return p;
}

static cs_lookup *build(const cs_dataset *d, int sample, int64_t min_groups, int64_t max_bytes)
{
    const cs_peptides words = words_of(12, sample);
    const cs_lookup_rule rule = { min_groups, 0.5, max_bytes };
    cs_lookup *l;

    if (cs_lookup_build(&words, d, N_CLASS, NULL, &rule, 2, &l) != CS_OK)
        fail_msg("%s", cs_error_message());
    assert_null(cs_lookup_flaw(l));
    return l;
}

/* Without memory for a record or its words the message names the record and the remedy. */
static void test_no_memory(void **state)
{
    const cs_record r = { .name = "last", .n_seg = 1, .seg = { { "ACGT", NULL, 4 } } };
    const float target = 1;
    const cs_peptides words = words_of(12, 1);
    const cs_lookup_rule rule = { 2, 0.5, 1 << 20 };
    cs_lookup *l;
    cs_dataset d, none;

    (void)state;
    genes_dataset(false, &d);
    cs_error_clear();
    cs_dataset_init(&none, true, 1, 0);
    cs_mem_fail_at(0);
    assert_int_equal(cs_dataset_add(&none, &r, &target, "group"), CS_EMEM);
    cs_mem_fail_at(-1);
    assert_non_null(strstr(cs_error_message(), "record 'last'"));
    cs_error_clear();
    cs_mem_fail_at(1);                             /* the first list of words */
    assert_int_equal(cs_lookup_build(&words, &d, N_CLASS, NULL, &rule, 2, &l), CS_EMEM);
    cs_mem_fail_at(-1);
    assert_non_null(strstr(cs_error_message(), "reduce them with --sample"));
    cs_error_clear();
    cs_dataset_release(&d);
    cs_dataset_release(&none);
}

/* A genome of a group that is not in the table has its class's words and no other's. */
static void test_classes(void **state)
{
    (void)state;
    cs_dataset d;
    int64_t hit[N_CLASS * N_CLASS];

    genes_dataset(false, &d);
    cs_lookup *l = build(&d, 1, 2, 1 << 20);
    assert_int_equal(l->n_code, N_CLASS * N_CLASS);
    assert_in_range(l->n, N_CLASS * (N_GENE / 3 - 11), 2 * N_CLASS * N_GENE);
    for (int i = 0; i < d.n; i++) {
        cs_lookup_count(l, d.ex[i].base, N_BASE, 1, hit);
        for (int c = 0; c < N_CLASS; c++)
            for (int other = 0; other < N_CLASS; other++) {
                const int64_t n = hit[cs_lookup_code(l, c, other)];
                if (c == other && c == d.ex[i].class_no)
                    assert_in_range(n, N_GENE / 3 - 11, 2 * N_GENE);
                else
                    assert_int_equal(n, 0);
            }
    }
    cs_lookup_free(l);
    cs_dataset_release(&d);
}

/* Words of one group are left out, and a bound on bytes is kept by words of fewer groups. */
static void test_size(void **state)
{
    (void)state;
    cs_dataset d;
    genes_dataset(false, &d);
    cs_lookup *one = build(&d, 1, 1, 1 << 20), *two = build(&d, 1, 2, 1 << 20);
    cs_lookup *sampled = build(&d, 8, 2, 1 << 20), *small = build(&d, 1, 1, 4096);

    assert_true(two->n < one->n);
    assert_true(sampled->n < two->n / 4);
    assert_true(cs_lookup_bytes(N_CLASS, small->n) <= 4096);
    assert_in_range(small->n, 900, 1365);
    cs_lookup_free(one);
    cs_lookup_free(two);
    cs_lookup_free(sampled);
    cs_lookup_free(small);
    cs_dataset_release(&d);
}

/* A class with less sequence than the others has its share of a small table. */
static void test_shares(void **state)
{
    (void)state;
    cs_dataset d;
    int64_t n[N_CLASS] = { 0 };

    genes_dataset(false, &d);
    for (int i = 0; i < d.n; i++)
        if (d.ex[i].class_no == 0)
            d.ex[i].n_base /= 2;
    cs_lookup *l = build(&d, 1, 1, 4096);
    for (int64_t i = 0; i < l->n; i++)
        n[cs_lookup_word(l, i) % (1u << l->code_bits) / N_CLASS]++;
    for (int c = 0; c < N_CLASS; c++)
        assert_in_range(n[c], l->n / N_CLASS - 8, l->n / N_CLASS + 8);
    cs_lookup_free(l);
    cs_dataset_release(&d);
}

static void fill_weights(cs_lookup *l)
{
    for (int i = 0; i < l->n_class * l->n_code; i++)
        l->weight[i] = (float)cs_rng_normal(5, (uint64_t)i);
}

static void test_strands(void **state)
{
    (void)state;
    cs_dataset d;
    static char turned[N_BASE];
    float a[N_CLASS], b[N_CLASS];

    genes_dataset(false, &d);
    cs_lookup *l = build(&d, 4, 1, 1 << 20);
    fill_weights(l);
    for (int i = 0; i < d.n; i++) {
        cs_base_revcomp(d.ex[i].base, N_BASE, turned);
        cs_lookup_evidence(l, d.ex[i].base, N_BASE, 1, a);
        cs_lookup_evidence(l, turned, N_BASE, 1, b);
        assert_memory_equal(a, b, sizeof a);
        assert_true(a[0] != 0);
    }
    cs_lookup_free(l);
    cs_dataset_release(&d);
}

/* The same hits for any number of threads. */
static void test_threads(void **state)
{
    (void)state;
    cs_dataset d;
    int64_t one[CS_LOOKUP_MAX_CLASSES] = { 0 }, more[CS_LOOKUP_MAX_CLASSES] = { 0 }, n, sum = 0;

    genes_dataset(false, &d);
    cs_lookup *l = build(&d, 4, 1, 1 << 20);
    char *base = genes_joined(&d, &n);
    cs_lookup_count(l, base, n, 1, one);
    for (int32_t k = 0; k < l->n_code; k++)
        sum += one[k];
    assert_true(sum > N_CLASS * N_GROUP * N_GENE / 3 / 2);
    for (int k = 2; k <= 5; k++) {
        cs_lookup_count(l, base, n, k, more);
        assert_memory_equal(one, more, sizeof one);
    }
    free(base);
    cs_lookup_free(l);
    cs_dataset_release(&d);
}

/* ---- files ----------------------------------------------------------------------------------- */

static cs_model *with_table(cs_dataset *d)
{
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                    .max_len = "1024" };
    cs_model *m = toy_model(&t, be);

    genes_dataset(false, d);
    m->lookup = build(d, 2, 2, 1 << 20);
    fill_weights(m->lookup);
    return m;
}

static void test_file(void **state)
{
    (void)state;
    cs_dataset d;
    cs_model *m = with_table(&d), *q;
    const cs_lookup *a = m->lookup;
    size_t n;
    char *p = toy_file(m, &n);

    if (cs_model_parse(p, n, "m", be, CS_USE_INFERENCE, &q) != CS_OK)
        fail_msg("%s", cs_error_message());
    const cs_lookup *b = q->lookup;
    assert_non_null(b);
    assert_memory_equal(&a->words, &b->words, sizeof a->words);
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->first, b->first, ((1u << a->bucket_bits) + 1) * sizeof *a->first);
    assert_memory_equal(a->word, b->word, (size_t)a->n * CS_LOOKUP_WORD_BYTES);
    assert_memory_equal(a->weight, b->weight, N_CLASS * N_CLASS * N_CLASS * sizeof *a->weight);
    free(p);
    cs_model_free(q);
    cs_model_free(m);
    cs_dataset_release(&d);
}

/* Classes of the model may share a class of words: they have its evidence, also after reading a
 * file. */
static void test_shared_classes(void **state)
{
    (void)state;
    enum { N_WORD = N_CLASS - 1 };
    int32_t class_of[N_CLASS] = { 0 }, wrong[N_CLASS] = { 0 };
    const cs_peptides words = words_of(12, 1);
    const cs_lookup_rule rule = { 2, 0.5, 1 << 20 };
    float a[N_CLASS], b[N_CLASS];
    cs_lookup *l, *copy;
    cs_dataset d;
    cs_model *m = with_table(&d), *q;
    size_t n;

    for (int c = 1; c < N_CLASS; c++)
        class_of[c] = c - 1;
    assert_int_equal(cs_lookup_build(&words, &d, N_CLASS, class_of, &rule, 2, &l), CS_OK);
    assert_int_equal(l->n_class, N_WORD);
    assert_int_equal(l->n_code, N_WORD * N_WORD);
    assert_int_equal(cs_lookup_set_classes(l, N_CLASS, wrong), CS_EUSAGE);
    wrong[1] = N_WORD;
    assert_int_equal(cs_lookup_set_classes(l, N_CLASS, wrong), CS_EUSAGE);
    cs_error_clear();
    fill_weights(l);
    assert_false(cs_lookup_same_classes(l, m->lookup));
    cs_lookup_free(m->lookup);
    m->lookup = l;
    assert_int_equal(cs_lookup_copy(l, &copy), CS_OK);
    assert_true(cs_lookup_same_classes(l, copy));
    cs_lookup_free(copy);
    char *p = toy_file(m, &n);
    if (cs_model_parse(p, n, "m", be, CS_USE_INFERENCE, &q) != CS_OK)
        fail_msg("%s", cs_error_message());
    assert_true(cs_lookup_same_classes(l, q->lookup));
    for (int i = 0; i < d.n; i++) {
        cs_lookup_evidence(l, d.ex[i].base, N_BASE, 1, a);
        cs_lookup_evidence(q->lookup, d.ex[i].base, N_BASE, 1, b);
        assert_memory_equal(a, b, sizeof a);
        assert_true(a[0] == a[1] && a[0] != a[2]);
    }
    free(p);
    cs_model_free(q);
    l->class_of[2] = 0;                            /* the second class of words has no class */
    p = toy_file(m, &n);
    assert_int_equal(cs_model_parse(p, n, "m", be, CS_USE_INFERENCE, &q), CS_EFORMAT);
    assert_non_null(strstr(cs_error_message(), "'m' is not a valid chordseq model: its look-up "
                                               "table has classes that are not the model's"));
    cs_error_clear();
    free(p);
    cs_model_free(m);
    cs_dataset_release(&d);
}

/* Inconsistent tables in a file are refused. */
static void test_damage(void **state)
{
    (void)state;
    cs_dataset d;
    cs_model *m = with_table(&d), *q;
    cs_lookup *l = m->lookup;
    const uint32_t one = 1, max = UINT32_MAX, word = cs_lookup_word(l, 0), nan = 0x7fc00000;
    const uint32_t no_class = word | 15, large = 0x7f000000;
    const struct { void *at; const uint32_t *bad; size_t n; } damage[] = {
        { &l->first[0], &one, 4 }, { &l->first[1], &max, 4 }, { &l->word[0], &no_class, 3 },
        { &l->word[CS_LOOKUP_WORD_BYTES], &word, 3 }, { &l->weight[0], &nan, 4 },
        { &l->weight[0], &large, 4 }
    };

    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        uint32_t was;
        size_t n;
        memcpy(&was, damage[i].at, damage[i].n);
        memcpy(damage[i].at, damage[i].bad, damage[i].n);
        char *p = toy_file(m, &n);
        if (cs_model_parse(p, n, "m", be, CS_USE_INFERENCE, &q) != CS_EFORMAT)
            fail_msg("damage %d is not seen", (int)i);
        assert_non_null(strstr(cs_error_message(), "look-up table"));
        cs_error_clear();
        memcpy(damage[i].at, &was, damage[i].n);
        free(p);
    }
    cs_model_free(m);
    cs_dataset_release(&d);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* With uninformative predictions and hits of code c in class c only, code c gets a weight for c. */
static void test_weights(void **state)
{
    (void)state;
    enum { N = 30 };
    float logit[N * 3] = { 0 }, hit[N * 3], weight[9];
    int32_t truth[N];
    const cs_lookup_cases cases = { 3, 3, N, logit, hit, truth };

    for (int i = 0; i < N; i++) {
        truth[i] = i % 3;
        for (int c = 0; c < 3; c++)
            hit[3 * i + c] = c == truth[i] && c < 2 ? (float)log(1 + i / 3.0) : 0;
    }
    assert_int_equal(cs_lookup_solve(&cases, 1e-3, weight), CS_OK);
    for (int c = 0; c < 2; c++) {
        assert_true(weight[3 * c + c] > 1);
        assert_true(weight[3 * (1 - c) + c] < 0);
        assert_true(fabsf(weight[3 * c + c] + weight[3 * (1 - c) + c] + weight[6 + c]) < 1e-4f);
    }
    assert_true(weight[2] == 0 && weight[5] == 0 && weight[8] == 0);
}

/* A table fitted on genomes that neither model nor table has seen lowers their loss. */
static void test_fit(void **state)
{
    (void)state;
    cs_dataset d;
    double before, after;
    cs_model *m = with_table(&d);
    const cs_crop_draw draw = { .n = 1000, .seed = 1 };

    if (cs_lookup_fit(m, &d, &draw, &before, &after) != CS_OK)
        fail_msg("%s", cs_error_message());
    assert_true(after < 0.8 * before);
    cs_model_free(m);
    cs_dataset_release(&d);
}

static int setup(void **state)
{
    (void)state;
    return cs_cpu_init() == CS_OK && cs_backend_open("cpu", 1, &be) == CS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    cs_backend_close(be);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_size), cmocka_unit_test(test_shares),
        cmocka_unit_test(test_strands), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_file), cmocka_unit_test(test_shared_classes),
        cmocka_unit_test(test_damage),  cmocka_unit_test(test_weights),
        cmocka_unit_test(test_fit),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
