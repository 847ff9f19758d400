/* test_proteins.c - protein databases: relatives are found, on both strands and after reading a
 * file. */
#include "tests/nn/genes.h"
#include "tests/nn/toy.h"

#include <math.h>
#include <jansson.h>
#include "nn/exec/proteins.h"
#include "nn/exec/proteins_io.h"
#include "refine/proteins_build.h"
#include "refine/proteins_choose.h"
#include "refine/proteins_fit.h"
#include "tok/translate.h"

static cs_backend *be;

static cs_proteins *build(const cs_dataset *d, double max_known, int64_t max_bytes)
{
    const cs_protein_rule rule = { 150, CS_PROTEIN_MAX_LENGTH, max_known, max_bytes };
    cs_proteins *p;

    if (cs_proteins_build(d, N_CLASS, &rule, 1, &p) != CS_OK)
        fail_msg("%s", cs_error_message());
    return p;
}

/* All frames, letter by letter, of a sequence with an unknown base. */
static void test_frames(void **state)
{
    (void)state;
    const char base[] = "ATGGCNTAAacgtTTTCA", turned[] = "TGAAAacgtTTANGCCAT";
    uint8_t letter[CS_FRAMES][8], same[8];

    for (int f = 0; f < CS_FRAMES; f++) {
        const int64_t n = cs_translate(base, 18, f, letter[f]);
        assert_int_equal(n, (18 - f % 3) / 3);
        assert_int_equal(cs_translate(turned, 18, (f + 3) % 6, same), n);
        assert_memory_equal(letter[f], same, (size_t)n);
    }
    const char *const codon[3][6] = { { "ATG", "GCN", "TAA", "acg", "tTT", "TCA" },
                                      { "TGG", "CNT", "AAa", "cgt", "TTT", NULL },
                                      { "GGC", "NTA", "Aac", "gtT", "TTC", NULL } };
    const char *const acid[3] = { "M**TFS", "W*KRF", "G*NVF" };
    for (int f = 0; f < 3; f++)
        for (int i = 0; i < 6 && codon[f][i]; i++) {
            assert_memory_equal(base + f + 3 * i, codon[f][i], 3);
            const uint8_t at = letter[f][i];
            assert_int_equal(at == CS_ACID_STOP ? '*' : cs_amino_acids[at], acid[f][i]);
        }
}

/* A genome of a group that is not in the database resembles its class's proteins and no others. */
static void test_classes(void **state)
{
    (void)state;
    cs_dataset d;
    cs_protein_hits h;

    genes_dataset(true, &d);
    cs_proteins *p = build(&d, 1, 1 << 20);
    assert_in_range(p->n, N_CLASS * (N_GROUP - 1), 2 * N_CLASS * (N_GROUP - 1));
    for (int i = 0; i < d.n; i++) {
        assert_int_equal(cs_proteins_search(p, d.ex[i].base, N_BASE, 1, &h), CS_OK);
        for (int c = 0; c < N_CLASS; c++)
            if (c == d.ex[i].class_no) {
                assert_true(h.best[c] > 400);
                assert_true(h.wins[c] >= 1 && h.margin[c] > 300);
            } else {
                assert_true(h.best[c] < 120);
            }
    }
    cs_proteins_free(p);
    cs_dataset_release(&d);
}

/* Near-duplicates are skipped, and a bound on bytes is kept, in equal shares as far as these go. */
static void test_size(void **state)
{
    (void)state;
    cs_dataset d;
    int n[N_CLASS] = { 0 };

    genes_dataset(true, &d);
    d.ex[1].base = d.ex[0].base;
    cs_proteins *all = build(&d, 1, 1 << 20), *few = build(&d, 0.9, 1 << 20);
    cs_proteins *small = build(&d, 1, 600);
    assert_int_equal(few->n, all->n - 1);
    assert_true(cs_proteins_bytes(small->n, small->n_letter - small->n - 1) <= 600);
    for (int64_t k = 0; k < small->n; k++)
        n[small->class_no[k]]++;
    for (int c = 0; c < N_CLASS; c++)
        assert_in_range(n[c], 1, 2);
    cs_proteins_free(all);
    cs_proteins_free(few);
    cs_proteins_free(small);
    cs_dataset_release(&d);
}

