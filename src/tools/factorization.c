/* factorization.c - factorize a matrix file: sparse factors, truncated SVD beside them, outputs. */
#include "tools/factorization.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"
#include "base/log.h"
#include "base/mem.h"
#include "eval/matrix_plot.h"
#include "io/npy.h"
#include "nn/ops/svd.h"
#include "run/outputs.h"

enum { SIDE_MAX = 32768, FACTORS_MAX = 1024, PATH_BYTES = 4096 };

static int read_matrix(const char *path, cs_npy *a)
{
    int rc = CS_OK;

    if (!path)
        return cs_fail(CS_EUSAGE, "no matrix; give one with --input FILE");
    CS_TRY(cs_npy_read(path, a));
    if (a->shape.n_dim != 2)
        return cs_fail(CS_EUSAGE, "'%s' holds an array of %d %s, not a square matrix", path,
                       (int)a->shape.n_dim, CS_PLURAL(a->shape.n_dim, "dimension", "dimensions"));
    if (a->shape.dim[0] != a->shape.dim[1])
        return cs_fail(CS_EUSAGE, "'%s' holds a matrix of %lld x %lld; give a square one", path,
                       (long long)a->shape.dim[0], (long long)a->shape.dim[1]);
    if (a->shape.dim[0] < 2 || a->shape.dim[0] > SIDE_MAX)
        return cs_fail(CS_EUSAGE, "the matrix in '%s' has %lld rows; 2 to %d can be factorised",
                       path, (long long)a->shape.dim[0], SIDE_MAX);
    for (int64_t i = 0; i < a->n; i++)
        if (!isfinite(a->v[i]))
            return cs_fail(CS_EFORMAT, "'%s' row %lld, column %lld is not a finite number", path,
                           (long long)(i / a->shape.dim[0]), (long long)(i % a->shape.dim[0]));
out:
    return rc;
}

/* ---- truncated SVD --------------------------------------------------------------------------- */

/* The rank whose two factors have as many elements as the sparse ones, rounded up in favour of the
 * SVD; its product and error. */
struct truncated { int64_t rank, nonzeros; double *product, error; };

static int truncate_svd(int64_t n, const double *a, int64_t nonzeros, struct truncated *t)
{
    int rc = CS_OK;
    cs_svd d = { .u = NULL };

    CS_TRY(cs_svd_new(n, n, a, &d));
    t->rank = (nonzeros + 2 * n - 1) / (2 * n);
    t->rank = t->rank < n ? t->rank : n;
    t->nonzeros = 2 * n * t->rank;
    if ((t->product = cs_alloc((size_t)(n * n), sizeof *t->product)) == NULL) {
        rc = cs_fail(CS_EMEM, "out of memory for a matrix of %lld x %lld", (long long)n,
                     (long long)n);
        goto out;
    }
    memset(t->product, 0, (size_t)(n * n) * sizeof *t->product);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < t->rank; k++) {
            const double us = d.u[i * n + k] * d.s[k];
            for (int64_t j = 0; j < n; j++)
                t->product[i * n + j] += us * d.vt[k * n + j];
        }
    t->error = cs_frobenius(n * n, a, t->product);
out:
    cs_svd_release(&d);
    return rc;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int write_row(cs_outfile *f, const char *method, int64_t count, int64_t nonzeros,
                     double error, double norm)
{
    return cs_outfile_printf(f, "%s\t%lld\t%lld\t%.6g\t%.6f\n", method, (long long)count,
                             (long long)nonzeros, error, norm > 0 ? error / norm : 0);
}

/* All files, which are renamed into place together. */
struct outputs { cs_outfile **f; int n; };

static int open_output(struct outputs *o, const char *path, cs_out_kind kind, cs_outfile **f)
{
    o->f = cs_xrealloc(o->f, (size_t)(o->n + 1) * sizeof *o->f);
    o->f[o->n] = NULL;
    const int rc = cs_outfile_open_as(path, NULL, kind, &o->f[o->n]);
    *f = o->f[o->n++];
    return rc;
}

