/* inflate.h - decompress one deflated block in memory. */
#ifndef CS_IO_INFLATE_H
#define CS_IO_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cs_inflater cs_inflater;

/** cs_inflater_new - for one thread at a time; NULL when out of memory */
cs_inflater *cs_inflater_new(void);
void         cs_inflater_free(cs_inflater *z);   /* accepts NULL */

/**
 * cs_inflate - inflate a raw deflate stream and verify it
 *
 * Returns  true if all of in gave exactly n_out bytes with that checksum (gzip's CRC-32)
 */
bool cs_inflate(cs_inflater *z, const void *in, size_t n_in, void *out, size_t n_out, uint32_t crc);

/** cs_inflater_name - of the library that does it */
const char *cs_inflater_name(void);

#endif
