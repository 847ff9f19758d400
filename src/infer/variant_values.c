/* variant_values.c - INFO fields of scored VCF records: values, or the reason for none. */
#include "infer/variant_values.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/class_counts.h"

const double cs_score_level[CS_N_LEVEL] = { 0.5, 0.8 };

enum { REASON_BYTES = 512 };

/* ---- fields ---------------------------------------------------------------------------------- */

/* A label as a key: letters, digits, '_' and '.'. */
static char *key_of(const char *prefix, const char *name)
{
    const size_t n = strlen(prefix) + strlen(name) + 1;
    char *key = cs_xmalloc(n);

    (void)snprintf(key, n, "%s%s", prefix, name);
    for (char *p = key; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '.')
            *p = '_';
    return key;
}

/* In a description quotes and backslashes are escaped. */
static char *escaped(const char *text)
{
    char *copy = cs_xmalloc(2 * strlen(text) + 1), *to = copy;

    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            *to++ = '\\';
        *to++ = *text;
    }
    *to = '\0';
    return copy;
}

/* Fields of v, named after the labels of m, with keys that begin with the prefix. */
struct fields { cs_variant_values *v; const cs_model *m; const char *prefix; };

static void add_field(const struct fields *o, const char *name, const char *text,
                      const char *label, cs_vcf_type type)
{
    cs_variant_values *v = o->v;
    char description[512];

    (void)snprintf(description, sizeof description, "%s%s (%s sha256 %.12s)", text, label,
                   o->m->demonstration ? "demonstration model, not for real data," : "model",
                   o->m->sum);
    v->field = cs_xrealloc(v->field, (size_t)(v->n_field + 1) * sizeof *v->field);
    v->field[v->n_field++] = (cs_vcf_field){ key_of(o->prefix, name), escaped(description), type,
                                             false };
}

const char *cs_variant_reason(cs_reason reason, char text[CS_SKIP_BYTES])
{
    (void)snprintf(text, CS_SKIP_BYTES, "%s", cs_reason_name(reason));
    for (char *p = text; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return text;
}

/* Of the reasons of windows those that one of the model's length can have. */
static void list_reasons(char *text, size_t n_text)
{
    static const cs_reason of_window[] = {
        CS_REASON_ALL_N, CS_REASON_MOSTLY_N, CS_REASON_NO_TOKEN, CS_REASON_NO_MEMORY
    };
    size_t n = (size_t)snprintf(text, n_text, "Why there is no score:");
    char key[CS_SKIP_BYTES];

    for (int u = CS_SCORED + 1; u < CS_N_UNSCORED && n < n_text; u++)
        n += (size_t)snprintf(text + n, n_text - n, " %s", cs_unscored_name((cs_unscored)u));
    for (size_t i = 0; i < sizeof of_window / sizeof *of_window && n < n_text; i++)
        n += (size_t)snprintf(text + n, n_text - n, " %s", cs_variant_reason(of_window[i], key));
}

/* The only label of a table without label names. */
static bool is_unnamed(const cs_model *m)
{
    return m->n_label == 1 && strcmp(m->label[0].name, CS_UNNAMED_EFFECT) == 0;
}

static void add_scores(const struct fields *o)
{
    const cs_model *m = o->m;

    if (o->v->score == CS_SCORE_LLR)
        add_field(o, "LLR", "Log-likelihood ratio of ALT against REF, both hidden", "",
                  CS_VCF_FLOAT);
    if (o->v->score == CS_SCORE_EMBEDDING) {
        add_field(o, "L2", "Euclidean distance of the vectors of reference and alternate", "",
                  CS_VCF_FLOAT);
        add_field(o, "COS", "1 - cosine of the vectors of reference and alternate", "",
                  CS_VCF_FLOAT);
    }
    const int32_t n = cs_model_n_score(m);
    for (int32_t i = 0; o->v->score == CS_SCORE_MODEL && i < n; i++) {
        const cs_label *l = &m->label[i];
        add_field(o, is_unnamed(m) ? "SCORE" : l->name,
                  l->description ? l->description : "Score of the variant for ",
                  l->description ? "" : l->name, CS_VCF_FLOAT);
    }
}

int cs_variant_values_init(cs_variant_values *v, const cs_model *m, const char *prefix)
{
    const struct fields o = { v, m, prefix };
    char why[400];

    add_scores(&o);
    v->n_score = v->n_field;
    list_reasons(why, sizeof why);
    add_field(&o, "SKIP", why, "", CS_VCF_STRING);
    add_field(&o, "SWAPPED", "1: the reference has ALT, not REF, which was put in its place", "",
              CS_VCF_INTEGER);
    for (int i = 0; i < v->n_field; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(v->field[i].id, v->field[k].id) == 0)
                return cs_fail(CS_EMODEL, "two labels of the model map to the INFO key '%s'",
                               v->field[i].id);
    v->value = cs_xcalloc((size_t)v->n_field, sizeof *v->value);
    v->number = cs_xcalloc((size_t)v->n_field, sizeof *v->number);
    v->bin = cs_xcalloc((size_t)v->n_score + 1, sizeof *v->bin);
    v->above = cs_xcalloc((size_t)v->n_score + 1, sizeof *v->above);
    return CS_OK;
}

int cs_variant_values_choose(cs_variant_values *v, const char *list)
{
    int rc = CS_OK;
    char *copy = cs_xstrdup(list ? list : ""), *save = NULL, all[512];
    size_t n = 0;

    for (int k = 0; k < v->n_field; k++) {
        v->field[k].hidden = list != NULL;
        if (n < sizeof all)
            n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", k > 0 ? ", " : "",
                                  v->field[k].id);
    }
    for (char *s = strtok_r(copy, ",", &save); s && rc == CS_OK; s = strtok_r(NULL, ",", &save)) {
        int k = 0;
        while (k < v->n_field && strcmp(v->field[k].id, s) != 0)
            k++;
        if (k == v->n_field)
            rc = cs_fail(CS_EUSAGE, "--fields: there is no field '%s'; choose from %s", s, all);
        else
            v->field[k].hidden = false;
    }
    free(copy);
    return rc;
}

