/* crop_logits.c - predictions of a model for crops of validation records, to fit what is added to
 * them. */
#include "train/crop_logits.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "infer/stream.h"

/* Range of crop lengths, log-uniform. */
enum { MIN_CROP = 150, MAX_CROP = 60000, BATCH_TOKENS = 64 << 10, WINDOW = 128 };

/* Reader and writer of the stream, in two threads: predictions are in input order. */
struct crops {
    const cs_dataset *d;
    const cs_sampler *sampler;
    int64_t           n_in, n_out, n_taken;
    int32_t           n_class;
    float            *logit;                          /* [n_class] */
    cs_crop_take      take;
    void             *arg;
};

static int next_crop(void *arg, cs_chunk *c)
{
    struct crops *k = arg;

    if (k->n_in == cs_sampler_count(k->sampler))
        return CS_EOF;
    const cs_sample s = cs_sampler_get(k->sampler, 0, k->n_in++);
    cs_record *r = cs_chunk_append(c);
    if (!r)
        return cs_fail(CS_EMEM, "out of memory for record '%s'", k->d->ex[s.example].name);
    r->name = k->d->ex[s.example].name;
    r->seg[0].base = k->d->ex[s.example].base + s.start;
    r->seg[0].n_base = s.n_base;
    c->n_base += s.n_base;
    return CS_OK;
}

static int take_output(void *arg, const cs_record *r, const cs_prediction *a)
{
    struct crops *k = arg;
    const cs_sample s = cs_sampler_get(k->sampler, 0, k->n_out++);

    if (a->reason)
        return CS_OK;
    for (int32_t i = 0; i < k->n_class; i++)
        k->logit[i] = logf(fmaxf(a->v[i], 1e-30f));
    k->n_taken++;
    return k->take(k->arg, r->seg[0].base, r->seg[0].n_base, k->d->ex[s.example].class_no,
                   k->logit);
}

static int predict_crops(cs_model *m, struct crops *k)
{
    int rc = CS_OK;
    cs_policy policy;
    cs_stream_stat stat;
    const cs_optset defaults[] = { { cs_policy_table, &(cs_policy_args){ 0 }, NULL },
                                   { NULL, NULL, NULL } };

    cs_opt_defaults(defaults);
    CS_TRY(cs_policy_init(&policy, defaults[0].base, NULL, m));
    policy.uncalibrated = true;
    rc = cs_stream_run(&(cs_stream){ .next = next_crop, .source = k, .model = m,
                                     .policy = &policy, .batch_tokens = BATCH_TOKENS,
                                     .window = WINDOW, .n_thread = 1, .sink = take_output,
                                     .arg = k }, &stat);
out:
    return rc;
}

int cs_crop_logits(cs_model *m, const cs_dataset *d, int64_t n_crop, uint64_t seed,
                   cs_crop_take take, void *arg)
{
    int rc = CS_OK;
    cs_sampler *sampler = NULL;
    struct crops k = { .d = d, .n_class = m->n_label, .take = take, .arg = arg };
    const cs_draw draw = { .crop_min = MIN_CROP, .crop_max = MAX_CROP, .crop_power = 1,
                           .n_sample = n_crop, .balance = 1, .group_balance = 0.5,
                           .length_power = 0.5, .seed = seed };

    k.logit = cs_xcalloc((size_t)m->n_label, sizeof *k.logit);
    CS_TRY(cs_sampler_new(d, CS_PART_VALID, &draw, &sampler));
    k.sampler = sampler;
    CS_TRY(predict_crops(m, &k));
    if (k.n_taken == 0)
        rc = cs_fail(CS_EUSAGE, "no validation record was classified");
out:
    cs_sampler_free(sampler);
    free(k.logit);
    return rc;
}
