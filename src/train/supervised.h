/* supervised.h - supervised training: data, model, training, evaluation. */
#ifndef CS_TRAIN_SUPERVISED_H
#define CS_TRAIN_SUPERVISED_H

#include "eval/metrics.h"
#include "infer/args.h"
#include "infer/device_args.h"
#include "infer/input_args.h"
#include "infer/taxa.h"
#include "run/components.h"
#include "train/labelled.h"
#include "train/pace.h"
#include "train/sampler.h"
#include "train/supervised_args.h"
#include "train/train_args.h"
#include "train/variant_labels.h"

/* What is added to a classifier when it is trained, before its calibration. */
typedef struct cs_train_extension {
    int64_t     size;            /* bytes, by an option or a preset; 0: none */
    const char *option;          /* that asks for it, for messages */
    double      speed;           /* bases per second of `make` on a thread, about */
    /* Before training: CS_OK, or the error that the model or the data cannot be extended. */
    int (*check)(const cs_model *m, const cs_dataset *d);
    /* Before training, what does not depend on the weights of the model: CS_OK; CS_EUSAGE if the
     * data has none. made: receives it, for add and release. after: receives how long add takes. m:
     * may change during the call. */
    int (*make)(int64_t size, cs_model *m, const cs_dataset *d, const cs_sampler *valid,
                void **made, cs_train_after *after);
    /* Adds to the written model, on the CPU; made has none afterwards. d: its parts may change
     * during the call. scores: receives uncalibrated predictions of the samples of `valid`, for
     * metrics and calibration. */
    int (*add)(void *made, cs_model *m, cs_dataset *d, const cs_sampler *valid,
               int64_t batch_tokens, cs_scores *scores);
    void (*release)(void *made); /* NULL is ignored */
} cs_train_extension;

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
    cs_train_extension extension;
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
