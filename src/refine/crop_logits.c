/* crop_logits.c - predictions of a model for crops of validation records, to fit evidence that is
 * added to them. */
#include "refine/crop_logits.h"

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

/* The bases of a sample, mutated in the chunk's memory; NULL: no memory. */
static const char *crop_bases(const cs_dataset *d, const cs_sample *s, cs_chunk *c, int64_t *n)
{
    const char *base = d->ex[s->example].base + s->start;

    *n = s->n_base;
    if (cs_mutation_is_none(&s->mutation))
        return base;
    char *out = cs_arena_alloc(c->mem, 2 * (size_t)s->n_base, 1);
    if (out)
        *n = cs_mutate(&s->mutation, base, s->n_base, out + s->n_base, out);
    return out;
}

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
    r->seg[0].base = crop_bases(k->d, &s, c, &r->seg[0].n_base);
    if (!r->seg[0].base)
        return cs_fail(CS_EMEM, "out of memory for record '%s'", r->name);
    c->n_base += r->seg[0].n_base;
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
                                     .window = WINDOW, .n_thread = m->be->n_thread,
                                     .sink = take_output, .arg = k }, &stat);
out:
    return rc;
}

int cs_crop_sampler(const cs_dataset *d, const cs_crop_draw *crops, cs_sampler **out)
{
    return cs_sampler_new(d, CS_PART_VALID, &(cs_sampler_opt){
        .crop_min = MIN_CROP, .crop_max = MAX_CROP, .crop_power = 1, .n_sample = crops->n,
        .balance = 1, .group_balance = 0.5, .length_power = 0.5, .mutation = crops->mutation,
        .stratum = crops->stratum, .seed = crops->seed }, out);
}

int cs_crop_logits(cs_model *m, const cs_dataset *d, const cs_crop_draw *crops, cs_crop_take take,
                   void *arg)
{
    int rc = CS_OK;
    cs_sampler *sampler = NULL;
    struct crops k = { .d = d, .n_class = m->n_label, .take = take, .arg = arg };

    k.logit = cs_xcalloc((size_t)m->n_label, sizeof *k.logit);
    CS_TRY(cs_crop_sampler(d, crops, &sampler));
    k.sampler = sampler;
    CS_TRY(predict_crops(m, &k));
    if (k.n_taken == 0)
        rc = cs_fail(CS_EUSAGE, "no validation record was classified");
out:
    cs_sampler_free(sampler);
    free(k.logit);
    return rc;
}
