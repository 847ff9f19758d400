/* bench_block.c - cost of one block in a network that predicts, as TSV.
 *
 *     bench_block DEVICE PRECISION WIDTH HIDDEN TRACK SEGMENTS LENGTH [SECONDS]    ChordMixer's
 *     bench_block DEVICE PRECISION CHANNELS 0 TAPS SEGMENTS LENGTH [SECONDS]       CDIL's
 *
 * CDIL's is a convolution with bias and relu; its taps are 1, 2, 4, ... tokens apart.
 *
 * A line is the median of several rounds. A round is the time of MOST blocks minus that of FEW,
 * divided by the difference in number, which excludes the work before and after blocks. SECONDS
 * (default 3) is for all rounds, at least 3. Minimum costs follow: bytes of x, read once and
 * written once (2 per number if ChordMixer computes in bf16, else 4), operations 4 d h per token,
 * or 2 K d d with K taps. `error` compares some rows after one block with double precision: the
 * norm of the difference divided by the norm. There are no pass limits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/rng.h"
#include "batch/batch.h"
#include "nn/ops/fused.h"
#include "nn/ops/ops.h"
#include "nn/ops/ops_conv.h"

enum { ROUNDS = 9, MIN_ROUNDS = 3, FEW = 4, MOST = 20, N_SIZE = 5, SAMPLE = 32 };
enum { WIDTH, HIDDEN, TRACK, SEGMENTS, LENGTH };

struct job {
    cs_backend *be;
    cs_params   none;
    cs_ctx      cx;
    int32_t     d, h, track;     /* h 0: convolutions of so many taps */
    cs_seg      seg;
    cs_chord    block[MOST];     /* all the same weights */
    cs_mat      w, bias;         /* and those of convolutions */
    cs_mat      fresh, x[2];
    double      seconds;
};

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- operands ------------------------------------------------------------------------------ */

static int new_mat(struct job *j, int64_t r, int32_t c, cs_mat *m)
{
    *m = (cs_mat){ j->be->op.alloc(j->be, (size_t)(r * c) * sizeof(cs_real)), r, c, c };
    return m->p ? CS_OK : cs_fail(CS_EMEM, "out of memory for %lld rows of %d", (long long)r,
                                  (int)c);
}

/* Operands: keys of their random numbers. */
enum { W1 = 1, B1, W2, B2, X, PATTERN = 1 << 14 };

/* Random numbers of an operand, repeated every PATTERN: generating gigabytes takes longer than the
 * benchmark. Weights are scaled so that sums are as large as their terms; otherwise a wrong sum
 * would be hidden. */
static double value_of(const struct job *j, uint64_t key, int64_t i)
{
    const double u = cs_rng_unit(key, (uint64_t)(i % PATTERN)) - 0.5;
    const double n_in = key == X ? 3 : key == W2 ? j->h : j->h > 0 ? j->d : (double)j->track * j->d;

    return (double)(cs_real)(2 * u * sqrt(3 / n_in));
}

static int random_mat(struct job *j, int64_t r, int32_t c, uint64_t key, cs_mat *m)
{
    int rc = CS_OK;
    cs_real some[PATTERN];

    CS_TRY(new_mat(j, r, c, m));
    for (int64_t i = 0; i < PATTERN; i++)
        some[i] = (cs_real)value_of(j, key, i);
    for (int64_t i = 0; i < r * c; i += PATTERN)
        j->be->op.upload(j->be, m->p + i, some,
                         (size_t)(r * c - i < PATTERN ? r * c - i : PATTERN) * sizeof *some);
out:
    return rc;
}

static int random_block(struct job *j)
{
    int rc = CS_OK;
    cs_chord k = { .track = j->track };

    CS_TRY(random_mat(j, j->h, j->d, W1, &k.w1));
    CS_TRY(random_mat(j, 1, j->h, B1, &k.b1));
    CS_TRY(random_mat(j, j->d, j->h, W2, &k.w2));
    CS_TRY(random_mat(j, 1, j->d, B2, &k.b2));
    for (int i = 0; i < MOST; i++)
        j->block[i] = k;
out:
    return rc;
}

