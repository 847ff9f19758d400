/* test_metrics.c - metrics against scikit-learn's, and where they are not defined. */
#include "check.h"

#include "eval/metrics.h"
#include "eval/mixture.h"
#include "eval/ranking.h"

enum { N = 12, K = 3 };

/* With ties between scores, and three wrong predictions. */
static const float prob[N][K] = {
    { .7f, .2f, .1f }, { .5f, .3f, .2f }, { .2f, .5f, .3f }, { .1f, .8f, .1f },
    { .3f, .4f, .3f }, { .6f, .3f, .1f }, { .2f, .2f, .6f }, { .1f, .3f, .6f },
    { .3f, .3f, .4f }, { .5f, .25f, .25f }, { .2f, .1f, .7f }, { .4f, .35f, .25f },
};
static const float truth[N] = { 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 1, 0 };

static void fill(cs_scores *s)
{
    cs_scores_init(s, true, K, 1);
    for (int i = 0; i < N; i++)
        assert_int_equal(cs_scores_add(s, prob[i], &truth[i], 100 * (i + 1)), CS_OK);
}

/* sklearn.metrics 1.2: accuracy_score, balanced_accuracy_score, f1_score(average="macro"),
 * log_loss, matthews_corrcoef, roc_auc_score of each class against the rest. */
static void test_sklearn(void **state)
{
    static const double precision[K] = { 0.6, 2.0 / 3, 0.75 }, recall[K] = { 0.75, 0.5, 0.75 },
                        f1[K] = { 2.0 / 3, 4.0 / 7, 0.75 },
                        auc[K] = { 0.734375, 0.609375, 0.796875 };
    static const int64_t confusion[K * K] = { 3, 1, 0, 1, 2, 1, 1, 0, 3 };
    cs_scores s;
    cs_metrics f;

    (void)state;
    fill(&s);
    assert_int_equal(cs_scores_metrics(&s, 0, INT64_MAX, 0, true, &f), CS_OK);
    assert_int_equal(f.n, N);
    check_near(f.accuracy, 0.6666666666666666, 1e-12);
    check_near(f.balanced, 0.6666666666666666, 1e-12);
    check_near(f.mcc, 0.5052911526399114, 1e-12);
    check_near(f.macro_f1, 0.6626984126984127, 1e-12);
    check_near(f.macro_auc, 0.7135416666666666, 1e-12);
    check_near(f.loss, 0.9621482741534421, 1e-6);
    for (int c = 0; c < K * K; c++)
        assert_int_equal(cs_metrics_called(&f, c / K, c % K), confusion[c]);
    for (int c = 0; c < K; c++) {
        check_near(f.cls[c].precision, precision[c], 1e-12);
        check_near(f.cls[c].recall, recall[c], 1e-12);
        check_near(f.cls[c].f1, f1[c], 1e-12);
        check_near(f.cls[c].auc, auc[c], 1e-12);
    }
    cs_metrics_release(&f);
    cs_scores_release(&s);
}

/* Rows of the matrix are 3 1 0, 1 2 1 and 1 0 3, of 4 records each. The last class has no records
 * below 700 bases. */
static void test_mixture(void **state)
{
    const double share[K] = { 0.7, 0.2, 0.1 }, never[K] = { 0, 0.5, 0.5 };
    cs_scores s;
    cs_metrics f;
    cs_mixture x;

    (void)state;
    fill(&s);
    assert_int_equal(cs_scores_metrics(&s, 0, INT64_MAX, 0, true, &f), CS_OK);
    assert_int_equal(cs_mixture_init(&x, &f, share), CS_OK);
    check_near(x.weight[0], 0.7 / 4, 1e-12);
    check_near(x.accuracy, (0.7 * 3 + 0.2 * 2 + 0.1 * 3) / 4, 1e-12);
    check_near(x.precision[0], 0.7 * 3 / (0.7 * 3 + 0.2 * 1 + 0.1 * 1), 1e-12);
    check_near(x.precision[1], 0.2 * 2 / (0.7 * 1 + 0.2 * 2), 1e-12);
    check_near(x.precision[2], 0.1 * 3 / (0.2 * 1 + 0.1 * 3), 1e-12);
    check_near(x.absent, 0, 1e-12);
    cs_mixture_release(&x);
    assert_int_equal(cs_mixture_init(&x, &f, never), CS_OK);
    check_near(x.precision[0], 0, 1e-12);
    cs_mixture_release(&x);
    cs_metrics_release(&f);
    assert_int_equal(cs_scores_metrics(&s, 0, 700, 0, true, &f), CS_OK);
    assert_int_equal(cs_mixture_init(&x, &f, share), CS_OK);
    check_near(x.absent, 0.1, 1e-12);
    check_near(x.accuracy, (0.7 * 2 + 0.2 * 2) / 0.9 / 3, 1e-12);
    assert_true(isnan(x.precision[2]));
    cs_mixture_release(&x);
    cs_metrics_release(&f);
    assert_int_equal(cs_scores_metrics(&s, 0, 0, 0, true, &f), CS_OK);
    assert_int_equal(cs_mixture_init(&x, &f, share), CS_OK);
    assert_true(isnan(x.accuracy) && isnan(x.precision[0]));
    cs_mixture_release(&x);
    cs_metrics_release(&f);
    cs_scores_release(&s);
}

