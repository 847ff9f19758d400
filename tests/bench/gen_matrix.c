/* gen_matrix.c - square matrices as NPY, from a seed: `gen_matrix KIND SIDE SEED FILE`.
 *
 * image     fine strokes of a few pixels, lighter and darker than the background
 * sparse    normal numbers in one of fifty places
 * low-rank  a product of two normal matrices, of rank SIDE / 16
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "base/rng.h"
#include "io/npy.h"

enum { STROKES_PER_ROW = 6 };

static const double pi = 3.14159265358979323846;

static void image(int64_t n, uint64_t key, double *a)
{
    for (uint64_t i = 0; i < (uint64_t)(STROKES_PER_ROW * n); i++) {
        const double x = cs_rng_unit(key, 8 * i) * (double)n, y = cs_rng_unit(key, 8 * i + 1)
                       * (double)n;
        const double angle = 0.25 * cs_rng_normal(key, 4 * i + 1) - pi / 4;
        const int64_t len = 4 + (int64_t)cs_rng_below(key, 8 * i + 4, 10);
        const double tone = cs_rng_below(key, 8 * i + 5, 2) ? 1 : -1;
        for (int64_t t = 0; t < len; t++) {
            const int64_t r = (int64_t)(y + (double)t * sin(angle) + (double)n) % n;
            const int64_t c = (int64_t)(x + (double)t * cos(angle) + (double)n) % n;
            a[r * n + c] += tone;
        }
    }
}

static void sparse(int64_t n, uint64_t key, double *a)
{
    for (int64_t i = 0; i < n * n; i++)
        if (cs_rng_unit(cs_rng_key(key, 1), (uint64_t)i) < 0.02)
            a[i] = cs_rng_normal(key, (uint64_t)i);
}

static void low_rank(int64_t n, uint64_t key, double *a)
{
    for (int64_t k = 0; k < n / 16; k++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                a[i * n + j] += cs_rng_normal(key, (uint64_t)(2 * (k * n + i)))
                              * cs_rng_normal(key, (uint64_t)(2 * (k * n + j) + 1));
}

int main(int argc, char **argv)
{
    int64_t n, seed;
    void (*make)(int64_t, uint64_t, double *) = NULL;

    if (argc == 5)
        make = strcmp(argv[1], "image") == 0 ? image : strcmp(argv[1], "sparse") == 0 ? sparse
             : strcmp(argv[1], "low-rank") == 0 ? low_rank : NULL;
    if (!make || cs_parse_int(argv[2], &n) != CS_OK || n < 16 || n > 8192
        || cs_parse_int(argv[3], &seed) != CS_OK) {
        puts("usage: gen_matrix image|sparse|low-rank SIDE SEED FILE");
        return 2;
    }
    double *a = cs_xcalloc((size_t)(n * n), sizeof *a);
    make(n, (uint64_t)seed, a);
    if (cs_npy_write(argv[4], CS_NPY_F8, cs_npy_shape2(n, n), a) != CS_OK)
        puts(cs_error_message());
    free(a);
    return *cs_error_message() != '\0';
}
