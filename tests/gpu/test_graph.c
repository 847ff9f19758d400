/* test_graph.c - training steps as graphs: the same bits as op by op, and when graphs are used.
 *
 * DESIGN. Two models with the same parameters train on the same batches, one with graphs and one
 * without. After every step losses, predictions, gradients, parameters and their `touched` flags
 * must have the same bits. On the emulated GPU, launches are counted too.
 */
#include "tests/gpu/device.h"

#include "nn/heads/tree.h"
#include "tests/nn/toy.h"
#include "train/optim.h"

#ifdef CS_HOST_CUDA
extern int cs_host_fault, cs_host_lag;
extern long cs_host_fail, cs_host_kernel_launches, cs_host_graph_launches;
size_t cs_host_n_graphs(void);
#else
static long cs_host_graph_launches;
#endif

static cs_backend *cpu, *gpu;

/* Sessions on two models that must stay equal. */
struct pair { cs_session *with, *without; };

/* One training step. */
struct step {
    int     n_rec;
    int64_t len;                 /* per record */
    double  scale;
    int32_t keep;
    bool    weighted, frozen;
    int     n_graph;             /* graphs launched: 1 or 0 */
};

static struct pair new_pair(const toy *t)
{
    const struct pair p = { toy_session(t, gpu), toy_session(t, gpu) };

    p.without->cx.no_graph = true;
    cs_optim_zero_grad(&p.with->model->ps);
    cs_optim_zero_grad(&p.without->model->ps);
    return p;
}

static void free_pair(struct pair *p)
{
    toy_free(p->with);
    toy_free(p->without);
}

static struct pair simple_pair(void)
{
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                    .training = true };
    return new_pair(&t);
}

/* Records of about one length, so that sums differ between two batches of one shape. */
static cs_batch *batch_of(const cs_model *m, const struct step *s, uint64_t seed)
{
    enum { MAX_RECORDS = 8 };
    int64_t len[MAX_RECORDS];

    assert_in_range(s->n_rec, 1, MAX_RECORDS);
    for (int i = 0; i < s->n_rec; i++)
        len[i] = s->len;
    if (s->n_rec > 1 && seed % 2) {
        len[0]--;
        len[s->n_rec - 1]++;
    }
    return toy_batch(m, len, s->n_rec, seed);
}

static double train(cs_session *session, const struct step *s, uint64_t seed, float *out)
{
    static const float weight[] = { 0.5F, 1, 2, 1.5F, 1, 0.25F };
    double loss = NAN;
    cs_batch *b = batch_of(session->model, s, seed);
    const cs_step_opt how = { .weight = s->weighted ? weight : NULL, .scale = s->scale, .key = seed,
                           .keep = s->keep };

    session->freeze_encoder = s->frozen;
    if (cs_session_forward_backward(session, b, &how, &loss, out) != CS_OK)
        fail_msg("%s: %s", session->model->enc->name, cs_error_message());
    cs_batch_free(b);
    return loss;
}

static void check_slab(const struct pair *p, const cs_real *a, const cs_real *b, const char *what)
{
    cs_real *x = toy_slab(p->with->model, a), *y = toy_slab(p->without->model, b);

    if (memcmp(x, y, (size_t)p->with->model->ps.n_real * sizeof *x) != 0)
        fail_msg("%s, %s: %s differ", p->with->model->enc->name, p->with->model->head->name, what);
    free(x);
    free(y);
}

static void check_same(const struct pair *p)
{
    const cs_params *a = &p->with->model->ps, *b = &p->without->model->ps;

    check_slab(p, a->value, b->value, "parameters");
    check_slab(p, a->grad, b->grad, "gradients");
    for (int32_t i = 0; i < a->n; i++)
        if (a->p[i].touched != b->p[i].touched)
            fail_msg("%s: touched differently: %s", p->with->model->enc->name, a->p[i].name);
    assert_int_equal(p->with->cx.peak, p->without->cx.peak);
    assert_int_equal(p->with->cx.grad_peak, p->without->cx.grad_peak);
}

static void optimise(cs_model *m)
{
    const cs_adam h = { .lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .grad_scale = 1 };

    cs_optim_step(&m->ps, h, false);
    cs_optim_zero_grad(&m->ps);
}

