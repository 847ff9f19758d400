/* components.c - choose tokenizer, encoder and head by name, with their options. */
#include "run/components.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "registry.h"

/* Names for help, manual and completion, from the registry by list_names(). */
enum { MAX_NAMES = 64, OWNER_BYTES = 256 };
static const char *tokenizer_names[MAX_NAMES], *encoder_names[MAX_NAMES],
                  *head_names[MAX_NAMES];

const cs_opt cs_components_table[] = {
    { .type = CS_OPT_GROUP, .name = "Model" },
    { .type = CS_OPT_STR, .name = "tokenizer", .off = offsetof(cs_components_args, tokenizer),
      .arg = "NAME", .def = "kmer", .help = "tokenizer", .choice = tokenizer_names,
      .man = "base: one token per base. kmer: one per word of --tokenizer.k bases. codon: one per "
             "codon of all six reading frames, those of the forward strand first; three unknown "
             "tokens, one per frame, end each strand. frames: codons of open reading frames, in "
             "order of translation; an unknown token is between two frames and at the end of each "
             "strand. orf: k-mers, and codons and pairs of amino acids of open reading frames. "
             "bpe: tokens of the vocabulary --tokenizer.file. diplotype: a token per symbol of "
             "chordseq-diplotype(5). Numbers (see chordseq-simulate(1)) need no tokenizer." },
    { .type = CS_OPT_STR, .name = "encoder", .off = offsetof(cs_components_args, encoder),
      .arg = "NAME", .def = "chordmixer", .help = "encoder", .choice = encoder_names },
    { .type = CS_OPT_END }
};

/* Rows of the group that the table before it begins. */
static const cs_opt head_table[] = {
    { .type = CS_OPT_STR, .name = "head", .off = offsetof(cs_components_args, head), .arg = "NAME",
      .def = "class", .help = "head: kind of prediction", .choice = head_names,
      .man = "class: one of several classes for a record. tree: the same, trained with the "
             "ancestors in a taxonomy or lineage. multilabel: any number of labels. regress: "
             "values. token: a class for every token. variant: labels of a variant's effects." },
    { .type = CS_OPT_END }
};

/* A dummy struct for help and the table check. */
static _Alignas(16) char scratch[1024];

/* A table that several implementations share is listed once. */
static void components_append(cs_optset *set, int n, const cs_opt *opt, void *base,
                              const char *prefix)
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

static void list_names(void)
{
    const cs_tokenizer *t;
    const cs_encoder *e;
    const cs_head *h;

    for (int i = 0; i < MAX_NAMES - 1 && (t = cs_tokenizer_at(i)) != NULL; i++)
        tokenizer_names[i] = t->name;
    for (int i = 0; i < MAX_NAMES - 1 && (e = cs_encoder_at(i)) != NULL; i++)
        encoder_names[i] = e->name;
    for (int i = 0; i < MAX_NAMES - 1 && (h = cs_head_at(i)) != NULL; i++)
        head_names[i] = h->name;
}

void cs_components_list(cs_components *c, cs_optset *set, int n)
{
    const cs_tokenizer *t;
    const cs_encoder *e;
    const cs_head *h;

    list_names();
    components_append(set, n, cs_components_table, &c->args, NULL);
    if (c->fixed_head == NULL)
        components_append(set, n, head_table, &c->args, NULL);
    for (int i = 0; (t = cs_tokenizer_at(i)) != NULL; i++) {
        CS_BUG(t->cfg_size > sizeof scratch);
        components_append(set, n, t->opt, scratch, "tokenizer");
    }
    for (int i = 0; (e = cs_encoder_at(i)) != NULL; i++) {
        CS_BUG(e->cfg_size > sizeof scratch);
        components_append(set, n, e->opt, scratch, "encoder");
    }
    for (int i = 0; c->fixed_head == NULL && (h = cs_head_at(i)) != NULL; i++) {
        CS_BUG(h->cfg_size > sizeof scratch);
        components_append(set, n, h->opt, scratch, "head");
    }
}

