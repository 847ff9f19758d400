/* test_protein_tree.c - protein databases of classes in a tree: taxa are compared with siblings. */
#include "tests/nn/genes.h"
#include "tests/nn/toy.h"

#include <math.h>
#include <jansson.h>
#include "nn/exec/proteins.h"
#include "nn/exec/proteins_io.h"
#include "refine/proteins_build.h"
#include "refine/proteins_fit.h"

/* Classes 0 and 1 are below a taxon. */
enum { ABOVE = N_CLASS, N_NODE = N_CLASS + 1, N_FEATURE = CS_PROTEIN_FEATURES };
static const int32_t above[N_NODE] = { ABOVE, ABOVE, -1, -1 };

static cs_proteins *build(const cs_dataset *d)
{
    const cs_protein_rule rule = { 150, CS_PROTEIN_MAX_LENGTH, 1, 1 << 20 };
    cs_proteins *p;

    if (cs_proteins_build(d, N_CLASS, &rule, 1, &p) != CS_OK)
        fail_msg("%s", cs_error_message());
    return p;
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A taxon has the best score of its classes. The shares of siblings sum to their frames. */
static void test_hits(void **state)
{
    (void)state;
    cs_dataset d;
    cs_protein_hits flat, h;

    genes_dataset(true, &d);
    cs_proteins *p = build(&d), *q = build(&d);
    const cs_protein_tree *t = &q->tree;
    assert_int_equal(cs_proteins_set_tree(q, N_NODE, above), CS_OK);
    assert_int_equal(t->n_set, 2);
    assert_true(t->place[2] == 0 && t->place[ABOVE] == 1 && t->place[0] == 2 && t->place[1] == 3);
    for (int64_t i = 0; i < d.n; i++) {
        assert_int_equal(cs_proteins_search(p, d.ex[i].base, N_BASE, 1, &flat), CS_OK);
        assert_int_equal(cs_proteins_search(q, d.ex[i].base, N_BASE, 1, &h), CS_OK);
        for (int c = 0; c < N_CLASS; c++) {
            assert_int_equal(h.best[t->place[c]], flat.best[c]);
            assert_int_equal(h.sum[t->place[c]], flat.sum[c]);
        }
        assert_int_equal(h.best[t->place[ABOVE]], max(flat.best[0], flat.best[1]));
        assert_true(h.n_frame[0] == flat.n_frame[0] && h.n_frame[1] <= h.n_frame[0]);
        for (int k = 0; k < 2; k++) {
            const int64_t sum = h.share[t->first[k]] + h.share[t->first[k] + 1];
            assert_true(llabs(sum - (h.n_frame[k] << 20)) <= h.n_frame[k]);
        }
    }
    cs_proteins_free(p);
    cs_proteins_free(q);
    cs_dataset_release(&d);
}

/* The evidence of a class is the sum over its node and those above it; a class may be above
 * another one. */
static void check_evidence(const cs_dataset *d, cs_proteins *p, int32_t n, const int32_t *parent)
{
    cs_protein_hits h;
    float f[N_NODE * N_FEATURE], out[N_CLASS];

    assert_int_equal(cs_proteins_set_tree(p, n, parent), CS_OK);
    for (int i = 0; i < n * CS_PROTEIN_WEIGHTS; i++)
        p->weight[i] = (float)cs_rng_normal(7, (uint64_t)i);
    for (int64_t i = 0; i < d->n; i++) {
        assert_int_equal(cs_proteins_search(p, d->ex[i].base, N_BASE, 1, &h), CS_OK);
        cs_protein_features(p, &h, f);
        assert_int_equal(cs_proteins_evidence(p, d->ex[i].base, N_BASE, 1, out), CS_OK);
        for (int c = 0; c < N_CLASS; c++) {
            double sum = 0;
            for (int32_t v = c; v >= 0; v = parent[v]) {
                const float *w = p->weight + v * CS_PROTEIN_WEIGHTS;
                for (int k = 0; k < N_FEATURE; k++)
                    sum += (double)w[k] * (double)f[v * N_FEATURE + k];
                sum += (double)w[N_FEATURE];
            }
            assert_true(fabs(sum - (double)out[c]) < 1e-4);
        }
    }
}

static void test_evidence(void **state)
{
    (void)state;
    const int32_t class_above[N_CLASS] = { -1, 0, -1 };
    cs_dataset d;

    genes_dataset(true, &d);
    cs_proteins *p = build(&d);
    check_evidence(&d, p, N_NODE, above);
    check_evidence(&d, p, N_CLASS, class_above);
    cs_proteins_free(p);
    cs_dataset_release(&d);
}

/* ---- files ----------------------------------------------------------------------------------- */

static cs_safetensors *write_and_open(const cs_proteins *p)
{
    cs_tensor t[CS_PROTEIN_TENSORS];
    uint8_t *packed;
    char path[] = "tree.XXXXXX";
    cs_outfile *f;
    cs_safetensors *file;

    assert_int_equal(cs_proteins_tensors(p, t, &packed), CS_OK);
    close(mkstemp(path));
    assert_int_equal(cs_outfile_open(path, &f), CS_OK);
    assert_int_equal(cs_safetensors_write(f, t, CS_PROTEIN_TENSORS, NULL, 0), CS_OK);
    assert_int_equal(cs_outfile_close(f), CS_OK);
    assert_int_equal(cs_safetensors_open(path, &file), CS_OK);
    assert_int_equal(unlink(path), 0);
    free(packed);
    return file;
}

/* Files and copies have the tree and its weights; what is not a tree of the classes is refused. */
static void test_file(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "[3,3,-1]", "[3,3,-1,0]", "[3,3,-1,4]", "[3,3,-1,-2]", "[3,3,-1,null]", "{}", "[-1]",
        "[1,0,-1,-1]", "[-1,-1,-1,-1]"
    };
    cs_dataset d;
    cs_proteins *q;

    genes_dataset(true, &d);
    cs_proteins *p = build(&d);
    assert_int_equal(cs_proteins_set_tree(p, N_NODE, above), CS_OK);
    for (int i = 0; i < N_NODE * CS_PROTEIN_WEIGHTS; i++)
        p->weight[i] = (float)i;
    cs_safetensors *file = write_and_open(p);
    json_t *j = cs_proteins_json(p);
    assert_int_equal(cs_proteins_read(j, file, "a file", N_CLASS, &q), CS_OK);
    assert_true(cs_proteins_same_tree(p, q));
    assert_memory_equal(p->weight, q->weight, N_NODE * CS_PROTEIN_WEIGHTS * sizeof *p->weight);
    cs_proteins_free(q);
    assert_int_equal(cs_proteins_copy(p, &q), CS_OK);
    assert_true(cs_proteins_same_tree(p, q));
    assert_memory_equal(p->weight, q->weight, N_NODE * CS_PROTEIN_WEIGHTS * sizeof *p->weight);
    cs_proteins_free(q);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_object_set_new(j, "parent", json_loads(wrong[i], 0, NULL));
        assert_int_equal(cs_proteins_read(j, file, "a file", N_CLASS, &q), CS_EFORMAT);
        assert_non_null(strstr(cs_error_message(), "protein database has "));
        cs_error_clear();
    }
    json_decref(j);
    cs_safetensors_close(file);
    cs_proteins_free(p);
    cs_dataset_release(&d);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Without evidence: -log of the share of each clade in the classes, half for the class, half for
 * those above it; a class above others has their share, too. */
