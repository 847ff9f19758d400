/* simulate.c - simulate training data: `chordseq simulate`. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "infer/args.h"
#include "train/cohort.h"
#include "pipelines/command.h"

struct simulate_args {
    int64_t     n, length, max_len, seed;
    double      lambda;
    const char *output;
};

static struct simulate_args own;
static cs_cohort_args cohort;

/* The minimum length and the parameters of the log-normal distribution are the paper's. */
enum { MIN_LEN = 32, STREAM_LENGTH = 131, STREAM_VALUE = 132, STREAM_PLACE = 133,
       STREAM_SYMBOL = 134, VALUE_BYTES = 64 };
static const double log_mean = 0.5, log_sd = 0.7;

static const cs_opt simulate_table[] = {
    { .type = CS_OPT_GROUP, .name = "Simulation" },
    { .type = CS_OPT_SIZE, .letter = 'n', .name = "records",
      .off = offsetof(struct simulate_args, n), .arg = "NUM", .def = "1000",
      .help = "number of records or persons", .min = 1, .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "lambda", .off = offsetof(struct simulate_args, lambda),
      .arg = "NUM", .def = "200", .help = "adding: scale of the lengths",
      .man = "A length is NUM x LogNormal(0.5, 0.7^2), rounded; its mean is 2.1 NUM.",
      .min = 1, .max = 1e9 },
    { .type = CS_OPT_SIZE, .name = "max-len", .off = offsetof(struct simulate_args, max_len),
      .arg = "NUM", .def = "1500000", .help = "adding: longest record",
      .man = "Lengths below 32 or above NUM are drawn again.", .min = MIN_LEN, .max = 1e9 },
    { .type = CS_OPT_SIZE, .name = "length", .off = offsetof(struct simulate_args, length),
      .arg = "NUM", .def = "512", .help = "xor, temporal-order: length of every record",
      .min = 2, .max = 1e9 },
    { .type = CS_OPT_INT, .name = "seed", .off = offsetof(struct simulate_args, seed),
      .arg = "NUM", .def = "1", .help = "random seed", .min = 0, .max = 9e15 },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output",
      .off = offsetof(struct simulate_args, output), .arg = "FILE", .def = "-",
      .help = "output file; '-' is standard output" },
    { .type = CS_OPT_END }
};

static cs_strlist names;          /* of the task */

