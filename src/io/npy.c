/* npy.c - read and write arrays in NumPy's .npy format. */
#include "io/npy.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

enum {
    MAGIC_BYTES = 6, ALIGN = 64,
    ROW_DIGITS = 20,             /* width reserved in the header for the number of rows */
    HEADER_MAX = CS_NPY_HEADER - ALIGN,
    READ_MAX = 1 << 20           /* of those read; NumPy's default limit is 10000 */
};

static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";
static const bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static const struct { const char *code; size_t size; } types[] = {
    [CS_NPY_F4] = { "f4", 4 }, [CS_NPY_F8] = { "f8", 8 }, [CS_NPY_I8] = { "i8", 8 },
};

/* ---- writing ------------------------------------------------------------------------------- */

size_t cs_npy_header(char h[CS_NPY_HEADER], cs_npy_type type, cs_npy_shape s)
{
    const size_t start = MAGIC_BYTES + 4;
    int n, first = 0;
    char *text = h + start;

    CS_BUG(s.n_dim < 0 || s.n_dim > CS_NPY_MAX_DIM);
    n = snprintf(text, HEADER_MAX, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                 is_big ? '>' : '<', types[type].code);
    for (int i = 0; i < s.n_dim; i++) {
        int k = snprintf(text + n, (size_t)(HEADER_MAX - n), i + 1 < s.n_dim ? "%lld, " : "%lld",
                         (long long)(s.dim[i] < 0 ? 0 : s.dim[i]));
        first = i == 0 ? k : first;
        n += k;
    }
    n += snprintf(text + n, (size_t)(HEADER_MAX - n), s.n_dim == 1 ? ",), }" : "), }");
    const size_t used = start + (size_t)n;
    const size_t max = used - (size_t)first + ROW_DIGITS + 2 + 1;
    const size_t all = (max + ALIGN - 1) / ALIGN * ALIGN;
    memset(h + used, ' ', all - used - 1);
    h[all - 1] = '\n';
    memcpy(h, magic, MAGIC_BYTES);
    h[6] = 1;
    h[7] = 0;
    h[8] = (char)((all - start) & 255);
    h[9] = (char)((all - start) >> 8);
    return all;
}

int cs_npy_begin(cs_outfile *f, cs_npy_type type, cs_npy_shape shape)
{
    char h[CS_NPY_HEADER];

    if (shape.n_dim > 0 && shape.dim[0] < 0 && !cs_outfile_can_patch(f))
        return cs_fail(CS_EUSAGE, "NPY needs a regular file, not a pipe or a device, because its "
                       "header holds the number of rows");
    return cs_outfile_write(f, h, cs_npy_header(h, type, shape));
}

int cs_npy_end(cs_outfile *f, cs_npy_type type, cs_npy_shape shape)
{
    char h[CS_NPY_HEADER];

    return cs_outfile_patch(f, 0, h, cs_npy_header(h, type, shape));
}

int cs_npy_put(cs_outfile *f, cs_npy_type type, cs_npy_shape shape, const void *v)
{
    int rc = CS_OK;
    size_t n_bytes = types[type].size;

    for (int i = 0; i < shape.n_dim; i++)
        n_bytes *= (size_t)shape.dim[i];
    CS_TRY(cs_npy_begin(f, type, shape));
    rc = cs_outfile_write(f, v, n_bytes);
out:
    return rc;
}

int cs_npy_write(const char *path, cs_npy_type type, cs_npy_shape shape, const void *v)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open_as(path, NULL, CS_OUT_BINARY, &f));
    CS_TRY(cs_npy_put(f, type, shape, v));
out:
    return cs_outfile_end(f, rc);
}

/* ---- reading: the dictionary ---------------------------------------------------------------- */

/* The header's values, and the parser's position. */
struct header {
    const char *p, *end;
    char descr[16];
    bool fortran, simple;        /* simple: descr is a string, not a list of fields */
    unsigned seen;               /* bits of the keys seen */
    cs_npy_shape shape;
};

static void skip_blanks(struct header *h)
{
    while (h->p < h->end && isspace((unsigned char)*h->p))
        h->p++;
}

