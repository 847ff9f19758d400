/* supervised_args.c - options of `chordseq train`: samples, aim, initial model, result. */
#include "train/supervised_args.h"

static const char *const freeze_names[] = { "none", "encoder", NULL };
static const char *const strand_names[] = { "auto", "forward", "both", "max", "weighted", NULL };
static const char *const monitor_names[] = { "auto", "balanced-accuracy", "loss", NULL };

#define SAMPLE(field) .off = offsetof(cs_sample_args, field)
#define AIM(field) .off = offsetof(cs_aim_args, field)
#define RESULT(field) .off = offsetof(cs_result_args, field)
#define INIT(field) .off = offsetof(cs_init_args, field)

const cs_opt cs_sample_table[] = {
    { .type = CS_OPT_GROUP, .name = "Samples" },
    { .type = CS_OPT_SIZE, .name = "crop-min", SAMPLE(crop_min), .arg = "NUM", .def = "500",
      .help = "shortest crop, in bases", .min = 1, .max = 1e12 },
    { .type = CS_OPT_SIZE, .name = "crop-max", SAMPLE(crop_max), .arg = "NUM", .def = "0",
      .help = "longest crop; 0: whole sequences",
      .man = "Positions are uniform. A record shorter than the drawn length is used whole.",
      .min = 0, .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "crop-power", SAMPLE(crop_power), .arg = "NUM", .def = "1",
      .help = "density of crop lengths is L^-NUM",
      .man = "1: uniform on a logarithmic scale. Larger: more short crops.",
      .min = 0, .max = 10 },
    { .type = CS_OPT_SIZE, .name = "samples-per-epoch", SAMPLE(n_sample), .arg = "NUM",
      .def = "0", .help = "samples per epoch; 0: every record once", .min = 0,
      .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "class-balance", SAMPLE(balance), .arg = "NUM", .def = "1",
      .help = "class sampling; 0: by size, 1: equally often",
      .man = "With --samples-per-epoch. The probability of a class is proportional to its size to "
             "the power 1 - NUM. The size is the sum over its records of length to the power "
             "--length-power.", .min = 0, .max = 1 },
    { .type = CS_OPT_REAL, .name = "group-balance", SAMPLE(group_balance), .arg = "NUM", .def = "0",
      .help = "group sampling within a class; 0: by size, 1: equally often",
      .man = "Groups are those of --split-by, such as organisms. Balancing reduces the share of "
             "the most sequenced ones. With --class-balance below 1, the size of a class is then "
             "the sum over its balanced groups.", .min = 0, .max = 1 },
    { .type = CS_OPT_REAL, .name = "length-power", SAMPLE(length_power), .arg = "NUM", .def = "1",
      .help = "record sampling: in proportion to length to this power", .min = 0, .max = 4 },
    { .type = CS_OPT_FLAG, .name = "rc", SAMPLE(rc),
      .help = "reverse-complement half of the samples" },
    { .type = CS_OPT_FLAG, .name = "no-rc", SAMPLE(no_rc),
      .help = "keep the strand of all samples",
      .man = "For sequences on one strand, such as genes, if those to classify are on the same "
             "strand; not for reads. The k-mers of --preset fast are then not canonical." },
    { .type = CS_OPT_REAL, .name = "valid-frac", SAMPLE(valid_frac), .arg = "NUM", .def = "0.1",
      .help = "share of every class for validation",
      .man = "In bases, and in whole groups (see --split-by). Not used with --split or --folds.",
      .min = 0, .max = 0.9 },
    { .type = CS_OPT_INT, .name = "folds", SAMPLE(n_fold), .arg = "NUM", .def = "0",
      .help = "cross-validation by NUM folds of groups, then training on all; 0: none",
      .man = "Without early stopping, and not for heads token and variant. See Validation.",
      .min = 0,
      .max = 100 },
    { .type = CS_OPT_SIZE, .name = "valid-samples", SAMPLE(n_valid), .arg = "NUM", .def = "0",
      .help = "validation samples; 0: every record once",
      .man = "Drawn like training samples, but the same in every epoch and never "
             "reverse-complemented.",
      .min = 0, .max = 1e12 },
    { .type = CS_OPT_END }
};

