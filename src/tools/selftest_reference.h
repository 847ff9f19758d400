/* selftest_reference.h - compare this machine's results with installed reference results. */
#ifndef CS_TOOLS_SELFTEST_REFERENCE_H
#define CS_TOOLS_SELFTEST_REFERENCE_H

#include "infer/args.h"

typedef struct cs_selftest_args {
    const char *vectors, *model;
    cs_compute_args compute;
} cs_selftest_args;
extern const cs_opt cs_selftest_table[];

/** cs_selftest - compare every device and level with reference results, and print them. CS_OK;
 * CS_EDEVICE if any differs; CS_EIO; CS_EFORMAT */
int cs_selftest(const cs_selftest_args *a) CS_MUST_CHECK;

#endif
