/* test_train.c - the optimiser against its definition; runs: training, resuming, ending. */
#include "tests/nn/toy.h"

#include "base/file.h"
#include "train/loop.h"
#include "train/optim.h"
#include "train/peak_flops.h"
#include "train/sampler.h"

enum { N = 60, LEN = 24 };

static const char model_path[] = "test_train.model", ckpt_path[] = "test_train.ckpt",
                  metrics_path[] = "test_train.tsv";

/* ---- the optimiser --------------------------------------------------------------------------- */

/* torch.optim.AdamW's update of one element, in double. */
static double adamw(double p, const double *g, int n, const cs_adam *h)
{
    double m = 0, v = 0;

    for (int t = 1; t <= n; t++) {
        p *= 1 - h->lr * h->decay;
        m = h->beta1 * m + (1 - h->beta1) * g[t - 1];
        v = h->beta2 * v + (1 - h->beta2) * g[t - 1] * g[t - 1];
        p -= h->lr * (m / (1 - pow(h->beta1, t))) / (sqrt(v / (1 - pow(h->beta2, t))) + h->eps);
    }
    return p;
}

static void step(cs_params *ps, const cs_adam *h, int i, double g, bool keeps)
{
    cs_optim_zero_grad(ps);
    if (i >= 0) {
        ps->grad[ps->p[i].off] = (cs_real)g;
        ps->p[i].touched = true;
    }
    cs_optim_step(ps, *h, keeps);
}

/* Three tensors: one with gradients always, one after the first step only, one never. */
static void run_steps(bool keeps, double out[3], int64_t n_step[3])
{
    const cs_adam h = { .lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .decay = 0.1,
                        .grad_scale = 1, .decoupled = true };
    cs_backend *be;
    cs_params ps;

    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    cs_params_init(&ps);
    for (int i = 0; i < 3; i++)
        cs_declare(&ps, cs_shape1(3), CS_INIT_ONE, 1, "t%d", i);
    assert_int_equal(cs_params_alloc(&ps, be, true), CS_OK);
    assert_int_equal(cs_params_fill(&ps, 1), CS_OK);
    ps.p[1].touched = true;
    ps.grad[ps.p[1].off] = 2;
    cs_optim_step(&ps, h, keeps);
    for (int t = 0; t < 3; t++)
        step(&ps, &h, 0, 1 + t, keeps);
    for (int i = 0; i < 3; i++) {
        out[i] = (double)ps.value[ps.p[i].off];
        n_step[i] = ps.p[i].step;
    }
    cs_params_release(&ps);
    cs_backend_close(be);
}

static void test_adamw(void **state)
{
    const cs_adam h = { .lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .decay = 0.1 };
    const double always[] = { 1, 2, 3 }, once[] = { 2, 0, 0, 0 };
    const double tol = sizeof(cs_real) == sizeof(double) ? 1e-12 : 1e-6;
    double out[3];
    int64_t n_step[3];

    (void)state;
    run_steps(false, out, n_step);
    check_near(out[0], adamw(1, always, 3, &h), tol);
    check_near(out[1], adamw(1, once, 1, &h), tol);
    check_near(out[2], 1, 0);
    assert_true(n_step[0] == 3 && n_step[1] == 1 && n_step[2] == 0);
    run_steps(true, out, n_step);
    check_near(out[0], adamw(1, always, 3, &h), tol);
    check_near(out[1], adamw(1, once, 4, &h), tol);
    check_near(out[2], 1, 0);
    assert_true(n_step[0] == 3 && n_step[1] == 4 && n_step[2] == 0);
}

