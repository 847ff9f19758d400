/* proteins_fit.c - fit the weights of a protein database on validation records. */
#include "refine/proteins_fit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* Weights of the fit: number 0, the scale of the logits; one per feature for all nodes; per top
 * node, its own weights and constant, which are added to these, unless there are many of them. */
enum { FEATURES = CS_PROTEIN_FEATURES, WEIGHTS = CS_PROTEIN_WEIGHTS,
       MAX_CLASSES = CS_PROTEIN_MAX_CLASSES, MAX_NODES = CS_PROTEIN_MAX_NODES,
       SHARED = 1, OWN = SHARED + FEATURES, MAX_COLUMNS = OWN + WEIGHTS, N_STEP = 50,
       N_HALVING = 20 };
/* epsilon: added to the Hessian's diagonal; a smaller decrease of the loss ends the fit.
 * least_share: of a clade, for a finite loss. */
static const double fit_decay = 1e-4, epsilon = 1e-9, least_share = 1e-300;

/* Top nodes have the first places. */
static int32_t n_top(const cs_protein_tree *t)
{
    return t->first[1];
}

static int32_t top_of(const cs_protein_tree *t, int32_t node)
{
    while (t->parent[node] >= 0)
        node = t->parent[node];
    return node;
}

static bool has_own(const cs_protein_tree *t)
{
    return n_top(t) <= CS_PROTEIN_MAX_OWN;
}

/* ---- the fit --------------------------------------------------------------------------------- */

/* Loss with its first and second derivatives by the n weights; they are means over the cases after
 * add_decay(). */
struct state {
    int32_t n;
    double  loss, decayed;
    double *gradient, *hessian, *mean;     /* [n], [n * n] lower half, [n] scratch */
    int32_t size[MAX_NODES];               /* classes in the clade of each node */
};

static int state_alloc(struct state *s, const cs_protein_cases *c)
{
    const size_t n = (size_t)(has_own(c->tree) ? OWN + n_top(c->tree) * WEIGHTS : OWN);

    s->n = (int32_t)n;
    s->gradient = cs_alloc(n, sizeof *s->gradient);
    s->mean = cs_alloc(n, sizeof *s->mean);
    s->hessian = cs_alloc(n * n, sizeof *s->hessian);
    for (int32_t k = 0; k < c->n_class; k++)
        for (int32_t v = k; v >= 0; v = c->tree->parent[v])
            s->size[v]++;
    return s->gradient && s->mean && s->hessian ? CS_OK
         : cs_fail(CS_EMEM, "out of memory to fit %d weights", (int)n);
}

static void state_free(struct state *s)
{
    free(s->gradient);
    free(s->mean);
    free(s->hessian);
}

/* The weights that the prediction of class k depends on, and its derivatives by them; returns their
 * number, at most MAX_COLUMNS. */
static int columns(const cs_protein_cases *c, int64_t i, int32_t k, int32_t *at, double *g)
{
    const float *feature = c->feature + i * c->tree->n * FEATURES;

    at[0] = 0;
    g[0] = (double)c->logit[i * c->n_class + k];
    for (int j = 0; j < FEATURES; j++) {
        at[SHARED + j] = SHARED + j;
        g[SHARED + j] = (double)feature[k * FEATURES + j];
    }
    for (int32_t v = c->tree->parent[k]; v >= 0; v = c->tree->parent[v])
        for (int j = 0; j < FEATURES; j++)
            g[SHARED + j] += (double)feature[v * FEATURES + j];
    if (!has_own(c->tree))
        return OWN;
    const int32_t top = top_of(c->tree, k);
    for (int j = 0; j < WEIGHTS; j++) {
        at[OWN + j] = OWN + c->tree->place[top] * WEIGHTS + j;
        g[OWN + j] = j < FEATURES ? (double)feature[top * FEATURES + j] : 1;
    }
    return MAX_COLUMNS;
}

