/* variant_report.c - scored variants as an HTML page and as JSON: counts, distribution, the top
 * ones with the contributions of the bases around them.
 *
 * DESIGN: the page does not grow with the input: it counts, and keeps the windows of the variants
 * with the largest scores. Their mutants are records of one more stream, so that strands, batches
 * and threads are those of the run.
 */
#include "eval/variant_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/explain_plot.h"
#include "io/html.h"

enum { N_TOP = 20, N_PLOT = 10, FLANK = 25, N_OTHER = 3, ALLELE_SHOWN = 30 };

/* A variant with its windows. */
struct top {
    double   score;
    int      field;
    char    *contig, *id, *ref, *alt;
    int64_t  record_pos;         /* as in the record, 0-based */
    int8_t   strand;
    cs_window_pair pair;
    char    *window;             /* [2 * n_base] reference, alternate */
};

struct cs_variant_report {
    const cs_variant_values *values;
    int64_t    n_base;
    struct top top[N_TOP];       /* the largest score first */
    int        n_top;
};

/* ---- the top --------------------------------------------------------------------------------- */

cs_variant_report *cs_variant_report_new(const cs_variant_values *values, int64_t n_base)
{
    cs_variant_report *r = cs_xcalloc(1, sizeof *r);

    r->values = values;
    r->n_base = n_base;
    return r;
}

static void drop(struct top *t)
{
    CS_FREE(t->contig, t->id, t->ref, t->alt, t->window);
}

void cs_variant_report_free(cs_variant_report *r)
{
    for (int i = 0; r && i < r->n_top; i++)
        drop(&r->top[i]);
    free(r);
}

int cs_variant_report_add(cs_variant_report *r, const cs_variant_alt *v, const cs_record *rec)
{
    struct top t = { .record_pos = v->of->pos, .strand = rec->strand, .pair = v->pair };
    const size_t n = (size_t)r->n_base;
    int at = r->n_top;

    t.score = v->no < 0 ? NAN : cs_variant_values_best(r->values, v->no, &t.field);
    while (at > 0 && t.score > r->top[at - 1].score)
        at--;
    if (isnan(t.score) || at == N_TOP)
        return CS_OK;
    t.window = cs_alloc(2 * n, 1);
    if (!t.window)
        return cs_fail(CS_EMEM, "out of memory for the windows of top variants");
    for (size_t i = 0; i < 2; i++)
        memcpy(t.window + i * n, rec->seg[i].base, n);
    t.contig = cs_xstrdup(v->of->contig);
    t.id = cs_xstrdup(v->of->id);
    t.ref = cs_xstrdup(v->of->ref);
    t.alt = cs_xstrdup(v->of->alt[v->no]);
    if (r->n_top == N_TOP)
        drop(&r->top[--r->n_top]);
    memmove(&r->top[at + 1], &r->top[at], (size_t)(r->n_top - at) * sizeof t);
    r->top[at] = t;
    r->n_top++;
    return CS_OK;
}

/* ---- contributions --------------------------------------------------------------------------- */

/* A variant's plot: FLANK bases, the contig's allele, FLANK bases. */
static int64_t n_here(const struct top *t)
{
    return t->pair.swapped ? t->pair.n_alt : t->pair.n_ref;
}

static int64_t n_place(const struct top *t)
{
    return 2 * FLANK + n_here(t);
}

/* Offset of place i in the window of an allele of n bases; -1: inside the allele, or outside. */
static int64_t in_window(const struct top *t, int64_t i, int64_t n, int64_t n_base)
{
    const int64_t at = i < FLANK ? t->pair.at - FLANK + i
                     : i < FLANK + n_here(t) ? -1 : t->pair.at + n + i - FLANK - n_here(t);

    return at < n_base ? at : -1;
}

/* Mutants of the plotted variants, in order; and the sums of their logits. */
struct mutants {
    const cs_variant_report *r;
    int      variant, other;     /* the next one to make */
    int64_t  place;
    double  *sum[N_PLOT];        /* [n_place] */
    int      at_variant, n_done; /* the next variant, and how many are done */
    int64_t  at_place;
};

static int n_plot(const cs_variant_report *r)
{
    return r->n_top < N_PLOT ? r->n_top : N_PLOT;
}