/* Long reading frames are stored in pieces. */
static void test_pieces(void **state)
{
    (void)state;
    cs_dataset d;
    cs_proteins *p;
    const cs_protein_rule rule = { 150, 90, 1, 1 << 20 };

    genes_dataset(true, &d);
    cs_proteins *whole = build(&d, 1, 1 << 20);
    assert_int_equal(cs_proteins_build(&d, N_CLASS, &rule, 3, &p), CS_OK);
    assert_int_equal(p->n_letter - p->n, whole->n_letter - whole->n);
    assert_true(p->n >= 3 * whole->n);
    for (int64_t k = 1; k < p->n; k++)
        assert_in_range(p->start[k] - p->start[k - 1] - 1, 50, 90);
    cs_proteins_free(whole);
    cs_proteins_free(p);
    cs_dataset_release(&d);
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* Of two classes three groups each, which have a relative of a family of the class, one of a family
 * of both classes, and a protein of their own, in this order. */
enum { LENGTH = 120, PER_GROUP = 3, N_POOL = 2 * 3 * PER_GROUP, OWN_FAMILY = 0 };

static void make_pool(cs_protein_pool *p)
{
    static uint8_t letter[N_POOL * (LENGTH + 1) + 1], class_no[N_POOL];
    static int64_t start[N_POOL];
    static uint16_t length[N_POOL];
    static uint64_t group[N_POOL];

    memset(letter, CS_ACID_STOP, sizeof letter);
    for (int k = 0; k < N_POOL; k++) {
        const int kind = k % PER_GROUP, family = kind == OWN_FAMILY ? k / 9 : kind == 1 ? 2 : 3 + k;
        start[k] = k * (LENGTH + 1) + 1;
        length[k] = LENGTH;
        class_no[k] = (uint8_t)(k / 9);
        group[k] = (uint64_t)(k / PER_GROUP);
        for (int i = 0; i < LENGTH; i++) {
            const bool moved = cs_rng_below(cs_rng_key(31, (uint64_t)k), (uint64_t)i, 8) == 0;
            letter[start[k] + i] = (uint8_t)cs_rng_below(cs_rng_key(moved ? 32 : 33,
                (uint64_t)(moved ? k : family)), (uint64_t)i, CS_ACIDS);
        }
    }
    *p = (cs_protein_pool){ N_POOL, 2, letter, start, length, class_no, group };
}

/* Proteins that predict the classes of other groups are chosen first, in equal shares, then the
 * rest. */
static void test_choice(void **state)
{
    (void)state;
    cs_protein_pool pool;
    uint32_t chosen[N_POOL], again[N_POOL];
    size_t n, m;
    int n_class[2] = { 0 };

    make_pool(&pool);
    assert_int_equal(cs_proteins_choose(&pool, cs_proteins_bytes(4, 4 * LENGTH), 1, chosen,
                                        &n), CS_OK);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(chosen[i] % PER_GROUP, OWN_FAMILY);
        n_class[pool.class_no[chosen[i]]]++;
    }
    assert_int_equal(n_class[0], 2);
    assert_int_equal(n_class[1], 2);
    assert_int_equal(cs_proteins_choose(&pool, 1 << 20, 3, again, &m), CS_OK);
    assert_int_equal(cs_proteins_choose(&pool, 1 << 20, 1, chosen, &n), CS_OK);
    assert_int_equal(n, N_POOL);
    assert_int_equal(m, N_POOL);
    assert_memory_equal(chosen, again, sizeof chosen);
}

