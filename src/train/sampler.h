/* sampler.h - draw the samples of an epoch from a part of a dataset.
 *
 * DESIGN. Sampling is a pure function of (seed, epoch, number of the sample), so an epoch can be
 * resumed anywhere, on any number of threads.
 */
#ifndef CS_TRAIN_SAMPLER_H
#define CS_TRAIN_SAMPLER_H

#include "train/dataset.h"

/* What is drawn from a part of a dataset. */
typedef struct cs_sampler_opt {
    int64_t  crop_min, crop_max; /* bases. crop_max 0: whole sequences */
    double   crop_power;         /* power of the density L^-power of lengths: 1 is log-uniform */
    int64_t  n_sample;           /* per epoch; 0: every example once */
    double   balance;            /* 0: classes by their mass, 1: with equal probability (n_sample >
                                  * 0) */
    const int32_t *stratum;      /* [n_class] classes with the same number, less than n_class, are
                                  * drawn as one class; NULL: each by itself */
    double   group_balance;      /* the same for the groups within a class */
    double   length_power;       /* an example's mass is length^this */
    bool     reverse;            /* reverse-complement half of them */
    cs_mutation mutation;        /* maximum rates; each sample draws its own */
    uint64_t seed;
} cs_sampler_opt;

typedef struct cs_sampler cs_sampler;

/** cs_sampler_new - CS_EUSAGE if the part has no example; CS_EMEM. `d` must outlive it */
int  cs_sampler_new(const cs_dataset *d, cs_part part, const cs_sampler_opt *draw, cs_sampler **out)
    CS_MUST_CHECK;
void cs_sampler_free(cs_sampler *s);
/** cs_sampler_count - samples of an epoch */
int64_t cs_sampler_count(const cs_sampler *s);
/** cs_sampler_crops - are the samples pieces of records? */
bool cs_sampler_crops(const cs_sampler *s);
/** cs_sampler_get - sample j of an epoch, a pure function of seed, epoch and j */
cs_sample cs_sampler_get(const cs_sampler *s, uint64_t epoch, int64_t j);
/** cs_sampler_key - the key of an epoch's other choices, such as the order of its batches */
uint64_t cs_sampler_key(const cs_sampler *s, uint64_t epoch);
/** cs_sampler_dataset - its dataset */
const cs_dataset *cs_sampler_dataset(const cs_sampler *s);

#endif
