/* vec_tiles.c - panels of a matrix product by AMX: up to 32 rows by 32 columns in tile registers.
 *
 * DESIGN. A tile register has sixteen rows of a cache line. Four are sums; one step multiplies two
 * of the left operand (sixteen rows of sixteen cells) and two of the right one (sixteen rows of a
 * packed panel), so that each is used twice. Cells are padded with zeros to whole tiles in the
 * summed dimension (cell.h). In the others the configuration of the tiles has the exact number of
 * rows and columns: nothing else is read or written. It is per thread and takes as long as 100
 * products of a tile row, so it is changed only if it does not suit, and released at the end of a
 * task.
 *
 * A step adds the even and the odd elements of 32 apart, then both to the sum, rounds to nearest
 * even and flushes denormals (Intel, Architecture Instruction Set Extensions Programming Reference,
 * TDPBF16PS). Sums start at init, or at 0 if it is one row for all: a bias is added last. An
 * element's bits depend on its row, its column and init only.
 */
#include "kernels/cpu/gemm.h"

#include <immintrin.h>
#include <stdint.h>

enum { TILE = 16, PAIR = 2 * TILE };
_Static_assert(TILE == (int)CS_VEC && TILE == (int)CS_CELL_STEP, "tiles are made of vectors");

/* The compiler does not see which memory loads of tiles read. */
#define WRITTEN() __asm__ volatile("" : : : "memory")

/* Operand of LDTILECFG. */
typedef struct tile_config {
    uint8_t  palette, start, zero[14];
    uint16_t row_bytes[16];
    uint8_t  rows[16];
} tile_config;

/* Rows and columns of two tiles of sums by two. */
typedef struct extent { uint8_t m[2], n[2]; } extent;

static _Thread_local extent current;     /* m[0] 0: not configured */

static uint8_t first(int64_t n)
{
    return (uint8_t)cs_min64(n, TILE);
}

/* Is the first tile configured for n rows or columns, and the second one, if there are more? */
static bool suits(const uint8_t is[2], int64_t n)
{
    return is[0] == first(n) && (n <= TILE || is[1] == n - TILE);
}

/* Tiles 0 to 3: sums; 4 and 5: the left operand; 6 and 7: the right one. A second tile that is not
 * needed is a whole one, which the next block may need. */
static void configure(int64_t n_row, int64_t n_col)
{
    const extent e = { { first(n_row), first(n_row > TILE ? n_row - TILE : TILE) },
                       { first(n_col), first(n_col > TILE ? n_col - TILE : TILE) } };
    if (suits(current.m, n_row) && suits(current.n, n_col))
        return;
    tile_config c = { .palette = 1 };
    for (int i = 0; i < 4; i++) {
        c.rows[i] = e.m[i / 2];
        c.row_bytes[i] = (uint16_t)(e.n[i % 2] * sizeof(float));
    }
    for (int i = 0; i < 2; i++) {
        c.rows[4 + i] = e.m[i];
        c.row_bytes[4 + i] = TILE * sizeof(float);
        c.rows[6 + i] = TILE;
        c.row_bytes[6 + i] = (uint16_t)(e.n[i] * sizeof(float));
    }
    WRITTEN();
    _tile_loadconfig(&c);
    current = e;
}

void cs_panel_done(void)
{
    if (current.m[0])
        _tile_release();
    current = (extent){ .m = { 0 } };
}

