/*
 * log.c - the only place that writes to stderr.
 *
 * DESIGN
 * A line is formatted on the stack and written by one write(), which the kernel does not mix with
 * other writes to a terminal or pipe. On a terminal the progress line has no newline and is
 * rewritten in place; other lines erase it first, in the same write. In a log file it is an
 * ordinary line, and rare. Control characters, which a hostile record name may contain, are shown
 * as '?'.
 */
#include "base/log.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum { LINE_BYTES = 4096 };

#define ERASE "\r\033[K"

static atomic_int level_now = CS_LOG_NOTE;
static atomic_bool progress_shown;

/* A line under construction; `n` never reaches LINE_BYTES - 1, so that the newline fits. */
struct line {
    char text[LINE_BYTES];
    size_t n;
};

void cs_log_set_level(cs_log_level level)
{
    atomic_store(&level_now, (int)level);
}

cs_log_level cs_log_get_level(void)
{
    return (cs_log_level)atomic_load(&level_now);
}

static bool on_terminal(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
}

static bool in_colour(void)
{
    const char *no = getenv("NO_COLOR");

    return (no == NULL || no[0] == '\0') && on_terminal();
}

static void log_append(struct line *l, const char *s)
{
    size_t n = strlen(s), space = sizeof l->text - 1 - l->n;

    if (n > space)
        n = space;
    memcpy(l->text + l->n, s, n);
    l->n += n;
}

static void append_format(struct line *l, const char *fmt, va_list ap)
{
    size_t space = sizeof l->text - 1 - l->n, start = l->n;
    int n = vsnprintf(l->text + l->n, space, fmt, ap);

    if (n < 0)
        return;
    if ((size_t)n >= space) {
        l->n += space - 1;
        memcpy(l->text + l->n - 3, "...", 3);
    } else {
        l->n += (size_t)n;
    }
    for (size_t i = start; i < l->n; i++) {
        unsigned char c = (unsigned char)l->text[i];
        if (c < 0x20 || c == 0x7f)
            l->text[i] = '?';
    }
}

static void emit(const struct line *l)
{
    ssize_t n;

    /* Errors of stderr itself cannot be reported. */
    do
        n = write(STDERR_FILENO, l->text, l->n);
    while (n < 0 && errno == EINTR);
}

static void print(cs_log_level level, const char *tag, const char *colour, const char *fmt,
                  va_list ap)
{
    int saved = errno;
    struct line l = { .n = 0 };
    bool tinted = tag != NULL && colour != NULL && in_colour();

    if (level > cs_log_get_level())
        return;
    if (atomic_load(&progress_shown))
        log_append(&l, ERASE);
    log_append(&l, "chordseq: ");
    if (tinted)
        log_append(&l, colour);
    if (tag != NULL)
        log_append(&l, tag);
    if (tinted)
        log_append(&l, "\033[0m");
    if (tag != NULL)
        log_append(&l, " ");
    append_format(&l, fmt, ap);
    log_append(&l, "\n");
    emit(&l);
    errno = saved;
}

void cs_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print(CS_LOG_ERROR, "error:", "\033[1;31m", fmt, ap);
    va_end(ap);
}

void cs_warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print(CS_LOG_WARN, "warning:", "\033[1;33m", fmt, ap);
    va_end(ap);
}

void cs_warn_once(const char *fmt, ...)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct { char **v; size_t n; } seen;
    const int saved = errno;
    char text[LINE_BYTES];
    size_t i = 0;
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    CS_BUG(pthread_mutex_lock(&lock) != 0);
    while (i < seen.n && strcmp(seen.v[i], text) != 0)
        i++;
    if (i == seen.n) {
        seen.v = cs_xrealloc(seen.v, (seen.n + 1) * sizeof *seen.v);
        seen.v[seen.n++] = cs_xstrdup(text);
        cs_warn("%s", text);
    }
    CS_BUG(pthread_mutex_unlock(&lock) != 0);
    errno = saved;
}

void cs_info(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print(CS_LOG_INFO, "info:", NULL, fmt, ap);
    va_end(ap);
}

void cs_debug(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print(CS_LOG_DEBUG, "debug:", NULL, fmt, ap);
    va_end(ap);
}

void cs_note(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print(CS_LOG_NOTE, NULL, NULL, fmt, ap);
    va_end(ap);
}