static void test_norm_and_average(void **state)
{
    cs_backend *be;
    cs_params ps;
    cs_real work;
    double norm;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    cs_params_init(&ps);
    cs_declare(&ps, cs_shape1(5), CS_INIT_ONE, 1, "a");
    assert_int_equal(cs_params_alloc(&ps, be, true), CS_OK);
    assert_int_equal(cs_params_fill(&ps, 1), CS_OK);
    ps.grad[0] = 3;
    ps.grad[4] = -4;
    assert_int_equal(cs_optim_grad_norm(&ps, &work, &norm), CS_OK);
    check_near(norm, 5, 1e-6);
    cs_optim_average_start(&ps);
    ps.p[0].step = 1;            /* tensors that were never stepped are not averaged */
    ps.value[1] = 3;
    ps.p[0].step = 1;            /* never updated: keeps its value */
    cs_optim_average(&ps, 0.75);
    cs_optim_average_swap(&ps);
    check_near((double)ps.value[1], 1.5, 1e-6);
    check_near((double)ps.ema[1], 3, 0);
    cs_params_release(&ps);
    cs_backend_close(be);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Two classes that differ in their bases' composition; a third of the records for validation. */
static void make_data(cs_dataset *d)
{
    char name[16], base[2 * LEN];

    cs_dataset_init(d, true, 1, 0);
    for (int i = 0; i < N; i++) {
        const float target = (float)(i % 2);
        const int64_t n = LEN / 2 + (int64_t)cs_rng_below(1, (uint64_t)i, LEN);
        (void)snprintf(name, sizeof name, "r%d", i);
        for (int64_t j = 0; j < n; j++) {
            const uint64_t r = cs_rng_below((uint64_t)i + 9, (uint64_t)j, 8);
            base[j] = (i % 2 ? "AAATTACG" : "GGGCCATC")[r];
        }
        const cs_record r = { .name = name, .n_seg = 1, .seg = { { base, NULL, n } } };
        assert_int_equal(cs_dataset_add(d, &r, &target, NULL), CS_OK);
        d->ex[d->n - 1].part = i % 3 == 0 ? CS_PART_VALID : CS_PART_TRAIN;
    }
}

struct bench {
    cs_dataset   data;
    cs_sampler  *train, *valid;
    cs_backend  *be;
    cs_model    *m;
    cs_feed      feed;
    cs_loop_opt o;
    cs_train_state st;
};

static void open_with(struct bench *b, const char *dropout)
{
    const cs_sampler_opt all = { .length_power = 1 };
    const cs_sampler_opt draw = { .crop_min = 8, .crop_max = LEN, .n_sample = 40, .balance = 1,
                                  .length_power = 1, .reverse = true, .seed = 3 };
    const toy t = { .enc = cs_encoder_at(0), .head = cs_head_find("class"), .training = true,
                    .max_len = "64", .name = "dropout", .value = dropout };

    *b = (struct bench){ 0 };
    make_data(&b->data);
    assert_int_equal(cs_sampler_new(&b->data, CS_PART_TRAIN, &draw, &b->train), CS_OK);
    assert_int_equal(cs_sampler_new(&b->data, CS_PART_VALID, &all, &b->valid), CS_OK);
    assert_int_equal(cs_backend_open("cpu", 2, &b->be), CS_OK);
    b->m = toy_model(&t, b->be);
    assert_non_null(b->m->tok);
    b->feed = (cs_feed){ .train = b->train, .valid = b->valid,
                         .rules = { .tok = b->m->tok, .tok_state = b->m->tok_state,
                                    .batch_tokens = 100, .accumulate = 2 } };
    b->o = (cs_loop_opt){
        .adam = { .lr = 0.02, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .decay = 0.01,
                  .decoupled = true },
        .schedule = { .kind = CS_DECAY_COSINE, .cycles = 0.5 }, .warmup = 0.1, .clip = 1,
        .ema = 0.9, .tolerance = 0.1, .n_epoch = 6, .seed = 3, .model_path = model_path,
        .checkpoint_path = ckpt_path, .metrics_path = metrics_path, .recipe = "same\n",
    };
    cs_train_state_init(&b->st);
}

static void open_bench(struct bench *b)
{
    open_with(b, "0.1");
}

static void close_bench(struct bench *b)
{
    cs_train_state_release(&b->st);
    cs_model_free(b->m);
    cs_backend_close(b->be);
    cs_sampler_free(b->train);
    cs_sampler_free(b->valid);
    cs_dataset_release(&b->data);
    cs_error_clear();
}

/* Train as the bench is set up; returns the parameters. */
static cs_real *run(struct bench *b)
{
    assert_int_equal(cs_train_run(b->m, &b->feed, &b->o, &b->st), CS_OK);
    return toy_slab(b->m, b->m->ps.value);
}

static void test_training(void **state)
{
    struct bench b;
    cs_model *best;

    (void)state;
    open_bench(&b);
    b.o.n_epoch = 12;
    free(run(&b));
    assert_true(b.st.done && b.st.epoch == 12 && b.st.best_epoch > 0);
    assert_true(b.st.best_balanced > 0.9);
    assert_int_equal(cs_model_load(model_path, b.be, CS_USE_INFERENCE, &best), CS_OK);
    cs_model_free(best);
    close_bench(&b);
}

/* ---- predictions per token ------------------------------------------------------------------- */

/* Stretches of A and T among others: classes 1 and 0; every record ends with unknown tokens. */
static void make_spans(cs_dataset *d)
{
    char name[16], base[LEN];

    cs_dataset_init(d, false, CS_TARGET_TOKENS, 0);
    d->background = 2;
    for (int i = 0; i < N; i++) {
        const int64_t from = 1 + (int64_t)cs_rng_below(1, (uint64_t)i, LEN / 2);
        const cs_span span[] = { { 0, from, 0 }, { from, from + 5, 1 }, { LEN - 3, LEN, -1 } };
        (void)snprintf(name, sizeof name, "r%d", i);
        for (int64_t j = 0; j < LEN; j++) {
            const uint64_t r = cs_rng_below((uint64_t)i + 9, (uint64_t)j, 2);
            base[j] = (j < from ? "AT" : j < from + 5 ? "CC" : "GG")[r];
        }
        const cs_record r = { .name = name, .n_seg = 1, .seg = { { base, NULL, LEN } } };
        assert_int_equal(cs_dataset_add_spans(d, &r, span, 3, NULL), CS_OK);
        d->ex[d->n - 1].part = i % 3 == 0 ? CS_PART_VALID : CS_PART_TRAIN;
    }
}

/* Records without labels, in the training part. */
static void add_unknown(cs_dataset *d, int n)
{
    static const cs_span span[] = { { 0, 4, -1 }, { 4, LEN, -1 } };
    char base[LEN];

    memset(base, 'A', sizeof base);
    const cs_record r = { .name = "u", .n_seg = 1, .seg = { { base, NULL, LEN } } };
    for (int i = 0; i < n; i++)
        assert_int_equal(cs_dataset_add_spans(d, &r, span, 2, NULL), CS_OK);
}

static void open_tokens(struct bench *b, int n_unknown)
{
    const cs_sampler_opt all = { .length_power = 1 };
    const toy t = { .enc = cs_encoder_at(0), .head = cs_head_find("token"), .training = true,
                    .max_len = "64" };

    open_bench(b);
    cs_model_free(b->m);
    cs_sampler_free(b->train);
    cs_sampler_free(b->valid);
    cs_dataset_release(&b->data);
    make_spans(&b->data);
    add_unknown(&b->data, n_unknown);
    b->m = toy_model(&t, b->be);
    b->feed.rules.tok_state = b->m->tok_state;
    assert_int_equal(cs_sampler_new(&b->data, CS_PART_TRAIN, &all, &b->train), CS_OK);
    assert_int_equal(cs_sampler_new(&b->data, CS_PART_VALID, &all, &b->valid), CS_OK);
    b->feed.train = b->train;
    b->feed.valid = b->valid;
}

static void test_training_tokens(void **state)
{
    struct bench b;
    int64_t n[3];

    (void)state;
    open_tokens(&b, 0);
    cs_dataset_count_bases(&b.data, CS_PART_VALID, 3, n);
    assert_int_equal(n[1], N / 3 * 5);
    assert_int_equal(n[0] + n[1] + n[2], N / 3 * (LEN - 3));
    b.o.n_epoch = 12;
    free(run(&b));
    assert_true(b.st.best_balanced > 0.95);
    close_bench(&b);
}

/* A step's gradient is the mean over its records: those without a known token do not lower it. */
static void test_unknown_records(void **state)
{
    struct bench b;
    cs_real *grad[2];
    int64_t n = 0;

    (void)state;
    for (int k = 0; k < 2; k++) {
        open_tokens(&b, k * N);
        b.feed.rules.step_records = 3 * N;
        b.o.max_steps = 1;
        free(run(&b));
        grad[k] = toy_slab(b.m, b.m->ps.grad);
        n = b.m->ps.n_real;
        close_bench(&b);
    }
    assert_true(toy_nmse(grad[1], grad[0], n) < 1e-8);
    free(grad[0]);
    free(grad[1]);
}

/* A step of such a record only has weight 0, by which no loss is divided. */
static void test_empty_step(void **state)
{
    struct bench b;

    (void)state;
    open_tokens(&b, 1);
    b.feed.rules.step_records = 1;
    b.o.n_epoch = 1;
    free(run(&b));
    assert_int_equal(b.st.step, N - N / 3 + 1);
    assert_null(strstr(b.st.log, "NA"));
    close_bench(&b);
}

/* The rows of the metrics table without the columns that tell times. */
static char *rows_without_times(void)
{
    char *text, *at, *out;
    size_t n;

    assert_int_equal(cs_file_read(metrics_path, 1 << 20, &text, &n), CS_OK);
    out = at = calloc(1, n + 1);
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        for (int tabs = 0; *line != '\0' && (tabs += *line == '\t') < 9; line++)
            *at++ = *line;
        *at++ = '\n';
    }
    free(text);
    return out;
}

