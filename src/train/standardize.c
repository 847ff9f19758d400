/* standardize.c - means and standard deviations of values to predict. */
#include "train/standardize.h"

#include <math.h>

#include "base/log.h"

/* Mean and standard deviation of value t over the training records; the number that have it. */
static int64_t moments(const cs_dataset *d, int32_t t, double *mean, double *deviation)
{
    int64_t n = 0;
    double squares = 0;

    *mean = 0;
    for (int64_t i = 0; i < d->n; i++) {
        const double v = (double)d->ex[i].target[t];
        if (d->ex[i].part != CS_PART_TRAIN || isnan(v))
            continue;
        const double off = v - *mean;
        n++;
        *mean += off / (double)n;
        squares += off * (v - *mean);
    }
    *deviation = n > 0 ? sqrt(squares / (double)n) : 0;
    return n;
}

void cs_standardize_labels(const cs_dataset *d, cs_label *label)
{
    for (int32_t t = 0; t < d->n_target; t++)
        if (moments(d, t, &label[t].mean, &label[t].deviation) > 0 && label[t].deviation == 0)
            label[t].deviation = 1;
}

/* The output starts near 0 with a spread of about 1, and one step of Adam moves a weight by the
 * learning rate at most: numbers of other sizes are not reached. The loss sums squared errors, so
 * the value of the largest size decides. */
void cs_standardize_check(const cs_dataset *d, const cs_model *m, const char *remedy)
{
    const double far = 100, uneven = 10;
    double mean, deviation, least = INFINITY, most = 0;
    int32_t n = 0;
    char first[192] = "";

    for (int32_t t = 0; t < d->n_target; t++) {
        const cs_label *l = &m->label[t];
        if (moments(d, t, &mean, &deviation) == 0)
            continue;            /* reported by cs_labelled_check_split() */
        mean = cs_label_standardize(l, mean);
        deviation /= l->deviation > 0 ? l->deviation : 1;
        least = deviation > 0 && deviation < least ? deviation : least;
        most = deviation > most ? deviation : most;
        if (fabs(mean) <= far && deviation <= far && (deviation == 0 || deviation >= 1 / far))
            continue;
        if (n++ == 0)
            (void)snprintf(first, sizeof first, "'%.60s' has a mean of %.3g and a standard "
                           "deviation of %.3g%s", l->name, mean, deviation,
                           l->deviation > 0 ? ", standardized as for the initial model" : "");
    }
    if (n > 0)
        cs_warn("%d of %d values to predict %s far from a mean of 0 or a standard deviation of 1: "
                "%s; %s", (int)n, (int)d->n_target, CS_PLURAL(n, "is", "are"), first, remedy);
    else if (most > uneven * least)
        cs_warn("the values to predict have standard deviations from %.3g to %.3g, and the largest "
                "decides the loss; %s", least, most, remedy);
}