static void test_lengths(void **state)
{
    cs_scores s;
    cs_metrics f;

    (void)state;
    fill(&s);
    /* 400 is in, 700 is not: records 3, 4 and 5, all of class 1. */
    assert_int_equal(cs_scores_metrics(&s, 400, 700, 0, true, &f), CS_OK);
    assert_int_equal(f.n, 3);
    assert_int_equal(f.cls[1].n, 3);
    assert_int_equal(f.cls[1].n_right, 2);
    check_near(f.balanced, 2.0 / 3, 1e-12);
    assert_true(isnan(f.cls[0].recall) && isnan(f.cls[1].auc) && isnan(f.macro_auc));
    check_near(f.mcc, 0, 0);
    cs_metrics_release(&f);
    cs_scores_release(&s);
}

static void test_none(void **state)
{
    cs_scores s;
    cs_metrics f;

    (void)state;
    fill(&s);
    assert_int_equal(cs_scores_metrics(&s, 5000, INT64_MAX, 0, true, &f), CS_OK);
    assert_int_equal(f.n, 0);
    assert_true(isnan(f.accuracy) && isnan(f.balanced) && isnan(f.mcc) && isnan(f.loss));
    cs_metrics_release(&f);
    cs_scores_clear(&s);
    assert_int_equal(s.n, 0);
    cs_scores_release(&s);
}

static void test_values(void **state)
{
    const float output[4][2] = { { 1, 2 }, { 0, 0.5f }, { 3, 3 }, { 1, 1 } };
    const float want[4][2] = { { 1.5f, 2 }, { 0, NAN }, { NAN, 1 }, { NAN, NAN } };
    cs_scores s;
    cs_metrics f;

    (void)state;
    cs_scores_init(&s, false, 2, 2);
    for (int i = 0; i < 4; i++)
        assert_int_equal(cs_scores_add(&s, output[i], want[i], 10), CS_OK);
    /* The fourth is unknown; the errors of the others are 0.5, 0, 0 and 2. */
    assert_int_equal(cs_scores_metrics(&s, 0, INT64_MAX, 0.1, false, &f), CS_OK);
    assert_int_equal(f.n, 3);
    check_near(f.loss, 4.25 / 4, 1e-12);
    check_near(f.mae, 2.5 / 4, 1e-12);
    check_near(f.within, 0.5, 1e-12);
    check_near(f.cls[0].r2, 1 - 0.25 / 1.125, 1e-12);
    check_near(f.mse, 4.25 / 4, 1e-12);
    assert_true(isnan(f.cls[0].spearman));
    cs_metrics_release(&f);
    /* The loss of standardized values divides errors by their deviations. */
    s.deviation = cs_xcalloc(2, sizeof *s.deviation);
    s.deviation[0] = 0.5;
    s.deviation[1] = 10;
    assert_int_equal(cs_scores_metrics(&s, 0, INT64_MAX, 0.1, false, &f), CS_OK);
    check_near(f.loss, (1 + 0.04) / 4, 1e-12);
    check_near(f.mse, 4.25 / 4, 1e-12);
    check_near(f.mae, 2.5 / 4, 1e-12);
    cs_metrics_release(&f);
    cs_scores_release(&s);
}

/* sklearn.metrics 1.2 and scipy.stats: r2_score, pearsonr, spearmanr, with ties; the second value
 * is not known once, the third is constant. */
