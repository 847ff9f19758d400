/*
 * check.h - what cmocka lacks: relative norms, buffers that end at a forbidden page, guard words,
 * calls that must abort, free ports, scratch folders, and what was written to stderr.
 *
 * Everything is static inline, so a test is one file plus this one. Include it before anything
 * else of cmocka: it brings the headers that cmocka.h needs.
 */
#ifndef CS_TESTS_CHECK_H
#define CS_TESTS_CHECK_H

#include <arpa/inet.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef assert_int_in_range      /* cmocka 2, which deprecates the old name */
#undef assert_in_range
#define assert_in_range assert_int_in_range
#endif

/** check_free_port - a TCP port of this machine that was free a moment ago */
static inline int check_free_port(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    (void)close(fd);
    return ntohs(a.sin_port);
}

/** check_enter_scratch - set-up of a group whose working directory is a new folder */
static inline int check_enter_scratch(void **state)
{
    char folder[] = "/tmp/chordseq-test-XXXXXX";

    *state = mkdtemp(folder) ? strdup(folder) : NULL;
    return *state == NULL || chdir(*state) != 0;
}

/** check_leave_scratch - its tear-down: removes the folder */
static inline int check_leave_scratch(void **state)
{
    char command[100];

    (void)snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
    free(*state);
    return chdir("/") != 0 || system(command) != 0;
}

/**
 * check_rel_norm - ||got - want|| / ||want||, Euclidean, summed in double
 *
 * Returns  ||got|| when want is zero; infinity when a difference is not finite
 */
static inline double check_rel_norm(const double *got, const double *want, int64_t n)
{
    double d2 = 0, w2 = 0;

    for (int64_t i = 0; i < n; i++) {
        double d = got[i] - want[i];
        if (!isfinite(d))
            return INFINITY;
        d2 += d * d;
        w2 += want[i] * want[i];
    }
    return w2 > 0 ? sqrt(d2 / w2) : sqrt(d2);
}

/** check_near - fail unless |got - want| <= tol, saying both */
static inline void check_near(double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol))
        fail_msg("got %.17g instead of %.17g, not within %g", got, want, tol);
}

/** check_rel_normf - check_rel_norm() for float */
static inline double check_rel_normf(const float *got, const float *want, int64_t n)
{
    double d2 = 0, w2 = 0;

    for (int64_t i = 0; i < n; i++) {
        double d = (double)got[i] - (double)want[i];
        if (!isfinite(d))
            return INFINITY;
        d2 += d * d;
        w2 += (double)want[i] * (double)want[i];
    }
    return w2 > 0 ? sqrt(d2 / w2) : sqrt(d2);
}

