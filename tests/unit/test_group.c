/* test_group.c - ranks: numbering, communication, failures. */
#define _GNU_SOURCE              /* clearenv */
#include "tests/check.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/group_internal.h"
#include "base/signals.h"

enum { MAX_RANKS = 4 };

/* ---- the environment ------------------------------------------------------------------------- */

/* The pairs of a line "NAME=value NAME=value" become the whole environment. */
static int from_env(const char *line, cs_group_spec *s)
{
    char copy[512], *save = NULL;

    (void)snprintf(copy, sizeof copy, "%s", line);
    (void)clearenv();
    for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        char *value = strchr(w, '=');
        *value = '\0';
        assert_int_equal(setenv(w, value + 1, 1), 0);
    }
    cs_error_clear();
    return cs_group_env(s);
}

static void launchers_are_detected(void **state)
{
    (void)state;
    static const struct {
        const char *env;
        int rank, n, local;
        const char *host;
        int port;
    } row[] = {
        { "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 MASTER_ADDR=a.b MASTER_PORT=77", 3, 4, 1, "a.b", 77 },
        { "RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2", 0, 2, -1, "127.0.0.1", 29500 },
        { "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a TORCHELASTIC_USE_AGENT_STORE=True", 0, 2, -1, "a",
          29501 },
        { "RANK=1 WORLD_SIZE=2 MASTER_ADDR=a SLURM_PROCID=0 SLURM_NTASKS=1", 1, 2, -1, "a", 29500 },
        { "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=2 "
          "OMPI_COMM_WORLD_LOCAL_SIZE=8 SLURM_PROCID=0 SLURM_NTASKS=1", 2, 8, 2, "127.0.0.1",
          29500 },
        { "PMI_RANK=1 PMI_SIZE=2 MASTER_ADDR=h MPI_LOCALRANKID=1", 1, 2, 1, "h", 29500 },
        { "PMI_RANK=1 PMI_SIZE=4 PMI_LOCAL_RANK=1 PMI_LOCAL_SIZE=4", 1, 4, 1, "127.0.0.1", 29500 },
        { "PMI_RANK=1 PMI_SIZE=2 MASTER_ADDR=h LOCAL_RANK=0", 1, 2, 0, "h", 29500 },
        { "PMI_RANK=3 PMI_SIZE=4 SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_LOCALID=3 SLURM_NNODES=1", 3,
          4, 3, "127.0.0.1", 29500 },
        { "PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=1 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=0 "
          "MASTER_ADDR=h", 3, 4, 1, "h", 29500 },
        { "SLURM_PROCID=5 SLURM_NTASKS=6 SLURM_LOCALID=1 SLURM_NNODES=3 MASTER_ADDR=n1", 5, 6, 1,
          "n1", 29500 },
        { "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_NNODES=1", 0, 2, 0, "127.0.0.1",
          29500 },
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        cs_group_spec s;
        assert_int_equal(from_env(row[i].env, &s), CS_OK);
        assert_int_equal(s.rank, row[i].rank);
        assert_int_equal(s.n, row[i].n);
        assert_int_equal(s.local, row[i].local);
        assert_string_equal(s.host, row[i].host);
        assert_int_equal(s.port, row[i].port);
    }
}

static void invalid_environment_is_refused(void **state)
{
    (void)state;
    static const struct { const char *env, *why; } row[] = {
        { "A=1", "does not set the rank" },
        { "RANK=0", "does not set the rank" },
        { "RANK=2 WORLD_SIZE=2 MASTER_ADDR=a", "RANK='2', which is not a number from 0 to 1" },
        { "RANK=x WORLD_SIZE=2 MASTER_ADDR=a", "RANK='x'" },
        { "RANK=0 WORLD_SIZE=0 MASTER_ADDR=a", "WORLD_SIZE='0'" },
        { "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=99999", "MASTER_PORT='99999'" },
        { "RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1", "set MASTER_ADDR" },
        { "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_NNODES=2", "Slurm started 2 ranks" },
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        cs_group_spec s;
        assert_int_equal(from_env(row[i].env, &s), CS_EUSAGE);
        assert_non_null(strstr(cs_error_message(), row[i].why));
    }
    cs_error_clear();
}

