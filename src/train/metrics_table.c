/* metrics_table.c - metrics table of a training run: a row per epoch. */
#include "train/metrics_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/outfile.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "train/best.h"

/* Seconds between two lines: many small epochs would fill a screen. */
static const double LINE_S = 5;

static void cell(char *buf, size_t n, const char *fmt, double v)
{
    if (isfinite(v))
        (void)snprintf(buf, n, fmt, v);
    else
        (void)snprintf(buf, n, "NA");
}

static const char metrics_head[] =
    "epoch\tstep\tlr\ttrain_loss\ttrain_acc\tvalid_loss\tvalid_acc\tvalid_balanced_acc\t"
    "valid_mcc\tseconds\ttokens_per_s";

static bool has_values(const cs_head *head)
{
    return !head->is_class && !head->is_labels && !head->per_token;
}

/* The column after those of all runs, or NULL. */
static const char *more_column(const cs_loop_opt *o, const cs_head *head)
{
    return o->perplexity ? "valid_perplexity" : head->is_labels ? "valid_macro_auc"
         : has_values(head) ? "valid_r2" : NULL;
}

static double more_metric(const cs_loop_opt *o, const cs_head *head, const cs_metrics *f)
{
    return o->perplexity ? exp(f->loss) : head->is_labels ? f->macro_auc : f->r2;
}

/* Several values have a column of their own. */
static int32_t own_columns(const cs_model *m)
{
    return has_values(m->head) && m->n_label > 1 ? m->n_label : 0;
}

static void table_append(char *line, size_t n, const char *fmt, double v)
{
    const size_t at = strlen(line);

    if (isfinite(v))
        (void)snprintf(line + at, n - at, fmt, v);
}

void cs_epoch_log_flush(cs_epoch_log *log)
{
    if (log->line[0] != '\0')
        cs_note("%s", log->line);
    log->line[0] = '\0';
}

/* R2 of the values: the mean, and the lowest of several. */
static void append_r2(char *line, size_t n, const cs_model *m, const cs_metrics *f)
{
    const bool several = own_columns(m) > 0;
    int32_t least = -1;

    table_append(line, n, several ? ", mean R2 %.4f" : ", R2 %.4f", f->r2);
    for (int32_t i = 0; several && f->n > 0 && i < f->n_class; i++)
        if (!isnan(f->cls[i].r2) && (least < 0 || f->cls[i].r2 < f->cls[least].r2))
            least = i;
    if (least >= 0)
        (void)snprintf(line + strlen(line), n - strlen(line), " (lowest %.4f: %.40s)",
                       f->cls[least].r2, m->label[least].name);
}

static void log_epoch(const cs_loop_opt *o, const cs_model *m, const cs_metrics *f,
                      const cs_train_state *st, cs_epoch_log *log)
{
    const cs_head *head = m->head;
    char line[256] = "", speed[CS_SCALED_BYTES];
    const bool classes = head->is_class || head->is_labels;
    const double left = o->all_seconds - st->seconds;

    table_append(line, sizeof line, "loss %.4g", f->loss);
    if (o->perplexity)
        table_append(line, sizeof line, ", perplexity %.4g", exp(f->loss));
    if (classes)
        table_append(line, sizeof line, ", balanced accuracy %.4f", f->balanced);
    if (has_values(head))
        append_r2(line, sizeof line, m, f);
    /* With keep_last the latest model is the result, whatever the earlier ones reached. */
    if (!o->keep_last && cs_best_by_balanced(o, head))
        table_append(line, sizeof line, ", best %.4f", fmax(st->best_balanced, f->balanced));
    else if (!o->keep_last)
        table_append(line, sizeof line, ", lowest loss %.4g", fmin(st->best_loss, f->loss));
    table_append(line, sizeof line, "; bag %.4f", st->bag);
    table_append(line, sizeof line, "; regression on 5-mers %.4f", st->regression);
    (void)snprintf(line + strlen(line), sizeof line - strlen(line), "; %s",
                   cs_scaled_text((double)st->sum.n_base / fmax(st->epoch_seconds, 1e-9),
                                  "bases/s", speed, sizeof speed));
    table_append(line, sizeof line, ", %.0f %% of peak", 100 * st->peak_share);
    if (o->all_seconds > 0)
        table_append(line, sizeof line, ", %.0f s of the budget left", fmax(left, 0));
    else if (o->budget.n_base > 0)
        table_append(line, sizeof line, ", %.0f %% done",
                     fmin(100, 100 * (double)st->n_base / (double)o->budget.n_base));
    /* Without validation the text begins at the separator. */
    (void)snprintf(log->line, sizeof log->line, "%s, epoch %lld: %s", o->watch,
                   (long long)st->epoch + 1, line + (strncmp(line, "; ", 2) == 0 ? 2 : 0));
    if (cs_log_get_level() < CS_LOG_INFO && cs_now_s() - log->last < LINE_S)
        return;
    cs_epoch_log_flush(log);
    log->last = cs_now_s();
}