static bool npy_take(struct header *h, char c)
{
    skip_blanks(h);
    if (h->p == h->end || *h->p != c)
        return false;
    h->p++;
    return true;
}

static bool take_word(struct header *h, const char *word)
{
    const size_t n = strlen(word);

    skip_blanks(h);
    if ((size_t)(h->end - h->p) < n || memcmp(h->p, word, n) != 0)
        return false;
    h->p += n;
    return true;
}

/* A string without escapes: none of the keys and types that we know has one. */
static bool take_string(struct header *h, char *buf, size_t n_buf)
{
    skip_blanks(h);
    if (h->p == h->end || (*h->p != '\'' && *h->p != '"'))
        return false;
    const char quote = *h->p++;
    const char *stop = memchr(h->p, quote, (size_t)(h->end - h->p));
    if (!stop || (size_t)(stop - h->p) >= n_buf || memchr(h->p, '\\', (size_t)(stop - h->p)))
        return false;
    memcpy(buf, h->p, (size_t)(stop - h->p));
    buf[stop - h->p] = '\0';
    h->p = stop + 1;
    return true;
}

/* Python 2 wrote 3L for long integers. */
static bool take_count(struct header *h, int64_t *v)
{
    const char *from;

    skip_blanks(h);
    from = h->p;
    for (*v = 0; h->p < h->end && *h->p >= '0' && *h->p <= '9'; h->p++) {
        if (*v > (INT64_MAX - 9) / 10)
            return false;
        *v = *v * 10 + (*h->p - '0');
    }
    if (h->p == from)
        return false;
    if (h->p < h->end && *h->p == 'L')
        h->p++;
    return true;
}

/* (), (3,), (3, 4) or (3, 4,); but (3) is a number in Python, no tuple. */
static bool take_shape(struct header *h)
{
    bool comma = true;

    if (!npy_take(h, '('))
        return false;
    while (!npy_take(h, ')')) {
        if (!comma || h->shape.n_dim == CS_NPY_MAX_DIM
            || !take_count(h, &h->shape.dim[h->shape.n_dim]))
            return false;
        h->shape.n_dim++;
        comma = npy_take(h, ',');
    }
    return h->shape.n_dim != 1 || comma;
}

/* A list of fields begins with a bracket. It is refused. */
static bool take_descr(struct header *h)
{
    if (npy_take(h, '['))
        return true;
    h->simple = take_string(h, h->descr, sizeof h->descr);
    return h->simple;
}

static bool take_entry(struct header *h)
{
    static const char *const key[] = { "descr", "fortran_order", "shape" };
    char name[16];
    unsigned k = 0;

    if (!take_string(h, name, sizeof name) || !npy_take(h, ':'))
        return false;
    while (k < 3 && strcmp(name, key[k]) != 0)
        k++;
    if (k == 3 || (h->seen & 1U << k))
        return false;
    h->seen |= 1U << k;
    if (k == 0)
        return take_descr(h);
    if (k == 2)
        return take_shape(h);
    h->fortran = take_word(h, "True");
    return h->fortran || take_word(h, "False");
}

static bool take_header(struct header *h)
{
    bool comma = true;

    if (!npy_take(h, '{'))
        return false;
    while (!npy_take(h, '}')) {
        if (!comma || !take_entry(h))
            return false;
        if ((h->seen & 1) && !h->simple)
            return true;
        comma = npy_take(h, ',');
    }
    skip_blanks(h);
    return h->p == h->end && h->seen == 7;
}

/* ---- reading: the elements ------------------------------------------------------------------ */

static double number_at(const unsigned char *p, size_t size, bool swap)
{
    unsigned char b[8];
    float f;
    double d;

    for (size_t i = 0; i < size; i++)
        b[i] = p[swap ? size - 1 - i : i];
    if (size == 4) {
        memcpy(&f, b, sizeof f);
        return (double)f;
    }
    memcpy(&d, b, sizeof d);
    return d;
}

/* Position of element i of our order in Fortran order. */
static int64_t fortran_place(const cs_npy_shape *s, int64_t i)
{
    int64_t place = 0, index[CS_NPY_MAX_DIM];

    for (int d = s->n_dim - 1; d >= 0; d--) {
        index[d] = i % s->dim[d];
        i /= s->dim[d];
    }
    for (int d = s->n_dim - 1; d >= 0; d--)
        place = place * s->dim[d] + index[d];
    return place;
}