/* ---- threads --------------------------------------------------------------------------------- */

struct end { cs_group *g; int rc; char why[256]; };

static void save_message(struct end *e)
{
    (void)snprintf(e->why, sizeof e->why, "%s", cs_error_message());
    cs_group_finalize(e->g, e->rc);
    cs_error_clear();
}

static void run_all(int n, void *(*body)(void *), struct end *e)
{
    pthread_t thread[MAX_RANKS];
    cs_group *g[MAX_RANKS];

    assert_int_equal(cs_group_of_threads(n, 20, g), CS_OK);
    for (int r = 0; r < n; r++) {
        e[r] = (struct end){ .g = g[r] };
        assert_int_equal(pthread_create(&thread[r], NULL, body, &e[r]), 0);
    }
    for (int r = 0; r < n; r++)
        assert_int_equal(pthread_join(thread[r], NULL), 0);
}

enum { MANY = 300000 };          /* more than a connection holds */

static int exchange(cs_group *g)
{
    int rc = CS_OK;
    const int rank = cs_group_rank(g), n = cs_group_size(g);
    int *own = calloc(MANY, sizeof *own), *all = calloc((size_t)MANY * (size_t)n, sizeof *all);

    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < MANY; i++)
            own[i] = rank * 10 + turn;
        CS_TRY(cs_group_gather(g, own, MANY * sizeof *own, rank == 0 ? all : NULL));
        for (int r = 0; r < n && rank == 0; r++)
            rc |= all[(r + 1) * MANY - 1] != r * 10 + turn;
        own[MANY - 1] = rank == 0 ? 7 + turn : 0;
        CS_TRY(cs_group_broadcast(g, own, MANY * sizeof *own));
        rc |= own[MANY - 1] != 7 + turn;
        if (rc != CS_OK)
            goto out;
    }
    CS_TRY(cs_group_check(g));
    rc = cs_group_barrier(g);
out:
    free(own);
    free(all);
    return rc;
}

static void *run_exchange(void *arg)
{
    struct end *e = arg;

    e->rc = exchange(e->g);
    save_message(e);
    return NULL;
}

static void ranks_exchange_data(void **state)
{
    (void)state;
    struct end e[MAX_RANKS];

    for (int n = 1; n <= MAX_RANKS; n++) {
        run_all(n, run_exchange, e);
        for (int r = 0; r < n; r++)
            assert_int_equal(e[r].rc, CS_OK);
    }
}

/* Rank 2 fails while the others wait for it. */
static void *run_failing(void *arg)
{
    struct end *e = arg;

    e->rc = cs_group_rank(e->g) == 2 ? cs_fail(CS_EMEM, "out of memory for a list")
                                     : cs_group_barrier(e->g);
    save_message(e);
    return NULL;
}

static void failure_is_reported_to_all(void **state)
{
    (void)state;
    struct end e[MAX_RANKS];

    run_all(3, run_failing, e);
    assert_int_equal(e[2].rc, CS_EMEM);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(e[r].rc, CS_EIO);
        assert_string_equal(e[r].why, "rank 2 failed: out of memory for a list");
    }
}

/* Rank 1 makes another call than the others. */
static void *run_mismatched(void *arg)
{
    struct end *e = arg;
    char b[9] = "";

    e->rc = cs_group_gather(e->g, b, cs_group_rank(e->g) == 1 ? 9 : 3, (char[27]){ 0 });
    if (e->rc == CS_OK)
        e->rc = cs_group_broadcast(e->g, b, 3);
    save_message(e);
    return NULL;
}

static void mismatched_calls_are_detected(void **state)
{
    (void)state;
    struct end e[MAX_RANKS];

    run_all(3, run_mismatched, e);
    for (int r = 0; r < 3; r++)
        assert_string_equal(e[r].why, "rank 1 is at a different point of the run than rank 0");
}

