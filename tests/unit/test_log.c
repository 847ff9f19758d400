/* test_log.c - log lines, counted warnings, colour, progress on a terminal. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE              /* posix_openpt, ptsname */
#endif
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/log.h"

static int reset(void **state)
{
    (void)state;
    cs_log_set_level(CS_LOG_NOTE);
    (void)unsetenv("NO_COLOR");
    (void)setenv("TERM", "xterm", 1);
    return 0;
}

static char *all_levels(cs_log_level level)
{
    check_stderr c = check_stderr_begin();

    cs_log_set_level(level);
    cs_error("e %d", 1);
    cs_warn("w");
    cs_note("n");
    cs_info("i");
    cs_debug("d");
    return check_stderr_end(c);
}

static void levels_filter(void **state)
{
    static const char *const want[] = {
        [CS_LOG_ERROR] = "chordseq: error: e 1\n",
        [CS_LOG_SILENT] = "",
        [CS_LOG_WARN] = "chordseq: error: e 1\nchordseq: warning: w\n",
        [CS_LOG_NOTE] = "chordseq: error: e 1\nchordseq: warning: w\nchordseq: n\n",
        [CS_LOG_INFO] = "chordseq: error: e 1\nchordseq: warning: w\nchordseq: n\n"
                        "chordseq: info: i\n",
        [CS_LOG_DEBUG] = "chordseq: error: e 1\nchordseq: warning: w\nchordseq: n\n"
                         "chordseq: info: i\nchordseq: debug: d\n",
    };

    (void)state;
    for (int l = CS_LOG_SILENT; l <= CS_LOG_DEBUG; l++) {
        char *got = all_levels((cs_log_level)l);
        assert_string_equal(got, want[l]);
        assert_int_equal(cs_log_get_level(), l);
        free(got);
    }
}

static void errno_is_preserved(void **state)
{
    check_stderr c = check_stderr_begin();

    (void)state;
    errno = ENOENT;
    cs_warn("a line");
    int after = errno;
    free(check_stderr_end(c));
    assert_int_equal(after, ENOENT);
}

static void warn_once_prints_once(void **state)
{
    check_stderr c = check_stderr_begin();

    (void)state;
    for (int i = 0; i < 4; i++)
        cs_warn_once("file %d", i % 2);
    char *got = check_stderr_end(c);
    assert_string_equal(got, "chordseq: warning: file 0\nchordseq: warning: file 1\n");
    free(got);
}

static void control_characters_are_shown(void **state)
{
    check_stderr c = check_stderr_begin();

    (void)state;
    cs_error("record '%s'", "a\033[2Jb\nchordseq: error: forged\x7f");
    char *got = check_stderr_end(c);
    assert_string_equal(got, "chordseq: error: record 'a?[2Jb?chordseq: error: forged?'\n");
    free(got);
}

static void long_line_is_cut_and_ends(void **state)
{
    static char name[100000];
    check_stderr c = check_stderr_begin();

    (void)state;
    memset(name, 'x', sizeof name - 1);
    cs_warn("%s", name);
    char *got = check_stderr_end(c);
    size_t n = strlen(got);
    assert_in_range(n, 1000, 5000);
    assert_string_equal(got + n - 4, "...\n");
    free(got);
}

static void *many_lines(void *arg)
{
    for (int i = 0; i < 500; i++)
        cs_warn("thread %d says the same words again and again, line %d", *(int *)arg, i);
    return NULL;
}

static void lines_do_not_mix(void **state)
{
    enum { N = 4 };
    pthread_t t[N];
    int id[N], n_line = 0;
    check_stderr c = check_stderr_begin();

    (void)state;
    /* A file is extended atomically only in append mode; terminals and pipes need nothing. */
    (void)fcntl(STDERR_FILENO, F_SETFL, O_APPEND);
    for (int i = 0; i < N; i++) {
        id[i] = i;
        assert_int_equal(pthread_create(&t[i], NULL, many_lines, &id[i]), 0);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_join(t[i], NULL), 0);
    char *got = check_stderr_end(c);
    int next[N] = { 0 };
    for (char *line = got; *line != '\0'; n_line++) {
        int who, which, used = 0;
        assert_int_equal(sscanf(line, "chordseq: warning: thread %d says the same words again and "
                                "again, line %d%n", &who, &which, &used), 2);
        assert_int_equal(line[used], '\n');
        assert_in_range(who, 0, N - 1);
        assert_int_equal(which, next[who]++);
        line += used + 1;
    }
    assert_int_equal(n_line, N * 500);
    free(got);
}

