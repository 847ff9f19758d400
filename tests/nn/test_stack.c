/* test_stack.c - recomputation of a stack from few stored inputs: same bits, fewest runs. */
#include "tests/nn/toy.h"

#include "nn/exec/plan.h"
#include "nn/ops/blocks.h"

static cs_backend *be;

/* ---- stored inputs -------------------------------------------------------------------------- */

enum { MAX_DEPTH = 64 };

/* runs[n][s]: layer runs besides the adjoints for n layers with s stored inputs, by
 * cs_stack_split(); best: the minimum. */
static int64_t runs[MAX_DEPTH + 1][MAX_DEPTH + 1], best[MAX_DEPTH + 1][MAX_DEPTH + 1];

static int64_t min_runs(int32_t n, int32_t s)
{
    int64_t min = INT64_MAX;
    for (int32_t k = 1; k < n; k++) {
        const int64_t sum = k + best[n - k][s - 1] + best[k][s];
        min = sum < min ? sum : min;
    }
    return min;
}

static void test_min_runs(void **state)
{
    (void)state;
    for (int32_t s = 1; s <= MAX_DEPTH; s++)
        for (int32_t n = 2; n <= MAX_DEPTH; n++) {
            const int32_t k = cs_stack_split(n, s - 1);
            if (s == 1) {
                assert_int_equal(k, n);
                runs[n][s] = best[n][s] = (int64_t)n * (n - 1) / 2;
                continue;
            }
            assert_in_range(k, 1, n - 1);
            runs[n][s] = k + runs[n - k][s - 1] + runs[k][s];
            best[n][s] = min_runs(n, s);
            if (runs[n][s] != best[n][s])
                fail_msg("%d layers, %d kept: %ld runs instead of %ld", (int)n, (int)s,
                         (long)runs[n][s], (long)best[n][s]);
        }
}

/* For any number of layers up to the largest, the result is one of them. */
static void test_any_depth(void **state)
{
    (void)state;
    for (int32_t n = 2; n <= 1024; n++)
        for (int32_t s = 2; s <= CS_CHECKPOINT_INPUTS; s++)
            assert_in_range(cs_stack_split(n, s - 1), 1, n - 1);
}

/* ---- gradients ------------------------------------------------------------------------------ */

typedef struct block_log { int n; int64_t sum; } block_log;

static void log_block(void *arg, int32_t block, cs_mat y)
{
    block_log *w = arg;
    (void)y;
    w->n++;
    w->sum += block;
}

static void check_same_bits(const toy *t)
{
    static const int64_t len[] = { 600, 520 };
    cs_session *s = toy_session(t, be);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 2, 6);
    block_log w = { 0 };
    const double loss = toy_train(s, b, CS_KEEP_ALL);
    cs_real *want = toy_slab(m, m->ps.grad);
    int64_t first_bytes = 0;

    s->cx.block_hook = log_block;
    s->cx.block_hook_arg = &w;
    for (int32_t keep = 1; keep <= 11; keep++) {
        w = (block_log){ 0 };
        assert_true(toy_train(s, b, keep) == loss);
        cs_real *got = toy_slab(m, m->ps.grad);
        if (memcmp(got, want, (size_t)m->ps.n_real * sizeof *got) != 0)
            fail_msg("%s: other gradients with the inputs of %d blocks", t->value, (int)keep);
        assert_int_equal(w.n, 10);
        assert_int_equal(w.sum, 45);
        /* Each further copy takes one block input, up to one per block but the last. */
        const int64_t n_bytes = (s->cx.peak + s->cx.grad_peak) * (int64_t)sizeof(cs_real);
        if (keep > 1)
            assert_int_equal(n_bytes - first_bytes, (keep < 9 ? keep - 1 : 8) * b->n_tok * m->width
                                                    * (int64_t)sizeof(cs_real));
        else
            first_bytes = n_bytes;
        free(got);
    }
    free(want);
    cs_batch_free(b);
    toy_free(s);
}

/* Fused blocks, blocks of plain ops, and blocks whose last op reads its own output. */
static void test_same_bits(void **state)
{
    static const char *const option[][2] = {
        { "norm", "none" }, { "norm", "layer" }, { "prenorm", "group" }, { "dropout", "0.3" }
    };
    (void)state;
    for (size_t i = 0; i < sizeof option / sizeof option[0]; i++) {
        const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                        .max_len = "1024", .name = option[i][0], .value = option[i][1],
                        .training = true };
        check_same_bits(&t);
    }
}

