/* composition_init.c - initialise a head's composition path from a trained bag of k-mers. */
#include "nn/exec/composition_init.h"

#include <stdio.h>
#include <string.h>

static const char *const same[][2] = {
    { "embedding.weight", "head.composition.embedding.weight" },
    { "head.norm.weight", "head.composition.norm.weight" },
    { "head.norm.bias", "head.composition.norm.bias" },
    { "head.fc.weight", "head.composition.fc.weight" },
    { "head.fc.bias", "head.composition.fc.bias" },
    { "head.weight", "head.composition.out.weight" },
    { "head.bias", "head.composition.out.bias" },
};
enum { N_SAME = sizeof same / sizeof same[0] };

static bool is_bag(const cs_model *m, int32_t k)
{
    return m->tok && strcmp(m->tok->name, "kmer") == 0 && m->tok->min_base(m->tok_state) == k
        && cs_tokenizer_overlap(m->tok, m->tok_state) == k && m->tok->mirrors(m->tok_state)
        && m->enc->unordered && m->enc->unordered(m->enc_net) && m->head->pools
        && m->head->pools(m->head_net);
}

int cs_composition_adopt(cs_model *m, const cs_model *bag)
{
    const int32_t k = m->head->word ? m->head->word(m->head_net) : 0;

    if (k == 0)
        return cs_fail(CS_EMODEL, "the model has no composition path; give --head.composition 6");
    if (!is_bag(bag, k))
        return cs_fail(CS_EMODEL, "it is not a bag of canonical %d-mers with stride 1", (int)k);
    if (!cs_model_same_labels(m, bag))
        return cs_fail(CS_EMODEL, "its labels or their order differ");
    for (int i = 0; i < N_SAME; i++) {
        const int from = cs_params_find(&bag->ps, same[i][0]);
        const int to = cs_params_find(&m->ps, same[i][1]);
        CS_BUG(to < 0);
        if (from < 0)
            return cs_fail(CS_EMODEL, "tensor '%s' is missing; the model needs --head.norm layer "
                           "and --head.hidden", same[i][0]);
        const cs_mat x = cs_value(&bag->ps, from), y = cs_value(&m->ps, to);
        if (x.r != y.r || x.c != y.c)
            return cs_fail(CS_EMODEL, "the shape of tensor '%s' differs; see "
                           "--head.composition-channels and --head.composition-hidden",
                           same[i][0]);
        m->be->op.copy(m->be, x, y);
    }
    return CS_OK;
}

int cs_composition_init(cs_model *m, const char *path, double rate)
{
    int rc;
    char why[512];
    cs_model *bag = NULL;

    cs_params_rate(&m->ps, "head.composition.", rate);
    if (path == NULL)
        return CS_OK;
    if ((rc = cs_model_load(path, m->be, CS_USE_INFERENCE, &bag)) != CS_OK)
        return rc;
    rc = cs_composition_adopt(m, bag);
    cs_model_free(bag);
    if (rc != CS_OK) {
        (void)snprintf(why, sizeof why, "%s", cs_error_message());
        cs_error_clear();
        rc = cs_fail(rc, "cannot take the composition path from '%s': %s", path, why);
    }
    return rc;
}
