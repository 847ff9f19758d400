/* frames.c - the reading frame at each base: the longest open one of six.
 *
 * One cursor per frame finds its next run; between two ends of runs the reading frame is constant.
 */
#include "tok/frames.h"

#include <stdbool.h>
#include <string.h>

#include "tok/translate.h"

enum { STRANDS = 2, FRAMES = 3 };

static const int64_t run_least[CS_RUN_LENGTHS] = { 0, 30, 50, 80, 150, 300 };

void cs_codons_init(cs_codons *c)
{
    for (int i = 0; i < CS_CODONS; i++) {
        const char *acid = strchr(cs_amino_acids, cs_genetic_code[i]);
        const int j = CS_CODONS - 1 - i;                     /* each base becomes 3 - code */
        c->turned[i] = (int8_t)((j & 3) << 4 | (j & 12) | j >> 4);
        c->acid[0][i] = acid ? (int8_t)(acid - cs_amino_acids) : CS_NO_CODON;
        c->acid[1][c->turned[i]] = c->acid[0][i];
    }
}

int cs_run_length(const cs_run *r)
{
    const int64_t length = (r->to - r->from) / 3;
    int range = 0;

    while (range + 1 < CS_RUN_LENGTHS && length >= run_least[range + 1])
        range++;
    return range;
}

int64_t cs_run_least(int range)
{
    return run_least[range];
}

/* Moves a frame to its first run that begins at `from` or behind it; INT64_MAX behind the last. */
static void next_run(const cs_frames *f, const int8_t *acid, int64_t from, cs_run *r)
{
    const int64_t least = 3 * f->min_codons;

    while (from + least <= f->n_base) {
        int64_t at = from;
        for (; at + 3 <= f->n_base; at += 3) {
            const int codon = cs_forward_codon(f->base + at);
            if (codon < 0 || acid[codon] < 0)
                break;
        }
        if (at - from >= least) {
            *r = (cs_run){ from, at };
            return;
        }
        from = at + 3;
    }
    *r = (cs_run){ INT64_MAX, INT64_MAX };
}

/* The frame with the longest run at a base, or -1 for none or several; *end receives the base where
 * that may change. */
static int frame_at(const cs_frames *f, int64_t at, int64_t *end)
{
    int64_t longest = 0;
    int frame = -1;

    *end = f->n_base;
    for (int i = 0; i < STRANDS * FRAMES; i++) {
        const cs_run *r = &f->run[i];
        const bool here = r->from <= at;
        const int64_t change = here ? r->to : r->from, length = here ? r->to - r->from : 0;
        *end = change < *end ? change : *end;
        if (length > longest) {
            longest = length;
            frame = i;
        } else if (length == longest) {
            frame = -1;
        }
    }
    return frame;
}

void cs_frames_first(cs_frames *f)
{
    f->at = 0;
    for (int i = 0; i < STRANDS * FRAMES; i++)
        next_run(f, f->codons->acid[i / FRAMES], i % FRAMES, &f->run[i]);
}

int cs_frames_next(cs_frames *f, cs_stretch *s)
{
    while (f->at < f->n_base) {
        const int64_t at = f->at;
        for (int i = 0; i < STRANDS * FRAMES; i++)
            if (f->run[i].to <= at)
                next_run(f, f->codons->acid[i / FRAMES], f->run[i].to + 3, &f->run[i]);
        const int frame = frame_at(f, at, &f->at);
        if (frame < 0)
            continue;
        const cs_run *r = &f->run[frame];
        /* the first codon with its middle base at `at` or behind it, up to the last before f->at */
        const int64_t behind = at > r->from + 1 ? (at - 1 - r->from + 2) / 3 * 3 : 0;
        *s = (cs_stretch){ .strand = frame / FRAMES, .run = *r, .first = r->from + behind,
                           .end = f->at - 1 };
        return 1;
    }
    return 0;
}
