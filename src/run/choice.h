/* choice.h - the implementations that --tokenizer, --encoder and --head name, and their options. */
#ifndef CS_RUN_CHOICE_H
#define CS_RUN_CHOICE_H

#include "base/opt.h"
#include "nn/exec/model.h"

typedef struct cs_choice_args { const char *tokenizer, *encoder, *head; } cs_choice_args;

extern const cs_opt cs_choice_table[];

/* What was chosen; the cfg structs and tok_text are owned. */
typedef struct cs_choice {
    cs_choice_args      args;
    const char         *fixed_head;      /* the only one, without options to list; NULL: choose */
    const cs_tokenizer *tok;
    const cs_encoder   *enc;
    const cs_head      *head;
    void               *tok_cfg, *enc_cfg, *head_cfg;
    char               *tok_text;/* what the tokenizer is restored from, or NULL: open it */
} cs_choice;

/** cs_choice_list - append every implementation's table to `set` (room: `n` rows), for help */
void cs_choice_list(cs_choice *c, cs_optset *set, int n);

/**
 * cs_choice_find - look for the names in argv, and append the tables of these to `set`
 *
 * Before the parser, which cannot know which tables there are until they have been named.
 *
 * from     tokenizer and encoder are this model's; NULL: there is none to start from
 * Returns  CS_OK, or CS_EUSAGE listing what there is, or saying what the model has instead
 */
int cs_choice_find(cs_choice *c, int argc, char **argv, const cs_model *from, cs_optset *set,
                   int n) CS_MUST_CHECK;

/**
 * cs_choice_adopt - after the parser: the settings of tokenizer and encoder from a model
 *
 * from     as above, not NULL; must outlive the choice, which points to its texts
 * Returns  CS_OK; CS_EUSAGE naming an option in argv that is not as the model has it; CS_EMEM
 */
int cs_choice_adopt(cs_choice *c, int argc, char **argv, const cs_model *from) CS_MUST_CHECK;

/** cs_choice_tokenizer - open or restore the tokenizer. CS_OK; errors of its open() or restore() */
int cs_choice_tokenizer(const cs_choice *c, void **state) CS_MUST_CHECK;

/** cs_choice_argument - the value of --name VALUE or --name=VALUE in argv, the last one; NULL:
 * there is none */
const char *cs_choice_argument(int argc, char **argv, const char *name);

void cs_choice_release(cs_choice *c);

#endif
