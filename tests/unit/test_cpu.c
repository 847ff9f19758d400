/* test_cpu.c - CHORDSEQ_DISABLE word by word, and the number of processors. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE              /* sched_setaffinity */
#endif
#include "tests/check.h"

#include <float.h>
#include <pthread.h>
#include <sched.h>

#include "base/cpu.h"

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
    assert_true(cs_cpu_has(CS_CPU_FUSED | CS_CPU_WGMMA));
    assert_int_equal(init_with("wgmma"), CS_OK);
    assert_false(cs_cpu_has(CS_CPU_WGMMA));
    assert_int_equal(cs_cpu_has(CS_CPU_AVX2), avx2);
    assert_int_equal(init_with("avx2,fused"), CS_OK);
    assert_false(cs_cpu_has(CS_CPU_AVX2));
    assert_false(cs_cpu_has(CS_CPU_FUSED));
    assert_false(cs_cpu_has(CS_CPU_AVX2 | CS_CPU_FUSED));
    assert_int_equal(init_with("avx512"), CS_OK);
    assert_false(cs_cpu_has(CS_CPU_AVX512));
    assert_int_equal(cs_cpu_has(CS_CPU_AVX2), avx2);
    assert_int_equal(init_with("avx2"), CS_OK);
    assert_false(cs_cpu_has(CS_CPU_AVX512));     /* which builds on it */
    assert_string_equal(cs_cpu_bits(false), cs_cpu_has(CS_CPU_NEON) ? "vector+fused" : "reference");
    assert_int_equal(init_with("neon,avx2"), CS_OK);
    assert_string_equal(cs_cpu_kernels(), "portable");
    assert_string_equal(cs_cpu_bits(false), "reference");
    assert_false(cs_cpu_has(CS_CPU_BF16));
    assert_int_equal(init_with("bf16"), CS_OK);
    assert_false(cs_cpu_has(CS_CPU_BF16) || cs_cpu_has(CS_CPU_AMX));
    assert_int_equal(init_with("amx"), CS_OK);
    assert_false(cs_cpu_has(CS_CPU_AMX));
    assert_string_equal(cs_cpu_bits(true),
                        cs_cpu_has(CS_CPU_NEON) ? "bfmmla+fused" : cs_cpu_bits(false));
    assert_int_equal(cs_cpu_has(CS_CPU_AVX2), avx2);
    assert_int_equal(init_with("fused"), CS_OK);
    assert_string_equal(cs_cpu_bits(false),
                        avx2 || cs_cpu_has(CS_CPU_NEON) ? "vector" : "reference");
    assert_int_equal(init_with(NULL), CS_OK);
    assert_int_equal(cs_cpu_has(CS_CPU_AVX2), avx2);
}

static void levels_go_from_reference_to_all(void **state)
{
    char name[64], small[4];
    int n = 0;

    (void)state;
    assert_int_equal(init_with(NULL), CS_OK);
    const int sets = cs_cpu_has(CS_CPU_AVX2) + cs_cpu_has(CS_CPU_AVX512) + cs_cpu_has(CS_CPU_NEON);
    const char *highest = cs_cpu_kernels();
    assert_true(cs_cpu_level(0, name, sizeof name));
    assert_string_equal(name, "reference");
    assert_false(cs_cpu_has(CS_CPU_AVX2) || cs_cpu_has(CS_CPU_FUSED));
    while (cs_cpu_level(n, name, sizeof name))
        n++;
    assert_int_equal(n, 1 + 2 * sets);
    assert_true(cs_cpu_has(CS_CPU_FUSED));       /* after the last one, all are back */
    if (cs_cpu_has(CS_CPU_AVX2)) {
        assert_true(cs_cpu_level(1, name, sizeof name));
        assert_string_equal(name, "avx2");
        assert_string_equal(cs_cpu_kernels(), "avx2");
        assert_false(cs_cpu_has(CS_CPU_FUSED));
        assert_true(cs_cpu_level(2, small, sizeof small));
        assert_string_equal(small, "avx");
        assert_false(cs_cpu_has(CS_CPU_AVX512));
        assert_false(cs_cpu_level(n, name, sizeof name));
    }
    assert_string_equal(cs_cpu_kernels(), highest);
    assert_int_equal(init_with("avx2,neon"), CS_OK);
    assert_true(cs_cpu_level(0, name, sizeof name));
    assert_false(cs_cpu_level(1, name, sizeof name));
    assert_int_equal(init_with(NULL), CS_OK);
}

static void unknown_word_is_refused(void **state)
{
    (void)state;
    assert_int_equal(init_with("avx2,avx1024"), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "'avx1024'"));
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

static float half_of_min_normal(void)
{
    volatile float min = FLT_MIN;

    return min * 0.5f;
}

static void *in_new_thread(void *arg)
{
    *(float *)arg = half_of_min_normal();
    return NULL;
}

/* In a thread of its own: out[0] in it, out[1] in a thread that it starts. */
static void *flush_subnormals(void *arg)
{
    float *out = arg;
    pthread_t t;

    cs_cpu_flush_subnormals();
    out[0] = half_of_min_normal();
    if (pthread_create(&t, NULL, in_new_thread, &out[1]) == 0)
        pthread_join(t, NULL);
    return NULL;
}

static void subnormals_become_zero(void **state)
{
    (void)state;
    float out[2] = { 1, 1 };
    pthread_t t;

#if !defined(__SSE2__) && !defined(__aarch64__)
    skip();
#endif
    assert_int_equal(pthread_create(&t, NULL, flush_subnormals, out), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
    assert_true(out[0] == 0 && out[1] == 0);
    assert_true(half_of_min_normal() > 0);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(words_hide_features),
        cmocka_unit_test(levels_go_from_reference_to_all),
        cmocka_unit_test(unknown_word_is_refused),
        cmocka_unit_test(count_respects_affinity),
        cmocka_unit_test(subnormals_become_zero),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
