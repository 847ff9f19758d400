/* baseline.c - baseline: logistic regression on k-mer frequencies. */
#include "train/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rng.h"
#include "base/signals.h"
#include "io/alphabet.h"
#include "train/feed.h"

enum { K = 5, WORDS = 1 << (2 * K), FEATURES = WORDS / 2, BIAS = FEATURES, ROW = FEATURES + 1,
       MAX_ROWS = 20000, MIN_CROPS = 2000, BATCH = 256, EPOCHS = 30, FEW_EPOCHS = 3,
       STRAND_ROWS = 5000, MIN_STRANDS = 20, STREAM_BASELINE = 131 };
/* Multiplications of a fit: limit for seconds on one core, and limit for a fit at all. */
static const double WORK = 2e10, MAX_WORK = 1e11;
/* From this share of correct predictions on, of samples against their reverse complements, records
 * count as of one strand. Measured: 57 % for genomes in pieces, 83 % for short pieces of genes and
 * 100 % for rRNA genes. */
static const double ONE_STRAND = 0.75;
static const float LR = 0.02F, DECAY = 1e-4F;

/* A matrix of samples: [n * ROW], the last column 1, with their classes. */
struct rows { int64_t n; float *x; int32_t *class_no; };

/* feature[word]: the number of a word's feature, or ~number for the greater of a word and its
 * reverse complement; words of odd length are never their own. */
static void number_words(int16_t *feature)
{
    int16_t n = 0;

    for (int w = 0; w < WORDS; w++) {
        const int revcomp = (int)cs_word_revcomp((uint32_t)w, K);
        feature[w] = revcomp < w ? (int16_t)~feature[revcomp] : n++;
    }
}

/* Counts features: their own words in x, the reverse complements of these in revcomp. */
static void count_words(const int16_t *feature, const char *base, int64_t n, float *x,
                        float *revcomp)
{
    int run = 0, word = 0;

    memset(x, 0, FEATURES * sizeof *x);
    memset(revcomp, 0, FEATURES * sizeof *revcomp);
    for (int64_t i = 0; i < n; i++) {
        const int code = cs_base_code[(unsigned char)base[i]];
        run = code < 4 ? run + 1 : 0;
        word = (word << 2 | (code & 3)) & (WORDS - 1);
        if (run >= K && feature[word] >= 0)
            x[feature[word]] += 1;
        else if (run >= K)
            revcomp[~feature[word]] += 1;
    }
}

/* A row of the frequencies of words: of unit length, and then of about 1 in each of the columns. */
static void class_row(const int16_t *feature, const char *base, int64_t n, float *x)
{
    float revcomp[FEATURES];
    double sum = 0;

    count_words(feature, base, n, x, revcomp);
    for (int f = 0; f < FEATURES; f++)
        sum += (double)(x[f] += revcomp[f]);
    for (int f = 0; f < FEATURES && sum > 0; f++)
        x[f] = sqrtf(x[f] / (float)sum * FEATURES);
    x[BIAS] = 1;
}

/* A row that changes its sign when the sequence is replaced by its reverse complement. */
static void strand_row(const int16_t *feature, const char *base, int64_t n, bool reverse, float *x)
{
    float revcomp[FEATURES];
    double sum = 0;

    count_words(feature, base, n, x, revcomp);
    for (int f = 0; f < FEATURES; f++)
        sum += (double)(x[f] + revcomp[f]);
    const float scale = sum > 0 ? FEATURES / (float)sum : 0;
    for (int f = 0; f < FEATURES; f++)
        x[f] = (reverse ? -1.0F : 1.0F) * (sqrtf(x[f] * scale) - sqrtf(revcomp[f] * scale));
    x[BIAS] = 0;
}

/* A range of the samples of an epoch and, from their number on, of the epochs after it. */
struct range { const cs_sampler *of; uint64_t epoch; int64_t from, n; };

