/* supervised_data.c - read labelled records or variants and split them into samples. */
#include <math.h>

#include "base/log.h"
#include "base/names.h"
#include "base/outfile.h"
#include "io/taxa_lineage.h"
#include "run/outputs.h"
#include "train/metrics_table.h"
#include "train/supervised_internal.h"
#include "train/variant_labels.h"

bool cs_supervised_on_variants(const cs_supervised *j)
{
    return j->a->components.head->n_part > 1;
}

/* Options for labels of sequences have no effect on variants. */
static int check_variants(const cs_supervised_args *a)
{
    const cs_label_args *label = &a->label;

    if (a->input.file.n + a->input.list.n == 0)
        return cs_fail(CS_EUSAGE, "no input; give VCF files or tables of labelled variants");
    if (a->sample.crop_max > 0)
        return cs_fail(CS_EUSAGE, "--crop-max is for sequences; windows have --window-length");
    if (label->labels != NULL || label->class_file.n > 0)
        return cs_fail(CS_EUSAGE, "--labels and --class are for sequences; variant files contain "
                       "labels: an INFO field of VCF (--label-key), or the column 'label' of a "
                       "table");
    if (label->map != NULL)
        return cs_fail(CS_EUSAGE, "--label-map is for classes of sequences; labels of variants "
                       "are 0 and 1");
    if (label->split_by != NULL)
        return cs_fail(CS_EUSAGE, "--split-by is for sequences; variants are split by contig; "
                       "--split can assign contigs");
    if (label->skip_unlabelled)
        return cs_fail(CS_EUSAGE, "--skip-unlabelled is for sequences; variants without a label "
                       "are always left out");
    return CS_OK;
}

/* And the other way round. */
static int check_sequences(const cs_variant_args *a)
{
    const char *option = a->exons ? "exons" : cs_opt_given(&a->ends) ? "ends"
                       : a->circular.n > 0 ? "circular"
                       : cs_opt_given(&a->window) ? "window-length" : NULL;

    return option ? cs_fail(CS_EUSAGE, "--%s is for --head variant", option) : CS_OK;
}

/* Copy the labels to the labelled input's classes, which the rest of the command uses. */
static int read_variants(cs_supervised *j, bool cased, int n_inflate)
{
    int rc = CS_OK;
    cs_supervised_args *a = j->a;
    const cs_variant_labels from = {
        .reference = a->input.reference, .key = a->label.key, .split = a->label.split,
        .file = &a->input.file, .exons = a->variants.exons, .threads = n_inflate,
        .window = { .n_base = a->variants.window, .fill = a->variants.ends == CS_ENDS_FILL,
                    .circular = a->variants.circular.v, .n_circular = a->variants.circular.n },
    };

    CS_TRY(check_variants(a));
    if (cased != (a->variants.exons != NULL))
        return cs_fail(CS_EUSAGE, cased ? "with --tokenizer.case, head variant needs --exons, "
                       "which decide the case" : "--exons is for --tokenizer base "
                       "--tokenizer.case");
    CS_TRY(cs_args_input(&a->input));
    CS_TRY(cs_variant_labels_read(&from, &j->data, &j->labelled.classes));
    if (j->data.n == 0)
        rc = cs_fail(CS_EFORMAT, "the input has no variant to train on");
out:
    return rc;
}

/* The class of all records, or -1 if there are several. The input of a class may be empty. */
static int32_t only_class(const cs_dataset *d, int32_t n_class)
{
    if (!d->is_class)
        return n_class == 1 ? 0 : -1;
    for (int64_t i = 1; i < d->n; i++)
        if (d->ex[i].class_no != d->ex[0].class_no)
            return -1;
    return d->ex[0].class_no;
}

/* Are there records that can be trained on? */
static int check_data(const cs_supervised *j)
{
    const cs_supervised_args *a = j->a;

    if (j->data.n == 0)
        return cs_fail(CS_EFORMAT, "the input has no record to train on");
    const int32_t only = only_class(&j->data, j->labelled.classes.n);
    if (a->components.head->is_class && only >= 0)
        return cs_fail(CS_EFORMAT, "all %lld records have one class, '%s'; training needs at least "
                       "two", (long long)j->data.n, j->labelled.classes.name[only]);
    if (j->data.n_channel > 0 && (a->sample.crop_max > 0 || a->sample.rc))
        return cs_fail(CS_EUSAGE, "--crop-max and --rc are for sequences; the input has values");
    if (a->sample.crop_max > 0 && a->sample.crop_min < j->labelled.min_base)
        return cs_fail(CS_EUSAGE, "--crop-min %lld has no tokens; it must be at least %lld",
                       (long long)a->sample.crop_min, (long long)j->labelled.min_base);
    return CS_OK;
}

