/* vector_output.c - a vector per record: NPY or NPZ with a table of names, or a table alone. */
#include "run/vector_output.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "registry.h"
#include "run/outputs.h"

const char *const cs_vector_formats[] = { "auto", "npy", "npz", "tsv", NULL };

/* The output's format by its name; standard output gets a table unless there is a file of names. */
static int choose_format(cs_vector_output *o)
{
    static const struct { const char *suffix; int format; } known[] = {
        { ".npy", CS_VECTORS_NPY }, { ".npz", CS_VECTORS_NPZ }, { ".tsv", CS_VECTORS_TSV },
        { ".csv", CS_VECTORS_TSV },
    };
    const char *slash = strrchr(o->path, '/'), *name = slash ? slash + 1 : o->path;

    if (o->format != CS_VECTORS_AUTO)
        return CS_OK;
    const bool to_stdout = cs_outputs_same(o->path, "-");
    o->format = to_stdout && !o->names ? CS_VECTORS_TSV : CS_VECTORS_NPY;
    if (!strchr(name, '.') || to_stdout || strncmp(o->path, "/dev/", 5) == 0)
        return CS_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        o->format = known[i].format;
        if (cs_out_ends(name, known[i].suffix))
            return o->format == CS_VECTORS_TSV ? CS_OK : cs_out_check(name, CS_OUT_BINARY);
    }
    return cs_fail(CS_EUSAGE, "unknown format of '%s'; name the output *.npy, *.npz, *.tsv, *.csv, "
                   "*.tsv.gz or *.csv.gz, or give --format", name);
}

char *cs_vector_names(const char *path)
{
    static const char end[] = ".names.tsv";
    const size_t n = strlen(path) + sizeof end;
    char *names = cs_xmalloc(n);

    (void)snprintf(names, n, "%s%s", path, end);
    return names;
}

int cs_vector_output_check(cs_vector_output *o)
{
    if (!o->path)
        return cs_fail(CS_EUSAGE, "no output; give it with -o FILE, or pipe with -o -");
    const int rc = choose_format(o);
    if (rc != CS_OK)
        return rc;
    if (o->format == CS_VECTORS_TSV && o->names)
        return cs_fail(CS_EUSAGE, "--names needs --format npy or npz; a table includes names");
    if (o->format != CS_VECTORS_TSV && !o->names && cs_outputs_same(o->path, "-"))
        return cs_fail(CS_EUSAGE, "NPY on standard output needs --names FILE for the row names; "
                       "--format tsv includes them");
    if (!o->names)
        o->names = o->own_names = cs_vector_names(o->path);
    if (o->format != CS_VECTORS_TSV && cs_outputs_same(o->names, o->path))
        return cs_fail(CS_EUSAGE, "--names and --output both write to '%s'", o->path);
    return CS_OK;
}

int cs_vector_output_open(cs_vector_output *o, int32_t width)
{
    int rc = CS_OK;

    o->width = width;
    o->column = cs_xcalloc((size_t)o->width, sizeof *o->column);
    o->label = cs_xcalloc((size_t)o->width, sizeof *o->label);
    for (int32_t i = 0; i < o->width; i++) {
        (void)snprintf(o->column[i], sizeof *o->column, "v%d", (int)i + 1);
        o->label[i] = o->column[i];
    }
    const cs_output_info info = { .label = o->label, .n_label = o->width };
    CS_TRY(cs_output_open(cs_writer_find(cs_vector_formats[o->format]), o->path, &info,
                          &o->out[0]));
    if (o->format == CS_VECTORS_TSV)
        return CS_OK;
    if (!cs_outfile_can_patch(o->out[0]->file)) {
        rc = cs_fail(CS_EUSAGE, "'%s' is not a regular file, which NPY needs; use --format tsv",
                     o->path);
        goto out;
    }
    rc = cs_output_open(cs_writer_find("names"), o->names, &info, &o->out[1]);
out:
    return rc;
}

static int n_out(const cs_vector_output *o)
{
    return o->out[1] ? 2 : 1;
}

int cs_vector_output_record(cs_vector_output *o, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;

    for (int i = 0; rc == CS_OK && i < n_out(o); i++)
        rc = cs_output_record(o->out[i], r, a);
    return cs_outputs_explain(rc, n_out(o), NULL);
}

int cs_vector_output_close(cs_vector_output *o)
{
    int rc = CS_OK;

    for (int i = 0; rc == CS_OK && i < CS_N_VECTOR_OUT && o->out[i]; i++)
        rc = cs_output_finish(o->out[i]);
    CS_TRY(cs_outputs_explain(rc, n_out(o), NULL));
    for (int i = 0; rc == CS_OK && i < CS_N_VECTOR_OUT && o->out[i]; i++) {
        rc = cs_output_close(o->out[i]);
        o->out[i] = NULL;
    }
out:
    return rc;
}

int cs_vector_output_add(cs_vector_output *o, cs_shard *shard)
{
    static const char *const option[CS_N_VECTOR_OUT] = { "output", "names" };
    int rc = CS_OK;

    if (cs_shard_wants(shard) && o->format == CS_VECTORS_NPZ)
        return cs_fail(CS_EUSAGE, "--manifest needs NPY or a plain table, not NPZ: '%s'", o->path);
    for (int i = 0; cs_shard_wants(shard) && i < n_out(o); i++) {
        CS_TRY(cs_output_begin(o->out[i]));
        CS_TRY(cs_shard_add_file(shard, option[i], o->out[i]->path, o->out[i]->file));
    }
out:
    return rc;
}

void cs_vector_output_release(cs_vector_output *o)
{
    for (int i = 0; i < CS_N_VECTOR_OUT; i++)
        cs_output_discard(o->out[i]);
    CS_FREE(o->own_names, o->column, o->label);
}
