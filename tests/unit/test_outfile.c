/* test_outfile.c - outputs are complete or absent; links, modes, devices, full disks, signals. */
#define _GNU_SOURCE              /* posix_openpt, ptsname */
#include "tests/check.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/outfile.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/std_streams.h"

static int n_synced;

/* In place of libc's. */
int fsync(int fd)
{
    (void)fd;
    n_synced++;
    return 0;
}

static int set_up(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN);
    return check_enter_scratch(state);
}

static int reset(void **state)
{
    (void)state;
    cs_error_clear();
    cs_mem_fail_at(-1);
    return 0;
}

static int n_temps(void)
{
    glob_t g;
    int n = glob("*.tmp.*", 0, NULL, &g) == 0 ? (int)g.gl_pathc : 0;

    globfree(&g);
    return n;
}

static void assert_holds(const char *path, const char *want)
{
    char *got;
    size_t n;

    assert_int_equal(cs_file_read(path, 1 << 24, &got, &n), CS_OK);
    assert_int_equal(n, strlen(want));
    assert_string_equal(got, want);
    free(got);
}

/* Write text to path with all checks; the first error code. */
static int put(const char *path, const char *text)
{
    cs_outfile *f;
    int rc = cs_outfile_open(path, &f);

    if (rc != CS_OK)
        return rc;
    if ((rc = cs_outfile_printf(f, "%s", text)) != CS_OK) {
        cs_outfile_discard(f);
        return rc;
    }
    return cs_outfile_close(f);
}

static void renamed_when_complete(void **state)
{
    cs_outfile *f;
    char temp[100];

    (void)state;
    (void)snprintf(temp, sizeof temp, "new.tsv.tmp.%ld", (long)getpid());
    assert_int_equal(cs_outfile_open("new.tsv", &f), CS_OK);
    assert_int_equal(cs_outfile_write(f, "a\tb\n", 4), CS_OK);
    assert_int_equal(cs_outfile_flush(f), CS_OK);
    assert_int_equal(cs_file_size("new.tsv"), -1);
    assert_int_equal(cs_file_size(temp), 4);
    assert_int_equal(cs_outfile_close(f), CS_OK);
    assert_holds("new.tsv", "a\tb\n");
    assert_int_equal(n_temps(), 0);
}

static void discard_keeps_old_file(void **state)
{
    cs_outfile *f;

    (void)state;
    assert_int_equal(put("old", "old"), CS_OK);
    assert_int_equal(cs_outfile_open("old", &f), CS_OK);
    assert_int_equal(cs_outfile_write(f, "new", 3), CS_OK);
    cs_outfile_discard(f);
    cs_outfile_discard(NULL);
    assert_int_equal(cs_outfile_close(NULL), CS_OK);
    assert_holds("old", "old");
    assert_int_equal(n_temps(), 0);
}

static void buffer_boundaries(void **state)
{
    static char want[300001], *p;
    cs_outfile *f;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof want - 1; i++)
        want[i] = (char)('a' + i % 23);
    assert_int_equal(cs_outfile_open("big", &f), CS_OK);
    /* Pieces from nothing to larger than the buffer, then one line longer than printf's own. */
    for (size_t k = 0; n + k < 200000; n += k, k = k * 3 + 1)
        assert_int_equal(cs_outfile_write(f, want + n, k), CS_OK);
    for (; n < 290000; n++)
        assert_int_equal(cs_outfile_write(f, want + n, 1), CS_OK);
    assert_int_equal(cs_outfile_printf(f, "%s", want + n), CS_OK);
    assert_int_equal(cs_outfile_close(f), CS_OK);
    assert_int_equal(cs_file_read("big", sizeof want, &p, &n), CS_OK);
    assert_int_equal(n, sizeof want - 1);
    assert_memory_equal(p, want, n);
    free(p);
}