/* Rows of classes; with `strands` every second sample is reversed, which is its class. */
static int baseline_fill(struct range in, bool strands, int n_thread, struct rows *r)
{
    const cs_sampler *s = in.of;
    const cs_dataset *d = cs_sampler_dataset(s);
    const int64_t per_epoch = cs_sampler_count(s);
    int16_t feature[WORDS];

    *r = (struct rows){ .n = in.n, .x = cs_alloc((size_t)in.n * ROW, sizeof *r->x),
                        .class_no = cs_alloc((size_t)in.n, sizeof *r->class_no) };
    if (r->x == NULL || r->class_no == NULL)
        return CS_EMEM;
    number_words(feature);
    #pragma omp parallel for num_threads(n_thread)
    for (int64_t i = 0; i < in.n; i++) {
        const int64_t at = in.from + i;
        const cs_sample a = cs_sampler_get(s, in.epoch + (uint64_t)(at / per_epoch),
                                           at % per_epoch);
        const cs_example *e = &d->ex[a.example];
        r->class_no[i] = strands ? (int32_t)(i % 2) : e->class_no;
        if (strands)
            strand_row(feature, e->base + a.start, a.n_base, i % 2 == 1, r->x + i * ROW);
        else
            class_row(feature, e->base + a.start, a.n_base, r->x + i * ROW);
    }
    return CS_OK;
}

/* Subtract the mean, so steps are not spent on the common part. */
static void centre(struct rows *to, int n_thread, const float *mean)
{
    #pragma omp parallel for num_threads(n_thread)
    for (int64_t i = 0; i < to->n; i++)
        for (int f = 0; f < FEATURES; f++)
            to->x[i * ROW + f] -= mean[f];
}

static void average(const struct rows *r, float *mean)
{
    for (int f = 0; f < FEATURES; f++) {
        double sum = 0;
        for (int64_t i = 0; i < r->n; i++)
            sum += (double)r->x[i * ROW + f];
        mean[f] = (float)(sum / (double)r->n);
    }
}

struct fit {
    int32_t  n_class;
    int      n_thread;
    float   *w, *m1, *m2;        /* [n_class * ROW] weights and Adam's moments */
    float   *p;                  /* [BATCH * n_class] probabilities, then their gradient */
    int64_t  step, n_step;
};

static void predict(const struct fit *t, const float *x, float *p)
{
    float top = -INFINITY, sum = 0;

    for (int32_t c = 0; c < t->n_class; c++) {
        const float *w = t->w + (int64_t)c * ROW;
        float z = 0;
        #pragma omp simd reduction(+:z)
        for (int f = 0; f < ROW; f++)
            z += w[f] * x[f];
        p[c] = z;
        top = fmaxf(top, z);
    }
    for (int32_t c = 0; c < t->n_class; c++)
        sum += p[c] = expf(p[c] - top);
    for (int32_t c = 0; c < t->n_class; c++)
        p[c] /= sum;
}

/* The sum of a class's gradients over a batch, and Adam's step on its weights. */
static void update(struct fit *t, const struct rows *r, const int64_t *row, int64_t n, int32_t c)
{
    float g[ROW] = { 0 };
    const float done = (float)t->step / (float)t->n_step, rate = LR * (1 - done),
                b1 = 1 - powf(0.9F, (float)t->step + 1), b2 = 1 - powf(0.999F, (float)t->step + 1);
    float *w = t->w + (int64_t)c * ROW, *m1 = t->m1 + (int64_t)c * ROW,
          *m2 = t->m2 + (int64_t)c * ROW;

    for (int64_t i = 0; i < n; i++) {
        const float *x = r->x + row[i] * ROW, v = t->p[i * t->n_class + c] / (float)n;
        #pragma omp simd
        for (int f = 0; f < ROW; f++)
            g[f] += v * x[f];
    }
    for (int f = 0; f < ROW; f++) {
        const float v = g[f] + (f < FEATURES ? DECAY * w[f] : 0);
        m1[f] += 0.1F * (v - m1[f]);
        m2[f] += 0.001F * (v * v - m2[f]);
        w[f] -= rate * (m1[f] / b1) / (sqrtf(m2[f] / b2) + 1e-8F);
    }
}

static void train_batch(struct fit *t, const struct rows *r, const int64_t *row, int64_t n,
                        const float *weight)
{
    #pragma omp parallel for num_threads(t->n_thread)
    for (int64_t i = 0; i < n; i++) {
        float *p = t->p + i * t->n_class;
        const int32_t truth = r->class_no[row[i]];
        predict(t, r->x + row[i] * ROW, p);
        p[truth] -= 1;
        for (int32_t c = 0; c < t->n_class && weight != NULL; c++)
            p[c] *= weight[truth];
    }
    #pragma omp parallel for num_threads(t->n_thread)
    for (int32_t c = 0; c < t->n_class; c++)
        update(t, r, row, n, c);
    t->step++;
}

