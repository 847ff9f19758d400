/* components.h - choose tokenizer, encoder and head by name, with their options. */
#ifndef CS_RUN_COMPONENTS_H
#define CS_RUN_COMPONENTS_H

#include "base/opt.h"
#include "nn/exec/model.h"

typedef struct cs_components_args { const char *tokenizer, *encoder, *head; } cs_components_args;

extern const cs_opt cs_components_table[];

/* The choice; all but the implementations is owned. */
typedef struct cs_components {
    cs_components_args      args;
    cs_model           *from;        /* of --init, on the CPU; NULL: no initial model */
    char               *from_path;
    cs_backend         *from_be;
    const char         *fixed_head;      /* the only one, without options to list; NULL: choose */
    const cs_tokenizer *tok;
    const cs_encoder   *enc;
    const cs_head      *head;
    void               *tok_cfg, *enc_cfg, *head_cfg;
    char               *tok_text;    /* text to restore the tokenizer from, or NULL: open it */
    char               *new_head;    /* message about an option in argv that contradicts the initial
                                      * model's head, an error if that head is kept; or NULL */
} cs_components;

/** cs_components_list - append every implementation's table to `set` (space: `n` rows), for help */
void cs_components_list(cs_components *c, cs_optset *set, int n);

/** cs_components_filter - for help: remove options of tokenizers and encoders other than argv's
 * from `set`. Returns a note on where to find them. See cs_command.filter */
const char *cs_components_filter(cs_optset *set, int argc, char **argv);

/** cs_components_init - before cs_components_find(): load the initial model if argv has --init.
 * CS_OK; the errors of cs_model_find_default() and cs_model_load() */
int cs_components_init(cs_components *c, int argc, char **argv) CS_MUST_CHECK;

/**
 * cs_components_find - find the names in argv, and append their tables to `set`
 *
 * Call it before parsing, because the names determine the tables. With an initial model, its
 * tokenizer and encoder are found.
 *
 * n        capacity of set, in rows
 * Returns  CS_OK; CS_EUSAGE for an unknown name, for another one than the initial model's, or for
 *          an option of components that were not chosen
 */
int cs_components_find(cs_components *c, int argc, char **argv, cs_optset *set, int n)
    CS_MUST_CHECK;

/**
 * cs_components_adopt - after parsing, with an initial model: copy its settings of tokenizer and
 * encoder, and those of a head of the same kind that are not in argv
 *
 * new_head the head keeps what argv and the defaults give
 * Returns  CS_OK; CS_EUSAGE naming an option in argv that contradicts the model; CS_EMEM
 */
int cs_components_adopt(cs_components *c, int argc, char **argv, bool new_head) CS_MUST_CHECK;

/** cs_components_kept - CS_EUSAGE: the initial model keeps its own value of an option; option:
 * without dashes */
int cs_components_kept(const char *option, const char *given, const char *of_model);

/** cs_components_tokenizer - open or restore the tokenizer. CS_OK; errors of its open() or
 * restore() */
int cs_components_tokenizer(const cs_components *c, void **state) CS_MUST_CHECK;

/** cs_components_argument - the last value of --name VALUE or --name=VALUE in argv, or NULL */
const char *cs_components_argument(int argc, char **argv, const char *name);

void cs_components_release(cs_components *c);

#endif
