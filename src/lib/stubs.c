/* stubs.c - library stubs of logging and fatal errors: nothing is printed, nothing exits.
 *
 * DESIGN
 * The functions of base/log.h and base/fatal.c that library code may reach, once more: they come
 * before those of the program where the library is linked, so that its log.c and fatal.c stay out.
 * A function of theirs that is missing here would bring both in, and the linker would refuse the
 * doubles.
 *
 * cs_x*() functions cannot fail, and their callers look at nothing. So a lack of memory jumps to
 * where the caller of the library came in, over functions that hold some small allocations, which
 * are lost. No lock is held, and no parallel loop runs, where these are used.
 */
#include "lib/stubs.h"

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

/* For whoever looks at the core. */
void cs_bug(const char *file, int line, const char *what)
{
    (void)cs_fail(CS_ECANCEL, "internal error at %s:%d: %s", file, line, what);
    abort();
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
