/* test_mask.c - masked tokens: number, positions, and no base in common with visible ones. */
#include "check.h"

#include "base/rng.h"
#include "tok/tokenizer.h"
#include "train/mask.h"

enum { N = 200000, WORDS = 64 };

static const cs_mask usual = { .ratio = 0.15, .p_mask = 0.8, .p_random = 0.1, .run = 1,
                               .id = CS_TOK_FIRST + WORDS, .n_vocab = CS_TOK_FIRST + WORDS };

static void random_tokens(uint64_t key, int32_t *id, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        id[i] = CS_TOK_FIRST + (int32_t)cs_rng_below(key, (uint64_t)i, WORDS);
}

struct seq { int32_t was[N], id[N], label[N]; };

static struct seq *masked(const cs_mask *m, uint64_t key, int64_t *n_chosen)
{
    struct seq *s = cs_xcalloc(1, sizeof *s);

    random_tokens(7, s->was, N);
    memcpy(s->id, s->was, sizeof s->id);
    *n_chosen = cs_mask_tokens(m, key, s->id, N, s->label);
    return s;
}

static void ratios_match(void **state)
{
    static const double ratio[] = { 0.15, 0.3 };
    static const int32_t run[] = { 1, 3, 6, 8 };

    (void)state;
    for (int k = 0; k < 8; k++) {
        cs_mask m = usual;
        int64_t n, n_chosen = 0, n_hidden = 0, n_same = 0;
        m.ratio = ratio[k / 4];
        m.run = run[k % 4];
        struct seq *s = masked(&m, 5, &n);
        for (int64_t i = 0; i < N; i++) {
            n_chosen += s->label[i] >= 0;
            n_hidden += s->id[i] == m.id;
            n_same += s->label[i] >= 0 && s->id[i] == s->was[i];
            if (s->label[i] >= 0)
                assert_int_equal(s->label[i], s->was[i] - CS_TOK_FIRST);
            else
                assert_int_equal(s->id[i], s->was[i]);
            assert_true(s->id[i] >= CS_TOK_FIRST && s->id[i] <= m.id);
        }
        assert_int_equal(n, n_chosen);
        check_near((double)n / N, m.ratio, 0.005);
        check_near((double)n_hidden / (double)n, 0.8, 0.03);
        check_near((double)n_same / (double)n, 0.1 + 0.1 / WORDS, 0.02);
        free(s);
    }
}

/* Words of k bases every `stride`: does word i have a base that no visible word contains? */
static bool has_hidden_base(const int32_t *label, int64_t n, int64_t i, int64_t k, int64_t stride)
{
    for (int64_t b = i * stride; b < i * stride + k; b++) {
        bool seen = false;
        for (int64_t j = (b - k + stride) / stride; j * stride <= b; j++)
            seen |= j >= 0 && j < n && label[j] < 0 && j * stride + k > b;
        if (!seen)
            return true;
    }
    return false;
}

static void visible_tokens_share_no_masked_base(void **state)
{
    enum { LEN = 400 };
    int32_t id[LEN], label[LEN];

    (void)state;
    for (int k = 1; k <= 8; k++) {
        for (int stride = 1; stride <= k; stride++) {
            cs_mask m = usual;
            m.run = cs_mask_run((k + stride - 1) / stride, 1);
            for (uint64_t key = 0; key < 20; key++) {
                random_tokens(key, id, LEN);
                assert_true(cs_mask_tokens(&m, key, id, LEN, label) > 0);
                for (int64_t i = 0; i < LEN; i++)
                    assert_true(label[i] < 0 || has_hidden_base(label, LEN, i, k, stride));
            }
        }
    }
}

/* All tokens of a run are replaced in the same way; adjacent runs are separate. */
static void run_has_one_replacement(void **state)
{
    cs_mask m = usual;
    int64_t n;

    (void)state;
    m.run = 6;
    m.ratio = 0.01;              /* runs hardly ever touch */
    struct seq *s = masked(&m, 9, &n);
    for (int64_t i = 0, to; i < N; i = to) {
        int64_t n_hidden = 0;
        for (to = i; to < N && s->label[to] >= 0; to++)
            n_hidden += s->id[to] == m.id;
        assert_true(to - i != 6 || n_hidden == 0 || n_hidden == 6);
        to += to == i;
    }
    free(s);
}

static void unknown_tokens_are_not_masked(void **state)
{
    int32_t id[50], label[50];

    (void)state;
    for (int i = 0; i < 50; i++)
        id[i] = CS_TOK_UNK;
    for (uint64_t key = 0; key < 100; key++)
        assert_int_equal(cs_mask_tokens(&usual, key, id, 50, label), 0);
    for (uint64_t key = 0; key < 100; key++) {
        const int at = (int)(key % 50);
        cs_mask m = usual;
        m.run = 1 + (int32_t)key % 7;
        id[at] = CS_TOK_FIRST + 3;
        assert_int_equal(cs_mask_tokens(&m, key, id, 50, label), 1);
        for (int i = 0; i < 50; i++) {
            assert_int_equal(label[i], i == at ? 3 : -1);
            assert_true(i == at || id[i] == CS_TOK_UNK);
        }
        id[at] = CS_TOK_UNK;
    }
    assert_int_equal(cs_mask_tokens(&usual, 1, id, 0, label), 0);
}

static void key_determines_result(void **state)
{
    int64_t n, n_again, n_other;

    (void)state;
    struct seq *a = masked(&usual, 5, &n), *b = masked(&usual, 5, &n_again),
               *c = masked(&usual, 6, &n_other);
    assert_int_equal(n, n_again);
    assert_memory_equal(a, b, sizeof *a);
    assert_memory_not_equal(a->label, c->label, sizeof a->label);
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(ratios_match),
        cmocka_unit_test(visible_tokens_share_no_masked_base),
        cmocka_unit_test(run_has_one_replacement),
        cmocka_unit_test(unknown_tokens_are_not_masked),
        cmocka_unit_test(key_determines_result),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
