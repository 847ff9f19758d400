/* mutate.c - mutate samples to resemble distant relatives. */
#include "train/mutate.h"

#include <stddef.h>
#include <string.h>

#include "base/rng.h"
#include "tok/translate.h"

enum { STREAM_RATE = 121, STREAM_SILENT, STREAM_BASE, STREAM_INDEL, STREAM_FILL };
enum { MAX_INDEL = 3 };

#define MUTATION(field) .off = offsetof(cs_mutation, field)

const cs_opt cs_mutation_table[] = {
    { .type = CS_OPT_REAL, .name = "mutate", MUTATION(substitution), .arg = "RATE", .def = "0",
      .help = "substitute up to this share of a sample's bases",
      .man = "The rate of each sample is drawn between 0 and RATE, to resemble relatives at "
             "different distances. 'train' does not mutate validation samples; 'model' mutates the "
             "crops that it fits weights to. The four options are for nucleotides and one "
             "prediction per sequence.", .min = 0, .max = 0.5 },
    { .type = CS_OPT_REAL, .name = "mutate-indels", MUTATION(indel), .arg = "RATE", .def = "0",
      .help = "insert or delete 1 to 3 bases at up to this share of positions",
      .man = "Samples do not become longer; excess bases are cut off.", .min = 0,
      .max = 0.5 },
    { .type = CS_OPT_REAL, .name = "mutate-silent", MUTATION(silent), .arg = "RATE", .def = "0",
      .help = "change up to this share of codons to synonymous codons",
      .man = "In the longest stretch without a stop codon in the six frames of a sample, by the "
             "standard code.", .min = 0, .max = 1 },
    { .type = CS_OPT_REAL, .name = "mutate-share", MUTATION(share), .arg = "NUM", .def = "1",
      .help = "share of the samples that are mutated",
      .man = "Less than 1 for models of sequences with and without errors.", .min = 0, .max = 1 },
    { .type = CS_OPT_END }
};

cs_mutation cs_mutation_draw(const cs_mutation *max, uint64_t key)
{
    const uint64_t own = cs_rng_key(key, STREAM_RATE);

    if (cs_rng_unit(own, 3) >= max->share)
        return (cs_mutation){ .key = own };
    return (cs_mutation){ .substitution = max->substitution * cs_rng_unit(own, 0),
                          .indel = max->indel * cs_rng_unit(own, 1),
                          .silent = max->silent * cs_rng_unit(own, 2), .key = own };
}

/* ---- codons ------------------------------------------------------------------------------- */

/* The longest stretch of codons without a stop, in three frames: start and number of codons. */
static int64_t longest_open(const char *base, int64_t n, int64_t *from)
{
    int64_t max = 0;

    for (int64_t frame = 0; frame < 3; frame++)
        for (int64_t at = frame, begin = frame; at + 3 <= n; at += 3) {
            const int codon = cs_codon_at(base + at);
            if (codon < 0 || cs_genetic_code[codon] == '*')
                begin = at + 3;
            else if ((at - begin) / 3 + 1 > max) {
                max = (at - begin) / 3 + 1;
                *from = begin;
            }
        }
    return max;
}

/* Another codon of the same amino acid; the same one if there is no other. */
static int other_codon(int codon, uint64_t draw)
{
    int same[CS_CODONS], n = 0;

    for (int k = 0; k < CS_CODONS; k++)
        if (k != codon && cs_genetic_code[k] == cs_genetic_code[codon])
            same[n++] = k;
    return n > 0 ? same[draw % (uint64_t)n] : codon;
}

static void change_codons(const cs_mutation *m, char *base, int64_t n_codon)
{
    const uint64_t key = cs_rng_key(m->key, STREAM_SILENT);

    for (int64_t i = 0; i < n_codon; i++) {
        if (cs_rng_unit(key, 2 * (uint64_t)i) >= m->silent)
            continue;
        const int codon = other_codon(cs_codon_at(base + 3 * i),
                                      cs_rng_u64(key, 2 * (uint64_t)i + 1));
        for (int k = 0; k < 3; k++)
            base[3 * i + k] = "ACGT"[codon >> (4 - 2 * k) & 3];
    }
}

/* In place; work [n]. */
static void change_frame(const cs_mutation *m, char *base, int64_t n, char *work)
{
    int64_t from = 0, from_back = 0;
    const int64_t n_codon = longest_open(base, n, &from);

    cs_base_revcomp(base, n, work);
    const int64_t n_back = longest_open(work, n, &from_back);
    if (n_back <= n_codon) {
        change_codons(m, base + from, n_codon);
        return;
    }
    change_codons(m, work + from_back, n_back);
    cs_base_revcomp(work, n, base);
}

/* ---- bases -------------------------------------------------------------------------------- */

static void substitute(const cs_mutation *m, char *base, int64_t n)
{
    const uint64_t key = cs_rng_key(m->key, STREAM_BASE);

    for (int64_t i = 0; i < n; i++) {
        const uint32_t code = cs_base_code[(unsigned char)base[i]];
        if (code < 4 && cs_rng_unit(key, 2 * (uint64_t)i) < m->substitution)
            base[i] = "ACGT"[(code + 1 + cs_rng_u64(key, 2 * (uint64_t)i + 1) % 3) & 3];
    }
}

/* From base to out. */
static int64_t insert_and_delete(const cs_mutation *m, const char *base, int64_t n, char *out)
{
    const uint64_t key = cs_rng_key(m->key, STREAM_INDEL), fill = cs_rng_key(m->key, STREAM_FILL);
    int64_t n_out = 0, spare = (n - 1) / 2;      /* bases that may be deleted */

    for (int64_t i = 0; i < n && n_out < n; i++) {
        if (cs_rng_unit(key, 2 * (uint64_t)i) < m->indel) {
            const uint64_t draw = cs_rng_u64(key, 2 * (uint64_t)i + 1);
            const int64_t size = 1 + (int64_t)((draw >> 1) % MAX_INDEL);
            if ((draw & 1) != 0 && size <= spare) {
                spare -= size;
                i += size - 1;
                continue;
            }
            for (int64_t k = 0; (draw & 1) == 0 && k < size && n_out < n; k++, n_out++)
                out[n_out] = "ACGT"[cs_rng_u64(fill, (uint64_t)(MAX_INDEL * i + k)) & 3];
        }
        if (n_out < n)
            out[n_out++] = base[i];
    }
    return n_out;
}

int64_t cs_mutate(const cs_mutation *m, const char *base, int64_t n, char *work, char *out)
{
    memcpy(out, base, (size_t)n);
    if (m->silent > 0)
        change_frame(m, out, n, work);
    substitute(m, out, n);
    if (m->indel <= 0)
        return n;
    memcpy(work, out, (size_t)n);
    return insert_and_delete(m, work, n, out);
}