const char *cs_components_argument(int argc, char **argv, const char *name)
{
    const char *value = NULL;
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

/* The name given, else the model's, else the default. */
static const char *name_in(int argc, char **argv, const char *name, const char *of_model)
{
    const char *given = cs_components_argument(argc, argv, name);

    if (given != NULL || of_model != NULL)
        return given != NULL ? given : of_model;
    const cs_opt *row = cs_opt_find(cs_components_table, name);
    return row != NULL ? row->def : cs_opt_find(head_table, name)->def;
}

/* For an unknown name, keep all of its kind. */
const char *cs_components_filter(cs_optset *set, int argc, char **argv)
{
    const cs_tokenizer *tok = cs_tokenizer_find(name_in(argc, argv, "tokenizer", NULL));
    const cs_encoder *enc = cs_encoder_find(name_in(argc, argv, "encoder", NULL));
    int n = 0;

    for (int i = 0; set[i].opt != NULL; i++) {
        const char *part = set[i].prefix != NULL ? set[i].prefix : "";
        if (!(tok != NULL && strcmp(part, "tokenizer") == 0 && set[i].opt != tok->opt) &&
            !(enc != NULL && strcmp(part, "encoder") == 0 && set[i].opt != enc->opt))
            set[n++] = set[i];
    }
    set[n] = (cs_optset){ NULL, NULL, NULL };
    return "Other options follow --tokenizer NAME or --encoder NAME before --help; the\n"
           "manual page lists all.";
}

int cs_components_kept(const char *option, const char *given, const char *of_model)
{
    return cs_fail(CS_EUSAGE, "--%s %s: the initial model has %s and keeps it", option, given,
                   of_model);
}

/* ---- options of other components ------------------------------------------------------------ */

/* The i-th implementation of a kind: its name and options; NULL: there are not as many. */
static const char *tokenizer_at(int i, const cs_opt **opt)
{
    const cs_tokenizer *t = cs_tokenizer_at(i);

    *opt = t != NULL ? t->opt : NULL;
    return t != NULL ? t->name : NULL;
}

static const char *encoder_at(int i, const cs_opt **opt)
{
    const cs_encoder *e = cs_encoder_at(i);

    *opt = e != NULL ? e->opt : NULL;
    return e != NULL ? e->name : NULL;
}

static const char *head_at(int i, const cs_opt **opt)
{
    const cs_head *h = cs_head_at(i);

    *opt = h != NULL ? h->opt : NULL;
    return h != NULL ? h->name : NULL;
}

static int unknown(const char *kind, const char *typed,
                   const char *(*at)(int i, const cs_opt **opt))
{
    cs_suggest near = cs_suggest_begin(typed);
    const cs_opt *opt;
    const char *name;

    for (int i = 0; (name = at(i, &opt)) != NULL; i++)
        cs_suggest_try(&near, name);
    return cs_fail(CS_EUSAGE, "there is no %s '%s'; %s'chordseq train --help' lists them",
                   kind, typed, cs_suggest_hint(&near));
}

/* A kind of component and the choice made. */
struct chosen {
    const char *kind, *name;
    const cs_opt *opt;
    const char *(*at)(int i, const cs_opt **opt);
};

/* CS_EUSAGE for an option that others of the kind have, but not the chosen one. */
static int check_owner(const struct chosen *c, const char *option)
{
    char owners[OWNER_BYTES] = "";
    const cs_opt *opt;
    const char *name;
    size_t n = 0;

    if (c->opt != NULL && cs_opt_find(c->opt, option) != NULL)
        return CS_OK;
    for (int i = 0; (name = c->at(i, &opt)) != NULL; i++)
        if (opt != NULL && cs_opt_find(opt, option) != NULL && n < sizeof owners)
            n += (size_t)snprintf(owners + n, sizeof owners - n, "%s%s", n ? ", " : "", name);
    return n == 0 ? CS_OK : cs_fail(CS_EUSAGE, "'--%s.%s' belongs to %s, but the %s is %s; "
                                    "choose another one with --%s", c->kind, option, owners,
                                    c->kind, c->name, c->kind);
}

/* The parser alone would report an unknown option. */
static int check_owners(const cs_components *c, int argc, char **argv)
{
    int rc = CS_OK;
    const struct chosen all[] = {
        { "tokenizer", c->tok->name, c->tok->opt, tokenizer_at },
        { "encoder", c->enc->name, c->enc->opt, encoder_at },
        { "head", c->head->name, c->head->opt, head_at },
    };
    char option[OWNER_BYTES];

    for (int i = 1; rc == CS_OK && i < argc && strcmp(argv[i], "--") != 0; i++)
        for (size_t k = 0; rc == CS_OK && k < sizeof all / sizeof *all; k++) {
            const char *dot = strncmp(argv[i], "--", 2) == 0 ? strchr(argv[i], '.') : NULL;
            const size_t n = dot != NULL ? (size_t)(dot - argv[i]) - 2 : 0;
            if (n == 0 || n != strlen(all[k].kind) || memcmp(argv[i] + 2, all[k].kind, n) != 0)
                continue;
            (void)snprintf(option, sizeof option, "%.*s", (int)strcspn(dot + 1, "="), dot + 1);
            rc = check_owner(&all[k], option);
        }
    return rc;
}

int cs_components_init(cs_components *c, int argc, char **argv)
{
    int rc = CS_OK;
    char path[4096];
    const char *given = cs_components_argument(argc, argv, "init");

    if (given == NULL)
        return CS_OK;
    CS_TRY(cs_model_find_default(given, path, sizeof path));
    c->from_path = cs_xstrdup(path);
    CS_TRY(cs_backend_open("cpu", 1, &c->from_be));
    rc = cs_model_load(path, c->from_be, CS_USE_INFERENCE, &c->from);
out:
    return rc;
}

int cs_components_find(cs_components *c, int argc, char **argv, cs_optset *set, int n)
{
    const cs_model *from = c->from;
    const char *tok = name_in(argc, argv, "tokenizer",
                              from != NULL && from->tok != NULL ? from->tok->name : NULL),
               *enc = name_in(argc, argv, "encoder", from != NULL ? from->enc->name : NULL),
               *head = c->fixed_head != NULL ? c->fixed_head
                                             : name_in(argc, argv, "head", NULL);

    c->tok = cs_tokenizer_find(tok);
    c->enc = cs_encoder_find(enc);
    c->head = cs_head_find(head);
    if (c->tok == NULL)
        return unknown("tokenizer", tok, tokenizer_at);
    if (c->enc == NULL)
        return unknown("encoder", enc, encoder_at);
    if (c->head == NULL)
        return unknown("head", head, head_at);
    if (from != NULL && from->tok != NULL && c->tok != from->tok)
        return cs_components_kept("tokenizer", tok, from->tok->name);
    if (from != NULL && c->enc != from->enc)
        return cs_components_kept("encoder", enc, from->enc->name);
    const int rc = check_owners(c, argc, argv);
    if (rc != CS_OK)
        return rc;
    c->tok_cfg = cs_xcalloc(1, c->tok->cfg_size + 1);
    c->enc_cfg = cs_xcalloc(1, c->enc->cfg_size + 1);
    c->head_cfg = cs_xcalloc(1, c->head->cfg_size + 1);
    components_append(set, n, cs_components_table, &c->args, NULL);
    if (c->fixed_head == NULL)
        components_append(set, n, head_table, &c->args, NULL);
    components_append(set, n, c->tok->opt, c->tok_cfg, "tokenizer");
    components_append(set, n, c->enc->opt, c->enc_cfg, "encoder");
    if (c->fixed_head == NULL)
        components_append(set, n, c->head->opt, c->head_cfg, "head");
    else
        cs_opt_defaults((const cs_optset[]){ { c->head->opt, c->head_cfg, NULL }, { 0 } });
    return CS_OK;
}

/* The second stack of pretraining may be dropped. */
static bool drops_decoder(int argc, char **argv)
{
    const char *given = cs_components_argument(argc, argv, "encoder.decoder");

    return given != NULL && strcmp(given, "0") == 0;
}

/* The option of a file whose text is stored in the model. */
static const char vocabulary[] = "tokenizer.file";

static size_t field_bytes(const cs_opt *o)
{
    switch (o->type) {
    case CS_OPT_FLAG: case CS_OPT_ENUM: case CS_OPT_WHEN: return sizeof(int);
    case CS_OPT_INT: case CS_OPT_SIZE: case CS_OPT_BYTES: return sizeof(int64_t);
    case CS_OPT_REAL: return sizeof(double);
    case CS_OPT_STR: case CS_OPT_IN: case CS_OPT_OUT: return sizeof(char *);
    case CS_OPT_LIST: case CS_OPT_INS: return sizeof(cs_strlist);
    case CS_OPT_END: case CS_OPT_GROUP: break;
    }
    return 0;
}

/* Those that shape no tensor: a training may choose its own. */
static bool is_of_training(const char *name)
{
    static const char *const all[] = { "dropout", "composition-dropout", "composition-skip",
                                       "ancestors" };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(name, all[i]) == 0)
            return true;
    return false;
}

