/* loop_opt.h - settings of the training loop: optimiser, ends, checkpoints, validation. */
#ifndef CS_TRAIN_LOOP_OPT_H
#define CS_TRAIN_LOOP_OPT_H

#include "base/group.h"
#include "eval/metrics.h"
#include "train/checkpoint.h"
#include "train/optim.h"
#include "train/pace.h"

typedef enum cs_monitor { CS_MONITOR_AUTO, CS_MONITOR_BALANCED, CS_MONITOR_LOSS } cs_monitor;

typedef struct cs_loop_opt {
    cs_adam     adam;            /* lr is the base; step and grad_scale are set per step */
    cs_schedule schedule;        /* total is computed by cs_train_run() */
    double      warmup;          /* steps, or below 1 a share of all steps */
    bool        keep_zero_grad; /* see cs_optim_step() */
    double      clip;            /* largest gradient norm; 0: any */
    double      ema;             /* decay of the averaged weights; 0: none */
    int32_t     keep;            /* see cs_step_opt; lowered, with a note, until it fits */
    const float *weight;         /* [n_label] class weights, or NULL */
    double      tolerance;       /* regression: an error below it is a hit */
    bool        perplexity;      /* tokens are predicted: say it beside the loss */
    cs_monitor  monitor;         /* AUTO: balanced accuracy of classes, loss of values */
    int64_t     freeze_epochs;   /* epochs that train only the head */
    int64_t     n_epoch;
    int64_t     max_steps;       /* end of the whole run and of its schedule; 0: by epochs */
    int64_t     stop_after;      /* pause after so many steps of this run; 0: never */
    bool        keep_last;       /* write the latest model, though the best may be another */
    int64_t     patience;        /* epochs without improvement until annealing, or without a budget
                                  * until the end; 0: any number */
    double      stop_at;         /* end when the validation is as good as this; 0: never */
    double      max_seconds;     /* pause after so long; 0: never */
    cs_train_budget budget;      /* ends the run in place of n_epoch and max_steps; schedule and
                                  * epochs keep to it */
    double      spent;           /* seconds of it, before the run */
    cs_train_after after;        /* reserved in it for after the run */
    double      all_seconds;     /* time budget of the command, whose stage this run may be */
    int64_t     checkpoint_steps;/* besides one per epoch; 0: none */
    uint64_t    seed;            /* of the dropout masks */
    const char *model_path, *checkpoint_path;
    const char *watch;           /* label of lines about epochs; NULL: none */
    const char *metrics_path;    /* NULL: none */
    const char *steps_path, *events_path;      /* see cs_step_log_open(); NULL: none */
    const char *shorter;         /* "shorten sequences with --crop-max", for a message */
    const char *recipe;          /* see cs_checkpoint_save() */
    const char *further;         /* see cs_resume_rule */
    bool        resume;
    bool        has_bag;         /* the run follows that of a bag, with as many epochs */
    cs_group   *group;           /* the ranks of the run, of which this is one; NULL: it is alone */
    /* Text for the model's `training` (free() it), requested before a model is written. */
    char     *(*describe)(void *arg, const cs_train_state *st);
    void       *arg;
    /* Called after each validation of whole records, on rank 0, with its predictions; or NULL. */
    int       (*validated)(void *arg, cs_model *m, const cs_train_state *st, const cs_scores *s);
    void       *validated_arg;
    /* Called on all ranks after a validation with the lowest loss so far, with the weights that
     * were validated; or NULL. */
    int       (*lowest)(void *arg, cs_model *m);
    void       *lowest_arg;
} cs_loop_opt;

#endif