/* Probabilities z [n_class] of a case; returns its cross-entropy. */
static double predict_case(const cs_protein_cases *c, int64_t i, const double *w, double *z)
{
    const int32_t n = c->n_class;
    double top = -INFINITY, sum = 0, g[MAX_COLUMNS];
    int32_t at[MAX_COLUMNS];

    for (int32_t k = 0; k < n; k++) {
        const int n_column = columns(c, i, k, at, g);
        z[k] = 0;
        for (int j = 0; j < n_column; j++)
            z[k] += w[at[j]] * g[j];
        top = z[k] > top ? z[k] : top;
    }
    const double at_truth = z[c->truth[i]];
    for (int32_t k = 0; k < n; k++)
        sum += z[k] = exp(z[k] - top);
    for (int32_t k = 0; k < n; k++)
        z[k] /= sum;
    return top + log(sum) - at_truth;
}

/* The parts of the loss: share [tree->n] of the true class and of each node above it with more
 * classes, 0 of all others. */
static void loss_shares(const cs_protein_tree *t, const int32_t *size, int32_t truth, double *share)
{
    int n_above = 0, last = size[truth];

    memset(share, 0, (size_t)t->n * sizeof *share);
    for (int32_t v = t->parent[truth]; v >= 0; v = t->parent[v])
        if (size[v] != last) {
            last = size[v];
            share[v] = 1;
            n_above++;
        }
    for (int32_t v = t->parent[truth]; v >= 0; v = t->parent[v])
        share[v] *= 0.5 / (n_above > 0 ? n_above : 1);
    share[truth] = n_above > 0 ? 0.5 : 1;
}

/* Loss of a case in a tree, of its probabilities z; its derivative by the logits is z - target
 * [n_class]. */
static double tree_loss(const cs_protein_cases *c, const int32_t *size, int32_t truth,
                        const double *z, double *target)
{
    const cs_protein_tree *t = c->tree;
    double share[MAX_NODES], of[MAX_NODES] = { 0 }, loss = 0;

    for (int32_t k = 0; k < c->n_class; k++)
        for (int32_t v = k; v >= 0; v = t->parent[v])
            of[v] += z[k];
    loss_shares(t, size, truth, share);
    for (int32_t v = truth; v >= 0; v = t->parent[v]) {
        of[v] = of[v] > least_share ? of[v] : least_share;
        loss -= share[v] * log(of[v]);
        share[v] /= of[v];
    }
    for (int32_t k = 0; k < c->n_class; k++) {
        double sum = 0;
        for (int32_t v = k; v >= 0; v = t->parent[v])
            sum += share[v];
        target[k] = z[k] * sum;
    }
    return loss;
}

/* Loss of a case; z [n_class] receives its probabilities, target z less the derivative by the
 * logits. */
static double case_loss(const cs_protein_cases *c, int64_t i, const double *w, const int32_t *size,
                        double *z, double *target)
{
    const int32_t truth = c->truth[i];
    const double entropy = predict_case(c, i, w, z);

    if (c->tree->n_set > 1)
        return tree_loss(c, size, truth, z, target);
    for (int32_t k = 0; k < c->n_class; k++)
        target[k] = k == truth;
    return entropy;
}

static void add_case(const cs_protein_cases *c, int64_t i, const double *z, const double *target,
                     struct state *s)
{
    double g[MAX_COLUMNS];
    int32_t at[MAX_COLUMNS];

    memset(s->mean, 0, (size_t)s->n * sizeof *s->mean);
    for (int32_t k = 0; k < c->n_class; k++) {
        const int n_column = columns(c, i, k, at, g);
        for (int a = 0; a < n_column; a++) {
            double *hessian = s->hessian + (int64_t)at[a] * s->n;
            s->mean[at[a]] += z[k] * g[a];
            s->gradient[at[a]] += (z[k] - target[k]) * g[a];
            for (int b = 0; b <= a; b++)
                hessian[at[b]] += z[k] * g[a] * g[b];
        }
    }
    for (int32_t a = 0; a < s->n; a++)
        for (int32_t b = 0; b <= a; b++)
            s->hessian[(int64_t)a * s->n + b] -= s->mean[a] * s->mean[b];
}

