/* corpus.h - windows of genomes in random order, by a permutation without memory.
 *
 * DESIGN. A corpus is a list of intervals of contigs. A pass over it lays a grid of windows over
 * every interval, shifted by a random offset per pass, and visits them in the order of a
 * permutation that needs no memory. A window's position and masks are a function of (seed, pass,
 * number of the window), so a run can resume anywhere. Bases are fetched on demand; memory grows
 * with the number of contigs only.
 */
#ifndef CS_TRAIN_CORPUS_H
#define CS_TRAIN_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Bases [from, to) of a contig, and the number of windows of all intervals before it. */
typedef struct cs_interval { int32_t contig; int64_t from, to, first; } cs_interval;

typedef struct cs_corpus {
    int64_t     window;          /* bases between two lines of the grid */
    int64_t     min_window;      /* 0: windows reach from line to line; else their length is drawn
                                  * from this to `window` */
    int64_t     min_base;        /* minimum bases of a window; shorter remainders are dropped */
    bool        reverse;         /* reverse-complement half of them */
    uint64_t    seed;
    cs_interval *interval;       /* [n] owned */
    size_t      n, cap;
    int64_t     n_window, n_base;
} cs_corpus;

/* A window; n_base 0: too short, skip it. */
typedef struct cs_window {
    int32_t  contig;
    int64_t  from, n_base;
    bool     reverse;
    uint64_t key;                /* key of its other random choices */
} cs_window;

/** cs_corpus_add - bases [from, to) of a contig, from < to; intervals must not overlap. The fields
 * from `window` to `seed` are set before. CS_OK, CS_EMEM */
int cs_corpus_add(cs_corpus *c, int32_t contig, int64_t from, int64_t to) CS_MUST_CHECK;
void cs_corpus_release(cs_corpus *c);

/** cs_corpus_window - window 0 <= j < n_window of a pass, in the pass's order */
cs_window cs_corpus_window(const cs_corpus *c, uint64_t pass, int64_t j);

/**
 * cs_corpus_split - share bases [from, to) of a contig between two corpora
 *
 * Blocks of `block` bases go to `held_out` by a hash of the contig's name, their number and the
 * seed of `held_out`; adjacent blocks of one side form one interval.
 *
 * frac     share of the blocks for `held_out`
 * Returns  CS_OK, CS_EMEM
 */
int cs_corpus_split(cs_corpus *c, cs_corpus *held_out, const char *name, cs_interval whole,
                    int64_t block, double frac) CS_MUST_CHECK;

#endif
