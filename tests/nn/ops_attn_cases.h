/* ops_attn_cases.h - the ops of attention, pooling and parts of a rotation; see ops_cases.h.
 *
 * Further sizes: H heads (op_sizes.group), D columns of one head, U three rows per segment, X C
 * rows per segment, M state of linear attention per head.
 */
#ifndef CS_TESTS_NN_OPS_ATTN_CASES_H
#define CS_TESTS_NN_OPS_ATTN_CASES_H

#include "tests/nn/ops_cases.h"

enum { N_KEY = 3 };

static cs_attn attn_of(const op_sizes *sz)
{
    return (cs_attn){ .seg = sz->seg, .key = sz->seg, .n_head = sz->group,
                      .scale = (cs_real)sqrt((double)sz->group / sz->c) };
}

/* Three keys for each segment, in any order of segments. */
static cs_attn few_keys_of(const op_sizes *sz)
{
    cs_attn a = attn_of(sz);
    a.key = (cs_seg){ .n = sz->seg.n, .rows = (int64_t)N_KEY * sz->seg.n };
    return a;
}

static cs_attn dropout_of(const op_sizes *sz)
{
    cs_attn a = attn_of(sz);
    a.dropout = 0.3;
    a.drop_key = 77;
    return a;
}

static cs_attn few_keys_dropout_of(const op_sizes *sz)
{
    cs_attn a = few_keys_of(sz);
    a.dropout = 0.3;
    a.drop_key = 78;
    return a;
}

/* The second half of every segment is padding. */
static cs_seg padded_of(const op_sizes *sz)
{
    cs_seg seg = sz->seg;
    seg.n_valid = sz->n_valid ? sz->n_valid : sz->half;
    return seg;
}

static cs_qkv qkv_of(const cs_mat *m)
{
    return (cs_qkv){ m[0], m[1], m[2], m[3], m[4] };
}

