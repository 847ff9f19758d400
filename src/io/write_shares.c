/* write_shares.c - write the estimated shares of the classes among the records. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/out_filter.h"
#include "io/class_shares.h"
#include "io/writer.h"

static int shares_begin(cs_output *o)
{
    cs_class_shares *s = NULL;
    const int rc = cs_class_shares_new(o->info.n_label, &s);

    o->state = s;
    return rc;
}

static int shares_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    (void)r;
    if (cs_class_shares_takes(a))
        cs_class_shares_add(o->state, a->v, o->info.prior);
    return CS_OK;
}

/* With the share 0, --prior-file would exclude a class. */
static const double least_share = 1e-6;

static int shares_end(cs_output *o)
{
    int rc = CS_OK;
    double *share = cs_xcalloc((size_t)o->info.n_label, sizeof *share);

    cs_class_shares_estimate(o->state, share);
    CS_TRY(cs_outfile_printf(o->file, "class\tshare\n"));
    for (int k = 0; k < o->info.n_label; k++)
        CS_TRY(cs_outfile_printf(o->file, "%s\t%.6f\n", o->info.label[k],
                                 fmax(share[k], least_share)));
out:
    free(share);
    return rc;
}

static void shares_release(cs_output *o)
{
    cs_class_shares_free(o->state);
    o->state = NULL;
}

static json_t *shares_save(const cs_output *o)
{
    return cs_class_shares_save(o->state);
}

static int shares_restore(cs_output *o, const json_t *state)
{
    int rc = CS_OK;

    CS_TRY(shares_begin(o));
    rc = cs_class_shares_restore(o->state, state) ? CS_OK : CS_EFORMAT;
out:
    return rc;
}

static int shares_check(const void *cfg, const cs_output_info *info)
{
    const char *path = *(const char *const *)cfg;

    (void)info;
    return path && !cs_out_is_plain(path)
         ? cs_fail(CS_EUSAGE, "--shares '%s': shares are plain TSV, which --prior-file reads; name "
                   "the file .tsv", path) : CS_OK;
}

static const cs_opt shares_opt[] = {
    { .type = CS_OPT_OUT, .name = "shares", .arg = "FILE",
      .help = "estimated share of each class among the records, for --prior-file",
      .man = "A TSV file of classes and shares. The shares maximise the likelihood of the records "
             "(Saerens et al. 2002), with one more record of each class (less if a sample is "
             "small for the number of classes). Counts of calls are biased: they lack unclassified "
             "records, and calls of rare classes are often wrong. Records unlike the training "
             "data, or with probabilities that are not finite, are left out. Of many records a "
             "random sample is used, 150,000 with seven classes. "
             "'--prior auto' estimates and uses shares in one run. "
             "With --shard, the shares are those of the shard's records; 'merge' does not merge "
             "them, but their means, weighted by the records of the shards, approximate those of "
             "the input." },
    { .type = CS_OPT_END }
};

const cs_writer cs_write_shares = {
    .name = "shares",
    .opt = shares_opt,
    .cfg_size = sizeof(const char *),
    .kind = CS_OUT_TABLE,
    .check = shares_check,
    .begin = shares_begin,
    .record = shares_record,
    .end = shares_end,
    .release = shares_release,
    .for_classes = true,
    .resumes = true,
    .save = shares_save,
    .restore = shares_restore,
};