/* Rank 1 disconnects without a message; rank 0 detects it during an external wait. */
static void disconnected_rank_is_detected(void **state)
{
    (void)state;
    cs_group *g[2];

    assert_int_equal(cs_group_of_threads(2, 20, g), CS_OK);
    assert_int_equal(cs_group_check(g[0]), CS_OK);
    cs_group_finalize(g[1], CS_OK);
    assert_int_equal(cs_group_check(g[0]), CS_EIO);
    assert_non_null(strstr(cs_error_message(), "rank 1 is gone"));
    assert_true(cs_group_lost(g[0]));
    cs_group_finalize(g[0], CS_OK);
    cs_error_clear();
}

/* All ranks are connected, but an external wait does not end. */
static void external_wait_times_out(void **state)
{
    (void)state;
    const struct timespec nap = { 0, 1000 * 1000 };
    cs_group *g[2];
    int rc = CS_OK;

    assert_int_equal(cs_group_of_threads(2, 0.1, g), CS_OK);
    cs_group_wait(g[0]);
    assert_int_equal(cs_group_check(g[0]), CS_OK);
    for (int i = 0; i < 5000 && (rc = cs_group_check(g[0])) == CS_OK; i++)
        (void)nanosleep(&nap, NULL);
    assert_int_equal(rc, CS_EIO);
    assert_non_null(strstr(cs_error_message(), "--ranks-timeout"));
    assert_true(cs_group_lost(g[0]));
    cs_group_finalize(g[0], rc);
    cs_group_finalize(g[1], CS_OK);
    cs_error_clear();
}

/* ---- processes ------------------------------------------------------------------------------- */

static cs_group_spec spec(int rank, int n, int port, double timeout)
{
    return (cs_group_spec){ .rank = rank, .n = n, .port = port, .host = "127.0.0.1",
                            .timeout = timeout };
}

/* Joins the group and waits for the other ranks; `why` receives the error message. */
static int join(cs_group_spec s, char *why)
{
    cs_group *g = NULL;
    int rc = cs_group_join(&s, &g);

    if (rc == CS_OK)
        rc = cs_group_barrier(g);
    (void)snprintf(why, 256, "%s", cs_error_message());
    cs_group_finalize(g, rc);
    cs_error_clear();
    return rc;
}

static pid_t start(cs_group_spec s)
{
    const pid_t pid = fork();

    if (pid == 0) {
        char why[256];
        _exit(-join(s, why));
    }
    assert_true(pid > 0);
    return pid;
}

static int status_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

enum { LONG = 4 << 20 };         /* bytes, more than a connection holds */

static void send_until_error(cs_group *g)
{
    char *text = calloc(LONG, 1);

    cs_signal_init();
    memset(text, 'x', LONG);
    int rc = cs_group_send(g, 0, text, LONG);
    if (rc == CS_OK)
        rc = cs_group_barrier(g);
    cs_group_finalize(g, rc);
    free(text);
}

/* A signal during a message: rank 0 receives the whole message before rank 1's error. */
static void messages_are_atomic(void **state)
{
    (void)state;
    const struct timespec nap = { 0, 1000 * 1000 };
    char *text = calloc(LONG, 1);
    cs_group *g[2];
    int n = 0;

    assert_int_equal(cs_group_of_threads(2, 20, g), CS_OK);
    const pid_t pid = fork();
    if (pid == 0) {
        cs_group_finalize(g[0], CS_OK);
        send_until_error(g[1]);
        _exit(0);
    }
    cs_group_finalize(g[1], CS_OK);
    while (n < 1 << 10 && ioctl(g[0]->fd[1], FIONREAD, &n) == 0)
        (void)nanosleep(&nap, NULL);
    assert_int_equal(kill(pid, SIGTERM), 0);
    for (int i = 0; i < 300; i++)            /* three times the interval of checks for signals */
        (void)nanosleep(&nap, NULL);
    assert_int_equal(cs_group_recv(g[0], 1, text, LONG), CS_OK);
    for (int i = 0; i < LONG; i++)
        assert_int_equal(text[i], 'x');
    assert_int_equal(cs_group_barrier(g[0]), CS_EIO);
    assert_string_equal(cs_error_message(), "rank 1 was ended by a signal");
    cs_group_finalize(g[0], CS_EIO);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    cs_error_clear();
    free(text);
}

