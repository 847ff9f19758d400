/* train.c - supervised training: `chordseq train`. */
#include <string.h>

#include "base/cpu.h"
#include "pipelines/command.h"
#include "refine/proteins_add.h"
#include "train/supervised.h"

static cs_supervised_args args;

static const cs_optset common_tables[] = {
    { cs_input_table, &args.input, NULL }, { cs_label_table, &args.label, NULL },
    { cs_sample_table, &args.sample, NULL }, { cs_mutation_table, &args.mutation, NULL },
    { cs_train_table, &args.training, NULL }, { cs_aim_table, &args.aim, NULL },
    { cs_proteins_add_table, &args.extension, NULL },
    { cs_init_table, &args.init, NULL }, { cs_run_table, &args.run, NULL },
    { cs_result_table, &args.result, NULL }, { cs_memory_table, &args.memory, NULL },
    { cs_taxa_table, &args.taxa, NULL }, { cs_variant_table, &args.variants, NULL },
    { cs_compute_table, &args.compute, NULL }, { cs_device_table, &args.device, NULL },
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

static void train_options(cs_optset *set)
{
    memcpy(set, common_tables, sizeof common_tables);
    cs_components_list(&args.components, set, CS_MAX_OPTSET);
}

/* The option tables depend on --init, so that model is read before parsing. */
static int train_select(cs_optset *set, int argc, char **argv)
{
    memcpy(set, common_tables, sizeof common_tables);
    const int rc = cs_components_init(&args.components, argc, argv);
    return rc != CS_OK ? rc
         : cs_components_find(&args.components, argc, argv, set, CS_MAX_OPTSET);
}

static void train_release(void)
{
    cs_args_release(&args.input);
    cs_components_release(&args.components);
}

static int train_check_options(void)
{
    const cs_init_args *init = &args.init;
    const cs_run_args *run = &args.run;
    const cs_head *head = args.components.head;

    if (init->init == NULL && (init->freeze != CS_FREEZE_NONE || init->freeze_epochs > 0))
        return cs_fail(CS_EUSAGE, "freezing needs a trained encoder; give --init MODEL");
    if (args.aim.monitor == CS_MONITOR_BALANCED && !head->is_class && !head->is_labels)
        return cs_fail(CS_EUSAGE, "--monitor balanced-accuracy is for classes and labels, but the "
                       "head predicts values");
    const char *with = args.label.split != NULL ? "--split" : run->resume ? "--resume"
                     : run->stop_after > 0 ? "--stop-after"
                     : run->max_time > 0 ? "--max-time"
                     : args.aim.stop_at > 0 ? "--stop-at"
                     : args.result.split != NULL ? "--split-out"
                     : args.extension.size > 0 ? "--proteins" : NULL;
    if (args.sample.n_fold == 1)
        return cs_fail(CS_EUSAGE, "--folds takes at least 2");
    if (args.sample.n_fold > 0 && with != NULL)
        return cs_fail(CS_EUSAGE, "--folds and %s exclude each other", with);
    if (args.sample.n_fold > 0 && (head->per_token || head->n_part > 1))
        return cs_fail(CS_EUSAGE, "--folds is for predictions of sequences");
    return CS_OK;
}

static int train_run(const cs_command_line *cmdline)
{
    int rc = CS_OK;

    cs_cpu_flush_subnormals();
    if (args.components.from != NULL) {
        args.init.init = args.components.from_path;
        CS_TRY(cs_components_adopt(&args.components, cmdline->argc, cmdline->argv,
                                   args.init.new_head));
    } else if (args.init.new_head) {
        return cs_fail(CS_EUSAGE, "--new-head goes with --init");
    }
    CS_TRY(train_check_options());
    args.extension = cs_proteins_extension(args.extension.size);
    rc = cs_supervised_train(&args, cmdline->set, cmdline->argc, cmdline->argv);
out:
    return rc;
}

const cs_command cs_cmd_train = {
    .name = "train",
    .summary = "train a model on labelled sequences",
    .usage = "[OPTIONS] -o MODEL [FILE...]",
    .options = train_options,
    .select = train_select,
    .filter = cs_components_filter,
    .operands = &args.input.file,
    .run = train_run,
    .release = train_release,
};