void cs_variant_values_release(cs_variant_values *v)
{
    for (int i = 0; i < v->n_field; i++) {
        free(v->field[i].id);
        free(v->field[i].description);
        if (v->number)
            free(v->number[i]);
    }
    CS_FREE(v->field, v->value, v->number, v->reason, v->reason_text, v->bin, v->above);
}

/* ---- records --------------------------------------------------------------------------------- */

static void reserve_values(cs_variant_values *v, int n_alt)
{
    if (n_alt <= v->cap)
        return;
    for (int i = 0; i < v->n_field; i++) {
        v->number[i] = cs_xrealloc(v->number[i], (size_t)n_alt * sizeof **v->number);
        v->value[i].v = v->number[i];
    }
    v->reason = cs_xrealloc(v->reason, (size_t)n_alt * sizeof *v->reason);
    v->reason_text = cs_xrealloc(v->reason_text, (size_t)n_alt * sizeof *v->reason_text);
    v->value[v->n_score].text = v->reason;
    v->cap = n_alt;
}

static void set_reason(cs_variant_values *v, int i, const cs_window_pair *pair, cs_reason reason)
{
    char *text = v->reason_text[i];

    v->reason[i] = NULL;
    if (!pair->why && !reason)
        return;
    v->reason[i] = text;
    if (pair->why) {
        (void)snprintf(text, CS_SKIP_BYTES, "%s%s%s", cs_unscored_name(pair->why),
                       pair->found[0] ? ":" : "", pair->found);
        v->n_unscored[pair->why]++;
        return;
    }
    (void)cs_variant_reason(reason, text);
    v->n_reason[reason]++;
}

double cs_variant_values_best(const cs_variant_values *v, int alt, int *field)
{
    *field = 0;
    for (int k = 1; k < v->n_score; k++)
        if (v->number[k][alt] > v->number[*field][alt])
            *field = k;
    return v->number[*field][alt];
}

static void count_scores(cs_variant_values *v, int i)
{
    int best;
    const double max = cs_variant_values_best(v, i, &best);

    v->n_scored++;
    for (int k = 0; k < v->n_score && v->score == CS_SCORE_MODEL; k++)
        v->bin[k][cs_prob_bin(v->number[k][i])]++;
    for (int l = 0; l < CS_N_LEVEL && v->score == CS_SCORE_MODEL; l++) {
        for (int k = 0; k < v->n_score; k++)
            v->above[k][l] += v->number[k][i] > cs_score_level[l];
        v->above[v->n_score][l] += max > cs_score_level[l];
    }
}

static void set_values(cs_variant_values *v, const cs_variant_alt *alt, const cs_prediction *a)
{
    const int i = alt->no;
    const bool scored = !alt->pair.why && !a->reason;

    for (int k = 0; k < v->n_score; k++)
        v->number[k][i] = scored && v->score == CS_SCORE_MODEL ? (double)a->v[k] : NAN;
    if (scored && v->score == CS_SCORE_LLR)
        v->number[0][i] = cs_variants_ratio(alt, a);
    if (scored && v->score == CS_SCORE_EMBEDDING)
        cs_variants_distance(a->v, a->v + v->width, v->width, &v->number[0][i], &v->number[1][i]);
    set_reason(v, i, &alt->pair, a->reason);
    v->number[v->n_score + 1][i] = alt->pair.swapped ? 1 : NAN;
    v->n_swapped += alt->pair.swapped;
    v->n_alt++;
    if (scored)
        count_scores(v, i);
}

void cs_variant_values_set(cs_variant_values *v, const cs_variant_alt *alt, const cs_prediction *a)
{
    reserve_values(v, alt->of->n_alt + 1);
    if (alt->no >= 0)
        set_values(v, alt, a);
}

int cs_variant_values_head(const cs_variant_values *v, cs_outfile *tsv)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(tsv, "#chrom\tpos\tid\tref\talt\treason\tswapped"));
    for (int k = 0; k < v->n_score; k++)
        CS_TRY(cs_outfile_printf(tsv, "\t%s", v->field[k].id));
    rc = cs_outfile_printf(tsv, "\n");
