/* choice.c - the implementations that --tokenizer, --encoder and --head name, and their options. */
#include "pipelines/choice.h"

#include <stdlib.h>
#include <string.h>

#include "registry.h"

const cs_opt cs_choice_table[] = {
    { .type = CS_OPT_GROUP, .name = "Model" },
    { .type = CS_OPT_STR, .name = "tokenizer", .off = offsetof(cs_choice_args, tokenizer),
      .arg = "NAME", .def = "kmer", .help = "how bases become tokens",
      .man = "Real-valued input (see chordseq-simulate(1)) needs none." },
    { .type = CS_OPT_STR, .name = "encoder", .off = offsetof(cs_choice_args, encoder),
      .arg = "NAME", .def = "chordmixer", .help = "the network" },
    { .type = CS_OPT_STR, .name = "head", .off = offsetof(cs_choice_args, head), .arg = "NAME",
      .def = "class", .help = "what is predicted: class or regress" },
    { .type = CS_OPT_END }
};

/* Help and the table check need a struct to point to, though nobody reads what is written there. */
static _Alignas(16) char scratch[1024];

/* A table that several implementations share is listed once. */
static void append(cs_optset *set, int n, const cs_opt *opt, void *base, const char *prefix)
{
    int i = 0;

    while (set[i].opt != NULL && set[i].opt != opt)
        i++;
    if (opt == NULL || set[i].opt == opt)
        return;
    CS_BUG(i + 1 >= n);
    set[i] = (cs_optset){ opt, base, prefix };
    set[i + 1] = (cs_optset){ NULL, NULL, NULL };
}

void cs_choice_list(cs_choice *c, cs_optset *set, int n)
{
    const cs_tokenizer *t;
    const cs_encoder *e;
    const cs_head *h;

    append(set, n, cs_choice_table, &c->args, NULL);
    for (int i = 0; (t = cs_tokenizer_at(i)) != NULL; i++) {
        CS_BUG(t->cfg_size > sizeof scratch);
        append(set, n, t->opt, scratch, "tokenizer");
    }
    for (int i = 0; (e = cs_encoder_at(i)) != NULL; i++) {
        CS_BUG(e->cfg_size > sizeof scratch);
        append(set, n, e->opt, scratch, "encoder");
    }
    for (int i = 0; (h = cs_head_at(i)) != NULL; i++) {
        CS_BUG(h->cfg_size > sizeof scratch);
        append(set, n, h->opt, scratch, "head");
    }
}

/* The value of --NAME VALUE or --NAME=VALUE, the last one given, or the default of its row. */
static const char *name_in(int argc, char **argv, const char *name)
{
    const char *value = cs_opt_find(cs_choice_table, name)->def;
    const size_t n = strlen(name);

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, n) != 0)
            continue;
        if (argv[i][2 + n] == '=')
            value = argv[i] + 3 + n;
        else if (argv[i][2 + n] == '\0' && i + 1 < argc)
            value = argv[i + 1];
    }
    return value;
}

static int unknown(const char *kind, const char *name)
{
    return cs_fail(CS_EUSAGE, "there is no %s '%s'; 'chordseq train --help' lists what there is",
                   kind, name);
}

int cs_choice_find(cs_choice *c, int argc, char **argv, cs_optset *set, int n)
{
    const char *tok = name_in(argc, argv, "tokenizer"), *enc = name_in(argc, argv, "encoder"),
               *head = name_in(argc, argv, "head");

    c->tok = cs_tokenizer_find(tok);
    c->enc = cs_encoder_find(enc);
    c->head = cs_head_find(head);
    if (c->tok == NULL)
        return unknown("tokenizer", tok);
    if (c->enc == NULL)
        return unknown("encoder", enc);
    if (c->head == NULL)
        return unknown("head", head);
    c->tok_cfg = cs_xcalloc(1, c->tok->cfg_size + 1);
    c->enc_cfg = cs_xcalloc(1, c->enc->cfg_size + 1);
    c->head_cfg = cs_xcalloc(1, c->head->cfg_size + 1);
    append(set, n, cs_choice_table, &c->args, NULL);
    append(set, n, c->tok->opt, c->tok_cfg, "tokenizer");
    append(set, n, c->enc->opt, c->enc_cfg, "encoder");
    append(set, n, c->head->opt, c->head_cfg, "head");
    return CS_OK;
}

void cs_choice_release(cs_choice *c)
{
    free(c->tok_cfg);
    free(c->enc_cfg);
    free(c->head_cfg);
    c->tok_cfg = c->enc_cfg = c->head_cfg = NULL;
}