/* Is the place in both windows, and its base known? */
static bool is_mutable(const cs_variant_report *r, const struct top *t, int64_t place,
                       int64_t where[2])
{
    where[0] = in_window(t, place, t->pair.n_ref, r->n_base);
    where[1] = in_window(t, place, t->pair.n_alt, r->n_base);
    return where[0] >= 0 && where[1] >= 0
        && cs_base_code[(unsigned char)t->window[where[0]]] < 4;
}

/* Step to the first place from (variant, place) on that has mutants. */
static bool find_place(const cs_variant_report *r, int *variant, int64_t *place)
{
    int64_t where[2];

    for (; *variant < n_plot(r); (*variant)++, *place = 0)
        for (; *place < n_place(&r->top[*variant]); (*place)++)
            if (is_mutable(r, &r->top[*variant], *place, where))
                return true;
    return false;
}

static int next_mutant(void *source, cs_chunk *c)
{
    struct mutants *m = source;
    const size_t n = (size_t)m->r->n_base;
    int64_t where[2];

    if (!find_place(m->r, &m->variant, &m->place))
        return CS_EOF;
    const struct top *t = &m->r->top[m->variant];
    char *base = cs_arena_dup(c->mem, t->window, 2 * n);
    cs_record *rec = cs_chunk_append(c);
    if (!base || !rec)
        return cs_fail(CS_EMEM, "out of memory for mutants of top variants");
    (void)is_mutable(m->r, t, m->place, where);
    const int is = cs_base_code[(unsigned char)base[where[0]]], other = (is + 1 + m->other) % 4;
    rec->name = "mutant";
    rec->strand = t->strand;
    rec->n_seg = 2;
    for (size_t i = 0; i < 2; i++) {
        char *letter = &base[i * n + (size_t)where[i]];
        *letter = (*letter >= 'a' ? "acgt" : "ACGT")[other];
        rec->seg[i] = (cs_segment){ base + i * n, NULL, m->r->n_base };
    }
    c->n_base += 2 * m->r->n_base;
    m->other = (m->other + 1) % N_OTHER;
    m->place += m->other == 0;
    return CS_OK;
}

static double logit(double p)
{
    const double q = fmin(fmax(p, 1e-9), 1 - 1e-9);

    return log(q / (1 - q));
}

static int take_output(void *arg, const cs_record *rec, const cs_prediction *a)
{
    struct mutants *m = arg;

    (void)rec;
    if (!find_place(m->r, &m->at_variant, &m->at_place))
        return CS_OK;
    const struct top *t = &m->r->top[m->at_variant];
    m->sum[m->at_variant][m->at_place] +=
        logit(t->score) - (a->reason ? logit(t->score) : logit((double)a->v[t->field]));
    m->n_done = (m->n_done + 1) % N_OTHER;
    m->at_place += m->n_done == 0;
    return CS_OK;
}

static int contribute(struct mutants *m, const cs_stream *like)
{
    cs_stream s = *like;
    cs_stream_stat stat;

    for (int i = 0; i < n_plot(m->r); i++)
        m->sum[i] = cs_xcalloc((size_t)n_place(&m->r->top[i]), sizeof **m->sum);
    s.next = next_mutant;
    s.source = m;
    s.in = s.second = NULL;
    s.sink = take_output;
    s.arg = m;
    const int rc = cs_stream_run(&s, &stat);
    for (int i = 0; rc == CS_OK && i < n_plot(m->r); i++)
        for (int64_t k = 0; k < n_place(&m->r->top[i]); k++)
            m->sum[i][k] /= N_OTHER;
    return rc;
}

/* ---- the page -------------------------------------------------------------------------------- */

static void shorten(const char *allele, char out[ALLELE_SHOWN + 24])
{
    const size_t n = strlen(allele);

    (void)snprintf(out, ALLELE_SHOWN + 24, n > ALLELE_SHOWN ? "%.*s... (%zu)" : "%.*s",
                   ALLELE_SHOWN, allele, n);
}

