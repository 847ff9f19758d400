/* fuzz_vcf.c - VCF and BCF from arbitrary bytes: nothing crashes, a refusal keeps a message, a
 * record's columns are those of its line, and records are written with fields added to INFO, and
 * otherwise as they were. */
#define _GNU_SOURCE              /* memfd_create, memmem */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "data_url.h"
#include "io/io_init.h"
#include "io/vcf.h"
#include "io/vcf_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_record(const cs_vcf_record *r)
{
    size_t n;
    const char *contig = cs_vcf_column(r->line, r->n_line, 0, &n);

    CS_BUG(!contig || n != strlen(r->contig) || memcmp(contig, r->contig, n) != 0);
    CS_BUG(r->n_alt < 0 || r->pos < -1 || *r->ref == '\0');
    for (int i = 0; i < r->n_alt; i++)
        CS_BUG(*r->alt[i] == '\0' || strchr(r->alt[i], ',') != NULL);
}

static void check_keys(const cs_vcf *v, const cs_vcf_record *r, cs_arena *mem)
{
    const char **value = cs_arena_alloc(mem, (size_t)r->n_alt + 1, sizeof *value);

    CS_BUG(!value);
    if (cs_vcf_info(v, r, "AF", mem, value) != CS_OK)
        CS_BUG(*cs_error_message() == '\0');
    cs_error_clear();
}

static void read_all(const char *url, bool as_native)
{
    cs_vcf *v = NULL;
    int rc = cs_vcf_open(url, 0, as_native, &v);

    while (rc == CS_OK) {
        cs_arena *mem = cs_arena_new();
        cs_vcf_record *r;
        rc = cs_vcf_next(v, mem, &r);
        if (rc == CS_OK && !as_native) {
            check_record(r);
            check_keys(v, r, mem);
        }
        CS_BUG(rc == CS_OK && as_native && !r->native);
        cs_arena_free(mem);
    }
    CS_BUG(rc != CS_EOF && *cs_error_message() == '\0');
    cs_error_clear();
    cs_vcf_close(v);
}

/* ---- records with added fields, in files in memory ------------------------------------------- */

enum { OUT = 100, AGAIN = 101 };

static const cs_vcf_field field[] = {
    { .id = (char[]){ "CS_L2" }, .description = (char[]){ "d" }, .type = CS_VCF_FLOAT },
    { .id = (char[]){ "AF" }, .description = (char[]){ "d" }, .type = CS_VCF_INTEGER },
    { .id = (char[]){ "CS_T" }, .description = (char[]){ "d" }, .type = CS_VCF_STRING },
    { .id = (char[]){ "DP" }, .description = (char[]){ "d" }, .type = CS_VCF_FLOAT,
      .hidden = true },
};

static void start(void)
{
    for (int fd = OUT; fd <= AGAIN; fd++) {
        const int made = memfd_create("vcf", 0);
        CS_BUG(made < 0 || dup2(made, fd) < 0 || close(made) != 0);
    }
    cs_log_set_level(CS_LOG_ERROR);
    cs_io_init();
}

static int write_record(cs_vcfout *out, const cs_vcf_record *r, cs_arena *mem)
{
    double *v = cs_arena_alloc(mem, (size_t)r->n_alt + 1, sizeof *v);
    const char **text = cs_arena_alloc(mem, (size_t)r->n_alt + 1, sizeof *text);

    CS_BUG(!v || !text);
    for (int i = 0; i < r->n_alt; i++) {
        v[i] = i % 3 == 2 ? (double)NAN : 7 - i;
        text[i] = i % 3 == 1 ? NULL : "one_two";
    }
    const cs_vcf_values with = { .v = v, .text = text };
    return cs_vcfout_record(out, r, (const cs_vcf_values[]){ with, with, with, with });
}

/* CS_OK; n receives the number of records. */
static int write_all(const char *from, int fd, bool as_native, int *n)
{
    static const char *const line[] = { "##chordseq_line=1" };
    char to[32];
    const cs_vcfout_opt opt = { .path = to, .format = as_native ? 'u' : 'v', .line = line,
                                .n_line = as_native ? 0 : 1, .field = field, .n_field = 4 };
    cs_vcf *in = NULL;
    cs_vcfout *out = NULL;

    (void)snprintf(to, sizeof to, "/dev/fd/%d", fd);
    CS_BUG(ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0);
    int rc = cs_vcf_open(from, 0, as_native, &in);
    rc = rc == CS_OK ? cs_vcfout_open(in, &opt, &out) : rc;
    for (*n = 0; rc == CS_OK; *n += rc == CS_OK) {
        cs_arena *mem = cs_arena_new();
        cs_vcf_record *r;
        rc = cs_vcf_next(in, mem, &r);
        rc = rc == CS_OK ? write_record(out, r, mem) : rc;
        cs_arena_free(mem);
    }
    CS_BUG(rc != CS_EOF && *cs_error_message() == '\0');
    if (rc == CS_EOF)
        rc = cs_vcfout_close(out);
    else
        cs_vcfout_discard(out);
    cs_vcf_close(in);
    return rc;
}

static char *content(int fd, size_t *n)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    char *p = cs_xmalloc((size_t)end + 1);

    CS_BUG(end < 0 || pread(fd, p, (size_t)end, 0) != end);
    *n = (size_t)end;
    return p;
}

/* What is written can be read, and writing it once more gives as many records, of text the same
 * bytes but for one more line in the header. Of BCF, htslib prints what it cannot parse. */
static void check_written(const char *url, bool as_native, bool is_text)
{
    static const char line[] = "##chordseq_line=1\n";
    int n, n_again;
    size_t n_first, n_second;

    if (write_all(url, OUT, as_native, &n) != CS_OK) {
        cs_error_clear();
        return;
    }
    if (write_all("/dev/fd/100", AGAIN, as_native, &n_again) != CS_OK && !is_text) {
        cs_error_clear();
        return;
    }
    CS_BUG(*cs_error_message() != '\0' || n != n_again);
    char *first = content(OUT, &n_first), *second = content(AGAIN, &n_second);
    if (!as_native) {
        const size_t k = strlen(line);
        char *at = memmem(second, n_second, line, k);
        CS_BUG(!at || n_second != n_first + k);
        memmove(at, at + k, n_second - k - (size_t)(at - second));
        CS_BUG(memcmp(first, second, n_first) != 0);
    }
    free(first);
    free(second);
}

static size_t number_at(const uint8_t *p)
{
    return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

/* Does BCF claim a header or record of megabytes? htslib allocates it, and AddressSanitizer takes
 * seconds to mark gigabytes. */
static bool is_oversized(const uint8_t *p, size_t n)
{
    enum { HEAD = 9, MAX = 1 << 20 };

    if (n < HEAD || memcmp(p, "BCF", 3) != 0)
        return false;
    size_t size = number_at(p + 5), at = HEAD + size;
    while (size <= MAX && at < n && n - at >= 8) {
        size = number_at(p + at) + number_at(p + at + 4);
        at += 8 + size;
    }
    return size > MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static bool ready;

    if (!ready)
        start();
    ready = true;
    if (is_oversized(data, n_bytes))
        return 0;
    char *url = data_url(data, n_bytes);
    read_all(url, false);
    read_all(url, true);
    check_written(url, false, n_bytes > 0 && data[0] == '#');
    check_written(url, true, n_bytes > 0 && data[0] == '#');
    free(url);
    return 0;
}
