/* masked.c - check whether a model was pretrained by masking. */
#include "nn/exec/masked.h"

int cs_masked_check(const cs_model *m, const char *what)
{
    if (m->tok && m->mask >= 0 && m->head->per_token &&
        m->n_label == m->tok->n_vocab(m->tok_state) - CS_TOK_FIRST)
        return CS_OK;
    return cs_fail(CS_EMODEL, "'%s' does not predict tokens; it needs a model of 'chordseq "
                   "pretrain'", what);
}