static int plot(const cs_variant_report *r, const struct top *t, const double *value,
                cs_outfile *f)
{
    int rc = CS_OK;
    char title[256], ref[ALLELE_SHOWN + 24], alt[ALLELE_SHOWN + 24];
    const int64_t n = n_place(t);
    const char *here = t->window + (t->pair.swapped ? r->n_base : 0);
    const int64_t skip = t->pair.pos < FLANK ? FLANK - t->pair.pos : 0;
    const cs_region at = { t->contig, t->pair.pos - FLANK + skip, t->pair.pos - FLANK + n };
    char *base = cs_xcalloc((size_t)n, 1);

    for (int64_t i = 0; i < n; i++) {
        const int64_t w = t->pair.at - FLANK + i;
        base[i] = w >= 0 && w < r->n_base ? here[w] : 'N';
    }
    shorten(t->ref, ref);
    shorten(t->alt, alt);
    (void)snprintf(title, sizeof title, "%.80s:%lld %s>%s", t->contig,
                   (long long)t->record_pos + 1, ref, alt);
    CS_TRY(cs_outfile_printf(f, "<figure class=\"wide\">\n"));
    CS_TRY(cs_logo_write(f, title, &at, base + skip, value + skip));
    rc = cs_outfile_printf(f, "</figure>\n");
out:
    free(base);
    return rc;
}

static int plots(const cs_variant_report *r, const cs_stream *like, cs_outfile *f)
{
    int rc = CS_OK;
    struct mutants m = { .r = r };

    CS_TRY(contribute(&m, like));
    CS_TRY(cs_html_section(f, "Contributions of bases"));
    CS_TRY(cs_outfile_printf(f, "<p>Contributions of the bases around the first %d variants: the "
               "logit of the score minus its mean with the three other bases in their place. "
               "Letters above the axis raise the score. The bases of the alleles have none.</p>\n",
               n_plot(r)));
    for (int i = 0; i < n_plot(r); i++)
        CS_TRY(plot(r, &r->top[i], m.sum[i], f));
out:
    for (int i = 0; i < N_PLOT; i++)
        free(m.sum[i]);
    return rc;
}

static int top_table(const cs_variant_report *r, cs_outfile *f)
{
    int rc = CS_OK;
    char ref[ALLELE_SHOWN + 24], alt[ALLELE_SHOWN + 24];

    CS_TRY(cs_html_section(f, "Top variants"));
    CS_TRY(cs_outfile_printf(f, "<table><tr><th>contig</th><th class=\"n\">position</th><th>ID</th>"
               "<th>REF</th><th>ALT</th><th>field</th><th class=\"n\">score</th></tr>\n"));
    for (int i = 0; i < r->n_top; i++) {
        const struct top *t = &r->top[i];
        shorten(t->ref, ref);
        shorten(t->alt, alt);
        CS_TRY(cs_outfile_printf(f, "<tr>"));
        CS_TRY(cs_html_cell(f, t->contig));
        CS_TRY(cs_outfile_printf(f, "<td class=\"n\">%lld</td>", (long long)t->record_pos + 1));
        CS_TRY(cs_html_cell(f, t->id));
        CS_TRY(cs_html_cell(f, ref));
        CS_TRY(cs_html_cell(f, alt));
        CS_TRY(cs_html_cell(f, r->values->field[t->field].id));
        CS_TRY(cs_outfile_printf(f, "<td class=\"n\">%.4f</td></tr>\n", t->score));
    }
    rc = cs_outfile_printf(f, "</table>\n");
out:
    return rc;
}

static int field_table(const cs_variant_values *v, cs_outfile *f)
{
    int rc = CS_OK;

    CS_TRY(cs_html_section(f, "Scores"));
    CS_TRY(cs_outfile_printf(f, "<table><tr><th>field</th><th>meaning</th>"));
    for (int l = 0; l < CS_N_LEVEL; l++)
        CS_TRY(cs_outfile_printf(f, "<th class=\"n\" colspan=\"2\">above %g</th>",
                                 cs_score_level[l]));
    CS_TRY(cs_outfile_printf(f, "</tr>\n"));
    for (int k = 0; k < v->n_score; k++) {
        CS_TRY(cs_outfile_printf(f, "<tr>"));
        CS_TRY(cs_html_cell(f, v->field[k].id));
        CS_TRY(cs_html_cell(f, v->field[k].description));
        for (int l = 0; l < CS_N_LEVEL; l++)
            CS_TRY(cs_html_count(f, v->above[k][l], v->n_scored));
        CS_TRY(cs_outfile_printf(f, "</tr>\n"));
    }
    CS_TRY(cs_outfile_printf(f, "</table>\n"));
    for (int k = 0; k < v->n_score && k < CS_HTML_LINES; k++)
        CS_TRY(cs_html_probabilities(f, &(cs_html_bars){
            .title = v->field[k].id, .axis = "score", .n = { v->bin[k], NULL },
            .name = { "alleles", NULL }, .n_bin = CS_SCORE_BINS }));
out:
    return rc;
}

