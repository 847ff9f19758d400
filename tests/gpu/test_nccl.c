/* test_nccl.c - gradients of several GPUs, summed by NCCL, equal those of one; failures do not
 * hang.
 *
 * DESIGN. Ranks are processes. test_nccl_host has kernels compiled for the CPU and the NCCL of
 * tests/gpu/host, and runs everywhere; test_nccl needs a machine with two GPUs or more.
 */
#include "tests/nn/toy.h"

#include "train/parallel.h"

#ifdef CS_HOST_CUDA
extern int cs_host_devices, cs_host_unified;
#endif

enum { N_BATCH = 4, MAX_RANKS = 3 };

/* Trains on batches first, first + stride, ... of the step. */
static int train(cs_session *s, int first, int stride)
{
    const cs_model *m = s->model;
    static const int64_t len[] = { 9, 16, 12, 10 };
    int rc = CS_OK;

    m->be->op.zero(m->be, cs_params_slab(&m->ps, m->ps.grad));
    for (int b = first; b < N_BATCH && rc == CS_OK; b += stride) {
        cs_batch *x = toy_batch(m, len, 1 + b, 7 + (uint64_t)b);
        const cs_step_opt how = { .scale = 0.1, .key = (uint64_t)b };
        double loss;
        rc = cs_session_forward_backward(s, x, &how, &loss, NULL);
        cs_batch_free(x);
    }
    return rc;
}

/* One rank: trains alone, then twice with all ranks; CS_EMODEL if gradients differ. */
static int compare(cs_session *s, cs_parallel *p, int rank, int n)
{
    const cs_model *m = s->model;
    int rc = CS_OK;
    cs_real *alone = NULL, *all = NULL, *again = NULL;
    const size_t n_bytes = (size_t)m->ps.n_real * sizeof *alone;
    cs_step_report report = { .pause = 0 };

    CS_TRY(train(s, 0, 1));
    alone = toy_slab(m, m->ps.grad);
    for (int pass = 0; pass < 2; pass++) {
        CS_TRY(train(s, rank, n));
        CS_TRY(cs_parallel_step(p, &report));
        cs_real **to = pass == 0 ? &all : &again;
        *to = toy_slab(m, m->ps.grad);
    }
    if (memcmp(all, again, n_bytes) != 0)
        rc = cs_fail(CS_EMODEL, "two steps have other bits");
    else if (!(sqrt(toy_nmse(all, alone, m->ps.n_real)) < 1e-5))
        rc = cs_fail(CS_EMODEL, "gradients are %g off", sqrt(toy_nmse(all, alone, m->ps.n_real)));
out:
    free(alone);
    free(all);
    free(again);
    return rc;
}

static int run_rank(int rank, int n, int port, bool verbose)
{
    int rc = CS_OK;
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                    .training = true };
    const cs_group_spec spec = { .rank = rank, .n = n, .port = port, .host = "127.0.0.1",
                                 .timeout = 60 };
    char device[32];
    cs_group *g = NULL;
    cs_backend *be = NULL;
    cs_session *s = NULL;
    cs_parallel *p = NULL;

    (void)snprintf(device, sizeof device, "cuda:%d", rank);
    CS_TRY(cs_group_join(&spec, &g));
    CS_TRY(cs_backend_open(device, 1, &be));
    s = toy_session(&t, be);
    CS_TRY(cs_parallel_new(g, &s->model->ps, &p));
    CS_TRY(compare(s, p, rank, n));
    rc = cs_group_barrier(g);
out:
    if (rc != CS_OK && verbose)
        print_message("rank %d: %s\n", rank, cs_error_message());
    if (rc == CS_EIO && strstr(cs_error_message(), "rank 1 is gone") == NULL)
        rc = CS_EFORMAT;
    cs_group_finalize(g, rc);
    cs_parallel_free(p);
    toy_free(s);
    cs_backend_close(be);
    return rc;
}

/* status[r]: minus the exit code of rank r, or its signal. */
static void run_all(int n, bool verbose, int *status)
{
    const int port = check_free_port();
    pid_t pid[MAX_RANKS];

    for (int r = 0; r < n; r++) {
        pid[r] = fork();
        assert_true(pid[r] >= 0);
        if (pid[r] == 0)
            _exit(-run_rank(r, n, port, verbose));
    }
    for (int r = 0; r < n; r++) {
        int s;
        assert_int_equal(waitpid(pid[r], &s, 0), pid[r]);
        status[r] = WIFEXITED(s) ? -WEXITSTATUS(s) : WTERMSIG(s);
    }
}

static int n_gpu;

static void test_gradients(void **state)
{
    (void)state;
    int status[MAX_RANKS];

    for (int n = 2; n <= MAX_RANKS && n <= n_gpu; n++) {
        run_all(n, true, status);
        for (int r = 0; r < n; r++)
            assert_int_equal(status[r], CS_OK);
    }
}

#ifdef CS_HOST_CUDA
/* The rank dies during the sum, when no message can report it. */
static void test_dead_rank(void **state)
{
    (void)state;
    int status[MAX_RANKS];

    assert_int_equal(setenv("MOCK_NCCL_KILL", "1", 1), 0);
    run_all(3, false, status);
    assert_int_equal(unsetenv("MOCK_NCCL_KILL"), 0);
    assert_int_equal(status[1], SIGKILL);
    assert_int_equal(status[0], CS_EIO);
    assert_int_equal(status[2], CS_EIO);
}
#endif

/* In a separate process: a GPU must not be used before fork(). */
static int count_gpus(void)
{
    int status;
    const pid_t pid = fork();

    if (pid == 0) {
        cs_devices d;
        const int rc = cs_devices_parse("auto", &d);
        _exit(rc == CS_OK && strcmp(d.name[0], "cpu") != 0 ? d.n : 0);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_gradients),
#ifdef CS_HOST_CUDA
        cmocka_unit_test(test_dead_rank),
#endif
    };
    char about[256];

#ifdef CS_HOST_CUDA
    cs_host_devices = MAX_RANKS;
    cs_host_unified = 1;         /* the mock of NCCL adds on the host */
#endif
    if (cs_cpu_init() != CS_OK)
        return 2;
    n_gpu = count_gpus();
    cs_reducer_about(about, sizeof about);
    print_message("%d GPUs, %s\n", n_gpu, about);
    if (n_gpu < 2 || strncmp(about, "NCCL", 4) != 0)
        return 77;               /* skipped */
    return cmocka_run_group_tests_name("nccl", test, NULL, NULL);
}