#define ATTEND(name_, op_, attn_)                                      \
    CASE(name_)                                                        \
    {                                                                  \
        cs_attn a = attn_(sz);                                          \
        cs_qkv x = qkv_of(m);                                          \
        be->op.op_(be, &a, &x);                                        \
    }                                                                  \
    CASE(name_##_bwd)                                                  \
    {                                                                  \
        cs_attn a = attn_(sz);                                          \
        cs_qkv x = qkv_of(m), d = { m[6], m[7], m[8], m[5], m[9] };    \
        be->op.op_##_bwd(be, &a, &x, &d);                              \
    }
ATTEND(attend, attend, attn_of)
ATTEND(attend_few, attend, few_keys_of)
ATTEND(attend_drop, attend, dropout_of)
ATTEND(attend_few_drop, attend, few_keys_dropout_of)
ATTEND(linear_attend, linear_attend, attn_of)

CASE(attend_padded)
{
    cs_attn a = attn_of(sz);
    cs_qkv x = qkv_of(m);
    a.key = padded_of(sz);
    be->op.attend(be, &a, &x);
}

static void seg_product(cs_backend *be, const op_sizes *sz, bool ta, const cs_mat *m,
                        const cs_seg_layout *layout)
{
    cs_operand a = { m[0], layout[0] }, b = { m[1], layout[1] }, c = { m[2], layout[2] };
    be->op.seg_gemm(be, sz->seg, ta, false, &a, &b, 0, &c);
}
CASE(inner_add)
{
    cs_operand a = { m[0], CS_SEG_ROWS }, b = { m[1], CS_SEG_BLOCK }, c = { m[2], CS_SEG_ROWS };
    be->op.seg_gemm(be, sz->seg, false, false, &a, &b, 1, &c);
}
CASE(table_add)
{
    cs_operand a = { m[0], CS_SEG_ROWS }, b = { m[1], CS_SEG_BLOCK }, c = { m[2], CS_SEG_SHARED };
    be->op.seg_gemm(be, sz->seg, false, false, &a, &b, 1, &c);
}
CASE(outer)
{
    seg_product(be, sz, true, m, (cs_seg_layout[]){ CS_SEG_ROWS, CS_SEG_ROWS, CS_SEG_BLOCK });
}
CASE(inner)
{
    seg_product(be, sz, false, m, (cs_seg_layout[]){ CS_SEG_ROWS, CS_SEG_BLOCK, CS_SEG_ROWS });
}
CASE(shared)
{
    seg_product(be, sz, true, m, (cs_seg_layout[]){ CS_SEG_SHARED, CS_SEG_ROWS, CS_SEG_BLOCK });
}

CASE(seg_softmax)     { be->op.seg_softmax(be, sz->seg, m[0], m[1]); }
CASE(seg_softmax_bwd) { be->op.seg_softmax_bwd(be, sz->seg, m[0], m[1], m[2]); }
CASE(softmax_bwd)     { CALL(be->op.softmax_bwd(be, m[0], m[1], m[2])); }
CASE(mask)
{
    be->op.seg_mask(be, padded_of(sz), -7, m[0], 0, m[1]);
}
CASE(mask_add)
{
    be->op.seg_mask(be, padded_of(sz), 0, m[0], 1, m[1]);
}
CASE(position)     { be->op.seg_position(be, sz->seg, (cs_real)0.3, m[0], m[1], m[2]); }
CASE(position_bwd) { be->op.seg_position_bwd(be, sz->seg, (cs_real)0.3, m[0], m[1]); }
CASE(pen_off)    { CALL(be->op.penalty(be, CS_PEN_OFFDIAG, (cs_real)0.3, m[0], m[1], m[2])); }
CASE(pen_square)
{
    CALL(be->op.penalty(be, CS_PEN_OFFDIAG_SQUARE, (cs_real)0.3, m[0], m[1], m[2]));
}
CASE(pen_ortho)  { CALL(be->op.penalty(be, CS_PEN_ORTHO, (cs_real)0.3, m[0], m[1], m[2])); }

/* The rows from the middle on, with sources and ends all over the segments. */
static cs_mat lower(const op_sizes *sz, cs_mat m)
{
    const int64_t first = sz->r / 2;
    return (cs_mat){ row(m, first), sz->r - first, m.c, m.ld };
}
CASE(roll_put)  { be->op.seg_roll_put(be, sz->seg, sz->track, sz->r / 2, lower(sz, m[0]), m[1]); }
CASE(roll_take) { be->op.seg_roll_take(be, sz->seg, sz->track, sz->r / 2, m[0], lower(sz, m[1])); }

CASE(largest)   { be->op.seg_max(be, sz->seg, false, m[0], m[1]); }
CASE(smooth)    { be->op.seg_max(be, sz->seg, true, m[0], m[1]); }
/* With the maxima of the forward op; any values for the smooth maximum. */
CASE(largest_bwd)
{
    be->op.seg_max(be, sz->seg, false, m[0], m[1]);
    be->op.seg_max_bwd(be, sz->seg, false, m[0], m[1], m[2], m[3]);
}
CASE(smooth_bwd) { be->op.seg_max_bwd(be, sz->seg, true, m[0], m[1], m[2], m[3]); }

static const op_case attn_ops[] = {
    { "largest",     "iRC oSC", largest, true },
    { "smooth",      "iRC oSC", smooth, true },
    { "largest_bwd", "iRC oSC iSC aRC", largest_bwd, true },
    { "smooth_bwd",  "iRC iSC iSC aRC", smooth_bwd, true },
    { "roll_put",    "iRC aRC", roll_put, false },
    { "roll_take",   "iRC aRC", roll_take, false },
    { "attend",      "iRC iRC iRC oRC oRH", attend, true },
    { "attend_bwd",  "iRC iRC iRC iRC iRH iRC aRC aRC aRC", attend_bwd, true },
    { "attend_few",  "iRC iUD iUD oRC oRH", attend_few, false },
    { "attend_few_bwd", "iRC iUD iUD iRC iRH iRC aRC aUD aUD", attend_few_bwd, false },
    { "attend_drop", "iRC iRC iRC oRC oRH", attend_drop, true },
    { "attend_drop_bwd", "iRC iRC iRC iRC iRH iRC aRC aRC aRC", attend_drop_bwd, true },
    { "attend_few_drop", "iRC iUD iUD oRC oRH", attend_few_drop, false },
    { "attend_few_drop_bwd", "iRC iUD iUD iRC iRH iRC aRC aUD aUD", attend_few_drop_bwd, false },
    { "attend_padded", "iRC iRC iRC oRC oRH", attend_padded, true },
    { "linear",      "pRC pRC iRC oRC oGM", linear_attend, true },
    { "linear_bwd",  "pRC pRC iRC iRC pGM iRC aRC aRC aRC oGM", linear_attend_bwd, true },
    { "outer",       "iRC iRK oXK", outer, false },
    { "inner",       "iRC iXK oRK", inner, false },
    { "shared",      "iRC iRK oXK", shared, false },
    { "inner_add",   "iRC iXK aRK", inner_add, false },
    { "table_add",   "iRC iXK aRK", table_add, false },
    { "seg_softmax", "iRC oRC", seg_softmax, true },
    { "seg_softmax_bwd", "pRC iRC aRC", seg_softmax_bwd, true },
    { "softmax_bwd", "pRC iRC aRC", softmax_bwd, true },
    { "mask",        "iRC oRC", mask, true },
    { "mask_add",    "iRC aRC", mask_add, true },
    { "position",    "iRC iRC oRC", position, false },
    { "position_bwd", "iRC aRC", position_bwd, false },
    { "pen_off",     "iXC a11 oXC", pen_off, false },
    { "pen_square",  "iXC a11 oXC", pen_square, false },
    { "pen_ortho",   "iXC a11 oXC", pen_ortho, false },
};

/* Heads of one to many columns, segments below and above a tile of the kernels, empty ones. */
static inline void with_attn_sizes(void (*check)(const op_case *, int, const op_sizes *))
{
    static const int32_t size[][4] = { { 2, 1, 1, 0 }, { 6, 3, 5, 2 }, { 8, 4, 17, 0 },
                                       { 24, 2, 9, 3 }, { 130, 1, 33, 0 } };
    static const struct { int64_t len[MAX_SEG]; int n; } set[] = {
        { { 1, 4 }, 2 }, { { 0, 5, 0, 70, 1, 0 }, 6 }, { { 64, 65, 2 }, 3 }, { { 210, 195 }, 2 } };
    for (int i = 0; i < COUNT(size); i++)
        for (int k = 0; k < COUNT(set); k++) {
            op_sizes sz = new_sizes(set[k].len, set[k].n, size[i][0], size[i][2], size[i][3]);
            sz.group = size[i][1];
            check(attn_ops, COUNT(attn_ops), &sz);
            free(sz.id);
        }
}

#endif
