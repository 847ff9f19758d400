/* shard_counts.c - counts for reports in the manifests of shards: written, and summed by merge. */
#include "run/shard_counts.h"

#include <stdlib.h>

#include "base/mem.h"

json_t *cs_shard_counts_json(const cs_output_info *info, const cs_class_counts *counts)
{
    json_t *label = json_array();
    const cs_taxonomy *t = info->taxonomy;
    char *tree = t ? cs_taxonomy_text(t) : NULL;

    for (int i = 0; i < info->n_label; i++) {
        const cs_taxon *v = t ? &t->node[t->of_class[i]] : NULL;
        json_array_append_new(label, json_pack("{s:s, s:I, s:s}", "name", info->label[i], "taxid",
                                               v ? (json_int_t)v->taxid : 0, "rank",
                                               v ? v->rank : "no rank"));
    }
    json_t *all = json_pack("{s:o, s:o, s:b, s:b, s:o}", "class_counts",
                            cs_class_counts_json(counts), "labels", label, "is_class",
                            info->is_class, "taxa", info->taxa, "taxonomy",
                            tree ? json_string(tree) : json_null());
    free(tree);
    return all;
}

/* ---- the sum --------------------------------------------------------------------------------- */

static int fail_shard(const cs_manifest *m, const char *what)
{
    return cs_fail(CS_EFORMAT, "'%s': the %s are damaged; rerun shard %lld", m->path, what,
                   (long long)m->no);
}

static int read_classes(const cs_manifest *m, cs_shard_counts_sum *sum)
{
    int rc = CS_OK;
    const json_t *labels = json_object_get(m->all, "labels");
    const char *tree = json_string_value(json_object_get(m->all, "taxonomy"));
    const size_t n = json_array_size(labels);
    cs_class_taxon *c = cs_xcalloc(n + 1, sizeof *c);

    sum->label = cs_xcalloc(n + 1, sizeof *sum->label);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(labels, i);
        sum->label[i] = json_string_value(json_object_get(v, "name"));
        const char *rank = json_string_value(json_object_get(v, "rank"));
        c[i] = (cs_class_taxon){ sum->label[i], json_integer_value(json_object_get(v, "taxid")),
                                 rank };
        if (!sum->label[i] || !rank)
            rc = fail_shard(m, "classes");
    }
    if (rc == CS_OK && tree)
        rc = cs_taxonomy_parse(tree, m->path, c, (int32_t)n, &sum->taxonomy);
    free(c);
    return rc == CS_EMODEL ? cs_fail_also(rc, "; rerun shard %lld", (long long)m->no) : rc;
}

static int add_all(const cs_manifests *all, const cs_output_info *info, cs_class_counts *sum)
{
    int rc = CS_OK;

    for (int i = 0; rc == CS_OK && i < all->n; i++) {
        cs_class_counts *one = NULL;
        rc = cs_class_counts_new(info, &one);
        if (rc == CS_OK
            && !cs_class_counts_read(one, json_object_get(all->m[i].all, "class_counts")))
            rc = fail_shard(&all->m[i], "counts");
        if (rc == CS_OK)
            cs_class_counts_merge(sum, one);
        cs_class_counts_free(one);
    }
    return rc;
}

int cs_shard_counts_sum_read(const cs_manifests *all, cs_shard_counts_sum *sum)
{
    int rc = CS_OK;
    cs_class_counts *counts = NULL;
    json_t *reasons = json_array();
    const json_t *first = all->m[0].all;

    CS_TRY(read_classes(&all->m[0], sum));
    sum->info = (cs_output_info){
        .label = sum->label, .n_label = (int)json_array_size(json_object_get(first, "labels")),
        .is_class = json_is_true(json_object_get(first, "is_class")),
        .taxa = json_is_true(json_object_get(first, "taxa")), .taxonomy = sum->taxonomy,
    };
    /* Writers take the tree of classes for granted. */
    if ((sum->info.is_class || sum->info.taxa) && !sum->taxonomy)
        CS_TRY(fail_shard(&all->m[0], "classes"));
    CS_TRY(cs_class_counts_new(&sum->info, &counts));
    CS_TRY(add_all(all, &sum->info, counts));
    for (int r = 0; r < CS_N_REASON; r++)
        json_array_append_new(reasons, json_integer((json_int_t)counts->reason[r].n_record));
    sum->from = json_pack("{s:b, s:I, s:O, s:o}", "begun", 1, "records",
                          (json_int_t)counts->all.n_record, "reasons", reasons, "state",
                          cs_class_counts_json(counts));
    sum->info.from = sum->from;
    if (!sum->from)
        rc = cs_fail(CS_EMEM, "out of memory for the counts of all shards");
out:
    json_decref(reasons);
    cs_class_counts_free(counts);
    return rc;
}

void cs_shard_counts_sum_release(cs_shard_counts_sum *sum)
{
    cs_taxonomy_free(sum->taxonomy);
    json_decref(sum->from);
    free(sum->label);
}
