/* mask.c - mask tokens of a sequence and store their labels (pretraining).
 *
 * With overlapping k-mers a masked token could be inferred from its neighbours. A run of as many
 * tokens as share a base masks one base completely, and every token of the run contains it. For the
 * same reason a run is treated as a whole: one visible token within it would reveal all.
 */
#include "train/mask.h"

#include "base/rng.h"
#include "tok/tokenizer.h"

/* Streams of a window's key. */
enum { STREAM_START, STREAM_FATE, STREAM_TOKEN, STREAM_ONE };

static bool is_known(int32_t id)
{
    return id >= CS_TOK_FIRST;
}

/* Tokens [from, to) of one run; returns how many were chosen. */
static int64_t take_run(const cs_mask *m, uint64_t key, int32_t *id, int64_t from, int64_t to,
                        int32_t *label)
{
    const double u = cs_rng_unit(cs_rng_key(key, STREAM_FATE), (uint64_t)from);
    const uint64_t other = cs_rng_key(key, STREAM_TOKEN);
    int64_t n = 0;

    for (int64_t i = from; i < to; i++) {
        if (!is_known(id[i]))
            continue;
        label[i] = id[i] - CS_TOK_FIRST;
        n++;
        if (u < m->p_mask)
            id[i] = m->id;
        else if (u < m->p_mask + m->p_random)
            id[i] = CS_TOK_FIRST + (int32_t)cs_rng_below(other, (uint64_t)i,
                                                         (uint64_t)(m->n_vocab - CS_TOK_FIRST));
    }
    return n;
}

/* The run around the known token number `nth`. */
static int64_t take_one(const cs_mask *m, uint64_t key, int32_t *id, int64_t n, int64_t nth,
                        int32_t *label)
{
    int64_t at = 0;

    for (;; at++)
        if (is_known(id[at]) && nth-- == 0)
            break;
    int64_t from = at - m->run / 2;
    from = from > 0 ? from : 0;
    const int64_t to = from + m->run < n ? from + m->run : n;
    return take_run(m, key, id, from, to, label);
}

int64_t cs_mask_tokens(const cs_mask *m, uint64_t key, int32_t *id, int64_t n, int32_t *label)
{
    /* Runs alternate with gaps whose lengths are geometric: the mean gap g = (1 - p) / p is such
     * that run / (run + g) is the ratio. The first run may begin before the sequence, so that its
     * ends are chosen as often as its middle. */
    const double run = (double)m->run, p = m->ratio / (m->ratio + run * (1 - m->ratio));
    const uint64_t start = cs_rng_key(key, STREAM_START);
    int64_t n_chosen = 0, n_known = 0;

    for (int64_t i = 0; i < n; i++) {
        label[i] = -1;
        n_known += is_known(id[i]);
    }
    for (int64_t i = 1 - m->run; i < n;) {
        if (cs_rng_unit(start, (uint64_t)(i + m->run)) >= p) {
            i++;
            continue;
        }
        const int64_t to = i + m->run < n ? i + m->run : n;
        n_chosen += take_run(m, key, id, i > 0 ? i : 0, to, label);
        i += m->run;
    }
    if (n_chosen > 0 || n_known == 0)
        return n_chosen;
    const uint64_t nth = cs_rng_below(cs_rng_key(key, STREAM_ONE), 0, (uint64_t)n_known);
    return take_one(m, key, id, n, (int64_t)nth, label);
}
