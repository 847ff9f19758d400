/* test_mem.c - allocation: overflow, the n-th failure, growth, arenas and their red zones. */
#include "tests/check.h"

#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

static int reset(void **state)
{
    (void)state;
    cs_error_clear();
    cs_mem_fail_at(-1);
    return 0;
}

static void overflow_is_refused(void **state)
{
    cs_arena *a = cs_arena_new();

    (void)state;
    assert_null(cs_alloc(SIZE_MAX / 2, 3));
    assert_null(cs_alloc(SIZE_MAX, SIZE_MAX));
    assert_null(cs_arena_alloc(a, SIZE_MAX / 8 + 2, 8));
    assert_null(cs_arena_alloc(a, SIZE_MAX - 8, 1));
    assert_null(cs_arena_alloc(a, PTRDIFF_MAX, 1));
    assert_int_equal(cs_arena_bytes(a), 0);
    cs_arena_free(a);
}

static void empty_allocation_succeeds(void **state)
{
    void *p = cs_alloc(0, 8), *q = cs_xmalloc(0), *r = cs_xcalloc(0, 0);
    cs_arena *a = cs_arena_new();

    (void)state;
    assert_non_null(p);
    assert_non_null(q);
    assert_non_null(r);
    assert_non_null(cs_arena_alloc(a, 0, 4));
    free(p);
    free(q);
    free(r);
    cs_arena_free(a);
}

/* Every size can be written to the end; a freed block is reused by the next one of that size. */
static void blocks_are_cached(void **state)
{
    (void)state;
    assert_null(cs_block_alloc(SIZE_MAX / 2, 3));
    assert_null(cs_block_alloc(SIZE_MAX, 1));
    cs_mem_fail_at(0);
    assert_null(cs_block_alloc(1, 1));
    cs_block_free(NULL);
    for (size_t n = 1; n <= (size_t)20 << 20; n += n / 3 + 1) {
        unsigned char *p = cs_block_alloc(n, 1), *q = cs_block_alloc(n, 1);
        assert_non_null(p);
        assert_non_null(q);
        assert_int_equal((uintptr_t)p % 16, 0);
        memset(p, 1, n);
        memset(q, 2, n);
        assert_int_equal(p[n - 1], 1);
        cs_block_free(p);
#ifndef HAVE_ASAN
        if (n >= 16 << 10 && n <= 8000000) {
            unsigned char *again = cs_block_alloc(n, 1);
            assert_ptr_equal(again, p);
            cs_block_free(again);
        }
#endif
        cs_block_free(q);
    }
}

static void x_functions(void **state)
{
    char *s = cs_xstrdup("chord");
    int *z = cs_xcalloc(100, sizeof *z);

    (void)state;
    cs_mem_fail_at(0);                      /* must not concern them */
    s = cs_xrealloc(s, 100);
    assert_string_equal(s, "chord");
    for (int i = 0; i < 100; i++)
        assert_int_equal(z[i], 0);
    assert_null(cs_alloc(1, 1));            /* still pending: not used yet */
    free(s);
    free(z);
}

static void exit_without_memory(void *arg)
{
    (void)arg;
    (void)cs_xmalloc((size_t)PTRDIFF_MAX);
}

static void x_functions_exit(void **state)
{
#ifndef HAVE_ASAN                           /* whose malloc reports such sizes itself */
    int status = check_status(exit_without_memory, NULL);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
#else
    (void)exit_without_memory;
#endif
    (void)state;
}

static void fails_at_n(void **state)
{
    (void)state;
    for (int n = 0; n < 5; n++) {
        cs_mem_fail_at(n);
        for (int i = 0; i < 8; i++) {
            void *p = cs_alloc(4, 4);
            assert_int_equal(p == NULL, i == n);
            free(p);
        }
    }
    cs_mem_fail_at(1);
    cs_mem_fail_at(-1);
    for (int i = 0; i < 3; i++) {
        void *p = cs_alloc(1, 1);
        assert_non_null(p);
        free(p);
    }
}

static void realloc_failure_keeps_block(void **state)
{
    char *p = cs_alloc(4, 1);

    (void)state;
    assert_non_null(p);
    memcpy(p, "abc", 4);
    cs_mem_fail_at(0);
    assert_null(cs_realloc(p, 100, 1));
    assert_string_equal(p, "abc");
    free(p);
}

static void grow_doubles(void **state)
{
    int64_t *v = NULL;
    size_t cap = 0, n_grown = 0;

    (void)state;
    for (size_t n = 0; n < 10000; n++) {
        size_t before = cap;
        assert_int_equal(cs_grow((void **)&v, &cap, n + 1, sizeof *v), CS_OK);
        assert_true(cap > n);
        n_grown += cap != before;
        v[n] = (int64_t)(n * n);
    }
    assert_in_range(n_grown, 1, 12);        /* 16 ... 16384 */
    for (size_t n = 0; n < 10000; n++)
        assert_int_equal(v[n], n * n);
    assert_int_equal(cs_grow((void **)&v, &cap, 1000000, sizeof *v), CS_OK);
    assert_true(cap >= 1000000);
    free(v);
}