static int random_conv(struct job *j)
{
    int rc = CS_OK;

    CS_TRY(random_mat(j, (int64_t)j->track * j->d, j->d, W1, &j->w));
    rc = random_mat(j, 1, j->d, B1, &j->bias);
out:
    return rc;
}

static int segments(struct job *j, int64_t n, int64_t len)
{
    int64_t *off = cs_alloc((size_t)n + 1, sizeof *off);
    int64_t *there = j->be->op.alloc(j->be, ((size_t)n + 1) * sizeof *off);

    if (off && there) {
        for (int64_t i = 0; i <= n; i++)
            off[i] = i * len;
        j->be->op.upload(j->be, there, off, ((size_t)n + 1) * sizeof *off);
    }
    free(off);
    j->seg = (cs_seg){ .off = there, .n = (int32_t)n, .rows = n * len, .depth = cs_depth(len) };
    return off && there ? CS_OK : cs_fail(CS_EMEM, "out of memory for %lld segments",
                                          (long long)n);
}

/* ---- blocks -------------------------------------------------------------------------------- */

static cs_mat convolutions(struct job *j, int n)
{
    cs_ctx *cx = &j->cx;
    const cs_epilogue epi = { .bias = j->bias };

    for (int l = 0; l < n; l++) {
        const cs_taps taps = { j->track, INT64_C(1) << l };
        const cs_mat x = j->x[l % 2], y = j->x[1 - l % 2];
        if (cs_conv_can_infer(cx, taps, x, y, false)) {
            cs_conv_infer(cx, j->seg, taps, x, j->w, &epi, y);
            continue;
        }
        cs_conv(cx, j->seg, taps, x, j->w, j->bias, y);
        cs_activate(cx, CS_ACT_RELU, y, y);
    }
    return j->x[n % 2];
}

static cs_mat chord_blocks(struct job *j, int n)
{
    cs_ctx *cx = &j->cx;
    const cs_chord_run q = { .block = j->block, .n_block = MOST, .depth = n, .x = j->x[0] };

    if (cs_chord_can_infer(cx, &q))
        return cs_chord_infer(cx, j->seg, &q);
    for (int l = 0; l < n; l++) {
        const int64_t mark = cs_mark(cx);
        cs_chord_block(cx, j->seg, &j->block[l], j->x[l % 2], j->x[1 - l % 2]);
        cs_release_to(cx, mark);
    }
    return j->x[n % 2];
}

/* x through n blocks, by the path of predictions on this backend. */
static cs_mat pass(struct job *j, int n)
{
    return j->h > 0 ? chord_blocks(j, n) : convolutions(j, n);
}

/* Every pass starts from the same x, so that values do not grow to infinity. */
static int timed(struct job *j, int n, double *seconds)
{
    int rc = CS_OK;

    cs_ctx_begin(&j->cx, false, false, 1);
    j->be->op.copy(j->be, j->fresh, j->x[0]);
    CS_TRY(j->be->op.sync(j->be));
    const double start = now();
    (void)pass(j, n);
    CS_TRY(j->be->op.sync(j->be));
    *seconds = now() - start;
out:
    return rc;
}

static int one_round(struct job *j, double *seconds)
{
    int rc = CS_OK;
    double few, many;

    CS_TRY(timed(j, FEW, &few));
    CS_TRY(timed(j, MOST, &many));
    *seconds = (many - few) / (MOST - FEW);
out:
    return rc;
}

/* ---- the error ----------------------------------------------------------------------------- */

static double x_at(const struct job *j, int64_t r, int32_t c)
{
    return value_of(j, X, r * j->d + c);
}

/* Channel c of the row's second product. */
static double added(const struct job *j, const double *hidden, int32_t c)
{
    double sum = value_of(j, B2, c);

    for (int32_t u = 0; u < j->h; u++)
        sum += hidden[u] * value_of(j, W2, (int64_t)c * j->h + u);
    return sum;
}

