/*
 * safetensors.c - read and write named tensors.
 *
 * DESIGN
 * The header is parsed by jansson into checked integers and nothing is cast onto the file's bytes:
 * a tensor has the offset of its first byte, and cs_tensor_get() copies elements out, because a
 * foreign file need not be aligned. After parsing, tensors are sorted by offset and must cover the
 * data exactly; so one check finds overlaps, holes and truncated files.
 */
#include "nn/exec/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "tensors are written as they are in memory");

enum { HEADER_MAX = 100 * 1000 * 1000, LENGTH_BYTES = 8 };   /* the limit of the reference reader */
/* JSON values of a header, some eight per tensor; parsed, each takes about a hundred bytes. */
enum { VALUES_MAX = 1 << 20 };

struct cs_safetensors {
    json_t              *header; /* owns the names and texts */
    cs_tensor           *t;       /* [n] in the order of the data */
    const cs_tensor    **by_name; /* [n] */
    size_t               n;
    const unsigned char *data;
    size_t               n_data; /* bytes */
    void                *map;    /* NULL: memory is the caller's */
    size_t               n_map;
    const char          *what;   /* for messages, during parsing */
};

static const struct { const char *name; size_t n_bytes; } dtypes[] = {
    [CS_F64] = { "F64", 8 }, [CS_F32] = { "F32", 4 }, [CS_F16] = { "F16", 2 },
    [CS_BF16] = { "BF16", 2 }, [CS_I64] = { "I64", 8 }, [CS_I32] = { "I32", 4 },
    [CS_U8] = { "U8", 1 }
};

size_t cs_dtype_bytes(cs_dtype d)
{
    return dtypes[d].n_bytes;
}

/* ---- reading ----------------------------------------------------------------------------- */

static int bad(const cs_safetensors *s, const char *tensor, const char *why)
{
    return cs_fail(CS_EFORMAT, "'%s' is damaged or not a safetensors file: tensor '%s' %s", s->what,
                   tensor, why);
}

static int parse_dtype(const cs_safetensors *s, const json_t *v, cs_tensor *t)
{
    const char *name = json_string_value(v);
    for (size_t i = 0; name && i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            t->dtype = (cs_dtype)i;
            return CS_OK;
        }
    return bad(s, t->name, "has a type other than F64, F32, F16, BF16, I64, I32, U8");
}

static int parse_shape(const cs_safetensors *s, const json_t *v, cs_tensor *t)
{
    size_t n_dim = json_array_size(v);

    if (!json_is_array(v) || n_dim > 4)
        return bad(s, t->name, "has no shape of at most 4 dimensions");
    t->n = 1;
    t->shape.n_dim = (int32_t)n_dim;
    for (size_t i = 0; i < n_dim; i++) {
        const json_t *d = json_array_get(v, i);
        int64_t dim = json_integer_value(d);
        if (!json_is_integer(d) || dim < 0 || __builtin_mul_overflow(t->n, dim, &t->n))
            return bad(s, t->name, "has an impossible shape");
        t->shape.dim[i] = dim;
    }
    return CS_OK;
}

/* Inside the data, with the bytes of shape and type. */
static int parse_offsets(const cs_safetensors *s, const json_t *v, cs_tensor *t)
{
    const json_t *a = json_array_get(v, 0), *b = json_array_get(v, 1);
    int64_t from = json_integer_value(a), to = json_integer_value(b), n_bytes;

    if (json_array_size(v) != 2 || !json_is_integer(a) || !json_is_integer(b) || from < 0
        || to < from || (uint64_t)to > s->n_data)
        return bad(s, t->name, "lies outside the file (is the file truncated?)");
    if (__builtin_mul_overflow(t->n, (int64_t)cs_dtype_bytes(t->dtype), &n_bytes)
        || to - from != n_bytes)
        return bad(s, t->name, "has a size that does not match its shape");
    t->data = s->data + from;
    return CS_OK;
}

static int parse_meta(const cs_safetensors *s, json_t *meta)
{
    const char *key;
    json_t *v;

    if (!json_is_object(meta))
        return cs_fail(CS_EFORMAT, "'%s' is damaged: __metadata__ is not an object", s->what);
    json_object_foreach(meta, key, v)
        if (!json_is_string(v))
            return cs_fail(CS_EFORMAT, "'%s' is damaged: __metadata__ '%s' is not a string",
                           s->what, key);
    return CS_OK;
}

static int by_data(const void *a, const void *b)
{
    const cs_tensor *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);      /* empty tensors first */
}

static int check_cover(cs_safetensors *s)
{
    const unsigned char *at = s->data;

    if (s->n > 0)
        qsort(s->t, s->n, sizeof *s->t, by_data);
    for (size_t i = 0; i < s->n; i++) {
        if (s->t[i].data != at)
            return bad(s, s->t[i].name, "overlaps another tensor or leaves a gap before it");
        at += (size_t)s->t[i].n * cs_dtype_bytes(s->t[i].dtype);
    }
    if (at != s->data + s->n_data)
        return cs_fail(CS_EFORMAT, "'%s' is damaged: %zu bytes after the last tensor", s->what,
                       (size_t)(s->data + s->n_data - at));
    return CS_OK;
}

