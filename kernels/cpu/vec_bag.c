/* vec_bag.c - mean embedding of each segment's tokens, without storing a row per token.
 *
 * DESIGN. A mean depends on the number of occurrences of each token, not on their order. If a
 * segment is at least as long as the vocabulary (of at most COUNT_MAX), its tokens are counted, and
 * the table's rows are added with the counts as weights. Otherwise each token's row is added with
 * weight 1. The choice depends on the segment's length and the table only, so predictions do not
 * depend on neighbours.
 * Groups of LIST rows are summed in single precision and these sums in double, because the
 * differences between sequences are small compared with their means.
 */
#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

#include <string.h>

#include "kernels/cpu/vec.h"

enum { LIST = 16,
       COUNT_MAX = 8192 };       /* counters on the stack, in the L1 cache */

/* Rows of the table to add, their weights, and the running sum. */
typedef struct bag {
    const float *row[LIST];
    float        weight[LIST];
    int          n;
    double       sum[CS_CHUNK_COLS];
} bag;

static void add_double(double *sum, cs_vec v)
{
    cs_dvec_store(sum, cs_dvec_add(cs_dvec_load(sum), cs_to_dvec(v)));
}

/* Several sums in registers, as independent chains: with four, the CPU would wait for each
 * multiply-add. */
#define EACH_OF_4(OP) OP(0) OP(1) OP(2) OP(3)
#define EACH_OF_8(OP) EACH_OF_4(OP) OP(4) OP(5) OP(6) OP(7)
#define EACH_OF_12(OP) EACH_OF_8(OP) OP(8) OP(9) OP(10) OP(11)
#define CLEAR(i) cs_vec a##i = cs_vset(0);
#define WEIGH(i) a##i = cs_vfma(w, cs_vload(r + CS_VEC * (i)), a##i);
#define TOTAL(i) add_double(b->sum + j + CS_VEC * (i), a##i);
#define COLUMNS(width, EACH)                                        \
    for (; j + (width) <= n_col; j += (width)) {                    \
        EACH(CLEAR)                                                 \
        for (int i = 0; i < b->n; i++) {                            \
            const float *r = b->row[i] + j;                         \
            cs_vec w = cs_vset(b->weight[i]);                       \
            EACH(WEIGH)                                             \
        }                                                           \
        EACH(TOTAL)                                                 \
    }

static void flush(bag *b, int32_t n_col)
{
    int32_t j = 0;
    COLUMNS(12 * CS_VEC, EACH_OF_12)
    COLUMNS(8 * CS_VEC, EACH_OF_8)
    COLUMNS(4 * CS_VEC, EACH_OF_4)
    for (; j < n_col; j += CS_VEC) {
        cs_vec a = cs_vset(0);
        for (int i = 0; i < b->n; i++)
            a = cs_vfma(cs_vset(b->weight[i]), cs_get(b->row[i] + j, n_col - j), a);
        add_double(b->sum + j, a);
    }
}

/* Both functions write every candidate and advance only if it counts: a branch per token would cost
 * more than adding its row. */

/* Lists the rows of tokens id[0 .. n-1] until the list is full; returns how many were processed. */
static int64_t list_tokens(bag *b, const int32_t *id, int64_t n, const float *first, int32_t ld)
{
    int64_t i = 0;
    int k = 0;
    for (; i < n && k < LIST; i++) {
        b->row[k] = first + (id[i] >= 0 ? id[i] : 0) * (int64_t)ld;
        k += id[i] >= 0;
    }
    b->n = k;
    return i;
}

/* Lists rows 0 .. n-1 with non-zero counts as weights; returns how many were processed. */
#define LIST_COUNTS(name, type)                                                                 \
    static int64_t name(bag *b, const type *count, int64_t n, const float *first, int32_t ld)   \
    {                                                                                           \
        int64_t v = 0;                                                                          \
        int k = 0;                                                                              \
        for (; v < n && k < LIST; v++) {                                                        \
            b->row[k] = first + v * ld;                                                         \
            b->weight[k] = (float)count[v];                                                     \
            k += count[v] > 0;                                                                  \
        }                                                                                       \
        b->n = k;                                                                               \
        return v;                                                                               \
    }
LIST_COUNTS(list_counts, int32_t)
LIST_COUNTS(list_large_counts, int64_t)

/* A segment's n tokens: id, or the occurrences of each token, as count or large. */
typedef struct words { const int32_t *id, *count; const int64_t *large; int64_t n; } words;

