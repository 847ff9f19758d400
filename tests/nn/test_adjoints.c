/* test_adjoints.c - the adjoint of every op, by central differences in double precision. */
#include "tests/nn/ops_attn_cases.h"

/* d[i] receives the gradient of matrix i of the forward op when dy is that of its output. */
typedef struct adjoint {
    op_case forward;
    int out;
    const char *wrt;             /* matrices with a gradient, as digits */
    void (*bwd)(cs_backend *be, const op_sizes *sz, const cs_mat *m, cs_mat dy, cs_mat *d);
    bool linear;                 /* central differences are exact: step 1, tight tolerance */
} adjoint;

#define BWD(name_) static void name_(cs_backend *be, const op_sizes *sz, const cs_mat *m, \
                                     cs_mat dy, cs_mat *d)
#define BWD_CALL(...) do { (void)sz; (void)m; __VA_ARGS__; } while (0)

BWD(d_gemm_nn)
{
    BWD_CALL(be->op.gemm(be, false, true, dy, m[1], 1, d[0]),
             be->op.gemm(be, true, false, m[0], dy, 1, d[1]));
}
BWD(d_gemm_nt)
{
    BWD_CALL(be->op.gemm(be, false, false, dy, m[1], 1, d[0]),
             be->op.gemm(be, true, false, dy, m[0], 1, d[1]));
}
BWD(d_gemm_tt)
{
    BWD_CALL(be->op.gemm(be, true, true, m[1], dy, 1, d[0]),
             be->op.gemm(be, true, true, dy, m[0], 1, d[1]));
}
BWD(d_bias)  { BWD_CALL(be->op.colsum(be, dy, d[0])); }
BWD(d_gelu)  { BWD_CALL(be->op.act_bwd(be, CS_ACT_GELU, m[0], dy, d[0])); }
BWD(d_relu)  { BWD_CALL(be->op.act_bwd(be, CS_ACT_RELU, m[0], dy, d[0])); }
BWD(d_sigm)  { BWD_CALL(be->op.act_bwd(be, CS_ACT_SIGMOID, m[0], dy, d[0])); }
BWD(d_soft)  { BWD_CALL(be->op.act_bwd(be, CS_ACT_SOFTPLUS, m[0], dy, d[0])); }
BWD(d_tanh)  { BWD_CALL(be->op.act_bwd(be, CS_ACT_TANH, m[0], dy, d[0])); }
BWD(d_mul)   { BWD_CALL(be->op.mul(be, dy, m[1], 1, d[0]), be->op.mul(be, dy, m[0], 1, d[1])); }
BWD(d_norm)  { BWD_CALL(be->op.layernorm_bwd(be, m[0], m[1], m[4], dy, d[0], d[1], d[2])); }
BWD(d_group)
{
    be->op.seg_groupnorm_bwd(be, sz->seg, sz->group, m[0], m[1], m[4], dy, d[0], d[1], d[2]);
}
BWD(d_fixed)
{
    BWD_CALL(be->op.batchnorm_bwd(be, false, 1e-5, m[0], m[1], m[2], dy, d[0], d[2], d[3]));
}
BWD(d_batch)
{
    BWD_CALL(be->op.batchnorm_bwd(be, true, 1e-5, m[0], m[4], m[1], dy, d[0], d[1], d[2]));
}
BWD(d_embed) { BWD_CALL(be->op.embed_bwd(be, sz->id, -1, dy, d[0])); }
BWD(d_roll)  { BWD_CALL(be->op.seg_roll(be, sz->seg, sz->track, -1, dy, 1, d[0])); }
BWD(d_back)  { BWD_CALL(be->op.seg_roll(be, sz->seg, sz->track, 1, dy, 1, d[0])); }
BWD(d_mean)  { BWD_CALL(be->op.seg_mean_bwd(be, sz->seg, dy, d[0])); }
BWD(d_window) { BWD_CALL(be->op.seg_window_bwd(be, sz->seg, true, 4, dy, d[0])); }
BWD(d_first)  { BWD_CALL(be->op.seg_window_bwd(be, sz->seg, false, 1, dy, d[0])); }
BWD(d_largest) { BWD_CALL(be->op.seg_max_bwd(be, sz->seg, false, m[0], m[1], dy, d[0])); }
BWD(d_smooth) { BWD_CALL(be->op.seg_max_bwd(be, sz->seg, true, m[0], m[1], dy, d[0])); }
BWD(d_drop)  { BWD_CALL(be->op.dropout(be, 77, 0.3, dy, 1, d[0])); }
BWD(d_xent)  { BWD_CALL(be->op.axpby(be, dy.p[0], m[4], 1, d[0])); }
BWD(d_tree)  { BWD_CALL(be->op.axpby(be, dy.p[0], m[6], 1, d[0])); }
BWD(d_mse)   { BWD_CALL(be->op.axpby(be, dy.p[0], m[3], 1, d[0])); }
BWD(d_conv)
{
    be->op.seg_conv(be, sz->seg, taps_of(sz), true, dy, m[1], (cs_mat){ 0 }, 1, d[0]);
    be->op.seg_conv_dw(be, sz->seg, taps_of(sz), m[0], dy, d[1]);
    be->op.colsum(be, dy, d[2]);
}
/* w has a column for each of sz->k links, a factor at most CS_LINKS_MAX: other columns get no
 * gradient. */