static void hidden_of(const struct job *j, int64_t r, double *hidden)
{
    for (int32_t u = 0; u < j->h; u++) {
        double z = value_of(j, B1, u);
        for (int32_t c = 0; c < j->d; c++)
            z += x_at(j, r, c) * value_of(j, W1, (int64_t)u * j->d + c);
        hidden[u] = 0.5 * z * (1 + erf(z * sqrt(0.5)));
    }
}

/* Row r of its segment after one block; a track rotates twice as far as the previous one. */
static void chord_row(const struct job *j, int64_t r, double *y)
{
    const int64_t len = j->seg.rows / j->seg.n, start = r / len * len;
    double *hidden = cs_xmalloc((size_t)j->h * sizeof *hidden);

    for (int32_t i = 0; i < j->d / j->track; i++) {
        const int64_t shift = i > 0 ? INT64_C(1) << (i - 1) : 0;
        const int64_t from = start + (r - start + shift) % len;
        hidden_of(j, from, hidden);
        for (int32_t c = i * j->track; c < (i + 1) * j->track; c++)
            y[c] = x_at(j, r, c) + added(j, hidden, c);
    }
    free(hidden);
}

static void conv_row(const struct job *j, int64_t r, double *y)
{
    const int64_t len = j->seg.rows / j->seg.n, start = r / len * len;

    for (int32_t c = 0; c < j->d; c++)
        y[c] = value_of(j, B1, c);
    for (int32_t k = 0; k < j->track; k++) {
        const int64_t from = start + ((r - start + k - j->track / 2) % len + len) % len;
        for (int32_t i = 0; i < j->d; i++)
            for (int32_t c = 0; c < j->d; c++)
                y[c] += x_at(j, from, i) * value_of(j, W1, ((int64_t)k * j->d + i) * j->d + c);
    }
    for (int32_t c = 0; c < j->d; c++)
        y[c] = y[c] > 0 ? y[c] : 0;
}

/* Of SAMPLE rows from the first to the last. */
static int sample_error(struct job *j, double *error)
{
    int rc = CS_OK;
    double d2 = 0, w2 = 0, *want = cs_xmalloc((size_t)j->d * sizeof *want);
    cs_real *got = cs_xmalloc((size_t)j->d * sizeof *got);

    cs_ctx_begin(&j->cx, false, false, 1);
    j->be->op.copy(j->be, j->fresh, j->x[0]);
    const cs_mat y = pass(j, 1);
    for (int i = 0; i < SAMPLE; i++) {
        const int64_t r = (j->seg.rows - 1) * i / (SAMPLE - 1);
        j->be->op.download(j->be, got, y.p + r * y.ld, (size_t)j->d * sizeof *got);
        (j->h > 0 ? chord_row : conv_row)(j, r, want);
        for (int32_t c = 0; c < j->d; c++) {
            d2 += ((double)got[c] - want[c]) * ((double)got[c] - want[c]);
            w2 += want[c] * want[c];
        }
    }
    rc = j->be->op.sync(j->be);
    *error = sqrt(d2 / w2);
    free(want);
    free(got);
    return rc;
}

/* ---- the line ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int measure(struct job *j)
{
    int rc = CS_OK, n = 0;
    double t[ROUNDS], unused, error;
    const double rows = (double)j->seg.rows;
    const bool halves = j->h > 0 && j->be->precision == CS_IN_BF16;
    const double per_row = j->h > 0 ? 4.0 * j->d * j->h : 2.0 * j->track * j->d * j->d;

    cs_ctx_begin(&j->cx, false, true, 1);
    (void)pass(j, MOST);
    CS_TRY(cs_ctx_reserve(&j->cx, j->cx.peak, 0));
    CS_TRY(sample_error(j, &error));
    CS_TRY(one_round(j, &unused));       /* memory, packed weights, a library's first call */
    const double start = now();
    for (; n < ROUNDS && (n < MIN_ROUNDS || now() - start < j->seconds); n++)
        CS_TRY(one_round(j, &t[n]));
    qsort(t, (size_t)n, sizeof *t, by_value);
    const double mid = t[(n - 1) / 2];
    puts("what\tdevice\tprecision\twidth\thidden\ttrack\tsegments\ttokens\trounds\tmedian_s\t"
         "best_s\tspread_percent\tbytes\tflop\terror");
    printf("%s\t%s\t%s\t%d\t%d\t%d\t%d\t%lld\t%d\t%.4g\t%.4g\t%.1f\t%.0f\t%.0f\t%.2g\n",
           j->h > 0 ? "block" : "conv", j->be->device, cs_precision_names[j->be->precision],
           (int)j->d, (int)j->h, (int)j->track, (int)j->seg.n, (long long)j->seg.rows, n, mid, t[0],
           100 * (t[n - 1] - t[0]) / mid, 2 * (halves ? 2 : 4) * rows * j->d, rows * per_row,
           error);