static int take_elements(const struct header *h, const unsigned char *data, size_t n_bytes,
                         const char *what, cs_npy *a)
{
    const char order = *h->descr && strchr("<>=|", *h->descr) ? *h->descr : '=';
    const char *code = h->descr + (*h->descr == order);
    const size_t size = strcmp(code, "f4") == 0 ? 4 : strcmp(code, "f8") == 0 ? 8 : 0;
    const bool swap = (order == '<' && is_big) || (order == '>' && !is_big);
    int64_t n = 1;
    bool fits = true, empty = false;

    if (size == 0)
        return cs_fail(CS_EFORMAT, "'%s' holds elements of type '%s'; only floating-point numbers "
                       "of 4 or 8 bytes are read", what, h->simple ? h->descr : "structure");
    for (int i = 0; i < h->shape.n_dim; i++)
        empty |= h->shape.dim[i] == 0;
    for (int i = 0; i < h->shape.n_dim && !empty && fits; i++)
        fits = !__builtin_mul_overflow(n, h->shape.dim[i], &n);
    n = empty ? 0 : n;
    if (!fits || (uint64_t)n > n_bytes / size)
        return cs_fail(CS_EFORMAT, "'%s' ends before the last element of its shape; it is "
                       "probably truncated", what);
    if ((size_t)n * size != n_bytes)
        return cs_fail(CS_EFORMAT, "'%s' has data after the last element of its shape; a file "
                       "must hold one array", what);
    if ((a->v = cs_alloc(n > 0 ? (size_t)n : 1, sizeof *a->v)) == NULL)
        return cs_fail(CS_EMEM, "out of memory for the %lld elements of '%s'", (long long)n, what);
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = h->fortran ? fortran_place(&h->shape, i) : i;
        a->v[i] = number_at(data + (size_t)k * size, size, swap);
    }
    a->shape = h->shape;
    a->n = n;
    return CS_OK;
}

int cs_npy_parse(const void *p, size_t n_bytes, const char *what, cs_npy *a)
{
    const unsigned char *b = p;
    struct header h = { .simple = false };
    size_t start = MAGIC_BYTES + 4, n_header;

    *a = (cs_npy){ .v = NULL };
    if (n_bytes < MAGIC_BYTES || memcmp(b, magic, MAGIC_BYTES) != 0)
        return cs_fail(CS_EFORMAT, "'%s' is not an NPY file: it does not begin with \\x93NUMPY",
                       what);
    if (n_bytes < start + 2)
        return cs_fail(CS_EFORMAT, "'%s' ends within its header; it is probably truncated",
                       what);
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return cs_fail(CS_EFORMAT, "'%s' has NPY format version %d.%d; versions 1.0 to 3.0 are "
                       "read", what, b[6], b[7]);
    n_header = b[8] | (size_t)b[9] << 8;
    if (b[6] > 1) {
        n_header |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
        start += 2;
    }
    if (n_header > READ_MAX)
        return cs_fail(CS_EFORMAT, "'%s' is not a valid NPY file: its header has %zu bytes", what,
                       n_header);
    if (n_header > n_bytes - start)
        return cs_fail(CS_EFORMAT, "'%s' ends within its header; it is probably truncated",
                       what);
    h.p = (const char *)b + start;
    h.end = h.p + n_header;
    if (!take_header(&h))
        return cs_fail(CS_EFORMAT, "'%s' is not a valid NPY file: its header is not a dictionary "
                       "of descr, fortran_order and shape", what);
    start += n_header;
    return take_elements(&h, b + start, n_bytes - start, what, a);
}

int cs_npy_read(const char *path, cs_npy *a)
{
    int rc = CS_OK;
    char *p = NULL;
    size_t n_bytes;

    *a = (cs_npy){ .v = NULL };
    CS_TRY(cs_file_read(path, SIZE_MAX - 2, &p, &n_bytes));
    rc = cs_npy_parse(p, n_bytes, strcmp(path, "-") == 0 ? "standard input" : path, a);
out:
    free(p);
    return rc;
}