/* ---- evidence -------------------------------------------------------------------------------- */

static void fill_weights(cs_proteins *p)
{
    for (int i = 0; i < p->n_class * CS_PROTEIN_WEIGHTS; i++)
        p->weight[i] = (float)cs_rng_normal(5, (uint64_t)i);
}

/* Both strands have the same evidence, whatever the length; that of a copy is the same. */
static void test_strands(void **state)
{
    (void)state;
    cs_dataset d;
    static char turned[N_BASE];
    float a[N_CLASS], b[N_CLASS], c[N_CLASS];
    cs_proteins *copy;

    genes_dataset(true, &d);
    cs_proteins *p = build(&d, 1, 1 << 20);
    fill_weights(p);
    assert_int_equal(cs_proteins_copy(p, &copy), CS_OK);
    for (int i = 0; i < d.n; i++) {
        for (int n = N_BASE - 100; n <= N_BASE; n++) {
            cs_base_revcomp(d.ex[i].base, n, turned);
            assert_int_equal(cs_proteins_evidence(p, d.ex[i].base, n, 1, a), CS_OK);
            assert_int_equal(cs_proteins_evidence(p, turned, n, 1, b), CS_OK);
            assert_memory_equal(a, b, sizeof a);
        }
        assert_int_equal(cs_proteins_evidence(copy, d.ex[i].base, N_BASE, 1, c), CS_OK);
        assert_memory_equal(a, c, sizeof a);
        const int own = d.ex[i].class_no;
        assert_true(a[own] != p->weight[own * CS_PROTEIN_WEIGHTS + CS_PROTEIN_FEATURES]);
    }
    cs_proteins_free(copy);
    cs_proteins_free(p);
    cs_dataset_release(&d);
}

/* A sequence without any base, and shorter than a seed. */
static void test_short(void **state)
{
    (void)state;
    cs_dataset d;
    cs_protein_hits h;

    genes_dataset(true, &d);
    cs_proteins *p = build(&d, 1, 1 << 20);
    for (int n = 0; n < 80; n++) {
        assert_int_equal(cs_proteins_search(p, d.ex[0].base + 100, n, 1, &h), CS_OK);
        for (int c = 0; c < N_CLASS && n < 75; c++)
            assert_int_equal(h.best[c] + h.sum[c] + h.wins[c], 0);
    }
    cs_proteins_free(p);
    cs_dataset_release(&d);
}

/* Positions of more than 25 bits leave fewer bits of a seed's hash in an entry: the last protein of
 * 34 million letters is found. */
static void test_large(void **state)
{
    (void)state;
    enum { N = 680, EACH = 50000, LAST = N - 1, N_QUERY = 100 };
    cs_proteins *p;
    cs_protein_list l = { 0 };
    int64_t at = 0;
    int best = 0;

    assert_int_equal(cs_proteins_new(N_CLASS, N, N * (EACH + 1) + 1, &p), CS_OK);
    assert_true(p->n_letter > 1 << 25);
    p->letter[at++] = CS_ACID_STOP;
    for (int k = 0; k <= LAST; k++) {
        p->start[k] = (uint32_t)at;
        p->class_no[k] = (uint8_t)(k % N_CLASS);
        for (int i = 0; i < EACH; i++, at++)
            p->letter[at] = (uint8_t)cs_rng_below(41, (uint64_t)at, CS_ACIDS);
        p->letter[at++] = CS_ACID_STOP;
    }
    assert_int_equal(at, p->n_letter);
    assert_int_equal(cs_proteins_index(p, 1), CS_OK);
    uint8_t room[N_QUERY + 2 * CS_PROTEIN_MARGIN];
    memset(room, CS_ACID_STOP, sizeof room);
    memcpy(room + CS_PROTEIN_MARGIN, p->letter + p->n_letter - 1 - N_QUERY, N_QUERY);
    assert_int_equal(cs_proteins_align(p, room + CS_PROTEIN_MARGIN, N_QUERY, &l), CS_OK);
    for (size_t i = 0; i < l.n; i++)
        if (l.at[i].protein == LAST && l.at[i].score > best)
            best = l.at[i].score;
        else
            assert_true(l.at[i].protein == LAST || l.at[i].score < 120);
    assert_true(best > 400);
    free(l.at);
    cs_proteins_free(p);
}

