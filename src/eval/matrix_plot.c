/* matrix_plot.c - plot matrices as grey images: PNG, or SVG with embedded PNG. */
#include "eval/matrix_plot.h"

#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "base/outfile.h"
#include "base/mem.h"

enum { SIDE = 256, GAP = 16, TITLE = 24,
       DATA_MAX = 1 << 20 };     /* bytes of a chunk, whose length is a number of 31 bits */

/* A picture of 8-bit grey, and a growing text or file made of it. */
struct picture { int64_t w, h; unsigned char *grey; };
struct bytes { unsigned char *p; size_t n, cap; };

static int matrix_plot_append(struct bytes *b, const void *p, size_t n)
{
    int rc = CS_OK;

    CS_TRY(cs_grow((void **)&b->p, &b->cap, b->n + n, 1));
    memcpy(b->p + b->n, p, n);
    b->n += n;
out:
    return rc;
}

static void put_big_endian(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* Length, type, data, and the checksum of the last two: PNG specification, section 5.3 */
static int append_chunk(struct bytes *b, const char *type, const void *data, size_t n)
{
    int rc = CS_OK;
    unsigned char word[4];

    put_big_endian(word, (uint32_t)n);
    CS_TRY(matrix_plot_append(b, word, 4));
    const size_t from = b->n;
    CS_TRY(matrix_plot_append(b, type, 4));
    CS_TRY(matrix_plot_append(b, data, n));
    put_big_endian(word, (uint32_t)crc32(0, b->p + from, (uInt)(n + 4)));
    rc = matrix_plot_append(b, word, 4);
out:
    return rc;
}

/* Every row begins with its filter, 0: none. */
static int deflated(const struct picture *q, unsigned char **out, size_t *n_out)
{
    const size_t stride = (size_t)q->w + 1, n = stride * (size_t)q->h;
    unsigned char *raw = cs_alloc(n, 1);
    uLongf n_packed = compressBound((uLong)n);
    bool good = raw != NULL && (*out = cs_alloc(n_packed, 1)) != NULL;

    for (int64_t r = 0; good && r < q->h; r++) {
        raw[(size_t)r * stride] = 0;
        memcpy(raw + (size_t)r * stride + 1, q->grey + r * q->w, (size_t)q->w);
    }
    good = good && compress2(*out, &n_packed, raw, (uLong)n, 9) == Z_OK;
    free(raw);
    *n_out = n_packed;
    return good ? CS_OK : cs_fail(CS_EMEM, "out of memory for a picture of %lld x %lld points",
                                  (long long)q->w, (long long)q->h);
}

static int encode_png(const struct picture *q, struct bytes *b)
{
    int rc = CS_OK;
    unsigned char head[13] = { 0 }, *packed = NULL;
    size_t n;

    put_big_endian(head, (uint32_t)q->w);
    put_big_endian(head + 4, (uint32_t)q->h);
    head[8] = 8;                 /* bits of a sample; colour type 0 is grey */
    CS_TRY(deflated(q, &packed, &n));
    CS_TRY(matrix_plot_append(b, "\x89PNG\r\n\x1a\n", 8));
    CS_TRY(append_chunk(b, "IHDR", head, sizeof head));
    for (size_t at = 0; at < n; at += DATA_MAX)
        CS_TRY(append_chunk(b, "IDAT", packed + at, n - at < DATA_MAX ? n - at : DATA_MAX));
    rc = append_chunk(b, "IEND", "", 0);
out:
    free(packed);
    return rc;
}

/* ---- from numbers to grey -------------------------------------------------------------------- */

struct range { double lo, hi; };

static struct range range_of(const double *v, int64_t n)
{
    struct range r = { v[0], v[0] };

    for (int64_t i = 1; i < n; i++) {
        r.lo = v[i] < r.lo ? v[i] : r.lo;
        r.hi = v[i] > r.hi ? v[i] : r.hi;
    }
    return r;
}

static unsigned char grey_of(double v, struct range r)
{
    const double g = r.hi > r.lo ? (v - r.lo) / (r.hi - r.lo) : 0.5;

    return (unsigned char)(255 * (g < 0 ? 0 : g > 1 ? 1 : g) + 0.5);
}

static int new_picture(int64_t w, int64_t h, struct picture *q)
{
    *q = (struct picture){ w, h, cs_alloc((size_t)w * (size_t)h, 1) };
    if (!q->grey)
        return cs_fail(CS_EMEM, "out of memory for a picture of %lld x %lld points", (long long)w,
                       (long long)h);
    memset(q->grey, 255, (size_t)w * (size_t)h);
    return CS_OK;
}

/* Every element as zoom x zoom points, from column x0 on. */
static void draw(struct picture *q, int64_t x0, int64_t zoom, int64_t n, const double *v,
                 struct range range)
{
    for (int64_t r = 0; r < n * zoom; r++)
        for (int64_t c = 0; c < n * zoom; c++)
            q->grey[r * q->w + x0 + c] = grey_of(v[r / zoom * n + c / zoom], range);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int write_png(cs_outfile *f, int64_t n, const cs_plot_panel *panel, int n_panel)
{
    int rc = CS_OK;
    const int64_t zoom = n < SIDE ? (SIDE + n - 1) / n : 1, step = n * zoom + GAP;
    struct picture q = { .grey = NULL };
    struct bytes b = { .p = NULL };

    CS_TRY(new_picture(n_panel * step - GAP, n * zoom, &q));
    for (int i = 0; i < n_panel; i++)
        draw(&q, i * step, zoom, n, panel[i].v, range_of(panel[0].v, n * n));
    CS_TRY(encode_png(&q, &b));
    rc = cs_outfile_write(f, b.p, b.n);
out:
    free(q.grey);
    free(b.p);
    return rc;
}

static int write_base64(cs_outfile *f, const unsigned char *p, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    int rc = CS_OK;

    for (size_t i = 0; i < n; i += 3) {
        const uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)(i + 1 < n ? p[i + 1] : 0) << 8
                         | (i + 2 < n ? p[i + 2] : 0);
        const char four[4] = { digit[v >> 18], digit[v >> 12 & 63],
                               i + 1 < n ? digit[v >> 6 & 63] : '=',
                               i + 2 < n ? digit[v & 63] : '=' };
        CS_TRY(cs_outfile_write(f, four, 4));
    }
out:
    return rc;
}

static int write_panel(cs_outfile *f, int64_t n, const cs_plot_panel *panel, struct range range,
                       int x)
{
    int rc = CS_OK;
    struct picture q = { .grey = NULL };
    struct bytes b = { .p = NULL };

    CS_TRY(new_picture(n, n, &q));
    draw(&q, 0, 1, n, panel->v, range);
    CS_TRY(encode_png(&q, &b));
    CS_TRY(cs_outfile_printf(f, "<image x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\" "
                             "style=\"image-rendering:pixelated\" xlink:href=\"data:image/png;"
                             "base64,", x, SIDE, SIDE));
    CS_TRY(write_base64(f, b.p, b.n));
    rc = cs_outfile_printf(f, "\"/>\n<text x=\"%d\" y=\"%d\">%s</text>\n", x + SIDE / 2,
                           SIDE + TITLE - 8, panel->title);
out:
    free(q.grey);
    free(b.p);
    return rc;
}

static int write_svg(cs_outfile *f, int64_t n, const cs_plot_panel *panel, int n_panel)
{
    int rc = CS_OK;
    const int width = n_panel * (SIDE + GAP) - GAP, height = SIDE + TITLE;
    const struct range range = range_of(panel[0].v, n * n);

    CS_TRY(cs_outfile_printf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                             "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%d\" "
                             "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\" "
                             "text-anchor=\"middle\">\n", width, height));
    CS_TRY(cs_outfile_printf(f, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width,
                             height));
    for (int i = 0; i < n_panel; i++)
        CS_TRY(write_panel(f, n, &panel[i], range, i * (SIDE + GAP)));
    rc = cs_outfile_printf(f, "</svg>\n");
out:
    return rc;
}

static bool ends_in(const char *path, const char *tail)
{
    const size_t n = strlen(path), n_tail = strlen(tail);

    return n > n_tail && strcmp(path + n - n_tail, tail) == 0;
}

int cs_matrix_plot_check(const char *path)
{
    if (ends_in(path, ".svg") || ends_in(path, ".png"))
        return CS_OK;
    return cs_fail(CS_EUSAGE, "image files are named *.svg or *.png, not '%s'", path);
}

int cs_matrix_plot(cs_outfile *f, int64_t n, const cs_plot_panel *panel, int n_panel)
{
    return ends_in(cs_outfile_name(f), ".svg") ? write_svg(f, n, panel, n_panel)
                                               : write_png(f, n, panel, n_panel);
}