/* Interrupted at any step and resumed: the same parameters and table, bit for bit. */
static void test_resume(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b);
    cs_real *want = run(&b);
    char *rows = rows_without_times();
    const size_t n_bytes = (size_t)b.m->ps.n_real * sizeof *want;
    const int64_t n_step = b.st.step;
    close_bench(&b);
    assert_true(n_step > 20);
    for (int64_t at = 1; at < n_step; at += 4) {
        open_bench(&b);
        b.o.stop_after = at;
        free(run(&b));
        assert_true(b.st.step == at && !b.st.done);
        close_bench(&b);
        open_bench(&b);
        b.o.resume = true;
        cs_real *got = run(&b);
        assert_memory_equal(got, want, n_bytes);
        assert_int_equal(b.st.step, n_step);
        free(got);
        close_bench(&b);
        char *again = rows_without_times();
        assert_string_equal(again, rows);
        free(again);
    }
    free(rows);
    free(want);
}

/* An interruption within an epoch keeps the operations that its speed is computed from. */
static void test_operations(void **state)
{
    double flop[2];
    struct bench b;

    (void)state;
    for (int k = 0; k < 2; k++) {
        open_bench(&b);
        b.o.stop_after = k == 0 ? 4 : 2;
        free(run(&b));
        b.o.resume = true;
        b.o.stop_after = 2;
        if (k == 1)
            free(run(&b));
        assert_true(b.st.step == 4 && b.st.epoch_step == 4);
        flop[k] = b.st.epoch_flop;
        close_bench(&b);
    }
    assert_true(flop[0] > 0 && flop[0] == flop[1]);
}

