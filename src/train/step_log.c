/* step_log.c - logs of a training run by step: a table, TensorBoard events. */
#include "train/step_log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "train/tensorboard.h"

struct cs_step_log { FILE *table; const char *path; cs_tensorboard *events; };

static const char head[] = "step\tepoch\tlr\ttrain_loss\ttrain_acc\tgrad_norm\tbases\tseconds\n";

static int fail(const cs_step_log *l, const char *what)
{
    return cs_fail(CS_EIO, "cannot %s '%s': %s", what, l->path, strerror(errno));
}

/* Truncates the table to the rows up to a step. */
static int truncate_table(cs_step_log *l, int64_t step)
{
    char *line = NULL;
    size_t n_line = 0;
    long at = 0;
    long long no;

    while (getline(&line, &n_line, l->table) > 0 && strchr(line, '\n') != NULL &&
           (at == 0 || (sscanf(line, "%lld", &no) == 1 && no <= step)))
        at = ftell(l->table);
    free(line);
    if (ftruncate(fileno(l->table), at) != 0 || fseek(l->table, at, SEEK_SET) != 0)
        return fail(l, "write");
    return at > 0 || fputs(head, l->table) >= 0 ? CS_OK : fail(l, "write");
}

static int open_table(cs_step_log *l, bool resume, int64_t step)
{
    if (resume && (l->table = fopen(l->path, "r+e")) != NULL)
        return truncate_table(l, step);
    l->table = fopen(l->path, "we");
    if (l->table == NULL)
        return fail(l, "create");
    return fputs(head, l->table) >= 0 ? CS_OK : fail(l, "write");
}

int cs_step_log_open(const cs_loop_opt *o, int64_t step, cs_step_log **out)
{
    int rc = CS_OK;
    cs_step_log *l = cs_xcalloc(1, sizeof *l);

    *out = NULL;
    l->path = o->steps_path;
    if (o->steps_path != NULL)
        CS_TRY(open_table(l, o->resume, step));
    if (o->events_path != NULL)
        CS_TRY(cs_tensorboard_open(o->events_path, &l->events));
    if (l->table != NULL || l->events != NULL) {
        *out = l;
        l = NULL;
    }
out:
    cs_step_log_close(l);
    return rc;
}

void cs_step_log_close(cs_step_log *l)
{
    if (l == NULL)
        return;
    if (l->table != NULL)
        (void)fclose(l->table);
    cs_tensorboard_close(l->events);
    free(l);
}

static void cell(char *buf, size_t n, double v)
{
    if (isfinite(v))
        (void)snprintf(buf, n, "%.6g", v);
    else
        (void)snprintf(buf, n, "NA");
}

int cs_step_log_step(cs_step_log *l, const cs_train_state *st, const cs_train_sums *sum, double lr,
                     double norm)
{
    int rc = CS_OK;
    const double v[] = { lr, sum->loss / sum->weight, (double)sum->n_right / (double)sum->n_seen,
                         norm };
    static const char *const tag[] = { "train/lr", "train/loss", "train/accuracy",
                                       "train/gradient_norm" };
    char c[4][32];

    if (l == NULL)
        return CS_OK;
    for (int i = 0; i < 4; i++) {
        cell(c[i], sizeof c[i], v[i]);
        if (l->events != NULL)
            CS_TRY(cs_tensorboard_add(l->events, st->step, tag[i], v[i]));
    }
    if (l->table != NULL &&
        fprintf(l->table, "%lld\t%lld\t%s\t%s\t%s\t%s\t%lld\t%.1f\n", (long long)st->step,
                (long long)st->epoch + 1, c[0], c[1], c[2], c[3], (long long)st->n_base,
                st->seconds) < 0)
        rc = fail(l, "write");
out:
    return rc;
}

int cs_step_log_flush(cs_step_log *l)
{
    if (l == NULL)
        return CS_OK;
    if (l->table != NULL && fflush(l->table) != 0)
        return fail(l, "write");
    return l->events != NULL ? cs_tensorboard_flush(l->events) : CS_OK;
}

/* R2 of values: the mean, and of several each. */
static int add_r2(cs_step_log *l, const cs_model *m, const cs_train_state *st, const cs_metrics *f)
{
    int rc = CS_OK;
    char tag[256];

    if (m->head->is_class || m->head->is_labels || m->head->per_token || f->n == 0)
        return CS_OK;
    CS_TRY(cs_tensorboard_add(l->events, st->step, "valid/r2", f->r2));
    for (int32_t i = 0; m->n_label > 1 && i < m->n_label; i++) {
        /* The number distinguishes long names that begin alike. */
        if (snprintf(tag, sizeof tag, "valid/r2/%s", m->label[i].name) > CS_TENSORBOARD_TAG)
            (void)snprintf(tag, sizeof tag, "valid/r2/%d %s", (int)i + 1, m->label[i].name);
        CS_TRY(cs_tensorboard_add(l->events, st->step, tag, f->cls[i].r2));
    }
out:
    return rc;
}

int cs_step_log_epoch(cs_step_log *l, const cs_model *m, const cs_train_state *st,
                      const cs_metrics *f)
{
    int rc = CS_OK;

    if (l == NULL || l->events == NULL)
        return cs_step_log_flush(l);
    CS_TRY(cs_tensorboard_add(l->events, st->step, "valid/loss", f->loss));
    CS_TRY(cs_tensorboard_add(l->events, st->step, "valid/accuracy",
                              isnan(f->accuracy) ? f->within : f->accuracy));
    CS_TRY(cs_tensorboard_add(l->events, st->step, "valid/balanced_accuracy", f->balanced));
    CS_TRY(add_r2(l, m, st, f));
    CS_TRY(cs_tensorboard_add(l->events, st->step, "baseline/regression", st->regression));
    CS_TRY(cs_tensorboard_add(l->events, st->step, "baseline/bag_of_words", st->bag));
    CS_TRY(cs_tensorboard_add(l->events, st->step, "speed/bases_per_second",
                              (double)st->sum.n_base / fmax(st->epoch_seconds, 1e-9)));
    CS_TRY(cs_tensorboard_add(l->events, st->step, "speed/share_of_peak", st->peak_share));
    rc = cs_step_log_flush(l);
out:
    return rc;
}
