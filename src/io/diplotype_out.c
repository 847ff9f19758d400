/* diplotype_out.c - write diplotype text: records of codes, 80 per line. */
#include "io/diplotype_out.h"

#include <stdio.h>

#include "base/names.h"
#include "io/diplotype.h"

enum { LINE = 80 };

static int end_line(cs_diplotype_out *t)
{
    const int rc = t->column > 0 ? cs_outfile_write(t->f, "\n", 1) : CS_OK;

    t->column = 0;
    return rc;
}

int cs_diplotype_out_record(cs_diplotype_out *t, const char *sample, const cs_region *at)
{
    int rc = CS_OK;
    char range[48];      /* of two numbers */
    const char *bad = !cs_name_is_plain(sample) ? sample
                    : !cs_name_is_plain(at->contig) ? at->contig : NULL;

    if (bad)
        return cs_fail(CS_EFORMAT, "the name '%s' has a control character; rename the sample or "
                       "contig (bcftools reheader, samtools reheader)", bad);
    CS_TRY(end_line(t));
    t->n_record++;
    snprintf(range, sizeof range, ":%lld-%lld", (long long)at->from + 1, (long long)at->to);
    if (t->name == CS_NAME_SAMPLE)
        rc = cs_outfile_printf(t->f, ">%s region=%s%s\n", sample, at->contig, range);
    else if (t->name == CS_NAME_REGION)
        rc = cs_outfile_printf(t->f, ">%s%s sample=%s\n", at->contig, range, sample);
    else
        rc = cs_outfile_printf(t->f, ">%s:%s%s\n", sample, at->contig, range);
out:
    return rc;
}

int cs_diplotype_out_site(cs_diplotype_out *t, int hap1, int hap2, int ref)
{
    int rc = CS_OK;
    const char code = cs_diplotype_code(hap1, hap2);
    const bool unknown = hap1 == CS_HAP_N || hap2 == CS_HAP_N;

    CS_TRY(cs_outfile_write(t->f, &code, 1));
    t->n_site++;
    t->n_unknown += unknown;
    t->n_same += !unknown && hap1 == ref && hap2 == ref;
    t->n_other += !unknown && (hap1 != ref || hap2 != ref);
    t->n_het += !unknown && hap1 != hap2;
    if (++t->column == LINE)
        rc = end_line(t);
out:
    return rc;
}

int cs_diplotype_out_close(cs_diplotype_out *t)
{
    int rc = end_line(t);

    if (rc == CS_OK) {
        rc = cs_outfile_close(t->f);
        t->f = NULL;
    }
    return rc;
}
