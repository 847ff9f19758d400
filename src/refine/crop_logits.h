/* crop_logits.h - a model's logits for crops of validation records, to fit weights of evidence. */
#ifndef CS_REFINE_CROP_LOGITS_H
#define CS_REFINE_CROP_LOGITS_H

#include "nn/exec/model.h"
#include "train/sampler.h"

/* The crops of a fit. */
typedef struct cs_crop_draw {
    int64_t     n;
    uint64_t    seed;
    cs_mutation mutation;        /* maximum rates; each crop draws its own */
    const int32_t *stratum;      /* [n_label] as in cs_sampler_opt, or NULL */
} cs_crop_draw;

/* A crop: its bases, its class, and the model's logits [n_label], up to a constant. Returns CS_OK
 * or an error that ends the run. */
typedef int (*cs_crop_take)(void *arg, const char *base, int64_t n_base, int32_t truth,
                            const float *logit);

/** cs_crop_sampler - the sampler of these crops, whose epoch is 0; CS_OK, or the errors of
 * cs_sampler_new() */
int cs_crop_sampler(const cs_dataset *d, const cs_crop_draw *crops, cs_sampler **out)
    CS_MUST_CHECK;

/**
 * cs_crop_logits - predict crops of the validation part, lengths log-uniform from 150 to 60,000
 *
 * Logits include the evidence of the model's table and proteins, if set; to fit the weights of one
 * of them, remove it from the model first. Classes, or strata of them, are equally frequent. Uses
 * the threads of the model's backend.
 *
 * take     is called for each crop, in order, from one thread
 * Returns  CS_OK; the errors of prediction and of take; CS_EUSAGE without a validation example
 */
int cs_crop_logits(cs_model *m, const cs_dataset *d, const cs_crop_draw *crops, cs_crop_take take,
                   void *arg) CS_MUST_CHECK;

#endif