int cs_run_file_end(cs_outfile *f, const char *path, int rc)
{
    rc = cs_outfile_end(f, rc);
    if (rc != CS_ECANCEL || cs_signal_caught() != 0)
        return rc;
    return cs_fail(CS_EIO, "cannot write '%s': its reader closed it", path);
}

/* Appends to a text of memory that grows. */
static void add_text(char **text, const char *more)
{
    const size_t n = strlen(*text), n_more = strlen(more);

    *text = cs_xrealloc(*text, n + n_more + 1);
    memcpy(*text + n, more, n_more + 1);
}

static int write_table(const cs_loop_opt *o, const cs_model *m, const char *rows)
{
    int rc = CS_OK;
    const char *more = more_column(o, m->head);
    cs_outfile *out = NULL;

    CS_TRY(cs_outfile_open_as(o->metrics_path, NULL, CS_OUT_TABLE, &out));
    CS_TRY(cs_outfile_printf(out, "%s%s%s", metrics_head, more != NULL ? "\t" : "",
                             more != NULL ? more : ""));
    for (int32_t i = 0; i < own_columns(m); i++)
        CS_TRY(cs_outfile_printf(out, "\t%s:%s", more, m->label[i].name));
    CS_TRY(cs_outfile_printf(out, "\n%s", rows));
out:
    return cs_run_file_end(out, o->metrics_path, rc);
}

int cs_metrics_table_add(const cs_loop_opt *o, const cs_model *m, double lr, const cs_metrics *f,
                         cs_train_state *st, cs_epoch_log *log)
{
    const cs_head *head = m->head;
    const bool classes = head->is_class || head->is_labels;
    const char *more = more_column(o, head);
    char row[512], c[7][32];

    cell(c[0], sizeof c[0], "%.6g", st->sum.loss / st->sum.weight);
    cell(c[1], sizeof c[1], "%.4f", (double)st->sum.n_right / (double)st->sum.n_seen);
    cell(c[2], sizeof c[2], "%.6g", f->loss);
    cell(c[3], sizeof c[3], "%.4f", classes ? f->accuracy : f->within);
    cell(c[4], sizeof c[4], "%.4f", f->balanced);
    cell(c[5], sizeof c[5], "%.4f", f->mcc);
    if (more != NULL)
        cell(c[6], sizeof c[6], "%.5g", more_metric(o, head, f));
    (void)snprintf(row, sizeof row, "%lld\t%lld\t%.4g\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t%.0f%s%s",
                   (long long)st->epoch + 1, (long long)st->step, lr,
                   c[0], c[1], c[2], c[3], c[4], c[5], st->seconds,
                   (double)st->sum.n_token / fmax(st->epoch_seconds, 1e-9),
                   more != NULL ? "\t" : "", more != NULL ? c[6] : "");
    if (o->watch != NULL)
        log_epoch(o, m, f, st, log);
    cs_info("epoch %lld: train loss %s, accuracy %s; validation loss %s, accuracy %s, %s %s",
            (long long)st->epoch + 1, c[0], c[1], c[2], c[3],
            more != NULL ? more + strlen("valid_") : "balanced", more != NULL ? c[6] : c[4]);
    add_text(&st->log, row);
    for (int32_t i = 0; i < own_columns(m); i++) {
        cell(c[6], sizeof c[6], "%.5g", f->n > 0 ? f->cls[i].r2 : NAN);
        add_text(&st->log, "\t");
        add_text(&st->log, c[6]);
    }
    add_text(&st->log, "\n");
    return o->metrics_path != NULL ? write_table(o, m, st->log) : CS_OK;
}
