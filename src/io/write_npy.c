/* write_npy.c - write a float32 matrix in NumPy's format: a row per record, NaN without a
 * prediction.
 *
 * DESIGN: the number of rows is in the header and known at the end, so the file must be seekable.
 */
#include <math.h>

#include "io/npy.h"
#include "io/writer.h"

static int npy_begin(cs_output *o)
{
    return cs_npy_begin(o->file, CS_NPY_F4, cs_npy_shape2(-1, o->info.n_label));
}

static int npy_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;
    static const float none = NAN;
    const size_t n = (size_t)o->info.n_label;

    (void)r;
    if (a->reason == CS_REASON_NONE)
        return cs_outfile_write(o->file, a->v, n * sizeof *a->v);
    for (size_t i = 0; i < n; i++)
        CS_TRY(cs_outfile_write(o->file, &none, sizeof none));
out:
    return rc;
}

static int npy_end(cs_output *o)
{
    return cs_npy_end(o->file, CS_NPY_F4,
                      cs_npy_shape2((int64_t)o->n_record, o->info.n_label));
}

const cs_writer cs_write_npy = {
    .name = "npy",
    .kind = CS_OUT_BINARY,
    .begin = npy_begin,
    .record = npy_record,
    .end = npy_end,
};
