/* factorize.c - approximate a matrix by sparse factors: `chordseq factorize`. */
#include "pipelines/command.h"
#include "tools/factorization.h"

struct factorize_args {
    const char *input, *output, *plot;
    int         dense;
    int64_t     factors, steps, seed, threads;
    double      lr;
};

static struct factorize_args own;

static const cs_opt factorize_table[] = {
    { .type = CS_OPT_GROUP, .name = "Input" },
    { .type = CS_OPT_IN, .letter = 'i', .name = "input",
      .off = offsetof(struct factorize_args, input), .arg = "FILE",
      .help = "square matrix to factorize, NPY; '-' is standard input",
      .man = "Elements are 4-byte or 8-byte floating-point numbers, in any byte order, in C or "
             "Fortran order." },
    { .type = CS_OPT_GROUP, .name = "Output" },
    { .type = CS_OPT_STR, .letter = 'o', .name = "output",
      .off = offsetof(struct factorize_args, output), .arg = "PREFIX",
      .help = "write the factors as PREFIX.1.npy, PREFIX.2.npy ... and PREFIX.index.npy" },
    { .type = CS_OPT_FLAG, .name = "dense", .off = offsetof(struct factorize_args, dense),
      .help = "write dense factors, without an index" },
    { .type = CS_OPT_OUT, .name = "plot", .off = offsetof(struct factorize_args, plot),
      .arg = "FILE",
      .help = "draw the matrix, the product and the truncated SVD: *.svg or *.png" },
    { .type = CS_OPT_GROUP, .name = "Fit" },
    { .type = CS_OPT_INT, .name = "factors", .off = offsetof(struct factorize_args, factors),
      .arg = "NUM", .def = "0",
      .help = "number of factors; 0: ceil(log2 n) for an n x n matrix",
      .min = 0, .max = 1024 },
    { .type = CS_OPT_SIZE, .name = "steps", .off = offsetof(struct factorize_args, steps),
      .arg = "NUM", .def = "3000", .help = "steps of Adam", .min = 1, .max = 1e9 },
    { .type = CS_OPT_REAL, .name = "lr", .off = offsetof(struct factorize_args, lr),
      .arg = "NUM", .def = "0.05", .help = "peak learning rate",
      .man = "Linear warm-up during the first 2 % of the steps, then cosine decay to 0.",
      .min = 1e-9, .max = 10 },
    { .type = CS_OPT_INT, .name = "seed", .off = offsetof(struct factorize_args, seed),
      .arg = "NUM", .def = "1", .help = "seed of the initial weights", .min = 0, .max = 9e15 },
    { .type = CS_OPT_INT, .letter = '@', .name = "threads",
      .off = offsetof(struct factorize_args, threads), .arg = "NUM",
      .help = "threads (default: one per processor)",
      .man = "The factors do not depend on this number.", .min = 1, .max = 4096 },
    { .type = CS_OPT_END }
};

static const cs_optset factorize_tables[] = {
    { factorize_table, &own, NULL }, { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

static int factorize_run(const cs_command_line *cmdline)
{
    (void)cmdline;
    return cs_factorize(&(cs_factorization){
        .input = own.input, .output = own.output, .plot = own.plot, .dense = own.dense > 0,
        .n_thread = (int)own.threads,
        .fit = { own.factors, own.steps, own.lr, (uint64_t)own.seed },
    });
}

const cs_command cs_cmd_factorize = {
    .name = "factorize",
    .summary = "factorize a matrix into sparse factors",
    .usage = "[OPTIONS] -i FILE",
    .tables = factorize_tables,
    .run = factorize_run,
};
