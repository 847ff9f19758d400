/* test_path_conflicts.c - one output per name at a time, of this run and others. */
#include "tests/check.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/outfile.h"
#include "base/path_conflicts.h"

/* A temporary file of an earlier process with the same pid is ignored. */
static void stale_temporary_is_ignored(void **state)
{
    cs_outfile *f;
    char left[100];

    (void)state;
    (void)snprintf(left, sizeof left, "same.tmp.%ld", (long)getpid());
    assert_int_equal(fclose(fopen(left, "w")), 0);
    assert_int_equal(cs_outfile_open("same", &f), CS_OK);
    assert_int_equal(cs_outfile_close(f), CS_OK);
    assert_int_equal(unlink(left), 0);
    assert_int_equal(unlink("same"), 0);
}

/* Another run: answers every byte from `request` with the result of opening output "o". */
static void try_part(int request, int result)
{
    char byte;

    while (read(request, &byte, 1) == 1) {
        cs_outfile *f = NULL;
        cs_error_clear();
        const int rc = cs_outfile_continue("o", NULL, (cs_part_mark){ 0, 0 }, &f);
        cs_outfile_discard(f);
        if (write(result, &rc, sizeof rc) != (ssize_t)sizeof rc)
            break;
    }
    _exit(0);
}

static int try_in_child(int request, int result)
{
    int rc = CS_OK;

    assert_int_equal(write(request, "", 1), 1);
    assert_int_equal(read(result, &rc, sizeof rc), sizeof rc);
    return rc;
}

/* A resumable output has one writer from its creation to its renaming. */
static void parts_are_locked(void **state)
{
    cs_outfile *first = NULL, *second = NULL;
    int request[2], result[2];

    (void)state;
    assert_true(pipe(request) == 0 && pipe(result) == 0);
    const pid_t other = fork();
    assert_true(other >= 0);
    if (other == 0) {
        (void)close(request[1]);
        try_part(request[0], result[1]);
    }
    assert_int_equal(cs_outfile_continue("o", NULL, (cs_part_mark){ 0, 0 }, &first), CS_OK);
    assert_int_equal(cs_outfile_write(first, "whole", 5), CS_OK);
    assert_int_equal(try_in_child(request[1], result[0]), CS_EIO);
    assert_int_equal(cs_outfile_finish(first), CS_OK);
    assert_int_equal(try_in_child(request[1], result[0]), CS_EIO);
    assert_int_equal(cs_outfile_continue("o", NULL, (cs_part_mark){ 0, 0 }, &second), CS_EUSAGE);
    assert_null(second);
    assert_int_equal(cs_outfile_close(first), CS_OK);
    assert_int_equal(cs_file_size("o"), 5);
    assert_int_equal(try_in_child(request[1], result[0]), CS_OK);
    for (int i = 0; i < 2; i++)
        assert_true(close(request[i]) == 0 && close(result[i]) == 0);
    assert_int_equal(waitpid(other, NULL, 0), other);
    assert_int_equal(cs_file_size("o"), 5);
    assert_int_equal(access("o.part", F_OK), -1);
}

/* Resumable or not, and by any path: no two outputs share a name, nor the name of an unfinished
 * file. */
static void one_output_per_name(void **state)
{
    static const char *const taken[] = { "o", "./o", "o.part" };
    cs_outfile *first, *second;

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2 + (i == 0); k++) {
            cs_error_clear();
            assert_int_equal(i == 0 ? cs_outfile_continue("o", NULL, (cs_part_mark){ 0, 0 }, &first)
                                    : cs_outfile_open("o", &first), CS_OK);
            assert_int_equal(i == 0 ? cs_outfile_open(taken[k], &second)
                                    : cs_outfile_continue(taken[k], NULL, (cs_part_mark){ 0, 0 },
                                                          &second), CS_EUSAGE);
            cs_outfile_discard(first);
        }
    assert_int_equal(access("o.part", F_OK), -1);
}

/* Two files of one name in two folders are two. */
static void folders_are_compared(void **state)
{
    cs_path_claim *claim[3] = { NULL };

    (void)state;
    assert_true(mkdir("a", 0700) == 0 && mkdir("b", 0700) == 0 && symlink("a", "c") == 0);
    assert_int_equal(cs_paths_claim("a/x", "x", &claim[0]), CS_OK);
    assert_int_equal(cs_paths_claim("b/x", "x", &claim[1]), CS_OK);
    assert_int_equal(cs_paths_claim("c/x", "x", &claim[2]), CS_EUSAGE);
    assert_null(claim[2]);
    cs_paths_unclaim(claim[0]);
    assert_int_equal(cs_paths_claim("c/x", "x", &claim[2]), CS_OK);
    cs_paths_unclaim(claim[1]);
    cs_paths_unclaim(claim[2]);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(stale_temporary_is_ignored),
        cmocka_unit_test(parts_are_locked),
        cmocka_unit_test(one_output_per_name),
        cmocka_unit_test(folders_are_compared),
    };

    (void)alarm(120);            /* a hang is a failure */
    return cmocka_run_group_tests(test, check_enter_scratch, check_leave_scratch);
}
