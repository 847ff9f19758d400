/* svd.c - SVD by LAPACK's dgesdd, which reads a row-major matrix as its transpose. */
#include "nn/ops/svd.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#ifdef CS_HAVE_LAPACK

/* LAPACK 3, Fortran: every argument by reference, and the length of the text at the end. */
void dgesdd_(const char *jobz, const int *m, const int *n, double *a, const int *lda, double *s,
             double *u, const int *ldu, double *vt, const int *ldvt, double *work,
             const int *lwork, int *iwork, int *info, size_t jobz_len);

/* Signs are free in an SVD; without a rule they would depend on the library. */
static void settle_signs(cs_svd *d)
{
    for (int64_t j = 0; j < d->k; j++) {
        int64_t at = 0;
        for (int64_t i = 1; i < d->m; i++)
            if (fabs(d->u[i * d->k + j]) > fabs(d->u[at * d->k + j]))
                at = i;
        if (d->u[at * d->k + j] >= 0)
            continue;
        for (int64_t i = 0; i < d->m; i++)
            d->u[i * d->k + j] = -d->u[i * d->k + j];
        for (int64_t i = 0; i < d->n; i++)
            d->vt[j * d->n + i] = -d->vt[j * d->n + i];
    }
}

/* Row-major (m, n) is column-major (n, m): a' = v s u', and v (n, k) and u' (k, m) by columns are
 * vt and u by rows. */
static int decompose(const double *a, cs_svd *d)
{
    const int rows = (int)d->n, cols = (int)d->m, k = (int)d->k;
    int info = 0, n_work = -1;
    double best = 0;
    double *copy = cs_alloc((size_t)(d->m * d->n), sizeof *copy), *work = NULL;
    int *iwork = cs_alloc((size_t)(8 * d->k), sizeof *iwork);

    if (copy && iwork) {
        dgesdd_("S", &rows, &cols, copy, &rows, d->s, d->vt, &rows, d->u, &k, &best, &n_work,
                iwork, &info, 1);
        n_work = (int)best;
        work = cs_alloc((size_t)n_work, sizeof *work);
    }
    if (work) {
        memcpy(copy, a, (size_t)(d->m * d->n) * sizeof *copy);
        dgesdd_("S", &rows, &cols, copy, &rows, d->s, d->vt, &rows, d->u, &k, work, &n_work,
                iwork, &info, 1);
    }
    const bool has_work = work != NULL;
    CS_FREE(copy, iwork, work);
    if (!has_work)
        return cs_fail(CS_EMEM, "out of memory for the SVD of a matrix of %lld x %lld",
                       (long long)d->m, (long long)d->n);
    if (info != 0)
        return cs_fail(CS_EUSAGE, "LAPACK failed to find the singular values of a matrix of %lld "
                       "x %lld", (long long)d->m, (long long)d->n);
    settle_signs(d);
    return CS_OK;
}

bool cs_have_lapack(void)
{
    return true;
}

int cs_svd_new(int64_t m, int64_t n, const double *a, cs_svd *out)
{
    int rc = CS_OK;
    const int64_t k = m < n ? m : n;
    cs_svd d = { .m = m, .n = n, .k = k };

    CS_BUG(m < 1 || n < 1 || m > INT32_MAX || n > INT32_MAX);
    *out = (cs_svd){ .m = 0 };
    d.u = cs_alloc((size_t)(m * k), sizeof *d.u);
    d.s = cs_alloc((size_t)k, sizeof *d.s);
    d.vt = cs_alloc((size_t)(k * n), sizeof *d.vt);
    if (d.u && d.s && d.vt)
        rc = decompose(a, &d);
    else
        rc = cs_fail(CS_EMEM, "out of memory for the SVD of a matrix of %lld x %lld",
                     (long long)m, (long long)n);
    if (rc == CS_OK)
        *out = d;
    else
        cs_svd_release(&d);
    return rc;
}

#else

bool cs_have_lapack(void)
{
    return false;
}

int cs_svd_new(int64_t m, int64_t n, const double *a, cs_svd *out)
{
    (void)m;
    (void)n;
    (void)a;
    *out = (cs_svd){ .m = 0 };
    return cs_fail(CS_EUSAGE, "this program was built without LAPACK, which the SVD needs; on "
                   "Debian: apt-get install liblapack-dev, then configure and build again");
}

#endif

void cs_svd_release(cs_svd *d)
{
    CS_FREE(d->u, d->s, d->vt);
    *d = (cs_svd){ .m = 0 };
}
