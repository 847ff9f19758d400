/* test_chord.c - predictions of ChordMixer and heads: all paths agree, in little memory. */
#include "tests/nn/toy.h"

enum { MAX_SEG = 40, THREADS = 8, N_VOCAB = 9, N_BLOCK = 4 };

static cs_backend *be;

/* One set of blocks and one batch; matrices end at guard pages. */
typedef struct bench {
    int32_t    d, h, track, n_seg;
    int64_t    off[MAX_SEG + 1];
    cs_seg     seg;
    cs_chord   block[N_BLOCK];
    cs_mat     x, embed, first;
    int32_t   *id;
    check_page page[4 * N_BLOCK + 3];
    int        n_page;
} bench;

static cs_mat new_mat(bench *b, int64_t r, int32_t c, uint64_t key)
{
    check_page *p = &b->page[b->n_page++];
    *p = check_page_new((size_t)(r * c) * sizeof(cs_real));
    cs_mat m = { p->p, r, c, c };
    for (int64_t i = 0; i < r * c; i++)
        m.p[i] = (cs_real)(cs_rng_unit(key, (uint64_t)i) - 0.5) * 0.6F;
    return m;
}

/* The tables as the reference ops make them of the embedding. */
static void fill_first(bench *b)
{
    cs_chord *k = &b->block[0];
    cs_mat h = { cs_xmalloc((size_t)(b->embed.r * b->h) * sizeof(cs_real)), b->embed.r, b->h,
                 b->h };
    be->op.gemm(be, false, true, b->embed, k->w1, 0, h);
    be->op.add_bias(be, k->b1, h);
    be->op.act(be, CS_ACT_GELU, h, h);
    be->op.gemm(be, false, true, h, k->w2, 0, b->first);
    be->op.add_bias(be, k->b2, b->first);
    free(h.p);
}

static bench new_bench(const int32_t size[3], const int64_t *len, int32_t n_seg)
{
    bench b = { .d = size[0], .h = size[1], .track = size[2], .n_seg = n_seg };
    int64_t max = 1;

    for (int32_t i = 0; i < n_seg; i++) {
        b.off[i + 1] = b.off[i] + len[i % 8];
        max = len[i % 8] > max ? len[i % 8] : max;
    }
    b.seg = (cs_seg){ .n = n_seg, .rows = b.off[n_seg], .depth = cs_depth(max) };
    for (int l = 0; l < N_BLOCK; l++) {
        uint64_t key = 10 * (uint64_t)l;
        b.block[l] = (cs_chord){ new_mat(&b, b.h, b.d, key), new_mat(&b, 1, b.h, key + 1),
                                 new_mat(&b, b.d, b.h, key + 2), new_mat(&b, 1, b.d, key + 3),
                                 b.track };
    }
    b.embed = new_mat(&b, N_VOCAB + 1, b.d, 99);
    memset(b.embed.p + N_VOCAB * b.d, 0, (size_t)b.d * sizeof(cs_real));
    b.first = new_mat(&b, N_VOCAB + 1, b.d, 98);
    fill_first(&b);
    b.x = new_mat(&b, b.seg.rows, b.d, 97);
    b.id = cs_xmalloc((size_t)b.seg.rows * sizeof *b.id);
    for (int64_t i = 0; i < b.seg.rows; i++)
        b.id[i] = (int32_t)cs_rng_below(7, (uint64_t)i, N_VOCAB + 1) - 1;
    return b;
}

static void drop_bench(bench *b)
{
    for (int i = 0; i < b->n_page; i++)
        check_page_free(&b->page[i]);
    free(b->id);
}

static void embed(bench *b)
{
    cs_mat rows = b->embed;
    rows.r = N_VOCAB;
    be->op.embed(be, b->id, rows, b->x);
}

/* A block composed of ops; work has a row of the hidden layer and one of x per token. */
static void composed(const bench *b, const cs_chord *k, cs_mat x, cs_mat y, cs_real *work)
{
    cs_mat h = { work, x.r, b->h, b->h }, out = { work + x.r * b->h, x.r, b->d, b->d };
    be->op.gemm(be, false, true, x, k->w1, 0, h);
    be->op.add_bias(be, k->b1, h);
    be->op.act(be, CS_ACT_GELU, h, h);
    be->op.gemm(be, false, true, h, k->w2, 0, out);
    be->op.add_bias(be, k->b2, out);
    be->op.copy(be, x, y);
    be->op.seg_roll(be, b->seg, b->track, 1, out, 1, y);
}