static void test_correlations(void **state)
{
    static const float output[6][3] = { { 1, 2, .1f }, { 0, .5f, .1f }, { 3, 3, .2f },
                                        { 1, 1, .3f }, { 2, 2.5f, .4f }, { 1, 4, .5f } };
    static const float want[6][3] = { { 1.5f, 2, .1f }, { 0, NAN, .1f }, { 2, 1, .1f },
                                      { 1.5f, 1, .1f }, { 4, 3, .1f }, { 0, 3, .1f } };
    static const double of_value[2][6] = {
        { 1.0833333333333333, 0.8333333333333334, 1.0 / 6, 0.40909090909090906,
          0.6527912098338667, 0.8441622892989753 },
        { 1.05, 0.7, 0.4, -0.3125, 0.5590169943749475, 0.47434164902525683 },
    };
    cs_scores s;
    cs_metrics f;

    (void)state;
    cs_scores_init(&s, false, 3, 3);
    for (int i = 0; i < 6; i++)
        assert_int_equal(cs_scores_add(&s, output[i], want[i], 10 * (i + 1)), CS_OK);
    assert_int_equal(cs_scores_metrics(&s, 0, INT64_MAX, 0.25, true, &f), CS_OK);
    assert_true(f.n_class == 3 && f.cls[0].n == 6 && f.cls[1].n == 5);
    for (int t = 0; t < 2; t++) {
        const cs_class_metrics *g = &f.cls[t];
        const double got[6] = { g->mse, g->mae, g->within, g->r2, g->pearson, g->spearman };
        for (int i = 0; i < 6; i++)
            check_near(got[i], of_value[t][i], 1e-12);
    }
    check_near(f.cls[2].within, 2.0 / 3, 1e-12);
    assert_true(isnan(f.cls[2].r2) && isnan(f.cls[2].pearson) && isnan(f.cls[2].spearman));
    check_near(f.r2, (of_value[0][3] + of_value[1][3]) / 2, 1e-12);
    check_near(f.pearson, (of_value[0][4] + of_value[1][4]) / 2, 1e-12);
    check_near(f.spearman, (of_value[0][5] + of_value[1][5]) / 2, 1e-12);
    cs_metrics_release(&f);
    /* One record, and none. */
    assert_int_equal(cs_scores_metrics(&s, 10, 20, 0.25, true, &f), CS_OK);
    assert_true(f.n == 1 && isnan(f.r2) && isnan(f.cls[0].spearman) && !isnan(f.loss));
    cs_metrics_release(&f);
    assert_int_equal(cs_scores_metrics(&s, 70, 80, 0.25, true, &f), CS_OK);
    assert_true(f.n == 0 && isnan(f.loss) && isnan(f.cls[0].mse) && isnan(f.pearson));
    cs_metrics_release(&f);
    cs_scores_release(&s);
}

/* Some targets are not known, of the last record none. */
static const float label_prob[8][3] = {
    { .9f, .2f, .6f }, { .8f, .4f, .6f }, { .3f, .7f, .1f }, { .5f, .5f, .2f },
    { .2f, .5f, .9f }, { .7f, .1f, .4f }, { .5f, .9f, .3f }, { .1f, .6f, .8f },
};
static const float label_truth[8][3] = {
    { 1, 0, 1 }, { 1, NAN, 0 }, { 0, 1, NAN }, { 0, 0, 0 },
    { NAN, 1, NAN }, { 1, 0, NAN }, { 1, 1, 0 }, { NAN, NAN, NAN },
};

static cs_scores label_scores(double threshold)
{
    cs_scores s;

    cs_scores_init(&s, false, 3, 3);
    s.is_labels = true;
    s.threshold = threshold;
    for (int i = 0; i < 8; i++)
        assert_int_equal(cs_scores_add(&s, label_prob[i], label_truth[i], 10 * (i + 1)), CS_OK);
    return s;
}