/* ---- files ----------------------------------------------------------------------------------- */

static cs_model *with_proteins(cs_dataset *d)
{
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                    .max_len = "1024" };
    cs_model *m = toy_model(&t, be);

    genes_dataset(true, d);
    m->proteins = build(d, 1, 1 << 20);
    fill_weights(m->proteins);
    return m;
}

static void test_file(void **state)
{
    (void)state;
    cs_dataset d;
    cs_model *m = with_proteins(&d), *q;
    const cs_proteins *a = m->proteins;
    size_t n;
    char *p = toy_file(m, &n);

    if (cs_model_parse(p, n, "m", be, CS_USE_INFERENCE, &q) != CS_OK)
        fail_msg("%s", cs_error_message());
    const cs_proteins *b = q->proteins;
    assert_non_null(b);
    assert_null(b->entry);
    assert_int_equal(cs_proteins_need_index(q->proteins, 1), CS_OK);
    const uint32_t *entry = b->entry;
    assert_int_equal(cs_proteins_need_index(q->proteins, 1), CS_OK);
    assert_ptr_equal(entry, b->entry);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_letter, b->n_letter);
    assert_memory_equal(a->letter, b->letter, (size_t)a->n_letter);
    assert_memory_equal(a->start, b->start, (size_t)a->n * sizeof *a->start);
    assert_memory_equal(a->class_no, b->class_no, (size_t)a->n);
    assert_true(b->seed == CS_PROTEIN_SEED && a->seed == b->seed);
    assert_int_equal(a->min_equal, b->min_equal);
    assert_int_equal(a->min_score, b->min_score);
    assert_true(b->shadow == CS_PROTEIN_SHADOW && a->shadow == b->shadow);
    assert_memory_equal(a->weight, b->weight, N_CLASS * CS_PROTEIN_WEIGHTS * sizeof *a->weight);
    free(p);
    cs_model_free(q);
    cs_model_free(m);
    cs_dataset_release(&d);
}

static void assert_refused(const cs_safetensors *file, json_t *j, const char *message)
{
    cs_proteins *p;

    assert_int_equal(cs_proteins_read(j, file, "bad", N_CLASS, &p), CS_EFORMAT);
    assert_non_null(strstr(cs_error_message(), message));
    cs_error_clear();
}

static void check_seeds(const cs_safetensors *file, json_t *j)
{
    static const char *const seed[] = { "1001001101", "1001001101012", "1000000000011" };

    for (int i = 0; i < 3; i++) {
        json_object_set_new(j, "seed", json_string(seed[i]));
        assert_refused(file, j, "has a seed");
    }
    json_object_set_new(j, "seed", json_string("1001001101011"));
    for (int equal = -1; equal <= 33; equal += 34) {
        json_object_set_new(j, "equal", json_integer(equal));
        assert_refused(file, j, "impossible number");
    }
    json_object_set_new(j, "equal", json_integer(32));
    json_object_set_new(j, "score", json_string("60"));
    assert_refused(file, j, "impossible number");
    /* Sums of scores below the background have no logarithm. */
    json_object_set_new(j, "score", json_integer(CS_PROTEIN_BACKGROUND - 1));
    assert_refused(file, j, "impossible number");
    json_object_set_new(j, "score", json_integer(60));
    json_object_set_new(j, "shadow", json_integer(-1));
    assert_refused(file, j, "shadow frames");
    json_object_del(j, "shadow");
    json_object_del(j, "seed");
    json_object_del(j, "equal");
    json_object_del(j, "score");
}

