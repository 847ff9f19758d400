/* err_fatal.c - fatal errors: internal errors and failed small allocations.
 *
 * A separate file, because the library neither exits nor prints: it has its own version
 * (src/lib/stubs.c), and the linker then omits this one.
 */
#include "base/err.h"
#include "base/log.h"

void cs_bug(const char *file, int line, const char *what)
{
    cs_error("internal error at %s:%d: %s; please report it with the command line",
             file, line, what);
    abort();
}

void cs_exhausted(size_t n_bytes)
{
    cs_error("out of memory: cannot allocate %zu bytes", n_bytes);
    exit(EXIT_FAILURE);
}
