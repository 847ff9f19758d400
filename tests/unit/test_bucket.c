/* test_bucket.c - the rules by which batches close, over random streams of records. */
#include "check.h"

#include "base/rng.h"
#include "batch/bucket.h"
#include "batch/view.h"

enum { CHUNKS = 60, PER_CHUNK = 37, RECORDS = CHUNKS * PER_CHUNK, MAX_TOK = 300 };

/* Emitted records in order, each with its batch. */
struct seen {
    int64_t      budget;
    int          n_batch, n_rec, fail_at;
    int32_t      batch[RECORDS], index[RECORDS];
    uint64_t     chunk[RECORDS];
    bool         gone[RECORDS];
};

static int take(void *arg, cs_batch *b)
{
    struct seen *s = arg;
    int64_t last = -1;
    if (s->n_batch == s->fail_at)
        return cs_fail(CS_ECANCEL, "stopped here");
    assert_true(b->n_rec > 0);
    assert_true(b->n_tok <= s->budget || b->n_rec == 1);
    assert_int_equal(b->oldest, b->slot[0].chunk->no);
    for (int32_t i = 0; i < b->n_rec; i++) {
        const cs_chunk *c = b->slot[i].chunk;
        const int64_t id = (int64_t)c->no * PER_CHUNK + b->slot[i].i;
        const cs_tokens *t = &c->views->view[b->slot[i].i].tok;
        assert_true(id > last && !s->gone[id]);
        assert_int_equal(cs_depth(t->n), b->depth);
        assert_int_equal(b->off[i + 1] - b->off[i], t->n);
        assert_memory_equal(b->tok + b->off[i], t->id, (size_t)t->n * sizeof *t->id);
        last = id;
        s->gone[id] = true;
        s->batch[s->n_rec] = s->n_batch;
        s->chunk[s->n_rec] = c->no;
        s->index[s->n_rec++] = b->slot[i].i;
    }
    s->n_batch++;
    cs_batch_free(b);
    return CS_OK;
}

static cs_chunk *random_chunk(uint64_t seed, uint64_t no)
{
    cs_chunk *c = cs_chunk_new(no);
    c->views = cs_arena_alloc(c->mem, 1, sizeof *c->views);
    c->views->view = cs_arena_alloc(c->mem, PER_CHUNK, sizeof *c->views->view);
    for (uint64_t i = 0; i < PER_CHUNK; i++) {
        const uint64_t id = no * PER_CHUNK + i;
        /* Lengths spread evenly over depths, so that every depth occurs. */
        const int64_t top = INT64_C(1) << cs_rng_below(seed, 2 * id, 9);
        const int64_t n = 1 + (int64_t)cs_rng_below(seed, 2 * id + 1, (uint64_t)top);
        int32_t *row = cs_arena_alloc(c->mem, (size_t)n, sizeof *row);
        assert_non_null(cs_chunk_append(c));
        c->views->view[i] = (cs_view){ .rec = (int32_t)i, .tok = { row, n } };
        for (int64_t k = 0; k < n; k++)
            row[k] = (int32_t)(id + (uint64_t)k);
    }
    return c;
}

static int run(cs_chunk **all, int64_t budget, uint64_t lag, struct seen *s, cs_bucket_stat *stat)
{
    int rc = CS_OK;
    cs_bucketer *k = cs_bucketer_new(budget, lag, 0, take, s);
    for (uint64_t no = 0; no < CHUNKS; no++) {
        const int before = s->n_rec;
        CS_TRY(cs_bucketer_chunk(k, no));
        /* Younger batches stay open: small ones are slow. */
        for (int i = before; i < s->n_rec; i++)
            if (i == 0 || s->batch[i] != s->batch[i - 1])
                assert_true(s->chunk[i] + lag <= no);
        /* The lag rule, which prevents deadlock: chunk no - lag has been emitted. */
        for (uint64_t id = 0; no >= lag && id < (no - lag + 1) * PER_CHUNK; id++)
            assert_true(s->gone[id]);
        for (int i = 0; i < PER_CHUNK; i++)
            CS_TRY(cs_bucketer_add(k, all[no], i));
    }
    CS_TRY(cs_bucketer_end(k));
    *stat = cs_bucketer_stat(k);
out:
    cs_bucketer_free(k);
    return rc;
}

static cs_chunk *chunk[CHUNKS];

