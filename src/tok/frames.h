/* frames.h - the reading frame at each base: the longest open one of six. */
#ifndef CS_TOK_FRAMES_H
#define CS_TOK_FRAMES_H

#include <stddef.h>

#include "tok/translate.h"

enum { CS_ORF_BINS = 6 };

/* The standard code by the forward strand's codon. */
typedef struct cs_codons {
    int8_t acid[2][CS_CODONS];   /* per strand: index in cs_amino_acids[], or CS_NO_CODON for a
                                  * stop */
} cs_codons;

/* An open reading frame: as many codons of one frame and strand as possible without a stop or an
 * unknown base; bases [from, to) of the forward strand. */
typedef struct cs_orf {
    int64_t from, to;
} cs_orf;

/* The part of an open reading frame in which it is the longest: codons begin at first, first + 3,
 * ... before `end`. */
typedef struct cs_orf_part {
    int     strand;              /* 0: forward, 1: reverse */
    cs_orf  orf;
    int64_t first, end;
} cs_orf_part;

/* Cursor over a sequence; the caller sets base, n_base, min_codons and stop. */
typedef struct cs_frames {
    const char      *base;
    int64_t          n_base;
    int64_t          min_codons; /* shorter open reading frames are ignored */
    uint32_t        *stop;       /* [cs_frames_work() bytes] per strand a bit per base, the lowest
                                  * one first: no amino acid's codon begins there */
    int64_t          at;
    cs_orf           orf[CS_FRAMES];     /* the current or next one of each frame, those of the
                                          * forward strand first */
} cs_frames;

/** cs_codons_init - fill the table (NCBI's table 1) */
void cs_codons_init(cs_codons *c);

/** cs_orf_bin - bin of the length of an open reading frame, 0 to CS_ORF_BINS - 1 */
int cs_orf_bin(const cs_orf *r);

/** cs_orf_symbol - text "ATG/50": a codon, and the minimum codons of its open reading frame.
 * token: cs_orf_bin() * CS_CODONS + codon */
void cs_orf_symbol(int32_t token, int64_t min_codons, char *buf, size_t n_buf);

/** cs_frames_work - bytes of cs_frames.stop for a sequence: a quarter per base */
size_t cs_frames_work(int64_t n_base);

/**
 * cs_frames_first, cs_frames_next - parts of open reading frames in the order of their bases
 *
 * A base has the longest open reading frame there, or none if several are as long. A codon belongs
 * to the frame of its middle base, so codons of two parts never share it.
 *
 * Returns  1, or 0 past the last part
 */
void cs_frames_first(cs_frames *f);
int cs_frames_next(cs_frames *f, cs_orf_part *s);

#endif
