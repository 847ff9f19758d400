/* tensorboard.h - TensorBoard event files: scalars by step. */
#ifndef CS_TRAIN_TENSORBOARD_H
#define CS_TRAIN_TENSORBOARD_H

#include <stdint.h>

#include "base/err.h"

typedef struct cs_tensorboard cs_tensorboard;

/** cs_tensorboard_check - can a file be created in a folder, which need not exist? It is not made.
 * folder NULL: nothing. CS_OK; CS_EIO */
int cs_tensorboard_check(const char *folder) CS_MUST_CHECK;

/**
 * cs_tensorboard_open - create a new event file in a folder, which is made if it is missing
 *
 * Every run adds a file, also to a folder with others, which TensorBoard shows as one.
 *
 * out      close it
 * Returns  CS_OK; CS_EIO
 */
int cs_tensorboard_open(const char *folder, cs_tensorboard **out) CS_MUST_CHECK;
enum { CS_TENSORBOARD_TAG = 100 };       /* maximum bytes of a tag */
/** cs_tensorboard_add - one value, at a step and now; a longer tag is cut. CS_OK; CS_EIO */
int cs_tensorboard_add(cs_tensorboard *e, int64_t step, const char *tag, double value)
    CS_MUST_CHECK;
/** cs_tensorboard_flush - write added events to the file. CS_OK; CS_EIO */
int cs_tensorboard_flush(cs_tensorboard *e) CS_MUST_CHECK;
void cs_tensorboard_close(cs_tensorboard *e);       /* NULL: nothing */

#endif
