/* make_model.c - a model file with random weights, for tests and benchmarks of the program.
 *
 *     make_model FILE SEED [channels=N | tokenizer=NAME] [encoder=NAME] [head=NAME] [labels=N]
 *                          [label=NAME...] [huge=TOKEN] [tokenizer.OPT=V] [encoder.OPT=V]
 *                          [head.OPT=V]
 *
 * huge=TOKEN makes that embedding so large that products with it overflow.
 * channels=N makes a model of N real values per position, which sequences cannot feed.
 */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/log.h"
#include "nn/exec/model.h"
#include "registry.h"

enum { MAX_LABELS = 26 };

struct wish {
    cs_model_spec spec;
    void         *cfg[3];        /* of tokenizer, encoder, head */
    int64_t       n_channel, n_label, huge;    /* huge: 0 for none */
    const char   *name[MAX_LABELS];            /* those that were given */
    int           n_name;
};

static void *defaults(const cs_opt *opt, size_t size)
{
    void *cfg = cs_xcalloc(1, size + 1);

    if (opt)
        cs_opt_defaults((cs_optset[]){ { opt, cfg, NULL }, { NULL, NULL, NULL } });
    return cfg;
}

static int choose(struct wish *w, const char *tokenizer, const char *encoder, const char *head)
{
    cs_model_spec *s = &w->spec;

    s->tok = cs_tokenizer_find(tokenizer);
    s->enc = cs_encoder_find(encoder);
    s->head = cs_head_find(head);
    if (!s->tok || !s->enc || !s->head)
        return cs_fail(CS_EUSAGE, "no tokenizer '%s', no encoder '%s', or no head '%s'", tokenizer,
                       encoder, head);
    s->tok_cfg = w->cfg[0] = defaults(s->tok->opt, s->tok->cfg_size);
    s->enc_cfg = w->cfg[1] = defaults(s->enc->opt, s->enc->cfg_size);
    s->head_cfg = w->cfg[2] = defaults(s->head->opt, s->head->cfg_size);
    return CS_OK;
}

static int set(struct wish *w, const char *word)
{
    char name[64];
    const char *value = strchr(word, '=');

    if (!value || (size_t)(value - word) >= sizeof name)
        return cs_fail(CS_EUSAGE, "'%s' is not NAME=VALUE", word);
    memcpy(name, word, (size_t)(value - word));
    name[value++ - word] = '\0';
    if (strcmp(name, "tokenizer") == 0 || strcmp(name, "encoder") == 0
        || strcmp(name, "head") == 0)
        return CS_OK;                          /* chosen before their options can be set */
    if (strcmp(name, "channels") == 0)
        return cs_parse_int(value, &w->n_channel);
    if (strcmp(name, "label") == 0 && w->n_name < MAX_LABELS) {
        w->name[w->n_name++] = value;
        return CS_OK;
    }
    if (strcmp(name, "huge") == 0)
        return cs_parse_int(value, &w->huge);
    if (strcmp(name, "labels") == 0)
        return cs_parse_int(value, &w->n_label);
    if (strncmp(name, "tokenizer.", 10) == 0)
        return cs_opt_set(w->spec.tok->opt, w->cfg[0], name + 10, value);
    if (strncmp(name, "encoder.", 8) == 0)
        return cs_opt_set(w->spec.enc->opt, w->cfg[1], name + 8, value);
    if (strncmp(name, "head.", 5) == 0)
        return cs_opt_set(w->spec.head->opt, w->cfg[2], name + 5, value);
    return cs_fail(CS_EUSAGE, "unknown setting '%s'", name);
}

static int make(struct wish *w, const char *path)
{
    int rc = CS_OK;
    cs_backend *be = NULL;
    cs_model *m = NULL;
    char name[MAX_LABELS][32];
    cs_label label[MAX_LABELS];

    if (w->n_label < 1 || w->n_label > MAX_LABELS)
        return cs_fail(CS_EUSAGE, "labels must be 1 to %d", MAX_LABELS);
    for (int i = 0; i < (int)w->n_label; i++) {
        (void)snprintf(name[i], sizeof name[i], "class%c", 'A' + i);
        if (w->name[i])
            (void)snprintf(name[i], sizeof name[i], "%s", w->name[i]);
        label[i] = (cs_label){ .name = name[i] };
    }
    w->spec.label = label;
    w->spec.n_label = (int32_t)w->n_label;
    w->spec.n_channel = (int32_t)w->n_channel;
    if (w->n_channel > 0)
        w->spec.tok = NULL;
    CS_TRY(cs_cpu_init());
    CS_TRY(cs_backend_open("cpu", 1, &be));
    CS_TRY(cs_model_new(&w->spec, be, &m));
    for (int32_t j = 0; w->huge > 0 && j < m->in_width; j++)
        cs_value(&m->ps, m->embed_w).p[w->huge * m->in_width + j] = FLT_MAX;
    CS_TRY(cs_model_save(m, path));
out:
    cs_model_free(m);
    cs_backend_close(be);
    return rc;
}

int main(int argc, char **argv)
{
    int rc = CS_EUSAGE;
    struct wish w = { .n_label = 3 };
    const char *tokenizer = "base", *encoder = "chordmixer", *head = "class";
    int64_t seed;

    if (argc < 3 || cs_parse_int(argv[2], &seed) != CS_OK) {
        puts("usage: make_model FILE SEED [NAME=VALUE...]");
        return 2;
    }
    w.spec.seed = (uint64_t)seed;
    for (int i = 3; i < argc; i++) {
        tokenizer = strncmp(argv[i], "tokenizer=", 10) == 0 ? argv[i] + 10 : tokenizer;
        encoder = strncmp(argv[i], "encoder=", 8) == 0 ? argv[i] + 8 : encoder;
        head = strncmp(argv[i], "head=", 5) == 0 ? argv[i] + 5 : head;
    }
    CS_TRY(choose(&w, tokenizer, encoder, head));
    for (int i = 3; i < argc; i++)
        CS_TRY(set(&w, argv[i]));
    CS_TRY(make(&w, argv[1]));
out:
    if (rc != CS_OK)
        cs_error("make_model: %s", cs_error_message());
    for (int i = 0; i < 3; i++)
        free(w.cfg[i]);
    return rc == CS_OK ? 0 : 1;
}
