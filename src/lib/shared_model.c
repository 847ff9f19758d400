/* shared_model.c - an open model, shared by its handles. */
#include "lib/shared_model.h"

#include <string.h>

#include "base/suggest.h"
#include "infer/taxa.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 64 };

static const cs_opt compute_table[] = {
    { .type = CS_OPT_INT, .name = "threads", .off = offsetof(cs_shared_model_args, threads),
      .arg = "NUM", .def = "1", .help = "threads that one call may compute with", .min = 1,
      .max = CS_MAX_THREADS },
    { .type = CS_OPT_END }
};

/* ---- options -------------------------------------------------------------------------------- */

static int set_option(const cs_optset *set, const char *text)
{
    const char *value = strchr(text, '=');
    char name[NAME_BYTES];

    if (!value || (size_t)(value - text) >= sizeof name)
        return cs_fail(CS_EUSAGE, "option '%s' is not of the form NAME=VALUE", text);
    (void)snprintf(name, sizeof name, "%.*s", (int)(value - text), text);
    cs_suggest near = cs_suggest_begin(name);
    for (; set->opt; set++) {
        if (cs_opt_find(set->opt, name))
            return cs_opt_set(set->opt, set->base, name, value + 1);
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++)
            if (o->type != CS_OPT_GROUP)
                cs_suggest_try(&near, o->name);
    }
    return cs_fail(CS_EUSAGE, "there is no option '%s'; %ssee chordseq(3)", name,
                   cs_suggest_hint(&near));
}

static int read_options(cs_shared_model_args *a, const char *const *option)
{
    int rc = CS_OK;
    const cs_optset set[] = {
        { cs_policy_table, &a->policy, NULL }, { cs_call_table, &a->calls, NULL },
        { cs_prior_table, &a->calls.prior, NULL }, { compute_table, a, NULL },
        { cs_device_table, &a->device, NULL }, { NULL, NULL, NULL },
    };

    cs_opt_defaults(set);
    for (; option && *option; option++)
        CS_TRY(set_option(set, *option));
out:
    return rc;
}

/* ---- the model ------------------------------------------------------------------------------ */

static int check_model(const cs_model *m, const char *path)
{
    if (!m->tok || cs_tokenizer_alphabet(m->tok, m->tok_state) == CS_DIPLOTYPES)
        return cs_fail(CS_EMODEL, "model '%s' takes %s, not nucleotides", path,
                       m->tok ? "diplotypes" : "real values");
    return CS_OK;
}

static char *taxon_label(const cs_shared_model *o, int32_t node)
{
    char buf[CS_LABEL_TEXT];

    return cs_xstrdup(cs_taxon_label(&o->info, node, buf));
}

static int set_classes(cs_shared_model *o, const char *path)
{
    int rc = CS_OK;

    CS_TRY(cs_taxa_of(o->model, path, &o->taxonomy));
    o->info.taxonomy = o->taxonomy;
    o->info.taxa = cs_policy_taxa(&o->args.calls, o->model);
    if (o->info.taxa) {
        CS_TRY(cs_taxa_tree(o->taxonomy, &o->tree));
        o->policy.tree = &o->tree;
    }
    o->taxon = cs_xcalloc((size_t)o->taxonomy->n, sizeof *o->taxon);
    for (int32_t i = 0; i < o->taxonomy->n; i++)
        o->taxon[i] = taxon_label(o, i);
out:
    return rc;
}

static int set_up(cs_shared_model *o, const char *path)
{
    int rc = CS_OK;
    cs_model *m = o->model;

    CS_TRY(check_model(m, path));
    o->n_output = m->head->per_token ? 0 : m->n_label;
    if (o->n_output == 0)
        o->args.policy.output = CS_HEAD_POOLED;
    CS_TRY(cs_policy_init(&o->policy, &o->args.policy, o->n_output ? &o->args.calls : NULL, m));
    o->longest = cs_policy_longest(&o->policy);
    o->n_vector = m->head->n_vector ? m->head->n_vector(m->head_net, false) : 0;
    o->label = cs_xcalloc((size_t)m->n_label, sizeof *o->label);
    for (int32_t i = 0; i < m->n_label; i++)
        o->label[i] = m->label[i].name;
    o->info = (cs_output_info){ .label = o->label, .n_label = m->n_label,
                                .is_class = m->head->is_class,
                                .is_labels = m->head->is_labels };
    if (m->head->is_class && o->n_output > 0)
        CS_TRY(set_classes(o, path));
out:
    return rc;
}

int cs_shared_model_new(const char *path, const char *const *option, cs_shared_model **out)
{
    int rc = CS_OK;
    char found[PATH_BYTES];
    cs_shared_model *o = cs_xcalloc(1, sizeof *o);

    atomic_store(&o->n_handle, 1);
    CS_TRY(read_options(&o->args, option));
    CS_TRY(cs_model_find_default(path, found, sizeof found));
    CS_TRY(cs_device_open(&o->args.device, (int)o->args.threads, &o->be));
    CS_TRY(cs_model_load(found, o->be, CS_USE_INFERENCE, &o->model));
    cs_device_auto_precision(&o->args.device, o->model);
    CS_TRY(set_up(o, found));
    *out = o;
    o = NULL;
out:
    cs_shared_model_drop(o);
    return rc;
}

void cs_shared_model_drop(cs_shared_model *o)
{
    if (!o || atomic_fetch_sub(&o->n_handle, 1) > 1)
        return;
    for (int32_t i = 0; o->taxon && i < o->taxonomy->n; i++)
        free(o->taxon[i]);
    free(o->taxon);
    free(o->label);
    cs_policy_release(&o->policy);
    cs_taxa_tree_release(&o->tree);
    cs_taxonomy_free(o->taxonomy);
    cs_model_free(o->model);
    cs_backend_close(o->be);
    free(o);
}