/* Trains both by one step; every other step also predicts. */
static void check_step(const struct pair *p, const struct step *s, uint64_t seed)
{
    enum { MAX_OUTPUT = 8 * 32 * 3 };
    float a[MAX_OUTPUT] = { 0 }, b[MAX_OUTPUT] = { 0 };
    const long before = cs_host_graph_launches;
    const double want = train(p->without, s, seed, seed % 2 ? b : NULL);

    assert_int_equal(cs_host_graph_launches, before);
    const double got = train(p->with, s, seed, seed % 2 ? a : NULL);
#ifdef CS_HOST_CUDA
    if (cs_host_graph_launches - before != s->n_graph)
        fail_msg("%s, %s: %ld graphs launched in step %d, %d expected", p->with->model->enc->name,
                 p->with->model->head->name, cs_host_graph_launches - before, (int)seed,
                 s->n_graph);
#endif
    assert_memory_equal(&got, &want, sizeof want);
    assert_memory_equal(a, b, sizeof a);
    check_same(p);
    optimise(p->with->model);
    optimise(p->without->model);
}

static void check_steps(const struct pair *p, const struct step *s, int n)
{
    for (int i = 0; i < n; i++)
        check_step(p, &s[i], (uint64_t)i + 1);
}

/* ---- networks -------------------------------------------------------------------------------- */

static bool equals(const char *a, const char *b)
{
    return a && strcmp(a, b) == 0;
}

/* Other options select among ops that other networks cover. A real GPU runs all. */
static bool in_short(const toy *t)
{
#ifdef CS_HOST_CUDA
    return getenv("CS_LONG") || !t->name
        || (!t->flag && (equals(t->name, "dropout") || equals(t->name, "norm")));
#else
    (void)t;
    return true;
#endif
}

/* Dropout disables graphs; the composition path has it by default. Which blocks run again does not
 * depend on an encoder's options. */
static void check_network(const toy *t, void *arg)
{
    const bool dropout = equals(t->name, "dropout") || equals(t->head_name, "dropout")
                         || equals(t->head_name, "composition");
    const int n = dropout ? 0 : 1;
    const struct step s[] = {
        { 1, 5, 0.5, 0, true, false, 0 }, { 1, 5, 0.5, 0, true, false, n },
        { 1, 5, 0.5, 0, true, false, n }, { 1, 5, 0.5, 1, true, false, 0 },
        { 1, 5, 0.5, 1, true, false, n }, { 1, 5, 0.5, 1, true, false, n }
    };

    (void)arg;
    if (!in_short(t))
        return;
    struct pair p = new_pair(t);
    check_steps(&p, s, t->flag || t->name || t->head_name ? 3 : 6);
    free_pair(&p);
}

static void test_networks(void **state)
{
    (void)state;
    toy_each(check_network, NULL);
}

/* With fused kernels, also for an encoder in predictions only. */
static void test_bf16(void **state)
{
    (void)state;
    static const struct step s[] = {
        { 1, 3, 0.5, 1, true, false, 0 }, { 1, 3, 0.5, 1, true, false, 1 },
        { 1, 3, 0.5, 1, true, false, 1 }, { 1, 3, 0.5, 0, true, true, 0 },
        { 1, 3, 0.5, 0, true, true, 1 }, { 1, 3, 0.5, 0, true, true, 1 }
    };
    static const char *const encoder[] = { "chordmixer", "cdil" };
    cs_backend *usual = gpu;

    gpu = open_gpu(CS_IN_BF16);
    assert_non_null(gpu);
    gpu->precision = CS_IN_BF16;
    for (size_t i = 0; i < sizeof encoder / sizeof *encoder; i++) {
        const toy t = { .enc = cs_encoder_find(encoder[i]), .head = cs_head_find("class"),
                        .training = true, .wide = true };
        struct pair p = new_pair(&t);
        check_steps(&p, s, sizeof s / sizeof *s);
        free_pair(&p);
    }
    close_gpu(gpu);
    gpu = usual;
}

