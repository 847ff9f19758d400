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

/* A number that training runs and files of schedules name differently. */
static double either(const json_t *j, const char *name, const char *other, double missing)
{
    return golden_number(j, name, golden_number(j, other, missing));
}

int golden_read_schedule(const char *function, const json_t *j, double base_lr, cs_schedule *s)
{
    *s = (cs_schedule){ .warmup = (int64_t)either(j, "num_warmup_steps", "warmup", 0),
                        .total = (int64_t)either(j, "num_training_steps", "total", 0),
                        .cycles = either(j, "num_cycles", "cycles", 0.5),
                        .power = golden_number(j, "power", 1),
                        .floor = golden_number(j, "lr_end", 1e-8) / base_lr };
    return kind_of(function, &s->kind);
}

int golden_schedule(golden *g)
{
    int rc = CS_OK;
    const char *name;
    json_t *j;

    json_object_foreach(json_object_get(g->config, "schedules"), name, j) {
        const cs_tensor *t = golden_find(g, "output.%s", name);
        cs_schedule s;
        CS_TRY(golden_read_schedule(golden_text(j, "function"), j,
                                    golden_number(g->config, "base_lr", 1), &s));
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
