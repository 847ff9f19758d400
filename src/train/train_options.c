/* train_options.c - options of `chordseq train`: samples, aim, where it starts. */
#include "train/train_options.h"

static const char *const freeze_names[] = { "none", "encoder", NULL };
static const char *const strand_names[] = { "auto", "forward", "both", NULL };
static const char *const monitor_names[] = { "auto", "balanced-accuracy", "loss", NULL };

#define SAMPLE(field) .off = offsetof(cs_sample_args, field)
#define AIM(field) .off = offsetof(cs_aim_args, field)
#define INIT(field) .off = offsetof(cs_init_args, field)

const cs_opt cs_sample_table[] = {
    { .type = CS_OPT_GROUP, .name = "Samples" },
    { .type = CS_OPT_SIZE, .name = "crop-min", SAMPLE(crop_min), .arg = "NUM", .def = "500",
      .help = "shortest crop, in bases", .min = 1, .max = 1e12 },
    { .type = CS_OPT_SIZE, .name = "crop-max", SAMPLE(crop_max), .arg = "NUM", .def = "0",
      .help = "longest crop; 0: whole sequences",
      .man = "Places are drawn uniformly. A record shorter than the length drawn is used whole.",
      .min = 0, .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "crop-power", SAMPLE(crop_power), .arg = "NUM", .def = "1",
      .help = "density of crop lengths is L^-NUM",
      .man = "1 draws lengths evenly on a logarithmic scale; more draws short ones more often.",
      .min = 0, .max = 10 },
    { .type = CS_OPT_SIZE, .name = "samples-per-epoch", SAMPLE(n_sample), .arg = "NUM",
      .def = "0", .help = "samples per epoch; 0: every record once", .min = 0,
      .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "class-balance", SAMPLE(balance), .arg = "NUM", .def = "1",
      .help = "class sampling: 0 by their mass, 1 equally often",
      .man = "With --samples-per-epoch. A class is drawn with a probability in proportion to its "
             "mass to the power 1 - NUM; its mass is the sum over its records of length to the "
             "power --length-power.", .min = 0, .max = 1 },
    { .type = CS_OPT_REAL, .name = "group-balance", SAMPLE(group_balance), .arg = "NUM", .def = "0",
      .help = "group sampling within a class: 0 by their mass, 1 equally often",
      .man = "Groups are those of --split-by, organisms say: a class is then not what its best "
             "sequenced member is.", .min = 0, .max = 1 },
    { .type = CS_OPT_REAL, .name = "length-power", SAMPLE(length_power), .arg = "NUM", .def = "1",
      .help = "record sampling: proportional to length to this power", .min = 0, .max = 4 },
    { .type = CS_OPT_FLAG, .name = "rc", SAMPLE(rc),
      .help = "reverse-complement half of the samples" },
    { .type = CS_OPT_FLAG, .name = "no-rc", SAMPLE(no_rc),
      .help = "do not: of sequences of which only one strand occurs" },
    { .type = CS_OPT_REAL, .name = "valid-frac", SAMPLE(valid_frac), .arg = "NUM", .def = "0.1",
      .help = "share of every class for validation",
      .man = "Counted in bases, whole groups at a time (see --split-by); not used with --split.",
      .min = 0, .max = 0.9 },
    { .type = CS_OPT_SIZE, .name = "valid-samples", SAMPLE(n_valid), .arg = "NUM", .def = "0",
      .help = "validation samples; 0: every record once",
      .man = "Drawn like training samples, but the same in every epoch and never turned round.",
      .min = 0, .max = 1e12 },
    { .type = CS_OPT_END }
};

