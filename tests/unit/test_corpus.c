/* test_corpus.c - windows of a pass: every base once, in an order and at offsets that depend on the
 * pass. */
#include "check.h"

#include "train/corpus.h"

enum { N_CONTIG = 5, MOST = 40000 };

static const int64_t length[N_CONTIG] = { 1, 99, 100, 1234, MOST };

static cs_corpus make(int64_t window, int64_t shortest, int64_t min)
{
    cs_corpus c = { .window = window, .min_window = shortest, .min_base = min, .seed = 3 };

    for (int32_t i = 0; i < N_CONTIG; i++)
        assert_int_equal(cs_corpus_add(&c, i, 0, length[i]), CS_OK);
    return c;
}

/* How often each base is in a window. */
static void count(const cs_corpus *c, uint64_t pass, int *seen, int64_t *order)
{
    memset(seen, 0, N_CONTIG * MOST * sizeof *seen);
    for (int64_t j = 0; j < c->n_window; j++) {
        const cs_window v = cs_corpus_window(c, pass, j);
        order[j] = v.contig * MOST + v.from;
        assert_true(v.n_base <= c->window);
        assert_true(v.from >= 0 && v.from + v.n_base <= length[v.contig]);
        for (int64_t b = v.from; b < v.from + v.n_base; b++)
            seen[v.contig * MOST + b]++;
    }
}

static int64_t total(const int *seen, int max)
{
    int64_t n = 0;

    for (int64_t i = 0; i < N_CONTIG * MOST; i++) {
        assert_in_range(seen[i], 0, max);
        n += seen[i];
    }
    return n;
}

static void every_base_once(void **state)
{
    static int seen[N_CONTIG * MOST];
    static int64_t order[2][MOST];

    (void)state;
    for (int64_t window = 1; window < 2000; window = 3 * window + 1) {
        cs_corpus c = make(window, 0, 1);
        assert_true(c.n_window <= MOST + 2000);
        for (uint64_t pass = 0; pass < 3 && c.n_window <= MOST; pass++) {
            count(&c, pass, seen, order[0]);
            assert_int_equal(total(seen, 1), c.n_base);
        }
        cs_corpus_release(&c);
    }
    cs_corpus c = make(100, 0, 1);
    count(&c, 0, seen, order[0]);
    count(&c, 1, seen, order[1]);
    assert_memory_not_equal(order[0], order[1], (size_t)c.n_window * sizeof **order);
    count(&c, 0, seen, order[1]);
    assert_memory_equal(order[0], order[1], (size_t)c.n_window * sizeof **order);
    cs_corpus_release(&c);
}

static void short_remainders_are_dropped(void **state)
{
    static int seen[N_CONTIG * MOST];
    static int64_t order[MOST];
    cs_corpus c = make(100, 0, 50);

    (void)state;
    for (int64_t j = 0; j < c.n_window; j++) {
        const cs_window v = cs_corpus_window(&c, 4, j);
        assert_true(v.n_base == 0 || v.n_base >= 50);
    }
    count(&c, 4, seen, order);
    assert_in_range(total(seen, 1), c.n_base - 1 - 4 * 50, c.n_base);
    cs_corpus_release(&c);
}

static void lengths_are_random(void **state)
{
    cs_corpus c = make(100, 40, 1);
    int64_t n[101] = { 0 }, n_reverse = 0;

    (void)state;
    c.reverse = true;
    for (uint64_t pass = 0; pass < 20; pass++) {
        for (int64_t j = 0; j < c.n_window; j++) {
            const cs_window v = cs_corpus_window(&c, pass, j);
            assert_true(v.n_base <= 100 && v.from >= 0 && v.from + v.n_base <= length[v.contig]);
            n[v.n_base]++;
            n_reverse += v.reverse;
        }
    }
    for (int64_t l = 40; l < 100; l++)
        assert_in_range(n[l], 20 * c.n_window / 61 / 2, 20 * c.n_window / 61 * 2);
    assert_in_range(n_reverse, 20 * c.n_window * 45 / 100, 20 * c.n_window * 55 / 100);
    cs_corpus_release(&c);
}

static void split_is_disjoint(void **state)
{
    enum { BASES = 1000003, BLOCK = 1000 };
    static char side[BASES];
    cs_corpus c = { .window = 100, .min_base = 1, .seed = 8 }, v = c;

    (void)state;
    const cs_interval whole = { .contig = 2, .from = 0, .to = BASES };
    assert_int_equal(cs_corpus_split(&c, &v, "chr2", whole, BLOCK, 0.1), CS_OK);
    for (int k = 0; k < 2; k++) {
        const cs_corpus *p = k ? &v : &c;
        for (size_t i = 0; i < p->n; i++) {
            assert_int_equal(p->interval[i].contig, 2);
            for (int64_t b = p->interval[i].from; b < p->interval[i].to; b++)
                side[b] = (char)(side[b] + (k ? 16 : 1));
        }
    }
    for (int64_t b = 0; b < BASES; b++)
        assert_true(side[b] == 1 || side[b] == 16);
    check_near((double)v.n_base / BASES, 0.1, 0.03);
    assert_int_equal(c.n_base + v.n_base, BASES);
    cs_corpus_release(&c);
    cs_corpus_release(&v);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(every_base_once),
        cmocka_unit_test(short_remainders_are_dropped),
        cmocka_unit_test(lengths_are_random),
        cmocka_unit_test(split_is_disjoint),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
