/* train_args.c - options that `train` and `pretrain` share: optimiser, run, files, memory. */
#include "train/train_args.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"
#include "io/reference.h"
#include "run/outputs.h"
#include "train/tensorboard.h"

static const char *const optim_names[] = { "adam", "adamw", NULL };

enum { MAX_FORKED = CS_DEVICES_MAX };

#define TRAIN(field) .off = offsetof(cs_train_args, field)
#define RUN(field) .off = offsetof(cs_run_args, field)
#define MEMORY(field) .off = offsetof(cs_memory_args, field)

const cs_opt cs_train_table[] = {
    { .type = CS_OPT_GROUP, .name = "Optimisation" },
    { .type = CS_OPT_SIZE, .letter = 'B', .name = "batch-tokens", TRAIN(batch_tokens),
      .arg = "NUM", .def = "32768", .help = "maximum tokens per batch", .min = 1, .max = 1e9,
      .man = "A batch holds samples of one depth, ceil(log2(tokens)); a longer sample is a batch "
             "of its own. Memory grows with this number." },
    { .type = CS_OPT_INT, .name = "step-records", TRAIN(step_records), .arg = "NUM", .def = "0",
      .help = "samples per step; 0: see --accumulate",
      .man = "Every step then has the same mixture of lengths, but batches are smaller.",
      .min = 0, .max = 1e9 },
    { .type = CS_OPT_INT, .name = "accumulate", TRAIN(accumulate), .arg = "NUM", .def = "1",
      .help = "batches per step", .min = 1, .max = 1e6 },
    { .type = CS_OPT_ENUM, .name = "optimizer", TRAIN(optim), .arg = "NAME", .def = "adamw",
      .help = "adam or adamw", .choice = optim_names },
    { .type = CS_OPT_REAL, .name = "lr", TRAIN(lr), .arg = "NUM", .def = "0.001",
      .help = "learning rate", .min = 1e-12, .max = 100 },
    { .type = CS_OPT_REAL, .name = "beta1", TRAIN(beta1), .arg = "NUM", .def = "0.9",
      .help = "decay of the first moment", .min = 0, .max = 0.999999 },
    { .type = CS_OPT_REAL, .name = "beta2", TRAIN(beta2), .arg = "NUM", .def = "0.999",
      .help = "decay of the second moment", .min = 0, .max = 0.99999999 },
    { .type = CS_OPT_REAL, .name = "eps", TRAIN(eps), .arg = "NUM", .def = "1e-8",
      .help = "term added to the root of the second moment", .min = 1e-16, .max = 1 },
    { .type = CS_OPT_REAL, .name = "weight-decay", TRAIN(decay), .arg = "NUM", .def = "0.01",
      .help = "weight decay of all parameters",
      .man = "adamw multiplies the parameters by 1 - lr x NUM; adam adds NUM times the parameters "
             "to the gradient.", .min = 0, .max = 10 },
    { .type = CS_OPT_FLAG, .name = "keep-zero-grad", TRAIN(keep_zero_grad),
      .help = "also update tensors without a gradient in a step, after their first gradient",
      .man = "As in PyTorch before version 2.0. By default, such tensors are skipped." },
    { .type = CS_OPT_ENUM, .name = "schedule", TRAIN(schedule), .arg = "NAME", .def = "cosine",
      .help = "constant, linear, cosine or polynomial decay to the last step",
      .choice = cs_decay_names },
    { .type = CS_OPT_REAL, .name = "warmup", TRAIN(warmup), .arg = "NUM", .def = "0.05",
      .help = "steps of linear warm-up; below 1: share of all steps", .min = 0, .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "cycles", TRAIN(cycles), .arg = "NUM", .def = "0.5",
      .help = "cycles of the cosine; 0.5 ends at zero", .min = 0, .max = 1000 },
    { .type = CS_OPT_REAL, .name = "power", TRAIN(power), .arg = "NUM", .def = "1",
      .help = "power of the polynomial decay", .min = 0, .max = 100 },
    { .type = CS_OPT_REAL, .name = "lr-end", TRAIN(lr_end), .arg = "NUM", .def = "1e-8",
      .help = "learning rate at the end of the polynomial decay", .min = 0, .max = 100 },
    { .type = CS_OPT_REAL, .name = "clip", TRAIN(clip), .arg = "NUM", .def = "1",
      .help = "gradient norm clipping; 0: none", .min = 0, .max = 1e9 },
    { .type = CS_OPT_REAL, .name = "ema", TRAIN(ema), .arg = "NUM", .def = "0",
      .help = "decay of averaged weights (EMA); 0: no averaging",
      .man = "At step t the decay is at most (1 + t) / (10 + t). Validation and the output model "
             "use the averaged weights.", .min = 0, .max = 0.9999999 },
    { .type = CS_OPT_INT, .name = "epochs", TRAIN(epochs), .arg = "NUM", .def = "20",
      .help = "number of epochs", .min = 1, .max = 1e6 },
    { .type = CS_OPT_INT, .name = "max-steps", TRAIN(max_steps), .arg = "NUM", .def = "0",
      .help = "maximum number of steps; 0: those of --epochs", .min = 0, .max = 1e12 },
    { .type = CS_OPT_STR, .name = "budget", TRAIN(budget), .arg = "TIME|BASES",
      .help = "training budget: time (90s, 10m, 1h30m, 1d) or bases (500M)",
      .man = "Replaces --epochs and --max-steps: the learning rate decays until the budget ends. "
             "An epoch takes at most a twelfth of it, and the budget includes reading the input, "
             "validation and calibration. A paused and resumed run has one budget in total. Only a "
             "budget in bases is reproducible; the bags of the presets of train get ten and five "
             "times as many." },
    { .type = CS_OPT_INT, .name = "patience", TRAIN(patience), .arg = "NUM", .def = "0",
      .help = "early stopping: epochs without improvement; 0: never",
      .man = "With --budget, training then returns to the best weights, completes the schedule in "
             "the time that they took, and ends. A network that is worse than its initial bag ends "
             "when neither its accuracy nor its loss improves.",
      .min = 0, .max = 1e6 },
    { .type = CS_OPT_INT, .name = "seed", TRAIN(seed), .arg = "NUM", .def = "1",
      .help = "random seed", .min = 0, .max = 9e15 },
    { .type = CS_OPT_END }
};

