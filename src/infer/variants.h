/* variants.h - alternative alleles of a VCF as records of two segments: reference and alternate. */
#ifndef CS_INFER_VARIANTS_H
#define CS_INFER_VARIANTS_H

#include "io/exons.h"
#include "io/record.h"
#include "io/vcf.h"
#include "io/window.h"

/* The label of a model that was trained on labels without names. */
#define CS_UNNAMED_EFFECT "effect"

/* What a record's native[0] points to, in its chunk. */
typedef struct cs_variant_alt {
    const cs_vcf_record *of;
    int                  no;     /* which ALT, from 0; -1: the VCF record has none */
    cs_window_pair       pair;
    const char          *ref, *alt;   /* the trimmed alleles where they lie in their windows, and
                                       * what follows there */
    int64_t              n_hide;      /* bases from either on that a model has to guess */
} cs_variant_alt;

typedef struct cs_variant_source {
    cs_vcf     *in;
    cs_windows *windows;
    cs_exons   *exons;           /* read variants near them on their strand; or NULL */
    int64_t     n_base;          /* of a window */
    bool        guess;           /* alleles hidden; one window where they are as long as each other,
                                  * as then what is around them is the same */
} cs_variant_source;

/* What a variant's effect is told by; AUTO: by what the model is. */
typedef enum {
    CS_SCORE_AUTO, CS_SCORE_MODEL, CS_SCORE_EMBEDDING, CS_SCORE_LLR
} cs_variant_score;

/**
 * cs_variants_next - the next VCF record, as one record per ALT (the `next` of a cs_stream)
 *
 * A record without a sequence to score has one segment without bases, and its reason in
 * native[0]->pair; one without any ALT is there once, too.
 *
 * Returns  CS_OK; CS_EOF; the errors of cs_vcf_next() and cs_windows_make()
 */
int cs_variants_next(void *source, cs_chunk *c) CS_MUST_CHECK;

/**
 * cs_variants_model - the model that is asked: the one that was named, or that comes with chordseq
 *
 * named    --model or NULL
 * score    by the distance of embeddings the one for sequences, else that for variants, with a
 *          message of what it predicts
 * buf      receives the path
 * Returns  CS_OK; CS_EUSAGE for likelihoods, which none of them has; the errors of cs_model_find()
 */
int cs_variants_model(const char *named, cs_variant_score score, char *buf, size_t n_buf)
    CS_MUST_CHECK;

/** cs_variants_distance - of two vectors [n]: Euclidean, and 1 - cosine (NAN where one is zero) */
void cs_variants_distance(const float *ref, const float *alt, int32_t n, double *l2,
                          double *cosine);
/**
 * cs_variants_ratio - log of how much likelier the alternate allele is than the reference
 *
 * As many bases are hidden in either window, n_hide from the allele on, and their logarithms are
 * summed: of alleles of one length those are the alleles; a shorter one is followed by what
 * follows it in its window, so that sums of equally many terms are compared.
 *
 * a        of one window: probabilities of A, C, G and T for every base; of two windows: raw values
 *          of both, in sequence
 */
double cs_variants_ratio(const cs_variant_alt *v, const cs_prediction *a);

#endif
