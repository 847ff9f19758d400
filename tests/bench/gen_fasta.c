/* gen_fasta.c - random FASTA of a given size to stdout: equal arguments, equal bytes.
 *
 *     gen_fasta BASES SEED [MIN MAX | LENGTHS]
 *
 * Lengths run through the same cycle of 64 values between MIN and MAX (default 500 and 50000),
 * spaced evenly in their logarithm, so that inputs of different sizes have records of the same
 * lengths; or through those of the file LENGTHS, one a line.
 */
#include <math.h>
#include <stdio.h>

#include "base/opt.h"

enum { N_LENGTH = 64, LINE = 80 };

/* xorshift64* (Vigna 2016): fast, and good enough for two bits per base. */
static uint64_t next(uint64_t *s)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * UINT64_C(2685821657736338717);
}

/* One record of n bases; 0 if it was written. */
static int record(int64_t no, int64_t n, uint64_t *state)
{
    char line[LINE + 1];

    if (printf(">r%lld\n", (long long)no) < 0)
        return 1;
    for (int64_t at = 0; at < n; at += LINE) {
        const int here = n - at < LINE ? (int)(n - at) : LINE;
        uint64_t bits = 0;
        for (int i = 0; i < here; i++, bits >>= 2) {
            bits = i % 32 == 0 ? next(state) : bits;
            line[i] = "ACGT"[bits & 3];
        }
        line[here] = '\n';
        if (fwrite(line, 1, (size_t)here + 1, stdout) != (size_t)here + 1)
            return 1;
    }
    return 0;
}

/* Length number `no`: of the cycle, or the file's next one; the file is repeated. */
static int64_t length(FILE *file, int64_t no, int64_t min, int64_t max)
{
    long long n = 0;

    if (file == NULL) {
        /* 27 is prime to 64: neighbours differ, and every length comes once per cycle. */
        const double step = log((double)max / (double)min) / (N_LENGTH - 1);
        return llround((double)min * exp(step * (double)(no * 27 % N_LENGTH)));
    }
    if (fscanf(file, "%lld", &n) != 1) {
        rewind(file);
        n = fscanf(file, "%lld", &n) == 1 ? n : 0;
    }
    return n;
}

int main(int argc, char **argv)
{
    int64_t total, seed, min = 500, max = 50000;
    FILE *file = argc == 4 ? fopen(argv[3], "r") : NULL;
    int bad = argc < 3 || argc > 5 || (argc == 4 && file == NULL);

    bad = bad || cs_parse_size(argv[1], &total) != CS_OK || cs_parse_int(argv[2], &seed) != CS_OK;
    bad = bad || (argc == 5 && (cs_parse_size(argv[3], &min) != CS_OK
                                || cs_parse_size(argv[4], &max) != CS_OK));
    if (bad || min < 1 || max < min) {
        puts("usage: gen_fasta BASES SEED [MIN MAX | LENGTHS]");
        return 2;
    }
    uint64_t state = (uint64_t)seed * 2 + 1;
    for (int64_t no = 0, done = 0; done < total; no++) {
        int64_t n = length(file, no, min, max);
        if (n < 1) {
            (void)fprintf(stdout, "'%s' has a line that is no length\n", argv[3]);
            return 2;
        }
        n = n < total - done ? n : total - done;
        if (record(no, n, &state) != 0)
            return 1;
        done += n;
    }
    if (file != NULL)
        (void)fclose(file);
    return fflush(stdout) != 0;
}