/* The loss's tables of the tree are uploaded before capture. */
static void test_tree(void **state)
{
    (void)state;
    static const int32_t parent[] = { -1, 0, 1, 1, 0 }, class_no[] = { -1, -1, 0, 1, 2 },
                         node[] = { 2, 3, 4 };
    static const cs_tree tree = { parent, class_no, node, 5, 3, NULL };
    static const struct step s[] = {
        { 2, 6, 0.5, 0, false, false, 0 }, { 2, 6, 0.5, 0, false, false, 1 },
        { 2, 6, 0.5, 0, false, false, 1 }
    };
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("tree"),
                    .training = true };
    struct pair p = new_pair(&t);

    assert_int_equal(p.with->model->head->set_taxonomy(p.with->model->head_net, &tree), CS_OK);
    assert_int_equal(p.without->model->head->set_taxonomy(p.without->model->head_net, &tree),
                     CS_OK);
    check_steps(&p, s, sizeof s / sizeof *s);
    free_pair(&p);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* A change of any op's arguments is another shape; captured graphs stay. */
static void test_shape_key(void **state)
{
    (void)state;
    static const struct step s[] = {
        { 2, 6, 0.5, 0, false, false, 0 }, { 2, 6, 0.5, 0, false, false, 1 },
        { 2, 6, 0.25, 0, false, false, 0 }, { 2, 6, 0.25, 0, false, false, 1 },
        { 2, 6, 0.5, 2, false, false, 0 }, { 2, 6, 0.5, 2, false, false, 1 },
        { 2, 6, 0.5, 0, true, false, 0 }, { 2, 6, 0.5, 0, true, false, 1 },
        { 2, 6, 0.5, 0, false, true, 0 }, { 2, 6, 0.5, 0, false, true, 1 },
        { 2, 6, 0.5, 0, false, false, 1 }, { 2, 6, 0.25, 0, false, false, 1 },
        { 2, 6, 0.5, 2, false, false, 1 }, { 2, 6, 0.5, 0, true, false, 1 },
        { 2, 6, 0.5, 0, false, true, 1 }
    };
    struct pair p = simple_pair();

    check_steps(&p, s, sizeof s / sizeof *s);
    free_pair(&p);
}

/* A longer batch allocates a larger arena: graphs of the old one are discarded. */
static void test_arena_grows(void **state)
{
    (void)state;
    static const struct step s[] = {
        { 2, 6, 0.5, 0, false, false, 0 }, { 2, 6, 0.5, 0, false, false, 1 },
        { 8, 31, 0.5, 0, false, false, 0 }, { 2, 6, 0.5, 0, false, false, 0 },
        { 2, 6, 0.5, 0, false, false, 1 }, { 8, 31, 0.5, 0, false, false, 1 }
    };
    struct pair p = simple_pair();

    check_steps(&p, s, sizeof s / sizeof *s);
    free_pair(&p);
}

/* As in a validation between two steps: predictions use the averaged parameters at another
 * address. */
static void test_average_swapped(void **state)
{
    (void)state;
    static const struct step first = { 2, 6, 0.5, 0, false, false, 0 },
                             again = { 2, 6, 0.5, 0, false, false, 1 };
    struct pair p = simple_pair();
    cs_batch *b = batch_of(p.with->model, &first, 3);

    cs_optim_average_start(&p.with->model->ps);
    cs_optim_average_start(&p.without->model->ps);
    for (uint64_t i = 0; i < 4; i++) {
        check_step(&p, i ? &again : &first, i);
        cs_optim_average_swap(&p.with->model->ps);
        cs_optim_average_swap(&p.without->model->ps);
        float *x = toy_outputs(p.with, b), *y = toy_outputs(p.without, b);
        assert_memory_equal(x, y, (size_t)cs_session_output_len(p.with, b) * sizeof *x);
        free(x);
        free(y);
        if (i == 2)              /* and a training pass is allowed there */
            check_step(&p, &first, i);
        cs_optim_average_swap(&p.with->model->ps);
        cs_optim_average_swap(&p.without->model->ps);
    }
    cs_batch_free(b);
    free_pair(&p);
}

static void count_watched(void *n, int32_t block, cs_mat y)
{
    (void)block;
    (void)y;
    ++*(int *)n;
}

