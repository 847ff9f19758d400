/* frames.c - the reading frame at each base: the longest open one of six.
 *
 * Stops of both strands are found first, as bits. One cursor per frame finds its next open reading
 * frame; between two ends of these the longest one is the same.
 *
 * All open reading frames, not the longest of each base: open_frames.c.
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

/* ---- stops ----------------------------------------------------------------------------------- */

/* Word i of a strand's stops has positions WORD i to WORD i + WORD - 1, the lowest bit first. */
enum { WORD = 32, BLOCK = 16 * WORD, FORWARD = 1, REVERSE = 2 };

/* The three positions after the last base are stops, so that every search in a frame ends. */
static int64_t n_words(int64_t n_base)
{
    return (n_base + 3) / WORD + 1;
}

size_t cs_frames_work(int64_t n_base)
{
    return 2 * (size_t)n_words(n_base) * sizeof(uint32_t);
}

/* The strands on which each codon is a stop; the last entry, of unknown bases, is one on both. */
static void fill_ends(uint8_t ends[CS_CODONS + 1])
{
    memset(ends, 0, CS_CODONS);
    for (int i = 0; i < CS_CODONS; i++)
        if (cs_genetic_code[i] == '*') {
            ends[i] |= FORWARD;
            ends[cs_codon_revcomp(i)] |= REVERSE;
        }
    ends[CS_CODONS] = FORWARD | REVERSE;
}

/* Bit `shift` of each of WORD bytes. */
static uint32_t pack_bits(const uint8_t *byte, int shift)
{
    uint32_t bits = 0;

    for (int i = 0; i < WORD; i += 8) {
        uint64_t eight;
        memcpy(&eight, byte + i, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        eight = __builtin_bswap64(eight);
#endif
        eight = eight >> shift & 0x0101010101010101u;
        bits |= (uint32_t)(eight * 0x0102040810204080u >> 56) << i;
    }
    return bits;
}

/* The stops of the codons that begin in the block of bases at `at`. */
static void find_stops(const cs_frames *f, const uint8_t *ends, int64_t at, uint32_t *forward,
                       uint32_t *reverse)
{
    uint8_t code[BLOCK + 2], stop[BLOCK];
    const int64_t left = f->n_base - at;
    const int n = left < BLOCK + 2 ? (int)left : BLOCK + 2;

    memset(code, 4, sizeof code);
    if (n > 0)
        (void)cs_base_codes(f->base + at, n, code);
    #pragma omp simd
    for (int i = 0; i < BLOCK; i++)
        stop[i] = (code[i] | code[i + 1] | code[i + 2]) < 4
                ? (uint8_t)(code[i] << 4 | code[i + 1] << 2 | code[i + 2]) : (uint8_t)CS_CODONS;
    for (int i = 0; i < BLOCK; i++)
        stop[i] = ends[stop[i]];
    for (int64_t i = 0; i < BLOCK / WORD && at / WORD + i < n_words(f->n_base); i++) {
        forward[at / WORD + i] = pack_bits(stop + i * WORD, 0);
        reverse[at / WORD + i] = pack_bits(stop + i * WORD, 1);
    }
}

/* The first stop at `at` or later in the same frame. */
static int64_t next_stop(const uint32_t *stop, int64_t at)
{
    static const uint32_t every_third[3] = { 0x49249249, 0x92492492, 0x24924924 };
    int64_t word = at / WORD;
    int phase = (int)(at % WORD % 3);
    uint32_t bits = stop[word] & every_third[phase] & ~(uint32_t)0 << at % WORD;

    while (bits == 0) {
        phase = phase == 2 ? 0 : phase + 1;        /* as WORD is 2 modulo 3 */
        bits = stop[++word] & every_third[phase];
    }
    return word * WORD + __builtin_ctz(bits);
}

/* ---- open reading frames --------------------------------------------------------------------- */

static int strand_of(int frame)
{
    return frame / (CS_FRAMES / 2);
}

/* The first open reading frame that begins at `from` or later in frame i; INT64_MAX: none. */
static void next_orf(cs_frames *f, int i, int64_t from)
{
    const int64_t min = 3 * f->min_codons;
    const uint32_t *stop = f->stop + strand_of(i) * n_words(f->n_base);

    f->orf[i] = (cs_orf){ INT64_MAX, INT64_MAX };
    while (from + min <= f->n_base) {
        const int64_t at = next_stop(stop, from);
        if (at - from >= min) {
            f->orf[i] = (cs_orf){ from, at };
            return;
        }
        from = at + 3;
    }
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

void cs_frames_first(cs_frames *f)
{
    uint8_t ends[CS_CODONS + 1];
    uint32_t *reverse = f->stop + n_words(f->n_base);

    fill_ends(ends);
    for (int64_t at = 0; at < n_words(f->n_base) * WORD; at += BLOCK)
        find_stops(f, ends, at, f->stop, reverse);
    f->at = 0;
    for (int i = 0; i < CS_FRAMES; i++)
        next_orf(f, i, i % (CS_FRAMES / 2));
}

int cs_frames_next(cs_frames *f, cs_orf_part *s)
{
    while (f->at < f->n_base) {
        const int64_t at = f->at;
        for (int i = 0; i < CS_FRAMES; i++)
            if (f->orf[i].to <= at)
                next_orf(f, i, f->orf[i].to + 3);
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
