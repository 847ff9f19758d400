/*
 * sample_prior.c - `--prior auto`: the shares of the classes in a sample of the input.
 *
 * DESIGN
 * The number of records is unknown before the end. The sample begins with every record; whenever it
 * is full, every second one of it is dropped, and half as many of the following ones are taken. So
 * at the end it has every 2^k-th record, and at least half of its maximum. The reading thread skips
 * records (struct source), and the writing thread stores predictions (struct sample); both follow
 * this rule, each with its own count.
 */
#include "run/sample_prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/class_shares.h"

enum { MAX_SAMPLE = 10000,       /* records, even */
       MAX_NAMED = 8 };          /* classes in the log */

/* A stream's source: those records of `next` that are in the sample. */
struct source {
    int    (*next)(void *source, cs_chunk *c);
    void    *source;
    uint64_t n_read;             /* records so far, in the sample or not */
    uint64_t n, max, stride;     /* the sample has n of them, every stride-th */
};

struct sample {
    int32_t n_label;
    int64_t n, max;
    bool   *usable;              /* [max] does the record have probabilities? */
    float  *p;                   /* [max][n_label] */
};

static int next_of_sample(void *self, cs_chunk *c)
{
    struct source *s = self;
    int rc = CS_OK;
    uint64_t n_skipped;

    if (s->n == s->max) {
        s->n /= 2;
        s->stride *= 2;
    }
    rc = cs_stream_skip(s->next, s->source, s->n * s->stride - s->n_read, &n_skipped);
    s->n_read += n_skipped;
    CS_TRY(rc);
    CS_TRY(s->next(s->source, c));
    s->n_read++;
    s->n++;
out:
    return rc;
}

/* Drop every second record. */
static void thin(struct sample *s)
{
    const size_t n = (size_t)s->n_label;

    s->n /= 2;
    for (int64_t i = 1; i < s->n; i++) {
        s->usable[i] = s->usable[2 * i];
        memcpy(s->p + i * s->n_label, s->p + 2 * i * s->n_label, n * sizeof *s->p);
    }
}

static int add_to_sample(void *self, const cs_record *r, const cs_prediction *a)
{
    struct sample *s = self;

    (void)r;
    if (s->n == s->max)
        thin(s);
    s->usable[s->n] = cs_class_shares_takes(a);
    if (s->usable[s->n])
        memcpy(s->p + s->n * s->n_label, a->v, (size_t)s->n_label * sizeof *s->p);
    s->n++;
    return CS_OK;
}

/* "bacteria 0.81, plasmid 0.1": the largest shares. */
static void log_shares(const cs_model *m, const double *share, int64_t n, uint64_t n_record)
{
    char text[1024] = "";
    size_t used = 0;
    bool *named = cs_xcalloc((size_t)m->n_label, sizeof *named);

    for (int i = 0; i < MAX_NAMED && i < m->n_label && used < sizeof text; i++) {
        int32_t best = -1;
        for (int32_t k = 0; k < m->n_label; k++)
            if (!named[k] && (best < 0 || share[k] > share[best]))
                best = k;
        named[best] = true;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.2g", i > 0 ? ", " : "",
                                 m->label[best].name, share[best]);
    }
    cs_note("estimated shares of classes, from %lld of %llu %s: %s%s", (long long)n,
            (unsigned long long)n_record, CS_PLURAL(n_record, "record", "records"), text,
            m->n_label > MAX_NAMED ? ", ..." : "");
    free(named);
}

/* Set the policy's prior by the sample, one of n_record records; s: no record yet. */
static void set_prior(cs_policy *p, const struct sample *sample, uint64_t n_record,
                      cs_class_shares *s)
{
    const int32_t n_label = p->model->n_label;
    double *share = cs_xcalloc((size_t)n_label, sizeof *share);

    for (int64_t i = 0; i < sample->n; i++)
        if (sample->usable[i])
            cs_class_shares_add(s, sample->p + i * n_label, NULL);
    if ((uint64_t)sample->n < n_record)
        s->n_record = (int64_t)n_record;
    cs_class_shares_estimate(s, share);
    log_shares(p->model, share, s->n, n_record);
    cs_prior_from_shares(share, n_label);
    p->prior = share;
}

/* Classify the sample; n_record receives the number of all records. */
static int run_sample(cs_records *r, const cs_record_args *a, struct sample *sample,
                      uint64_t *n_record)
{
    int rc = CS_OK;
    cs_stream_stat stat;
    cs_stream s = cs_records_stream(r, a, add_to_sample, sample);
    struct source source = { .max = (uint64_t)sample->max, .stride = 1 };

    cs_stream_own_next(&s, &source.next, &source.source);
    s.next = next_of_sample;
    s.source = &source;
    s.preliminary = true;
    CS_TRY(cs_stream_run(&s, &stat));
    *n_record = source.n_read;
out:
    return rc;
}

static int check(const cs_records *r, const cs_record_args *a)
{
    const char *once = cs_args_once(a->input.file.v, a->input.file.n);

    CS_BUG(r->policy.prior || !r->model->head->is_class);
    return !once ? CS_OK
         : cs_fail(CS_EUSAGE, "--prior auto reads the input twice, but '%s' can be read only once; "
                   "use a file, or estimate the shares with --shares and use them with "
                   "--prior-file", once);
}

int cs_sample_prior(cs_records *r, const cs_record_args *a)
{
    int rc = CS_OK;
    uint64_t n_record = 0;
    cs_class_shares *s = NULL;
    struct sample sample = { .n_label = r->model->n_label };

    CS_TRY(check(r, a));
    CS_TRY(cs_class_shares_new(r->model->n_label, &s));
    sample.max = s->max < MAX_SAMPLE ? s->max / 2 * 2 : MAX_SAMPLE;
    sample.usable = cs_xcalloc((size_t)sample.max, sizeof *sample.usable);
    sample.p = cs_xcalloc((size_t)(sample.max * sample.n_label), sizeof *sample.p);
    CS_TRY(run_sample(r, a, &sample, &n_record));
    set_prior(&r->policy, &sample, n_record, s);
    cs_record_source_close(&r->src);
    rc = cs_record_source_open(&a->input, &a->pairs, &r->input_opt, &r->src);
out:
    CS_FREE(sample.usable, sample.p);
    cs_class_shares_free(s);
    return rc;
}