/* Hooks are called in every pass, also of a shape with a graph. */
static void test_watched(void **state)
{
    (void)state;
    static const struct step s[] = {
        { 2, 6, 0.5, 0, false, false, 0 }, { 2, 6, 0.5, 0, false, false, 1 }
    };
    struct pair p = simple_pair();
    int n = 0;

    check_steps(&p, s, 2);
    p.with->cx.block_hook = count_watched;
    p.with->cx.block_hook_arg = &n;
    check_step(&p, &s[0], 5);
    assert_in_range(n, 1, 100);
    p.with->cx.block_hook = NULL;
    check_step(&p, &s[1], 6);
    free_pair(&p);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static void set_value(cs_real *p, cs_real v)
{
    gpu->op.upload(gpu, p, &v, sizeof v);
}

static cs_real get_value(const cs_real *p)
{
    cs_real v;
    gpu->op.download(gpu, &v, p, sizeof v);
    return v;
}

/* Capture computes nothing; launch() computes with the memory's contents at that time. */
static void test_ops(void **state)
{
    (void)state;
    cs_real *p = gpu->op.alloc(gpu, 2 * sizeof *p);
    const cs_mat a = { p, 1, 1, 1 }, b = { p + 1, 1, 1, 1 };

    set_value(p, 3);
    set_value(p + 1, 1);
    assert_true(gpu->graphs.begin(gpu));
    gpu->op.axpby(gpu, 2, a, 1, b);
    cs_graph *g = gpu->graphs.end(gpu);
    assert_non_null(g);
    assert_true(get_value(p + 1) == 1);
    gpu->graphs.launch(gpu, g);
    assert_true(get_value(p + 1) == 7);
    set_value(p, -3);
    gpu->graphs.launch(gpu, g);
    gpu->graphs.launch(gpu, g);
    assert_true(get_value(p + 1) == -5);
    gpu->graphs.dealloc(gpu, g);
    gpu->op.dealloc(gpu, p);
}

enum { UPLOAD, DOWNLOAD, SYNC, N_CALL };

/* An op that reads or waits for the host cannot be captured; the device works on afterwards. */
static void test_capture_rejected(void **state)
{
    (void)state;
    cs_real *p = gpu->op.alloc(gpu, sizeof *p), v;

    for (int call = 0; call < N_CALL; call++) {
        set_value(p, 3);
        v = 4;
        assert_true(gpu->graphs.begin(gpu));
        if (call == UPLOAD)
            gpu->op.upload(gpu, p, &v, sizeof v);
        else if (call == DOWNLOAD)
            gpu->op.download(gpu, &v, p, sizeof v);
        else
            assert_int_equal(gpu->op.sync(gpu), CS_OK);
        assert_null(gpu->graphs.end(gpu));
        assert_true(call == DOWNLOAD ? isnan(v) : v == 4);
        assert_true(get_value(p) == 3);
        assert_int_equal(gpu->op.sync(gpu), CS_OK);
    }
    gpu->op.dealloc(gpu, p);
}

/* With CHORDSEQ_SYNC=1 graphs gain nothing and are not used. */
static void test_sync(void **state)
{
    (void)state;
    assert_int_equal(setenv("CHORDSEQ_SYNC", "1", 1), 0);
    cs_backend *be = open_gpu(CS_IN_FP32);
    assert_int_equal(unsetenv("CHORDSEQ_SYNC"), 0);
    assert_non_null(be);
    assert_null(be->graphs.begin);
    close_gpu(be);
}

/* ---- on the emulated GPU --------------------------------------------------------------------- */

#ifdef CS_HOST_CUDA
static const struct step same = { 2, 6, 0.5, 0, false, false, 0 };

/* The third step of a shape is a single launch, up to a size. */
static void test_launches(void **state)
{
    (void)state;
    struct pair p = simple_pair();

    for (uint64_t i = 0; i < 3; i++) {
        const long before = cs_host_kernel_launches, graphs = cs_host_graph_launches;
        (void)train(p.with, &same, i, NULL);
        assert_true(i == 0 ? cs_host_kernel_launches > before + 20
                           : cs_host_kernel_launches == before);
        assert_int_equal(cs_host_graph_launches, graphs + (i > 0));
    }
    free_pair(&p);
}

/* More shapes than graph.c stores, repeatedly: those that recur soon are launched. */
static void test_eviction(void **state)
{
    (void)state;
    enum { N_SHAPE = 16, N_LEN = 20 };     /* capacity of nn/exec/graph.c */
    const size_t n_before = cs_host_n_graphs();
    struct pair p = simple_pair();
    struct step s = { 1, 1, 0.5, 0, false, false, 0 };

    s.n_rec = 8;                 /* the largest first: no arena grows later */
    s.len = N_LEN + 1;
    check_step(&p, &s, 0);
    s.n_rec = 1;
    for (uint64_t round = 0; round < 3; round++)
        for (s.len = 1; s.len <= N_LEN; s.len++)
            check_step(&p, &s, 2 * round);       /* each is evicted before it recurs */
    assert_int_equal(cs_host_n_graphs(), n_before);
    for (uint64_t round = 0; round < 3; round++)
        for (s.len = 1; s.len <= N_SHAPE; s.len++) {
            s.n_graph = round > 0;
            check_step(&p, &s, 2 * round);
        }
    assert_int_equal(cs_host_n_graphs(), n_before + N_SHAPE);
    s.len = N_LEN;
    for (s.n_graph = 0; s.n_graph < 2; s.n_graph++)
        check_step(&p, &s, 2);
    assert_int_equal(cs_host_n_graphs(), n_before + N_SHAPE);
    free_pair(&p);
    assert_int_equal(cs_host_n_graphs(), n_before);
}

/* If capture does not begin, memory for the graph is missing, or a launch fails during capture, the
 * step is computed without a graph. */
static void test_capture_failure(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        const size_t n_before = cs_host_n_graphs();
        struct pair p = simple_pair();
        check_step(&p, &same, 1);
        for (uint64_t i = 2; i < 5; i++) {
            const double want = train(p.without, &same, i, NULL);
            cs_host_fail = way < 2 && i == 2 ? way + 1 : 0;
            cs_host_fault = way == 2 && i == 2 ? 999 : 0;
            const double got = train(p.with, &same, i, NULL);
            assert_int_equal(cs_host_fail, 0);
            assert_int_equal(cs_host_fault, 0);
            assert_memory_equal(&got, &want, sizeof got);
            check_same(&p);
        }
        assert_int_equal(cs_host_n_graphs(), n_before);
        free_pair(&p);
    }
}

