/* inputs.h - for tests of readers: files of given bytes in a folder of their own, gzip and BGZF
 * made by hand, and records as one line of text. */
#ifndef CS_TESTS_INPUTS_H
#define CS_TESTS_INPUTS_H

#include "check.h"

#include <dirent.h>
#include <zlib.h>

#include "io/io_init.h"
#include "io/reader.h"

static char inputs_folder[] = "inputs.XXXXXX";

/** inputs_setup, inputs_teardown - group fixtures: the test runs inside an empty folder */
static inline int inputs_setup(void **state)
{
    (void)state;
    cs_io_init();
    return mkdtemp(inputs_folder) && chdir(inputs_folder) == 0 ? 0 : -1;
}

static inline int inputs_teardown(void **state)
{
    (void)state;
    DIR *d = opendir(".");
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        (void)unlink(e->d_name);
    if (d)
        closedir(d);
    return chdir("..") == 0 && rmdir(inputs_folder) == 0 ? 0 : -1;
}

static inline void put_file(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(name, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        fail_msg("cannot write '%s'", name);
}

static inline void put_text(const char *name, const char *text)
{
    put_file(name, text, strlen(text));
}

/* Growing bytes: text made piece by piece. */
typedef struct bytes { unsigned char *p; size_t n, cap; } bytes;

static inline void add(bytes *b, const void *p, size_t n)
{
    if (cs_grow((void **)&b->p, &b->cap, b->n + n + 1, 1) != CS_OK)
        fail_msg("out of memory");
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = 0;
}

static inline void add_text(bytes *b, const char *s)
{
    add(b, s, strlen(s));
}

static inline void add_le(bytes *b, uint32_t v, int n)
{
    for (int i = 0; i < n; i++, v >>= 8)
        add(b, &(unsigned char){ (unsigned char)v }, 1);
}

static inline void add_deflated(bytes *b, const void *p, size_t n)
{
    z_stream z = { 0 };
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    const uLong max = deflateBound(&z, n);
    unsigned char *out = malloc(max);
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)max;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    add(b, out, max - z.avail_out);
    deflateEnd(&z);
    free(out);
}

static inline uint32_t crc_of(const void *p, size_t n)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), p, (uInt)n);
}

/** add_gzip - one gzip member */
static inline void add_gzip(bytes *b, const void *p, size_t n)
{
    add(b, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    add_deflated(b, p, n);
    add_le(b, crc_of(p, n), 4);
    add_le(b, (uint32_t)n, 4);
}

/** add_bgzf - BGZF blocks of at most `block` bytes of text each; n = 0 makes an end marker */
static inline void add_bgzf(bytes *b, const void *p, size_t n, size_t block)
{
    const char *s = p;
    do {
        const size_t k = n < block ? n : block, start = b->n;
        add(b, "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\0\0", 18);
        add_deflated(b, s, k);
        add_le(b, crc_of(s, k), 4);
        add_le(b, (uint32_t)k, 4);
        b->p[start + 16] = (unsigned char)(b->n - start - 1);
        b->p[start + 17] = (unsigned char)((b->n - start - 1) >> 8);
        s += k;
        n -= k;
    } while (n);
}

/** show_records - "name[comment]=BASES/QUALITY" per record, joined by blanks; free() it */
static inline char *show_records(const cs_chunk *c)
{
    bytes b = { NULL, 0, 0 };
    add(&b, "", 0);
    for (int i = 0; i < c->n; i++) {
        const cs_record *r = &c->rec[i];
        add_text(&b, i ? " " : "");
        add_text(&b, r->name);
        add_text(&b, "[");
        add_text(&b, r->comment);
        add_text(&b, "]=");
        add(&b, r->seg[0].base, (size_t)r->seg[0].n_base);
        add_text(&b, r->seg[0].qual ? "/" : "");
        for (int64_t k = 0; r->seg[0].qual && k < r->seg[0].n_base; k++)
            add(&b, &(char){ (char)(r->seg[0].qual[k] + 33) }, 1);
    }
    return (char *)b.p;
}

/** read_all - a whole input into one chunk; CS_OK at its end, else the error */
static inline int read_all(const char *path, const cs_input_opt *opt, cs_chunk **out)
{
    cs_input *in = NULL;
    cs_chunk *c = cs_chunk_new(0);
    int rc = c ? cs_input_open(path, opt, &in) : CS_EMEM;
    while (rc == CS_OK)
        rc = cs_input_next(in, c);
    if (cs_input_close(in) != CS_OK && rc == CS_EOF)
        rc = CS_EIO;
    *out = c;
    return rc == CS_EOF ? CS_OK : rc;
}

/** check_reads - the input has exactly these records */
static inline void check_reads(const char *path, int threads, const char *want)
{
    cs_chunk *c;
    const cs_input_opt opt = { .threads = threads };
    const int rc = read_all(path, &opt, &c);
    char *got = show_records(c);
    if (rc != CS_OK)
        fail_msg("%s", cs_error_message());
    assert_string_equal(got, want);
    free(got);
    cs_chunk_free(c);
}

/** check_refused - the input ends with this code and exactly this message */
static inline void check_refused(const char *path, int code, const char *message)
{
    cs_chunk *c;
    const cs_input_opt opt = { .threads = 0 };
    const int rc = read_all(path, &opt, &c);
    assert_string_equal(cs_error_message(), message);
    assert_int_equal(rc, code);
    cs_error_clear();
    cs_chunk_free(c);
}

#endif
