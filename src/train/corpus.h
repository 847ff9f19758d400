/* corpus.h - windows of genomes in random order, by a permutation without memory.
 *
 * DESIGN. A corpus is stretches of contigs. A pass over it lays a grid of windows over every
 * stretch, shifted by an offset that is drawn for the pass, and visits them in the order of a
 * permutation that needs no memory. Where a window lies and what befalls it is a function of
 * (seed, pass, number of the window), so that a run can go on from anywhere. Bases are fetched when
 * their turn comes; memory grows with the number of contigs only.
 */
#ifndef CS_TRAIN_CORPUS_H
#define CS_TRAIN_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Bases [from, to) of a contig, and how many windows all stretches before it have. */
typedef struct cs_stretch { int32_t contig; int64_t from, to, first; } cs_stretch;

typedef struct cs_corpus {
    int64_t     window;          /* bases between two lines of the grid */
    int64_t     shortest;        /* 0: windows reach from line to line; else their length is drawn
                                  * from this to `window` */
    int64_t     least;           /* fewest bases of a window; what an end cuts off is less */
    bool        reverse;         /* turn half of them round */
    uint64_t    seed;
    cs_stretch *stretch;         /* [n] owned */
    size_t      n, cap;
    int64_t     n_window, n_base;
} cs_corpus;

/* A window as it is visited; n_base 0: too short, leave it out. */
typedef struct cs_window {
    int32_t  contig;
    int64_t  from, n_base;
    bool     reverse;
    uint64_t key;                /* of whatever else is drawn for it */
} cs_window;

/** cs_corpus_add - bases [from, to) of a contig, from < to; stretches must not overlap. The fields
 * from `window` to `seed` are set before. CS_OK, CS_EMEM */
int cs_corpus_add(cs_corpus *c, int32_t contig, int64_t from, int64_t to) CS_MUST_CHECK;
void cs_corpus_release(cs_corpus *c);

/** cs_corpus_window - window 0 <= j < n_window of a pass, in the pass's order */
cs_window cs_corpus_window(const cs_corpus *c, uint64_t pass, int64_t j);

/**
 * cs_corpus_split - share bases [from, to) of a contig between two corpora
 *
 * Blocks of `block` bases go to `aside` by a hash of the contig's name, their number and the seed
 * of `aside`; neighbours of one side are one stretch.
 *
 * frac     share of the blocks that go aside
 * Returns  CS_OK, CS_EMEM
 */
int cs_corpus_split(cs_corpus *c, cs_corpus *aside, const char *name, cs_stretch whole,
                    int64_t block, double frac) CS_MUST_CHECK;

#endif
