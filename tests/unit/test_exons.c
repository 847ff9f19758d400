/* test_exons.c - the exon of a variant, windows around its ends, and their part in the score. */
#include "check.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "infer/policy.h"
#include "io/exons.h"
#include "io/window.h"
#include "nn/exec/model.h"
#include "predict_views.h"
#include "registry.h"

enum { N_CONTIG = 400, N_WINDOW = 64, HALF = N_WINDOW / 2, MOST_ALLELE = 12 };

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* ---- the nearest exon ------------------------------------------------------------------------ */

static cs_exons *exons_of(const char *bed)
{
    cs_exons *e;

    write_file("exons.bed", bed);
    assert_int_equal(cs_exons_open("exons.bed", &e), CS_OK);
    return e;
}

static void check_found(cs_exons *e, int64_t at, int64_t from, int64_t to, int strand)
{
    cs_exon x;

    assert_true(cs_exons_find(e, "c", at - 50, at + 50, at, &x));
    assert_int_equal(x.from, from);
    assert_int_equal(x.to, to);
    assert_int_equal(x.strand, strand);
}

static void test_the_nearest_exon(void **state)
{
    (void)state;
    cs_exon x;
    cs_exons *e = exons_of("c\t300\t340\tx\t0\t-\nc\t100\t140\tx\t0\t-\n");

    check_found(e, 120, 100, 140, -1);
    check_found(e, 99, 100, 140, -1);
    check_found(e, 140, 100, 140, -1);
    check_found(e, 260, 300, 340, -1);
    assert_false(cs_exons_find(e, "c", 150, 250, 200, &x));
    assert_false(cs_exons_find(e, "d", 50, 150, 100, &x));
    cs_exons_close(e);

    e = exons_of("c\t130\t140\tx\t0\t+\nc\t170\t190\tx\t0\t+\n");
    check_found(e, 159, 170, 190, 1);
    check_found(e, 150, 130, 140, 1);
    check_found(e, 155, 170, 190, 1);
    check_found(e, 154, 130, 140, 1);
    cs_exons_close(e);
}

/* Of overlapping ones the one on most lines, then the shortest, then the first. */
static void test_exons_of_several_transcripts(void **state)
{
    (void)state;
    cs_exon x;
    cs_exons *e = exons_of("c\t100\t150\ta\t0\t+\nc\t100\t130\tb\t0\t+\nc\t90\t150\tc\t0\t+\n"
                           "c\t100\t150\td\t0\t+\n");
    check_found(e, 120, 100, 150, 1);
    check_found(e, 95, 90, 150, 1);
    cs_exons_close(e);

    e = exons_of("c\t100\t150\ta\t0\t+\nc\t100\t130\tb\t0\t+\nc\t110\t140\tc\t0\t+\n");
    check_found(e, 120, 100, 130, 1);
    check_found(e, 135, 110, 140, 1);
    cs_exons_close(e);

    e = exons_of("c\t100\t150\ta\t0\t+\nc\t160\t170\tb\t0\t-\n");
    assert_false(cs_exons_find(e, "c", 70, 170, 120, &x));
    assert_true(cs_exons_find(e, "c", 20, 120, 70, &x));
    cs_exons_close(e);

    e = exons_of("c\t100\t150\ta\t0\t+\nc\t100\t150\tb\t0\t-\n");
    assert_false(cs_exons_find(e, "c", 70, 170, 120, &x));
    cs_exons_close(e);
}

/* ---- windows around an end ------------------------------------------------------------------- */

static char contig[N_CONTIG + 1];

/* [from, from + N_WINDOW) of contig with bases [pos, pos + n) replaced, and N beyond its ends */
static void window_of(int64_t pos, int64_t n, const char *allele, int64_t from, char *out)
{
    char whole[N_CONTIG + MOST_ALLELE + 1];

    (void)snprintf(whole, sizeof whole, "%.*s%s%s", (int)pos, contig, allele, contig + pos + n);
    const int64_t n_whole = (int64_t)strlen(whole);
    for (int64_t i = 0; i < N_WINDOW; i++)
        out[i] = from + i < 0 || from + i >= n_whole ? 'N' : whole[from + i];
}

