/* pretrain.c - masked language modelling on genomes: `chordseq pretrain`. */
#include <string.h>

#include "base/cpu.h"
#include "pipelines/command.h"
#include "train/pretraining.h"

static cs_pretrain_args args = { .components.fixed_head = "token" };

static const cs_optset common_tables[] = {
    { cs_genome_table, &args.corpus, NULL }, { cs_mask_table, &args.mask, NULL },
    { cs_continue_table, &args, NULL }, { cs_train_table, &args.training, NULL },
    { cs_run_table, &args.run, NULL }, { cs_memory_table, &args.memory, NULL },
    { cs_compute_table, &args.compute, NULL }, { cs_device_table, &args.device, NULL },
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

static void pretrain_options(cs_optset *set)
{
    memcpy(set, common_tables, sizeof common_tables);
    cs_components_list(&args.components, set, CS_MAX_OPTSET);
}

/* The option tables depend on --init, so that model is read before parsing. */
static int pretrain_select(cs_optset *set, int argc, char **argv)
{
    cs_components *c = &args.components;
    int rc = CS_OK;

    memcpy(set, common_tables, sizeof common_tables);
    CS_TRY(cs_components_init(c, argc, argv));
    if (c->from != NULL)
        CS_TRY(cs_model_check_masked(c->from, c->from_path));
    rc = cs_components_find(c, argc, argv, set, CS_MAX_OPTSET);
out:
    return rc;
}

static void release_components(void)
{
    cs_components_release(&args.components);
}

static int pretrain_run(const cs_command_line *cmdline)
{
    cs_cpu_flush_subnormals();
    return cs_pretrain(&args, cmdline->set, cmdline->argc, cmdline->argv);
}

const cs_command cs_cmd_pretrain = {
    .name = "pretrain",
    .summary = "pretrain a model on unlabelled genomes",
    .usage = "[OPTIONS] -o MODEL FASTA...",
    .options = pretrain_options,
    .select = pretrain_select,
    .filter = cs_components_filter,
    .operands = &args.corpus.file,
    .run = pretrain_run,
    .release = release_components,
};
