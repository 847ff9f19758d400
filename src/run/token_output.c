/* token_output.c - predictions per token or part as BED, bedGraph, or a table. */
#include "run/token_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Tokenise again: a token's bases may depend on it, and tokenising is cheap against the network. */
static int find_cells(cs_token_output *o, const cs_record *r, int64_t n)
{
    const cs_tokenizer *t = o->model->tok;
    const void *state = o->model->tok_state;
    const cs_segment *s = &r->seg[0];

    if (cs_grow((void **)&o->id, &o->n_id, (size_t)t->bound(state, s->n_base),
                sizeof *o->id) != CS_OK ||
        cs_grow(&o->work, &o->n_work, cs_tokenizer_work(t, state, s->n_base), 1) != CS_OK ||
        cs_grow((void **)&o->cell, &o->n_cell, (size_t)n + 1, sizeof *o->cell) != CS_OK)
        return CS_EMEM;
    CS_BUG(t->encode(state, s, o->work, o->id) != n);
    t->cells(state, s, o->id, n, o->cell);
    return CS_OK;
}

/* Runs of one class: BED's six columns, with 1000 times the mean probability over the run's bases
 * as the score (0 if it is not finite, which --check-finite off lets pass), and that probability
 * itself. */
static int put_runs(cs_token_output *o, const char *name, const float *p, const int64_t *cell,
                    int64_t n)
{
    const int32_t k = o->model->n_label;
    int rc = CS_OK;

    for (int64_t i = 0, end; i < n; i = end) {
        const int32_t c = cs_argmax(p + i * k, k);
        double sum = 0;
        for (end = i; end < n && cs_argmax(p + end * k, k) == c; end++)
            sum += (double)p[end * k + c] * (double)(cell[end + 1] - cell[end]);
        const double mean = sum / (double)(cell[end] - cell[i]);
        const int score = isfinite(mean) ? (int)(1000 * mean + 0.5) : 0;
        CS_TRY(cs_outfile_printf(o->file, "%s\t%lld\t%lld\t%s\t%d\t.\t%.6f\n", name,
                                 (long long)cell[i], (long long)cell[end],
                                 o->model->label[c].name, score, mean));
    }
out:
    return rc;
}

/* A row of the table, after its position. */
static int put_values(cs_token_output *o, const float *p)
{
    const int32_t k = o->model->n_label;
    int rc = CS_OK;

    CS_TRY(cs_outfile_text(o->file, "\t"));
    CS_TRY(cs_outfile_text(o->file, o->model->label[cs_argmax(p, k)].name));
    for (int32_t c = 0; c < k; c++) {
        CS_TRY(cs_outfile_text(o->file, "\t"));
        CS_TRY(cs_outfile_millionths(o->file, p[c]));
    }
    rc = cs_outfile_text(o->file, "\n");
out:
    return rc;
}

static int put_position(cs_token_output *o, int64_t at)
{
    const int rc = cs_outfile_text(o->file, "\t");

    return rc == CS_OK ? cs_outfile_int(o->file, at) : rc;
}

static int put_table(cs_token_output *o, const char *name, const float *p, const int64_t *cell,
                     int64_t n)
{
    int rc = CS_OK;

    for (int64_t i = 0; i < n; i++, p += o->model->n_label) {
        if (o->parts) {
            CS_TRY(cs_outfile_text(o->file, name));
            CS_TRY(put_position(o, cell[i]));
            CS_TRY(put_position(o, cell[i + 1]));
            CS_TRY(put_values(o, p));
        }
        for (int64_t at = cell[i]; !o->parts && at < cell[i + 1]; at++) {
            CS_TRY(cs_outfile_text(o->file, name));
            CS_TRY(put_position(o, at));
            CS_TRY(put_values(o, p));
        }
    }
out:
    return rc;
}

static int put_graph(cs_token_output *o, const char *name, const float *p, const int64_t *cell,
                     int64_t n)
{
    const int32_t k = o->model->n_label;
    int rc = CS_OK;

    for (int64_t i = 0; i < n; i++) {
        CS_TRY(cs_outfile_text(o->file, name));
        CS_TRY(put_position(o, cell[i]));
        CS_TRY(put_position(o, cell[i + 1]));
        CS_TRY(cs_outfile_text(o->file, "\t"));
        CS_TRY(cs_outfile_millionths(o->file, p[i * k + o->shown]));
        CS_TRY(cs_outfile_text(o->file, "\n"));
    }
out:
    return rc;
}

cs_token_format cs_token_format_of(cs_token_format given, const char *path)
{
    static const struct { const char *suffix; cs_token_format format; } known[] = {
        { ".tsv", CS_TOKENS_TSV }, { ".csv", CS_TOKENS_TSV }, { ".bedgraph", CS_TOKENS_BEDGRAPH },
        { ".bdg", CS_TOKENS_BEDGRAPH }, { ".bg", CS_TOKENS_BEDGRAPH },
    };

    if (given != CS_TOKENS_AUTO)
        return given;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (cs_out_ends(path, known[i].suffix))
            return known[i].format;
    return CS_TOKENS_BED;
}

static int put_header(cs_token_output *o)
{
    int rc = CS_OK;

    if (o->format != CS_TOKENS_TSV)
        return CS_OK;
    CS_TRY(cs_outfile_printf(o->file, "record\t%s\tclass", o->parts ? "start\tend"
                                                                           : "position"));
    for (int32_t c = 0; c < o->model->n_label; c++)
        CS_TRY(cs_outfile_printf(o->file, "\t%s", o->model->label[c].name));
    rc = cs_outfile_printf(o->file, "\n");
out:
    return rc;
}

int cs_token_output_open(cs_token_output *o, const char *path)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_open_as(path, NULL, o->format == CS_TOKENS_TSV ? CS_OUT_TABLE : CS_OUT_BED,
                              &o->file));
    rc = put_header(o);
out:
    return rc;
}

int cs_token_output_parts(cs_token_output *o, const char *name, const cs_prediction *a,
                          const int64_t *cell)
{
    const int64_t n = a->n / o->model->n_label;

    if (o->format == CS_TOKENS_TSV)
        return put_table(o, name, a->v, cell, n);
    return o->format == CS_TOKENS_BED ? put_runs(o, name, a->v, cell, n)
                                      : put_graph(o, name, a->v, cell, n);
}

int cs_token_output_record(cs_token_output *o, const cs_record *r, const cs_prediction *a)
{
    const int rc = find_cells(o, r, a->n / o->model->n_label);

    return rc == CS_OK ? cs_token_output_parts(o, cs_record_name(r), a, o->cell) : rc;
}

int cs_token_output_close(cs_token_output *o)
{
    const int rc = cs_outfile_close(o->file);

    o->file = NULL;
    return rc;
}

void cs_token_output_release(cs_token_output *o)
{
    cs_outfile_discard(o->file);
    CS_FREE(o->id, o->work, o->cell);
}
