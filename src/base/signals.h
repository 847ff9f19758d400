/* signals.h - signals that end a run, and waits for pipes that they end. */
#ifndef CS_BASE_SIGNALS_H
#define CS_BASE_SIGNALS_H

#include "base/err.h"

/** cs_signal_init - SIGINT, SIGTERM and SIGHUP set a flag (unless ignored at start); a second one,
 * and exit(), remove temporary outputs; SIGPIPE and SIGXFSZ are ignored: write() reports the
 * errors. Call once, from main */
void cs_signal_init(void);
/** cs_signal_caught - the signal received, or 0 */
int cs_signal_caught(void);
/** cs_signal_wait - wait until a pipe, terminal or similar input is readable or at its end; to is
 * the pipe that receives its bytes, or -1. CS_OK; CS_ECANCEL on a signal, or if the reader of `to`
 * has closed it */
int cs_signal_wait(int from, int to) CS_MUST_CHECK;
/** cs_signal_wait_writable - wait until PIPE_BUF bytes can be written to a pipe or socket, or its
 * reader has closed it. CS_OK; CS_ECANCEL on a signal */
int cs_signal_wait_writable(int to) CS_MUST_CHECK;
/** cs_waits_cancel - after a failure: these waits, in all threads, end as on a signal until
 * cs_waits_allow(). Calls nest */
void cs_waits_cancel(void);
void cs_waits_allow(void);

#endif
