/* test_batch.c - packed batches: depth, layout, growth, and failure that changes nothing. */
#include "check.h"

#include "batch/batch.h"

static void test_depth(void **state)
{
    (void)state;
    static const struct { int64_t n; int32_t depth; } known[] = {
        { 0, 0 }, { 1, 0 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 3 }, { 8, 3 }, { 9, 4 },
        { 1500000, 21 }, { INT64_MAX, 63 }, { INT64_MIN, 0 },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(cs_depth(known[i].n), known[i].depth);
    for (int32_t d = 1; d < 63; d++) {
        const int64_t p = INT64_C(1) << d;
        assert_int_equal(cs_depth(p), d);
        assert_int_equal(cs_depth(p + 1), d + 1);
    }
}

static void fill(int32_t *tok, int64_t n, int32_t from)
{
    for (int64_t i = 0; i < n; i++)
        tok[i] = from + (int32_t)i;
}

static void test_tokens_are_packed(void **state)
{
    (void)state;
    cs_batch *b = cs_batch_new(0, 0);
    cs_chunk *c = cs_chunk_new(0);
    int32_t tok[64];
    for (int round = 0; round < 2; round++) {
        int64_t off = 0;
        for (int32_t r = 0; r < 100; r++) {
            const int64_t n = 33 + r % 32;
            fill(tok, n, 1000 * r);
            assert_int_equal(cs_batch_append(b, tok, NULL, n, NULL, (cs_slot){ c, r }), CS_OK);
            assert_int_equal(b->off[r], off);
            off += n;
            assert_int_equal(b->off[r + 1], off);
        }
        assert_int_equal(b->n_rec, 100);
        assert_int_equal(b->n_seg, 100);
        assert_int_equal(b->n_tok, off);
        assert_int_equal(b->depth, 6);
        assert_null(b->x);
        assert_null(b->target);
        for (int32_t r = 0; r < 100; r++) {
            assert_ptr_equal(b->slot[r].chunk, c);
            assert_int_equal(b->slot[r].i, r);
            for (int64_t i = b->off[r]; i < b->off[r + 1]; i++)
                assert_int_equal(b->tok[i], 1000 * r + i - b->off[r]);
        }
        assert_true(cs_batch_bytes(b) >= (size_t)off * 4 + 100 * (sizeof(cs_slot) + 8));
        cs_batch_reset(b);
        assert_int_equal(b->n_tok + b->n_seg + b->n_rec + b->depth, 0);
    }
    cs_chunk_free(c);
    cs_batch_drop(b);
    cs_batch_free(NULL);
}

static void test_real_values_and_targets(void **state)
{
    (void)state;
    cs_batch *b = cs_batch_new(2, 3);
    float x[2 * 7];
    for (int r = 0; r < 40; r++) {
        const float target[3] = { (float)r, (float)r / 2, NAN };
        for (int i = 0; i < 14; i++)
            x[i] = (float)(100 * r + i);
        assert_int_equal(cs_batch_append(b, NULL, x, 5 + r % 3, target, (cs_slot){ NULL, r }),
                         CS_OK);
    }
    assert_null(b->tok);
    for (int r = 0; r < 40; r++) {
        assert_true(b->target[3 * r] == (float)r && b->target[3 * r + 1] == (float)r / 2);
        assert_true(isnan(b->target[3 * r + 2]));
        for (int64_t i = 0; i < 2 * (b->off[r + 1] - b->off[r]); i++)
            assert_true(b->x[2 * b->off[r] + i] == (float)(100 * r + i));
    }
    cs_batch_free(b);
}

static void test_out_of_memory_changes_nothing(void **state)
{
    (void)state;
    int32_t tok[16];
    const float target = 1;
    fill(tok, 16, 0);
    int n_failed = 0;
    cs_batch *b = cs_batch_new(0, 1);
    for (int r = 0; r < 200; r++) {
        for (long at = 0; at < 4; at++) {
            cs_mem_fail_at(at);
            const int64_t n_tok = b->n_tok;
            const int rc = cs_batch_append(b, tok, NULL, 16, &target, (cs_slot){ NULL, r });
            cs_mem_fail_at(-1);
            if (rc == CS_OK)
                break;
            assert_int_equal(rc, CS_EMEM);
            assert_int_equal(b->n_tok, n_tok);
            assert_int_equal(b->n_rec, r);
            cs_error_clear();
            n_failed++;
        }
        assert_int_equal(b->n_rec, r + 1);
    }
    assert_true(n_failed > 10);
    for (int r = 0; r < 200; r++)
        assert_int_equal(b->slot[r].i, r);
    cs_batch_free(b);
}

static void append_other_depth(void *arg)
{
    const int32_t tok[9] = { 0 };
    for (int64_t n = 8; n <= 9; n++) {
        if (cs_batch_append(arg, tok, NULL, n, NULL, (cs_slot){ NULL, 0 }) != CS_OK)
            return;
    }
}

static void append_nothing(void *arg)
{
    const int32_t tok = 0;
    if (cs_batch_append(arg, &tok, NULL, 0, NULL, (cs_slot){ NULL, 0 }) != CS_OK)
        return;
}

static void test_mistakes_abort(void **state)
{
    (void)state;
    cs_batch *b = cs_batch_new(0, 0);
    assert_true(check_aborts(append_other_depth, b));
    assert_true(check_aborts(append_nothing, b));
    cs_batch_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depth), cmocka_unit_test(test_tokens_are_packed),
        cmocka_unit_test(test_real_values_and_targets),
        cmocka_unit_test(test_out_of_memory_changes_nothing),
        cmocka_unit_test(test_mistakes_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
