/* test_devices.c - devices of the CUDA backend: names, lists, those that cannot be used, failures.
 *
 * For the emulator alone (tests/gpu/host), whose number of devices, capability and failures are set
 * by the tests.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/device.h"
#include "tests/nn/toy.h"

extern size_t cs_host_memory;
extern int cs_host_fault, cs_host_devices, cs_host_capability, cs_host_min_capability;
extern long cs_host_fail, cs_host_2d_calls;
size_t cs_host_used(void);

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static cs_backend *gpu, *cpu;

static void test_old_device(void **state)
{
    (void)state;
    cs_host_capability = 75;
    cs_backend *be = open_gpu(CS_IN_FP32);
    assert_int_equal(cs_cuda_compute_in(be, CS_IN_FP32), CS_OK);
    assert_int_equal(cs_cuda_compute_in(be, CS_IN_BF16), CS_EUSAGE);
    assert_string_equal(cs_error_message(), "device cuda:0 (this processor) has compute capability "
                        "7.5; --precision bf16 needs 8.0");
    cs_error_clear();
    close_gpu(be);
    cs_host_capability = 90;
}

/* A device without code in this build is rejected by name; "auto" skips it. */
static void test_no_code(void **state)
{
    (void)state;
    cs_backend *be;
    cs_host_devices = 2;
    cs_host_capability = 75;
    cs_host_min_capability = 80;
    assert_null(open_gpu(CS_IN_FP32));
    assert_string_equal(cs_error_message(), "device 'cuda:0 (this processor)' of compute "
                        "capability 7.5 cannot run this build's kernels: no kernel image is "
                        "available for execution on the device; configure --with-cuda-arch=75, "
                        "or use --device cpu");
    cs_error_clear();
    assert_int_equal(cs_backend_open("auto", 1, &be), CS_OK);
    assert_string_equal(be->device, "cpu");
    cs_backend_close(be);
    assert_int_equal(cs_backend_open_all("auto", 1, &be), CS_OK);
    assert_string_equal(be->device, "cpu");
    assert_null(be->next);
    cs_backend_close(be);
    assert_int_equal(cs_backend_open("cuda", 1, &be), CS_EDEVICE);
    cs_error_clear();
    cs_host_min_capability = 75;
    cs_host_capability = 90;
    cs_host_devices = 1;
}

/* "auto" continues with other devices after a failure. */
static void test_auto_skips_failed(void **state)
{
    (void)state;
    cs_backend *be;
    cs_host_devices = 2;
    cs_host_fail = 1;
    assert_int_equal(cs_backend_open_all("auto", 1, &be), CS_OK);
    assert_string_equal(be->device, "cuda:1");
    assert_null(be->next);
    cs_backend_close(be);
    cs_host_devices = 1;
}

/* Contiguous rows are filled and copied by one-dimensional calls. */
static void test_contiguous_rows(void **state)
{
    (void)state;
    enum { ROWS = 5, COLS = 3, LD = 4 };
    cs_real v[ROWS * LD], got[ROWS * LD];
    for (int i = 0; i < ROWS * LD; i++)
        v[i] = (cs_real)i;
    cs_real *x = gpu->op.alloc(gpu, sizeof v), *y = gpu->op.alloc(gpu, sizeof v);
    gpu->op.upload(gpu, y, v, sizeof v);
    const struct { cs_mat x, y; long zero, copy; } set[] = {
        { { x, LD, ROWS, ROWS }, { y, LD, ROWS, ROWS }, 0, 0 },
        { { x, 1, COLS, LD }, { y, 1, COLS, LD }, 0, 0 },
        { { x, ROWS, COLS, LD }, { y, ROWS, COLS, LD }, 1, 1 },
        { { x, ROWS, COLS, COLS }, { y, ROWS, COLS, LD }, 0, 1 },
    };
    for (int i = 0; i < COUNT(set); i++) {
        const cs_mat a = set[i].x, b = set[i].y;
        long before = cs_host_2d_calls;
        gpu->op.upload(gpu, x, v, sizeof v);
        gpu->op.copy(gpu, a, b);
        assert_int_equal(cs_host_2d_calls, before + set[i].copy);
        gpu->op.download(gpu, got, y, sizeof got);
        for (int64_t r = 0; r < b.r; r++)
            for (int32_t j = 0; j < b.c; j++)
                assert_true(got[r * b.ld + j] == v[r * a.ld + j]);
        before = cs_host_2d_calls;
        gpu->op.zero(gpu, a);
        assert_int_equal(cs_host_2d_calls, before + set[i].zero);
        gpu->op.download(gpu, got, x, sizeof got);
        for (int64_t k = 0; k < ROWS * LD; k++)
            assert_true(got[k] == (k / a.ld < a.r && k % a.ld < a.c ? 0 : v[k]));
    }
    gpu->op.dealloc(gpu, x);
    gpu->op.dealloc(gpu, y);
}