/* The number of threads, and recomputing blocks, change nothing. */
static void test_threads(void **state)
{
    struct bench b;
    cs_real *first = NULL;
    size_t n_bytes = 0;

    (void)state;
    for (int k = 0; k < 3; k++) {
        open_bench(&b);
        b.be->n_thread = k == 1 ? 1 : 2;
        b.o.keep = k == 2 ? CS_CHECKPOINT_INPUTS : CS_KEEP_ALL;
        cs_real *got = run(&b);
        n_bytes = (size_t)b.m->ps.n_real * sizeof *got;
        if (first != NULL) {
            assert_memory_equal(got, first, n_bytes);
            free(got);
        } else {
            first = got;
        }
        close_bench(&b);
    }
    free(first);
}

/* Batches of a step add up to the step: cut finely or coarsely, the loss and its gradient agree. */
static void test_accumulation(void **state)
{
    struct bench b;
    double loss[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        open_with(&b, "0");
        b.feed.rules.step_records = 20;
        b.feed.rules.batch_tokens = k == 0 ? 30 : 100000;
        b.o.max_steps = 6;
        b.o.ema = 0;
        free(run(&b));
        assert_int_equal(b.st.step, 6);
        loss[k] = b.st.best_loss;
        close_bench(&b);
    }
    check_near(loss[0], loss[1], 1e-4 * loss[1]);
}