BWD(d_sparse)
{
    cs_links l = links_of(sz);
    cs_mat w = m[0], dw = d[0];
    w.c = dw.c = l.n;
    be->op.seg_sparse_bwd(be, sz->seg, &l, w, m[1], dy, dw, d[1]);
    be->op.axpby(be, 1, dy, 1, d[2]);
}
BWD(d_weight) { BWD_CALL(be->op.conv_weight_bwd(be, N_TAP, m[0], m[1], dy, d[0], d[1])); }
BWD(d_plain)
{
    BWD_CALL(be->op.conv_weight_bwd(be, N_TAP, m[0], (cs_mat){ 0 }, dy, d[0], (cs_mat){ 0 }));
}

CASE(batchnorm_whole)
{
    CALL(be->op.batch_stat(be, m[0], m[4]),
         be->op.batchnorm(be, 1e-5, m[0], m[4], m[1], m[2], m[3]));
}

static const adjoint adjoints[] = {
    { { "gemm_nn", "iRK iKC oRC", gemm_nn, 0 }, 2, "01", d_gemm_nn, true },
    { { "gemm_nt", "iRK iCK oRC", gemm_nt, 0 }, 2, "01", d_gemm_nt, true },
    { { "gemm_tt", "iKR iCK oRC", gemm_tt, 0 }, 2, "01", d_gemm_tt, true },
    { { "add_bias", "i1C aRC", add_bias, 0 }, 1, "0", d_bias, true },
    { { "gelu", "iRC oRC", gelu, 0 }, 1, "0", d_gelu, false },
    { { "relu", "kRC oRC", relu, 0 }, 1, "0", d_relu, false },
    { { "sigmoid", "iRC oRC", sigmoid, 0 }, 1, "0", d_sigm, false },
    { { "softplus", "iRC oRC", softplus, 0 }, 1, "0", d_soft, false },
    { { "tanh", "iRC oRC", hyp_tan, 0 }, 1, "0", d_tanh, false },
    { { "mul", "iRC iRC oRC", mul, 0 }, 2, "01", d_mul, false },
    { { "layernorm", "iRC i1C i1C oRC oR2", layernorm, 0 }, 3, "012", d_norm, false },
    { { "groupnorm", "iRC i1C i1C oRC oG2", groupnorm, 0 }, 3, "012", d_group, false },
    { { "batchnorm", "iRC p2C i1C i1C oRC", batchnorm, 0 }, 4, "023", d_fixed, false },
    { { "batchnorm_whole", "iRC i1C i1C oRC o2C", batchnorm_whole, 0 }, 3, "012", d_batch, false },
    { { "embed", "iVC oRC", embed, 0 }, 1, "0", d_embed, true },
    { { "roll", "iRC oRC", roll, 0 }, 1, "0", d_roll, true },
    { { "roll_back", "iRC oRC", roll_back, 0 }, 1, "0", d_back, true },
    { { "mean", "iRC oSC", mean, 0 }, 1, "0", d_mean, true },
    { { "window", "iRC oSC", window, 0 }, 1, "0", d_window, true },
    { { "first", "iRC oSC", first, 0 }, 1, "0", d_first, true },
    { { "conv", "iRK iTC i1C oRC", conv, 0 }, 3, "012", d_conv, true },
    { { "sparse", "iRK iRC iRC oRC", sparse, 0 }, 3, "012", d_sparse, true },
    { { "conv_weight", "iCT pC1 oTC", conv_weight, 0 }, 2, "01", d_weight, false },
    { { "conv_weight_plain", "iCT oTC", conv_weight_plain, 0 }, 1, "0", d_plain, true },
    { { "dropout", "iRC oRC", dropout, 0 }, 1, "0", d_drop, true },
    { { "xent", "iRC tR1 p1C a11 oRC", xent, 0 }, 3, "0", d_xent, false },
    { { "xent_tree", "iRC tR1 p1C t2C p2C a11 oRC", xent_tree, 0 }, 5, "0", d_tree, false },
    { { "xent_labels", "iRC bRC pC2 a11 oRC", xent_labels, 0 }, 3, "0", d_xent, false },
    { { "mse", "iRC nRC a11 oRC", mse, 0 }, 2, "0", d_mse, false },
};

