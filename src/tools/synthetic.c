/* synthetic.c - synthetic tasks of real-valued series: adding, xor and temporal order. */
#include "tools/synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "base/rng.h"
#include "base/signals.h"

enum { STREAM_LENGTH = 131, STREAM_VALUE = 132, STREAM_PLACE = 133, STREAM_SYMBOL = 134 };

/* Parameters of the log-normal distribution of lengths: the paper's. */
static const double log_mean = 0.5, log_sd = 0.7;

/* Redrawn, not clamped: clamping would accumulate records at both ends. 0: no length fits. */
static int64_t draw_length(const cs_synthetic *s, uint64_t key)
{
    for (uint64_t i = 0; i < 10000; i++) {
        const int64_t n = llround(s->lambda * exp(log_mean + log_sd * cs_rng_normal(key, i)));
        if (n >= CS_ADDING_MIN_LEN && n <= s->max_len)
            return n;
    }
    return 0;
}

/* A value as read back from text, so the target is exact for the file. */
static double rounded(double a, char *text, size_t n)
{
    (void)snprintf(text, n, "%.6f", a);
    return strtod(text, NULL);
}

static uint64_t stream(const cs_synthetic *s, int kind, int64_t no)
{
    return cs_rng_key(cs_rng_key(s->seed, (uint64_t)kind), (uint64_t)no);
}

/* Two positions of n: the first uniform, the second uniform over the others. */
struct pair { int64_t first, second; };

static struct pair draw_places(const cs_synthetic *s, int64_t no, int64_t n)
{
    const uint64_t key = stream(s, STREAM_PLACE, no);
    const int64_t first = (int64_t)cs_rng_below(key, 0, (uint64_t)n);
    const int64_t p = (int64_t)cs_rng_below(key, 1, (uint64_t)n - 1);

    return (struct pair){ first, p + (p >= first) };
}

/* ---- the tasks: each writes one line --------------------------------------------------------- */

/* Positions a:b with a in [low, 1] and b a mark. */
static int write_marked(const cs_synthetic *s, int64_t no, int64_t n, double low, struct pair at,
                        cs_outfile *f)
{
    int rc = CS_OK;
    const uint64_t key = stream(s, STREAM_VALUE, no);
    char text[32];

    for (int64_t t = 0; t < n; t++) {
        rounded(low + (1 - low) * cs_rng_unit(key, (uint64_t)t), text, sizeof text);
        CS_TRY(cs_outfile_printf(f, "%s%s:%d", t > 0 ? "," : "", text,
                                 t == at.first || t == at.second));
    }
    rc = cs_outfile_printf(f, "\n");
out:
    return rc;
}

static double marked_value(const cs_synthetic *s, int64_t no, double low, int64_t place)
{
    char text[32];
    const double u = cs_rng_unit(stream(s, STREAM_VALUE, no), (uint64_t)place);

    return rounded(low + (1 - low) * u, text, sizeof text);
}

/* Values a in [-1, 1], marks b of which two are 1, and 0.5 + (a1 + a2) / 4. */
static int write_adding(const cs_synthetic *s, int64_t no, cs_outfile *f)
{
    int rc = CS_OK;
    const int64_t n = draw_length(s, stream(s, STREAM_LENGTH, no));

    if (n == 0)
        return cs_fail(CS_EUSAGE, "with --lambda %g hardly any length is from 32 to %lld; "
                       "choose a scale between them", s->lambda, (long long)s->max_len);
    const struct pair at = draw_places(s, no, n);
    const double sum = marked_value(s, no, -1, at.first) + marked_value(s, no, -1, at.second);
    CS_TRY(cs_outfile_printf(f, "add%lld\t%.8g\t", (long long)no, 0.5 + sum / 4));
    rc = write_marked(s, no, n, -1, at, f);
out:
    return rc;
}

/* Values in [0, 1]: are the two marked ones in different halves? */
static int write_xor(const cs_synthetic *s, int64_t no, cs_outfile *f)
{
    int rc = CS_OK;
    const struct pair at = draw_places(s, no, s->length);
    const bool a = marked_value(s, no, 0, at.first) >= 0.5;
    const bool b = marked_value(s, no, 0, at.second) >= 0.5;

    CS_TRY(cs_outfile_printf(f, "xor%lld\t%d\t", (long long)no, a != b));
    rc = write_marked(s, no, s->length, 0, at, f);
out:
    return rc;
}

/* Symbols a b c d, and X or Y at two positions, one-hot: classes XX, XY, YX, YY. */
static int write_order(const cs_synthetic *s, int64_t no, cs_outfile *f)
{
    enum { X = 4, N_SYMBOL = 6 };
    static const char *const one_hot[N_SYMBOL] = {
        "1:0:0:0:0:0", "0:1:0:0:0:0", "0:0:1:0:0:0", "0:0:0:1:0:0", "0:0:0:0:1:0", "0:0:0:0:0:1",
    };
    int rc = CS_OK;
    const uint64_t key = stream(s, STREAM_SYMBOL, no), value = stream(s, STREAM_VALUE, no);
    const struct pair p = draw_places(s, no, s->length);
    const int64_t early = p.first < p.second ? p.first : p.second;
    const int64_t late = p.first + p.second - early;
    const int a = (int)cs_rng_below(value, 0, 2), b = (int)cs_rng_below(value, 1, 2);

    CS_TRY(cs_outfile_printf(f, "order%lld\t%d\t", (long long)no, 2 * a + b));
    for (int64_t t = 0; t < s->length; t++) {
        const int symbol = t == early  ? X + a
                           : t == late ? X + b
                                       : (int)cs_rng_below(key, (uint64_t)t, X);
        CS_TRY(cs_outfile_printf(f, "%s%s", t > 0 ? "," : "", one_hot[symbol]));
    }
    rc = cs_outfile_printf(f, "\n");
out:
    return rc;
}

static const struct task {
    const char *name;
    int         n_channel;
    int       (*write)(const cs_synthetic *s, int64_t no, cs_outfile *f);
} tasks[] = {
    { "adding", 2, write_adding },
    { "xor", 2, write_xor },
    { "temporal-order", 6, write_order },
};

static const struct task *find_task(const char *name)
{
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (strcmp(name, tasks[i].name) == 0)
            return &tasks[i];
    return NULL;
}

bool cs_synthetic_is(const char *task)
{
    return find_task(task) != NULL;
}

int cs_synthetic_write(const char *task, const cs_synthetic *s, const char *output)
{
    int rc = CS_OK;
    const struct task *t = find_task(task);
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open(output, &f));
    CS_TRY(cs_outfile_printf(f, "#chordseq-series\t1\tchannels=%d\ttargets=1\n", t->n_channel));
    for (int64_t i = 0; i < s->n; i++) {
        CS_TRY(t->write(s, i, f));
        if (cs_signal_caught() != 0) {
            rc = CS_ECANCEL;
            goto out;
        }
    }
out:
    return cs_outfile_end(f, rc);
}