/* Sums over validation rows: n [2 * n_class], of each class its rows and the right ones. */
struct tally { int64_t *n, n_row; double loss; };

/* A batch of n rows from row `from` on. */
static void add_batch(const struct fit *t, const struct rows *r, int64_t from, int64_t n,
                      struct tally *y)
{
    int32_t best[BATCH] = { 0 };

    #pragma omp parallel for num_threads(t->n_thread)
    for (int64_t i = 0; i < n; i++) {
        float *p = t->p + i * t->n_class;
        predict(t, r->x + (from + i) * ROW, p);
        for (int32_t c = 1; c < t->n_class; c++)
            best[i] = p[c] > p[best[i]] ? c : best[i];
    }
    for (int64_t i = 0; i < n; i++) {
        const int32_t truth = r->class_no[from + i];
        y->loss -= log(fmax((double)t->p[i * t->n_class + truth], 1e-30));
        y->n[2 * truth]++;
        y->n[2 * truth + 1] += best[i] == truth;
    }
    y->n_row += n;
}

static int add_rows(const struct fit *t, const struct rows *r, struct tally *y)
{
    for (int64_t i = 0; i < r->n; i += BATCH) {
        if (cs_signal_caught() != 0)
            return CS_ECANCEL;
        add_batch(t, r, i, i + BATCH < r->n ? BATCH : r->n - i, y);
    }
    return CS_OK;
}

static void take_tally(const struct tally *y, int32_t n_class, cs_baseline *out)
{
    int64_t n_right = 0, n_met = 0;
    double recall = 0;

    for (int32_t c = 0; c < n_class; c++) {
        n_right += y->n[2 * c + 1];
        n_met += y->n[2 * c] > 0;
        recall += y->n[2 * c] > 0 ? (double)y->n[2 * c + 1] / (double)y->n[2 * c] : 0;
    }
    out->n_valid = y->n_row;
    out->loss = y->loss / (double)y->n_row;
    out->accuracy = (double)n_right / (double)y->n_row;
    out->balanced = recall / (double)n_met;
}

/* In blocks of rows, since a row has two kilobytes; mean: to subtract, or NULL. */
static int evaluate(const struct fit *t, struct range valid, bool strands, const float *mean,
                    cs_baseline *out)
{
    int rc = CS_OK;
    struct rows r = { 0 };
    struct tally y = { .n = cs_xcalloc(2 * (size_t)t->n_class, sizeof *y.n) };

    for (int64_t left = valid.n; left > 0; left -= valid.n, valid.from += valid.n) {
        valid.n = left < MAX_ROWS ? left : MAX_ROWS;
        CS_TRY(baseline_fill(valid, strands, t->n_thread, &r));
        if (mean != NULL)
            centre(&r, t->n_thread, mean);
        CS_TRY(add_rows(t, &r, &y));
        CS_FREE(r.x, r.class_no);
        r = (struct rows){ 0 };
    }
    take_tally(&y, t->n_class, out);
out:
    CS_FREE(y.n, r.x, r.class_no);
    return rc;
}

static int fit(struct fit *t, const struct rows *r, const float *weight, uint64_t seed,
               int64_t n_epoch)
{
    int rc = CS_OK;
    const size_t n = (size_t)t->n_class * ROW;
    int64_t *order = cs_alloc((size_t)r->n, sizeof *order);

    t->w = cs_alloc(3 * n, sizeof *t->w);
    t->p = cs_alloc((size_t)BATCH * (size_t)t->n_class, sizeof *t->p);
    if (order == NULL || t->w == NULL || t->p == NULL) {
        free(order);
        return CS_EMEM;
    }
    memset(t->w, 0, 3 * n * sizeof *t->w);
    t->m1 = t->w + n;
    t->m2 = t->m1 + n;
    t->n_step = n_epoch * ((r->n + BATCH - 1) / BATCH);
    for (int64_t i = 0; i < r->n; i++)
        order[i] = i;
    for (int64_t e = 0; e < n_epoch && rc == CS_OK; e++) {
        cs_rng_shuffle(cs_rng_key(cs_rng_key(seed, STREAM_BASELINE), (uint64_t)e), order, r->n);
        for (int64_t i = 0; i < r->n && rc == CS_OK; i += BATCH) {
            train_batch(t, r, order + i, i + BATCH < r->n ? BATCH : r->n - i, weight);
            rc = cs_signal_caught() != 0 ? CS_ECANCEL : CS_OK;
        }
    }
    free(order);
    return rc;
}

