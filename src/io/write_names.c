/* write_names.c - write the names of a matrix's rows, with the reason for each empty row. */
#include "io/writer.h"

static int names_begin(cs_output *o)
{
    return cs_outfile_printf(o->file, "row\tname\tlength\treason\n");
}

static int names_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    char length[CS_LENGTH_TEXT];

    return cs_outfile_printf(o->file, "%llu\t%s\t%s\t%s\n", (unsigned long long)o->n_record,
                             cs_record_name(r), cs_record_length(r, length),
                             cs_reason_name(a->reason));
}

const cs_writer cs_write_names = {
    .name = "names",
    .kind = CS_OUT_TABLE,
    .begin = names_begin,
    .record = names_record,
};