/* One block after another, each into a matrix of its own; free() the result. */
static cs_real *by_blocks(bench *b)
{
    size_t n = (size_t)(b->seg.rows * b->d);
    cs_mat x = b->x, y = b->x;
    const bool fused = be->fused.chord_block;
    int64_t n_work = fused ? be->fused.chord_work(be, b->seg, b->block, false)
                           : b->seg.rows * (b->h + b->d);
    cs_real *work = cs_xmalloc((size_t)n_work * sizeof *work), *buf[2];

    b->seg.off = b->off;
    for (int i = 0; i < 2; i++)
        buf[i] = cs_xmalloc(n * sizeof *buf[i]);
    memcpy(buf[0], b->x.p, n * sizeof *buf[0]);
    for (int l = 0; l < N_BLOCK; l++) {
        x.p = buf[l % 2];
        y.p = buf[(l + 1) % 2];
        if (fused)
            be->fused.chord_block(be, b->seg, &b->block[l], x, y, work);
        else
            composed(b, &b->block[l], x, y, work);
    }
    free(work);
    free(buf[1]);
    return buf[0];
}

/* The same as one stack, which overwrites x or leaves it alone (with tokens and a mean). */
static void by_stack(bench *b, int n_thread, bool tokens, cs_mat mean)
{
    cs_backend some = *be;
    int64_t one = be->fused.chord_pack_size(b->d, b->h);
    cs_chord_stack s = { .n_block = N_BLOCK, .width = b->d, .hidden = b->h, .track = b->track };
    bool own_x = tokens && mean.p;

    some.n_thread = n_thread;
    b->seg.off = b->off;
    s.pack = be->op.alloc(be, (size_t)(N_BLOCK * one) * sizeof *s.pack);
    for (int l = 0; l < N_BLOCK; l++)
        be->fused.chord_prepare(be, &b->block[l], s.pack + l * one);
    if (tokens) {
        s.id = b->id;
        s.embed = b->embed;
        s.first = b->first;
    }
    int64_t n_work = be->fused.chord_stack_work(&some, b->seg, &s, own_x);
    check_page work = check_page_new((size_t)n_work * sizeof(cs_real));
    be->fused.chord_stack(&some, b->seg, &s, own_x ? (cs_mat){ 0 } : b->x, mean, work.p);
    check_page_free(&work);
    be->op.dealloc(be, s.pack);
}

static const int32_t sizes[][3] = { { 288, 128, 16 }, { 96, 64, 4 }, { 72, 64, 4 }, { 20, 13, 4 },
                                    { 48, 9, 12 }, { 80, 40, 8 }, { 4, 1, 4 }, { 76, 24, 4 },
                                    { 336, 128, 16 } };
static const int64_t lengths[][8] = { { 1, 1, 1, 1, 1, 1, 1, 1 },
                                      { 65, 96, 97, 100, 127, 128, 90, 70 },
                                      { 600, 1024, 1000, 513, 777, 801, 999, 576 } };
static const int32_t counts[] = { 1, 3, 16, MAX_SEG };

static void each_bench(void (*check)(bench *))
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            for (size_t n = 0; n < (k == 2 ? 2 : 4); n++) {
                bench b = new_bench(sizes[i], lengths[k], counts[n]);
                check(&b);
                drop_bench(&b);
            }
}

/* Blocks one by one, the stack with a worker per sequence, the stack with shared tiles. */
static void same_bits(bench *b)
{
    size_t n_bytes = (size_t)(b->seg.rows * b->d) * sizeof(cs_real);
    cs_real *want, *input = cs_xmalloc(n_bytes);

    memcpy(input, b->x.p, n_bytes);
    want = by_blocks(b);
    for (int t = 1; t <= THREADS; t *= 2) {
        memcpy(b->x.p, input, n_bytes);
        by_stack(b, t, false, (cs_mat){ 0 });
        if (memcmp(b->x.p, want, n_bytes) != 0)
            fail_msg("width %d, %d segments: another prediction with %d threads", b->d, b->n_seg,
                     t);
    }
    free(want);
    free(input);
}

