/* input_mark.h - does an input change while it is read? */
#ifndef CS_IO_INPUT_MARK_H
#define CS_IO_INPUT_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

/* A regular file as it was when it was opened. */
typedef struct cs_input_mark {
    bool        regular;         /* false: nothing to compare, or compared already */
    bool        is_stdin;
    struct stat was;
} cs_input_mark;

/** cs_input_mark_set - a file, or "-" for standard input, that was just opened */
void cs_input_mark_set(cs_input_mark *m, const char *path);

/**
 * cs_input_mark_check - compare at the end of an input, or after an error
 *
 * path     for messages and, except for standard input, to look again
 * rc       of the reader; anything but its end or an error is returned as is
 * Returns  rc; CS_EIO for a file that has fewer bytes than at its opening. A warning if it
 *          grew or was modified, for example by a program that appends to it. A file that was
 *          removed or replaced is still read as it was
 */
int cs_input_mark_check(cs_input_mark *m, const char *path, int rc) CS_MUST_CHECK;

#endif
