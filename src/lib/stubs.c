/* stubs.c - library versions of logging, fatal errors and options in messages.
 *
 * DESIGN
 * Functions of base/log.h, base/err_fatal.c and base/err_option.c: nothing is printed, nothing
 * exits. They precede those of the program when the library is linked, so these files are not
 * linked. A missing function here would pull in its file, and the linker would report duplicates.
 *
 * cs_x*() functions cannot fail, and their callers check nothing. So out of memory jumps to the
 * library's entry point and leaks small allocations of the functions between. No lock is held, and
 * no parallel loop runs, where these are used.
 */
#include "lib/stubs.h"

#include <stdarg.h>
#include <string.h>

#include "base/log.h"

static _Thread_local jmp_buf *catcher;

jmp_buf *cs_exhausted_catch(jmp_buf *here)
{
    jmp_buf *before = catcher;

    catcher = here;
    return before;
}

void cs_exhausted(size_t n_bytes)
{
    (void)cs_fail(CS_EMEM, "out of memory: cannot allocate %zu bytes", n_bytes);
    if (catcher)
        longjmp(*catcher, 1);
    abort();
}

/* For debugging a core dump. */
void cs_bug(const char *file, int line, const char *what)
{
    (void)cs_fail(CS_ECANCEL, "internal error at %s:%d: %s", file, line, what);
    abort();
}

cs_option_text cs_option_show(const char *fmt, ...)
{
    cs_option_text o;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(o.text, sizeof o.text, fmt, args);
    va_end(args);
    char *const space = strchr(o.text, ' ');
    if (space)
        *space = '=';
    return o;
}

void cs_error(const char *fmt, ...)
{
    (void)fmt;
}

void cs_warn(const char *fmt, ...)
{
    (void)fmt;
}

void cs_warn_once(const char *fmt, ...)
{
    (void)fmt;
}

void cs_info(const char *fmt, ...)
{
    (void)fmt;
}

void cs_debug(const char *fmt, ...)
{
    (void)fmt;
}

void cs_note(const char *fmt, ...)
{
    (void)fmt;
}
