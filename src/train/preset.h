/* preset.h - settings chosen from the data: --preset. */
#ifndef CS_TRAIN_PRESET_H
#define CS_TRAIN_PRESET_H

#include "base/opt.h"
#include "train/dataset.h"

typedef enum cs_preset {
    CS_PRESET_FAST, CS_PRESET_BALANCED, CS_PRESET_BEST, CS_PRESET_NONE, CS_PRESET_AUTO
} cs_preset;
extern const char *const cs_preset_names[];

/* Facts of the data set used by presets. most_tokens: of the longest record, but no fewer than its
 * bases. values: the records are series of real values, which have no words, strands or crops. */
typedef struct cs_preset_facts {
    int64_t n_record, n_base, longest, median, most_tokens;
    bool    values;
} cs_preset_facts;

/** cs_preset_measure - the facts of a dataset with a token per base; CS_EMEM */
int cs_preset_measure(const cs_dataset *d, cs_preset_facts *f) CS_MUST_CHECK;

/**
 * cs_preset_apply - set options that the command line does not give (cs_opt_given())
 *
 * set      tables with their structs, ending with {0}; rows of absent tables are skipped, as are
 *          those of encoders and tokenizers other than the preset's
 * argc     with argv the command line, searched for another tokenizer; 0: there is none
 * Returns  CS_OK; CS_EUSAGE, CS_EMEM
 */
int cs_preset_apply(cs_preset p, const cs_preset_facts *f, const cs_optset *set, int argc,
                    char **argv) CS_MUST_CHECK;

/** cs_preset_size_encoder - size an encoder that is not the presets' own, whose options are `set`,
 * by the longest record: --encoder.max-len where it has it, the factors of psf. CS_OK; CS_EUSAGE */
int cs_preset_size_encoder(const cs_preset_facts *f, const char *encoder, const cs_optset *set)
    CS_MUST_CHECK;

/** cs_preset_choose - the meaning of auto: none if argv sets a tokenizer, an encoder, or their or
 * the head's settings, or gives an option of the one table `training`, except seed and budget; else
 * balanced */
cs_preset cs_preset_choose(cs_preset p, const cs_optset *training, int argc, char **argv);

/** cs_preset_propose_budget - a budget in seconds for a number of passes at a speed in bases per
 * second, and seconds after them: a round number from a minute to an hour */
double cs_preset_propose_budget(const cs_preset_facts *f, double n_pass, double speed,
                                double after);

#endif