/* Options of one part: values in argv must equal the model's, unless they are of the training. */
static int check_part(int argc, char **argv, const char *part, const cs_opt *opt, const void *is,
                      const void *has)
{
    char name[128], text[2][512];

    for (const cs_opt *o = opt; o != NULL && o->type != CS_OPT_END; o++) {
        if (o->type == CS_OPT_GROUP)
            continue;
        (void)snprintf(name, sizeof name, "%s.%s", part, o->name);
        text[0][0] = text[1][0] = '\0';
        (void)cs_opt_text(o, is, text[0], sizeof text[0]);
        (void)cs_opt_text(o, has, text[1], sizeof text[1]);
        const bool given = cs_components_argument(argc, argv, name) != NULL ||
                           (o->type == CS_OPT_FLAG && strcmp(text[0], "0") != 0),
                   by_content = strcmp(name, vocabulary) == 0;
        if (given && !by_content && !is_of_training(o->name) && strcmp(text[0], text[1]) != 0 &&
            !(strcmp(name, "encoder.decoder") == 0 && drops_decoder(argc, argv)))
            return cs_components_kept(name, text[0], text[1]);
    }
    return CS_OK;
}

/* A vocabulary in argv must have the content stored in the model. */
static int check_vocabulary(const cs_components *c, int argc, char **argv)
{
    int rc;
    void *state = NULL;
    const char *path = cs_components_argument(argc, argv, vocabulary);

    if (path == NULL)
        return CS_OK;
    if ((rc = c->tok->open(c->tok_cfg, &state)) != CS_OK)
        return rc;
    char *text = c->tok->save(state);
    c->tok->close(state);
    if (text == NULL)
        rc = cs_fail(CS_EMEM, "out of memory for the vocabulary '%s'", path);
    else if (strcmp(text, c->tok_text) != 0)
        rc = cs_fail(CS_EUSAGE, "--%s %s: the initial model has another vocabulary and keeps it",
                     vocabulary, path);
    free(text);
    return rc;
}

