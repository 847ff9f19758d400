/* prediction.c - names of reasons, and the best class of a prediction. */
#include "io/prediction.h"

static const struct { const char *name, *help; } reasons[CS_N_REASON] = {
    [CS_REASON_NONE] = { ".", "there is a call" },
    [CS_REASON_EMPTY] = { "empty", "no bases" },
    [CS_REASON_TOO_SHORT] = { "too_short", "fewer bases than one token, --min-length or "
                              "the model's minimum length of a call" },
    [CS_REASON_TOO_LONG] = { "too_long", "more tokens than the model takes; see --long-sequence" },
    [CS_REASON_ALL_N] = { "no_known_base", "no A, C, G or T" },
    [CS_REASON_MOSTLY_N] = { "mostly_unknown", "the share of letters other than A, C, G and T "
                             "exceeds --max-unknown" },
    [CS_REASON_NO_TOKEN] = { "no_known_token", "no run of A, C, G and T as long as a token" },
    [CS_REASON_NO_MEMORY] = { "no_memory", "the sequence needs more memory than is free, or than "
                              "--max-memory; see --long-sequence" },
    [CS_REASON_LOW_PROB] = { "low_probability", "the probability of the best class is below "
                             "--min-prob, or not finite" },
    [CS_REASON_LOW_CONFIDENCE] = { "low_confidence", "calls of this class, length and probability "
                                   "are wrong more often than --max-error allows" },
    [CS_REASON_UNLIKE] = { "unlike_training", "low complexity, or similar to shuffled DNA" },
};

const char *cs_reason_name(cs_reason r)
{
    CS_BUG((size_t)r >= CS_N_REASON);
    return reasons[r].name;
}

bool cs_reason_has_output(cs_reason r)
{
    return r == CS_REASON_NONE || r >= CS_REASON_LOW_PROB;
}

const char *cs_reason_help(cs_reason r)
{
    CS_BUG((size_t)r >= CS_N_REASON);
    return reasons[r].help;
}

int32_t cs_argmax(const float *v, int64_t n)
{
    int32_t best = 0;
    float max = n > 0 ? v[0] : 0;

    for (int64_t i = 1; i < n; i++)
        if (v[i] > max) {
            max = v[i];
            best = (int32_t)i;
        }
    return best;
}

int cs_prediction_best(const cs_prediction *a)
{
    return cs_reason_has_output(a->reason) && a->n >= 1 ? cs_argmax(a->v, a->n) : -1;
}
