/* simulate.c - simulate training data: `chordseq simulate`. */
#include <string.h>

#include "pipelines/command.h"
#include "tools/cohort.h"
#include "tools/synthetic.h"

struct simulate_args {
    int64_t     n, length, max_len, seed;
    double      lambda;
    const char *output;
};

static struct simulate_args own;
static cs_cohort_args cohort;

enum { VALUE_BYTES = 64 };

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
      .man = "Lengths below 32 or above NUM are drawn again.", .min = CS_ADDING_MIN_LEN,
      .max = 1e9 },
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

static int simulate_run(const cs_command_line *cmdline)
{
    int rc = CS_OK;
    const char *task = names.n == 1 ? names.v[0] : "";
    const bool is_cohort = strcmp(task, "cohort") == 0;
    const cs_synthetic s = { own.n, own.lambda, own.max_len, own.length, (uint64_t)own.seed };

    (void)cmdline;
    if (names.n == 1 && !is_cohort && !cs_synthetic_is(task))
        return cs_fail(CS_EUSAGE, "'%s' is not a task; choose from adding, xor, temporal-order and "
                       "cohort", task);
    if (names.n != 1)
        return cs_fail(CS_EUSAGE, "give one task to simulate: adding, xor, temporal-order, cohort");
    CS_TRY(simulate_check_options(task));
    rc = is_cohort ? cs_cohort_simulate(&cohort, own.n, (uint64_t)own.seed, own.output)
                   : cs_synthetic_write(task, &s, own.output);
out:
    return rc;
}

const cs_command cs_cmd_simulate = {
    .name = "simulate",
    .summary = "generate a synthetic task",
    .usage = "[OPTIONS] adding|xor|temporal-order|cohort",
    .words = "adding xor temporal-order cohort",
    .tables = simulate_tables,
    .operands = &names,
    .run = simulate_run,
};
