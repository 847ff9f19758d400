/* explain.c - contributions of bases to a prediction: `chordseq explain`. */
#include "eval/attribution.h"
#include "pipelines/command.h"

static cs_explain_args args;

static const cs_optset explain_tables[] = {
    { cs_explain_table, &args, NULL }, { cs_model_table, &args.model, NULL },
    { cs_compute_table, &args.compute, NULL }, { cs_device_table, &args.device, NULL },
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

static int explain_run(const cs_command_line *cmdline)
{
    (void)cmdline;
    return cs_explain(&args);
}

const cs_command cs_cmd_explain = {
    .name = "explain",
    .summary = "attribute a prediction to the bases of a sequence",
    .usage = "[OPTIONS] -f FASTA REGION...",
    .tables = explain_tables,
    .operands = &args.region,
    .run = explain_run,
};