/* Fail with both numbers when `value` is above `limit` (or not a number). */
#define check_below(value, limit) \
    check_below_at((double)(value), (double)(limit), #value, __FILE__, __LINE__)

static inline void check_below_at(double value, double limit, const char *what, const char *file,
                                  int line)
{
    if (value <= limit)
        return;
    print_error("%s is %.3g, allowed is %.3g\n", what, value, limit);
    _fail(file, line);
}

/* n_bytes at p that end where memory ends: p[n_bytes] is a page that may not be touched, and so is
 * the page before the first. p is aligned to what n_bytes leaves, as callers' memory may be. */
typedef struct check_page {
    unsigned char *map;
    size_t map_bytes;
    void *p;
} check_page;

/** check_page_new - such a buffer, filled with 0xA5; a test that cannot have it fails */
static inline check_page check_page_new(size_t n_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = (n_bytes + page - 1) / page * page;
    check_page b = { .map_bytes = inner + 2 * page };

    b.map = mmap(NULL, b.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b.map == MAP_FAILED || (inner > 0 && mprotect(b.map + page, inner,
                                                      PROT_READ | PROT_WRITE) != 0))
        fail_msg("cannot map %zu bytes", b.map_bytes);
    b.p = b.map + page + inner - n_bytes;
    memset(b.map + page, 0xA5, inner);
    return b;
}

static inline void check_page_free(check_page *b)
{
    (void)munmap(b->map, b->map_bytes);
    *b = (check_page){ NULL, 0, NULL };
}

enum { CHECK_GUARD_BYTES = 64 };

/** check_guard_fill - write a pattern that depends on the position, so that a shift shows too */
static inline void check_guard_fill(void *p, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        ((unsigned char *)p)[i] = (unsigned char)(0xA5 ^ (i * 29));
}

/** check_guard_intact - is the pattern still there? */
static inline bool check_guard_intact(const void *p, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        if (((const unsigned char *)p)[i] != (unsigned char)(0xA5 ^ (i * 29)))
            return false;
    return true;
}

/** check_guarded_new - n_bytes, aligned to 64, with guard words on both sides */
static inline void *check_guarded_new(size_t n_bytes)
{
    size_t inner = (n_bytes + CHECK_GUARD_BYTES - 1) / CHECK_GUARD_BYTES * CHECK_GUARD_BYTES;
    unsigned char *p = aligned_alloc(CHECK_GUARD_BYTES, inner + 2 * CHECK_GUARD_BYTES);

    if (p == NULL)
        fail_msg("cannot allocate %zu bytes", n_bytes);
    check_guard_fill(p, CHECK_GUARD_BYTES);
    check_guard_fill(p + CHECK_GUARD_BYTES + n_bytes, inner - n_bytes + CHECK_GUARD_BYTES);
    return p + CHECK_GUARD_BYTES;
}

/** check_guarded_free - fail when a guard word was overwritten; n_bytes as given to _new */
static inline void check_guarded_free(void *p, size_t n_bytes)
{
    unsigned char *start = (unsigned char *)p - CHECK_GUARD_BYTES;
    size_t inner = (n_bytes + CHECK_GUARD_BYTES - 1) / CHECK_GUARD_BYTES * CHECK_GUARD_BYTES;
    bool before = check_guard_intact(start, CHECK_GUARD_BYTES);
    bool after = check_guard_intact((unsigned char *)p + n_bytes,
                                    inner - n_bytes + CHECK_GUARD_BYTES);

    free(start);
    if (!before || !after)
        fail_msg("bytes %s the buffer were overwritten", before ? "after" : "before");
}

/** check_status - run fn(arg) in a child process with stderr closed; its wait status. A child that
 * returns from fn exits with 0. */
static inline int check_status(void (*fn)(void *arg), void *arg)
{
    int status = 0;

    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        /* No core file of an expected abort. */
        const struct rlimit none = { 0, 0 };
        (void)setrlimit(RLIMIT_CORE, &none);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(99);
        fn(arg);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        fail_msg("cannot run a child process");
    return status;
}

/** check_aborts - does fn(arg) end in abort(), as CS_BUG does? */
static inline bool check_aborts(void (*fn)(void *arg), void *arg)
{
    int status = check_status(fn, arg);

    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/* stderr between check_stderr_begin() and check_stderr_end(), which gives the text; free() it. */
typedef struct check_stderr {
    FILE *file;
    int saved;
} check_stderr;

static inline check_stderr check_stderr_begin(void)
{
    check_stderr c = { tmpfile(), dup(STDERR_FILENO) };

    if (c.file == NULL || c.saved < 0 || dup2(fileno(c.file), STDERR_FILENO) < 0)
        fail_msg("cannot redirect stderr");
    return c;
}

static inline char *check_stderr_end(check_stderr c)
{
    char *text = NULL;
    off_t n = lseek(fileno(c.file), 0, SEEK_END);

    (void)dup2(c.saved, STDERR_FILENO);
    (void)close(c.saved);
    if (n < 0 || (text = calloc((size_t)n + 1, 1)) == NULL
        || pread(fileno(c.file), text, (size_t)n, 0) != n)
        fail_msg("cannot read stderr back");
    (void)fclose(c.file);
    return text;
}

#endif