/* `taken` is 0 at first, 1 while the first caller copies its name, 2 when the name may be read. */
void cs_warning_count(cs_warning *w, const char *name)
{
    int nobody = 0;

    atomic_fetch_add_explicit(&w->n, 1, memory_order_relaxed);
    if (atomic_load_explicit(&w->taken, memory_order_relaxed) == 0
        && atomic_compare_exchange_strong(&w->taken, &nobody, 1)) {
        (void)snprintf(w->first, sizeof w->first, "%s", name != NULL ? name : "");
        atomic_store(&w->taken, 2);
    }
}

void cs_warning_report(const cs_warning *w, uint64_t total, const char *unit, const char *one,
                       const char *many, const char *what)
{
    unsigned long long n = atomic_load(&w->n);
    const bool named = atomic_load(&w->taken) == 2 && w->first[0] != '\0';

    if (n > 0)
        cs_warn("%llu of %llu %s%s %s %s%s%s%s", n, (unsigned long long)total, unit,
                CS_PLURAL(total, "", "s"), CS_PLURAL(n, one, many), what,
                named ? "; first: '" : "", named ? w->first : "", named ? "'" : "");
}

struct cs_progress {
    const char *unit;
    int64_t total_bytes, skipped_bytes;
    double start, last;          /* seconds on the monotonic clock */
    bool live, in_place;
};

/* Seconds between two lines: on a terminal, and in a log file. */
static const double IN_PLACE_S = 0.2, IN_LOG_S = 60;

cs_progress *cs_progress_new(const char *unit, int64_t total_bytes)
{
    cs_progress *p = cs_xcalloc(1, sizeof *p);

    p->unit = unit;
    p->total_bytes = total_bytes;
    p->start = p->last = cs_now_s();
    p->live = cs_log_get_level() >= CS_LOG_NOTE;
    p->in_place = on_terminal();
    return p;
}

void cs_progress_skipped(cs_progress *p, int64_t n_bytes)
{
    p->skipped_bytes = n_bytes;
}

static void append_text(struct line *l, const char *fmt, ...) CS_PRINTF(2, 3);
static void append_text(struct line *l, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    append_format(l, fmt, ap);
    va_end(ap);
}

char *cs_scaled_text(double v, const char *unit, char *buf, size_t n_buf)
{
    static const char prefix[] = " kMGT";
    int i = 0;

    while (v >= 999.5 && prefix[i + 1] != '\0') {
        v /= 1000;
        i++;
    }
    if (i == 0)
        (void)snprintf(buf, n_buf, "%.0f %s", v, unit);
    else
        (void)snprintf(buf, n_buf, "%.*f %c%s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, prefix[i],
                       unit);
    return buf;
}

static void append_scaled(struct line *l, double v, const char *unit)
{
    char text[CS_SCALED_BYTES];

    log_append(l, cs_scaled_text(v, unit, text, sizeof text));
}

/* Percentage and time left; the rate is that of this run, without bytes done by an earlier one. */
static void append_left(struct line *l, const cs_progress *p, double n_bytes, double elapsed)
{
    const double all = (double)p->total_bytes, done = fmin(all, n_bytes);
    const double now = done - (double)p->skipped_bytes;
    const double left = ceil(elapsed * (all - done) / now);

    append_text(l, ", %.0f %%", 100 * done / all);
    if (!(now > 0) || left >= 3600 * 100)
        return;
    int s = (int)left;
    if (s >= 3600)
        append_text(l, ", %d:%02d:%02d left", s / 3600, s / 60 % 60, s % 60);
    else
        append_text(l, ", %d:%02d left", s / 60, s % 60);
}

void cs_progress_update(cs_progress *p, uint64_t n_record, uint64_t n_base, int64_t n_bytes)
{
    int saved = errno;
    struct line l = { .n = 0 };
    double now, elapsed;

    if (!p->live || (now = cs_now_s()) - p->last < (p->in_place ? IN_PLACE_S : IN_LOG_S))
        return;
    p->last = now;
    elapsed = now - p->start;
    log_append(&l, p->in_place ? ERASE : "");
    append_text(&l, "chordseq: %llu %s, ", (unsigned long long)n_record, p->unit);
    append_scaled(&l, (double)n_base, "bases");
    log_append(&l, ", ");
    append_scaled(&l, (double)n_base / elapsed, "bases/s");
    if (p->total_bytes > 0 && n_bytes > 0)
        append_left(&l, p, (double)n_bytes, elapsed);
    if (p->in_place)
        atomic_store(&progress_shown, true);
    else
        log_append(&l, "\n");
    emit(&l);
    errno = saved;
}

void cs_progress_free(cs_progress *p)
{
    if (p != NULL && p->live && atomic_exchange(&progress_shown, false)) {
        struct line l = { .n = 0 };
        log_append(&l, ERASE);
        emit(&l);
    }
    free(p);
}
