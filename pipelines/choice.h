/* choice.h - the implementations that --tokenizer, --encoder and --head name, and their options. */
#ifndef CS_PIPELINES_CHOICE_H
#define CS_PIPELINES_CHOICE_H

#include "nn/model.h"
#include "pipelines/command.h"

typedef struct cs_choice_args { const char *tokenizer, *encoder, *head; } cs_choice_args;

extern const cs_opt cs_choice_table[];

/* What was chosen; the cfg structs are owned. */
typedef struct cs_choice {
    cs_choice_args      args;
    const cs_tokenizer *tok;
    const cs_encoder   *enc;
    const cs_head      *head;
    void               *tok_cfg, *enc_cfg, *head_cfg;
} cs_choice;

/** cs_choice_list - append every implementation's table to `set` (room: `n` rows), for help */
void cs_choice_list(cs_choice *c, cs_optset *set, int n);

/**
 * cs_choice_find - look for the names in argv, and append the tables of these to `set`
 *
 * Before the parser, which cannot know which tables there are until they have been named.
 * Returns  CS_OK, or CS_EUSAGE listing what there is
 */
int cs_choice_find(cs_choice *c, int argc, char **argv, cs_optset *set, int n) CS_MUST_CHECK;

void cs_choice_release(cs_choice *c);

#endif