const cs_opt cs_aim_table[] = {
    { .type = CS_OPT_GROUP, .name = "Aim" },
    { .type = CS_OPT_ENUM, .name = "preset", AIM(preset), .arg = "NAME", .def = "auto",
      .help = "settings that fit the data: fast, balanced or best", .choice = cs_preset_names,
      .man = "For heads class and tree on nucleotides, without --init; others have none. fast is a "
             "bag of canonical 6-mers. balanced and best learn that first, and then a network, "
             "sized by the longest record, with that bag as its composition path; what is written "
             "is the better of both. All have --rc, --mutate 0.02, crops of mixed lengths where "
             "records are long, classes drawn equally often, averaged weights, and an early stop. "
             "Options that are given override a preset's. none leaves all as their defaults say, "
             "and so does auto where a tokenizer, an encoder, their or the head's settings or one "
             "of the options under Learning but --seed is given; else it is balanced." },
    { .type = CS_OPT_FLAG, .name = "print-config", AIM(print_config),
      .help = "print all settings of the run, one a line, and end" },
    { .type = CS_OPT_STR, .name = "budget", AIM(budget), .arg = "TIME|BASES",
      .help = "learn for so long (90s, 10m, 2h, 1d) or from so many bases (500M)",
      .man = "Takes the place of --epochs and --max-steps: the learning rate goes down to the end "
             "of the budget, epochs end after a twelfth of it at the latest, and the last weights "
             "are validated and calibrated within it. Reading the input counts. Runs that are "
             "paused and resumed have one budget together; only one of bases gives the same bits "
             "again. Of the bases of a preset's budget bag and network each learn from as many." },
    { .type = CS_OPT_STR, .name = "class-weights", AIM(weights), .arg = "LIST", .def = "none",
      .help = "class weights: comma-separated, none or balanced",
      .man = "balanced: records / (classes x records of the class), of the training part; bases "
             "instead of records for head token. Head multilabel has one per label, of its 1s (its "
             "0s weigh 1); balanced: 0s / 1s. Head variant has two, of labels 0 and 1." },
    { .type = CS_OPT_REAL, .name = "stop-at", AIM(stop_at), .arg = "NUM", .def = "0",
      .help = "stop once the validation metric reaches this; 0: never",
      .man = "A balanced accuracy that is reached, or a loss that is not exceeded: see --monitor.",
      .min = 0, .max = 1e9 },
    { .type = CS_OPT_ENUM, .name = "monitor", AIM(monitor), .arg = "NAME", .def = "auto",
      .help = "validation metric that selects the best model: balanced-accuracy or loss",
      .man = "auto: balanced accuracy of classes, else loss.",
      .choice = monitor_names },
    { .type = CS_OPT_REAL, .name = "tolerance", AIM(tolerance), .arg = "NUM", .def = "0.04",
      .help = "tolerance: largest error of a correct value", .min = 0, .max = 1e9 },
    { .type = CS_OPT_END }
};

const cs_opt cs_init_table[] = {
    { .type = CS_OPT_GROUP, .name = "Fine-tuning" },
    { .type = CS_OPT_IN, .name = "init", INIT(init), .arg = "MODEL",
      .help = "start from this model's weights",
      .man = "Tokenizer and encoder are the model's, with all their settings: options that say "
             "otherwise are refused. The head is taken over, too, if it is the same and the "
             "classes are the same ones in the same order; else it starts anew." },
    { .type = CS_OPT_ENUM, .name = "freeze", INIT(freeze), .arg = "PART", .def = "none",
      .help = "layers to freeze: none or encoder", .choice = freeze_names,
      .man = "encoder: embedding and encoder stay as they are and only answer, which takes a "
             "third of the time (probing)." },
    { .type = CS_OPT_INT, .name = "freeze-epochs", INIT(freeze_epochs), .arg = "NUM", .def = "0",
      .help = "freeze for these first epochs only: probing, then fine-tuning", .min = 0,
      .max = 1e6 },
    { .type = CS_OPT_REAL, .name = "encoder-lr", INIT(encoder_lr), .arg = "FACTOR", .def = "1",
      .help = "factor on --lr for embedding and encoder", .min = 1e-9, .max = 1e3 },
    { .type = CS_OPT_IN, .name = "init-composition", INIT(bag), .arg = "MODEL",
      .help = "initialise the branch of --head.composition from this model",
      .man = "A bag of canonical K-mers of the same length and classes: --encoder chordmixer "
             "--encoder.depth none --head.norm layer --head.hidden NUM. Training then starts from "
             "its accuracy." },
    { .type = CS_OPT_REAL, .name = "composition-lr", INIT(composition_lr), .arg = "FACTOR",
      .def = "1", .help = "factor on --lr for that branch", .min = 1e-9, .max = 1e3 },
    { .type = CS_OPT_END }
};

/* Of the group before it, "Output". */
const cs_opt cs_strand_table[] = {
    { .type = CS_OPT_ENUM, .name = "strand", .off = 0, .arg = "NAME", .def = "auto",
      .help = "default --strand stored in the model: forward, both or auto",
      .man = "auto is both if it was trained with --rc, but forward with the head token where its "
             "tokens do not lie at the same places on either strand. When training is done, the "
             "probabilities of a model of whole sequences are calibrated by this on the validation "
             "samples, if there are 100 or more.", .choice = strand_names },
    { .type = CS_OPT_END }
};
