/* test_cpu.c - CHORDSEQ_DISABLE word by word, and quotas of control groups in a made-up tree. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE              /* sched_setaffinity */
#endif
#include "tests/check.h"

#include <sched.h>
#include <sys/stat.h>

#include "base/cpu.h"

static char scratch[] = "/tmp/chordseq-test-cpu-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(scratch) == NULL;
}

static int tear_down(void **state)
{
    char command[200];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

static int init_with(const char *words)
{
    cs_error_clear();
    if (words != NULL)
        (void)setenv("CHORDSEQ_DISABLE", words, 1);
    else
        (void)unsetenv("CHORDSEQ_DISABLE");
    return cs_cpu_init();
}

static void words_hide_features(void **state)
{
    (void)state;
    assert_int_equal(init_with(NULL), CS_OK);
    assert_true(cs_cpu_has(CS_CPU_FUSED));
    assert_true(cs_cpu_has(0));
    bool avx2 = cs_cpu_has(CS_CPU_AVX2);
    assert_int_equal(init_with(""), CS_OK);
    assert_int_equal(cs_cpu_has(CS_CPU_AVX2), avx2);
    assert_int_equal(init_with("fused"), CS_OK);
    assert_false(cs_cpu_has(CS_CPU_FUSED));
    assert_int_equal(cs_cpu_has(CS_CPU_AVX2), avx2);
    assert_int_equal(init_with("avx2"), CS_OK);
    assert_false(cs_cpu_has(CS_CPU_AVX2));
    assert_true(cs_cpu_has(CS_CPU_FUSED));
    assert_int_equal(init_with("avx2,fused"), CS_OK);
    assert_false(cs_cpu_has(CS_CPU_AVX2));
    assert_false(cs_cpu_has(CS_CPU_FUSED));
    assert_false(cs_cpu_has(CS_CPU_AVX2 | CS_CPU_FUSED));
    assert_int_equal(init_with(NULL), CS_OK);
    assert_int_equal(cs_cpu_has(CS_CPU_AVX2), avx2);
}

static void levels_go_from_reference_to_all(void **state)
{
    char name[64], small[4];
    int n = 0;

    (void)state;
    assert_int_equal(init_with(NULL), CS_OK);
    bool avx2 = cs_cpu_has(CS_CPU_AVX2);
    assert_true(cs_cpu_level(0, name, sizeof name));
    assert_string_equal(name, "reference");
    assert_false(cs_cpu_has(CS_CPU_AVX2) || cs_cpu_has(CS_CPU_FUSED));
    while (cs_cpu_level(n, name, sizeof name))
        n++;
    assert_int_equal(n, avx2 ? 3 : 1);
    assert_true(cs_cpu_has(CS_CPU_FUSED));       /* after the last one, all are back */
    if (avx2) {
        assert_true(cs_cpu_level(1, name, sizeof name));
        assert_string_equal(name, "avx2");
        assert_false(cs_cpu_has(CS_CPU_FUSED));
        assert_true(cs_cpu_level(2, small, sizeof small));
        assert_string_equal(small, "avx");
    }
    assert_int_equal(init_with("avx2"), CS_OK);
    assert_true(cs_cpu_level(0, name, sizeof name));
    assert_false(cs_cpu_level(1, name, sizeof name));
    assert_int_equal(init_with(NULL), CS_OK);
}

static void unknown_word_is_refused(void **state)
{
    (void)state;
    assert_int_equal(init_with("avx2,avx512"), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "'avx512'"));
    assert_int_equal(init_with("avx"), CS_EUSAGE);
    assert_int_equal(init_with("fused avx2"), CS_EUSAGE);
    assert_int_equal(init_with(NULL), CS_OK);
}

static void count_respects_affinity(void **state)
{
    cpu_set_t all, one;

    (void)state;
    assert_true(cs_cpu_count() >= 1);
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        skip();
    assert_true(cs_cpu_count() <= CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cs_cpu_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* Write text to scratch/path, making the folders on the way. */
static void put(const char *path, const char *text)
{
    char full[500];

    (void)snprintf(full, sizeof full, "%s/%s", scratch, path);
    for (char *p = full + strlen(scratch) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        (void)mkdir(full, 0777);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int quota(const char *root)
{
    char membership[300], tree[300];

    (void)snprintf(membership, sizeof membership, "%s/membership", scratch);
    (void)snprintf(tree, sizeof tree, "%s/%s", scratch, root);
    return cs_cpu_quota(membership, tree);
}

static void version_2(void **state)
{
    (void)state;
    put("membership", "0::/user/job\n");
    put("v2/user/job/cpu.max", "max 100000\n");
    assert_int_equal(quota("v2"), 0);
    put("v2/user/job/cpu.max", "150000 100000\n");
    assert_int_equal(quota("v2"), 2);
    put("v2/user/cpu.max", "50000 100000\n");           /* the ancestor is tighter */
    assert_int_equal(quota("v2"), 1);
    put("v2/user/cpu.max", "800000 100000\n");
    assert_int_equal(quota("v2"), 2);
    put("membership", "0::/a/host/path/not/mounted\n");
    put("v2/cpu.max", "300000 100000\n");
    assert_int_equal(quota("v2"), 3);
    put("membership", "0::/\n");
    assert_int_equal(quota("v2"), 3);
}

static void version_1(void **state)
{
    (void)state;
    put("membership", "12:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/x:y\n");
    put("v1/cpu/job/cpu.cfs_quota_us", "-1\n");
    put("v1/cpu/job/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota("v1"), 0);
    put("v1/cpu/job/cpu.cfs_quota_us", "400000\n");
    assert_int_equal(quota("v1"), 4);
    put("membership", "4:cpuset:/job\n");
    assert_int_equal(quota("v1"), 0);
}

static void nonsense_is_no_limit(void **state)
{
    (void)state;
    assert_int_equal(cs_cpu_quota("/nonexistent", "/nonexistent"), 0);
    put("membership", "garbage\n\n0:\n:::\n0::/job");
    put("odd/job/cpu.max", "0 0\n");
    assert_int_equal(quota("odd"), 0);
    put("odd/job/cpu.max", "");
    assert_int_equal(quota("odd"), 0);
    put("odd/job/cpu.max", "100000\n");
    assert_int_equal(quota("odd"), 0);
    assert_string_equal(cs_error_message(), "");
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(words_hide_features),
        cmocka_unit_test(levels_go_from_reference_to_all),
        cmocka_unit_test(unknown_word_is_refused),
        cmocka_unit_test(count_respects_affinity),
        cmocka_unit_test(version_2),
        cmocka_unit_test(version_1),
        cmocka_unit_test(nonsense_is_no_limit),
    };

    return cmocka_run_group_tests(test, set_up, tear_down);
}
