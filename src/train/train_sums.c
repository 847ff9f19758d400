/* train_sums.c - sums over training batches, for the metrics of steps and epochs. */
#include "train/train_sums.h"

#include <math.h>

#include "io/prediction.h"

static bool hit(const cs_train_sums_rule *r, const float *output, const float *target)
{
    return cs_argmax(output, r->model->n_label) == (int32_t)target[0];
}

static void count_records(const cs_train_sums_rule *rule, const cs_batch *b, const float *output,
                          cs_train_sums *sum)
{
    for (int32_t i = 0; i < b->n_rec; i++) {
        const float *target = b->target + (int64_t)i * b->n_target;
        sum->n_right += hit(rule, output + (int64_t)i * rule->model->n_label, target);
        sum->weight += rule->weight != NULL ? (double)rule->weight[(int32_t)target[0]] : 1;
    }
    sum->n_seen += b->n_rec;
}

/* Every known value is a hit or a miss, as in validation. */
static void count_values(const cs_train_sums_rule *rule, const cs_batch *b, const float *output,
                         cs_train_sums *sum)
{
    const int64_t n = (int64_t)b->n_rec * b->n_target;

    for (int64_t i = 0; i < n; i++) {
        if (isnan(b->target[i]))
            continue;
        sum->n_right += fabs((double)output[i] - (double)b->target[i]) < rule->tolerance;
        sum->n_seen++;
        sum->weight += 1 / (double)b->n_target;
    }
}

/* Every known target is a hit or a miss, with its weight in the head's loss. */
static void count_labels(const cs_train_sums_rule *rule, const cs_batch *b, const float *output,
                         cs_train_sums *sum)
{
    const int64_t n = (int64_t)b->n_rec * b->n_target;
    const double weight = rule->model->head->adds_labels ? 1 : 1 / (double)b->n_target;

    for (int64_t i = 0; i < n; i++) {
        if (isnan(b->target[i]))
            continue;
        sum->n_right += (output[i] >= 0.5F) == (b->target[i] > 0);
        sum->n_seen++;
        sum->weight += weight;
    }
}

/* Tokens are hits or misses; the loss is per record, with equal weights of its tokens. A record
 * without known tokens has none. */
static void count_tokens(const cs_train_sums_rule *rule, const cs_batch *b, const float *output,
                         cs_train_sums *sum)
{
    for (int32_t r = 0; r < b->n_rec; r++) {
        const int64_t n_before = sum->n_seen;
        for (int64_t t = b->off[r]; t < b->off[r + 1]; t++) {
            if (b->label[t] < 0)
                continue;
            const float truth = (float)b->label[t];
            sum->n_right += hit(rule, output + t * rule->model->n_label, &truth);
            sum->n_seen++;
        }
        sum->weight += sum->n_seen > n_before;
    }
}

void cs_train_sums_add_batch(const cs_train_sums_rule *r, const cs_batch *b, const float *output,
                             cs_train_sums *sum)
{
    if (b->label != NULL)
        count_tokens(r, b, output, sum);
    else if (r->model->head->is_labels)
        count_labels(r, b, output, sum);
    else if (!r->model->head->is_class)
        count_values(r, b, output, sum);
    else
        count_records(r, b, output, sum);
}