/* Standard output comes last, so that an error of it leaves no file. */
static int write_report(struct outputs *o, const cs_matrix_factors *f, const struct truncated *t,
                        double norm)
{
    int rc = CS_OK;
    cs_outfile *to;

    CS_TRY(open_output(o, "-", CS_OUT_TEXT, &to));
    CS_TRY(cs_outfile_printf(to, "method\tfactors_or_rank\tnonzeros\terror\trelative_error\n"));
    CS_TRY(write_row(to, "factors", f->n_factor, cs_matrix_factors_nonzeros(f), f->error, norm));
    if (t->product)
        CS_TRY(write_row(to, "svd", t->rank, t->nonzeros, t->error, norm));
out:
    return rc;
}

static int commit(struct outputs *o)
{
    cs_outfile ***file = cs_xcalloc((size_t)o->n, sizeof *file);

    for (int i = 0; i < o->n; i++)
        file[i] = &o->f[i];
    const int rc = cs_outputs_commit((cs_outfile **const *)file, o->n);
    free(file);
    return rc;
}

static void outputs_release(struct outputs *o)
{
    for (int i = 0; i < o->n; i++)
        cs_outfile_discard(o->f[i]);
    free(o->f);
}

static int name_output(const char *prefix, const char *what, char path[PATH_BYTES])
{
    if (snprintf(path, PATH_BYTES, "%s.%s.npy", prefix, what) >= PATH_BYTES)
        return cs_fail(CS_EUSAGE, "the path '%.100s...' is too long", prefix);
    return CS_OK;
}

/* The file keeps no descriptor: there may be a thousand factors. */
static int write_named(struct outputs *o, const char *prefix, const char *what, cs_npy_type type,
                       cs_npy_shape shape, const void *v)
{
    int rc = CS_OK;
    char path[PATH_BYTES];
    cs_outfile *f;

    CS_TRY(name_output(prefix, what, path));
    CS_TRY(open_output(o, path, CS_OUT_BINARY, &f));
    CS_TRY(cs_npy_put(f, type, shape, v));
    rc = cs_outfile_finish(f);
out:
    return rc;
}

static int write_index(struct outputs *o, const char *prefix, const cs_matrix_factors *f)
{
    int64_t *index = cs_alloc((size_t)(f->n * f->link.n), sizeof *index);
    int rc;

    if (!index)
        return cs_fail(CS_EMEM, "out of memory for the index of %lld rows", (long long)f->n);
    for (int64_t i = 0; i < f->n; i++)
        for (int32_t k = 0; k < f->link.n; k++)
            index[i * f->link.n + k] = (i + f->link.off[k]) % f->n;
    rc = write_named(o, prefix, "index", CS_NPY_I8, cs_npy_shape2(f->n, f->link.n), index);
    free(index);
    return rc;
}

static int write_factor(struct outputs *o, const char *prefix, const cs_matrix_factors *f,
                        int32_t m, double *dense)
{
    char name[16];
    const double *w = f->w + m * f->n * f->link.n;

    (void)snprintf(name, sizeof name, "%d", (int)m + 1);
    if (!dense)
        return write_named(o, prefix, name, CS_NPY_F8, cs_npy_shape2(f->n, f->link.n), w);
    memset(dense, 0, (size_t)(f->n * f->n) * sizeof *dense);
    for (int64_t i = 0; i < f->n; i++)
        for (int32_t k = 0; k < f->link.n; k++)
            dense[i * f->n + (i + f->link.off[k]) % f->n] += w[i * f->link.n + k];
    return write_named(o, prefix, name, CS_NPY_F8, cs_npy_shape2(f->n, f->n), dense);
}

static int write_factors(struct outputs *o, const cs_factorization *job,
                         const cs_matrix_factors *f)
{
    int rc = CS_OK;
    double *dense = job->dense ? cs_alloc((size_t)(f->n * f->n), sizeof *dense) : NULL;

    if (job->dense && !dense)
        return cs_fail(CS_EMEM, "out of memory for a factor of %lld x %lld", (long long)f->n,
                       (long long)f->n);
    for (int32_t m = 0; m < f->n_factor; m++)
        CS_TRY(write_factor(o, job->output, f, m, dense));
    if (!dense)
        CS_TRY(write_index(o, job->output, f));
out:
    free(dense);
    return rc;
}

