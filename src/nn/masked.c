/* masked.c - what a model that was pretrained expects at places of a sequence. */
#include "nn/masked.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

int cs_masked_check(const cs_model *m, const char *what)
{
    if (m->tok && m->mask >= 0 && m->head->per_token &&
        m->n_label == m->tok->n_vocab(m->tok_state) - CS_TOK_FIRST)
        return CS_OK;
    return cs_fail(CS_EMODEL, "'%s' does not predict tokens; it needs a model of 'chordseq "
                   "pretrain'", what);
}

static int append(const cs_model *m, const cs_masked *s, int32_t *id, cs_batch *b)
{
    memcpy(id, s->id, (size_t)s->n * sizeof *id);
    for (int32_t k = 0; s->hide && k < s->n_pos; k++)
        id[s->pos[k]] = m->mask;
    return cs_batch_append(b, id, NULL, s->n, NULL, (cs_slot){ NULL, 0 });
}

/* A probability that underflowed is taken for the least there is: sums of logarithms are finite. */
static float *take(const float *p, const cs_masked *s, int32_t n_label, float *out)
{
    for (int32_t k = 0; k < s->n_pos; k++)
        for (int32_t c = 0; c < n_label; c++)
            *out++ = logf(fmaxf(p[s->pos[k] * n_label + c], FLT_MIN));
    return out;
}

int cs_masked_logp(cs_model *m, const cs_masked *s, int32_t n, float *out)
{
    int rc = CS_OK;
    cs_batch *b = cs_batch_new(0, 0);
    int32_t *id = NULL;
    float *answer = NULL;
    int64_t longest = 0;

    for (int32_t i = 0; i < n; i++)
        longest = s[i].n > longest ? s[i].n : longest;
    id = cs_alloc((size_t)longest, sizeof *id);
    if (!b || !id) {
        rc = cs_fail(CS_EMEM, "out of memory for a sequence of %lld tokens", (long long)longest);
        goto out;
    }
    for (int32_t i = 0; i < n; i++)
        CS_TRY(append(m, &s[i], id, b));
    answer = cs_alloc((size_t)cs_model_answers_len(m, b), sizeof *answer);
    if (!answer) {
        rc = cs_fail(CS_EMEM, "out of memory for answers to %lld tokens", (long long)b->n_tok);
        goto out;
    }
    CS_TRY(cs_model_predict(m, b, answer));
    for (int32_t i = 0; i < n; i++)
        out = take(answer + b->off[i] * m->n_label, &s[i], m->n_label, out);
out:
    free(answer);
    free(id);
    cs_batch_free(b);
    return rc;
}
