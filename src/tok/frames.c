/* frames.c - the reading frame at each base: the longest open one of six.
 *
 * One cursor per frame finds its next open reading frame; between two ends of these the longest one
 * is the same.
 */
#include "tok/frames.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const int64_t bin_min[CS_ORF_BINS] = { 0, 30, 50, 80, 150, 300 };    /* codons */

void cs_codons_init(cs_codons *c)
{
    for (int i = 0; i < CS_CODONS; i++) {
        const char *acid = strchr(cs_amino_acids, cs_genetic_code[i]);
        c->acid[0][i] = acid ? (int8_t)(acid - cs_amino_acids) : CS_NO_CODON;
        c->acid[1][cs_codon_revcomp(i)] = c->acid[0][i];
    }
}

int cs_orf_bin(const cs_orf *r)
{
    const int64_t length = (r->to - r->from) / 3;
    int bin = 0;

    while (bin + 1 < CS_ORF_BINS && length >= bin_min[bin + 1])
        bin++;
    return bin;
}

void cs_orf_symbol(int32_t token, int64_t min_codons, char *buf, size_t n_buf)
{
    const int32_t codon = token % CS_CODONS, bin = token / CS_CODONS;

    snprintf(buf, n_buf, "%c%c%c/%lld", "ACGT"[codon >> 4], "ACGT"[codon >> 2 & 3],
             "ACGT"[codon & 3], (long long)(bin ? bin_min[bin] : min_codons));
}

/* The first open reading frame that begins at `from` or later in its frame; INT64_MAX: none. */
static void next_orf(const cs_frames *f, const int8_t *acid, int64_t from, cs_orf *r)
{
    const int64_t min = 3 * f->min_codons;

    while (from + min <= f->n_base) {
        int64_t at = from;
        for (; at + 3 <= f->n_base; at += 3) {
            const int codon = cs_codon_at(f->base + at);
            if (codon < 0 || acid[codon] < 0)
                break;
        }
        if (at - from >= min) {
            *r = (cs_orf){ from, at };
            return;
        }
        from = at + 3;
    }
    *r = (cs_orf){ INT64_MAX, INT64_MAX };
}

/* The frame that is open longest at a base, or -1 for none or several; *end receives the base where
 * that may change. */
static int frame_at(const cs_frames *f, int64_t at, int64_t *end)
{
    int64_t longest = 0;
    int frame = -1;

    *end = f->n_base;
    for (int i = 0; i < CS_FRAMES; i++) {
        const cs_orf *r = &f->orf[i];
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

static int strand_of(int frame)
{
    return frame / (CS_FRAMES / 2);
}

void cs_frames_first(cs_frames *f)
{
    f->at = 0;
    for (int i = 0; i < CS_FRAMES; i++)
        next_orf(f, f->codons->acid[strand_of(i)], i % (CS_FRAMES / 2), &f->orf[i]);
}

int cs_frames_next(cs_frames *f, cs_orf_part *s)
{
    while (f->at < f->n_base) {
        const int64_t at = f->at;
        for (int i = 0; i < CS_FRAMES; i++)
            if (f->orf[i].to <= at)
                next_orf(f, f->codons->acid[strand_of(i)], f->orf[i].to + 3, &f->orf[i]);
        const int frame = frame_at(f, at, &f->at);
        if (frame < 0)
            continue;
        const cs_orf *r = &f->orf[frame];
        /* from the first codon with its middle base at `at` or later, to the last before f->at */
        const int64_t skip = at > r->from + 1 ? (at - 1 - r->from + 2) / 3 * 3 : 0;
        *s = (cs_orf_part){ .strand = strand_of(frame), .orf = *r, .first = r->from + skip,
                            .end = f->at - 1 };
        return 1;
    }
    return 0;
}