/* The trimmed alleles of `v` are bases [v->at, v->at + n) of its windows. */
static void check_around(cs_windows *w, const cs_window_pair *v, const char *const window[2],
                         int64_t at, bool fill, int *n_made)
{
    char got[2][N_WINDOW], want[2][N_WINDOW], allele[MOST_ALLELE + 1];
    char *const out[2] = { got[0], got[1] };
    int64_t shift[2];
    bool differ;
    const int here = v->swapped, other = !here;
    const int64_t n[2] = { v->n_ref, v->n_alt }, end = v->pos + n[here];
    const int64_t moved = at <= v->pos ? at : (at < end ? end : at) + n[other] - n[here];

    (void)snprintf(allele, sizeof allele, "%.*s", (int)n[other], window[other] + v->at);
    assert_int_equal(cs_windows_around(w, v, window, at, out, shift, &differ), CS_OK);
    window_of(v->pos, 0, "", at - HALF, want[here]);
    window_of(v->pos, n[here], allele, moved - HALF, want[other]);
    if (!differ) {
        assert_true(at < HALF + MOST_ALLELE || at > N_CONTIG - HALF - MOST_ALLELE
                    || memcmp(want[0], want[1], N_WINDOW) == 0);
        return;
    }
    ++*n_made;
    assert_true(fill || (at >= HALF && at + HALF <= N_CONTIG));
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(got[i], want[i], N_WINDOW);
        for (int64_t k = 0; k < N_WINDOW; k++)
            if (k + shift[i] >= 0 && k + shift[i] < N_WINDOW)
                assert_int_equal(got[i][k + shift[i]], window[i][k]);
    }
}

static void random_text(char *out, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = "ACGT"[cs_rng_below(seed, (uint64_t)i, 4)];
    out[n] = '\0';
}

static void check_variants(bool fill)
{
    char text[N_CONTIG + 10], ref[MOST_ALLELE + 1], alt[MOST_ALLELE + 1];
    char base[2][N_WINDOW];
    const char *const window[2] = { base[0], base[1] };
    cs_reference *reference;
    cs_window_pair v;
    int n_made = 0, n_swapped = 0;

    random_text(contig, N_CONTIG, 3);
    (void)snprintf(text, sizeof text, ">c\n%s\n", contig);
    write_file("c.fa", text);
    assert_int_equal(cs_reference_open("c.fa", &reference), CS_OK);
    const cs_window_opt o = { .n_base = N_WINDOW, .fill = fill };
    cs_windows *w = cs_windows_new(reference, &o);
    for (uint64_t i = 0; i < 400; i++) {
        const int64_t pos = (int64_t)cs_rng_below(7, 4 * i, N_CONTIG - MOST_ALLELE);
        const int64_t n_ref = 1 + (int64_t)cs_rng_below(7, 4 * i + 1, MOST_ALLELE / 2);
        (void)snprintf(ref, sizeof ref, "%.*s", (int)n_ref, contig + pos);
        random_text(alt, 1 + (int64_t)cs_rng_below(7, 4 * i + 2, MOST_ALLELE / 2), 100 + i);
        const bool turn = i % 3 == 0;
        assert_int_equal(cs_windows_make(w, "c", pos, turn ? alt : ref, turn ? ref : alt, base[0],
                                         base[1], &v), CS_OK);
        n_swapped += !v.why && v.swapped;
        for (int64_t d = -50; !v.why && d < 60; d++)
            check_around(w, &v, window, v.pos + d, fill, &n_made);
    }
    assert_true(n_made > 10000 && n_swapped > 20);
    cs_windows_free(w);
    cs_reference_free(reference);
}

static void test_windows_around_ends(void **state)
{
    (void)state;
    check_variants(true);
    check_variants(false);
}

