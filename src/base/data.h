/* data.h - paths of installed data files. */
#ifndef CS_BASE_DATA_H
#define CS_BASE_DATA_H

#include <stdbool.h>
#include <stddef.h>

/**
 * cs_data_find - the path of an installed file or folder, such as "model/default.safetensors"
 *
 * A program in a build folder searches refdata of its source tree first, or make's link to it,
 * chordseq.data beside the program; then share/chordseq of the program's prefix; then the folder
 * given to `configure`.
 *
 * buf      receives the path, also of a missing installed file
 * Returns  false if unreadable
 */
bool cs_data_find(const char *name, char *buf, size_t n_buf);

#endif
