/* open_frames.h - stretches between stops in the six reading frames of a sequence. */
#ifndef CS_TOK_OPEN_FRAMES_H
#define CS_TOK_OPEN_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Stops before the first and behind the last letter of a frame. */
enum { CS_OPEN_MARGIN = 32 };

/* Set by cs_open_frames_init(). The current stretch is letter[from] to letter[to - 1]; stops, or
 * codons with an unknown base, are on both sides. */
typedef struct cs_open_frames {
    const char *base;            /* [n_base] */
    int64_t     n_base, min_letters;
    uint8_t    *room, *letter;   /* of the current frame, as by cs_translate() */
    int64_t     n, from, to;     /* letters of the frame; the current stretch */
    int         frame;           /* 0 to 5, as of cs_translate() */
    uint32_t   *longest;         /* letters of the longest stretch in each bin of bases */
} cs_open_frames;

/**
 * cs_open_frames_init - begin before the first stretch of min_letters or more
 *
 * base     [n_base] either case; not copied
 * shadows  whether cs_open_frames_is_shadow() will be called
 * Returns  CS_OK; CS_EMEM without a message (it takes up to 0.42 bytes per base). For
 *          cs_open_frames_close() in both cases.
 */
int  cs_open_frames_init(cs_open_frames *f, const char *base, int64_t n_base, int64_t min_letters,
                         bool shadows) CS_MUST_CHECK;
void cs_open_frames_close(cs_open_frames *f);

/** cs_open_frames_next - go to the next stretch, frame by frame; false: it was the last one */
bool cs_open_frames_next(cs_open_frames *f);

/** cs_open_frames_next_frame - go before the first stretch of the next frame, whose letters replace
 * those of the current one; false: it was the last one */
bool cs_open_frames_next_frame(cs_open_frames *f);
/** cs_open_frames_next_in_frame - go to the next stretch of the current frame; false: it was the
 * last one, or there is no current frame */
bool cs_open_frames_next_in_frame(cs_open_frames *f);

/**
 * cs_open_frames_is_shadow - whether stretches more than `ratio` times as long cover most of it
 *
 * Reading frames over a gene in its other five frames are called shadow ORFs. More than half of the
 * stretch's bins of 48 bases must have a longer stretch. A stretch of the reverse complement is a
 * shadow if it is one here.
 */
bool cs_open_frames_is_shadow(const cs_open_frames *f, int32_t ratio);

#endif
