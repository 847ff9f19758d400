/* tally.c - how many records and bases each class got, and each clade: what reports are made of. */
#include "io/tally.h"

#include <string.h>

static cs_count *counts(int32_t n)
{
    cs_count *c = cs_alloc((size_t)n + 1, sizeof *c);

    if (c)
        memset(c, 0, ((size_t)n + 1) * sizeof *c);
    return c;
}

int cs_tally_new(const cs_output_info *info, cs_tally **out)
{
    cs_tally *t = cs_xcalloc(1, sizeof *t);
    const cs_taxonomy *tree = info->taxonomy;

    t->n_label = info->n_label;
    t->of_class = counts(info->n_label);
    t->direct = tree ? counts(tree->n) : NULL;
    t->clade = tree ? counts(tree->n) : NULL;
    if (!t->of_class || (tree && (!t->direct || !t->clade))) {
        cs_tally_free(t);
        return cs_fail(CS_EMEM, "out of memory for counts of %d classes", info->n_label);
    }
    *out = t;
    return CS_OK;
}

static void add(cs_count *c, uint64_t n_record, uint64_t n_base)
{
    c->n_record += n_record;
    c->n_base += n_base;
}

void cs_tally_add(cs_tally *t, const cs_output_info *info, const cs_record *r, const cs_answer *a)
{
    const uint64_t n = (uint64_t)cs_record_bases(r);

    add(&t->all, 1, n);
    add(&t->reason[a->reason], 1, n);
    if (a->reason != CS_REASON_NONE)
        add(&t->unclassified, 1, n);
    else if (info->is_class)
        add(&t->of_class[cs_answer_best(a)], 1, n);
}

void cs_tally_sum(cs_tally *t, const cs_taxonomy *tree)
{
    for (int32_t i = 0; i < tree->n_class; i++)
        t->direct[tree->of_class[i]] = t->of_class[i];
    memcpy(t->clade, t->direct, (size_t)tree->n * sizeof *t->clade);
    for (int32_t i = tree->n - 1; i > 0; i--)     /* children come after their parents */
        add(&t->clade[tree->node[i].parent], t->clade[i].n_record, t->clade[i].n_base);
}

void cs_tally_free(cs_tally *t)
{
    if (!t)
        return;
    free(t->of_class);
    free(t->direct);
    free(t->clade);
    free(t);
}

int cs_tally_begin(cs_output *o)
{
    cs_tally *t = NULL;
    const int rc = cs_tally_new(&o->info, &t);

    o->state = t;
    return rc;
}

int cs_tally_record(cs_output *o, const cs_record *r, const cs_answer *a)
{
    cs_tally_add(o->state, &o->info, r, a);
    return CS_OK;
}

void cs_tally_release(cs_output *o)
{
    cs_tally_free(o->state);
    o->state = NULL;
}