/* Columns j0 .. j0+n_col-1 of the mean. */
static void mean(words w, cs_mat table, int32_t j0, int32_t n_col, float *y)
{
    const float *first = table.p + j0;
    const double scale = w.n > 0 ? 1 / (double)w.n : 0;
    const int64_t n_item = w.id ? w.n : table.r;
    bag b;
    for (int k = 0; k < LIST; k++)
        b.weight[k] = 1;
    memset(b.sum, 0, sizeof b.sum);
    for (int64_t i = 0; i < n_item;) {
        const float *row = first + i * table.ld;
        i += w.id ? list_tokens(&b, w.id + i, n_item - i, first, table.ld)
           : w.count ? list_counts(&b, w.count + i, n_item - i, row, table.ld)
                     : list_large_counts(&b, w.large + i, n_item - i, row, table.ld);
        flush(&b, n_col);
    }
    for (int32_t j = 0; j < n_col; j++)
        y[j0 + j] = (float)(b.sum[j] * scale);
}

/* Counts four at a time with one test of their signs: a branch per token takes longer than counting
 * it. Padding (negative ids) is rare, and only at the ends of segments. */
static void count_tokens(const int32_t *id, int64_t n, int32_t *count)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        if ((id[i] | id[i + 1] | id[i + 2] | id[i + 3]) < 0)
            break;
        count[id[i]]++;
        count[id[i + 1]]++;
        count[id[i + 2]]++;
        count[id[i + 3]]++;
    }
    for (; i < n; i++)
        if (id[i] >= 0)
            count[id[i]]++;
}

static void mean_of(words w, cs_mat table, float *y)
{
    for (int32_t j = 0; j < table.c; j += CS_CHUNK_COLS)
        mean(w, table, j, table.c - j < CS_CHUNK_COLS ? table.c - j : CS_CHUNK_COLS, y);
}

static void segment(const int32_t *id, int64_t n, cs_mat table, float *y)
{
    int32_t count[COUNT_MAX];
    const bool counted = n >= table.r && table.r <= COUNT_MAX && n <= INT32_MAX;
    if (counted) {
        memset(count, 0, (size_t)table.r * sizeof *count);
        count_tokens(id, n, count);
    }
    mean_of((words){ counted ? NULL : id, count, NULL, n }, table, y);
}

static void vec_count_mean(cs_backend *be, const int64_t *count, int64_t n, cs_mat table, cs_mat y)
{
    (void)be;
    mean_of((words){ NULL, NULL, count, n }, table, y.p);
}

static void vec_embed_mean(cs_backend *be, cs_seg seg, const int32_t *id, cs_mat table, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, seg.rows * y.c)) schedule(dynamic)
    for (int32_t s = 0; s < seg.n; s++)
        segment(id + seg.off[s], seg.off[s + 1] - seg.off[s], table, cs_row(y, s));
}

enum { PART = 32 };              /* columns of the table's gradient per parallel step */

/* to += w dy, n_col columns */
static void add_weighted(const float *dy, float w, float *to, int32_t n_col)
{
    for (int32_t j = 0; j < n_col; j += CS_VEC)
        cs_put(to + j, n_col - j, cs_vfma(cs_vset(w), cs_get(dy + j, n_col - j),
                                          cs_get(to + j, n_col - j)));
}

static void segment_bwd(const int32_t *id, int64_t n, const float *dy, cs_mat dtable, int32_t j0,
                        int32_t n_col)
{
    const float w = 1 / (float)n;
    int32_t count[COUNT_MAX];
    if (n < dtable.r || dtable.r > COUNT_MAX || n > INT32_MAX) {
        for (int64_t i = 0; i < n; i++)
            if (id[i] >= 0)
                add_weighted(dy, w, cs_row(dtable, id[i]) + j0, n_col);
        return;
    }
    memset(count, 0, (size_t)dtable.r * sizeof *count);
    count_tokens(id, n, count);
    for (int64_t v = 0; v < dtable.r; v++)
        if (count[v] > 0)
            add_weighted(dy, w * (float)count[v], cs_row(dtable, v) + j0, n_col);
}

/* Threads take columns: every sum runs in order of segments, and no element is shared. */
static void vec_embed_mean_bwd(cs_backend *be, cs_seg seg, const int32_t *id,
                               cs_mat dy, cs_mat dtable)
{
    const int32_t n_part = (dy.c + PART - 1) / PART;
    #pragma omp parallel for num_threads(cs_threads(be, seg.rows * dy.c))
    for (int32_t b = 0; b < n_part; b++) {
        const int32_t j0 = b * PART, n_col = dy.c - j0 < PART ? dy.c - j0 : PART;
        for (int32_t s = 0; s < seg.n; s++)
            segment_bwd(id + seg.off[s], seg.off[s + 1] - seg.off[s], cs_row(dy, s) + j0, dtable,
                        j0, n_col);
    }
}

void cs_vec_bag(cs_ops *op, cs_fused *fused)
{
    op->embed_mean = vec_embed_mean;
    fused->embed_mean_bwd = vec_embed_mean_bwd;
    fused->count_mean = vec_count_mean;
}