/* ---- the score ------------------------------------------------------------------------------- */

enum { N_LABEL = 5, N_PAIR = 3 };

static cs_backend *backend;

static void *defaults(const cs_opt *opt, size_t size)
{
    void *cfg = cs_xcalloc(1, size + 1);

    cs_opt_defaults((cs_optset[]){ { opt, cfg, NULL }, { NULL, NULL, NULL } });
    return cfg;
}

static cs_model *make_model(void)
{
    const cs_tokenizer *tok = cs_tokenizer_find("base");
    const cs_encoder *enc = cs_encoder_find("cdil");
    const cs_head *head = cs_head_find("variant");
    void *cfg[] = { defaults(tok->opt, tok->cfg_size), defaults(enc->opt, enc->cfg_size),
                    defaults(head->opt, head->cfg_size) };
    const cs_label label[N_LABEL] = {
        { .name = (char[]){ "loss" } },
        { .name = (char[]){ "a" }, .part = CS_PART_ACCEPTOR },
        { .name = (char[]){ "d" }, .part = CS_PART_DONOR },
        { .name = (char[]){ "e" }, .part = CS_PART_EXON }, { .name = (char[]){ "strand" } },
    };
    const cs_model_spec spec = { .tok = tok, .enc = enc, .head = head, .tok_cfg = cfg[0],
                                 .enc_cfg = cfg[1], .head_cfg = cfg[2], .label = label,
                                 .n_label = N_LABEL, .seed = 5 };
    cs_model *m;

    assert_int_equal(cs_opt_set(enc->opt, cfg[1], "layers", "3"), CS_OK);
    assert_int_equal(cs_opt_set(enc->opt, cfg[1], "channels", "8"), CS_OK);
    assert_int_equal(cs_model_new(&spec, backend, &m), CS_OK);
    m->strands = CS_STRANDS_WEIGHTED;
    for (int i = 0; i < 3; i++)
        free(cfg[i]);
    return m;
}

static double logit(float p)
{
    return log((double)p) - log1p(-(double)p);
}

static cs_record pair_of(const char *ref, const char *alt, int8_t strand)
{
    return (cs_record){ .name = "v", .n_seg = 2, .strand = strand,
                        .seg = { { ref, NULL, N_WINDOW }, { alt, NULL, N_WINDOW } } };
}

static void check_score(const cs_model *m, int8_t strand, int n_end, bool unknown)
{
    char base[N_PAIR][2][N_WINDOW + 1];
    float alone[N_PAIR][N_LABEL], v[N_LABEL];
    cs_exon_end end[2];
    cs_policy p;
    cs_prediction a = { .v = v, .n = N_LABEL };
    static const cs_policy_args usual = { .strand = 0, .max_unknown = 0.5, .pair = CS_PAIR_JOINT };

    assert_int_equal(cs_policy_init(&p, &usual, NULL, (cs_model *)(uintptr_t)m), CS_OK);
    for (int k = 0; k < N_PAIR; k++) {
        random_text(base[k][0], N_WINDOW, 20 + (uint64_t)k);
        memcpy(base[k][1], base[k][0], sizeof base[k][0]);
        base[k][1][HALF + 3 * k] = base[k][0][HALF + 3 * k] == 'A' ? 'C' : 'A';
        cs_record r = pair_of(base[k][0], base[k][1], strand);
        assert_int_equal(predict_views(&p, &r, backend, &a), 1);
        assert_int_equal(a.reason, CS_REASON_NONE);
        memcpy(alone[k], v, sizeof v);
    }
    if (unknown)
        memset(base[2][0], 'N', N_WINDOW);
    cs_record r = pair_of(base[0][0], base[0][1], strand);
    r.has_exon = true;
    r.n_end = n_end;
    r.end = end;
    double sum = logit(alone[0][3]);
    for (int k = 0; k < n_end; k++) {
        end[k] = (cs_exon_end){ { base[1 + k][0], base[1 + k][1] }, { 0, 0 }, k == 0 };
        sum += k == 1 && unknown ? 0 : logit(alone[1 + k][k == 0 ? 2 : 1]);
    }
    a.n = N_LABEL;
    assert_int_equal(predict_views(&p, &r, backend, &a), 1 + n_end);
    assert_int_equal(a.reason, CS_REASON_NONE);
    assert_true(fabs(logit(v[0]) - sum) < 1e-4);
    for (int k = 1; k < N_LABEL; k++)
        assert_true(v[k] == alone[0][k]);
}

