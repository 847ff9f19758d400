/* test_cgroup.c - limits of control groups in a made-up tree. */
#include "tests/check.h"

#include <sys/stat.h>

#include "base/cgroup.h"
#include "base/err.h"

static char scratch[] = "/tmp/chordseq-test-cgroup-XXXXXX";

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

static int64_t limit(const char *root, int64_t (*of)(const char *, const char *))
{
    char membership[300], tree[300];

    (void)snprintf(membership, sizeof membership, "%s/membership", scratch);
    (void)snprintf(tree, sizeof tree, "%s/%s", scratch, root);
    return of(membership, tree);
}

static int64_t quota(const char *root) { return limit(root, cs_cgroup_cpus); }
static int64_t memory(const char *root) { return limit(root, cs_cgroup_memory); }

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

static void memory_of_version_2(void **state)
{
    (void)state;
    put("membership", "0::/user/job\n");
    put("m2/user/job/memory.max", "max\n");
    put("m2/user/job/memory.current", "700\n");
    assert_true(memory("m2") == INT64_MAX);
    put("m2/user/job/memory.max", "1000\n");
    assert_int_equal(memory("m2"), 300);
    put("m2/user/job/memory.stat", "anon 600\ninactive_file_x 7\ninactive_file 50\nslab 1\n");
    assert_int_equal(memory("m2"), 350);
    put("m2/user/memory.max", "900\n");
    put("m2/user/memory.current", "800\n");            /* the ancestor is tighter */
    assert_int_equal(memory("m2"), 100);
    put("m2/user/memory.current", "901\n");
    assert_int_equal(memory("m2"), 0);
}

static void memory_of_version_1(void **state)
{
    (void)state;
    put("membership", "12:memory:/job\n4:cpu,cpuacct:/job\n");
    put("m1/memory/job/memory.limit_in_bytes", "5000000000\n");
    put("m1/memory/job/memory.usage_in_bytes", "2000000000\n");
    put("m1/memory/job/memory.stat", "inactive_file 5\ntotal_inactive_file 1000000000\n");
    assert_true(memory("m1") == INT64_C(4000000000));
    put("membership", "4:cpu,cpuacct:/job\n");
    assert_true(memory("m1") == INT64_MAX);
}

static void invalid_values_are_ignored(void **state)
{
    (void)state;
    assert_int_equal(cs_cgroup_cpus("/nonexistent", "/nonexistent"), 0);
    assert_true(cs_cgroup_memory("/nonexistent", "/nonexistent") == INT64_MAX);
    put("membership", "garbage\n\n0:\n:::\n0::/job");
    put("odd/job/cpu.max", "0 0\n");
    assert_int_equal(quota("odd"), 0);
    put("odd/job/cpu.max", "");
    assert_int_equal(quota("odd"), 0);
    put("odd/job/cpu.max", "100000\n");
    assert_int_equal(quota("odd"), 0);
    put("odd/job/memory.max", "1000\n");
    assert_true(memory("odd") == INT64_MAX);
    assert_string_equal(cs_error_message(), "");
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(version_2),
        cmocka_unit_test(version_1),
        cmocka_unit_test(memory_of_version_2),
        cmocka_unit_test(memory_of_version_1),
        cmocka_unit_test(invalid_values_are_ignored),
    };

    return cmocka_run_group_tests(test, set_up, tear_down);
}