/* sklearn.metrics 1.2, per label over known targets, and over all known targets (micro). */
static void test_labels(void **state)
{
    static const double want[3][7] = {
        { .8, 1, 8.0 / 9, .9375, .95, .75, 0.6324555320336759 },
        { .75, 1, 6.0 / 7, 17.0 / 18, 11.0 / 12, 5.0 / 6, 0.7071067811865476 },
        { .5, 1, 2.0 / 3, 5.0 / 6, .5, 5.0 / 6, 0.5773502691896258 },
    };
    static const int64_t counts[3][4] = { { 6, 4, 5, 4 }, { 6, 3, 4, 3 }, { 4, 1, 2, 1 } };
    cs_scores s = label_scores(0.5);
    cs_metrics f;

    (void)state;
    assert_int_equal(cs_scores_metrics(&s, 0, INT64_MAX, 0, true, &f), CS_OK);
    assert_true(f.n == 7 && f.n_known == 16 && f.n_class == 3 && f.called == NULL);
    for (int k = 0; k < 3; k++) {
        const cs_class_metrics *g = &f.cls[k];
        const double got[7] = { g->precision, g->recall, g->f1, g->auc, g->ap, g->balanced,
                                g->mcc };
        for (int i = 0; i < 7; i++)
            check_near(got[i], want[k][i], 1e-12);
        assert_memory_equal(((const int64_t[]){ g->n_known, g->n, g->n_called, g->n_right }),
                            counts[k], sizeof counts[k]);
    }
    check_near(f.loss, 0.41324482435786175, 1e-12);
    check_near(f.accuracy, 0.8125, 1e-12);
    check_near(f.balanced, 0.8055555555555555, 1e-12);
    check_near(f.macro_f1, 0.8042328042328042, 1e-12);
    check_near(f.micro_f1, 0.8421052631578948, 1e-12);
    check_near(f.macro_auc, 0.9050925925925926, 1e-12);
    check_near(f.micro_auc, 0.9296875, 1e-12);
    check_near(f.macro_ap, 0.7888888888888888, 1e-12);
    check_near(f.micro_ap, 0.9139610389610391, 1e-12);
    check_near(f.mcc, 0.638970860803283, 1e-12);
    cs_metrics_release(&f);
    cs_scores_release(&s);
}

/* Labels without known targets or calls have no metrics; a threshold changes the calls. */
static void test_labels_undefined(void **state)
{
    cs_scores s = label_scores(0.6);
    cs_metrics f;

    (void)state;
    assert_int_equal(cs_scores_metrics(&s, 0, INT64_MAX, 0, false, &f), CS_OK);
    check_near(f.macro_f1, 0.7746031746031745, 1e-12);
    check_near(f.mcc, 0.663854610520907, 1e-12);
    assert_true(isnan(f.macro_auc) && isnan(f.cls[0].ap));
    cs_metrics_release(&f);
    /* Records 3 to 5: the third label is known once, and is 0. */
    assert_int_equal(cs_scores_metrics(&s, 30, 60, 0, true, &f), CS_OK);
    assert_true(f.n == 3 && f.n_known == 6 && f.cls[2].n_known == 1 && f.cls[0].n == 0);
    assert_true(isnan(f.cls[2].f1) && isnan(f.cls[2].auc) && isnan(f.cls[2].ap));
    assert_true(isnan(f.cls[0].recall) && isnan(f.cls[0].mcc) && isnan(f.cls[0].balanced));
    check_near(f.macro_auc, f.cls[1].auc, 0);
    cs_metrics_release(&f);
    assert_int_equal(cs_scores_metrics(&s, 80, 90, 0, true, &f), CS_OK);
    assert_true(f.n == 0 && isnan(f.loss) && isnan(f.accuracy) && isnan(f.micro_auc));
    cs_metrics_release(&f);
    cs_scores_release(&s);
}

/* Memory for the confusion matrix grows with the records, not with the square of the classes. */
static void test_many_classes(void **state)
{
    enum { MANY = 1 << 18 };
    static const int32_t pair[][2] = { { MANY - 1, 7 }, { 3, 3 }, { MANY - 1, 7 }, { 3, MANY - 1 },
                                       { 3, 5 } };
    float *p = calloc(MANY, sizeof *p);
    cs_scores s;
    cs_metrics f;

    (void)state;
    cs_scores_init(&s, true, MANY, 1);
    for (int i = 0; i < 5; i++) {
        const float t = (float)pair[i][0];
        p[pair[i][1]] = 1;
        assert_int_equal(cs_scores_add(&s, p, &t, 100), CS_OK);
        p[pair[i][1]] = 0;
    }
    assert_int_equal(cs_scores_metrics(&s, 0, INT64_MAX, 0, true, &f), CS_OK);
    assert_int_equal(f.n_called, 4);
    assert_int_equal(cs_metrics_called(&f, MANY - 1, 7), 2);
    assert_int_equal(cs_metrics_called(&f, 3, MANY - 1), 1);
    assert_int_equal(cs_metrics_called(&f, 3, 4), 0);
    assert_int_equal(cs_metrics_next_call(&f, 3, 0), 3);
    assert_int_equal(cs_metrics_next_call(&f, 3, 4), 5);
    assert_int_equal(cs_metrics_next_call(&f, 3, 6), MANY - 1);
    assert_int_equal(cs_metrics_next_call(&f, 4, 0), MANY);
    assert_int_equal(cs_metrics_next_call(&f, MANY - 1, 8), MANY);
    cs_metrics_release(&f);
    cs_scores_release(&s);
    free(p);
}