static void test_a_sum_over_variant_and_ends(void **state)
{
    (void)state;
    cs_model *m = make_model();

    assert_int_equal(cs_model_n_score(m), 1);
    assert_true(cs_model_takes_exons(m));
    for (int8_t strand = -1; strand <= 1; strand = (int8_t)(strand + 2))
        for (int n = 0; n <= 2; n++)
            check_score(m, strand, n, false);
    check_score(m, 1, 2, true);
    cs_model_free(m);
}

/* ---- the model file -------------------------------------------------------------------------- */

static void save_labels(cs_model *m, const int *part, bool weighted)
{
    for (int i = 0; i < N_LABEL; i++)
        m->label[i].part = (cs_label_part)part[i];
    m->strands = weighted ? CS_STRANDS_WEIGHTED : CS_STRANDS_FORWARD;
    assert_int_equal(cs_model_save(m, "parts.safetensors", false), CS_OK);
}

static void test_parts_in_the_file(void **state)
{
    (void)state;
    cs_model *m = make_model(), *read;
    enum { NONE = CS_PART_NONE, E = CS_PART_EXON, A = CS_PART_ACCEPTOR, D = CS_PART_DONOR };
    static const int good[2][N_LABEL] = { { NONE, NONE, D, A, E }, { NONE, A, D, E, NONE } };
    static const int bad[][N_LABEL] = { { E, A, D, NONE, NONE }, { NONE, E, A, NONE, D },
                                        { NONE, E, A, A, NONE }, { NONE, E, A, NONE, NONE },
                                        { NONE, E, E, A, D }, { NONE, D, NONE, NONE, NONE },
                                        { NONE, E, NONE, A, D } };

    /* The last label, if there is one behind the parts, weights strands. */
    for (int weighted = 0; weighted < 2; weighted++) {
        save_labels(m, good[weighted], weighted);
        assert_int_equal(cs_model_load("parts.safetensors", backend, false, &read), CS_OK);
        for (int i = 0; i < N_LABEL; i++)
            assert_int_equal(read->label[i].part, good[weighted][i]);
        assert_int_equal(cs_model_n_score(read), weighted ? 1 : 2);
        assert_int_equal(cs_model_part(read, CS_PART_DONOR), 2);
        cs_model_free(read);
        save_labels(m, good[!weighted], weighted);
        assert_int_equal(cs_model_load("parts.safetensors", backend, false, &read), CS_EFORMAT);
        cs_error_clear();
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (int weighted = 0; weighted < 2; weighted++) {
            save_labels(m, bad[i], weighted);
            assert_int_equal(cs_model_load("parts.safetensors", backend, false, &read), CS_EFORMAT);
            assert_non_null(strstr(cs_error_message(), "parts of a score"));
            cs_error_clear();
        }
    }
    cs_model_free(m);
}

static int setup(void **state)
{
    return check_enter_scratch(state) || cs_cpu_init() != CS_OK
        || cs_backend_open("cpu", 1, &backend) != CS_OK;
}

static int teardown(void **state)
{
    cs_backend_close(backend);
    return check_leave_scratch(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nearest_exon),
        cmocka_unit_test(test_exons_of_several_transcripts),
        cmocka_unit_test(test_windows_around_ends),
        cmocka_unit_test(test_a_sum_over_variant_and_ends),
        cmocka_unit_test(test_parts_in_the_file),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
