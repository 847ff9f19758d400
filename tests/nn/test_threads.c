/* test_threads.c - threads that parts of a run start, and that they leave to others. */
#include "toy.h"

#include <dirent.h>

#include "base/signals.h"
#include "infer/stream.h"
#include "train/baseline.h"
#include "train/sampler.h"

enum { N_RECORD = 3, N_BASE = 50000, N_THREAD = 3 };

/* ---- a stream -------------------------------------------------------------------------------- */

struct source { char *base; int n; };

static int next_record(void *source, cs_chunk *c)
{
    struct source *s = source;
    cs_record *r = s->n > 0 ? cs_chunk_append(c) : NULL;

    if (!r)
        return CS_EOF;
    s->n--;
    r->name = "r";
    r->seg[0] = (cs_segment){ s->base, NULL, N_BASE };
    c->n_base += N_BASE;
    return CS_OK;
}

static int take_record(void *arg, const cs_record *r, const cs_prediction *a)
{
    (void)arg;
    (void)r;
    assert_int_equal(a->reason, CS_REASON_NONE);
    return CS_OK;
}

/* Training and the next evaluation use the same backend with all of its threads. */
static void test_stream_leaves_threads(void **state)
{
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                    .max_len = "65536" };
    const cs_policy_args usual = { .max_unknown = 1 };
    cs_policy policy;
    cs_stream_stat stat;
    cs_backend *be;
    struct source source = { malloc(N_BASE), N_RECORD };

    (void)state;
    assert_non_null(source.base);
    for (int64_t i = 0; i < N_BASE; i++)
        source.base[i] = "ACGT"[cs_rng_below(1, (uint64_t)i, 4)];
    assert_int_equal(cs_backend_open("cpu", N_THREAD, &be), CS_OK);
    cs_model *m = toy_model(&t, be);
    assert_int_equal(cs_policy_init(&policy, &usual, NULL, m), CS_OK);
    const cs_stream s = { .next = next_record, .source = &source, .model = m, .policy = &policy,
                          .batch_tokens = 1000, .window = 8, .n_thread = N_THREAD - 1,
                          .sink = take_record };
    assert_int_equal(cs_stream_run(&s, &stat), CS_OK);
    assert_int_equal(stat.n_record, N_RECORD);
    assert_int_equal(be->n_thread, N_THREAD);
    cs_model_free(m);
    cs_backend_close(be);
    free(source.base);
}

/* ---- the baseline ---------------------------------------------------------------------------- */

static int count_threads(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");

    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    if (d)
        (void)closedir(d);
    return n;
}

static void make_data(cs_dataset *d)
{
    char base[64];

    cs_dataset_init(d, true, 1, 0);
    for (int i = 0; i < 60; i++) {
        const float target = (float)(i % 2);
        for (size_t k = 0; k < sizeof base; k++)
            base[k] = (i % 2 ? "AATC" : "GGCT")[cs_rng_below((uint64_t)i, k, 4)];
        const cs_record r = { .name = "r", .n_seg = 1, .seg = { { base, NULL, sizeof base } } };
        assert_int_equal(cs_dataset_add(d, &r, &target, NULL), CS_OK);
        d->ex[i].part = i % 3 == 0 ? CS_PART_VALID : CS_PART_TRAIN;
    }
}

/* Threads of a parallel loop stay, so they can be counted afterwards. */
static void test_baseline_keeps_to_threads(void **state)
{
    const cs_sampler_opt all = { .length_power = 1 };
    cs_dataset d;
    cs_sampler *train, *valid;
    cs_baseline one, several;

    (void)state;
    make_data(&d);
    assert_int_equal(cs_sampler_new(&d, CS_PART_TRAIN, &all, &train), CS_OK);
    assert_int_equal(cs_sampler_new(&d, CS_PART_VALID, &all, &valid), CS_OK);
    const int before = count_threads();
    assert_int_equal(cs_baseline_fit(train, valid, NULL, 1, 1, &one), CS_OK);
    assert_int_equal(cs_baseline_log_strand(train, valid, 1, 1), CS_OK);
    assert_int_equal(count_threads(), before);
    assert_int_equal(cs_baseline_fit(train, valid, NULL, 1, 3, &several), CS_OK);
    assert_memory_equal(&one, &several, sizeof one);
    cs_sampler_free(train);
    cs_sampler_free(valid);
    cs_dataset_release(&d);
}

/* The last test: the signal stays. */
static void test_signal_ends_baseline(void **state)
{
    const cs_sampler_opt all = { .length_power = 1 };
    cs_dataset d;
    cs_sampler *train, *valid;
    cs_baseline b;

    (void)state;
    make_data(&d);
    assert_int_equal(cs_sampler_new(&d, CS_PART_TRAIN, &all, &train), CS_OK);
    assert_int_equal(cs_sampler_new(&d, CS_PART_VALID, &all, &valid), CS_OK);
    cs_signal_init();
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(cs_baseline_fit(train, valid, NULL, 1, 2, &b), CS_ECANCEL);
    assert_int_equal(cs_baseline_log_strand(train, valid, 1, 2), CS_ECANCEL);
    cs_sampler_free(train);
    cs_sampler_free(valid);
    cs_dataset_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_baseline_keeps_to_threads),    /* before others start threads */
        cmocka_unit_test(test_stream_leaves_threads),
        cmocka_unit_test(test_signal_ends_baseline),
    };

    if (cs_cpu_init() != CS_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