/* ---- the head of the initial model ----------------------------------------------------------- */

/* The model's settings, but those of the training that argv gives. */
static void adopt_encoder(cs_components *c, int argc, char **argv, const cs_model *from)
{
    char name[128];
    char *own = cs_xmalloc(c->enc->cfg_size);

    memcpy(own, c->enc_cfg, c->enc->cfg_size);
    memcpy(c->enc_cfg, from->enc_cfg, c->enc->cfg_size);
    for (const cs_opt *o = c->enc->opt; o != NULL && o->type != CS_OPT_END; o++) {
        (void)snprintf(name, sizeof name, "encoder.%s", o->name);
        if (o->type != CS_OPT_GROUP && is_of_training(o->name) &&
            cs_components_argument(argc, argv, name) != NULL)
            memcpy((char *)c->enc_cfg + o->off, own + o->off, field_bytes(o));
    }
    free(own);
}

/* The head is kept if the classes are the same, which is not known yet, so a contradiction is
 * noted here and refused then. */
static void note_new_head(cs_components *c, const cs_opt *o, const void *has)
{
    char is[512] = "", was[512] = "", text[1200];

    (void)cs_opt_text(o, c->head_cfg, is, sizeof is);
    (void)cs_opt_text(o, has, was, sizeof was);
    if (c->new_head != NULL || is_of_training(o->name) || strcmp(is, was) == 0)
        return;
    (void)snprintf(text, sizeof text, "--head.%s %s: the initial model has %s and keeps it, "
                   "because its classes are the same", o->name, is, was);
    c->new_head = cs_xstrdup(text);
}

