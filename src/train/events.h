/* events.h - TensorBoard event files: scalars by step. */
#ifndef CS_TRAIN_EVENTS_H
#define CS_TRAIN_EVENTS_H

#include <stdint.h>

#include "base/err.h"

typedef struct cs_events cs_events;

/** cs_events_check - can a file be created in a folder, which need not exist? It is not made.
 * folder NULL: nothing. CS_OK; CS_EIO */
int cs_events_check(const char *folder) CS_MUST_CHECK;

/**
 * cs_events_open - create a new event file in a folder, which is made if it is missing
 *
 * Every run adds a file, also to a folder with others, which TensorBoard shows as one.
 *
 * out      close it
 * Returns  CS_OK; CS_EIO
 */
int cs_events_open(const char *folder, cs_events **out) CS_MUST_CHECK;
/** cs_events_add - one value, at a step and now. CS_OK; CS_EIO */
int cs_events_add(cs_events *e, int64_t step, const char *tag, double value) CS_MUST_CHECK;
/** cs_events_flush - write added events to the file. CS_OK; CS_EIO */
int cs_events_flush(cs_events *e) CS_MUST_CHECK;
void cs_events_close(cs_events *e);       /* NULL: nothing */

#endif
