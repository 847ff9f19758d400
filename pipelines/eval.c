/* eval.c - evaluate a model on labelled records: `chordseq eval`. */
#include <stdlib.h>

#include "pipelines/command.h"
#include "run/about.h"
#include "tools/model_evaluate.h"

static cs_evaluate_args own;

#define EVAL(field) .off = offsetof(cs_evaluate_args, field)

static const cs_opt eval_table[] = {
    { .type = CS_OPT_GROUP, .name = "Evaluation" },
    { .type = CS_OPT_STR, .name = "bins", EVAL(bins), .arg = "LIST",
      .def = "500,1000,3000,10000,50000",
      .help = "boundaries of length bins in bases, comma-separated" },
    { .type = CS_OPT_STR, .name = "fragments", EVAL(fragments), .arg = "LIST",
      .help = "also evaluate fragments of these lengths, cut from the records",
      .man = "Fragments have random positions (--seed) and do not overlap. Records shorter than a "
             "length have no fragment of that length." },
    { .type = CS_OPT_INT, .name = "fragments-per-record", EVAL(per_record), .arg = "NUM",
      .def = "1", .help = "maximum fragments of each length per record", .min = 1, .max = 1e6 },
    { .type = CS_OPT_REAL, .name = "tolerance", EVAL(tolerance), .arg = "NUM",
      .def = CS_OPT_TEXT(CS_EVALUATE_TOLERANCE),
      .help = "error below which a value is correct", .min = 0, .max = 1e9 },
    { .type = CS_OPT_REAL, .name = "threshold", EVAL(threshold), .arg = "NUM",
      .def = CS_OPT_TEXT(CS_EVALUATE_THRESHOLD),
      .help = "with head multilabel, probability threshold of a label", .min = 0,
      .max = 1 },
    { .type = CS_OPT_INT, .name = "seed", EVAL(seed), .arg = "NUM", .def = "1",
      .help = "seed for the positions of fragments", .min = 0, .max = 9e15 },
    { .type = CS_OPT_SIZE, .letter = 'B', .name = "batch-tokens", EVAL(batch_tokens),
      .arg = "NUM", .def = "auto", .choice = cs_opt_auto,
      .help = "tokens per batch, or auto",
      .min = 1, .max = 1e9,
      .man = "A longer sequence is a batch of its own. auto: as many as fit into memory, at most "
             "65536 on the CPU; see chordseq-classify(1)." },
    { .type = CS_OPT_END }
};

static const cs_opt output_table[] = {
    { .type = CS_OPT_GROUP, .name = "Output" },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", EVAL(output), .arg = "FILE",
      .def = "-", .help = "table of all metrics; '-' is standard output" },
    { .type = CS_OPT_OUT, .name = "json", EVAL(json), .arg = "FILE",
      .help = "metrics as one JSON object" },
    { .type = CS_OPT_OUT, .name = "html", EVAL(html), .arg = "FILE",
      .help = "HTML report: classes, confusion matrix, curves, lengths, confidence",
      .man = "It is self-contained and supports print and dark mode." },
    { .type = CS_OPT_OUT, .name = "calibrate", EVAL(calibrate), .arg = "FILE",
      .help = "calibrate the model and write it to this file",
      .man = "The calibration is fitted to all evaluated records and fragments, for each length "
             "range of --bins, and replaces an earlier one. The model keeps its error rate "
             "(chordseq model calibrate), now by the new calibration, and its test for sequences "
             "unlike its training data. The --strand of the evaluation becomes the default of the "
             "model. Exclude training records with --split, because they make the calibration "
             "overconfident. The metrics are those of uncalibrated predictions." },
    { .type = CS_OPT_OUT, .name = "scores", EVAL(scores), .arg = "FILE",
      .help = "table of all predictions with the truth, uncalibrated",
      .man = "Input of 'chordseq model calibrate', for one model or several." },
    { .type = CS_OPT_END }
};

static const cs_optset eval_tables[] = {
    { cs_input_table, &own.input, NULL }, { cs_label_table, &own.label, NULL },
    { cs_model_table, &own.model, NULL }, { cs_policy_table, &own.policy, NULL },
    { eval_table, &own, NULL }, { cs_prior_table, &own.prior, NULL },
    { output_table, &own, NULL }, { cs_compute_table, &own.compute, NULL },
    { cs_device_table, &own.device, NULL }, { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

static int eval_run(const cs_command_line *cmdline)
{
    char *command = cs_about_line(&(cs_about){ .argc = cmdline->argc, .argv = cmdline->argv });
    const int rc = cs_model_evaluate(&own, command);

    free(command);
    cs_args_release(&own.input);
    return rc;
}

const cs_command cs_cmd_eval = {
    .name = "eval",
    .summary = "evaluate a model on labelled sequences",
    .usage = "[OPTIONS] [FILE...]",
    .tables = eval_tables,
    .operands = &own.input.file,
    .run = eval_run,
};