static void counted_warning(void **state)
{
    cs_warning w = { 0 }, none = { 0 }, unnamed = { 0 };
    char name[300];
    check_stderr c = check_stderr_begin();

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < 412; i++)
        cs_warning_count(&w, i == 0 ? "read17" : name);
    cs_warning_count(&unnamed, NULL);
    cs_warning_report(&w, 1000000, "record", "contains", "contain", "letters outside IUPAC");
    cs_warning_report(&none, 1000000, "record", "contains", "contain", "letters outside IUPAC");
    cs_warning_report(&unnamed, 2, "window", "is", "are", "empty");
    char *got = check_stderr_end(c);
    assert_string_equal(got, "chordseq: warning: 412 of 1000000 records contain letters outside "
                        "IUPAC; first: 'read17'\nchordseq: warning: 1 of 2 windows is empty\n");
    free(got);
}

static void *count_many(void *arg)
{
    for (int i = 0; i < 10000; i++)
        cs_warning_count(arg, "some name");
    return NULL;
}

static void counting_is_thread_safe(void **state)
{
    cs_warning w = { 0 };
    pthread_t t[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&t[i], NULL, count_many, &w), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(t[i], NULL), 0);
    assert_int_equal(atomic_load(&w.n), 30000);
    assert_string_equal(w.first, "some name");
}

/* A pseudo-terminal as stderr: what the program writes can be read from `master`. */
struct terminal {
    int master, saved;
};

static bool terminal_begin(struct terminal *t)
{
    const char *name;
    int slave;

    t->master = posix_openpt(O_RDWR | O_NOCTTY);
    if (t->master < 0 || grantpt(t->master) != 0 || unlockpt(t->master) != 0
        || (name = ptsname(t->master)) == NULL || (slave = open(name, O_RDWR | O_NOCTTY)) < 0)
        return false;
    t->saved = dup(STDERR_FILENO);
    (void)dup2(slave, STDERR_FILENO);
    (void)close(slave);
    return true;
}

static void terminal_end(struct terminal *t, char *buf, size_t size)
{
    struct pollfd p = { .fd = t->master, .events = POLLIN };
    size_t n = 0;
    ssize_t got;

    while (n + 1 < size && poll(&p, 1, 50) == 1 && (p.revents & POLLIN) != 0
           && (got = read(t->master, buf + n, size - 1 - n)) > 0)
        n += (size_t)got;
    buf[n] = '\0';
    (void)dup2(t->saved, STDERR_FILENO);
    (void)close(t->saved);
    (void)close(t->master);
}

static void colour_on_a_terminal(void **state)
{
    static const struct { const char *no_color, *term; bool coloured; } row[] = {
        { NULL, "xterm", true }, { "", "xterm", true }, { "1", "xterm", false },
        { NULL, "dumb", false },
    };
    char buf[4096];

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct terminal t;
        if (row[i].no_color != NULL)
            (void)setenv("NO_COLOR", row[i].no_color, 1);
        else
            (void)unsetenv("NO_COLOR");
        (void)setenv("TERM", row[i].term, 1);
        if (!terminal_begin(&t))
            skip();
        cs_error("x");
        cs_note("y");
        terminal_end(&t, buf, sizeof buf);
        /* The terminal turns \n into \r\n. */
        assert_string_equal(buf, row[i].coloured
                            ? "chordseq: \033[1;31merror:\033[0m x\r\nchordseq: y\r\n"
                            : "chordseq: error: x\r\nchordseq: y\r\n");
    }
}

static void pause_ms(long ms)
{
    const struct timespec t = { 0, ms * 1000000 };

    (void)nanosleep(&t, NULL);
}