/* Means over n_case cases, plus the decay of all weights except the scale. */
static void add_decay(int64_t n_case, double decay, const double *w, struct state *s)
{
    const int64_t n = s->n;

    s->loss /= (double)n_case;
    s->decayed = s->loss;
    for (int64_t a = 0; a < n; a++) {
        const double lambda = a == 0 ? 0 : decay;
        s->decayed += lambda / 2 * w[a] * w[a];
        s->gradient[a] = s->gradient[a] / (double)n_case + lambda * w[a];
        for (int64_t b = 0; b <= a; b++)
            s->hessian[a * n + b] /= (double)n_case;
        s->hessian[a * n + a] += lambda + epsilon;
    }
}

static void evaluate(const cs_protein_cases *c, double decay, const double *w, bool derive,
                     struct state *s)
{
    double z[MAX_CLASSES], target[MAX_CLASSES];

    s->loss = 0;
    memset(s->gradient, 0, (size_t)s->n * sizeof *s->gradient);
    memset(s->hessian, 0, (size_t)s->n * (size_t)s->n * sizeof *s->hessian);
    for (int64_t i = 0; i < c->n; i++) {
        s->loss += case_loss(c, i, w, s->size, z, target);
        if (derive)
            add_case(c, i, z, target, s);
    }
    add_decay(c->n, decay, w, s);
}

/* Solves hessian x = gradient in place, by the factors of Cholesky; x is left in gradient. */
static void solve_step(struct state *s)
{
    const int64_t n = s->n;
    double *l = s->hessian, *x = s->gradient;

    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b <= a; b++) {
            double v = l[a * n + b];
            for (int64_t k = 0; k < b; k++)
                v -= l[a * n + k] * l[b * n + k];
            l[a * n + b] = a == b ? sqrt(v > epsilon * epsilon ? v : epsilon) : v / l[b * n + b];
        }
    for (int64_t a = 0; a < n; a++) {
        for (int64_t k = 0; k < a; k++)
            x[a] -= l[a * n + k] * x[k];
        x[a] /= l[a * n + a];
    }
    for (int64_t a = n - 1; a >= 0; a--) {
        for (int64_t k = a + 1; k < n; k++)
            x[a] -= l[k * n + a] * x[k];
        x[a] /= l[a * n + a];
    }
}

/* Leaves the scale out of a step. */
static void fix_scale(struct state *s)
{
    s->gradient[0] = 0;
    for (int64_t a = 0; a < s->n; a++)
        s->hessian[a * s->n] = a == 0;
}

/* One step from w, shorter while it does not descend; the decrease of the loss. */
static double newton_step(const cs_protein_cases *c, double decay, bool fixed, double *w,
                          struct state *s, struct state *next)
{
    double *to = next->mean, step = 1;

    evaluate(c, decay, w, true, s);
    if (fixed)
        fix_scale(s);
    solve_step(s);
    for (int k = 0; k < N_HALVING; k++, step /= 2) {
        for (int32_t a = 0; a < s->n; a++)
            to[a] = w[a] - step * s->gradient[a];
        evaluate(c, decay, to, false, next);
        if (next->decayed < s->decayed) {
            memcpy(w, to, (size_t)s->n * sizeof *w);
            return s->decayed - next->decayed;
        }
    }
    return 0;
}

/* The least loss from scale 1 and no other weights; returns it. */
static double minimise(const cs_protein_cases *c, double decay, bool fixed, double *w,
                       struct state *s)
{
    memset(w, 0, (size_t)s->n * sizeof *w);
    w[0] = 1;
    for (int k = 0; k < N_STEP; k++)
        if (newton_step(c, decay, fixed, w, s, s + 1) < epsilon)
            break;
    evaluate(c, decay, w, false, s);
    return s->loss;
}

/* weight [t->n * WEIGHTS] of nodes, from those of the fit. */
static void store_weights(const cs_protein_tree *t, const double *w, float *weight)
{
    for (int32_t v = 0; v < t->n; v++) {
        const bool own = has_own(t) && t->parent[v] < 0;
        for (int j = 0; j < WEIGHTS; j++) {
            const double more = own ? w[OWN + t->place[v] * WEIGHTS + j] : 0;
            const double shared = j < FEATURES ? w[SHARED + j] : 0;
            weight[v * WEIGHTS + j] = (float)((more + shared) / w[0]);
        }
    }
}