static int reason_table(const cs_variant_values *v, cs_outfile *f)
{
    int rc = CS_OK;
    char name[CS_SKIP_BYTES];

    if (v->n_scored == v->n_alt)
        return CS_OK;
    CS_TRY(cs_html_section(f, "Alleles without a score"));
    CS_TRY(cs_outfile_printf(f, "<table><tr><th>reason</th><th>meaning</th><th class=\"n\" "
                             "colspan=\"2\">alleles</th></tr>\n"));
    for (int u = CS_SCORED + 1; u < (int)CS_N_UNSCORED + (int)CS_N_REASON; u++) {
        const bool here = u < CS_N_UNSCORED;
        const int reason = u - CS_N_UNSCORED;
        const uint64_t n = here ? v->n_unscored[u] : v->n_reason[reason];
        if (n == 0)
            continue;
        CS_TRY(cs_outfile_printf(f, "<tr>"));
        CS_TRY(cs_html_cell(f, here ? cs_unscored_name((cs_unscored)u)
                                    : cs_variant_reason((cs_reason)reason, name)));
        CS_TRY(cs_html_cell(f, here ? cs_unscored_help((cs_unscored)u)
                                    : cs_reason_help((cs_reason)reason)));
        CS_TRY(cs_html_count(f, n, v->n_alt));
        CS_TRY(cs_outfile_printf(f, "</tr>\n"));
    }
    rc = cs_outfile_printf(f, "</table>\n");
out:
    return rc;
}

int cs_variant_report_html(const cs_variant_report *r, cs_outfile *f, const cs_stream *like,
                           uint64_t n_record, const char *command)
{
    int rc = CS_OK;
    const cs_variant_values *v = r->values;

    CS_TRY(cs_html_begin(f, "chordseq variant"));
    CS_TRY(cs_outfile_printf(f, "<p>%llu %s with %llu alternative %s, of which %llu %s a "
               "score.</p>\n",
               (unsigned long long)n_record, CS_PLURAL(n_record, "record", "records"),
               (unsigned long long)v->n_alt, CS_PLURAL(v->n_alt, "allele", "alleles"),
               (unsigned long long)v->n_scored, CS_PLURAL(v->n_scored, "has", "have")));
    CS_TRY(cs_html_origin(f, command, like->model->sum));
    CS_TRY(field_table(v, f));
    CS_TRY(reason_table(v, f));
    if (r->n_top > 0) {
        CS_TRY(top_table(r, f));
        CS_TRY(plots(r, like, f));
    }
    rc = cs_html_end(f);
out:
    return rc;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *score_json(const cs_variant_values *v, int k)
{
    json_t *one = json_object(), *bins = json_array();
    char name[32];

    for (int i = 0; i < CS_SCORE_BINS; i++)
        json_array_append_new(bins, json_integer((json_int_t)v->bin[k][i]));
    for (int l = 0; l < CS_N_LEVEL; l++) {
        (void)snprintf(name, sizeof name, "above_%g", cs_score_level[l]);
        json_object_set_new(one, name, json_integer((json_int_t)v->above[k][l]));
    }
    json_object_set_new(one, "histogram", bins);
    return one;
}

void cs_variant_report_json(const cs_variant_values *v, uint64_t n_record, json_t *to)
{
    json_t *scores = json_object(), *reasons = json_object();
    char name[CS_SKIP_BYTES];

    for (int u = CS_SCORED + 1; u < CS_N_UNSCORED; u++)
        json_object_set_new(reasons, cs_unscored_name((cs_unscored)u),
                            json_integer((json_int_t)v->n_unscored[u]));
    for (int k = CS_REASON_NONE + 1; k < CS_N_REASON; k++)
        if (v->n_reason[k] > 0)
            json_object_set_new(reasons, cs_variant_reason((cs_reason)k, name),
                                json_integer((json_int_t)v->n_reason[k]));
    for (int k = 0; k < v->n_score && v->score == CS_SCORE_MODEL; k++)
        json_object_set_new(scores, v->field[k].id, score_json(v, k));
    json_object_set_new(to, "records", json_integer((json_int_t)n_record));
    json_object_set_new(to, "alleles", json_integer((json_int_t)v->n_alt));
    json_object_set_new(to, "scored", json_integer((json_int_t)v->n_scored));
    json_object_set_new(to, "swapped", json_integer((json_int_t)v->n_swapped));
    json_object_set_new(to, "reasons", reasons);
    json_object_set_new(to, "scores", scores);
}
