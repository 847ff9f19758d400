/* pretraining.h - masked language modelling on genomes. */
#ifndef CS_TRAIN_PRETRAINING_H
#define CS_TRAIN_PRETRAINING_H

#include "infer/args.h"
#include "infer/device_args.h"
#include "run/components.h"
#include "train/train_args.h"

typedef struct cs_genome_args {
    cs_strlist file;
    int64_t window, window_min, epoch_window, valid_window;
    double  max_unknown, valid_frac;
    const char *valid, *valid_bed, *skip;
    int     rc;
} cs_genome_args;
typedef struct cs_mask_args {
    double  ratio, p_mask, p_random;
    int64_t span, decoder_layers;
    int     decoder;
} cs_mask_args;

extern const cs_opt cs_genome_table[];     /* --input, --window, ... */
extern const cs_opt cs_mask_table[];       /* --mask-ratio, --decoder, ... */
extern const cs_opt cs_continue_table[];   /* --init, of cs_pretrain_args */

typedef struct cs_pretrain_args {
    const char     *init;
    cs_genome_args  corpus;
    cs_mask_args    mask;
    cs_train_args   training;
    cs_run_args     run;
    cs_memory_args  memory;
    cs_compute_args compute;
    cs_device_args  device;
    cs_components   components;  /* chosen, with the initial model, if any */
} cs_pretrain_args;

/**
 * cs_pretrain - train and write a model of hidden tokens
 *
 * set      the command's tables, for the recorded settings
 * Returns  CS_OK; CS_ECANCEL on a signal; errors with a message
 */
int cs_pretrain(cs_pretrain_args *a, const cs_optset *set, int argc, char **argv) CS_MUST_CHECK;

#endif
