/* data.h - paths of installed data files. */
#ifndef CS_BASE_DATA_H
#define CS_BASE_DATA_H

#include <stdbool.h>
#include <stddef.h>

/**
 * cs_data_find - the path of an installed file or folder, such as "model/default.safetensors"
 *
 * The program may run where it was built: refdata of the source tree that it lies in comes first,
 * or make's link to it, chordseq.data beside the program.
 * Then come share/chordseq of the prefix that the program lies in, and the folder of `configure`.
 *
 * buf      receives the path, also of a missing installed file
 * Returns  false if unreadable
 */
bool cs_data_find(const char *name, char *buf, size_t n_buf);

#endif
