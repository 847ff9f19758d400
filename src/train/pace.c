/* pace.c - training budget in time or bases, and the learning rate within it. */
#include "train/pace.h"

#include <math.h>
#include <string.h>

#include "base/opt.h"

/* Validations per budget; a validation takes at most a share of 1 / (1 + EACH) of the time; time
 * reserved for the last one at least until one is measured; a base in training costs as much as
 * three in a validation; steps of a schedule by share. */
enum { VALIDATIONS = 12, EACH = 5, TRAINING_COST = 3, PARTS = 1 << 20 };
static const double UNTIMED = 0.05;

/* Annealing takes at least this share of the budget. */
static const double ANNEAL_MIN = 0.02;

/* The sum of numbers with units from days to seconds, each unit once, as in 1h30m; 0: no such
 * text. */
static double duration(const char *text)
{
    static const struct { char unit; double seconds; } times[] = {
        { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 },
    };
    enum { N = sizeof times / sizeof *times };
    double sum = 0, v;
    size_t n;

    for (size_t i = 0; *text != '\0'; text += n + 1, i++) {
        char number[32];
        n = strcspn(text, "dhms");
        while (i < N && times[i].unit != text[n])
            i++;
        if (i == N || n >= sizeof number)
            return 0;
        (void)snprintf(number, sizeof number, "%.*s", (int)n, text);
        if (cs_parse_real(number, &v) != CS_OK || !(v > 0))
            return 0;
        sum += v * times[i].seconds;
    }
    return sum;
}

int cs_train_budget_parse(const char *text, cs_train_budget *b)
{
    const size_t n = strlen(text);

    *b = (cs_train_budget){ .seconds = duration(text) };
    if (b->seconds <= 0 && n > 0 && strchr("kMGT", text[n - 1]) != NULL &&
        cs_parse_size(text, &b->n_base) != CS_OK)
        b->n_base = 0;
    if (!cs_train_budget_set(b))
        return cs_fail(CS_EUSAGE, "bad value '%s' for option '--budget': it takes a duration "
                       "(90s, 10m, 1h30m, 1d) or a number of bases (500M, 2G)", text);
    return CS_OK;
}

int cs_train_budget_check(const cs_train_budget *b, double spent)
{
    if (b->seconds <= 0 || spent < b->seconds)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "a budget of %g s ends before the first step; increase it",
                   b->seconds);
}

/* Seconds of a validation: measured or estimated; 0: unknown. */
static double validation_time(const cs_pace *p, const cs_train_state *st)
{
    return st->valid_seconds > 0 || st->sum.n_base == 0 ? st->valid_seconds
         : p->valid_bases * st->epoch_seconds / (double)st->sum.n_base / TRAINING_COST;
}

static double pace_spent(const cs_pace *p, const cs_train_state *st, double clock)
{
    const cs_train_budget *b = &p->budget;

    if (b->n_base > 0)
        return (double)st->n_base / (double)b->n_base;
    const double all = fmax(b->seconds - st->began, 1e-9);
    const double last = fmax((1 + p->after.n_valid) * validation_time(p, st) + p->after.seconds,
                             st->valid_seconds > 0 ? 0 : UNTIMED * all);
    return (clock - st->began) / fmax(all - last, 0.1 * all);
}

double cs_pace_done(const cs_pace *p, const cs_train_state *st, double clock)
{
    if (!cs_train_budget_set(&p->budget))
        return 0;
    const double spent = pace_spent(p, st, clock), past = spent - st->anneal_from;
    return fmin(1, st->anneal_rate > 0 ? st->anneal_from + fmax(0, past) * st->anneal_rate : spent);
}

bool cs_pace_anneal(const cs_pace *p, cs_train_state *st, double done)
{
    if (!cs_train_budget_set(&p->budget) || p->schedule.kind == CS_DECAY_CONSTANT ||
        st->anneal_rate > 0 || done >= 1)
        return false;
    st->anneal_from = done;
    st->anneal_rate = fmax(1, (1 - done) / fmax(st->best_done, ANNEAL_MIN));
    return true;
}

double cs_pace_factor(const cs_pace *p, int64_t t, double done)
{
    cs_schedule s = p->schedule;

    if (!cs_train_budget_set(&p->budget))
        return cs_schedule_factor(&s, t);
    if (p->warmup >= 1 && (double)t < p->warmup)
        return (double)t / p->warmup;
    s.total = PARTS;
    s.warmup = p->warmup < 1 ? llround(p->warmup * PARTS) : 0;
    return cs_schedule_factor(&s, llround(done * PARTS));
}

bool cs_pace_too_late(const cs_pace *p, const cs_train_state *st, double clock)
{
    return p->budget.seconds > 0 && st->epoch == 0 && isfinite(st->best) &&
           cs_pace_done(p, st, clock) >= 1 &&
           clock + validation_time(p, st) > p->budget.seconds;
}

bool cs_pace_validates(const cs_pace *p, const cs_train_state *st, double done)
{
    if (!cs_train_budget_set(&p->budget))
        return false;
    if (done >= 1)
        return true;
    return done - st->done_before >= 1.0 / VALIDATIONS &&
           (p->budget.n_base > 0 || st->epoch_seconds >= EACH * validation_time(p, st));
}
