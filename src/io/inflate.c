/* inflate.c - decompress one deflated block in memory.
 *
 * DESIGN: libdeflate, if available, inflates whole blocks only, as in BGZF, and faster than zlib.
 * Both give the same text. libdeflate also accepts streams with an undefined code, which zlib
 * refuses: no writer makes them, and damaged ones fail the checksum.
 */
#include "io/inflate.h"

#include "base/mem.h"

#ifdef CS_HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#ifdef CS_HAVE_LIBDEFLATE

struct cs_inflater { struct libdeflate_decompressor *of; };

static bool inflate_begin(cs_inflater *z)
{
    z->of = libdeflate_alloc_decompressor();
    return z->of != NULL;
}

static void end(cs_inflater *z)
{
    libdeflate_free_decompressor(z->of);
}

bool cs_inflate(cs_inflater *z, const void *in, size_t n_in, void *out, size_t n_out, uint32_t crc)
{
    size_t used;

    /* Without an argument for the actual size, less than n_out is an error. */
    return libdeflate_deflate_decompress_ex(z->of, in, n_in, out, n_out, &used, NULL)
               == LIBDEFLATE_SUCCESS
        && used == n_in && libdeflate_crc32(0, out, n_out) == crc;
}

const char *cs_inflater_name(void)
{
    return "libdeflate " LIBDEFLATE_VERSION_STRING;
}

#else

struct cs_inflater { z_stream of; };

static bool inflate_begin(cs_inflater *z)
{
    return inflateInit2(&z->of, -15) == Z_OK;      /* -: no header */
}

static void end(cs_inflater *z)
{
    inflateEnd(&z->of);
}

bool cs_inflate(cs_inflater *z, const void *in, size_t n_in, void *out, size_t n_out, uint32_t crc)
{
    inflateReset(&z->of);
    z->of.next_in = (Bytef *)(uintptr_t)in;        /* zlib does not write there */
    z->of.avail_in = (uInt)n_in;
    z->of.next_out = out;
    z->of.avail_out = (uInt)n_out;
    return inflate(&z->of, Z_FINISH) == Z_STREAM_END && z->of.avail_out == 0
        && z->of.avail_in == 0 && crc32(crc32(0, NULL, 0), out, (uInt)n_out) == crc;
}

const char *cs_inflater_name(void)
{
    return "zlib " ZLIB_VERSION;
}

#endif

cs_inflater *cs_inflater_new(void)
{
    cs_inflater *z = cs_xcalloc(1, sizeof *z);

    if (inflate_begin(z))
        return z;
    free(z);
    return NULL;
}

void cs_inflater_free(cs_inflater *z)
{
    if (!z)
        return;
    end(z);
    free(z);
}
