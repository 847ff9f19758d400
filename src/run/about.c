/* about.c - what a run is: command line, options, inputs and model, as text and as JSON. */
#include "run/about.h"

#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "infer/prior.h"
#include "io/json_text.h"
#include "run/same_options.h"

char *cs_about_line(const cs_about *a)
{
    size_t n = strlen("chordseq") + 1;
    char *line;

    for (int i = 0; i < a->argc; i++)
        n += strlen(a->argv[i]) + 1;
    line = cs_xmalloc(n);
    size_t at = (size_t)snprintf(line, n, "chordseq");
    for (int i = 0; i < a->argc; i++)
        at += (size_t)snprintf(line + at, n - at, " %s", a->argv[i]);
    return line;
}

/* lists: also of options with several values */
static json_t *options_json(const cs_optset *set, bool lists)
{
    json_t *all = json_object();

    for (; set->opt; set++) {
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++) {
            json_t *list = lists && o->type == CS_OPT_LIST ? cs_same_list(o, set->base) : NULL;
            char *value = cs_opt_value(o, set->base);
            if (value != NULL)
                json_object_set_new(all, o->name, cs_json_of_bytes(value));
            else if (json_is_string(list) || json_array_size(list) > 0)
                json_object_set(all, o->name, list);
            free(value);
            json_decref(list);
        }
    }
    return all;
}

static json_t *model_json(const cs_about *a)
{
    const cs_model *m = a->model;

    return json_pack("{s:o, s:s, s:s, s:s, s:s}", "path", cs_json_of_bytes(a->model_path), "sha256",
                     m->sum, "encoder", m->enc->name, "tokenizer", m->tok ? m->tok->name : "none",
                     "head", m->head->name);
}

/* {class: share} */
static json_t *prior_json(const cs_about *a)
{
    const cs_model *m = a->model;
    json_t *all = json_object();
    double *share = cs_xcalloc((size_t)m->n_label, sizeof *share);

    cs_prior_shares(a->prior, m->n_label, share);
    for (int32_t k = 0; k < m->n_label; k++)
        json_object_set_new(all, m->label[k].name, json_real(share[k]));
    free(share);
    return all;
}

json_t *cs_about_json(const cs_about *a)
{
    json_t *all = json_object(), *inputs = json_array();
    char *line = cs_about_line(a);
    const cs_backend *be = a->model->be;

    for (int i = 0; i < a->input->n; i++)
        json_array_append_new(inputs, cs_json_of_bytes(a->input->v[i]));
    json_object_set_new(all, "chordseq_version", json_string(PACKAGE_VERSION));
    json_object_set_new(all, "command", json_string(a->command));
    json_object_set_new(all, "command_line", cs_json_of_bytes(line));
    json_object_set_new(all, "model", model_json(a));
    json_object_set_new(all, "precision", json_string(cs_precision_names[be->precision]));
    json_object_set_new(all, "kernels", json_string(
        be->is_host ? cs_cpu_bits(be->precision == CS_IN_BF16) : be->name));
    if (a->prior)
        json_object_set_new(all, "prior", prior_json(a));
    json_object_set_new(all, "inputs", inputs);
    json_object_set_new(all, "options", options_json(a->set, false));
    free(line);
    return all;
}

json_t *cs_about_summary(const cs_about *a)
{
    json_t *all = cs_about_json(a);

    json_object_set_new(all, "options", options_json(a->set, true));
    return all;
}

char *cs_about_text(const cs_about *a)
{
    json_t *all = cs_about_summary(a);
    char *text = json_dumps(all, JSON_COMPACT);

    json_decref(all);
    return text;
}
