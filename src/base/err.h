/* err.h - error codes, the stored message, and forwarding in one line. */
#ifndef CS_BASE_ERR_H
#define CS_BASE_ERR_H

#include <stdio.h>
#include <stdlib.h>

/* Return codes. Zero is success, positive is not an error. */
enum {
    CS_OK = 0,
    CS_EOF = 1,       /* nothing more to read */
    CS_EUSAGE = -1,   /* invalid command line: exit status 2 */
    CS_EIO = -2,      /* a read or write failed */
    CS_EFORMAT = -3,  /* invalid input format */
    CS_EMEM = -4,     /* out of memory */
    CS_EDEVICE = -5,  /* the compute device failed */
    CS_EMODEL = -6,   /* the model does not fit the request */
    CS_ECANCEL = -7   /* another stage failed first, or a signal arrived */
};

#if defined(__GNUC__)
#define CS_MUST_CHECK __attribute__((warn_unused_result))
#define CS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CS_NORETURN __attribute__((noreturn))
#else
#define CS_MUST_CHECK
#define CS_PRINTF(fmt, args)
#define CS_NORETURN
#endif

/**
 * cs_fail - keep a message for this thread and return a code
 *
 * code     one of the negative codes above; returned as is
 * fmt      starts with the problem, in lower case, no full stop, subjects in 'quotes'
 *
 * The first message since cs_error_clear() is stored, so the cause is reported and not its
 * consequences. Use: `return cs_fail(CS_EFORMAT, "'%s' line %ld: ...", path, line);`
 */
int cs_fail(int code, const char *fmt, ...) CS_PRINTF(2, 3);

/** cs_fail_also - append a clause to the message (position or remedy), or set it if there is none.
 * Returns the code */
int cs_fail_also(int code, const char *fmt, ...) CS_PRINTF(2, 3);

/* An option in a message: CS_OPTION("call %s", name) is "--call NAME" in the program, as on the
 * command line, and "call=NAME" in the library, as chordseq_open() takes it. Valid to the end of
 * the full expression. */
#define CS_OPTION(...) (cs_option_show(__VA_ARGS__).text)

typedef struct cs_option_text { char text[80]; } cs_option_text;

/** cs_option_show - for CS_OPTION(). fmt: the name, or the name, a space and the value */
cs_option_text cs_option_show(const char *fmt, ...) CS_PRINTF(1, 2);

/* The word for the number n in a message: CS_PLURAL(n, "record", "records"). */
#define CS_PLURAL(n, one, many) ((n) == 1 ? (one) : (many))

/** cs_error_message - this thread's message; "" when there is none. Valid until cleared. */
const char *cs_error_message(void);

/** cs_error_clear - forget this thread's message */
void cs_error_clear(void);

/** cs_error_name - a code as a word ("out of memory"), for a failure without a message */
const char *cs_error_name(int code);

/** cs_bug - report a broken invariant of our own and abort(); input never reaches it */
void cs_bug(const char *file, int line, const char *what) CS_NORETURN;

/** cs_exhausted - report that a small allocation of n_bytes failed, and exit(1) */
void cs_exhausted(size_t n_bytes) CS_NORETURN;

/* Abort when `cond` is true, in release builds too. For internal errors only. */
#define CS_BUG(cond) do { if (cond) cs_bug(__FILE__, __LINE__, #cond); } while (0)

/* Inside a function with `int rc` and a label `out`: call, and leave on anything but CS_OK. */
#define CS_TRY(call) do { if ((rc = (call)) != CS_OK) goto out; } while (0)

#endif