static void progress_line(void **state)
{
    struct terminal t;
    char buf[8192];

    (void)state;
    if (!terminal_begin(&t))
        skip();
    cs_progress *p = cs_progress_new("records", 1000);
    pause_ms(210);
    cs_progress_update(p, 10, 12345678, 250);
    for (int i = 0; i < 1000; i++)
        cs_progress_update(p, 11, 2000, 300);       /* too soon: not shown */
    cs_warn("between");
    cs_progress_free(p);
    cs_warn("after");
    terminal_end(&t, buf, sizeof buf);
    assert_ptr_equal(strstr(buf, "\r\033[Kchordseq: 10 records, 12.3 Mbases, "), buf);
    assert_non_null(strstr(buf, "bases/s, 25 %, 0:01 left\r\033[Kchordseq: "));
    assert_null(strstr(buf, "11 records"));
    assert_non_null(strstr(buf, "between\r\n\r\033[K"));
    char *last = strstr(buf, "between\r\n\r\033[K") + strlen("between\r\n\r\033[K");
    assert_ptr_equal(strstr(last, "chordseq: "), last);     /* nothing left to erase */
}

static void progress_without_total(void **state)
{
    struct terminal t;
    char buf[4096];

    (void)state;
    if (!terminal_begin(&t))
        skip();
    /* An earlier run's part takes no time now: 5 % have taken the 0.2 s, and 75 % are left. */
    cs_progress *p = cs_progress_new("records", 1000);
    cs_progress_skipped(p, 200);
    pause_ms(210);
    cs_progress_update(p, 10, 1000, 250);
    cs_progress_free(p);
    terminal_end(&t, buf, sizeof buf);
    assert_non_null(strstr(buf, "25 %, 0:"));
    assert_null(strstr(buf, "0:01 left"));
    if (!terminal_begin(&t))
        skip();
    p = cs_progress_new("records", 0);
    pause_ms(210);
    cs_progress_update(p, 7, 999, 0);
    cs_progress_free(p);
    terminal_end(&t, buf, sizeof buf);
    assert_non_null(strstr(buf, "7 records, 999 bases, "));
    assert_null(strstr(buf, "left"));
    assert_null(strstr(buf, "%"));
}

/* Replaces libc's clock by one that a test can advance. */
static long forward_s;

int clock_gettime(clockid_t id, struct timespec *t)
{
    const int rc = (int)syscall(SYS_clock_gettime, id, t);

    t->tv_sec += forward_s;
    return rc;
}

static void progress_in_a_log(void **state)
{
    static const struct { cs_log_level level; const char *want; } row[] = {
        { CS_LOG_NOTE, "chordseq: 12 records, 610 bases, 10 bases/s, 50 %, 1:02 left\n" },
        { CS_LOG_WARN, "" }, { CS_LOG_ERROR, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        check_stderr c = check_stderr_begin();
        cs_log_set_level(row[i].level);
        cs_progress *p = cs_progress_new("records", 1000);
        forward_s += 59;
        cs_progress_update(p, 11, 590, 490);            /* less than a minute ago: not shown */
        forward_s += 2;
        cs_progress_update(p, 12, 610, 500);
        cs_progress_update(p, 13, 611, 501);
        cs_progress_free(p);
        cs_progress_free(NULL);
        char *got = check_stderr_end(c);
        assert_string_equal(got, row[i].want);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(levels_filter, reset),
        cmocka_unit_test_setup(errno_is_preserved, reset),
        cmocka_unit_test_setup(warn_once_prints_once, reset),
        cmocka_unit_test_setup(control_characters_are_shown, reset),
        cmocka_unit_test_setup(long_line_is_cut_and_ends, reset),
        cmocka_unit_test_setup(lines_do_not_mix, reset),
        cmocka_unit_test_setup(counted_warning, reset),
        cmocka_unit_test_setup(counting_is_thread_safe, reset),
        cmocka_unit_test_setup(colour_on_a_terminal, reset),
        cmocka_unit_test_setup(progress_line, reset),
        cmocka_unit_test_setup(progress_without_total, reset),
        cmocka_unit_test_setup(progress_in_a_log, reset),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