/* Tiles of two (else one) by two (else one) from row r and column j on. */
CS_INLINE void multiply(const bool two_rows, const bool two_cols, const cs_panel *q, int64_t r,
                        int64_t j)
{
    const int64_t line = sizeof(float);
    const int64_t lda = q->lda * line, ldb = q->ldb * line;
    const int64_t ldi = q->ldi * line, ldc = q->ldc * line;
    const int64_t track = q->run ? q->track : q->n_k;
    const float *b = q->b + j;
    const float *init = q->init + r * q->ldi + j, *below = init + TILE * q->ldi;
    float *c = q->c + r * q->ldc + j, *next = c + TILE * q->ldc;

    WRITTEN();
    if (ldi == 0) {
        _tile_zero(0);
        if (two_cols)
            _tile_zero(1);
        if (two_rows)
            _tile_zero(2);
        if (two_rows && two_cols)
            _tile_zero(3);
    } else {
        _tile_loadd(0, init, ldi);
        if (two_cols)
            _tile_loadd(1, init + TILE, ldi);
        if (two_rows)
            _tile_loadd(2, below, ldi);
        if (two_rows && two_cols)
            _tile_loadd(3, below + TILE, ldi);
    }
    for (int64_t i = 0; i * track < q->n_k; i++) {
        const float *a = q->a + r * q->lda + (q->run ? q->run[i] : 0);
        for (const float *end = a + track; a < end; a += TILE, b += TILE * q->ldb) {
            _tile_loadd(6, b, ldb);
            _tile_loadd(4, a, lda);
            _tile_dpbf16ps(0, 4, 6);
            if (two_cols) {
                _tile_loadd(7, b + TILE, ldb);
                _tile_dpbf16ps(1, 4, 7);
            }
            if (two_rows) {
                _tile_loadd(5, a + TILE * q->lda, lda);
                _tile_dpbf16ps(2, 5, 6);
            }
            if (two_rows && two_cols)
                _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, c, ldc);
    if (two_cols)
        _tile_stored(1, c + TILE, ldc);
    if (two_rows)
        _tile_stored(2, next, ldc);
    if (two_rows && two_cols)
        _tile_stored(3, next + TILE, ldc);
}

#define MULTIPLY(name, two_rows, two_cols)                                                    \
    static void name(const cs_panel *q, int64_t r, int64_t j)                                 \
    {                                                                                         \
        multiply(two_rows, two_cols, q, r, j);                                                \
    }
MULTIPLY(multiply_22, true, true)
MULTIPLY(multiply_21, true, false)
MULTIPLY(multiply_12, false, true)
MULTIPLY(multiply_11, false, false)
#undef MULTIPLY

/* c += bias, n_row rows of n columns, at most two vectors; nothing if it is 0 */
static void add_bias(const float *bias, int64_t n, float *c, int64_t ldc, int64_t n_row)
{
    const cs_vec lo = cs_get(bias, n), hi = cs_get(bias + TILE, n - TILE), zero = cs_vset(0);
    /* A NaN is unequal to 0; a maximum would drop it. */
    if (!(_mm512_cmp_ps_mask(lo, zero, _CMP_NEQ_UQ) | _mm512_cmp_ps_mask(hi, zero, _CMP_NEQ_UQ)))
        return;
    for (int64_t r = 0; r < n_row; r++, c += ldc) {
        cs_put(c, n, cs_vadd(lo, cs_get(c, n)));
        cs_put(c + TILE, n - TILE, cs_vadd(hi, cs_get(c + TILE, n - TILE)));
    }
}

/* Rows r .. r+n_row-1 and columns j .. j+n_col-1, at most two tiles by two. */
static void block(const cs_panel *q, int64_t r, int64_t j, int64_t n_row, int64_t n_col)
{
    static void (*const run[2][2])(const cs_panel *, int64_t, int64_t) = {
        { multiply_11, multiply_12 }, { multiply_21, multiply_22 } };
    configure(n_row, n_col);
    run[n_row > TILE][n_col > TILE](q, r, j);
    if (q->ldi == 0)
        add_bias(q->init + j, n_col, q->c + r * q->ldc + j, q->ldc, n_row);
}

void cs_panel_run(bool trans, int width, int valid, const cs_panel *q)
{
    const int64_t n = valid < width ? valid : width, rest = q->n_row % PAIR;

    CS_BUG(trans || (q->run ? q->track : q->n_k) % TILE != 0);
    for (int64_t j = 0; j < n; j += PAIR)
        for (int64_t r = 0; r + PAIR <= q->n_row; r += PAIR)
            block(q, r, j, PAIR, cs_min64(PAIR, n - j));
    for (int64_t j = 0; rest && j < n; j += PAIR)
        block(q, q->n_row - rest, j, rest, cs_min64(PAIR, n - j));
}

void cs_panel_of(bool trans, int width, const cs_panel *q)
{
    cs_panel_run(trans, width, width, q);
}
