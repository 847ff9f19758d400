/*
 * err.c - the stored message of each thread.
 *
 * DESIGN
 * The message lives in thread-local memory of fixed size: an error path must not allocate, because
 * out of memory is one of the errors. A stage's message crosses to the thread that started it in
 * cs_pipe_run(), which is the only place that moves one.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { MESSAGE_BYTES = 2048 };

static _Thread_local char message[MESSAGE_BYTES];

int cs_fail(int code, const char *fmt, ...)
{
    int saved = errno;

    CS_BUG(code >= 0);
    if (message[0] == '\0') {
        va_list ap;
        va_start(ap, fmt);
        (void)vsnprintf(message, sizeof message, fmt, ap);
        va_end(ap);
    }
    errno = saved;
    return code;
}

int cs_fail_also(int code, const char *fmt, ...)
{
    const int saved = errno;
    const size_t n = strlen(message);
    va_list ap;

    CS_BUG(code >= 0);
    va_start(ap, fmt);
    (void)vsnprintf(message + n, sizeof message - n, fmt + (n > 0 ? 0 : strspn(fmt, "; ")), ap);
    va_end(ap);
    errno = saved;
    return code;
}

const char *cs_error_message(void)
{
    return message;
}

void cs_error_clear(void)
{
    message[0] = '\0';
}

const char *cs_error_name(int code)
{
    switch (code) {
    case CS_OK:      return "no error";
    case CS_EOF:     return "end of input";
    case CS_EUSAGE:  return "wrong use";
    case CS_EIO:     return "input or output failed";
    case CS_EFORMAT: return "malformed input";
    case CS_EMEM:    return "out of memory";
    case CS_EDEVICE: return "the compute device failed";
    case CS_EMODEL:  return "the model does not fit the request";
    case CS_ECANCEL: return "cancelled";
    default:         return "unknown error";
    }
}