static void modes(void **state)
{
    struct stat st;
    mode_t old = umask(027);

    (void)state;
    assert_int_equal(put("fresh", "x"), CS_OK);
    (void)umask(old);
    assert_int_equal(stat("fresh", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(chmod("fresh", 0755), 0);
    assert_int_equal(put("fresh", "y"), CS_OK);
    assert_int_equal(stat("fresh", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_holds("fresh", "y");
}

static void symlinks_are_kept(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(mkdir("there", 0777), 0);
    assert_int_equal(put("there/real", "1"), CS_OK);
    assert_int_equal(symlink("real", "there/near"), 0);
    assert_int_equal(symlink("there/near", "far"), 0);
    assert_int_equal(put("far", "22"), CS_OK);
    assert_holds("there/real", "22");
    assert_int_equal(lstat("far", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat("there/near", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(symlink("there/not-yet", "dangling"), 0);
    assert_int_equal(put("dangling", "333"), CS_OK);
    assert_holds("there/not-yet", "333");
    assert_int_equal(symlink("loop-b", "loop-a"), 0);
    assert_int_equal(symlink("loop-a", "loop-b"), 0);
    assert_int_equal(put("loop-a", "x"), CS_EIO);
    assert_non_null(strstr(cs_error_message(), "'loop-a'"));
}

static void errors_name_the_file(void **state)
{
    static const struct { const char *path, *says; } row[] = {
        { "no/such/folder/x", "No such file or directory" }, { ".", "Is a directory" },
        { "/dev/fd/789", "Bad file descriptor" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        cs_error_clear();
        assert_int_equal(put(row[i].path, "x"), CS_EIO);
        assert_non_null(strstr(cs_error_message(), row[i].path));
        assert_non_null(strstr(cs_error_message(), row[i].says));
    }
    cs_error_clear();
    assert_int_equal(put("", "x"), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "an output's name is empty"));
}

static void full_device(void **state)
{
    cs_outfile *f;
    char block[4096] = { 0 };
    int rc = CS_OK, n = 0;

    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(put("/dev/full", "x"), CS_EIO);
    assert_string_equal(cs_error_message(), "cannot write '/dev/full': No space left on device");
    assert_int_equal(cs_outfile_open("/dev/full", &f), CS_OK);
    for (; rc == CS_OK && n < 1000; n++)
        rc = cs_outfile_write(f, block, sizeof block);
    assert_int_equal(rc, CS_EIO);
    assert_in_range(n, 2, 100);
    assert_int_equal(cs_outfile_write(f, block, 1), CS_EIO);        /* reported again */
    assert_int_equal(cs_outfile_close(f), CS_EIO);
    assert_int_equal(cs_file_size("/dev/full"), -1);
    assert_int_equal(put("/dev/null", "x"), CS_OK);
}

/* A full disk, simulated by a limit on the size of files. */
static void write_beyond_limit(void *arg)
{
    const struct rlimit limit = { 1000, 1000 };
    char block[4096] = { 0 };
    cs_outfile *f;

    (void)arg;
    (void)signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || cs_outfile_open("precious", &f) != CS_OK
        || cs_outfile_write(f, block, sizeof block) != CS_OK)
        _exit(1);
    _exit(cs_outfile_close(f) == CS_EIO && strstr(cs_error_message(), "'precious'") ? 7 : 2);
}

static void short_write_keeps_old_file(void **state)
{
    (void)state;
    assert_int_equal(put("precious", "old"), CS_OK);
    int status = check_status(write_beyond_limit, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_holds("precious", "old");
    assert_int_equal(n_temps(), 0);
}

static void closed_pipe_is_silent(void **state)
{
    char path[40];
    int fd[2];
    cs_outfile *f;

    (void)state;
    assert_int_equal(pipe(fd), 0);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", fd[1]);
    assert_int_equal(cs_outfile_open(path, &f), CS_OK);
    (void)close(fd[0]);
    assert_int_equal(cs_outfile_printf(f, "x"), CS_OK);
    assert_int_equal(cs_outfile_flush(f), CS_ECANCEL);
    assert_int_equal(cs_outfile_close(f), CS_ECANCEL);
    assert_string_equal(cs_error_message(), "");
    (void)close(fd[1]);
}

static void descriptor_keeps_its_offset(void **state)
{
    char path[40];
    int fd = open("appended", O_WRONLY | O_CREAT | O_TRUNC, 0666);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "head ", 5), 5);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", fd);
    assert_int_equal(put(path, "tail"), CS_OK);
    assert_int_equal(write(fd, " end", 4), 4);      /* still open */
    (void)close(fd);
    assert_holds("appended", "head tail end");
}

static void fifo_is_written_directly(void **state)
{
    char buf[10] = { 0 };
    struct stat st;

    (void)state;
    assert_int_equal(mkfifo("fifo", 0666), 0);
    int fd = open("fifo", O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_int_equal(put("fifo", "bytes"), CS_OK);
    assert_int_equal(read(fd, buf, sizeof buf), 5);
    assert_string_equal(buf, "bytes");
    (void)close(fd);
    assert_int_equal(lstat("fifo", &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
}

/* A terminal whose other side reads late, and whose owner made it non-blocking. */
static void full_terminal_blocks(void **state)
{
    enum { N_LINES = 2000, LINE_BYTES = 100 };
    char path[40], buf[4096];
    cs_outfile *f;
    const int master = posix_openpt(O_RDWR | O_NOCTTY);

    (void)state;
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        skip();
    const int fd = open(ptsname(master), O_WRONLY | O_NOCTTY | O_NONBLOCK);
    assert_true(fd >= 0);
    const pid_t reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        (void)alarm(20);
        (void)usleep(100000);
        for (ssize_t n = 0, got; n < N_LINES * (LINE_BYTES + 1); n += got)
            if ((got = read(master, buf, sizeof buf)) <= 0)
                _exit(1);
        _exit(0);
    }
    (void)snprintf(path, sizeof path, "/dev/fd/%d", fd);
    assert_int_equal(cs_outfile_open(path, &f), CS_OK);
    for (int i = 0; i < N_LINES; i++)
        assert_int_equal(cs_outfile_printf(f, "%*d\n", LINE_BYTES - 1, i), CS_OK);
    assert_int_equal(cs_outfile_close(f), CS_OK);
    int status;
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    (void)close(fd);
    (void)close(master);
}

static void read_only_is_respected(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip();                  /* root may write anything */
    assert_int_equal(put("locked", "1"), CS_OK);
    assert_int_equal(chmod("locked", 0444), 0);
    assert_int_equal(put("locked", "2"), CS_EIO);
    assert_holds("locked", "1");
}

static void reads_whole_files(void **state)
{
    char *p;
    size_t n;

    (void)state;
    assert_int_equal(put("ten", "0123456789"), CS_OK);
    assert_int_equal(cs_file_size("ten"), 10);
    assert_int_equal(cs_file_read("ten", 10, &p, &n), CS_OK);
    assert_int_equal(n, 10);
    assert_int_equal(p[10], '\0');
    free(p);
    assert_int_equal(cs_file_read("ten", 9, &p, &n), CS_EFORMAT);
    assert_null(p);
    assert_non_null(strstr(cs_error_message(), "'ten' exceeds the limit of 9 bytes"));
    cs_error_clear();
    assert_int_equal(cs_file_read("absent", 9, &p, &n), CS_EIO);
    assert_string_equal(cs_error_message(), "cannot open 'absent': No such file or directory");
    cs_error_clear();
    assert_int_equal(cs_file_read(".", 9, &p, &n), CS_EIO);
    assert_int_equal(cs_file_size("."), -1);
    assert_int_equal(cs_file_size("absent"), -1);
    assert_int_equal(put("empty", ""), CS_OK);
    assert_holds("empty", "");
}

static void failing_allocations(void **state)
{
    char *p;
    size_t n;
    int i, rc = CS_EMEM;

    (void)state;
    for (i = 0; rc == CS_EMEM && i < 20; i++) {
        cs_error_clear();
        cs_mem_fail_at(i);
        rc = put("mem", "x");
        cs_mem_fail_at(-1);
        assert_int_equal(n_temps(), 0);
    }
    assert_int_equal(rc, CS_OK);
    assert_in_range(i, 2, 19);
    cs_mem_fail_at(0);
    assert_int_equal(cs_file_read("mem", 100, &p, &n), CS_EMEM);
    assert_null(p);
}

static void two_signals(void *arg)
{
    static cs_outfile *f;        /* reachable at exit, so no leak */

    (void)signal(SIGINT, SIG_DFL);      /* a background job of a shell ignores it */
    cs_signal_init();
    if (cs_outfile_open("unfinished", &f) != CS_OK || n_temps() != 1)
        _exit(1);
    (void)raise(SIGINT);
    if (cs_signal_caught() != SIGINT || n_temps() != 1)
        _exit(2);
    if (arg != NULL)
        exit(3);                 /* the first signal's own way out */
    (void)raise(SIGTERM);
    _exit(4);
}

static void signals_remove_temporaries(void **state)
{
    (void)state;
    int something = 1, status = check_status(two_signals, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    assert_int_equal(n_temps(), 0);
    status = check_status(two_signals, &something);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_int_equal(n_temps(), 0);
    assert_int_equal(cs_file_size("unfinished"), -1);
}

/* The result of cs_stdout_close() when stdout is `arg`: its code, negated, as exit status. */
static void close_stdout_on(void *arg)
{
    const char *path = arg;
    int fd[2];

    if (path == NULL) {
        if (pipe(fd) != 0 || dup2(fd[1], STDOUT_FILENO) < 0)
            _exit(99);
        (void)close(fd[0]);
        (void)close(fd[1]);
    } else if (freopen(path, "w", stdout) == NULL) {
        _exit(99);
    }
    /* More than stdio keeps, so that some of it has failed before the close. */
    for (int i = 0; i < 5000; i++)
        (void)puts("a line of text");
    int rc = cs_stdout_close();
    if (rc == CS_EIO && strstr(cs_error_message(), "cannot write standard output") == NULL)
        _exit(98);
    _exit(-rc);
}

static void stdout_is_checked(void **state)
{
    char file[] = "stdout", full[] = "/dev/full";

    (void)state;
    assert_int_equal(WEXITSTATUS(check_status(close_stdout_on, file)), 0);
    assert_int_equal(cs_file_size(file), 75000);
    assert_int_equal(WEXITSTATUS(check_status(close_stdout_on, NULL)), -CS_ECANCEL);
    if (access(full, W_OK) == 0)
        assert_int_equal(WEXITSTATUS(check_status(close_stdout_on, full)), -CS_EIO);
}

static void put_on_stdout(void *arg)
{
    cs_outfile *f;

    if (freopen("mixed", "w", stdout) == NULL)
        _exit(1);
    (void)printf("header ");
    if (cs_outfile_open(arg, &f) != CS_OK || cs_outfile_printf(f, "body") != CS_OK
        || cs_outfile_close(f) != CS_OK)
        _exit(2);
    (void)printf(" footer");
    _exit(cs_stdout_close() == CS_OK ? 0 : 3);
}

static void stdout_keeps_order(void **state)
{
    char dash[] = "-", device[] = "/dev/stdout";

    (void)state;
    assert_int_equal(WEXITSTATUS(check_status(put_on_stdout, dash)), 0);
    assert_holds("mixed", "header body footer");
    assert_int_equal(WEXITSTATUS(check_status(put_on_stdout, device)), 0);
    assert_holds("mixed", "header body footer");
    assert_int_equal(WEXITSTATUS(check_status(put_on_stdout, NULL)), 0);
    assert_holds("mixed", "header body footer");
}

/* Of many files only those with bytes are synced, and their folder by the caller. */
static void many_files_sync_little(void **state)
{
    (void)state;
    static const struct { const char *name, *text; bool parked; int n_sync; } file[] = {
        { "empty", "", true, 0 }, { "full", "bytes", true, 1 }, { "alone", "", false, 2 },
    };
    cs_outfile *f;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(cs_outfile_open(file[i].name, &f), CS_OK);
        assert_int_equal(file[i].parked ? cs_outfile_park(f) : CS_OK, CS_OK);
        assert_int_equal(cs_outfile_text(f, file[i].text), CS_OK);
        n_synced = 0;
        assert_int_equal(cs_outfile_close(f), CS_OK);
        assert_int_equal(n_synced, file[i].n_sync);
        assert_holds(file[i].name, file[i].text);
    }
}

static void checkpoint_syncs_new_bytes(void **state)
{
    (void)state;
    cs_outfile *f;
    cs_part_mark mark = { 0, 0 };

    assert_int_equal(cs_outfile_continue("one", NULL, mark, &f), CS_OK);
    assert_int_equal(cs_outfile_park(f), CS_OK);
    n_synced = 0;
    for (int i = 0; i < 6; i++) {
        if (i == 3)
            assert_int_equal(cs_outfile_text(f, "bytes"), CS_OK);
        assert_int_equal(cs_outfile_checkpoint(f, &mark), CS_OK);
    }
    assert_int_equal(n_synced, 2);
    assert_int_equal(mark.n_bytes, 5);
    assert_int_equal(cs_outfile_close(f), CS_OK);
    assert_holds("one", "bytes");
}

static void *make_files(void *arg)
{
    cs_outfile *f;

    (void)arg;
    while (cs_outfile_open("made", &f) == CS_OK)
        cs_outfile_discard(f);
    return NULL;
}

/* A thread that finds no memory ends the program while others write. */
static void exit_stops_other_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        int status;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            pthread_t thread;
            cs_signal_init();
            if (pthread_create(&thread, NULL, make_files, NULL) != 0)
                _exit(2);
            (void)usleep(2000);
            exit(1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        assert_int_equal(n_temps(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(renamed_when_complete, reset),
        cmocka_unit_test_setup(discard_keeps_old_file, reset),
        cmocka_unit_test_setup(buffer_boundaries, reset),
        cmocka_unit_test_setup(many_files_sync_little, reset),
        cmocka_unit_test_setup(checkpoint_syncs_new_bytes, reset),
        cmocka_unit_test_setup(modes, reset),
        cmocka_unit_test_setup(symlinks_are_kept, reset),
        cmocka_unit_test_setup(errors_name_the_file, reset),
        cmocka_unit_test_setup(full_device, reset),
        cmocka_unit_test_setup(short_write_keeps_old_file, reset),
        cmocka_unit_test_setup(closed_pipe_is_silent, reset),
        cmocka_unit_test_setup(descriptor_keeps_its_offset, reset),
        cmocka_unit_test_setup(fifo_is_written_directly, reset),
        cmocka_unit_test_setup(full_terminal_blocks, reset),
        cmocka_unit_test_setup(read_only_is_respected, reset),
        cmocka_unit_test_setup(reads_whole_files, reset),
        cmocka_unit_test_setup(failing_allocations, reset),
        cmocka_unit_test_setup(signals_remove_temporaries, reset),
        cmocka_unit_test_setup(exit_stops_other_threads, reset),
        cmocka_unit_test_setup(stdout_is_checked, reset),
        cmocka_unit_test_setup(stdout_keeps_order, reset),
    };

    (void)alarm(120);            /* a hang is a failure */
    return cmocka_run_group_tests(test, set_up, check_leave_scratch);
}
