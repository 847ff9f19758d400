/* tensorboard.c - TensorBoard event files: scalars by step.
 *
 * DESIGN. A file is a series of TFRecords: the length of the data (8 bytes, little-endian), its
 * masked CRC-32C, the data, and their masked CRC-32C. The data are a protocol buffer `Event` with
 * four fields: wall_time (1), step (2), file_version (3), and summary (5) with one value of tag (1)
 * and simple_value (2). Source: tensorflow/core/lib/io/record_writer.h and
 * tensorflow/core/util/event.proto.
 */
#include "train/tensorboard.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/json_text.h"

/* Wire types of protocol buffers. */
enum { VARINT, BITS64, BYTES, BITS32 = 5, MAX_BYTES = 256, PATH_BYTES = 4096 };

struct cs_tensorboard { FILE *f; char path[PATH_BYTES]; };

struct bytes { unsigned char v[MAX_BYTES]; size_t n; };

static void events_put(struct bytes *b, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        b->v[b->n++] = (unsigned char)(v >> 8 * i);
}

static void put_varint(struct bytes *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        events_put(b, (v & 0x7f) | 0x80, 1);
    events_put(b, v, 1);
}

static void put_key(struct bytes *b, unsigned field, unsigned type)
{
    put_varint(b, field << 3 | type);
}

static void put_bytes(struct bytes *b, unsigned field, const void *v, size_t n)
{
    put_key(b, field, BYTES);
    put_varint(b, n);
    memcpy(b->v + b->n, v, n);
    b->n += n;
}

static void put_double(struct bytes *b, unsigned field, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    put_key(b, field, BITS64);
    events_put(b, bits, 8);
}

static void put_float(struct bytes *b, unsigned field, float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    put_key(b, field, BITS32);
    events_put(b, bits, 4);
}

/* Castagnoli's polynomial, bit by bit: records are short. */
static uint32_t masked_crc(const unsigned char *v, size_t n)
{
    uint32_t c = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        c ^= v[i];
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (c & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    c = ~c;
    return (c >> 15 | c << 17) + UINT32_C(0xa282ead8);
}

static int fail(const cs_tensorboard *e)
{
    return cs_fail(CS_EIO, "cannot write '%s': %s", e->path, strerror(errno));
}

static int write_record(cs_tensorboard *e, const struct bytes *data)
{
    struct bytes head = { .n = 0 }, tail = { .n = 0 };
    const struct bytes *part[] = { &head, data, &tail };

    events_put(&head, data->n, 8);
    events_put(&head, masked_crc(head.v, head.n), 4);
    events_put(&tail, masked_crc(data->v, data->n), 4);
    for (int i = 0; i < 3; i++)
        if (fwrite(part[i]->v, 1, part[i]->n, e->f) != part[i]->n)
            return fail(e);
    return CS_OK;
}

static double wall_time(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int cs_tensorboard_check(const char *folder)
{
    struct stat st;

    if (folder == NULL)
        return CS_OK;
    if (mkdir(folder, 0777) == 0) {
        (void)rmdir(folder);
        return CS_OK;
    }
    if (errno == EEXIST && stat(folder, &st) == 0 && !S_ISDIR(st.st_mode))
        errno = ENOTDIR;
    else if (errno == EEXIST && access(folder, W_OK | X_OK) == 0)
        return CS_OK;
    return cs_fail(CS_EIO, "cannot create '%s/events...': %s", folder, strerror(errno));
}

int cs_tensorboard_open(const char *folder, cs_tensorboard **out)
{
    static const char version[] = "brain.Event:2";
    int rc = CS_OK;
    struct bytes b = { .n = 0 };
    cs_tensorboard *e = cs_xcalloc(1, sizeof *e);

    *out = NULL;
    (void)snprintf(e->path, sizeof e->path, "%s/events.out.tfevents.%lld.chordseq.%ld", folder,
                   (long long)time(NULL), (long)getpid());
    if ((mkdir(folder, 0777) != 0 && errno != EEXIST) || (e->f = fopen(e->path, "wbe")) == NULL) {
        rc = cs_fail(CS_EIO, "cannot create '%s': %s", e->path, strerror(errno));
        goto out;
    }
    put_double(&b, 1, wall_time());
    put_bytes(&b, 3, version, strlen(version));
    CS_TRY(write_record(e, &b));
    *out = e;
    e = NULL;
out:
    cs_tensorboard_close(e);
    return rc;
}

/* At most CS_TENSORBOARD_TAG, of whole characters: readers refuse a tag that is not UTF-8. */
static size_t tag_bytes(const char *tag)
{
    size_t n = 0, k;

    while (tag[n] != '\0' && (k = cs_utf8_length(tag + n)) > 0 && n + k <= CS_TENSORBOARD_TAG)
        n += k;
    return n;
}

int cs_tensorboard_add(cs_tensorboard *e, int64_t step, const char *tag, double value)
{
    struct bytes b = { .n = 0 }, one = { .n = 0 }, summary = { .n = 0 };

    if (!isfinite(value))
        return CS_OK;
    put_bytes(&one, 1, tag, tag_bytes(tag));
    put_float(&one, 2, (float)value);
    put_bytes(&summary, 1, one.v, one.n);
    put_double(&b, 1, wall_time());
    put_key(&b, 2, VARINT);
    put_varint(&b, (uint64_t)step);
    put_bytes(&b, 5, summary.v, summary.n);
    return write_record(e, &b);
}

int cs_tensorboard_flush(cs_tensorboard *e)
{
    return fflush(e->f) == 0 ? CS_OK : fail(e);
}

void cs_tensorboard_close(cs_tensorboard *e)
{
    if (e == NULL)
        return;
    if (e->f != NULL)
        (void)fclose(e->f);
    free(e);
}