static int setup(void **state)
{
    (void)state;
    for (uint64_t no = 0; no < CHUNKS; no++)
        chunk[no] = random_chunk(42, no);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < CHUNKS; i++)
        cs_chunk_free(chunk[i]);
    return 0;
}

static struct seen *seen_new(int64_t budget, int fail_at)
{
    struct seen *s = cs_xcalloc(1, sizeof *s);
    s->budget = budget;
    s->fail_at = fail_at;
    return s;
}

static void test_rules(void **state)
{
    (void)state;
    static const int64_t budget[] = { 1, 17, 256, 300, 4096, 1 << 20 };
    static const uint64_t lag[] = { 1, 2, 7, 1000 };
    for (size_t i = 0; i < 6 * 4; i++) {
        cs_bucket_stat stat;
        const int64_t max = budget[i % 6];
        struct seen *s = seen_new(max, -1);
        assert_int_equal(run(chunk, max, lag[i / 6], s, &stat), CS_OK);
        assert_int_equal(s->n_rec, RECORDS);
        assert_int_equal(stat.n_batch, s->n_batch);
        assert_int_equal(stat.n_close[CS_CLOSE_BUDGET] + stat.n_close[CS_CLOSE_LAG] +
                         stat.n_close[CS_CLOSE_END], stat.n_batch);
        int64_t n_tok = 0;
        for (int r = 0; r < RECORDS; r++)
            n_tok += chunk[r / PER_CHUNK]->views->view[r % PER_CHUNK].tok.n;
        assert_int_equal(stat.n_tok, n_tok);
        if (max == 1)
            assert_int_equal(s->n_batch, RECORDS);
        if (lag[i / 6] == 1000)
            assert_int_equal(stat.n_close[CS_CLOSE_LAG], 0);
        if (max == 1 << 20 && lag[i / 6] == 1000)
            assert_int_equal(stat.n_batch, 9);       /* one per depth 0 .. 8 */
        free(s);
    }
}

static void test_same_records_same_batches(void **state)
{
    (void)state;
    cs_bucket_stat stat;
    struct seen *a = seen_new(500, -1), *b = seen_new(500, -1);
    assert_int_equal(run(chunk, 500, 3, a, &stat), CS_OK);
    assert_int_equal(run(chunk, 500, 3, b, &stat), CS_OK);
    assert_memory_equal(a, b, sizeof *a);
    free(a);
    free(b);
}

static void test_emit_error_keeps_batch(void **state)
{
    (void)state;
    for (int at = 0; at < 40; at += 13) {
        cs_bucket_stat stat;
        struct seen *s = seen_new(500, at);
        assert_int_equal(run(chunk, 500, 3, s, &stat), CS_ECANCEL);
        assert_string_equal(cs_error_message(), "stopped here");
        assert_int_equal(s->n_batch, at);
        cs_error_clear();
        free(s);
    }
}

/* Of counted tokens, whose batch is never open; the sanitizer sees a leak. */
static void test_emit_error_of_counts(void **state)
{
    (void)state;
    static int64_t count[4] = { 0, 0, 7, 2 };
    struct seen *s = seen_new(500, 0);
    cs_bucketer *k = cs_bucketer_new(500, 3, 0, take, s);
    cs_view *v = &chunk[0]->views->view[0];
    const cs_view was = *v;
    v->count = count;
    v->tok = (cs_tokens){ NULL, 9 };
    assert_int_equal(cs_bucketer_add(k, chunk[0], 0), CS_ECANCEL);
    *v = was;
    cs_error_clear();
    assert_int_equal(cs_bucketer_stat(k).n_batch, 0);
    cs_bucketer_free(k);
    free(s);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct seen *s = seen_new(500, -1);
    cs_bucketer *k = cs_bucketer_new(500, 3, 0, take, s);
    cs_mem_fail_at(0);
    assert_int_equal(cs_bucketer_add(k, chunk[0], 0), CS_EMEM);
    cs_mem_fail_at(-1);
    cs_error_clear();
    /* The empty batch that stays open must not be emitted. */
    assert_int_equal(cs_bucketer_chunk(k, 100), CS_OK);
    assert_int_equal(cs_bucketer_end(k), CS_OK);
    assert_int_equal(s->n_batch, 0);
    cs_bucketer_free(k);
    cs_bucketer_free(NULL);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules), cmocka_unit_test(test_same_records_same_batches),
        cmocka_unit_test(test_emit_error_keeps_batch), cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_emit_error_of_counts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
