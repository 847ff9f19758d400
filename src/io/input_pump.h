/* input_pump.h - helper thread for inputs that block: a signal ends them. */
#ifndef CS_IO_INPUT_PUMP_H
#define CS_IO_INPUT_PUMP_H

#include <pthread.h>
#include <stddef.h>

#include "base/err.h"

struct hFILE;

/**
 * cs_pump_open - open a file, or "-" for standard input, for reading
 *
 * Pipes, FIFOs and terminals end on SIGINT, SIGTERM or SIGHUP as if complete: see
 * cs_pump_interrupted().
 * Returns  for hclose(), or NULL with errno
 */
struct hFILE *cs_pump_open(const char *path);

/** cs_input_shown - the name of an input in messages: "-" is standard input */
const char *cs_input_shown(const char *path);

/** cs_pump_interrupted - a reader's return value for rc of the library below: an end or error after
 * a signal is CS_ECANCEL */
int cs_pump_interrupted(int rc) CS_MUST_CHECK;

/** cs_pump_start - pthread_create() of a thread that handles no signals; 0 or an errno */
int cs_pump_start(pthread_t *thread, void *(*run)(void *), void *arg) CS_MUST_CHECK;

#endif
