/* simulate.c - synthetic tasks that show whether a network learns: `chordseq simulate`. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "pipelines/common.h"

struct simulate_args {
    int64_t     n, max_len, seed;
    double      lambda;
    const char *output;
};

static struct simulate_args own;
static cs_log_args logs;

/* The least length, and the parameters of the logarithm's normal distribution, are the paper's. */
enum { MIN_LEN = 32, STREAM_LENGTH = 131, STREAM_VALUE = 132, STREAM_PLACE = 133 };
static const double log_mean = 0.5, log_sd = 0.7;

static const cs_opt simulate_table[] = {
    { .type = CS_OPT_GROUP, .name = "Simulation" },
    { .type = CS_OPT_SIZE, .letter = 'n', .name = "records",
      .off = offsetof(struct simulate_args, n), .arg = "NUM", .def = "1000",
      .help = "records to write", .min = 1, .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "lambda", .off = offsetof(struct simulate_args, lambda),
      .arg = "NUM", .def = "200", .help = "scale of the lengths",
      .man = "A length is NUM x LogNormal(0.5, 0.7^2), rounded; its mean is 2.1 NUM.",
      .min = 1, .max = 1e9 },
    { .type = CS_OPT_SIZE, .name = "max-len", .off = offsetof(struct simulate_args, max_len),
      .arg = "NUM", .def = "1500000", .help = "longest record",
      .man = "Lengths below 32 or above NUM are drawn again.", .min = MIN_LEN, .max = 1e9 },
    { .type = CS_OPT_INT, .name = "seed", .off = offsetof(struct simulate_args, seed),
      .arg = "NUM", .def = "1", .help = "seed of all randomness", .min = 0, .max = 9e15 },
    { .type = CS_OPT_STR, .letter = 'o', .name = "output",
      .off = offsetof(struct simulate_args, output), .arg = "FILE", .def = "-",
      .help = "write here; '-' is standard output" },
    { .type = CS_OPT_END }
};

static void options(cs_optset *set)
{
    const cs_optset all[] = {
        { simulate_table, &own, NULL }, { cs_log_table, &logs, NULL }, { NULL, NULL, NULL },
    };

    memcpy(set, all, sizeof all);
}

/* Redrawn, not clamped: clamping would heap records up at both ends. 0: no length fits. */
static int64_t draw_length(uint64_t key)
{
    for (uint64_t i = 0; i < 10000; i++) {
        const int64_t n = llround(own.lambda * exp(log_mean + log_sd * cs_rng_normal(key, i)));
        if (n >= MIN_LEN && n <= own.max_len)
            return n;
    }
    return 0;
}

/* A value as it will be read back, so that the target is exact for what is in the file. */
static double rounded(double a, char *text, size_t n)
{
    (void)snprintf(text, n, "%.6f", a);
    return strtod(text, NULL);
}

/* Where the second mark goes, given the first: uniform over the other n - 1 places. */
static int64_t other_place(uint64_t key, int64_t n, int64_t first)
{
    const int64_t p = (int64_t)cs_rng_below(key, 1, (uint64_t)n - 1);

    return p + (p >= first);
}

/* One line: values a in [-1, 1], marks b of which two are 1, and 0.5 + (a1 + a2) / 4. */
static int write_record(cs_outfile *f, int64_t no)
{
    int rc = CS_OK;
    const uint64_t seed = (uint64_t)own.seed, i = (uint64_t)no;
    const uint64_t key = cs_rng_key(cs_rng_key(seed, STREAM_VALUE), i);
    const uint64_t place = cs_rng_key(cs_rng_key(seed, STREAM_PLACE), i);
    const int64_t n = draw_length(cs_rng_key(cs_rng_key(seed, STREAM_LENGTH), i));
    char text[32];

    if (n == 0)
        return cs_fail(CS_EUSAGE, "with --lambda %g hardly any length is within 32 .. %lld",
                       own.lambda, (long long)own.max_len);
    const int64_t first = (int64_t)cs_rng_below(place, 0, (uint64_t)n);
    const int64_t second = other_place(place, n, first);
    const double a1 = rounded(2 * cs_rng_unit(key, (uint64_t)first) - 1, text, sizeof text);
    const double a2 = rounded(2 * cs_rng_unit(key, (uint64_t)second) - 1, text, sizeof text);
    CS_TRY(cs_outfile_printf(f, "add%lld\t%.8g\t", (long long)no, 0.5 + (a1 + a2) / 4));
    for (int64_t t = 0; t < n; t++) {
        rounded(2 * cs_rng_unit(key, (uint64_t)t) - 1, text, sizeof text);
        CS_TRY(cs_outfile_printf(f, "%s%s:%d", t > 0 ? "," : "", text, t == first || t == second));
    }
    rc = cs_outfile_printf(f, "\n");
out:
    return rc;
}

static int run(int argc, char **argv)
{
    int rc = CS_OK;
    cs_optset set[CS_MAX_OPTSET];
    cs_strlist task = { NULL, 0 };
    cs_outfile *f = NULL;

    options(set);
    CS_TRY(cs_args_parse(set, argc, argv, &task, &logs));
    if (task.n != 1 || strcmp(task.v[0], "adding") != 0) {
        rc = cs_fail(CS_EUSAGE, "name one task to simulate; there is: adding");
        goto out;
    }
    CS_TRY(cs_outfile_open(own.output, &f));
    CS_TRY(cs_outfile_printf(f, "#chordseq-series\t1\tchannels=2\ttargets=1\n"));
    for (int64_t i = 0; i < own.n; i++) {
        CS_TRY(write_record(f, i));
        if (cs_signal_caught() != 0) {
            rc = CS_ECANCEL;
            goto out;
        }
    }
    rc = cs_outfile_close(f);
    f = NULL;
out:
    cs_outfile_discard(f);
    free(task.v);
    cs_opt_release(set);
    return rc;
}

const cs_command cs_cmd_simulate = {
    .name = "simulate",
    .summary = "write a synthetic task to learn",
    .usage = "[OPTIONS] adding",
    .options = options,
    .run = run,
};