static void test_no_device(void **state)
{
    (void)state;
    cs_backend be = { .name = "cuda" };
    cs_host_devices = 0;
    assert_int_equal(cs_cuda_open(&be, 0), CS_EDEVICE);
    assert_string_equal(cs_error_message(), "no CUDA device to compute on: no CUDA-capable device "
                        "is detected; use --device cpu");
    cs_error_clear();
    cs_host_devices = 1;
    assert_int_equal(cs_cuda_open(&be, 3), CS_EDEVICE);
    assert_string_equal(cs_error_message(), "no device 'cuda:3': there are 1, starting at "
                                            "'cuda:0'");
    cs_error_clear();
}

/* Out of memory on one device does not affect others. */
static void test_full_device(void **state)
{
    (void)state;
    cs_backend be = { .name = "cuda" };
    float v[4] = { 1, -2, 3, -4 };
    cs_mat m = { gpu->op.alloc(gpu, sizeof v), 1, 4, 4 };

    gpu->op.upload(gpu, m.p, v, sizeof v);
    cs_host_fail = 1;
    assert_int_equal(cs_cuda_open(&be, 0), CS_EDEVICE);
    assert_string_equal(cs_error_message(), "cannot use device 'cuda:0': out of memory");
    cs_error_clear();
    gpu->op.act(gpu, CS_ACT_RELU, m, m);
    assert_int_equal(gpu->op.sync(gpu), CS_OK);
    gpu->op.dealloc(gpu, m.p);
}

static void check_names(const char *text, const char *want)
{
    cs_devices d;
    char got[128] = "";
    assert_int_equal(cs_devices_parse(text, &d), CS_OK);
    for (int i = 0; i < d.n; i++)
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), " %s", d.name[i]);
    assert_string_equal(got + 1, want);
}

static void check_rejected(const char *text, int code, const char *why)
{
    cs_devices d;
    assert_int_equal(cs_devices_parse(text, &d), code);
    assert_non_null(strstr(cs_error_message(), why));
    cs_error_clear();
}

static void test_device_names(void **state)
{
    (void)state;
    check_names("cpu", "cpu");
    check_names("cuda", "cuda:0");
    check_names("cuda:2,0", "cuda:2 cuda:0");
    check_names("auto", "cuda:0");
    cs_host_devices = 3;
    check_names("auto", "cuda:0 cuda:1 cuda:2");
    cs_host_devices = 0;
    check_names("auto", "cpu");
    cs_host_devices = 1;
    check_rejected("cuda:1,1", CS_EUSAGE, "names device 'cuda:1' twice");
    static const char *const bad[] = { "cuda:", "cuda:1,", "cuda:-1", "cuda:1;2", "cuda:10000",
                                       "cuda:99999999999999999999", "gpu", "cpu,cuda" };
    for (int i = 0; i < COUNT(bad); i++)
        check_rejected(bad[i], CS_EDEVICE,
                      "available are 'cpu', 'cuda', 'cuda:NUMBER,...' and 'auto'");
}

