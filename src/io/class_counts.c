/* class_counts.c - counts of records and bases per class and clade, for reports. */
#include "io/class_counts.h"

#include <string.h>

#include "io/json_text.h"

static cs_count *counts(int32_t n)
{
    cs_count *c = cs_alloc((size_t)n + 1, sizeof *c);

    if (c)
        memset(c, 0, ((size_t)n + 1) * sizeof *c);
    return c;
}

int cs_class_counts_new(const cs_output_info *info, cs_class_counts **out)
{
    cs_class_counts *t = cs_xcalloc(1, sizeof *t);
    const cs_taxonomy *tree = info->taxonomy;

    t->n_label = info->n_label;
    t->n_node = tree ? tree->n : 0;
    t->of_class = counts(info->n_label);
    t->direct = tree ? counts(tree->n) : NULL;
    t->clade = tree ? counts(tree->n) : NULL;
    if (!t->of_class || (tree && (!t->direct || !t->clade))) {
        cs_class_counts_free(t);
        return cs_fail(CS_EMEM, "out of memory for counts of %d classes", info->n_label);
    }
    *out = t;
    return CS_OK;
}

static void add_count(cs_count *c, uint64_t n_record, uint64_t n_base)
{
    c->n_record += n_record;
    c->n_base += n_base;
}

int cs_prob_bin(double p)
{
    const double bin = CS_PROB_BINS * p;

    return !(bin >= 0) ? 0 : bin >= CS_PROB_BINS ? CS_PROB_BINS - 1 : (int)bin;
}

void cs_class_counts_add(cs_class_counts *t, const cs_output_info *info, const cs_record *r,
                         const cs_prediction *a)
{
    const uint64_t n = (uint64_t)cs_record_bases(r);

    add_count(&t->all, 1, n);
    add_count(&t->reason[a->reason], 1, n);
    if (a->reason != CS_REASON_NONE)
        add_count(&t->unclassified, 1, n);
    if (info->is_class && cs_prediction_best(a) >= 0)
        t->prob[a->reason != CS_REASON_NONE][cs_prob_bin(cs_prediction_prob(a))]++;
    if (a->reason != CS_REASON_NONE || !info->is_class)
        return;
    const int32_t node = t->direct ? cs_prediction_taxon(info, a) : -1;
    const int no = node >= 0 ? info->taxonomy->node[node].class_no : cs_prediction_best(a);
    if (node >= 0)
        add_count(&t->direct[node], 1, n);
    if (no >= 0)
        add_count(&t->of_class[no], 1, n);
}

/* The lower bound of the probability bin of the median record. */
static double median_prob(const cs_class_counts *t)
{
    uint64_t n = 0, below = 0;
    int i = 0;

    for (int k = 0; k < CS_PROB_BINS; k++)
        n += t->prob[0][k] + t->prob[1][k];
    for (; i < CS_PROB_BINS - 1; i++) {
        below += t->prob[0][i] + t->prob[1][i];
        if (2 * below > n)
            break;
    }
    return (double)i / CS_PROB_BINS;
}

bool cs_class_counts_few_calls(const cs_class_counts *t, char *buf, size_t n_buf)
{
    const uint64_t n = t->reason[CS_REASON_LOW_PROB].n_record
                     + t->reason[CS_REASON_LOW_CONFIDENCE].n_record
                     + t->reason[CS_REASON_UNLIKE].n_record;

    if (n == 0 || 2 * n < t->all.n_record)
        return false;
    (void)snprintf(buf, n_buf, "%llu of %llu %s %s no confident call; the median "
                   "probability of the best class is between %.2f and %.2f",
                   (unsigned long long)n, (unsigned long long)t->all.n_record,
                   CS_PLURAL(t->all.n_record, "record", "records"), CS_PLURAL(n, "has", "have"),
                   median_prob(t), median_prob(t) + 1.0 / CS_PROB_BINS);
    return true;
}

void cs_class_counts_sum(cs_class_counts *t, const cs_taxonomy *tree)
{
    memcpy(t->clade, t->direct, (size_t)tree->n * sizeof *t->clade);
    for (int32_t i = tree->n - 1; i > 0; i--)     /* children come after their parents */
        add_count(&t->clade[tree->node[i].parent], t->clade[i].n_record, t->clade[i].n_base);
}

void cs_class_counts_free(cs_class_counts *t)
{
    if (!t)
        return;
    CS_FREE(t->of_class, t->direct, t->clade, t);
}

int cs_class_counts_begin(cs_output *o)
{
    cs_class_counts *t = NULL;
    const int rc = cs_class_counts_new(&o->info, &t);

    o->state = t;
    return rc;
}

int cs_class_counts_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    cs_class_counts_add(o->state, &o->info, r, a);
    return CS_OK;
}

void cs_class_counts_release(cs_output *o)
{
    cs_class_counts_free(o->state);
    o->state = NULL;
}

static json_t *pairs_json(const cs_count *c, int n)
{
    json_t *a = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(a, cs_json_counts((const uint64_t[]){ c[i].n_record, c[i].n_base },
                                                2));
    return a;
}

static bool pairs_read(const json_t *a, cs_count *c, int n)
{
    uint64_t v[2] = { 0, 0 };
    bool good = json_array_size(a) == (size_t)n;

    for (int i = 0; good && i < n; i++) {
        good = cs_json_read_counts(json_array_get(a, (size_t)i), v, 2);
        c[i] = (cs_count){ v[0], v[1] };
    }
    return good;
}

json_t *cs_class_counts_json(const cs_class_counts *t)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "all", pairs_json(&t->all, 1),
                     "unclassified", pairs_json(&t->unclassified, 1),
                     "reasons", pairs_json(t->reason, CS_N_REASON),
                     "classes", pairs_json(t->of_class, t->n_label), "taxa",
                     pairs_json(t->direct, t->n_node), "probabilities",
                     cs_json_counts(t->prob[0], 2 * CS_PROB_BINS));
}

bool cs_class_counts_read(cs_class_counts *t, const json_t *j)
{
    return pairs_read(json_object_get(j, "all"), &t->all, 1)
        && pairs_read(json_object_get(j, "unclassified"), &t->unclassified, 1)
        && pairs_read(json_object_get(j, "reasons"), t->reason, CS_N_REASON)
        && pairs_read(json_object_get(j, "classes"), t->of_class, t->n_label)
        && pairs_read(json_object_get(j, "taxa"), t->direct, t->n_node)
        && cs_json_read_counts(json_object_get(j, "probabilities"), t->prob[0], 2 * CS_PROB_BINS);
}

static void merge(cs_count *to, const cs_count *from, int n)
{
    for (int i = 0; i < n; i++)
        add_count(&to[i], from[i].n_record, from[i].n_base);
}

void cs_class_counts_merge(cs_class_counts *to, const cs_class_counts *from)
{
    CS_BUG(to->n_label != from->n_label || to->n_node != from->n_node);
    merge(&to->all, &from->all, 1);
    merge(&to->unclassified, &from->unclassified, 1);
    merge(to->reason, from->reason, CS_N_REASON);
    merge(to->of_class, from->of_class, to->n_label);
    merge(to->direct, from->direct, to->n_node);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < CS_PROB_BINS; i++)
            to->prob[k][i] += from->prob[k][i];
}

json_t *cs_class_counts_save(const cs_output *o)
{
    return cs_class_counts_json(o->state);
}

int cs_class_counts_restore(cs_output *o, const json_t *state)
{
    const int rc = cs_class_counts_begin(o);

    return rc != CS_OK ? rc : cs_class_counts_read(o->state, state) ? CS_OK : CS_EFORMAT;
}