/* A file whose weights are those of six features for all classes, and constants: the evidence is
 * their sum. Its seed is not named, and all matches are extended. Wrong seeds are refused. */
static void test_old_file(void **state)
{
    (void)state;
    enum { N_OLD = 6 };
    cs_dataset d;
    cs_tensor t[CS_PROTEIN_TENSORS];
    uint8_t *packed;
    char path[] = "old.XXXXXX";
    cs_outfile *f;
    cs_safetensors *file;
    cs_proteins *q;
    cs_protein_hits hits;
    float old[N_OLD + N_CLASS], out[N_CLASS], feature[N_CLASS * CS_PROTEIN_FEATURES];

    genes_dataset(true, &d);
    cs_proteins *p = build(&d, 1, 1 << 20);
    for (int i = 0; i < N_OLD + N_CLASS; i++)
        old[i] = (float)cs_rng_normal(6, (uint64_t)i);
    assert_int_equal(cs_proteins_tensors(p, t, &packed), CS_OK);
    t[3].shape = cs_shape1(N_OLD + N_CLASS);
    t[3].n = N_OLD + N_CLASS;
    t[3].data = (const unsigned char *)old;
    close(mkstemp(path));
    assert_int_equal(cs_outfile_open(path, &f), CS_OK);
    assert_int_equal(cs_safetensors_write(f, t, CS_PROTEIN_TENSORS, NULL, 0), CS_OK);
    assert_int_equal(cs_outfile_close(f), CS_OK);
    assert_int_equal(cs_safetensors_open(path, &file), CS_OK);
    json_t *j = cs_proteins_json(p);
    check_seeds(file, j);
    if (cs_proteins_read(j, file, "old", N_CLASS, &q) != CS_OK)
        fail_msg("%s", cs_error_message());
    assert_int_equal(cs_proteins_need_index(q, 1), CS_OK);
    assert_true(q->seed == 0xff0fff0f0f0ffu && q->min_equal == 0 && q->min_score == 50 &&
                q->shadow == 0);
    for (int i = 0; i < d.n; i++) {
        assert_int_equal(cs_proteins_evidence(q, d.ex[i].base, N_BASE, 1, out), CS_OK);
        assert_int_equal(cs_proteins_search(q, d.ex[i].base, N_BASE, 1, &hits), CS_OK);
        cs_protein_features(q, &hits, feature);
        for (int c = 0; c < N_CLASS; c++) {
            double sum = (double)old[N_OLD + c];
            for (int k = 0; k < N_OLD; k++)
                sum += (double)old[k] * (double)feature[c * CS_PROTEIN_FEATURES + k];
            assert_true(fabs(sum - (double)out[c]) < 1e-5);
        }
    }
    json_decref(j);
    cs_safetensors_close(file);
    assert_int_equal(unlink(path), 0);
    free(packed);
    cs_proteins_free(q);
    cs_proteins_free(p);
    cs_dataset_release(&d);
}

/* A protein of no class is refused. With any other bit of the file wrong, it is refused, or it is
 * read and can be searched. */
static void test_damage(void **state)
{
    (void)state;
    cs_dataset d;
    cs_model *m = with_proteins(&d), *q;
    size_t n;
    int n_refused = 0;
    float out[N_CLASS];

    m->proteins->class_no[1] = N_CLASS;
    char *p = toy_file(m, &n);
    assert_int_equal(cs_model_parse(p, n, "m", be, CS_USE_INFERENCE, &q), CS_EFORMAT);
    assert_non_null(strstr(cs_error_message(), "protein database has a protein of no class"));
    cs_error_clear();
    free(p);
    m->proteins->class_no[1] = 0;
    p = toy_file(m, &n);
    for (size_t i = 0; i < n; i += 1 + n / 3000) {
        const char was = p[i];
        p[i] = (char)(was ^ 1 << i % 8);
        if (cs_model_parse(p, n, "m", be, CS_USE_INFERENCE, &q) == CS_OK) {
            if (q->proteins) {
                assert_int_equal(cs_proteins_need_index(q->proteins, 1), CS_OK);
                assert_int_equal(cs_proteins_evidence(q->proteins, d.ex[0].base, N_BASE, 1, out),
                                 CS_OK);
            }
            cs_model_free(q);
        } else {
            n_refused++;
            cs_error_clear();
        }
        p[i] = was;
    }
    assert_true(n_refused > 100);
    free(p);
    cs_model_free(m);
    cs_dataset_release(&d);
}

