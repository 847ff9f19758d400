/* supervised_args.h - options of `chordseq train`: samples, aim, initial model, result. */
#ifndef CS_TRAIN_SUPERVISED_ARGS_H
#define CS_TRAIN_SUPERVISED_ARGS_H

#include "train/loop.h"
#include "train/preset.h"

typedef struct cs_sample_args {
    int64_t crop_min, crop_max, n_sample, n_valid, n_fold;
    double  crop_power, balance, group_balance, length_power, valid_frac;
    int     rc, no_rc;
} cs_sample_args;
typedef struct cs_aim_args {
    const char *weights;
    double      stop_at, tolerance;
    int         preset, print_config, monitor, no_standardize;
} cs_aim_args;
typedef struct cs_init_args {
    const char *init, *bag;
    int64_t     freeze_epochs;
    double      encoder_lr, composition_lr;
    int         freeze, new_head;
} cs_init_args;

typedef struct cs_result_args { int strand; const char *html, *split; } cs_result_args;

/* Values of --freeze and --strand; of the latter, those after AUTO are cs_strands plus one. */
enum { CS_FREEZE_NONE, CS_FREEZE_ENCODER };
enum { CS_TRAIN_STRAND_AUTO, CS_TRAIN_STRAND_FORWARD };

extern const cs_opt cs_sample_table[], cs_aim_table[], cs_init_table[],
                    cs_result_table[];

#endif