/* A list of devices; if one is missing, those before it are closed. */
static void test_device_list(void **state)
{
    (void)state;
    cs_backend *be;
    const size_t used_before = cs_host_used();

    cs_host_devices = 3;
    assert_int_equal(cs_backend_open_all("cuda:2,0", 1, &be), CS_OK);
    assert_string_equal(be->device, "cuda:2");
    assert_string_equal(be->next->device, "cuda:0");
    assert_null(be->next->next);
    cs_backend_close(be);
    assert_int_equal(cs_backend_open_all("cuda:2,7", 1, &be), CS_EDEVICE);
    assert_null(be);
    assert_non_null(strstr(cs_error_message(), "no device 'cuda:7'"));
    cs_error_clear();
    assert_int_equal(cs_backend_open("cuda:0,1", 1, &be), CS_EUSAGE);
    cs_error_clear();
    assert_int_equal(cs_backend_open("auto", 1, &be), CS_OK);
    assert_null(be->next);
    cs_backend_close(be);
    cs_host_devices = 1;
    assert_int_equal(cs_host_used(), used_before);
}

/* The out-of-memory message has the size and the caller; the device stays usable. */
static void test_out_of_memory(void **state)
{
    (void)state;
    static const int64_t len[] = { 16 };
    toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class") };
    cs_session *s = toy_session(&t, gpu);
    cs_batch *b = toy_batch(s->model, len, 1, 3);
    float out[8];
    const size_t default_memory = cs_host_memory;

    cs_host_memory = 64;
    assert_int_equal(cs_session_predict(s, b, out), CS_EMEM);
    assert_non_null(strstr(cs_error_message(), "out of memory"));
    cs_error_clear();
    cs_host_memory = default_memory;
    assert_int_equal(cs_session_predict(s, b, out), CS_OK);
    cs_batch_free(b);
    toy_free(s);
}

/* A failed launch is reported at the next sync, with the op's name, and at every later one. */
static void test_fault(void **state)
{
    (void)state;
    cs_backend *be = open_gpu(CS_IN_FP32);
    float v[4] = { 1, 2, 3, 4 };
    cs_mat m = { be->op.alloc(be, sizeof v), 1, 4, 4 };

    be->op.upload(be, m.p, v, sizeof v);
    cs_host_fault = 999;
    be->op.act(be, CS_ACT_RELU, m, m);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(be->op.sync(be), CS_EDEVICE);
        assert_string_equal(cs_error_message(), "device cuda:0 (this processor): unknown error, "
                            "in or before 'cuda_act'; set CHORDSEQ_SYNC=1 to locate the failed "
                            "kernel");
        cs_error_clear();
    }
    be->op.download(be, v, m.p, sizeof v);
    assert_true(isnan(v[0]));
    be->op.dealloc(be, m.p);
    close_gpu(be);
}

/* The host cannot access the emulator's memory of devices; copies to devices go nowhere else. */
static void test_separate_memory(void **state)
{
    (void)state;
    cs_backend *be = open_gpu(CS_IN_FP32);
    float v[2] = { 1, 2 };
    float *p = be->op.alloc(be, sizeof v);
    int status;

    be->op.upload(be, p, v, sizeof v);
    assert_int_equal(be->op.sync(be), CS_OK);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        _exit(*(volatile float *)p > 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    void *const pinned = be->staging.alloc(be, sizeof v);
    be->staging.send(be, 0, v, pinned, sizeof v);
    assert_int_equal(be->op.sync(be), CS_EDEVICE);
    cs_error_clear();
    be->staging.dealloc(be, pinned);
    be->op.dealloc(be, p);
    close_gpu(be);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_old_device),
        cmocka_unit_test(test_no_code),
        cmocka_unit_test(test_auto_skips_failed),
        cmocka_unit_test(test_contiguous_rows),
        cmocka_unit_test(test_device_names),
        cmocka_unit_test(test_device_list),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_separate_memory),
    };
    int rc = open_both(CS_IN_FP32, &cpu, &gpu);

    if (rc != 0)
        return rc;
    rc = cmocka_run_group_tests(test, NULL, NULL);
    close_gpu(gpu);
    cs_backend_close(cpu);
    return rc;
}
