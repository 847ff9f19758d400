/* open_frames.c - stretches between stops in the six reading frames of a sequence.
 *
 * The longest stretch of each bin of bases is found in a first pass over the six frames. Bins lie
 * alike on both strands: in units of half a base the first one begins at the remainder of the
 * length by BIN, and a stretch covers the bins of which it has half or more.
 */
#include "tok/open_frames.h"

#include <string.h>

#include "base/mem.h"
#include "tok/translate.h"

enum { BIN = 48 };               /* bases */

static void rewind_frames(cs_open_frames *f)
{
    f->frame = -1;
    f->n = f->from = f->to = 0;
}

bool cs_open_frames_next_frame(cs_open_frames *f)
{
    if (f->frame == CS_FRAMES - 1)
        return false;
    f->frame++;
    f->n = cs_translate(f->base, f->n_base, f->frame, f->letter);
    f->to = -1;
    memset(f->letter + f->n, CS_ACID_STOP, CS_OPEN_MARGIN);
    return true;
}

bool cs_open_frames_next_in_frame(cs_open_frames *f)
{
    do {
        if (f->to + 1 >= f->n)
            return false;
        f->from = f->to + 1;
        f->to = f->from;
        while (f->letter[f->to] != CS_ACID_STOP)
            f->to++;
    } while (f->to - f->from < f->min_letters);
    return true;
}

bool cs_open_frames_next(cs_open_frames *f)
{
    while (!cs_open_frames_next_in_frame(f))
        if (!cs_open_frames_next_frame(f))
            return false;
    return true;
}

/* The bins of the current stretch, from first to before last. */
static void bins_of(const cs_open_frames *f, int64_t *first, int64_t *last)
{
    const int64_t offset = f->frame % 3, from = offset + 3 * f->from, to = offset + 3 * f->to,
                  shift = f->n_base % BIN;

    *first = (2 * (f->frame < 3 ? from : f->n_base - to) - shift + BIN) / (2 * BIN);
    *last = (2 * (f->frame < 3 ? to : f->n_base - from) - shift + BIN - 1) / (2 * BIN);
}

static void find_longest(cs_open_frames *f)
{
    while (cs_open_frames_next(f)) {
        const uint32_t length = (uint32_t)(f->to - f->from);
        int64_t first, last;
        bins_of(f, &first, &last);
        for (int64_t b = first; b < last; b++)
            f->longest[b] = f->longest[b] < length ? length : f->longest[b];
    }
    rewind_frames(f);
}

bool cs_open_frames_is_shadow(const cs_open_frames *f, int32_t ratio)
{
    int64_t first, last, n_under = 0;

    bins_of(f, &first, &last);
    for (int64_t b = first; b < last; b++)
        n_under += f->longest[b] > ratio * (f->to - f->from);
    return 2 * n_under > last - first;
}

int cs_open_frames_init(cs_open_frames *f, const char *base, int64_t n_base, int64_t min_letters,
                        bool shadows)
{
    const size_t n_bin = (size_t)(n_base / BIN) + 1;

    *f = (cs_open_frames){ .base = base, .n_base = n_base, .min_letters = min_letters };
    rewind_frames(f);
    f->room = cs_block_alloc((size_t)n_base / 3 + 2 * CS_OPEN_MARGIN, 1);
    f->longest = shadows ? cs_block_alloc(n_bin, sizeof *f->longest) : NULL;
    if (!f->room || (shadows && !f->longest))
        return CS_EMEM;
    f->letter = f->room + CS_OPEN_MARGIN;
    memset(f->room, CS_ACID_STOP, CS_OPEN_MARGIN);
    if (shadows) {
        memset(f->longest, 0, n_bin * sizeof *f->longest);
        find_longest(f);
    }
    return CS_OK;
}

void cs_open_frames_close(cs_open_frames *f)
{
    cs_block_free(f->room);
    cs_block_free(f->longest);
}