static void test_loss(void **state)
{
    (void)state;
    const int32_t class_above[N_CLASS] = { -1, 0, -1 };
    const struct { int32_t n; const int32_t *parent; double loss[N_CLASS]; } trees[] = {
        { N_NODE, above, { (log(3) + log(1.5)) / 2, (log(3) + log(1.5)) / 2, log(3) } },
        { N_CLASS, class_above, { log(1.5), (log(3) + log(1.5)) / 2, log(3) } },
    };
    float logit[N_CLASS] = { 0 }, feature[N_NODE * N_FEATURE] = { 0 };
    float weight[N_NODE * CS_PROTEIN_WEIGHTS];
    double before, after;
    cs_dataset d;

    genes_dataset(true, &d);
    cs_proteins *p = build(&d);
    for (int k = 0; k < 2; k++)
        for (int32_t truth = 0; truth < N_CLASS; truth++) {
            assert_int_equal(cs_proteins_set_tree(p, trees[k].n, trees[k].parent), CS_OK);
            cs_protein_cases c = { N_CLASS, &p->tree, 1, logit, feature, &truth };
            assert_int_equal(cs_proteins_solve(&c, 1e-4, weight, &before, &after), CS_OK);
            assert_true(fabs(before - trees[k].loss[truth]) < 1e-9 && after < before);
        }
    cs_proteins_free(p);
    cs_dataset_release(&d);
}