/* Counted tokens give the metrics of stored predictions; those without a class are not counted. */
static void test_counts(void **state)
{
    int32_t label[N + 1];
    float output[N + 1][K];
    cs_scores s;
    cs_token_counts c;
    cs_metrics kept, counted;

    (void)state;
    for (int i = 0; i < N; i++)
        label[i + (i > 4)] = (int32_t)truth[i];
    label[5] = -1;
    memcpy(output, prob, 5 * sizeof *prob);
    memcpy(output + 5, prob + 4, (N - 4) * sizeof *prob);
    fill(&s);
    assert_int_equal(cs_scores_metrics(&s, 0, INT64_MAX, 0, true, &kept), CS_OK);
    assert_int_equal(cs_token_counts_init(&c, K), CS_OK);
    for (int k = 0; k < 2; k++) {
        cs_token_counts_clear(&c);
        cs_token_counts_add(&c, output[0], label, 7);
        cs_token_counts_add(&c, output[7], label + 7, N + 1 - 7);
    }
    assert_int_equal(cs_token_counts_metrics(&c, &counted), CS_OK);
    assert_int_equal(counted.n, N);
    check_near(counted.loss, kept.loss, 1e-12);
    check_near(counted.accuracy, kept.accuracy, 0);
    check_near(counted.balanced, kept.balanced, 0);
    check_near(counted.macro_f1, kept.macro_f1, 0);
    check_near(counted.mcc, kept.mcc, 0);
    assert_true(isnan(counted.macro_auc));
    assert_int_equal(counted.n_called, kept.n_called);
    for (int i = 0; i < K * K; i++)
        assert_int_equal(cs_metrics_called(&counted, i / K, i % K),
                         cs_metrics_called(&kept, i / K, i % K));
    cs_metrics_release(&counted);
    cs_token_counts_release(&c);
    assert_int_equal(cs_token_counts_init(&c, CS_CONFUSION_CLASSES + 1), CS_OK);
    assert_null(c.confusion);
    assert_int_equal(cs_token_counts_metrics(&c, &counted), CS_OK);
    assert_true(counted.n == 0 && isnan(counted.accuracy) && counted.called == NULL);
    cs_metrics_release(&counted);
    cs_metrics_release(&kept);
    /* Validations of many classes need no matrix of them. */
    assert_int_equal(cs_scores_metrics(&s, 0, INT64_MAX, 0, false, &kept), CS_OK);
    assert_true(kept.called == NULL && isnan(kept.macro_auc));
    check_near(kept.accuracy, 2.0 / 3, 1e-12);
    cs_metrics_release(&kept);
    cs_token_counts_release(&c);
    cs_scores_release(&s);
}

/* The same areas as those of sorted scores, bit by bit: of no, one, some and most records. */
static void test_class_areas(void **state)
{
    enum { MANY = 500, CLASSES = 5 };
    float score[MANY][CLASSES];
    int32_t of[MANY];
    double area[CLASSES];
    cs_ranked r[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        of[i] = i % 17 == 0 ? -1 : i == 70 ? 1 : i % 7 == 0 ? 2 : i % 100 == 1 ? 4 : 0;
        for (int c = 0; c < CLASSES; c++)
            score[i][c] = (float)((i * 7919 + c * 31) % 37 - 18) / 64;
    }
    assert_int_equal(cs_class_areas(score[0], of, MANY, CLASSES, area), CS_OK);
    for (int c = 0; c < CLASSES; c++) {
        int n = 0;
        for (int i = 0; i < MANY; i++)
            if (of[i] >= 0)
                r[n++] = (cs_ranked){ score[i][c], of[i] == c };
        cs_ranked_sort(r, n);
        const double want = cs_ranked_area(r, n);
        assert_true(isnan(want) ? c == 3 && isnan(area[c]) : !(area[c] < want || area[c] > want));
    }
    assert_int_equal(cs_class_areas(NULL, NULL, 0, 1, area), CS_OK);
    assert_true(isnan(area[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sklearn), cmocka_unit_test(test_mixture),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_none), cmocka_unit_test(test_class_areas),
        cmocka_unit_test(test_many_classes), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_values), cmocka_unit_test(test_correlations),
        cmocka_unit_test(test_labels), cmocka_unit_test(test_labels_undefined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
