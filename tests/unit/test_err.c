/* test_err.c - the stored message: first wins, one per thread, errno unchanged. */
#include "tests/check.h"

#include <errno.h>
#include <pthread.h>

#include "base/err.h"

static int reset(void **state)
{
    (void)state;
    cs_error_clear();
    return 0;
}

static void first_message_wins(void **state)
{
    (void)state;
    assert_string_equal(cs_error_message(), "");
    assert_int_equal(cs_fail(CS_EFORMAT, "'%s' line %d: no bases", "a.fa", 7), CS_EFORMAT);
    assert_int_equal(cs_fail(CS_EIO, "what followed"), CS_EIO);
    assert_string_equal(cs_error_message(), "'a.fa' line 7: no bases");
    cs_error_clear();
    assert_string_equal(cs_error_message(), "");
    assert_int_equal(cs_fail(CS_EIO, "next"), CS_EIO);
    assert_string_equal(cs_error_message(), "next");
}

static void errno_is_preserved(void **state)
{
    (void)state;
    errno = ENOSPC;
    assert_int_equal(cs_fail(CS_EIO, "full: %s", "disk"), CS_EIO);
    assert_int_equal(errno, ENOSPC);
}

static void long_message_is_cut(void **state)
{
    char name[8000];

    (void)state;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(cs_fail(CS_EUSAGE, "bad value '%s'", name), CS_EUSAGE);
    size_t n = strlen(cs_error_message());
    assert_in_range(n, 500, sizeof name - 1);
    assert_memory_equal(cs_error_message(), "bad value 'xxx", 14);
}

static void options_as_on_the_command_line(void **state)
{
    (void)state;
    (void)cs_fail(CS_EUSAGE, "%s needs %s", CS_OPTION("depth"), CS_OPTION("rate %d k", 3));
    assert_string_equal(cs_error_message(), "--depth needs --rate 3 k");
}

static void *other_thread(void *arg)
{
    (void)arg;
    if (cs_error_message()[0] != '\0')
        return "sees another thread's message";
    (void)cs_fail(CS_EMEM, "mine");
    return strcmp(cs_error_message(), "mine") == 0 ? NULL : "lost its own message";
}

static void threads_do_not_share(void **state)
{
    pthread_t t;
    void *fault;

    (void)state;
    assert_int_equal(cs_fail(CS_EIO, "main's"), CS_EIO);
    assert_int_equal(pthread_create(&t, NULL, other_thread, NULL), 0);
    assert_int_equal(pthread_join(t, &fault), 0);
    assert_null(fault);
    assert_string_equal(cs_error_message(), "main's");
}

static int leaves_at(int which, int *n_done)
{
    int rc = CS_OK;

    CS_TRY(which == 0 ? CS_EIO : CS_OK);
    ++*n_done;
    CS_TRY(which == 1 ? CS_EOF : CS_OK);
    ++*n_done;
out:
    return rc;
}

static void try_leaves_on_anything_but_ok(void **state)
{
    int n = 0;

    (void)state;
    assert_int_equal(leaves_at(0, &n), CS_EIO);
    assert_int_equal(n, 0);
    assert_int_equal(leaves_at(1, &n), CS_EOF);
    assert_int_equal(n, 1);
    assert_int_equal(leaves_at(2, &n), CS_OK);
    assert_int_equal(n, 3);
}

static void names_differ(void **state)
{
    static const int code[] = { CS_OK, CS_EOF, CS_EUSAGE, CS_EIO, CS_EFORMAT, CS_EMEM, CS_EDEVICE,
                                CS_EMODEL, CS_ECANCEL, -99 };
    enum { N = sizeof code / sizeof code[0] };

    (void)state;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(cs_error_name(code[i]), cs_error_name(code[j]));
}

static void break_invariant(void *arg)
{
    CS_BUG(*(const int *)arg == 1);
}

static void succeed_as_failure(void *arg)
{
    (void)arg;
    (void)cs_fail(CS_OK, "not a failure");
}

static void bug_aborts(void **state)
{
    int yes = 1, no = 0;

    (void)state;
    assert_true(check_aborts(break_invariant, &yes));
    assert_false(check_aborts(break_invariant, &no));
    assert_true(check_aborts(succeed_as_failure, NULL));
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(first_message_wins, reset),
        cmocka_unit_test_setup(errno_is_preserved, reset),
        cmocka_unit_test_setup(long_message_is_cut, reset),
        cmocka_unit_test_setup(options_as_on_the_command_line, reset),
        cmocka_unit_test_setup(threads_do_not_share, reset),
        cmocka_unit_test_setup(try_leaves_on_anything_but_ok, reset),
        cmocka_unit_test_setup(names_differ, reset),
        cmocka_unit_test_setup(bug_aborts, reset),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