const cs_opt cs_run_table[] = {
    { .type = CS_OPT_GROUP, .name = "Output" },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", RUN(output), .arg = "FILE",
      .help = "output model; written whenever validation improves" },
    { .type = CS_OPT_OUT, .name = "metrics", RUN(metrics), .arg = "FILE",
      .help = "table with one row per epoch" },
    { .type = CS_OPT_OUT, .name = "step-metrics", RUN(steps), .arg = "FILE",
      .help = "table with one row per step",
      .man = "Columns: step, epoch, lr, train_loss, train_acc, grad_norm, bases and seconds (since "
             "the start). NA is a value that was not computed." },
    { .type = CS_OPT_STR, .name = "tensorboard", RUN(tensorboard), .arg = "DIR",
      .help = "add a TensorBoard event file to this folder",
      .man = "Scalars of steps (train/loss, train/accuracy, train/lr, train/gradient_norm) and "
             "epochs (valid/loss, valid/accuracy, valid/balanced_accuracy, baselines, bases per "
             "second).", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_OUT, .name = "checkpoint", RUN(checkpoint), .arg = "FILE",
      .help = "checkpoint, written after every epoch and at the end (default: the model's name "
              "with .ckpt)",
      .man = "None by default if the model is not a regular file, such as /dev/null." },
    { .type = CS_OPT_INT, .name = "checkpoint-steps", RUN(checkpoint_steps), .arg = "NUM",
      .def = "0", .help = "additional checkpoints every NUM steps", .min = 0, .max = 1e12,
      .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_FLAG, .name = "resume", RUN(resume),
      .help = "resume from the checkpoint, with the same options and data",
      .man = "The result is bit-identical to that of an uninterrupted run. Without a checkpoint, "
             "the run starts at the first step. With --schedule constant and --warmup 0 or in "
             "steps, --epochs may be another number, also after the end.",
      .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_INT, .name = "stop-after", RUN(stop_after), .arg = "NUM", .def = "0",
      .help = "pause after this many steps of this run; 0: never", .min = 0, .max = 1e12,
      .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_REAL, .name = "max-time", RUN(max_time), .arg = "SECONDS", .def = "0",
      .help = "pause after this time; 0: never", .min = 0, .max = 1e9,
      .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_STR, .name = "ranks", RUN(ranks), .arg = "NUM", .def = "off",
      .help = "number of training processes to start; env: those of a launcher",
      .man = "See Ranks in chordseq-train(1). off: one rank for each device in --device, without "
             "the environment of launchers.", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_REAL, .name = "ranks-timeout", RUN(timeout), .arg = "SECONDS", .def = "600",
      .help = "time limit for a rank that does not respond; 0: none", .min = 0, .max = 1e9,
      .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

const cs_opt cs_memory_table[] = {
    { .type = CS_OPT_GROUP, .name = "Memory" },
    { .type = CS_OPT_SIZE, .name = "checkpoint-blocks", MEMORY(checkpoint_blocks), .arg = "NUM",
      .def = "auto", .choice = cs_opt_auto,
      .help = "number of block inputs to store (gradient checkpointing); auto: all activations",
      .man = "The backward pass recomputes the other activations; a step takes about half as long "
             "again if NUM is the square root of the number of blocks. Fewer are stored if they do "
             "not fit into nine tenths of the free memory of a GPU, or three quarters of that of "
             "the system or its control group; --verbose reports their number. Results do not "
             "depend on it, except for rounding in bf16, where checkpoints are stored as bf16 in "
             "half the memory. For stacks of blocks of one width: chordmixer (except reversible, "
             "which stores none), transformer, linformer, lowrank and fkernel. Other encoders "
             "always store the inputs of all blocks.",
      .min = 1, .max = CS_CHECKPOINT_INPUTS, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_FLAG, .name = "recompute", MEMORY(recompute),
      .help = "store only the inputs of all blocks, and recompute the other activations",
      .man = "The same as --checkpoint-blocks with its largest NUM; --checkpoint-blocks takes "
             "precedence.", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

int32_t cs_memory_checkpoint_blocks(const cs_memory_args *a)
{
    return a->checkpoint_blocks > 0 ? (int32_t)a->checkpoint_blocks
         : a->recompute ? CS_CHECKPOINT_INPUTS : CS_KEEP_ALL;
}

cs_loop_opt cs_train_loop_opt(const cs_train_args *a, const cs_run_args *r,
                              const cs_memory_args *memory)
{
    return (cs_loop_opt){
        .adam = { .lr = a->lr, .beta1 = a->beta1, .beta2 = a->beta2, .eps = a->eps,
                  .decay = a->decay, .decoupled = a->optim == 1 },
        .schedule = { .kind = (cs_decay)a->schedule, .cycles = a->cycles, .power = a->power,
                      .floor = a->lr_end / a->lr },
        .warmup = a->warmup, .keep_zero_grad = a->keep_zero_grad, .clip = a->clip, .ema = a->ema,
        .keep = cs_memory_checkpoint_blocks(memory), .n_epoch = a->epochs,
        .max_steps = a->max_steps,
        .patience = a->patience, .seed = (uint64_t)a->seed, .stop_after = r->stop_after,
        .max_seconds = r->max_time, .checkpoint_steps = r->checkpoint_steps,
        .model_path = r->output, .metrics_path = r->metrics, .steps_path = r->steps,
        .events_path = r->tensorboard, .resume = r->resume,
    };
}

const char *cs_train_limit(const cs_train_args *a)
{
    return cs_opt_given(&a->epochs) ? "epochs" : cs_opt_given(&a->max_steps) ? "max-steps" : NULL;
}

int cs_train_take_budget(const cs_train_args *a, cs_train_budget *b)
{
    const char *limit = cs_train_limit(a);

    if (a->budget == NULL)
        return CS_OK;
    if (limit != NULL)
        return cs_fail(CS_EUSAGE, "--budget and --%s both limit the run; give one", limit);
    return cs_train_budget_parse(a->budget, b);
}

void cs_train_set_budget(const cs_train_budget *b, double began, cs_loop_opt *o)
{
    if (!cs_train_budget_set(b))
        return;
    o->budget = *b;
    o->n_epoch = INT64_MAX;
    o->spent = cs_now_s() - began;
    o->all_seconds = b->seconds;
}

/* Beside the model. NULL: none. */
static char *default_checkpoint(const char *output)
{
    const size_t n = strlen(output) + sizeof ".ckpt";

    if (cs_file_is_device(output))
        return NULL;
    char *path = cs_xmalloc(n);
    (void)snprintf(path, n, "%s.ckpt", output);
    return path;
}

/* Ranks that are to be forked; 0: a launcher has started them. */
static int count_ranks(const cs_run_args *r, const cs_device_args *device, int64_t *n)
{
    int rc = CS_OK;
    cs_devices all = { .n = 1 };

    *n = 0;
    if (strcmp(r->ranks, "env") == 0)
        return CS_OK;
    if (strchr(device->device, ',') != NULL)
        CS_TRY(cs_devices_parse(device->device, &all));
    *n = all.n;
    if (strcmp(r->ranks, "off") == 0)
        return CS_OK;
    if (cs_parse_int(r->ranks, n) != CS_OK || *n < 1 || *n > MAX_FORKED)
        rc = cs_fail(CS_EUSAGE, "bad value '%s' for option '--ranks': it takes off, env or an "
                     "integer from 1 to %d", r->ranks, MAX_FORKED);
    else if (all.n > 1 && all.n != *n)
        rc = cs_fail(CS_EUSAGE, "--device %s names %d devices for %lld ranks; omit --ranks",
                     device->device, all.n, (long long)*n);
out:
    return rc;
}

/* Every rank reads all of the input. */
static int fork_ranks(const cs_run_args *r, const char *once, int n, cs_compute_args *compute,
                      cs_group **group)
{
    int rc = CS_OK;
    const int64_t all = compute->threads > 0 ? compute->threads : cs_cpu_count();

    if (once != NULL && strcmp(once, "-") == 0)
        return cs_fail(CS_EUSAGE, "several ranks cannot share standard input; give files");
    if (once != NULL)
        return cs_fail(CS_EUSAGE, "several ranks cannot share '%s', which can be read only once; "
                       "use a regular file", once);
    CS_TRY(cs_group_fork(n, r->timeout, group));
    compute->threads = all > n ? all / n : 1;
out:
    return rc;
}

static int check_idle(const cs_train_args *a, int64_t n)
{
    if (a->step_records > 0 || a->accumulate >= n)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "a step of %lld batches leaves some of %lld ranks idle; give "
                   "--accumulate %lld or more, or --step-records", (long long)a->accumulate,
                   (long long)n, (long long)n);
}

static int check_rates(const cs_train_args *a)
{
    if (a->schedule != CS_DECAY_POLYNOMIAL || a->lr_end <= a->lr)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "--lr-end %g is above --lr %g; the learning rate only decays",
                   a->lr_end, a->lr);
}

void cs_train_warn_idle(const cs_train_args *a)
{
    const struct { const void *field; int schedule; const char *name; } row[] = {
        { &a->cycles, CS_DECAY_COSINE, "cycles" }, { &a->power, CS_DECAY_POLYNOMIAL, "power" },
        { &a->lr_end, CS_DECAY_POLYNOMIAL, "lr-end" },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (a->schedule != row[i].schedule && cs_opt_given(row[i].field))
            cs_warn("--%s is for --schedule %s", row[i].name, cs_decay_names[row[i].schedule]);
}

int cs_train_check(const cs_train_args *a, const cs_group *group)
{
    const int rc = check_rates(a);

    return rc != CS_OK || group == NULL ? rc : check_idle(a, cs_group_size(group));
}

int cs_train_join(const cs_train_args *a, const cs_run_args *r, const cs_device_args *device,
                  const char *once, bool preset, cs_compute_args *compute, cs_group **group)
{
    int rc = CS_OK;
    int64_t n;
    cs_group_spec spec;
    cs_log_level others = CS_LOG_SILENT;

    *group = NULL;
    if (!preset)
        CS_TRY(check_rates(a));
    CS_TRY(count_ranks(r, device, &n));
    if (n == 1)
        return CS_OK;
    if (n == 0) {
        CS_TRY(cs_group_env(&spec));
        spec.timeout = r->timeout;
        n = spec.n;
        others = CS_LOG_ERROR;
    }
    if (!preset)
        CS_TRY(check_idle(a, n));
    CS_TRY(others == CS_LOG_ERROR ? cs_group_join(&spec, group)
                                  : fork_ranks(r, once, (int)n, compute, group));
    if (cs_group_rank(*group) > 0 && cs_log_get_level() < CS_LOG_DEBUG)
        cs_log_set_level(others);
    cs_info("rank %d of %lld", cs_group_rank(*group), (long long)n);
out:
    return rc;
}

int cs_train_rank0_begin(cs_group *group)
{
    return group == NULL || cs_group_rank(group) == 0 ? CS_OK : cs_group_barrier(group);
}

int cs_train_rank0_end(cs_group *group)
{
    return group == NULL || cs_group_rank(group) > 0 ? CS_OK : cs_group_barrier(group);
}

int cs_train_index_reference(cs_group *group, const char *path)
{
    int rc = CS_OK;
    cs_reference *r = NULL;

    if (group == NULL || path == NULL)
        return CS_OK;
    CS_TRY(cs_train_rank0_begin(group));
    CS_TRY(cs_reference_open(path, &r));
    rc = cs_train_rank0_end(group);
out:
    cs_reference_free(r);
    return rc;
}

int cs_train_device(const cs_device_args *a, const cs_group *group, int n_thread, cs_backend **out)
{
    int rc = CS_OK;
    const bool any = strcmp(a->device, "cuda") == 0;
    cs_device_args own = *a;
    cs_devices all;

    if (group != NULL) {
        CS_TRY(cs_devices_parse(any ? "auto" : a->device, &all));
        const int local = cs_group_local(group);
        if (local < 0 && all.n > 1)
            return cs_fail(CS_EUSAGE, "the environment does not assign one of %d GPUs to this "
                           "rank; set LOCAL_RANK, or give --device cuda:NUMBER", all.n);
        /* cs_device_open() reports why a requested GPU is missing. */
        if (!any || strcmp(all.name[0], "cpu") != 0)
            own.device = all.name[local > 0 ? local % all.n : 0];
    }
    rc = cs_device_open(&own, n_thread, out);
out:
    return rc;
}

int cs_train_check_outputs(cs_run_args *r, const cs_group *group, char **checkpoint)
{
    int rc = CS_OK;
    const bool first = group == NULL || cs_group_rank(group) == 0;

    if (r->output == NULL)
        return cs_fail(CS_EUSAGE, "no output; give the model file with -o FILE");
    if (strcmp(r->output, "-") == 0)
        return cs_fail(CS_EUSAGE, "the model is written whenever it improves, and read again; give "
                       "a file with -o, not standard output");
    *checkpoint = r->checkpoint != NULL ? cs_xstrdup(r->checkpoint)
                                        : default_checkpoint(r->output);
    if (r->resume && *checkpoint == NULL)
        return cs_fail(CS_EUSAGE, "--resume needs --checkpoint FILE, as '%s' is not a regular file",
                       r->output);
    if (r->resume && access(*checkpoint, F_OK) != 0 && errno == ENOENT) {
        r->resume = 0;
        if (first)
            cs_note("--resume: there is no checkpoint '%s'; starting at the first step",
                    *checkpoint);
    }
    if (!first)
        return CS_OK;
    CS_TRY(cs_outputs_distinct((const char *const[]){ r->output, r->metrics, *checkpoint,
                                                      r->steps }, 4));
    if (r->steps != NULL && !cs_out_is_plain(r->steps))
        return cs_fail(CS_EUSAGE, "--step-metrics '%s': this table grows with every step, and is "
                       "neither compressed nor CSV; choose another name", r->steps);
    CS_TRY(cs_outputs_probe(r->output, CS_OUT_BINARY));
    if (cs_out_format_name(r->output) != NULL)
        return cs_fail(CS_EUSAGE, "'%s': this output is a model, not %s; choose another name",
                       r->output, cs_out_format_name(r->output));
    CS_TRY(cs_outputs_probe(r->metrics, CS_OUT_TABLE));
    CS_TRY(cs_outputs_probe(r->steps, CS_OUT_TABLE));
    CS_TRY(cs_tensorboard_check(r->tensorboard));
    CS_TRY(cs_outputs_probe(*checkpoint, CS_OUT_BINARY));
out:
    return rc;
}

void cs_train_summary(const cs_train_state *st, const char *checkpoint, bool values, int rc)
{
    char best[128] = "no model written yet";

    const bool r2 = values && isfinite(st->best_r2);
    if (st->best_epoch > 0 && isfinite(st->best_loss))
        (void)snprintf(best, sizeof best, "best at epoch %lld: validation loss %.4g, %s%.4f%s",
                       (long long)st->best_epoch, st->best_loss,
                       r2 ? "R2 " : values ? "" : "accuracy ",
                       r2 ? st->best_r2 : st->best_accuracy,
                       values && !r2 ? " of the values within --tolerance" : "");
    else if (st->best_epoch > 0)
        (void)snprintf(best, sizeof best, "model of epoch %lld written",
                       (long long)st->best_epoch);
    if (st->best_epoch > 0 && isfinite(st->best_balanced))
        (void)snprintf(best + strlen(best), sizeof best - strlen(best), ", balanced %.4f",
                       st->best_balanced);
    if (st->best_epoch == 0 && isfinite(st->bag))
        (void)snprintf(best, sizeof best, "the bag is the model: balanced %.4f", st->bag);
    cs_note("trained %lld %s in %lld %s, %.0f s; %s", (long long)st->step,
            CS_PLURAL(st->step, "step", "steps"), (long long)st->epoch,
            CS_PLURAL(st->epoch, "epoch", "epochs"), st->seconds, best);
    if (!st->done && checkpoint != NULL && (rc == CS_OK || rc == CS_ECANCEL))
        cs_note("paused%s; '%s' holds the state for --resume",
                rc == CS_ECANCEL ? " by a signal" : "", checkpoint);
}
