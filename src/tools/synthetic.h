/* synthetic.h - synthetic tasks of real-valued series: adding, xor and temporal order. */
#ifndef CS_TOOLS_SYNTHETIC_H
#define CS_TOOLS_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { CS_ADDING_MIN_LEN = 32 };           /* the paper's */

typedef struct cs_synthetic {
    int64_t  n;                  /* records */
    double   lambda;             /* adding: scale of the lengths */
    int64_t  max_len;            /* adding: maximum length */
    int64_t  length;             /* other tasks: length of every record */
    uint64_t seed;
} cs_synthetic;

/** cs_synthetic_is - is it the name of a task? */
bool cs_synthetic_is(const char *task);
/** cs_synthetic_write - write the records of a task of cs_synthetic_is(). CS_OK; CS_EUSAGE if
 * hardly any length is in the range; CS_ECANCEL; CS_EIO */
int cs_synthetic_write(const char *task, const cs_synthetic *s, const char *output) CS_MUST_CHECK;

#endif