/* Tokens by the table: the rows of the first block, to the bit. */
static void same_by_table(bench *b)
{
    size_t n_bytes = (size_t)(b->seg.rows * b->d) * sizeof(cs_real);
    cs_real *want;

    embed(b);
    want = by_blocks(b);
    memset(b->x.p, 0, n_bytes);
    by_stack(b, 2, true, (cs_mat){ 0 });
    assert_memory_equal(b->x.p, want, n_bytes);
    free(want);
}

/* The mean by one row of the last product is the mean of the rows, up to rounding (in bf16 there is
 * less of it). */
static void same_mean(bench *b)
{
    cs_mat want = { cs_xmalloc((size_t)(b->n_seg * b->d) * sizeof(cs_real)), b->n_seg, b->d, b->d };
    cs_mat rows = b->x, got[4];
    const double limit = be->precision == CS_IN_BF16 ? 1e-5 : 1e-12;
    const size_t n_bytes = (size_t)(b->n_seg * b->d) * sizeof(cs_real);

    embed(b);
    rows.p = by_blocks(b);
    be->op.seg_mean(be, b->seg, rows, want);
    for (int i = 0; i < 4; i++) {
        got[i] = want;
        got[i].p = cs_xmalloc(n_bytes);
        embed(b);
        by_stack(b, i / 2 ? THREADS : 1, i % 2, got[i]);
        assert_true(toy_nmse(got[i].p, want.p, b->n_seg * b->d) <= limit);
        assert_memory_equal(got[i].p, got[0].p, n_bytes);
    }
    for (int i = 0; i < 4; i++)
        free(got[i].p);
    free(rows.p);
    free(want.p);
}

static void test_paths(void **state) { (void)state; each_bench(same_bits); }
static void test_table(void **state) { (void)state; each_bench(same_by_table); }
static void test_mean(void **state)  { (void)state; each_bench(same_mean); }

/* ---- whole models ------------------------------------------------------------------------ */

/* Weights that cannot change are prepared once, others anew: the predictions are the same. */
static void test_prepared(void **state)
{
    static const int64_t len[] = { 17, 31, 32, 18 }, shorter[] = { 3, 4, 0, 0 };
    (void)state;
    for (int training = 0; training < 2; training++) {
        toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                  .training = training };
        cs_session *s = toy_session(&t, be), *fresh = toy_session(&t, be);
        cs_model *m = s->model;
        cs_batch *few = toy_batch(m, shorter, 2, 1), *b = toy_batch(m, len, 4, 6);
        free(toy_outputs(s, few));           /* prepares fewer blocks than b needs */
        float *first = toy_outputs(s, b), *again = toy_outputs(s, b);
        float *alone = toy_outputs(fresh, b);
        size_t n_bytes = (size_t)cs_session_output_len(s, b) * sizeof *first;
        assert_memory_equal(first, again, n_bytes);
        assert_memory_equal(first, alone, n_bytes);
        if (training) {
            m->ps.value[m->ps.p[m->embed_w].off + m->width] += 1;
            float *changed = toy_outputs(s, b);
            assert_true(memcmp(first, changed, n_bytes) != 0);
            free(changed);
        }
        free(first);
        free(again);
        free(alone);
        cs_batch_free(few);
        cs_batch_free(b);
        toy_free(s);
        toy_free(fresh);
    }
}

/* The longest sequences in 1.6 times the memory of their rows, tables and scratch included. */
static void test_memory(void **state)
{
    const int64_t n = 1000000;
    (void)state;
    toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
              .max_len = "1048576", .wide = true };
    cs_session *s = toy_session(&t, be);
    cs_model *m = s->model;
    assert_int_equal(m->width, 336);
    int64_t n_bytes = cs_plan_memory(s, n, 1, 20, false)
        + s->cx.cached_need * (int64_t)sizeof(cs_real);
    assert_true((double)n_bytes <= 1.6 * (double)n * m->width * sizeof(cs_real));
    toy_free(s);
}