const cs_opt cs_aim_table[] = {
    { .type = CS_OPT_GROUP, .name = "Goal" },
    { .type = CS_OPT_ENUM, .name = "preset", AIM(preset), .arg = "NAME", .def = "auto",
      .help = "settings chosen from the data: fast, balanced, best, none or auto",
      .choice = cs_preset_names,
      .man = "For heads class and tree on nucleotides, without --init; fast also for heads "
             "multilabel and regress. fast: a bag of canonical 6-mers, in minutes. balanced and "
             "best: this bag, a second one that also counts codons and pairs of amino acids of "
             "open reading frames, and a network, sized by the longest record, with the first bag "
             "as its composition path; the best of the three is written. best also adds peptide "
             "words and proteins (see --proteins). All use --rc, --mutate 0.02, crops of mixed "
             "lengths if records are long, class-balanced sampling, averaged weights and early "
             "stopping. For series as input, only balanced and best apply, and "
             "only if given: they set network, optimisation and length. Explicit options override "
             "the preset. For another encoder, it sets the maximum length, and for psf five "
             "factors more than the minimum. none: the defaults of all options. auto: none if a "
             "tokenizer, an encoder, one of their settings or the head's, or an option under "
             "Optimisation except --budget and --seed is given, otherwise balanced, or fast for "
             "heads multilabel and regress." },
    { .type = CS_OPT_FLAG, .name = "print-config", AIM(print_config),
      .help = "print all settings of the run, one per line, and exit" },
    { .type = CS_OPT_STR, .name = "class-weights", AIM(weights), .arg = "LIST", .def = "none",
      .help = "class weights: comma-separated numbers or CLASS=NUM, none or balanced",
      .man = "Weights are numbers from 0 to 1000000, in the order in which classes occur in the "
             "input; a class without CLASS=NUM has weight 1. In names, a comma or a backslash "
             "needs a backslash before it: 'Homo\\,Pan=2'. balanced: records / (classes x records "
             "of the class) in the training part; for head token, bases instead of records. Head "
             "multilabel has one weight per label, for 1 (0 has weight 1); balanced: number of 0s "
             "/ number of 1s. Head variant has two, for labels 0 and 1." },
    { .type = CS_OPT_REAL, .name = "stop-at", AIM(stop_at), .arg = "NUM", .def = "0",
      .help = "stop once the validation metric reaches this; 0: never",
      .man = "Minimum balanced accuracy or maximum loss; see --monitor.",
      .min = 0, .max = 1e9 },
    { .type = CS_OPT_ENUM, .name = "monitor", AIM(monitor), .arg = "NAME", .def = "auto",
      .help = "validation metric that selects the best model: balanced-accuracy, loss or auto",
      .man = "auto: balanced accuracy for classes, otherwise loss. Values have no balanced "
             "accuracy. Of epochs with equal balanced accuracy, the one with the lowest loss is "
             "best; --patience counts only a higher accuracy as an improvement.",
      .choice = monitor_names },
    { .type = CS_OPT_REAL, .name = "tolerance", AIM(tolerance), .arg = "NUM", .def = "0.04",
      .help = "error below which a value is correct", .min = 0, .max = 1e9 },
    { .type = CS_OPT_FLAG, .name = "no-standardize", AIM(no_standardize),
      .help = "do not standardize the values to predict",
      .man = "Head regress. By default, the network learns (value - mean) / standard deviation, "
             "both of the training records, so that values may have any units, and each counts "
             "the same in the loss: 1 is that of predicting the means. Predictions are in the "
             "units of the values." },
    { .type = CS_OPT_END }
};

const cs_opt cs_init_table[] = {
    { .type = CS_OPT_GROUP, .name = "Fine-tuning" },
    { .type = CS_OPT_IN, .name = "init", INIT(init), .arg = "MODEL", .choice = cs_model_installed,
      .help = "start from this model's weights",
      .man = "A file, a folder of 'chordseq model export', or the name of a model that comes with "
             "chordseq. Tokenizer and encoder are copied with all settings; contradicting options "
             "are refused, except dropout. Peptide words and proteins are not copied. A head of "
             "the same type is copied with its settings if the classes and their order are the "
             "same; contradicting options are refused, except dropout and loss. With other "
             "classes, the head is initialised with the settings of the model, which options "
             "override. A head of another type is initialised with the defaults." },
    { .type = CS_OPT_FLAG, .name = "new-head", INIT(new_head),
      .help = "with --init, initialise the head anew, even if the classes are the same",
      .man = "Its settings are the given options and the defaults." },
    { .type = CS_OPT_ENUM, .name = "freeze", INIT(freeze), .arg = "PART", .def = "none",
      .help = "layers to freeze: none or encoder", .choice = freeze_names,
      .man = "encoder: only the head is trained (probing), in a third of the time." },
    { .type = CS_OPT_INT, .name = "freeze-epochs", INIT(freeze_epochs), .arg = "NUM", .def = "0",
      .help = "freeze for these first epochs only: probing, then fine-tuning", .min = 0,
      .max = 1e6 },
    { .type = CS_OPT_REAL, .name = "encoder-lr", INIT(encoder_lr), .arg = "FACTOR", .def = "1",
      .help = "with --init, factor on --lr for embedding and encoder", .min = 1e-9, .max = 1e3 },
    { .type = CS_OPT_IN, .name = "init-composition", INIT(bag), .arg = "MODEL",
      .help = "initialise the composition path from this model",
      .man = "A bag of canonical K-mers of the same length and classes: --encoder chordmixer "
             "--encoder.depth none --head.norm layer --head.hidden NUM. Training starts from its "
             "accuracy." },
    { .type = CS_OPT_REAL, .name = "composition-lr", INIT(composition_lr), .arg = "FACTOR",
      .def = "1", .help = "factor on --lr for the composition path", .min = 1e-9, .max = 1e3 },
    { .type = CS_OPT_END }
};

/* Rows of the group "Output", which the table before it begins. */
const cs_opt cs_result_table[] = {
    { .type = CS_OPT_ENUM, .name = "strand", RESULT(strand), .arg = "NAME", .def = "auto",
      .help = "default --strand stored in the model: forward, both, max, weighted or auto",
      .man = "auto: both for models trained with --rc, but forward for head token if tokens have "
             "different positions on the two strands. After training, sequence classifiers are "
             "calibrated with this strand on the validation samples, if there are at least "
             "100.", .choice = strand_names },
    { .type = CS_OPT_OUT, .name = "html", RESULT(html), .arg = "FILE",
      .help = "HTML report of the validation, also while training",
      .man = "Balanced accuracy by epoch with the baselines, classes, confusion matrix, ROC "
             "curves, lengths, confidence. Written after each validation, and then reloaded by the "
             "browser every 10 s; the final report has calibrated probabilities. Only for sequence "
             "classes." },
    { .type = CS_OPT_OUT, .name = "split-out", RESULT(split), .arg = "TSV",
      .help = "table of records and their parts (train or valid), for --split",
      .man = "Written before training. --split with this table repeats the split, in other runs "
             "and in eval. A third column has the groups of --split-by. The rows of --head variant "
             "are contigs." },
    { .type = CS_OPT_END }
};