static const cs_optset simulate_tables[] = {
    { simulate_table, &own, NULL }, { cs_cohort_table, &cohort, NULL },
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

/* Redrawn, not clamped: clamping would accumulate records at both ends. 0: no length fits. */
static int64_t draw_length(uint64_t key)
{
    for (uint64_t i = 0; i < 10000; i++) {
        const int64_t n = llround(own.lambda * exp(log_mean + log_sd * cs_rng_normal(key, i)));
        if (n >= MIN_LEN && n <= own.max_len)
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

static uint64_t stream(int kind, int64_t no)
{
    return cs_rng_key(cs_rng_key((uint64_t)own.seed, (uint64_t)kind), (uint64_t)no);
}

/* Two positions of n: the first uniform, the second uniform over the others. */
struct pair { int64_t first, second; };

static struct pair draw_places(int64_t no, int64_t n)
{
    const uint64_t key = stream(STREAM_PLACE, no);
    const int64_t first = (int64_t)cs_rng_below(key, 0, (uint64_t)n);
    const int64_t p = (int64_t)cs_rng_below(key, 1, (uint64_t)n - 1);

    return (struct pair){ first, p + (p >= first) };
}

/* ---- the tasks: each writes one line --------------------------------------------------------- */

/* Positions a:b with a in [low, 1] and b a mark. */
static int write_marked(cs_outfile *f, int64_t no, int64_t n, double low, struct pair at)
{
    int rc = CS_OK;
    const uint64_t key = stream(STREAM_VALUE, no);
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

static double marked_value(int64_t no, double low, int64_t place)
{
    char text[32];
    const double u = cs_rng_unit(stream(STREAM_VALUE, no), (uint64_t)place);

    return rounded(low + (1 - low) * u, text, sizeof text);
}

/* Values a in [-1, 1], marks b of which two are 1, and 0.5 + (a1 + a2) / 4. */
static int write_adding(cs_outfile *f, int64_t no)
{
    int rc = CS_OK;
    const int64_t n = draw_length(stream(STREAM_LENGTH, no));

    if (n == 0)
        return cs_fail(CS_EUSAGE, "with --lambda %g hardly any length is from 32 to %lld",
                       own.lambda, (long long)own.max_len);
    const struct pair at = draw_places(no, n);
    const double sum = marked_value(no, -1, at.first) + marked_value(no, -1, at.second);
    CS_TRY(cs_outfile_printf(f, "add%lld\t%.8g\t", (long long)no, 0.5 + sum / 4));
    rc = write_marked(f, no, n, -1, at);
out:
    return rc;
}

/* Values in [0, 1]: are the two marked ones in different halves? */
static int write_xor(cs_outfile *f, int64_t no)
{
    int rc = CS_OK;
    const struct pair at = draw_places(no, own.length);
    const bool a = marked_value(no, 0, at.first) >= 0.5, b = marked_value(no, 0, at.second) >= 0.5;

    CS_TRY(cs_outfile_printf(f, "xor%lld\t%d\t", (long long)no, a != b));
    rc = write_marked(f, no, own.length, 0, at);
out:
    return rc;
}

/* Symbols a b c d, and X or Y at two positions, one-hot: classes XX, XY, YX, YY. */
static int write_order(cs_outfile *f, int64_t no)
{
    enum { X = 4, N_SYMBOL = 6 };
    static const char *const one_hot[N_SYMBOL] = {
        "1:0:0:0:0:0", "0:1:0:0:0:0", "0:0:1:0:0:0", "0:0:0:1:0:0", "0:0:0:0:1:0", "0:0:0:0:0:1",
    };
    int rc = CS_OK;
    const uint64_t key = stream(STREAM_SYMBOL, no), value = stream(STREAM_VALUE, no);
    const struct pair p = draw_places(no, own.length);
    const int64_t early = p.first < p.second ? p.first : p.second;
    const int64_t late = p.first + p.second - early;
    const int a = (int)cs_rng_below(value, 0, 2), b = (int)cs_rng_below(value, 1, 2);

    CS_TRY(cs_outfile_printf(f, "order%lld\t%d\t", (long long)no, 2 * a + b));
    for (int64_t t = 0; t < own.length; t++) {
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
    int       (*write)(cs_outfile *f, int64_t no);
} tasks[] = {
    { "adding", 2, write_adding },
    { "xor", 2, write_xor },
    { "temporal-order", 6, write_order },
};

static const struct task *find_task(const cs_strlist *name)
{
    for (size_t i = 0; name->n == 1 && i < sizeof tasks / sizeof *tasks; i++)
        if (strcmp(name->v[0], tasks[i].name) == 0)
            return &tasks[i];
    return NULL;
}

static int write_task(const struct task *task)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open(own.output, &f));
    CS_TRY(cs_outfile_printf(f, "#chordseq-series\t1\tchannels=%d\ttargets=1\n",
                             task->n_channel));
    for (int64_t i = 0; i < own.n; i++) {
        CS_TRY(task->write(f, i));
        if (cs_signal_caught() != 0) {
            rc = CS_ECANCEL;
            goto out;
        }
    }
    rc = cs_outfile_close(f);
    f = NULL;
out:
    cs_outfile_discard(f);
    return rc;
}

/* ---- options --------------------------------------------------------------------------------- */

/* The task of an option; options not listed apply to every task. */
static const char *tasks_of(const char *option)
{
    static const char *const only[][2] = {
        { "lambda", "adding" }, { "max-len", "adding" }, { "length", "xor, temporal-order" },
    };

    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (strcmp(only[i][0], option) == 0)
            return only[i][1];
    return NULL;
}

/* Refuse options of other tasks with values other than the default. */
static int check_table(const cs_opt *o, const void *args, const void *defaults, const char *all,
                       const char *task)
{
    char value[VALUE_BYTES], usual[VALUE_BYTES];

    for (; o->type != CS_OPT_END; o++) {
        const char *whose = all ? all : o->type == CS_OPT_GROUP ? NULL : tasks_of(o->name);
        if (o->type == CS_OPT_GROUP || !whose || strstr(whose, task))
            continue;
        const int n = cs_opt_text(o, args, value, sizeof value);
        const int n_usual = cs_opt_text(o, defaults, usual, sizeof usual);
        if (n != n_usual || (n > 0 && strcmp(value, usual) != 0))
            return cs_fail(CS_EUSAGE, "--%s is for %s, not for %s; omit it", o->name, whose,
                           task);
    }
    return CS_OK;
}

static int simulate_check_options(const char *task)
{
    int rc = CS_OK;
    struct simulate_args usual;
    cs_cohort_args usual_cohort;

    cs_opt_defaults((cs_optset[]){ { simulate_table, &usual, NULL },
                                   { cs_cohort_table, &usual_cohort, NULL },
                                   { NULL, NULL, NULL } });
    CS_TRY(check_table(simulate_table, &own, &usual, NULL, task));
    rc = check_table(cs_cohort_table, &cohort, &usual_cohort, "cohort", task);
out:
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int simulate_run(const cs_call *call)
{
    (void)call;
    int rc = CS_OK;
    const struct task *task = find_task(&names);
    const bool is_cohort = names.n == 1 && strcmp(names.v[0], "cohort") == 0;
    if (task != NULL || is_cohort)
        CS_TRY(simulate_check_options(names.v[0]));
    if (task != NULL)
        rc = write_task(task);
    else if (is_cohort)
        rc = cs_cohort_simulate(&cohort, own.n, (uint64_t)own.seed, own.output);
    else
        rc = cs_fail(CS_EUSAGE, "give one task to simulate: adding, xor, temporal-order, cohort");
out:
    return rc;
}

const cs_command cs_cmd_simulate = {
    .name = "simulate",
    .summary = "generate a synthetic task",
    .usage = "[OPTIONS] TASK",
    .words = "adding xor temporal-order cohort",
    .tables = simulate_tables,
    .operands = &names,
    .run = simulate_run,
};