/* ---- weights --------------------------------------------------------------------------------- */

enum { N_CASE = 40000, N_FEATURE = CS_PROTEIN_FEATURES };
static const double true_a[N_CLASS][N_FEATURE] = {
    { 0.5, -0.3, 0.8, 0, 0.2, -0.6, 0.1, 0, -0.4 }, { 0.5, -0.3, 0.4, 0, 0.2, -0.6, 0.5, 0, -0.4 },
    { 0.9, -0.3, 0.8, 0, 0.2, -0.2, 0.1, 0, -0.4 }
}, true_b[N_CLASS] = { 0.4, -0.4, 0 };

/* Classes without a tree. */
static const cs_protein_tree *no_tree(int32_t n_class)
{
    static int32_t parent[CS_PROTEIN_MAX_NODES], number[CS_PROTEIN_MAX_NODES], first[2];
    static cs_protein_tree t = { 0, parent, number, number, first, 1 };

    for (int32_t i = 0; i < n_class; i++) {
        parent[i] = -1;
        number[i] = i;
    }
    t.n = first[1] = n_class;
    return &t;
}

/* Cases drawn from the model with these weights and t. */
static void draw_cases(double t, cs_protein_cases *c)
{
    for (int i = 0; i < c->n; i++) {
        double z[N_CLASS];
        for (int k = 0; k < N_CLASS; k++) {
            c->logit[i * N_CLASS + k] = (float)cs_rng_normal(1, (uint64_t)(i * N_CLASS + k));
            z[k] = t * (double)c->logit[i * N_CLASS + k] + true_b[k];
            for (int j = 0; j < N_FEATURE; j++) {
                const int at = (i * N_CLASS + k) * N_FEATURE + j;
                c->feature[at] = (float)cs_rng_normal(2, (uint64_t)at);
                z[k] += true_a[k][j] * (double)c->feature[at];
            }
        }
        c->truth[i] = genes_draw_class((uint64_t)i, z);
    }
}

/* Known weights are recovered, within the accuracy of the cases. Where t would be above 1 or below
 * 0 it is 1: fitting the weights of the features still lowers the loss. */
static void test_weights(void **state)
{
    (void)state;
    cs_protein_cases c = { .n_class = N_CLASS, .tree = no_tree(N_CLASS), .n = N_CASE,
                           .logit = malloc(sizeof(float) * N_CASE * N_CLASS),
                           .feature = malloc(sizeof(float) * N_CASE * N_CLASS * N_FEATURE),
                           .truth = malloc(sizeof(int32_t) * N_CASE) };
    float weight[N_CLASS][CS_PROTEIN_WEIGHTS];
    double before, after;

    assert_true(c.logit && c.feature && c.truth);
    draw_cases(0.7, &c);
    assert_int_equal(cs_proteins_solve(&c, 0, weight[0], &before, &after), CS_OK);
    assert_true(after < before - 0.1);
    for (int k = 0; k < N_CLASS; k++) {
        for (int j = 0; j < N_FEATURE; j++)
            assert_true(fabs((double)weight[k][j] - true_a[k][j] / 0.7) < 0.06);
        assert_true(fabs((double)weight[k][N_FEATURE] - (double)weight[0][N_FEATURE]
                         - (true_b[k] - true_b[0]) / 0.7) < 0.1);
    }
    c.n = N_CASE / 4;           /* only signs are compared */
    for (int t = -3; t <= 3; t += 6) {
        draw_cases(t, &c);
        assert_int_equal(cs_proteins_solve(&c, 0, weight[0], &before, &after), CS_OK);
        assert_true(after < before);
        for (int k = 0; k < N_CLASS * N_FEATURE; k++) {
            const double w = (double)weight[k / N_FEATURE][k % N_FEATURE],
                         real = true_a[k / N_FEATURE][k % N_FEATURE];
            assert_true(fabs(w) < 1 && (fabs(real) < 0.3 || w * real > 0));
        }
    }
    CS_FREE(c.logit, c.feature, c.truth);
}