int cs_supervised_read(cs_supervised *j, int n_inflate)
{
    cs_supervised_args *a = j->a;
    int rc = CS_OK;
    void *tok = NULL;
    cs_input_opt input_opt;

    CS_TRY(cs_components_tokenizer(&a->components, &tok));
    CS_TRY(cs_args_input_opt(&a->input, n_inflate, &input_opt));
    input_opt.alphabet = cs_tokenizer_alphabet(a->components.tok, tok);
    if (input_opt.alphabet == CS_DIPLOTYPES
        && (a->sample.rc || a->result.strand > CS_TRAIN_STRAND_FORWARD)) {
        rc = cs_fail(CS_EUSAGE, "%s is for nucleotides; diplotypes have no reverse complement",
                     a->sample.rc ? "--rc" : "--strand both or max");
        goto out;
    }
    if (!cs_mutation_is_none(&a->mutation) &&
        (input_opt.alphabet != CS_NUCLEOTIDES || cs_supervised_on_variants(j)
         || a->components.head->per_token)) {
        rc = cs_fail(CS_EUSAGE, "--mutate, --mutate-indels and --mutate-silent are for "
                     "nucleotides without --tokenizer.case and one prediction per sequence");
        goto out;
    }
    if (cs_supervised_on_variants(j)) {
        rc = read_variants(j, input_opt.alphabet == CS_CASED, n_inflate);
        goto out;
    }
    CS_TRY(check_sequences(&a->variants));
    j->nucleotides = input_opt.alphabet != CS_DIPLOTYPES;
    a->label.lineages = a->taxa.lineage != NULL;
    a->label.ranks = a->taxa.lineage;
    a->label.n_rank = a->taxa.lineage != NULL ? cs_lineage_ranks(a->taxa.lineage) : 0;
    CS_TRY(cs_labelled_open(&a->label, &a->input, &input_opt, a->components.head, &j->labelled));
    j->labelled.min_base = a->components.tok->min_base(tok);
    rc = cs_labelled_read(&j->labelled, &j->data, INT64_MAX);
    if (rc != CS_EOF)
        goto out;
    rc = CS_OK;
    cs_labelled_report(&j->labelled);
    if (a->components.head->set_taxonomy == NULL)
        cs_labelled_advise_tree(&j->labelled);
    rc = check_data(j);
out:
    a->components.tok->close(tok);
    return rc;
}

/* Without a defined metric no epoch would be the best, and no model would be written. */
static int check_monitor(const cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    const cs_dataset *d = &j->data;

    if (a->aim.monitor != CS_MONITOR_BALANCED || !a->components.head->is_labels || j->folds.n > 0)
        return CS_OK;
    for (int32_t k = 0; k < d->n_target; k++) {
        bool has[2] = { false, false };
        for (int64_t i = 0; i < d->n; i++)
            if (d->ex[i].part == CS_PART_VALID && !isnan(d->ex[i].target[k]))
                has[d->ex[i].target[k] > 0] = true;
        if (has[0] && has[1])
            return CS_OK;
    }
    return cs_fail(CS_EUSAGE, "no label is 0 in one validation record and 1 in another, so there "
                   "is no balanced accuracy; give --monitor loss, or another --split");
}