/* ---- heads ------------------------------------------------------------------------------- */

/* Weights packed before give the bits of a product that packs them, in one block of k and in more,
 * with panels that are not full, with a bias and without. */
static void test_packed_bits(void **state)
{
    static const struct { int64_t r; int32_t c, k; } size[] = {
        { 1, 7, 512 }, { 5, 512, 96 }, { 200, 40, 385 }, { 97, 250, 1000 }, { 3, 1, 1 }, { 0, 9, 8 }
    };
    const cs_fused *f = &be->fused;
    (void)state;
    for (size_t i = 0; i < 2 * sizeof size / sizeof *size; i++) {
        const int64_t r = size[i / 2].r;
        const int32_t c = size[i / 2].c, k = size[i / 2].k;
        bench b = { .n_page = 0 };
        cs_mat x = new_mat(&b, r, k, 1), w = new_mat(&b, c, k, 2), bias = new_mat(&b, 1, c, 3);
        cs_mat want = new_mat(&b, r, c, 4), got = new_mat(&b, r, c, 5);
        cs_mat pack = new_mat(&b, 1, (int32_t)f->affine_pack_size(w), 6);
        be->op.gemm(be, false, true, x, w, 0, want);
        if (i % 2)
            be->op.add_bias(be, bias, want);
        f->affine_prepare(be, w, pack.p);
        f->affine(be, x, pack.p, i % 2 ? bias : (cs_mat){ 0 }, got);
        assert_memory_equal(want.p, got.p, (size_t)(r * c) * sizeof(cs_real));
        drop_bench(&b);
    }
}

/* ---- GELU -------------------------------------------------------------------------------- */

/* All floats, or with CS_LONG unset every 251st: absolute error, and ulps above -1. */
static void test_gelu(void **state)
{
    enum { N = 4096 };
    const uint64_t step = getenv("CS_LONG") ? 1 : 251;
    double abs_err = 0, ulp = 0;
    float x[N], y[N];
    int n = 0;

    (void)state;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += step) {
        uint32_t word = (uint32_t)bits;
        memcpy(&x[n], &word, sizeof word);
        n += isfinite(x[n]) && fabsf(x[n]) < 1e30F;
        if (n < N && bits + step < UINT64_C(1) << 32)
            continue;
        be->op.act(be, CS_ACT_GELU, (cs_mat){ x, 1, n, n }, (cs_mat){ y, 1, n, n });
        for (int i = 0; i < n; i++) {
            double v = (double)x[i], want = v > 6 ? v : v * 0.5 * erfc(-v / sqrt(2.0));
            double err = fabs((double)y[i] - want);
            abs_err = fmax(abs_err, v < 8 ? err : 0);
            if (v > -1 && fabs(want) > 1e-37)
                ulp = fmax(ulp, err / ldexp(1, ilogb(want) - 23));
        }
        n = 0;
    }
    check_below(abs_err, 3e-7);
    check_below(ulp, 4);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_paths), cmocka_unit_test(test_table), cmocka_unit_test(test_mean),
        cmocka_unit_test(test_prepared), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_packed_bits), cmocka_unit_test(test_gelu)
    };
    static const struct CMUnitTest bf16[] = {
        cmocka_unit_test(test_paths), cmocka_unit_test(test_table), cmocka_unit_test(test_mean),
        cmocka_unit_test(test_prepared), cmocka_unit_test(test_packed_bits)
    };
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", THREADS, &be) != CS_OK)
        return 2;
    if (!be->fused.chord_stack)
        return 77;
    int n_failed = cmocka_run_group_tests_name("chord", test, NULL, NULL);
    if (cs_cpu_has(CS_CPU_AMX) && cs_backend_compute_in(be, CS_IN_BF16) == CS_OK)
        n_failed += cmocka_run_group_tests_name("chord in bf16, by AMX", bf16, NULL, NULL);
    cs_cpu_hide(CS_CPU_AMX);
    if (cs_backend_compute_in(be, CS_IN_BF16) == CS_OK)
        n_failed += cmocka_run_group_tests_name("chord in bf16", bf16, NULL, NULL);
    cs_backend_close(be);
    return n_failed;
}