static void baseline_release(struct fit *t, struct rows *r)
{
    CS_FREE(r->x, r->class_no, t->w, t->p);
}

/* Records are used once; crops of few records may repeat. */
static int64_t rows_of(const cs_sampler *s)
{
    const int64_t n = cs_sampler_count(s);

    return n > MAX_ROWS ? MAX_ROWS : cs_sampler_crops(s) && n < MIN_CROPS ? MIN_CROPS : n;
}

int cs_baseline_fit(const cs_sampler *train, const cs_sampler *valid, const float *weight,
                    uint64_t seed, int n_thread, cs_baseline *out)
{
    int rc = CS_OK;
    const cs_dataset *d = cs_sampler_dataset(train);
    struct rows rows = { 0 };
    struct fit t = { .n_class = d->n_class, .n_thread = n_thread };
    float mean[FEATURES];
    const double pass = 2.0 * (double)rows_of(train) * ROW * t.n_class;

    *out = (cs_baseline){ .accuracy = NAN, .balanced = NAN, .loss = NAN };
    if (FEW_EPOCHS * pass > MAX_WORK)
        return CS_EOF;
    const double n_epoch = fmin(EPOCHS, fmax(FEW_EPOCHS, floor(WORK / pass)));
    CS_TRY(baseline_fill((struct range){ train, 0, 0, rows_of(train) }, false, n_thread, &rows));
    average(&rows, mean);
    centre(&rows, n_thread, mean);
    CS_TRY(fit(&t, &rows, weight, seed, (int64_t)n_epoch));
    out->n_train = rows.n;
    rc = evaluate(&t, (struct range){ valid, CS_VALID_EPOCH, 0, cs_sampler_count(valid) }, false,
                  mean, out);
out:
    baseline_release(&t, &rows);
    return rc == CS_EMEM ? cs_fail(rc, "out of memory for the baseline") : rc;
}

/* Share of validation samples whose strand is predicted right; NaN if there are too few. */
static int fit_strand(const cs_sampler *train, const cs_sampler *valid, uint64_t seed,
                      int n_thread, double *share)
{
    int rc = CS_OK;
    struct rows rows = { 0 };
    struct fit t = { .n_class = 2, .n_thread = n_thread };
    cs_baseline b;
    const int64_t n = rows_of(train), n_valid = rows_of(valid);

    *share = NAN;
    if (n_valid < MIN_STRANDS)
        return CS_OK;
    const struct range of_train = { train, 0, 0, n < STRAND_ROWS ? n : STRAND_ROWS };
    const struct range of_valid = { valid, CS_VALID_EPOCH, 0,
                                    n_valid < STRAND_ROWS ? n_valid : STRAND_ROWS };
    CS_TRY(baseline_fill(of_train, true, n_thread, &rows));
    CS_TRY(fit(&t, &rows, NULL, seed, EPOCHS));
    CS_TRY(evaluate(&t, of_valid, true, NULL, &b));
    *share = b.accuracy;
out:
    baseline_release(&t, &rows);
    return rc == CS_EMEM ? cs_fail(rc, "out of memory for telling strands apart") : rc;
}

int cs_baseline_log_strand(const cs_sampler *train, const cs_sampler *valid, uint64_t seed,
                           int n_thread)
{
    double share;
    const int rc = fit_strand(train, valid, seed, n_thread, &share);

    if (rc == CS_OK && share >= ONE_STRAND)
        cs_note("the records seem to be from one strand: 5-mers separate %.1f %% of the validation "
                "samples from their reverse complements; use --no-rc if the sequences to "
                "classify are also from one strand", 100 * share);
    return rc;
}
