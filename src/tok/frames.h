/* frames.h - the reading frame at each base: the longest open one of six. */
#ifndef CS_TOK_FRAMES_H
#define CS_TOK_FRAMES_H

#include "io/record.h"

enum { CS_CODONS = 64, CS_NO_CODON = -1, CS_RUN_LENGTHS = 6 };

/* The standard code by the forward strand's codon, in the order of A, C, G, T. */
typedef struct cs_codons {
    int8_t acid[2][CS_CODONS];   /* index in cs_amino_acids[], or CS_NO_CODON for a stop, per
                                  * strand */
    int8_t turned[CS_CODONS];    /* the codon of the reverse strand */
} cs_codons;

/* A run is a maximal row of codons of one frame and strand without a stop or an unknown base: bases
 * [from, to) of the forward strand. */
typedef struct cs_run {
    int64_t from, to;
} cs_run;

/* Bases in the same reading frame: codons begin at first, first + 3, ... before `end`. Their run
 * may begin earlier and go on. */
typedef struct cs_stretch {
    int     strand;              /* 0: forward, 1: reverse */
    cs_run  run;
    int64_t first, end;
} cs_stretch;

/* Cursor over a sequence; the caller sets codons, base, n_base and min_codons. */
typedef struct cs_frames {
    const cs_codons *codons;
    const char      *base;
    int64_t          n_base;
    int64_t          min_codons; /* shorter runs are ignored */
    int64_t          at;
    cs_run           run[6];     /* the current or next run of each frame, the forward ones first */
} cs_frames;

/** cs_codons_init - fill the table (NCBI's table 1) */
void cs_codons_init(cs_codons *c);

/** cs_forward_codon - the codon at p[0..2], or CS_NO_CODON with an unknown base */
static inline int cs_forward_codon(const char *p)
{
    const int a = cs_base_code[(unsigned char)p[0]], b = cs_base_code[(unsigned char)p[1]],
              c = cs_base_code[(unsigned char)p[2]];
    return (a | b | c) & 4 ? CS_NO_CODON : a << 4 | b << 2 | c;
}

/** cs_run_length - range of a run's length, 0 to CS_RUN_LENGTHS - 1 */
int cs_run_length(const cs_run *r);

/** cs_run_least - shortest run of a range, codons; 0 for the first */
int64_t cs_run_least(int range);

/**
 * cs_frames_first, cs_frames_next - stretches in the order of their bases
 *
 * A base has the frame with the longest run there, or none if several are as long. A codon belongs
 * to the frame of its middle base, so codons of two stretches never share it.
 *
 * Returns  1, or 0 past the last stretch
 */
void cs_frames_first(cs_frames *f);
int cs_frames_next(cs_frames *f, cs_stretch *s);

#endif
