/* variants.h - alternative alleles of a VCF as records of two segments: reference and alternate. */
#ifndef CS_INFER_VARIANTS_H
#define CS_INFER_VARIANTS_H

#include "io/exons.h"
#include "io/prediction.h"
#include "io/variant_windows.h"
#include "io/vcf.h"
#include "nn/exec/model.h"

/* The label of a model that was trained on labels without names. */
#define CS_UNNAMED_EFFECT "effect"

/* An allele: native[0] of its record, in its chunk. */
typedef struct cs_variant_alt {
    const cs_vcf_record *of;
    int                  no;     /* which ALT, from 0; -1: the VCF record has none */
    cs_window_pair       pair;
    const char          *ref, *alt;   /* position of the trimmed alleles in their windows, and the
                                       * bases after them */
    int64_t              n_mask;      /* number of masked bases from the alleles' start */
} cs_variant_alt;

typedef struct cs_variant_source {
    cs_vcf             *in;
    cs_variant_windows *windows;
    cs_exons           *exons;   /* read variants near them on their strand; or NULL */
    bool                mark;    /* mark the nearest exon by upper case; without one no score */
    int64_t             n_base;  /* of a window */
    bool                mask_alleles;    /* mask the alleles; one window if both have the same
                                          * length, as their context is then equal */
} cs_variant_source;

/* Score of a variant's effect; AUTO: by the kind of model. */
typedef enum {
    CS_SCORE_AUTO, CS_SCORE_MODEL, CS_SCORE_EMBEDDING, CS_SCORE_LLR
} cs_variant_score;

/**
 * cs_variants_next - the next VCF record, as one record per ALT (the `next` of a cs_stream)
 *
 * A record without a sequence to score has one segment without bases, and its reason in
 * native[0]->pair; one without ALT also gives one record.
 *
 * Returns  CS_OK; CS_EOF; the errors of cs_vcf_next() and cs_variant_windows_make()
 */
int cs_variants_next(void *source, cs_chunk *c) CS_MUST_CHECK;

/**
 * cs_variants_model - the model: --model, or the default
 *
 * named    --model or NULL
 * score    with EMBEDDING the default is the model for sequences, with LLR the language model, else
 *          the one for variants, or for variants near known exons (exons); a message says what
 *          the others than the first are
 * buf      receives the path
 * Returns  CS_OK; the errors of cs_model_find()
 */
int cs_variants_model(const char *named, cs_variant_score score, bool exons, char *buf,
                      size_t n_buf)
    CS_MUST_CHECK;

/**
 * cs_variants_choose_score - the score wanted, or by the kind of model
 *
 * path     names the model in messages
 * width    receives the elements of a vector, with embeddings; else 0
 * Returns  CS_OK; CS_EUSAGE, CS_EMODEL for a score that the model does not have
 */
int cs_variants_choose_score(const cs_model *m, const char *path, cs_variant_score wanted,
                             cs_variant_score *score, int32_t *width) CS_MUST_CHECK;
/** cs_variants_choose_window - bases of a window: `wanted`, or if that is 0 the window of the
 * training, or 1000. CS_OK; CS_EUSAGE for a window that the model cannot read */
int cs_variants_choose_window(const cs_model *m, int64_t wanted, int64_t *n_base) CS_MUST_CHECK;

/** cs_variants_distance - Euclidean and cosine distance of two vectors [n]; the latter is NAN if
 * one is zero */
void cs_variants_distance(const float *ref, const float *alt, int32_t n, double *l2,
                          double *cosine);
/**
 * cs_variants_ratio - log-likelihood ratio of the alternate to the reference allele
 *
 * In both windows n_mask bases from the allele on are masked, and their log-probabilities summed:
 * these are the alleles if both have the same length; a shorter one is extended by the bases after
 * it, so both sums have the same number of terms.
 *
 * a        of one window: probabilities of A, C, G and T for every base; of two windows: raw values
 *          of both, in sequence
 */
double cs_variants_ratio(const cs_variant_alt *v, const cs_prediction *a);

#endif
