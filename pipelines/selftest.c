/* selftest.c - check this machine against reference results: `chordseq selftest`. */
#include "pipelines/command.h"
#include "tools/selftest_reference.h"

static cs_selftest_args args;

static const cs_optset selftest_tables[] = {
    { cs_selftest_table, &args, NULL }, { cs_compute_table, &args.compute, NULL },
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

static int selftest_run(const cs_command_line *cmdline)
{
    (void)cmdline;
    return cs_selftest(&args);
}

const cs_command cs_cmd_selftest = {
    .name = "selftest",
    .summary = "check this machine against reference results",
    .usage = "[OPTIONS]",
    .tables = selftest_tables,
    .run = selftest_run,
};
