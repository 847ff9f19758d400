/* genes.h - a dataset of random sequences, each with a gene of its class, for tests of tables and
 * protein databases. */
#ifndef CS_TESTS_GENES_H
#define CS_TESTS_GENES_H

#include <math.h>

#include "check.h"

#include "base/rng.h"
#include "train/dataset.h"

enum { N_CLASS = 3, N_GROUP = 4, N_GENE = 600, N_BASE = 900 };

/* The class's gene, without stops, in random bases. In every group it has other third bases and, if
 * `apart`, another amino acid in one place of eight. */
static void genes_sequence(int class_no, int group, bool apart, char *base)
{
    const uint64_t own = cs_rng_key(10, (uint64_t)(class_no * 100 + group));
    const uint64_t gene = cs_rng_key(11, (uint64_t)class_no);
    static const char *const fourfold[] = { "GC", "GG", "CC", "AC", "GT", "CT", "TC", "CG" };

    for (int i = 0; i < N_BASE; i++)
        base[i] = "ACGT"[cs_rng_below(own, (uint64_t)i, 4)];
    for (int i = 0; i < N_GENE; i += 3) {
        const bool other = apart && cs_rng_below(own, (uint64_t)(2 * N_BASE + i), 8) == 0;
        memcpy(base + 100 + i, fourfold[cs_rng_below(other ? own : gene, (uint64_t)i, 8)], 2);
        base[102 + i] = "ACGT"[cs_rng_below(own, (uint64_t)(N_BASE + i), 4)];
    }
}

/* A sequence of every class and group; the last group is for validation. */
static void genes_dataset(bool apart, cs_dataset *d)
{
    static char base[N_BASE];
    char name[32];

    cs_dataset_init(d, true, 1, 0);
    for (int c = 0; c < N_CLASS; c++)
        for (int g = 0; g < N_GROUP; g++) {
            const float target = (float)c;
            snprintf(name, sizeof name, "%d.%d", c, g);
            genes_sequence(c, g, apart, base);
            cs_record r = { .name = name, .n_seg = 1, .seg[0] = { base, NULL, N_BASE } };
            assert_int_equal(cs_dataset_add(d, &r, &target, name), CS_OK);
            d->ex[d->n - 1].part = g == N_GROUP - 1 ? CS_PART_VALID : CS_PART_TRAIN;
        }
}

/* Class drawn by case `i`: with probabilities proportional to exp(z); z [N_CLASS]. */
static inline int32_t genes_draw_class(uint64_t i, const double *z)
{
    double sum = 0;
    int32_t c = 0;

    for (int k = 0; k < N_CLASS; k++)
        sum += exp(z[k]);
    double u = (double)cs_rng_below(3, i, 1 << 30) / (1 << 30) * sum;
    for (; c < N_CLASS - 1 && u >= exp(z[c]); c++)
        u -= exp(z[c]);
    return c;
}

/* All sequences one after another, in an order without long repeats of their classes: a sequence
 * that threads share. For free(). */
static inline char *genes_joined(const cs_dataset *d, int64_t *n)
{
    char *base = malloc((size_t)d->n * N_BASE);

    assert_non_null(base);
    for (int i = 0; i < d->n; i++)
        memcpy(base + (size_t)i * N_BASE, d->ex[i * 5 % d->n].base, N_BASE);
    *n = (int64_t)d->n * N_BASE;
    return base;
}

#endif