enum { N_CASE = 40000 };
static const double shared[N_FEATURE] = { 0.5, -0.3, 0.8, 0, 0.2, -0.6, 0.1, 0, -0.4 },
                    own = 0.6;                     /* more of the first feature of class 2 */

/* Cases drawn from the model with these weights. */
static void draw_cases(cs_protein_cases *c)
{
    for (int i = 0; i < c->n; i++) {
        double z[N_CLASS];
        for (int k = 0; k < N_NODE * N_FEATURE; k++)
            c->feature[i * N_NODE * N_FEATURE + k] =
                (float)cs_rng_normal(2, (uint64_t)(i * N_NODE * N_FEATURE + k));
        const float *f = c->feature + i * N_NODE * N_FEATURE;
        for (int k = 0; k < N_CLASS; k++) {
            c->logit[i * N_CLASS + k] = (float)cs_rng_normal(1, (uint64_t)(i * N_CLASS + k));
            z[k] = 0.7 * (double)c->logit[i * N_CLASS + k];
            for (int32_t v = k; v >= 0; v = above[v])
                for (int j = 0; j < N_FEATURE; j++)
                    z[k] += (shared[j] + (v == 2 && j == 0 ? own : 0))
                        * (double)f[v * N_FEATURE + j];
        }
        c->truth[i] = genes_draw_class((uint64_t)i, z);
    }
}

/* Known weights are recovered: those of top nodes, and those that all others share. */
static void test_weights(void **state)
{
    (void)state;
    cs_dataset d;
    float w[N_NODE][CS_PROTEIN_WEIGHTS];
    double before, after;

    genes_dataset(true, &d);
    cs_proteins *p = build(&d);
    assert_int_equal(cs_proteins_set_tree(p, N_NODE, above), CS_OK);
    cs_protein_cases c = { .n_class = N_CLASS, .tree = &p->tree, .n = N_CASE,
                           .logit = malloc(sizeof(float) * N_CASE * N_CLASS),
                           .feature = malloc(sizeof(float) * N_CASE * N_NODE * N_FEATURE),
                           .truth = malloc(sizeof(int32_t) * N_CASE) };
    assert_true(c.logit && c.feature && c.truth);
    draw_cases(&c);
    assert_int_equal(cs_proteins_solve(&c, 0, w[0], &before, &after), CS_OK);
    assert_true(after < before - 0.1);
    assert_memory_equal(w[0], w[1], sizeof w[0]);
    for (int v = 0; v < N_NODE; v++)
        for (int j = 0; j < N_FEATURE; j++) {
            const double real = (shared[j] + (v == 2 && j == 0 ? own : 0)) / 0.7;
            assert_true(fabs((double)w[v][j] - real) < 0.08);
        }
    CS_FREE(c.logit, c.feature, c.truth);
    cs_proteins_free(p);
    cs_dataset_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hits), cmocka_unit_test(test_evidence), cmocka_unit_test(test_file),
        cmocka_unit_test(test_loss), cmocka_unit_test(test_weights),
    };

    return cs_cpu_init() == CS_OK ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
