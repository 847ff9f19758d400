/* file.h - files: read a small one whole, sizes, symbolic links, syncing. */
#ifndef CS_BASE_FILE_H
#define CS_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/**
 * cs_file_read - a whole small file, or standard input for "-"
 *
 * /dev/fd/N is the descriptor itself: it is read from its present offset.
 *
 * p        receives the bytes and a NUL; free() it
 * Returns  CS_OK; CS_EIO; CS_EFORMAT for more than max_bytes; CS_EMEM; CS_ECANCEL on a signal
 */
int cs_file_read(const char *path, size_t max_bytes, char **p, size_t *n_bytes) CS_MUST_CHECK;

/** cs_bom_bytes - the bytes of UTF-8's byte order mark at the start of a text: 3 or 0. Spreadsheets
 * write it; cs_lines_next() skips it */
size_t cs_bom_bytes(const char *text, size_t n);

/** cs_file_size - bytes of a regular file; -1 for anything else */
int64_t cs_file_size(const char *path);
/** cs_file_is_device - is there a device, a pipe or a folder? What is written to them cannot be
 * read again */
bool cs_file_is_device(const char *path);

/** cs_path_resolve - a copy of the path, or of where it points at last as a symbolic link, existing
 * or not; free() it. CS_OK; CS_EIO for a loop of links; CS_EMEM */
int cs_path_resolve(const char *path, char **out) CS_MUST_CHECK;

/** cs_sync_file - fsync() that signals do not interrupt. 0, or -1 with errno */
int cs_sync_file(int fd);
/** cs_sync_folder_of - sync the folder of a file after its rename, so that its name survives a
 * power failure, too; where the file system can */
void cs_sync_folder_of(const char *path);

#endif