out:
    return rc;
}

static int parse(struct job *j, int argc, char **argv, int64_t size[N_SIZE])
{
    enum { FIRST = 3, LONGEST = 1 << 30 };
    int rc = CS_OK;

    if (argc != FIRST + N_SIZE && argc != FIRST + N_SIZE + 1)
        return CS_EUSAGE;
    for (int i = 0; i < N_SIZE; i++) {
        CS_TRY(cs_parse_size(argv[FIRST + i], &size[i]));
        if (size[i] < (i == HIDDEN ? 0 : 1) || size[i] > LONGEST)
            return CS_EUSAGE;
    }
    j->d = (int32_t)size[WIDTH];
    j->h = (int32_t)size[HIDDEN];
    j->track = (int32_t)size[TRACK];
    j->seconds = 3;
    if (argc > FIRST + N_SIZE)
        CS_TRY(cs_parse_real(argv[FIRST + N_SIZE], &j->seconds));
    rc = (j->h > 0 ? j->d % j->track == 0 : j->track % 2 == 1) ? CS_OK : CS_EUSAGE;
out:
    return rc;
}

static int run(struct job *j, const char *device, const char *precision, const int64_t *size)
{
    int rc = CS_OK;
    static const char *const names[] = { CS_PRECISION_NAMES, NULL };
    int p = 0;

    while (names[p] && strcmp(names[p], precision) != 0)
        p++;
    if (!names[p])
        return cs_fail(CS_EUSAGE, "there is no precision '%s'", precision);
    CS_TRY(cs_backend_open(device, 0, &j->be));
    CS_TRY(cs_backend_compute_in(j->be, (cs_precision)p));
    cs_params_init(&j->none);
    cs_ctx_init(&j->cx, j->be, &j->none);
    CS_TRY(segments(j, size[SEGMENTS], size[LENGTH]));
    CS_TRY(j->h > 0 ? random_block(j) : random_conv(j));
    CS_TRY(random_mat(j, j->seg.rows, j->d, X, &j->fresh));
    CS_TRY(new_mat(j, j->seg.rows, j->d, &j->x[0]));
    CS_TRY(new_mat(j, j->seg.rows, j->d, &j->x[1]));
    rc = measure(j);
out:
    return rc;
}

static void release(struct job *j)
{
    const cs_chord *k = &j->block[0];
    void *all[] = { (void *)(uintptr_t)j->seg.off, k->w1.p, k->b1.p, k->w2.p, k->b2.p, j->w.p,
                    j->bias.p, j->fresh.p, j->x[0].p, j->x[1].p };

    if (!j->be)
        return;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            j->be->op.dealloc(j->be, all[i]);
    cs_ctx_release(&j->cx);
    cs_params_release(&j->none);
    cs_backend_close(j->be);
}

int main(int argc, char **argv)
{
    int rc = CS_OK;
    int64_t size[N_SIZE];
    static struct job j;

    if (parse(&j, argc, argv, size) != CS_OK) {
        puts("usage: bench_block DEVICE PRECISION WIDTH HIDDEN TRACK SEGMENTS LENGTH [SECONDS]\n"
             "       bench_block DEVICE PRECISION CHANNELS 0 TAPS SEGMENTS LENGTH [SECONDS]");
        return 2;
    }
    CS_TRY(cs_cpu_init());
    rc = run(&j, argv[1], argv[2], size);
out:
    if (rc != CS_OK)
        cs_error("bench_block: %s", cs_error_message());
    release(&j);
    return rc == CS_OK ? 0 : 1;
}
