/* golden_schedule.c - learning-rate factors over the steps. */
#include <string.h>

#include "golden.h"
#include "train/optim.h"

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static int kind_of(const char *function, cs_decay *kind)
{
    if (starts(function, "linear_warmup_cosine"))
        *kind = CS_DECAY_COSINE;
    else if (starts(function, "linear_warmup_linear"))
        *kind = CS_DECAY_LINEAR;
    else if (starts(function, "linear_warmup_polynomial"))
        *kind = CS_DECAY_POLYNOMIAL;
    else
        return cs_fail(CS_EUSAGE, "unknown schedule '%s'", function);
    return CS_OK;
}

int golden_schedule(golden *g)
{
    int rc = CS_OK;
    const char *name;
    json_t *j;

    json_object_foreach(json_object_get(g->config, "schedules"), name, j) {
        const cs_tensor *t = golden_find(g, "output.%s", name);
        cs_schedule s = { .warmup = (int64_t)golden_number(j, "num_warmup_steps", 0),
                          .total = (int64_t)golden_number(j, "num_training_steps", 0),
                          .cycles = golden_number(j, "num_cycles", 0.5),
                          .power = golden_number(j, "power", 1),
                          .floor = golden_number(j, "lr_end", 1e-8)
                                   / golden_number(g->config, "base_lr", 1) };
        CS_TRY(kind_of(golden_text(j, "function"), &s.kind));
        if (!t) {
            rc = cs_fail(CS_EFORMAT, "output.%s is missing", name);
            goto out;
        }
        double *v = cs_xmalloc((size_t)t->n * sizeof *v + 1);
        for (int64_t i = 0; i < t->n; i++)
            v[i] = cs_schedule_factor(&s, i);
        golden_compare(g, t, v, 1e-9, 0);      /* computed in double by every build */
        free(v);
    }
out:
    return rc;
}
