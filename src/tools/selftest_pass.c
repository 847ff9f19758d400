/* selftest_pass.c - the training pass of a selftest and fingerprints of its gradients. */
#include "tools/selftest_pass.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "train/optim.h"

cs_batch *cs_selftest_batch(const cs_model *m, const int32_t *tok, const int64_t *len, int n)
{
    cs_batch *b = cs_batch_new(0, 1);

    for (int r = 0; r < n; tok += len[r++]) {
        const float target = (float)(r % m->n_label);
        if (cs_batch_append(b, tok, NULL, len[r], &target, (cs_slot){ 0 }) != CS_OK) {
            cs_batch_free(b);
            return NULL;
        }
    }
    return b;
}

static cs_projection project(const cs_real *g, int64_t n, uint64_t key)
{
    double sum = 0, square = 0;

    for (int64_t k = 0; k < n; k++) {
        sum += (double)g[k] * (2 * cs_rng_unit(key, (uint64_t)k) - 1);
        square += (double)g[k] * (double)g[k];
    }
    return (cs_projection){ sum, sqrt(square) };
}

int cs_selftest_train(cs_session *s, const cs_batch *b, cs_projection *grad)
{
    int rc = CS_OK;
    cs_model *m = s->model;
    double loss;
    const cs_step_opt step_opt = { .scale = 1.0 / b->n_rec, .key = 1 };
    const size_t n_bytes = (size_t)m->ps.n_real * sizeof(cs_real);
    cs_real *g = cs_alloc(n_bytes, 1);

    if (!g)
        return cs_fail(CS_EMEM, "out of memory for %lld gradients", (long long)m->ps.n_real);
    cs_optim_zero_grad(&m->ps);
    CS_TRY(cs_session_forward_backward(s, b, &step_opt, &loss, NULL));
    m->be->op.download(m->be, g, m->ps.grad, n_bytes);
    CS_TRY(m->be->op.sync(m->be));
    for (int32_t i = 0; i < m->ps.n; i++)
        grad[i] = m->ps.p[i].buffer ? (cs_projection){ 0, 0 }
                                    : project(g + m->ps.p[i].off, m->ps.p[i].n, (uint64_t)i);
out:
    free(g);
    return rc;
}

double cs_projection_error(const cs_projection *want, const cs_projection *got, int64_t n)
{
    double max = 0, largest = 0;

    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, want[i].norm);
    for (int64_t i = 0; i < n; i++) {
        const double scale = fmax(want[i].norm, 1e-3 * largest);
        const double off = fmax(fabs(got[i].sum - want[i].sum), fabs(got[i].norm - want[i].norm));
        const bool is_nan = isnan(got[i].sum) || isnan(got[i].norm);
        max = is_nan ? NAN : off / scale > max ? off / scale : max;
        if (is_nan)
            break;
    }
    return max;
}