out:
    return rc;
}

int cs_variant_values_row(const cs_variant_values *v, const cs_vcf_record *r, int i,
                          cs_outfile *tsv)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(tsv, "%s\t%lld\t%s\t%s\t%s\t%s\t%d", r->contig,
                             (long long)r->pos + 1, r->id, r->ref, r->alt[i],
                             v->reason[i] ? v->reason[i] : ".",
                             isnan(v->number[v->n_score + 1][i]) ? 0 : 1));
    for (int k = 0; k < v->n_score; k++) {
        if (isnan(v->number[k][i]))
            CS_TRY(cs_outfile_printf(tsv, "\t."));
        else
            CS_TRY(cs_outfile_printf(tsv, "\t%.6g", v->number[k][i]));
    }
    rc = cs_outfile_printf(tsv, "\n");
out:
    return rc;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* For which reasons alleles have no score: ", 2 REF_MISMATCH". */
static void list_unscored(const cs_variant_values *v, char *text, size_t n_text)
{
    size_t n = 0;
    char key[CS_SKIP_BYTES];

    text[0] = '\0';
    for (int u = CS_SCORED + 1; u < CS_N_UNSCORED; u++) {
        if (v->n_unscored[u] > 0 && n < n_text)
            n += (size_t)snprintf(text + n, n_text - n, ", %llu %s",
                                  (unsigned long long)v->n_unscored[u],
                                  cs_unscored_name((cs_unscored)u));
    }
    for (int r = CS_REASON_NONE + 1; r < CS_N_REASON; r++) {
        if (v->n_reason[r] > 0 && n < n_text)
            n += (size_t)snprintf(text + n, n_text - n, ", %llu %s",
                                  (unsigned long long)v->n_reason[r],
                                  cs_variant_reason((cs_reason)r, key));
    }
}

int cs_variant_values_check(const cs_variant_values *v, const char *prefix)
{
    char text[REASON_BYTES];

    if (v->n_alt == 0 || v->n_scored > 0 || v->n_unscored[CS_UNSCORED_NO_EXON] > 0)
        return CS_OK;
    list_unscored(v, text, sizeof text);
    return cs_fail(CS_EFORMAT, "no score for any of %llu alternative alleles: %s (the output has "
                   "the reason of each in %sSKIP)%s", (unsigned long long)v->n_alt,
                   text + strlen(", "), prefix, v->n_unscored[CS_UNSCORED_NEAR_END] == v->n_alt
                   ? "; lower --window-length, or give --ends fill" : "");
}

/* SNVs of another assembly have a third base in half of the places, and ALT in a quarter. */
static void warn_of_assembly(const cs_variant_values *v, const char *reference)
{
    const uint64_t *n = v->n_unscored, n_differ = n[CS_UNSCORED_REF_MISMATCH];
    const uint64_t n_sequence = v->n_alt - n[CS_UNSCORED_SYMBOLIC];
    const uint64_t n_compared = n_sequence - n[CS_UNSCORED_NO_CONTIG] - n[CS_UNSCORED_AMBIGUOUS];

    if (n_differ > 0 && n_differ >= v->n_swapped && (n_differ + v->n_swapped) * 2 > n_compared)
        cs_warn("most REF alleles differ from the reference; is it the same assembly?");
    if (n[CS_UNSCORED_NO_CONTIG] * 2 > n_sequence)
        cs_warn("most records lie on contigs missing in '%s'; is it the same assembly?",
                reference);
}

void cs_variant_values_report(const cs_variant_values *v, uint64_t n_record, const char *prefix,
                              const char *reference, const cs_stream_stat *stat)
{
    char text[REASON_BYTES + 64];
    size_t n = 0;

    text[0] = '\0';
    for (int l = 0; l < CS_N_LEVEL && v->score == CS_SCORE_MODEL; l++)
        n += (size_t)snprintf(text + n, 32, "%s%llu above %g", l ? ", " : "; ",
                              (unsigned long long)v->above[v->n_score][l], cs_score_level[l]);
    list_unscored(v, text + n, REASON_BYTES);
    if (v->n_swapped > 0)
        cs_warn("%llu of %llu alternative %s %s the reference: REF and ALT are swapped there "
                "(%sSWAPPED)", (unsigned long long)v->n_swapped, (unsigned long long)v->n_alt,
                CS_PLURAL(v->n_alt, "allele", "alleles"),
                CS_PLURAL(v->n_swapped, "matches", "match"), prefix);
    warn_of_assembly(v, reference);
    const double rate = stat->wall_s > 0 ? (double)v->n_alt / stat->wall_s : 0;
    cs_note("scored %llu of %llu alternative %s in %llu %s%s; %.2f s, %.*f per second",
            (unsigned long long)v->n_scored, (unsigned long long)v->n_alt,
            CS_PLURAL(v->n_alt, "allele", "alleles"), (unsigned long long)n_record,
            CS_PLURAL(n_record, "record", "records"), text, stat->wall_s, rate < 99.5 ? 1 : 0,
            rate);
    cs_info("%s", stat->times);
}
