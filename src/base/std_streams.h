/* std_streams.h - standard input, output and error. */
#ifndef CS_BASE_STD_STREAMS_H
#define CS_BASE_STD_STREAMS_H

#include "base/err.h"

/** cs_std_streams_init - if descriptor 0, 1 or 2 is closed at start, open a placeholder that fails,
 * so that no later file gets that number. Call once, first of all */
void cs_std_streams_init(void);

/** cs_stdout_close - flush and close stdout: CS_OK; CS_EIO if a write failed; CS_ECANCEL without a
 * message if its reader has closed it */
int cs_stdout_close(void) CS_MUST_CHECK;

#endif
