/* schedule.c - learning-rate schedules. */
#include "train/schedule.h"

#include <math.h>
#include <stddef.h>

const char *const cs_decay_names[] = { "constant", "linear", "cosine", "polynomial", NULL };

double cs_schedule_factor(const cs_schedule *s, int64_t t)
{
    const double pi = 3.14159265358979323846;
    const int64_t span = s->total - s->warmup;
    const double over = (double)(span > 1 ? span : 1);
    const double p = (double)(t - s->warmup) / over;

    if (t < s->warmup)
        return (double)t / (double)s->warmup;
    switch (s->kind) {
    case CS_DECAY_CONSTANT:
        return 1;
    case CS_DECAY_LINEAR:
        return fmax(0, (double)(s->total - t) / over);
    case CS_DECAY_COSINE:
        return fmax(0, 0.5 * (1 + cos(pi * 2 * s->cycles * p)));
    case CS_DECAY_POLYNOMIAL:
        break;
    }
    /* Past the end 1 - p is negative, and its power would grow again. */
    return p > 1 ? s->floor : (1 - s->floor) * pow(1 - p, s->power) + s->floor;
}
