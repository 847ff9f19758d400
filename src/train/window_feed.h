/* window_feed.h - thread that fetches windows of genomes, masks tokens and makes batches. */
#ifndef CS_TRAIN_WINDOW_FEED_H
#define CS_TRAIN_WINDOW_FEED_H

#include "train/corpus.h"
#include "train/feed.h"
#include "train/mask.h"

/* Windows requested in this run, and those rejected: too short, or too many unknown bases. */
typedef struct cs_window_count { int64_t n, n_short, n_unknown; } cs_window_count;

/* A feed whose samples are windows. An epoch is the next epoch_window of them, in consecutive
 * passes over the corpus. */
typedef struct cs_window_feed {
    cs_feed feed;                /* first; `rules` is used, `train` and `valid` are not */
    const cs_corpus *train, *valid;      /* valid: without windows, or NULL: none */
    cs_mask mask;                /* in validation all chosen tokens are masked */
    bool    known[256];          /* by letter */
    double  max_unknown;         /* maximum share of other letters in a window */
    int64_t step_window;         /* windows per step */
    int64_t epoch_window, valid_window;  /* windows per epoch, and of its validation */
    /* Bases [from, to) of a contig, upper-case, into out; called by the feed's thread only. */
    int   (*fetch)(void *arg, int32_t contig, int64_t from, int64_t to, char *out);
    void   *arg;
    cs_window_count count;       /* of training */
} cs_window_feed;

/** cs_window_feed_init - sets feed.run, feed.step_count, feed.valid_bases and the windows per step:
 * rules.step_records, or as many as `accumulate` batches hold. The caller has set `train`, `mask`,
 * `valid_window` and feed.rules */
void cs_window_feed_init(cs_window_feed *f);

#endif
