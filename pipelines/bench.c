/* bench.c - time and memory of encoders by sequence length: `chordseq bench`. */
#include <string.h>

#include "pipelines/command.h"
#include "tools/encoder_bench.h"

static cs_bench_args args;
static cs_strlist topics;          /* to be measured */

static const cs_optset bench_tables[] = {
    { cs_bench_table, &args, NULL }, { cs_memory_table, &args.memory, NULL },
    { cs_compute_table, &args.compute, NULL }, { cs_device_table, &args.device, NULL },
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

static int bench_run(const cs_command_line *cmdline)
{
    (void)cmdline;
    if (topics.n != 1 || strcmp(topics.v[0], "encoders") != 0)
        return cs_fail(CS_EUSAGE, "give what to measure: encoders");
    return cs_bench_encoders(&args);
}

const cs_command cs_cmd_bench = {
    .name = "bench",
    .summary = "time and memory of every encoder by the length of a sequence",
    .usage = "[OPTIONS] encoders",
    .words = "encoders",
    .tables = bench_tables,
    .operands = &topics,
    .run = bench_run,
};
