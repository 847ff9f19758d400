/* data_url.h - bytes as a path: htslib opens "data:;base64,..." like a file, so that fuzz targets
 * need none. */
#ifndef CS_TESTS_DATA_URL_H
#define CS_TESTS_DATA_URL_H

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

/** data_url - free() it */
static inline char *data_url(const void *bytes, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char head[] = "data:;base64,";
    const uint8_t *p = bytes;
    char *url = cs_xmalloc(sizeof head + (n + 2) / 3 * 4);
    char *out = url + sizeof head - 1;
    memcpy(url, head, sizeof head);
    for (size_t i = 0; i < n; i += 3) {
        const uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
                           (i + 2 < n ? p[i + 2] : 0);
        *out++ = digit[v >> 18];
        *out++ = digit[v >> 12 & 63];
        *out++ = i + 1 < n ? digit[v >> 6 & 63] : '=';
        *out++ = i + 2 < n ? digit[v & 63] : '=';
    }
    *out = '\0';
    return url;
}

#endif
