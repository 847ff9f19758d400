/*
 * write_npz.c - one float32 matrix 'vectors' in NumPy's .npz: a ZIP archive with one NPY file.
 *
 * DESIGN: the file is stored, not deflated, because vectors hardly compress. Its size and checksum
 * stand before it, so the output must be a regular file, as for NPY. Sizes have 64 bits (ZIP64).
 * Source: PKWARE, APPNOTE.TXT 6.3, sections 4.3 and 4.5.3.
 */
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "io/npy.h"
#include "io/writer.h"

static const char entry[] = "vectors.npy";

enum {
    N_ENTRY = sizeof entry - 1, ZIP_VERSION = 45, DATE = 33,     /* 1 January 1980 */
    LOCAL_BYTES = 30 + N_ENTRY + 20, MAX_BYTES = 256
};

struct npz { uLong crc; int64_t n_bytes; };      /* of the rows */

struct bytes { unsigned char v[MAX_BYTES]; size_t n; };

/* A number of `size` bytes, the lowest first. */
static void add(struct bytes *b, uint64_t v, int size)
{
    for (int i = 0; i < size; i++, v >>= 8)
        b->v[b->n++] = (unsigned char)(v & 255);
}

/* Fields common to the local header and the directory, from the version on. */
static void add_file(struct bytes *b, uLong crc, uint64_t size, bool local)
{
    add(b, ZIP_VERSION, 2);
    add(b, 0, 2 + 2 + 2);        /* flags, stored, time */
    add(b, DATE, 2);
    add(b, crc, 4);
    add(b, 0xffffffff, 4);
    add(b, 0xffffffff, 4);
    add(b, N_ENTRY, 2);
    add(b, 20, 2);
    if (!local) {
        add(b, 0, 2 + 2 + 2);    /* comment, disk, attributes */
        add(b, 0, 4);
        add(b, 0, 4);            /* offset of the header */
    }
    memcpy(b->v + b->n, entry, N_ENTRY);
    b->n += N_ENTRY;
    add(b, 1, 2);                /* sizes of 64 bits */
    add(b, 16, 2);
    add(b, size, 8);
    add(b, size, 8);
}

static struct bytes local_header(uLong crc, uint64_t size)
{
    struct bytes b = { .n = 0 };

    add(&b, 0x04034b50, 4);
    add_file(&b, crc, size, true);
    CS_BUG(b.n != LOCAL_BYTES);
    return b;
}

static struct bytes directory(uLong crc, uint64_t size)
{
    struct bytes b = { .n = 0 };
    const uint64_t begin = LOCAL_BYTES + size;

    add(&b, 0x02014b50, 4);
    add(&b, ZIP_VERSION, 2);
    add_file(&b, crc, size, false);
    const uint64_t n = b.n;
    add(&b, 0x06064b50, 4);      /* end of a directory of 64 bits */
    add(&b, 44, 8);
    add(&b, ZIP_VERSION, 2);
    add(&b, ZIP_VERSION, 2);
    add(&b, 0, 8);
    add(&b, 1, 8);
    add(&b, 1, 8);
    add(&b, n, 8);
    add(&b, begin, 8);
    add(&b, 0x07064b50, 4);      /* its offset */
    add(&b, 0, 4);
    add(&b, begin + n, 8);
    add(&b, 1, 4);
    add(&b, 0x06054b50, 4);      /* end of the archive */
    add(&b, 0, 4);
    add(&b, 1, 2);
    add(&b, 1, 2);
    add(&b, n, 4);
    add(&b, 0xffffffff, 4);
    add(&b, 0, 2);
    return b;
}

static int npz_begin(cs_output *o)
{
    int rc = CS_OK;
    char head[CS_NPY_HEADER];
    const struct bytes b = local_header(0, 0);
    struct npz *z = cs_xcalloc(1, sizeof *z);

    o->state = z;
    z->crc = crc32(0, NULL, 0);
    CS_TRY(cs_outfile_write(o->file, b.v, b.n));
    rc = cs_outfile_write(o->file, head,
                          cs_npy_header(head, CS_NPY_F4, cs_npy_shape2(-1, o->info.n_label)));
out:
    return rc;
}

static int npz_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;
    static const float none = NAN;
    struct npz *z = o->state;
    const size_t n = (size_t)o->info.n_label;

    (void)r;
    for (size_t i = 0; i < n; i++) {
        const float *v = a->reason == CS_REASON_NONE ? a->v + i : &none;
        z->crc = crc32(z->crc, (const Bytef *)v, sizeof *v);
        CS_TRY(cs_outfile_write(o->file, v, sizeof *v));
    }
    z->n_bytes += (int64_t)(n * sizeof none);
out:
    return rc;
}

static int npz_end(cs_output *o)
{
    int rc = CS_OK;
    char head[CS_NPY_HEADER];
    const struct npz *z = o->state;
    const cs_npy_shape shape = cs_npy_shape2((int64_t)o->n_record, o->info.n_label);
    const size_t n = cs_npy_header(head, CS_NPY_F4, shape);
    const uint64_t size = n + (uint64_t)z->n_bytes;
    const uLong crc = crc32_combine(crc32(crc32(0, NULL, 0), (const Bytef *)head, (uInt)n), z->crc,
                                    (z_off_t)z->n_bytes);
    const struct bytes first = local_header(crc, size), last = directory(crc, size);

    CS_TRY(cs_outfile_write(o->file, last.v, last.n));
    CS_TRY(cs_outfile_patch(o->file, 0, first.v, first.n));
    rc = cs_outfile_patch(o->file, LOCAL_BYTES, head, n);
out:
    return rc;
}

static void npz_release(cs_output *o)
{
    free(o->state);
    o->state = NULL;
}

const cs_writer cs_write_npz = {
    .name = "npz",
    .kind = CS_OUT_BINARY,
    .begin = npz_begin,
    .record = npz_record,
    .end = npz_end,
    .release = npz_release,
};
