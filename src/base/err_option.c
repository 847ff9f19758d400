/* err_option.c - options in messages, as on the command line.
 *
 * A separate file, because the library has its own version (src/lib/stubs.c), and the linker then
 * omits this one.
 */
#include <stdarg.h>

#include "base/err.h"

cs_option_text cs_option_show(const char *fmt, ...)
{
    cs_option_text o = { "--" };
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(o.text + 2, sizeof o.text - 2, fmt, args);
    va_end(args);
    return o;
}
