/*
 * fuzz_labelled.c - labelled sequences from arbitrary bytes, sequences and, behind a form feed, a
 * table: no crash; targets are classes or numbers, lineages make a taxonomy; a refusal has a
 * message.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "io/io_init.h"
#include "io/taxonomy.h"
#include "nn/heads/head.h"
#include "registry.h"
#include "temp_files.h"
#include "train/labelled.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* Lineages as training with --lineage tidies them; they name taxa, unless a name has two ranks. */
static void check_lineages(const cs_labelled *l, const char *ranks)
{
    cs_taxonomy *t = NULL;

    const int rc = cs_taxonomy_lineages(ranks, (const char *const *)l->classes.name, l->classes.n,
                                        &t);
    CS_BUG((rc == CS_OK) != (t != NULL) || (rc != CS_OK && *cs_error_message() == '\0'));
    cs_error_clear();
    for (int32_t i = 0; t && i < l->classes.n; i++)
        CS_BUG(t->node[t->of_class[i]].class_no != i);
    cs_taxonomy_free(t);
}

static void check_examples(const cs_labelled *l, const cs_dataset *d)
{
    for (int64_t i = 0; i < d->n; i++) {
        const cs_example *e = &d->ex[i];
        for (int k = 0; e->target && k < d->n_target; k++)
            CS_BUG(l->is_class ? !(e->target[k] >= 0 && e->target[k] < (float)l->classes.n)
                               : isinf(e->target[k]));
        for (int64_t k = 0; k < e->n_span; k++)
            CS_BUG(e->span[k].from < (k > 0 ? e->span[k - 1].to : 0)
                   || e->span[k].to <= e->span[k].from || e->span[k].to > e->n_base
                   || e->span[k].class_no >= l->classes.n);
    }
}

static void try_read(const char *head, const cs_label_args *a)
{
    const char *file[] = { temp_path[0] };
    cs_input_args input = { .file = { .v = file, .n = 1 } };
    const cs_input_opt opt = { .threads = 0 };
    cs_labelled l = { 0 };
    cs_dataset d = { 0 };

    int rc = cs_labelled_open(a, &input, &opt, cs_head_find(head), &l);
    const bool open = rc == CS_OK;
    if (open)
        rc = cs_labelled_read(&l, &d, INT64_MAX);
    CS_BUG(rc == CS_OK || (rc != CS_EOF && *cs_error_message() == '\0'));
    cs_error_clear();
    if (open && d.n > 0) {
        check_examples(&l, &d);
        if (cs_labelled_check_split(&l, &d, true) != CS_OK)
            CS_BUG(*cs_error_message() == '\0');
        cs_error_clear();
    }
    if (open && a->lineages)
        check_lineages(&l, a->ranks);
    if (open)
        cs_labelled_close(&l);
    cs_dataset_release(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char ranks[] = "domain,phylum,class";
    const char *table = temp_path[1];
    const cs_label_args with[] = {
        { .key = "class", .map = table, .split_by = "organism:2", .skip_unlabelled = 1 },
        { .key = "tax", .split_by = "phylum", .lineages = true, .n_rank = 3, .ranks = ranks },
        { .key = "tax", .split_by = "genus", .lineages = true, .ranks = "prefixed",
          .skip_unlabelled = 1 },
        { .labels = table, .split = table },
    };

    temp_start((const char *const[]){ "records", "table" });
    temp_put_both(data, n_bytes);
    cs_io_init();
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        try_read("class", &with[i]);
    try_read("regress", &(cs_label_args){ .key = "value" });
    try_read("regress", &(cs_label_args){ .labels = table, .skip_unlabelled = 1 });
    try_read("multilabel", &(cs_label_args){ .labels = table, .skip_unlabelled = 1 });
    try_read("token", &(cs_label_args){ .intervals = table, .background = "none" });
    return 0;
}