int cs_supervised_samplers(cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    int rc = CS_OK;
    int64_t n, n_base;
    cs_sampler_opt draw = {
        .crop_min = a->sample.crop_min, .crop_max = a->sample.crop_max,
        .crop_power = a->sample.crop_power, .n_sample = a->sample.n_sample,
        .balance = a->sample.balance, .group_balance = a->sample.group_balance,
        .length_power = a->sample.length_power, .reverse = a->sample.rc,
        .mutation = a->mutation,
        .seed = (uint64_t)a->training.seed,
    };

    if (a->label.split == NULL) {
        if (j->folds.n == 0)
            CS_TRY(cs_dataset_split(&j->data, a->sample.valid_frac, (uint64_t)a->training.seed));
        CS_TRY(cs_dataset_count_groups(&j->data, -1, &j->origin.n_group));
    }
    j->origin.split_by = a->label.split != NULL ? "table"
                       : a->label.split_by != NULL ? a->label.split_by : "name";
    CS_TRY(cs_sampler_new(&j->data, CS_PART_TRAIN, &draw, &j->train));
    if (j->folds.n_done == 0)
        CS_TRY(cs_labelled_check_split(&j->labelled, &j->data,
                                       a->label.split != NULL || a->sample.valid_frac > 0));
    cs_dataset_count(&j->data, CS_PART_VALID, -1, &n, &n_base);
    if (j->final)
        return CS_OK;
    if (n == 0) {
        cs_warn("no validation records: writing the latest model, not the best");
        if (cs_opt_given(&a->training.patience) || cs_opt_given(&a->aim.stop_at))
            cs_warn("--patience and --stop-at have no effect without validation records");
        return CS_OK;
    }
    CS_TRY(check_monitor(j));
    draw.n_sample = a->sample.n_valid;
    draw.reverse = false;
    draw.mutation = (cs_mutation){ 0 };
    rc = cs_sampler_new(&j->data, CS_PART_VALID, &draw, &j->valid);
out:
    return rc;
}

/* ---- the table of --split-out ---------------------------------------------------------------- */

int cs_supervised_check_split_out(const cs_supervised *j)
{
    int rc = CS_OK;
    const cs_supervised_args *a = j->a;

    if (a->result.split == NULL || (j->group != NULL && cs_group_rank(j->group) > 0))
        return CS_OK;
    CS_TRY(cs_outputs_distinct((const char *const[]){ a->run.output, a->run.metrics, a->run.steps,
                                                      j->checkpoint, a->result.html,
                                                      a->result.split }, 6));
    rc = cs_outputs_probe(a->result.split, CS_OUT_TABLE);
out:
    return rc;
}

static const char *row_name(const cs_dataset *d, int64_t i)
{
    return d->n_part > 1 ? d->ex[i].group_name : d->ex[i].name;
}

/* *fresh: is it the first example of its name? Each name has one row. */
static int check_row(const cs_dataset *d, int64_t i, bool groups, cs_names *seen, bool *fresh)
{
    const char *name = row_name(d, i);
    const int64_t first = cs_names_find(seen, name);

    *fresh = first < 0;
    if (name[0] == '\0' || name[0] == '#')
        return cs_fail(CS_EUSAGE, "the table of --split-out cannot have the name '%s', as it %s; "
                       "rename the record", name, name[0] == '#' ? "begins with '#'" : "is empty");
    if (*fresh)
        return cs_names_add(seen, name, i);
    if (d->ex[first].part == d->ex[i].part && (!groups || d->ex[first].group == d->ex[i].group))
        return CS_OK;
    return cs_fail(CS_EUSAGE, "records named '%s' are in several parts or groups, but the table of "
                   "--split-out has one row for a name; give them different names", name);
}

/* The data in the form that --split reads. */
static int write_split(const cs_dataset *d, const char *path)
{
    int rc = CS_OK;
    bool groups = false, fresh;
    cs_outfile *f = NULL;
    cs_names seen = { NULL, 0, 0 };

    for (int64_t i = 0; i < d->n && d->n_part <= 1; i++)
        groups = groups || d->ex[i].group_name != NULL;
    CS_TRY(cs_outfile_open_as(path, NULL, CS_OUT_TABLE, &f));
    for (int64_t i = 0; i < d->n; i++) {
        const cs_example *e = &d->ex[i];
        CS_TRY(check_row(d, i, groups, &seen, &fresh));
        if (!fresh)
            continue;
        CS_TRY(cs_outfile_printf(f, "%s\t%s", row_name(d, i), cs_part_names[e->part]));
        if (groups)
            CS_TRY(cs_outfile_printf(f, "\t%s", e->group_name ? e->group_name : CS_NO_GROUP));
        CS_TRY(cs_outfile_write(f, "\n", 1));
    }
out:
    cs_names_release(&seen);
    return cs_run_file_end(f, path, rc);
}

int cs_supervised_write_split(const cs_supervised *j)
{
    const char *path = j->a->result.split;

    return path == NULL || (j->group != NULL && cs_group_rank(j->group) > 0) ? CS_OK
         : write_split(&j->data, path);
}