/* Below the model that it starts from and without progress, also over an interruption. */
static void test_no_progress(void **state)
{
    struct bench b;

    (void)state;
    for (int k = 0; k < 2; k++) {
        open_bench(&b);
        b.o.n_epoch = 50;
        b.o.patience = 3;
        b.o.adam.lr = b.o.ema = 0;
        b.st.best = 2;
        if (k == 1) {
            b.o.stop_after = 13;
            free(run(&b));
            assert_true(!b.st.done && b.st.epoch > 1);
            b.o.stop_after = 0;
            b.o.resume = true;
        }
        free(run(&b));
        assert_true(b.st.done && b.st.best_epoch == 0);
        assert_int_equal(b.st.epoch, 4);
        assert_int_equal(b.st.n_bad, 3);
        close_bench(&b);
    }
}

static void test_ends(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b);
    b.o.max_steps = 7;
    free(run(&b));
    assert_true(b.st.done && b.st.step == 7);
    b.o.resume = true;
    free(run(&b));               /* nothing is left to do */
    assert_int_equal(b.st.step, 7);
    close_bench(&b);

    open_bench(&b);
    b.o.n_epoch = 50;
    b.o.patience = 1;
    b.o.monitor = CS_MONITOR_BALANCED;
    free(run(&b));
    assert_true(b.st.done && b.st.epoch < 50 && b.st.n_bad == 1);
    close_bench(&b);

    open_bench(&b);
    b.o.n_epoch = 2;
    free(run(&b));
    const double reached = b.st.best_loss, balanced = b.st.best_balanced;
    close_bench(&b);

    for (int k = 0; k < 2; k++) {
        open_bench(&b);
        b.o.n_epoch = 50;
        b.o.monitor = k == 0 ? CS_MONITOR_LOSS : CS_MONITOR_BALANCED;
        b.o.stop_at = k == 0 ? reached : balanced;
        free(run(&b));
        assert_true(b.st.done && b.st.epoch < 50);
        assert_true(k == 0 ? b.st.best_loss <= reached : b.st.best_balanced >= balanced);
        assert_int_equal(b.st.epoch, b.st.best_epoch);
        close_bench(&b);
    }

    open_bench(&b);
    b.o.max_seconds = 1e-6;
    free(run(&b));
    assert_true(!b.st.done && b.st.step == 1);
    close_bench(&b);
}

static void test_no_validation(void **state)
{
    struct bench b;

    (void)state;
    (void)remove(model_path);
    open_bench(&b);
    b.feed.valid = NULL;
    b.o.n_epoch = 2;
    free(run(&b));
    assert_true(b.st.done && b.st.best_epoch == 2);
    assert_true(cs_file_size(model_path) > 0);
    close_bench(&b);
}

static void test_failures(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b);
    b.o.checkpoint_path = "no/such/folder/x";
    assert_int_equal(cs_train_run(b.m, &b.feed, &b.o, &b.st), CS_EIO);
    close_bench(&b);

    open_bench(&b);
    b.o.checkpoint_path = NULL;
    b.o.steps_path = "/dev/full";
    b.o.stop_after = 2;
    assert_int_equal(cs_train_run(b.m, &b.feed, &b.o, &b.st), CS_EIO);
    close_bench(&b);

    open_bench(&b);
    b.o.adam.lr = 1e30;
    b.o.clip = 0;
    b.o.warmup = 0;
    assert_int_equal(cs_train_run(b.m, &b.feed, &b.o, &b.st), CS_EMODEL);
    assert_non_null(strstr(cs_error_message(), "diverged"));
    close_bench(&b);
}

/* The peak is of the threads, even if there are fewer processors, or busy ones. */
static void test_peak(void **state)
{
    cs_backend *one, *many;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &one), CS_OK);
    assert_int_equal(cs_backend_open("cpu", 64, &many), CS_OK);
    const double flops = cs_peak_flops(one);
    assert_true(flops > 0);
    assert_true(cs_peak_flops(many) > 10 * flops);
    cs_backend_close(one);
    cs_backend_close(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peak),
        cmocka_unit_test(test_adamw), cmocka_unit_test(test_norm_and_average),
        cmocka_unit_test(test_training), cmocka_unit_test(test_training_tokens),
        cmocka_unit_test(test_unknown_records), cmocka_unit_test(test_empty_step),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_ends), cmocka_unit_test(test_no_progress),
        cmocka_unit_test(test_no_validation),
        cmocka_unit_test(test_failures),
    };

    if (cs_cpu_init() != CS_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)remove(model_path);
    (void)remove(ckpt_path);
    (void)remove(metrics_path);
    return failed;
}
