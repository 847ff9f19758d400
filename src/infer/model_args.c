/* model_args.c - the option --model, and the model that it names. */
#include "infer/model_args.h"

#include <string.h>

#include "base/log.h"
#include "base/path_conflicts.h"
#include "base/suggest.h"

enum { PATH_BYTES = 4096 };

const cs_opt cs_model_table[] = {
    { .type = CS_OPT_GROUP, .name = "Model" },
    { .type = CS_OPT_IN, .letter = 'm', .name = "model", .off = offsetof(cs_model_args, model),
      .arg = "FILE",
      .help = "model file, or name of a model that comes with chordseq, such as fast",
      .man = "By default, the model is that of CHORDSEQ_MODEL in the environment, otherwise the "
             "command's own. A folder of 'chordseq model export' is also accepted. Names are "
             "'default', 'fast' (classify: only 6-mers; many times as fast, for organelles, "
             "eukaryotes and archaea: it calls few bacteria, plasmids and viruses), 'accurate' "
             "(classify: the default model with more proteins, for reads and short contigs; "
             "slower), 'taxa' (classify: phyla and classes below the default model's classes), "
             "'variant', 'variant-exons' (variant --exons) and 'human-lm' (variant --score llr). A "
             "file with such a name takes precedence.",
      .choice = cs_model_installed, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

int cs_args_model(const char *path, char *found, size_t n_found)
{
    int rc = CS_OK;

    CS_TRY(cs_model_find_default(path, found, n_found));
    rc = cs_paths_add_input(found);
out:
    return rc;
}

int cs_model_open(const char *path, const cs_device_args *device, int n_thread, cs_backend **be,
                  cs_model **model)
{
    int rc = CS_OK;
    static const cs_device_args processor = { .device = "cpu" };
    char found[PATH_BYTES];
    cs_backend *b = NULL;
    cs_model *m = NULL;

    CS_TRY(cs_args_model(path, found, sizeof found));
    if (!device)
        device = &processor;
    CS_TRY(cs_device_open_all(device, n_thread, &b));
    CS_TRY(cs_model_load(found, b, CS_USE_INFERENCE, &m));
    cs_device_auto_precision(device, m);
    if (!m->tok) {
        rc = cs_fail(CS_EMODEL, "model '%s' takes %d real values per position, not nucleotides; "
                     "choose one trained on sequences", found, (int)m->n_channel);
        goto out;
    }
    cs_info("model '%s': encoder %s, tokenizer %s, %d labels", found, m->enc->name, m->tok->name,
            (int)m->n_label);
    *model = m;
    *be = b;
    m = NULL;                                  /* given away, as is b */
    b = NULL;
out:
    cs_model_free(m);
    cs_backend_close(b);
    return rc;
}

int cs_model_label_of(const cs_model *m, const char *name, int32_t *no)
{
    cs_suggest suggest = cs_suggest_begin(name);

    for (*no = 0; *no < m->n_label; ++*no) {
        if (strcmp(m->label[*no].name, name) == 0)
            return CS_OK;
        cs_suggest_try(&suggest, m->label[*no].name);
    }
    return cs_fail(CS_EUSAGE, "the model has no label '%s'; %s'chordseq model show' lists them",
                   name, cs_suggest_hint(&suggest));
}