BWD(d_attend)
{
    cs_attn a = attn_of(sz);
    cs_qkv x = qkv_of(m), g = { d[0], d[1], d[2], dy, d[4] };
    be->op.attend_bwd(be, &a, &x, &g);
}
BWD(d_attend_few)
{
    cs_attn a = few_keys_of(sz);
    cs_qkv x = qkv_of(m), g = { d[0], d[1], d[2], dy, d[4] };
    be->op.attend_bwd(be, &a, &x, &g);
}
BWD(d_attend_drop)
{
    cs_attn a = dropout_of(sz);
    cs_qkv x = qkv_of(m), g = { d[0], d[1], d[2], dy, d[4] };
    be->op.attend_bwd(be, &a, &x, &g);
}
BWD(d_attend_padded)
{
    cs_attn a = attn_of(sz);
    cs_qkv x = qkv_of(m), g = { d[0], d[1], d[2], dy, d[4] };
    a.key = padded_of(sz);
    be->op.attend_bwd(be, &a, &x, &g);
}
BWD(d_linear)
{
    cs_attn a = attn_of(sz);
    cs_qkv x = qkv_of(m), g = { d[0], d[1], d[2], dy, d[4] };
    be->op.linear_attend_bwd(be, &a, &x, &g);
}
BWD(d_softmax)     { BWD_CALL(be->op.softmax_bwd(be, m[1], dy, d[0])); }
BWD(d_seg_softmax) { be->op.seg_softmax_bwd(be, sz->seg, m[1], dy, d[0]); }
BWD(d_mask)    { BWD_CALL(be->op.seg_mask(be, padded_of(sz), 0, dy, 1, d[0])); }
BWD(d_position)
{
    BWD_CALL(be->op.seg_position_bwd(be, sz->seg, 0.3, dy, d[0]),
             be->op.axpby(be, 1, dy, 1, d[1]));
}
BWD(d_penalty) { BWD_CALL(be->op.axpby(be, dy.p[0], m[2], 1, d[0])); }

static const adjoint attn_adjoints[] = {
    { { "largest", "kRC oSC", largest, 0 }, 1, "0", d_largest, false },
    { { "smooth", "iRC oSC", smooth, 0 }, 1, "0", d_smooth, false },
    { { "attend", "iRC iRC iRC oRC oRH", attend, 0 }, 3, "012", d_attend, false },
    { { "attend_few", "iRC iUD iUD oRC oRH", attend_few, 0 }, 3, "012", d_attend_few, false },
    { { "attend_drop", "iRC iRC iRC oRC oRH", attend_drop, 0 }, 3, "012", d_attend_drop, false },
    { { "attend_padded", "iRC iRC iRC oRC oRH", attend_padded, 0 }, 3, "012", d_attend_padded,
      false },
    { { "linear", "pRC pRC iRC oRC oGM", linear_attend, 0 }, 3, "012", d_linear, false },
    { { "softmax", "iRC oRC", softmax, 0 }, 1, "0", d_softmax, false },
    { { "seg_softmax", "iRC oRC", seg_softmax, 0 }, 1, "0", d_seg_softmax, false },
    { { "mask", "iRC oRC", mask, 0 }, 1, "0", d_mask, true },
    { { "position", "iRC iRC oRC", position, 0 }, 2, "01", d_position, true },
    { { "pen_off", "iXC a11 oXC", pen_off, 0 }, 1, "0", d_penalty, true },
    { { "pen_square", "iXC a11 oXC", pen_square, 0 }, 1, "0", d_penalty, false },
    { { "pen_ortho", "iXC a11 oXC", pen_ortho, 0 }, 1, "0", d_penalty, false },
};