static int compare_names(const void *a, const void *b)
{
    const cs_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int sort_names(cs_safetensors *s)
{
    s->by_name = cs_alloc(s->n, sizeof *s->by_name);
    if (!s->by_name)
        return cs_fail(CS_EMEM, "out of memory for the tensors of '%s'", s->what);
    for (size_t i = 0; i < s->n; i++)
        s->by_name[i] = &s->t[i];
    if (s->n > 0)
        qsort(s->by_name, s->n, sizeof *s->by_name, compare_names);
    return CS_OK;
}

static int parse_tensors(cs_safetensors *s)
{
    int rc = CS_OK;
    const char *name;
    json_t *v;

    s->t = cs_alloc(json_object_size(s->header), sizeof *s->t);
    if (!s->t)
        return cs_fail(CS_EMEM, "out of memory for the tensors of '%s'", s->what);
    json_object_foreach(s->header, name, v) {
        if (strcmp(name, "__metadata__") == 0) {
            CS_TRY(parse_meta(s, v));
            continue;
        }
        cs_tensor *t = &s->t[s->n++];
        *t = (cs_tensor){ .name = name };
        CS_TRY(parse_dtype(s, json_object_get(v, "dtype"), t));
        CS_TRY(parse_shape(s, json_object_get(v, "shape"), t));
        CS_TRY(parse_offsets(s, json_object_get(v, "data_offsets"), t));
    }
    CS_TRY(check_cover(s));
    rc = sort_names(s);
out:
    return rc;
}

/* About the number of JSON values of a text; strings, as in __metadata__, count once. */
static size_t count_values(const unsigned char *p, size_t n)
{
    size_t n_value = 0;
    bool quoted = false;

    for (size_t i = 0; i < n; i++)
        if (p[i] == '"')
            quoted = !quoted;
        else if (quoted)
            i += p[i] == '\\';
        else
            n_value += p[i] == ',' || p[i] == '[' || p[i] == '{';
    return n_value;
}

static int parse(cs_safetensors *s, const unsigned char *p, size_t n)
{
    uint64_t length = 0;
    json_error_t why;

    if (n < LENGTH_BYTES)
        return cs_fail(CS_EFORMAT, "'%s' is not a safetensors file: it has %zu bytes", s->what, n);
    if (memcmp(p, CS_CHECKPOINT_MAGIC, LENGTH_BYTES) == 0)
        return cs_fail(CS_EFORMAT, "'%s' is the checkpoint of a training, not a model; give the "
                       "model that the training writes (-o)", s->what);
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        length = length << 8 | p[i];
    if (length > HEADER_MAX || length > n - LENGTH_BYTES)
        return cs_fail(CS_EFORMAT, "'%s' is truncated or not a safetensors file: its header "
                       "would have %llu bytes", s->what, (unsigned long long)length);
    if (count_values(p + LENGTH_BYTES, (size_t)length) > VALUES_MAX)
        return cs_fail(CS_EFORMAT, "'%s' is not a model: its header has more than %d values, "
                       "enough for 100,000 tensors", s->what, VALUES_MAX);
    s->data = p + LENGTH_BYTES + length;
    s->n_data = n - LENGTH_BYTES - (size_t)length;
    s->header = json_loadb((const char *)p + LENGTH_BYTES, (size_t)length, JSON_REJECT_DUPLICATES,
                           &why);
    if (!json_is_object(s->header))
        return cs_fail(CS_EFORMAT, "'%s' is not a safetensors file: its header is not a JSON "
                       "object%s%s", s->what, s->header ? "" : ": ", s->header ? "" : why.text);
    return parse_tensors(s);
}

int cs_safetensors_parse(const void *p, size_t n_bytes, const char *what, cs_safetensors **out)
{
    cs_safetensors *s = cs_xcalloc(1, sizeof *s);
    s->what = what;
    int rc = parse(s, p, n_bytes);
    s->what = NULL;
    if (rc != CS_OK) {
        cs_safetensors_close(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

static int map_file(const char *path, int fd, void **map, size_t *n)
{
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        return cs_fail(CS_EIO, "cannot open '%s': %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return cs_fail(CS_EIO, "cannot map '%s': it is not a regular file", path);
    if (st.st_size < LENGTH_BYTES)
        return cs_fail(CS_EFORMAT, "'%s' is not a safetensors file: it has %lld bytes", path,
                       (long long)st.st_size);
    *n = (size_t)st.st_size;
    *map = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (*map != MAP_FAILED)
        return CS_OK;
    *map = NULL;
    return cs_fail(CS_EIO, "cannot map '%s': %s", path, strerror(errno));
}

int cs_safetensors_open(const char *path, cs_safetensors **out)
{
    int rc = CS_OK;
    void *map = NULL;
    size_t n = 0;
    /* Do not block on a pipe without a writer; map_file() refuses it. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    *out = NULL;
    CS_TRY(map_file(path, fd, &map, &n));
    CS_TRY(cs_safetensors_parse(map, n, path, out));
    (*out)->map = map;
    (*out)->n_map = n;
    map = NULL;
out:
    if (map)
        munmap(map, n);
    if (fd >= 0)
        close(fd);
    return rc;
}

void cs_safetensors_close(cs_safetensors *s)
{
    if (!s)
        return;
    json_decref(s->header);
    free(s->t);
    free(s->by_name);
    if (s->map)
        munmap(s->map, s->n_map);
    free(s);
}

const cs_tensor *cs_safetensors_at(const cs_safetensors *s, size_t i)
{
    return i < s->n ? &s->t[i] : NULL;
}

const cs_tensor *cs_safetensors_find(const cs_safetensors *s, const char *name)
{
    const cs_tensor wanted = { .name = name }, *key = &wanted;
    const cs_tensor **found = s->n == 0 ? NULL
        : bsearch(&key, s->by_name, s->n, sizeof *s->by_name, compare_names);

    return found ? *found : NULL;
}

const char *cs_safetensors_meta(const cs_safetensors *s, const char *key)
{
    return json_string_value(json_object_get(json_object_get(s->header, "__metadata__"), key));
}

const unsigned char *cs_safetensors_data(const cs_safetensors *s, size_t *n_bytes)
{
    *n_bytes = s->n_data;
    return s->data;
}

/* IEEE 754's binary16. */
static double half(uint32_t bits)
{
    const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    const double v = exponent == 31 ? fraction ? NAN : INFINITY
                   : exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);

    return bits >> 15 ? -v : v;
}

double cs_tensor_get(const cs_tensor *t, int64_t i)
{
    const unsigned char *p = t->data + (size_t)i * cs_dtype_bytes(t->dtype);
    uint64_t bits = 0;
    double d;
    float f;

    CS_BUG(i < 0 || i >= t->n);
    for (size_t k = 0; k < cs_dtype_bytes(t->dtype); k++)
        bits |= (uint64_t)p[k] << 8 * k;
    uint32_t low = (uint32_t)(t->dtype == CS_BF16 ? bits << 16 : bits);
    switch (t->dtype) {
    case CS_F64:
        memcpy(&d, &bits, sizeof d);
        return d;
    case CS_I64:
        return (double)(int64_t)bits;
    case CS_I32:
        return (double)(int32_t)low;
    case CS_U8:
        return (double)low;
    case CS_F16:
        return half(low);
    default:
        memcpy(&f, &low, sizeof f);
        return (double)f;
    }
}

void cs_bf16_bytes(const float *v, int64_t n, unsigned char *to)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        to[2 * i] = (unsigned char)bits;
        to[2 * i + 1] = (unsigned char)(bits >> 8);
    }
}

/* ---- writing ----------------------------------------------------------------------------- */

static json_t *shape_json(const cs_shape *shape)
{
    json_t *a = json_array();
    for (int i = 0; i < shape->n_dim; i++)
        json_array_append_new(a, json_integer(shape->dim[i]));
    return a;
}

/* The header as text, padded with blanks to a multiple of 8 so that the data is aligned. */
static char *header_text(const cs_tensor *t, size_t n, const cs_meta *meta, size_t n_meta)
{
    json_t *h = json_object(), *m = json_object();
    json_int_t at = 0;
    int failed = json_object_set(h, "__metadata__", m);

    for (size_t i = 0; i < n_meta; i++)
        failed |= json_object_set_new(m, meta[i].key, json_string(meta[i].value));
    for (size_t i = 0; i < n; i++) {
        json_int_t end = at + (json_int_t)((size_t)t[i].n * cs_dtype_bytes(t[i].dtype));
        json_t *v = json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtypes[t[i].dtype].name,
                              "shape", shape_json(&t[i].shape), "data_offsets", at, end);
        failed |= json_object_set_new(h, t[i].name, v);
        at = end;
    }
    char *text = failed ? NULL : json_dumps(h, JSON_COMPACT);
    json_decref(m);
    json_decref(h);
    return text;
}

int cs_safetensors_write(cs_outfile *f, const cs_tensor *t, size_t n, const cs_meta *meta,
                         size_t n_meta)
{
    int rc = CS_OK;
    unsigned char length[LENGTH_BYTES];
    char *text = header_text(t, n, meta, n_meta);

    if (!text)
        return cs_fail(CS_EMEM, "cannot write a header: out of memory, or a string is not UTF-8");
    size_t n_text = strlen(text), n_header = (n_text + 7) / 8 * 8;
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        length[i] = (unsigned char)((uint64_t)n_header >> 8 * i);
    CS_TRY(cs_outfile_write(f, length, sizeof length));
    CS_TRY(cs_outfile_write(f, text, n_text));
    CS_TRY(cs_outfile_write(f, "        ", n_header - n_text));
    for (size_t i = 0; i < n; i++)
        CS_TRY(cs_outfile_write(f, t[i].data, (size_t)t[i].n * cs_dtype_bytes(t[i].dtype)));
out:
    free(text);
    return rc;
}

int cs_safetensors_bad_part(const char *model, const char *part, const char *why)
{
    return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: its %s %s", model, part, why);
}