static int plot(struct outputs *o, const char *path, const cs_npy *a, const cs_matrix_factors *f,
                const struct truncated *t, double norm)
{
    int rc = CS_OK;
    cs_outfile *to;
    char product[80], svd[80];
    const cs_plot_panel panel[] = {
        { a->v, "given" }, { f->product, product }, { t->product, svd }
    };

    (void)snprintf(product, sizeof product, "%d sparse factors: error %.3f", (int)f->n_factor,
                   norm > 0 ? f->error / norm : 0);
    (void)snprintf(svd, sizeof svd, "SVD of rank %lld: error %.3f", (long long)t->rank,
                   norm > 0 ? t->error / norm : 0);
    CS_TRY(open_output(o, path, CS_OUT_BINARY, &to));
    rc = cs_matrix_plot(to, f->n, panel, t->product ? 3 : 2);
out:
    return rc;
}

/* Check before the work that the file can be written. FIFOs and devices are skipped: opening a FIFO
 * would signal its reader the end. */
static int check_place(const char *path)
{
    struct stat st;
    cs_outfile *f = NULL;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return CS_OK;
    const int rc = cs_outfile_open_as(path, NULL, CS_OUT_BINARY, &f);
    cs_outfile_discard(f);
    return rc;
}

static int check_places(const cs_factorization *job)
{
    int rc = CS_OK;
    char path[PATH_BYTES];

    if (job->output) {
        CS_TRY(name_output(job->output, "1", path));
        CS_TRY(check_place(path));
    }
    if (job->plot)
        rc = check_place(job->plot);
out:
    return rc;
}

/* A factor of an earlier run with more of them, or its index, would look like this run's. */
static int check_earlier(const cs_factorization *job, int64_t n)
{
    int rc = CS_OK;
    char path[PATH_BYTES], what[16];
    bool found = false;

    if (!job->output)
        return CS_OK;
    for (int32_t m = cs_matrix_fit_count(n, &job->fit) + 1; m <= FACTORS_MAX && !found; m++) {
        (void)snprintf(what, sizeof what, "%d", (int)m);
        CS_TRY(name_output(job->output, what, path));
        found = access(path, F_OK) == 0;
    }
    if (!found && job->dense) {
        CS_TRY(name_output(job->output, "index", path));
        found = access(path, F_OK) == 0;
    }
    if (found)
        rc = cs_fail(CS_EUSAGE, "'%s' would look like a file of this run, which does not write it; "
                     "remove it, or give another --output", path);
out:
    return rc;
}

static int fit_and_write(const cs_factorization *job, const cs_npy *a, cs_backend *be)
{
    int rc = CS_OK;
    cs_matrix_factors f = { .w = NULL };
    struct truncated t = { .product = NULL };
    struct outputs o = { .f = NULL };
    const int64_t n = a->shape.dim[0];
    const double norm = cs_frobenius(a->n, a->v, NULL);

    if (!isfinite(norm))
        return cs_fail(CS_EFORMAT, "'%s' holds numbers too large for their squared sum; scale the "
                       "matrix", job->input);
    CS_TRY(cs_matrix_fit(be, n, a->v, &job->fit, &f));
    if (cs_have_lapack())
        CS_TRY(truncate_svd(n, a->v, cs_matrix_factors_nonzeros(&f), &t));
    else
        cs_warn("this program was built without LAPACK: no comparison with truncated SVD");
    if (job->output)
        CS_TRY(write_factors(&o, job, &f));
    if (job->plot)
        CS_TRY(plot(&o, job->plot, a, &f, &t, norm));
    CS_TRY(write_report(&o, &f, &t, norm));
    rc = commit(&o);
out:
    rc = cs_outputs_explain(rc, o.n, NULL);
    outputs_release(&o);
    cs_matrix_factors_release(&f);
    free(t.product);
    return rc;
}

int cs_factorize(const cs_factorization *job)
{
    int rc = CS_OK;
    cs_npy a = { .v = NULL };
    cs_backend *be = NULL;

    if (job->plot)
        CS_TRY(cs_matrix_plot_check(job->plot));
    CS_TRY(check_places(job));
    CS_TRY(read_matrix(job->input, &a));
    CS_TRY(check_earlier(job, a.shape.dim[0]));
    CS_TRY(cs_backend_open("cpu", job->n_thread, &be));
    CS_TRY(fit_and_write(job, &a, be));
out:
    free(a.v);
    cs_backend_close(be);
    return rc;
}