static double dot(cs_mat a, cs_mat b)
{
    double s = 0;
    for (int64_t r = 0; r < a.r; r++)
        for (int32_t j = 0; j < a.c; j++)
            s += row(a, r)[j] * row(b, r)[j];
    return s;
}

/* <dy, f(m with m[i] + h u)>, on fresh outputs */
static double dot_at(cs_backend *be, const adjoint *p, const op_sizes *sz, uint64_t key, int i,
                     cs_mat u, double h, cs_mat dy)
{
    operands s = make_operands(p->forward.spec, sz, key);
    be->op.axpby(be, h, u, 1, s.m[i]);
    p->forward.run(be, sz, s.m);
    double v = dot(dy, s.m[p->out]);
    free_operands(&s);
    return v;
}

static void check_gradient(cs_backend *be, const adjoint *p, const op_sizes *sz, uint64_t key,
                           int i, cs_mat d, cs_mat dy)
{
    check_page page;
    cs_mat u = new_mat(d.r, d.c, sz->gap, &page);
    double h = p->linear ? 1 : 1e-5, size = 0;
    for (int64_t j = 0; j < mat_span(u); j++)
        u.p[j] = cs_rng_normal(key ^ 77, (uint64_t)j);
    double up = dot_at(be, p, sz, key, i, u, h, dy), down = dot_at(be, p, sz, key, i, u, -h, dy);
    double want = (up - down) / (2 * h), got = dot(d, u);
    size = sqrt(dot(d, d) * dot(u, u)) + fabs(want);
    if (!(fabs(got - want) <= (p->linear ? 1e-13 : 1e-7) * size))
        fail_msg("%s, matrix %d, %ld x %d: %.12g, by differences %.12g", p->forward.name, i,
                 (long)sz->r, sz->c, got, want);
    check_page_free(&page);
}

static void check_adjoint(cs_backend *be, const adjoint *p, const op_sizes *sz)
{
    uint64_t key = key_of(&p->forward, sz);
    operands s = make_operands(p->forward.spec, sz, key);
    cs_mat d[MAX_MAT] = { { 0 } }, before[MAX_MAT], dy;
    check_page page[2 * MAX_MAT + 1];
    int n = 0;
    p->forward.run(be, sz, s.m);
    dy = new_mat(s.m[p->out].r, s.m[p->out].c, sz->gap, &page[n++]);
    for (int64_t j = 0; j < mat_span(dy); j++)
        dy.p[j] = cs_rng_normal(key ^ 99, (uint64_t)j);
    for (int i = 0; i < s.n; i++) {
        d[i] = new_mat(s.m[i].r, s.m[i].c, sz->gap, &page[n++]);
        before[i] = new_mat(s.m[i].r, s.m[i].c, sz->gap, &page[n++]);
        for (int64_t j = 0; j < mat_span(d[i]); j++)
            d[i].p[j] = before[i].p[j] = cs_rng_unit(key ^ 55, (uint64_t)j);
    }
    p->bwd(be, sz, s.m, dy, d);
    for (const char *w = p->wrt; *w; w++) {
        int i = *w - '0';
        be->op.axpby(be, -1, before[i], 1, d[i]);    /* adjoints accumulate */
        check_gradient(be, p, sz, key, i, d[i], dy);
    }
    while (n > 0)
        check_page_free(&page[--n]);
    free_operands(&s);
}

static void check_adjoints(const op_case *o, int n, const op_sizes *sz)
{
    cs_backend *be = open_backend();
    op_sizes own = *sz;
    (void)n;
    own.seg.off = own.off;
    for (int i = 0; o == row_ops && i < COUNT(adjoints); i++)
        check_adjoint(be, &adjoints[i], &own);
    for (int i = 0; o == attn_ops && i < COUNT(attn_adjoints); i++)
        check_adjoint(be, &attn_adjoints[i], &own);
    cs_backend_close(be);
}

static void test_adjoints(void **state)
{
    (void)state;
    with_row_sizes(check_adjoints);
    with_long_sizes(check_adjoints);
    with_attn_sizes(check_adjoints);
}

int main(void)
{
    static const struct CMUnitTest test[] = { cmocka_unit_test(test_adjoints) };
    return cs_cpu_init() != CS_OK ? 2 : cmocka_run_group_tests_name("adjoints", test, NULL, NULL);
}