static void processes_connect(void **state)
{
    (void)state;
    const int port = check_free_port();
    char why[256];
    const pid_t two = start(spec(2, 3, port, 20)), one = start(spec(1, 3, port, 20));

    assert_int_equal(join(spec(0, 3, port, 20), why), CS_OK);
    assert_int_equal(status_of(one), CS_OK);
    assert_int_equal(status_of(two), CS_OK);
}

static void missing_rank_is_named(void **state)
{
    (void)state;
    const int port = check_free_port();
    char why[256];
    const pid_t one = start(spec(1, 4, port, 20));

    assert_int_equal(join(spec(0, 4, port, 0.3), why), CS_EIO);
    assert_non_null(strstr(why, "2 of 4 ranks, the first of them rank 2, did not connect to "
                                "'127.0.0.1'"));
    assert_int_equal(status_of(one), CS_EIO);
    assert_int_equal(join(spec(1, 2, port, 0.3), why), CS_EIO);
    assert_non_null(strstr(why, "rank 1 could not connect to rank 0"));
}

static void mismatch_is_reported_to_both(void **state)
{
    (void)state;
    const int port = check_free_port();
    char why[256];
    const pid_t three = start(spec(1, 3, port, 20));

    assert_int_equal(join(spec(0, 2, port, 20), why), CS_EIO);
    assert_string_equal(why, "ranks disagree on the number of ranks (rank 1 "
                        "of 3, and rank 0 of 2)");
    assert_int_equal(status_of(three), CS_EIO);
}

static void port_in_use(void **state)
{
    (void)state;
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    char why[256];

    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    assert_int_equal(join(spec(0, 2, ntohs(a.sin_port), 1), why), CS_EIO);
    assert_non_null(strstr(why, "is in use, perhaps by another run; set MASTER_PORT"));
    (void)close(fd);
}

static int connect_to(int port)
{
    const struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = -1;

    while (fd < 0) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)&a, sizeof a) != 0) {
            (void)close(fd);
            fd = -1;
        }
    }
    return fd;
}

/* Strangers connect first: some are silent, one sends an invalid greeting, and one only the
 * beginning of a valid one. */
static void unknown_clients_are_refused(void **state)
{
    (void)state;
    const int port = check_free_port();
    const pid_t zero = start(spec(0, 2, port, 20));
    char why[256], text[64] = "GET / HTTP/1.1\r\n\r\n";
    int fd[4];

    for (int i = 0; i < 4; i++)
        fd[i] = connect_to(port);
    assert_int_equal(send(fd[2], "chordseq", 8, MSG_NOSIGNAL), 8);
    assert_int_equal(send(fd[3], text, sizeof text, MSG_NOSIGNAL), sizeof text);
    assert_int_equal(join(spec(1, 2, port, 5), why), CS_OK);
    assert_int_equal(status_of(zero), CS_OK);
    for (int i = 0; i < 4; i++)
        (void)close(fd[i]);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(launchers_are_detected),
        cmocka_unit_test(invalid_environment_is_refused),
        cmocka_unit_test(ranks_exchange_data),
        cmocka_unit_test(failure_is_reported_to_all),
        cmocka_unit_test(mismatched_calls_are_detected),
        cmocka_unit_test(disconnected_rank_is_detected),
        cmocka_unit_test(external_wait_times_out),
        cmocka_unit_test(messages_are_atomic),
        cmocka_unit_test(processes_connect),
        cmocka_unit_test(missing_rank_is_named),
        cmocka_unit_test(mismatch_is_reported_to_both),
        cmocka_unit_test(port_in_use),
        cmocka_unit_test(unknown_clients_are_refused),
    };

    return cmocka_run_group_tests_name("group", test, NULL, NULL);
}