/* Few cases do not tell the classes apart: their weights are nearly common. */
static void test_few_cases(void **state)
{
    (void)state;
    enum { FEW = 12 };
    float logit[FEW * N_CLASS] = { 0 }, feature[FEW * N_CLASS * N_FEATURE] = { 0 };
    int32_t truth[FEW];
    cs_protein_cases c = { N_CLASS, no_tree(N_CLASS), FEW, logit, feature, truth };
    float w[N_CLASS][CS_PROTEIN_WEIGHTS];
    double before, after;

    for (int i = 0; i < FEW; i++) {
        truth[i] = i % N_CLASS;
        feature[(i * N_CLASS + truth[i]) * N_FEATURE] = 1;
    }
    assert_int_equal(cs_proteins_solve(&c, 0.1, w[0], &before, &after), CS_OK);
    assert_true(after < before);
    for (int k = 0; k < N_CLASS; k++) {
        assert_true(w[k][0] > 0.1f && fabsf(w[k][0] - w[0][0]) < 1e-4f);
        assert_true(fabsf(w[k][1]) < 1e-6f);
    }
}

/* Of many classes, most of which have no case, all have the same weights and no constant. */
static void test_many_classes(void **state)
{
    (void)state;
    enum { MANY = CS_PROTEIN_MAX_OWN + 1, CASES = 60, WRONG = 3 };
    float *logit = calloc(CASES * MANY, sizeof *logit);
    float *feature = calloc(CASES * MANY * N_FEATURE, sizeof *feature);
    int32_t truth[CASES];
    cs_protein_cases c = { MANY, no_tree(MANY), CASES, logit, feature, truth };
    float w[MANY][CS_PROTEIN_WEIGHTS];
    double before, after;

    assert_true(logit && feature);
    for (int i = 0; i < CASES; i++) {
        truth[i] = i % 2;
        const int leads = i % WRONG == 0 ? MANY - 1 : truth[i];
        feature[(i * MANY + leads) * N_FEATURE] = 1;
    }
    assert_int_equal(cs_proteins_solve(&c, 1e-4, w[0], &before, &after), CS_OK);
    assert_true(fabs(before - log(MANY)) < 1e-6 && after < before);
    /* Softmax of one lead among MANY: it is right in two of three cases. */
    assert_true(fabsf(w[0][0] - logf(2.f * (MANY - 1))) < 0.1f);
    for (int k = 0; k < MANY; k++) {
        assert_memory_equal(w[k], w[0], sizeof w[0]);
        assert_true(w[k][CS_PROTEIN_FEATURES] == 0);
    }
    free(logit);
    free(feature);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),  cmocka_unit_test(test_classes),
        cmocka_unit_test(test_size),    cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_choice),  cmocka_unit_test(test_strands),
        cmocka_unit_test(test_short),   cmocka_unit_test(test_file),
        cmocka_unit_test(test_old_file), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_weights), cmocka_unit_test(test_few_cases),
        cmocka_unit_test(test_many_classes), cmocka_unit_test(test_large),
    };
    int rc;

    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 1, &be) != CS_OK)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    cs_backend_close(be);
    return rc;
}
