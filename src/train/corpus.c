/* corpus.c - windows of genomes in random order, by a permutation without memory. */
#include "train/corpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

/* Streams of the seed, and of a window's key. */
enum { STREAM_ORDER = 131, STREAM_SHIFT, STREAM_WINDOW, STREAM_BLOCK };
enum { DRAW_LENGTH, DRAW_START, DRAW_STRAND };

/* Lines of the grid are at shift + k * window, 0 <= shift < window: at most one more window than
 * fits, at either end. A contig of one window is taken whole. */
static int64_t count_windows(const cs_corpus *c, int64_t n_base)
{
    return n_base <= c->window ? 1 : n_base / c->window + 2;
}

int cs_corpus_add(cs_corpus *c, int32_t contig, int64_t from, int64_t to)
{
    if (cs_grow((void **)&c->interval, &c->cap, c->n + 1, sizeof *c->interval) != CS_OK)
        return CS_EMEM;
    c->interval[c->n++] = (cs_interval){ contig, from, to, c->n_window };
    c->n_window += count_windows(c, to - from);
    c->n_base += to - from;
    return CS_OK;
}

void cs_corpus_release(cs_corpus *c)
{
    free(c->interval);
    *c = (cs_corpus){ 0 };
}

/* The interval that contains window w. */
static const cs_interval *find_interval(const cs_corpus *c, int64_t w, uint64_t *no)
{
    size_t lo = 0, hi = c->n - 1;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo + 1) / 2;
        if (c->interval[mid].first <= w)
            lo = mid;
        else
            hi = mid - 1;
    }
    *no = lo;
    return &c->interval[lo];
}

/* Window k of an interval: from one grid line to the next, within the interval. */
static void place_window(const cs_corpus *c, const cs_interval *s, int64_t k, int64_t shift,
                         int64_t *from, int64_t *to)
{
    const int64_t n = s->to - s->from, line = shift + k * c->window;

    *from = s->from;
    *to = s->to;
    if (n <= c->window)
        return;
    *to = s->from + (line < n ? line : n);
    if (k > 0)
        *from = s->from + (line - c->window < n ? line - c->window : n);
}

cs_window cs_corpus_window(const cs_corpus *c, uint64_t pass, int64_t j)
{
    const uint64_t order = cs_rng_key(cs_rng_key(c->seed, STREAM_ORDER), pass),
                   shifts = cs_rng_key(cs_rng_key(c->seed, STREAM_SHIFT), pass),
                   windows = cs_rng_key(cs_rng_key(c->seed, STREAM_WINDOW), pass);
    const int64_t w = (int64_t)cs_rng_permute(order, (uint64_t)j, (uint64_t)c->n_window);
    uint64_t no;
    const cs_interval *s = find_interval(c, w, &no);
    const int64_t shift = (int64_t)cs_rng_below(shifts, no, (uint64_t)c->window);
    cs_window v = { .contig = s->contig, .key = cs_rng_key(windows, (uint64_t)w) };
    int64_t from, to;

    place_window(c, s, w - s->first, shift, &from, &to);
    int64_t n = to - from;
    if (c->min_window > 0 && n > c->min_window) {
        const uint64_t n_len = (uint64_t)n - (uint64_t)c->min_window + 1;
        const int64_t len = c->min_window + (int64_t)cs_rng_below(v.key, DRAW_LENGTH, n_len);
        from += (int64_t)cs_rng_below(v.key, DRAW_START, (uint64_t)(n - len) + 1);
        n = len;
    }
    v.from = from;
    v.n_base = n >= c->min_base ? n : 0;
    v.reverse = c->reverse && cs_rng_u64(v.key, DRAW_STRAND) >> 63;
    return v;
}

/* ---- split ----------------------------------------------------------------------------------- */

static uint64_t hash_name(const char *name)
{
    uint64_t h = 0;

    for (const char *p = name; *p != '\0'; p++)
        h = cs_rng_u64(h, (unsigned char)*p);
    return h;
}

int cs_corpus_split(cs_corpus *c, cs_corpus *held_out, const char *name, cs_interval whole,
                    int64_t block, double frac)
{
    int rc = CS_OK;
    const uint64_t key = cs_rng_key(cs_rng_key(held_out->seed, STREAM_BLOCK), hash_name(name));
    int64_t from = whole.from;
    bool is_held_out = false;

    for (int64_t at = whole.from, b = 0; at < whole.to; at += block, b++) {
        const bool next = cs_rng_unit(key, (uint64_t)b) < frac;
        if (next != is_held_out && at > from) {
            CS_TRY(cs_corpus_add(is_held_out ? held_out : c, whole.contig, from, at));
            from = at;
        }
        is_held_out = next;
    }
    rc = cs_corpus_add(is_held_out ? held_out : c, whole.contig, from, whole.to);
out:
    return rc;
}