int cs_proteins_solve(const cs_protein_cases *c, double decay, float *weight, double *before,
                      double *after)
{
    int rc = CS_OK;
    struct state s[2] = { { 0 } };
    double *w = NULL;

    CS_TRY(state_alloc(&s[0], c));
    CS_TRY(state_alloc(&s[1], c));
    w = cs_xcalloc((size_t)s->n, sizeof *w);
    w[0] = 1;
    evaluate(c, decay, w, false, s);
    *before = s->loss;
    *after = minimise(c, decay, false, w, s);
    if (w[0] <= 0 || w[0] > 1)
        *after = minimise(c, decay, true, w, s);
    store_weights(c->tree, w, weight);
out:
    state_free(&s[0]);
    state_free(&s[1]);
    free(w);
    return rc;
}

/* ---- validation data ------------------------------------------------------------------------- */

struct crops {
    const cs_proteins *p;
    cs_protein_cases   cases;
};

static int search_crop(const cs_proteins *p, const char *base, int64_t n_base,
                       cs_protein_hits *hits)
{
    if (cs_proteins_search(p, base, n_base, 1, hits) == CS_OK)
        return CS_OK;
    return cs_fail(CS_EMEM, "out of memory to search %lld bases for proteins", (long long)n_base);
}

static int take_crop(void *arg, const char *base, int64_t n_base, int32_t truth,
                     const float *logit)
{
    struct crops *k = arg;
    cs_protein_cases *c = &k->cases;
    cs_protein_hits hits;

    if (search_crop(k->p, base, n_base, &hits) != CS_OK)
        return CS_EMEM;
    cs_protein_features(k->p, &hits, c->feature + c->n * c->tree->n * FEATURES);
    memcpy(c->logit + c->n * c->n_class, logit, (size_t)c->n_class * sizeof *logit);
    c->truth[c->n++] = truth;
    return CS_OK;
}

int cs_proteins_probe(const cs_proteins *p, const cs_dataset *d, const cs_sampler *crops, int64_t n,
                      double *base)
{
    int rc = CS_OK;
    const double began = cs_now_s();
    int64_t n_base = 0;

    for (int64_t i = 0; i < n && i < cs_sampler_count(crops); i++) {
        const cs_sample s = cs_sampler_get(crops, 0, i);
        cs_protein_hits hits;
        CS_TRY(search_crop(p, d->ex[s.example].base + s.start, s.n_base, &hits));
        n_base += s.n_base;
    }
    *base = (cs_now_s() - began) / (double)(n_base > 0 ? n_base : 1);
out:
    return rc;
}

int cs_proteins_fit(cs_model *m, const cs_dataset *d, const cs_crop_draw *draw, double *before,
                    double *after)
{
    int rc = CS_OK;
    const size_t n = (size_t)draw->n;
    cs_proteins *proteins = m->proteins;
    const cs_protein_tree *tree = &proteins->tree;
    cs_crop_draw crops = *draw;
    int32_t top[MAX_CLASSES];
    struct crops k = { .p = proteins, .cases = {
        .n_class = m->n_label, .tree = tree,
        .logit = cs_alloc(n * (size_t)m->n_label, sizeof *k.cases.logit),
        .feature = cs_alloc(n * (size_t)tree->n * FEATURES, sizeof *k.cases.feature),
        .truth = cs_alloc(n, sizeof *k.cases.truth) } };

    if (!k.cases.logit || !k.cases.feature || !k.cases.truth) {
        rc = cs_fail(CS_EMEM, "out of memory for %lld crops", (long long)draw->n);
        goto out;
    }
    CS_TRY(cs_proteins_need_index(proteins, m->be->n_thread));
    m->proteins = NULL;
    for (int32_t c = 0; c < m->n_label; c++)
        top[c] = tree->place[top_of(tree, c)];
    crops.stratum = tree->n_set > 1 ? top : NULL;
    CS_TRY(cs_crop_logits(m, d, &crops, take_crop, &k));
    rc = cs_proteins_solve(&k.cases, fit_decay, proteins->weight, before, after);
out:
    m->proteins = proteins;
    CS_FREE(k.cases.logit, k.cases.feature, k.cases.truth);
    return rc;
}
