/* sha256.h - a checksum of bytes, for model files. */
#ifndef CS_BASE_SHA256_H
#define CS_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cs_sha256 {
    uint32_t h[8];
    uint64_t n_bytes;            /* so far */
    unsigned char block[64];     /* the last n_bytes % 64 bytes */
} cs_sha256;

/** cs_sha256_init, cs_sha256_add, cs_sha256_hex - start; any number of pieces; 64 digits and a NUL
 *
 * Source   FIPS 180-4
 */
void cs_sha256_init(cs_sha256 *s);
void cs_sha256_add(cs_sha256 *s, const void *p, size_t n_bytes);
void cs_sha256_hex(cs_sha256 *s, char hex[65]);
/** cs_sha256_file - of a file's bytes. CS_OK; CS_EIO; CS_ECANCEL on a signal */
int cs_sha256_file(const char *path, char hex[65]) CS_MUST_CHECK;

#endif
