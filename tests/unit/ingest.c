/* ingest.c - read files as the program does, and print the result of each in one line.
 *
 * Usage: ingest [-r REFERENCE] [-t THREADS] FILE...       sequences
 *        ingest -f variants|genotypes|regions FILE...     what variant, diplotype and -R read
 * Prints FILE, a tab, and "ok N records M bases" or the message that refuses it; with -f, reader
 * and exit status in between, and what else it counts: alleles, samples' genotypes, bases.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/opt.h"
#include "io/genotypes.h"
#include "io/hts_in.h"
#include "io/io_init.h"
#include "io/pileup.h"
#include "io/reader.h"
#include "io/regions.h"
#include "io/vcf.h"

/* Every record into a chunk of its own, so that memory tools see each one's bounds. */
static int count(const char *path, const cs_input_opt *opt, int64_t *n_record, int64_t *n_base)
{
    int rc = CS_OK;
    cs_input *in = NULL;
    *n_record = *n_base = 0;
    CS_TRY(cs_input_open(path, opt, &in));
    while (rc == CS_OK) {
        cs_chunk *c = cs_chunk_new(0);
        if (!c)
            rc = cs_fail(CS_EMEM, "out of memory");
        else
            rc = cs_input_next(in, c);
        if (rc == CS_OK) {
            *n_record += c->n;
            *n_base += c->n_base;
        }
        cs_chunk_free(c);
    }
    if (rc == CS_EOF)
        rc = CS_OK;
out:
    if (cs_input_close(in) != CS_OK && rc == CS_OK)
        rc = CS_EIO;
    return rc;
}

static int count_variants(const char *path, int64_t *n_record, int64_t *n_allele)
{
    cs_vcf *v = NULL;
    int rc = cs_vcf_open(path, 0, false, &v);

    while (rc == CS_OK) {
        cs_arena *mem = cs_arena_new();
        cs_vcf_record *r;
        rc = cs_vcf_next(v, mem, &r);
        if (rc == CS_OK) {
            *n_record += 1;
            *n_allele += r->n_alt;
        }
        cs_arena_free(mem);
    }
    cs_vcf_close(v);
    return rc;
}

static int count_genotypes(const char *path, int64_t *n_record, int64_t *n_genotype)
{
    struct htsFile *fp;
    cs_genotypes *g = NULL;
    cs_variant v;
    bool calls;
    int rc = cs_htsin_open_reads_or_calls(path, &fp, &calls);

    if (rc == CS_OK)
        rc = cs_genotypes_open(path, fp, 0, &g);
    while (rc == CS_OK && (rc = cs_genotypes_next(g, &v)) == CS_OK) {
        *n_record += 1;
        *n_genotype += v.gt ? cs_genotypes_samples(g) : 0;
    }
    cs_genotypes_close(g);
    return rc;
}

static int count_regions(const char *path, int64_t *n_region, int64_t *n_base)
{
    cs_regions *r = NULL;
    cs_region at;
    int rc = cs_regions_open(NULL, 0, path, &r);

    while (rc == CS_OK && (rc = cs_regions_next(r, NULL, &at)) == CS_OK) {
        *n_region += 1;
        *n_base += at.to - at.from;
    }
    cs_regions_free(r);
    return rc;
}

static const struct {
    const char *name, *what, *inner;
    int (*count)(const char *path, int64_t *n, int64_t *n_inner);
} format[] = {
    { "variants", "records", "alleles", count_variants },
    { "genotypes", "records", "genotypes", count_genotypes },
    { "regions", "regions", "bases", count_regions },
};

static int tell(const char *name, char *const *path)
{
    size_t f = 0;

    while (f < sizeof format / sizeof *format && strcmp(format[f].name, name) != 0)
        f++;
    if (f == sizeof format / sizeof *format)
        return 2;
    for (; *path; path++) {
        int64_t n = 0, n_inner = 0;
        cs_error_clear();
        if (format[f].count(*path, &n, &n_inner) == CS_EOF)
            printf("%s\t%s\t0\tok %lld %s %lld %s\n", *path, name, (long long)n, format[f].what,
                   (long long)n_inner, format[f].inner);
        else
            printf("%s\t%s\t1\t%s\n", *path, name, cs_error_message());
    }
    return 0;
}

int main(int argc, char **argv)
{
    cs_input_opt opt = { 0 };
    int64_t threads = 0, n_record, n_base;
    const char *other = NULL;
    int c;
    cs_log_set_level(CS_LOG_NOTE);
    cs_io_init();
    while ((c = getopt(argc, argv, "f:r:t:")) != -1) {
        if (c == 'r')
            opt.reference = optarg;
        else if (c == 'f')
            other = optarg;
        else if (c != 't' || cs_parse_int(optarg, &threads) != CS_OK)
            return 2;
    }
    if (other)
        return tell(other, argv + optind);
    opt.threads = (int)threads;
    for (int i = optind; i < argc; i++) {
        cs_error_clear();
        if (count(argv[i], &opt, &n_record, &n_base) == CS_OK)
            printf("%s\tok %lld records %lld bases\n", argv[i], (long long)n_record,
                   (long long)n_base);
        else
            printf("%s\t%s\n", argv[i], cs_error_message());
    }
    return 0;
}
