/* gzi.h - read the .gzi index of a BGZF file (`bgzip -r`, `samtools faidx`). */
#ifndef CS_IO_GZI_H
#define CS_IO_GZI_H

#include <stdint.h>

/**
 * cs_gzi_before - the start of a block, from PATH.gzi
 *
 * at       bytes of the file
 * Returns  the last start in the index up to `at`; 0 if the index is missing, damaged, or older
 *          than the file
 */
int64_t cs_gzi_before(const char *path, int64_t at);

/**
 * cs_gzi_text_bytes - bytes of the text of a BGZF file, from PATH.gzi and the file's end
 *
 * Returns  -1 if the index is missing or damaged, or its last block is not the file's: of another
 *          file, or of one that was truncated
 */
int64_t cs_gzi_text_bytes(const char *path);

#endif