static void grow_failure_changes_nothing(void **state)
{
    int *v = NULL;
    size_t cap = 0;

    (void)state;
    assert_int_equal(cs_grow((void **)&v, &cap, 3, sizeof *v), CS_OK);
    int *before = v;
    size_t cap_before = cap;
    v[2] = 42;
    cs_mem_fail_at(0);
    assert_int_equal(cs_grow((void **)&v, &cap, cap + 1, sizeof *v), CS_EMEM);
    assert_non_null(strstr(cs_error_message(), "out of memory"));
    assert_ptr_equal(v, before);
    assert_int_equal(cap, cap_before);
    assert_int_equal(v[2], 42);
    assert_int_equal(cs_grow((void **)&v, &cap, SIZE_MAX, sizeof *v), CS_EMEM);
    assert_int_equal(cs_grow((void **)&v, &cap, SIZE_MAX / 4, sizeof *v), CS_EMEM);
    assert_ptr_equal(v, before);
    free(v);
}

static void arena_blocks_are_separate(void **state)
{
    enum { N = 3000 };
    cs_arena *a = cs_arena_new();
    unsigned char *p[N];
    size_t total = 0;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        size_t n = (i * 7919) % 97 == 0 ? 70000 + i : i % 67;
        p[i] = cs_arena_alloc(a, n, 1);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        memset(p[i], (int)(i & 0xff), n);
        total += n;
        assert_true(cs_arena_bytes(a) >= total);
    }
    for (size_t i = 0; i < N; i++) {
        size_t n = (i * 7919) % 97 == 0 ? 70000 + i : i % 67;
        for (size_t k = 0; k < n; k++)
            assert_int_equal(p[i][k], i & 0xff);
    }
    cs_arena_free(a);
    cs_arena_free(NULL);
}

static void arena_wastes_little(void **state)
{
    cs_arena *a = cs_arena_new();

    (void)state;
    /* Large requests between small ones must not strand the rest of a block each time. */
    for (int i = 0; i < 200; i++) {
        assert_non_null(cs_arena_alloc(a, 1000000, 1));
        assert_non_null(cs_arena_alloc(a, 100, 1));
    }
    check_below((double)cs_arena_bytes(a), 1.02 * 200 * 1000100);
    cs_arena_free(a);
}

static void arena_dup_copies(void **state)
{
    cs_arena *a = cs_arena_new();
    check_page b = check_page_new(5);

    (void)state;
    memcpy(b.p, "ACGTN", 5);                /* not NUL-terminated, and nothing may be read behind */
    assert_string_equal(cs_arena_dup(a, b.p, 5), "ACGTN");
    assert_string_equal(cs_arena_dup(a, NULL, 0), "");
    assert_null(cs_arena_dup(a, b.p, SIZE_MAX));
    check_page_free(&b);
    cs_arena_free(a);
}

static void arena_fails_at_n(void **state)
{
    cs_arena *a = cs_arena_new();

    (void)state;
    cs_mem_fail_at(1);
    assert_non_null(cs_arena_alloc(a, 10, 1));
    assert_null(cs_arena_alloc(a, 10, 1));
    assert_non_null(cs_arena_alloc(a, 10, 1));
    cs_mem_fail_at(0);
    assert_null(cs_arena_dup(a, "x", 1));
    cs_arena_free(a);
}

#ifdef HAVE_ASAN
static void write_one_behind(void *arg)
{
    volatile unsigned char *p = arg;

    p[24] = 1;
}

static void arena_has_red_zones(void **state)
{
    cs_arena *a = cs_arena_new();
    unsigned char *p = cs_arena_alloc(a, 24, 1);

    (void)state;
    assert_non_null(cs_arena_alloc(a, 24, 1));
    int status = check_status(write_one_behind, p);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cs_arena_free(a);
}
#endif

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(blocks_are_cached, reset),
        cmocka_unit_test_setup(overflow_is_refused, reset),
        cmocka_unit_test_setup(empty_allocation_succeeds, reset),
        cmocka_unit_test_setup(x_functions, reset),
        cmocka_unit_test_setup(x_functions_exit, reset),
        cmocka_unit_test_setup(fails_at_n, reset),
        cmocka_unit_test_setup(realloc_failure_keeps_block, reset),
        cmocka_unit_test_setup(grow_doubles, reset),
        cmocka_unit_test_setup(grow_failure_changes_nothing, reset),
        cmocka_unit_test_setup(arena_blocks_are_separate, reset),
        cmocka_unit_test_setup(arena_wastes_little, reset),
        cmocka_unit_test_setup(arena_dup_copies, reset),
        cmocka_unit_test_setup(arena_fails_at_n, reset),
#ifdef HAVE_ASAN
        cmocka_unit_test_setup(arena_has_red_zones, reset),
#endif
    };

    return cmocka_run_group_tests(test, NULL, reset);
}