/* A graph that cannot be launched, or whose kernels fail, is reported like an op. */
static void test_device_error(void **state)
{
    (void)state;
    cs_backend *usual = gpu;
    const cs_step_opt how = { .scale = 0.5, .key = 1 };
    double loss;

    gpu = open_gpu(CS_IN_FP32);  /* broken afterwards */
    assert_non_null(gpu);
    struct pair p = simple_pair();
    check_step(&p, &same, 0);
    (void)train(p.with, &same, 2, NULL);
    cs_batch *b = batch_of(p.with->model, &same, 2);
    cs_host_fault = 999;
    assert_int_equal(cs_session_forward_backward(p.with, b, &how, &loss, NULL), CS_EDEVICE);
    assert_non_null(strstr(cs_error_message(), "unknown error, in or before 'graph'"));
    assert_non_null(strstr(cs_error_message(), "; the batch had 2 sequences of 12 tokens"));
    cs_error_clear();
    cs_host_fault = 0;
    cs_batch_free(b);
    free_pair(&p);
    close_gpu(gpu);
    gpu = usual;
}

/* For any lag of the stream. */
static void test_orders(void **state)
{
    (void)state;
    static const int lag[] = { -1, -2, -3, 1, 2 };

    for (size_t i = 0; i < sizeof lag / sizeof *lag; i++) {
        cs_host_lag = lag[i];
        test_average_swapped(state);
    }
    cs_host_lag = 0;
}
#endif

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_networks), cmocka_unit_test(test_bf16), cmocka_unit_test(test_tree),
        cmocka_unit_test(test_shape_key), cmocka_unit_test(test_arena_grows),
        cmocka_unit_test(test_average_swapped), cmocka_unit_test(test_watched),
        cmocka_unit_test(test_ops), cmocka_unit_test(test_capture_rejected),
        cmocka_unit_test(test_sync),
#ifdef CS_HOST_CUDA
        cmocka_unit_test(test_launches), cmocka_unit_test(test_eviction),
        cmocka_unit_test(test_capture_failure), cmocka_unit_test(test_device_error),
        cmocka_unit_test(test_orders),
#endif
    };
    const int rc = open_both(CS_IN_FP32, &cpu, &gpu);
    if (rc != 0)
        return rc;
    const int n_failed = cmocka_run_group_tests_name("graph", test, NULL, NULL);
    close_gpu(gpu);
    cs_backend_close(cpu);
    return n_failed;
}