/* The gradients of a batch of more rows than are computed at once, some of whose segments lie
 * across: blocks of plain ops with all kept and with little, and fused ones. */
static void check_by_rows(const toy *t)
{
    enum { N = 1400 };
    int64_t len[N];
    cs_real *grad[4];

    for (int i = 0; i < N; i++)
        len[i] = 9 + i % 8;
    cs_session *s = toy_session(t, be);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, N, 6);
    const size_t n = (size_t)m->ps.n_real;
    for (int k = 0; k < 4; k++) {
        s->cx.no_fused = k > 0;
        toy_train(s, b, k < 2 ? CS_KEEP_ALL : k == 2 ? CS_CHECKPOINT_INPUTS : 2);
        grad[k] = toy_slab(m, m->ps.grad);
    }
    assert_memory_equal(grad[2], grad[1], n * sizeof **grad);
    assert_memory_equal(grad[3], grad[1], n * sizeof **grad);
    if (strcmp(t->name, "dropout") != 0)
        check_below(toy_nmse(grad[0], grad[1], m->ps.n_real), 1e-9);
    for (int k = 0; k < 4; k++)
        free(grad[k]);
    cs_batch_free(b);
    toy_free(s);
}

static void test_by_rows(void **state)
{
    toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
              .max_len = "16", .training = true, .name = "dropout", .value = "0.3" };
    (void)state;
    check_by_rows(&t);
    t.name = "norm";
    t.value = "none";
    check_by_rows(&t);
}

/* ---- plan ----------------------------------------------------------------------------------- */

static int64_t stub_free_bytes;

static int64_t free_bytes(cs_backend *b)
{
    (void)b;
    return stub_free_bytes;
}

/* As much is stored as fits, for any request; three quarters of the memory may be used. */
static void test_plan_fits(void **state)
{
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                    .max_len = "65536", .training = true };
    cs_backend other = *be;
    cs_session *s = toy_session(&t, &other);
    int64_t need[CS_CHECKPOINT_INPUTS + 1];

    (void)state;
    other.op.free_memory = free_bytes;
    for (int32_t k = 0; k <= CS_CHECKPOINT_INPUTS; k++) {
        s->cx.keep = k;
        need[k] = cs_plan_memory(s, 65536, 1, 16, true);
    }
    for (int32_t k = 1; k <= 15; k++) {
        stub_free_bytes = need[k] / 3 * 4 + 64;
        assert_int_equal(cs_plan_checkpoint_blocks(s, 65536, 1, 16, 3), k < 3 ? k : 3);
        const int32_t keep = cs_plan_checkpoint_blocks(s, 65536, 1, 16, CS_KEEP_ALL);
        assert_int_equal(need[keep], need[k]);
    }
    stub_free_bytes = need[CS_KEEP_ALL] / 3 * 4 + 64;
    assert_int_equal(cs_plan_checkpoint_blocks(s, 65536, 1, 16, CS_KEEP_ALL), CS_KEEP_ALL);
    stub_free_bytes = 0;
    assert_int_equal(cs_plan_checkpoint_blocks(s, 65536, 1, 16, CS_KEEP_ALL), 1);
    toy_free(s);
}

/* ---- scratch memory ------------------------------------------------------------------------- */

/* Scratch has no gradient, also in a batch that needs less of the arenas than the one before. */
static void test_scratch(void **state)
{
    enum { CAP = 1024 };
    cs_session *s = toy_session(&(toy){ .enc = cs_encoder_find("chordmixer"),
                                      .head = cs_head_find("class"), .training = true }, be);
    cs_ctx *cx = &s->cx;

    (void)state;
    assert_int_equal(cs_ctx_reserve(cx, CAP, CAP), CS_OK);
    cs_ctx_begin(cx, true, false, 1);
    assert_null(cs_grad_of(cx, cs_scratch(cx, 2, 3)).p);
    assert_non_null(cs_grad_of(cx, cs_empty(cx, 2, 3)).p);
    toy_free(s);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_min_runs),
        cmocka_unit_test(test_any_depth),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_by_rows),
        cmocka_unit_test(test_plan_fits),
        cmocka_unit_test(test_scratch)
    };
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 2, &be) != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("stack", test, NULL, NULL);
    cs_backend_close(be);
    return n_failed;
}