static void adopt_head(cs_components *c, int argc, char **argv, const cs_model *from)
{
    char name[128];

    if (c->head != from->head)
        return;
    for (const cs_opt *o = c->head->opt; o != NULL && o->type != CS_OPT_END; o++) {
        (void)snprintf(name, sizeof name, "head.%s", o->name);
        if (o->type != CS_OPT_GROUP && cs_components_argument(argc, argv, name) != NULL)
            note_new_head(c, o, from->head_cfg);
        else
            memcpy((char *)c->head_cfg + o->off, (const char *)from->head_cfg + o->off,
                   field_bytes(o));
    }
}

int cs_components_adopt(cs_components *c, int argc, char **argv, bool new_head)
{
    int rc = CS_OK;
    const cs_model *from = c->from;

    CS_TRY(check_part(argc, argv, "encoder", c->enc->opt, c->enc_cfg, from->enc_cfg));
    adopt_encoder(c, argc, argv, from);
    if (drops_decoder(argc, argv) && cs_opt_find(c->enc->opt, "decoder") != NULL)
        CS_TRY(cs_opt_set(c->enc->opt, c->enc_cfg, "decoder", "0"));
    if (!new_head)
        adopt_head(c, argc, argv, from);
    if (from->tok == NULL)
        return CS_OK;
    CS_TRY(check_part(argc, argv, "tokenizer", c->tok->opt, c->tok_cfg, from->tok_cfg));
    c->tok_text = c->tok->save != NULL ? c->tok->save(from->tok_state) : NULL;
    if (c->tok->save != NULL && c->tok_text == NULL)
        return cs_fail(CS_EMEM, "out of memory for the vocabulary of the initial model");
    if (c->tok_text != NULL)
        CS_TRY(check_vocabulary(c, argc, argv));
    memcpy(c->tok_cfg, from->tok_cfg, c->tok->cfg_size);
out:
    return rc;
}

int cs_components_tokenizer(const cs_components *c, void **state)
{
    *state = NULL;
    if (c->tok_text != NULL)
        return c->tok->restore(c->tok_cfg, c->tok_text, "the model to start from", state);
    return c->tok->open(c->tok_cfg, state);
}

void cs_components_release(cs_components *c)
{
    CS_FREE(c->tok_text, c->new_head);
    c->tok_text = c->new_head = NULL;
    CS_FREE(c->tok_cfg, c->enc_cfg, c->head_cfg);
    c->tok_cfg = c->enc_cfg = c->head_cfg = NULL;
    cs_model_free(c->from);
    cs_backend_close(c->from_be);
    free(c->from_path);
    c->from = NULL;
    c->from_be = NULL;
    c->from_path = NULL;
}
