/* supervised.h - supervised training: data, model, training, evaluation. */
#ifndef CS_TRAIN_SUPERVISED_H
#define CS_TRAIN_SUPERVISED_H

#include "infer/args.h"
#include "infer/device_args.h"
#include "infer/input_args.h"
#include "infer/taxa.h"
#include "run/components.h"
#include "train/labelled.h"
#include "train/supervised_args.h"
#include "train/train_args.h"
#include "train/variant_labels.h"

typedef struct cs_supervised_args {
    cs_input_args   input;
    cs_label_args   label;
    cs_sample_args  sample;
    cs_mutation     mutation;
    cs_train_args   training;
    cs_aim_args     aim;
    cs_init_args    init;
    cs_run_args     run;
    cs_memory_args  memory;
    cs_result_args  result;
    cs_taxa_args    taxa;
    cs_variant_args variants;
    cs_compute_args compute;
    cs_device_args  device;
    cs_components   components;  /* chosen, and adopted from the initial model, if any */
} cs_supervised_args;

/**
 * cs_supervised_train - train and write a model, or print its settings (--print-config)
 *
 * a        parsed and checked; presets and proposals replace settings that argv does not give
 * set      the command's tables, for the recorded settings
 * Returns  CS_OK; CS_ECANCEL on a signal; errors with a message
 */
int cs_supervised_train(cs_supervised_args *a, const cs_optset *set, int argc, char **argv)
    CS_MUST_CHECK;

#endif
