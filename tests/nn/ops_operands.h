/* ops_operands.h - operands for a test of ops: made from a spec and a set of sizes, and compared.
 *
 * The spec of an op (op_case.spec) has three letters per matrix: the role, then rows and columns.
 *   role     i input, k input far from 0 and from each other in a column (kinks), p positive input,
 *            t class numbers (some NaN), b 0 and 1 (some NaN), n input with some NaN, o output
 *            (poisoned before), a added to, q added to and positive
 *   sizes    R rows, C columns, K a third size, T and F three and five times that (a
 *            convolution's taps), S segments, G segments * groups, V vocabulary, L a larger
 *            vocabulary, 1, 2 themselves; H D U X M: see ops_attn_cases.h
 * All matrices end where memory ends.
 */
#ifndef CS_TESTS_NN_OPS_OPERANDS_H
#define CS_TESTS_NN_OPS_OPERANDS_H

#include "tests/check.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kernels/cpu/tables.h"

enum { MAX_MAT = 12, N_VOCAB = 7, N_LARGE = 40, N_TAP = 3, MAX_SEG = 24, THREADS = 4 };

#define COUNT(a) ((int)(sizeof (a) / sizeof *(a)))

/* One set of sizes. gap: columns between rows, which no op may touch. */
typedef struct op_sizes {
    int64_t  r;
    int32_t  c, k, track, group, gap;
    cs_seg   seg;
    int64_t  off[MAX_SEG + 1];
    int64_t  half[MAX_SEG];      /* valid rows where the second half of a segment is padding */
    const int64_t *n_valid;      /* half, or a copy of it on the device */
    int32_t *id;
} op_sizes;

typedef struct operands { cs_mat m[MAX_MAT]; check_page page[MAX_MAT]; int n; } operands;

typedef struct op_case {
    const char *name, *spec;
    void (*run)(cs_backend *be, const op_sizes *sz, const cs_mat *m);
    bool independent;            /* a segment's rows do not depend on the other segments */
} op_case;

/* RNG key from the op's name and the sizes, so that a new row of a table does not change the random
 * numbers of other rows. */
static inline uint64_t key_of(const op_case *o, const op_sizes *sz)
{
    uint64_t key = cs_rng_key((uint64_t)(sz->r * 65536 + sz->c), (uint64_t)sz->k);
    for (const char *q = o->name; *q; q++)
        key = cs_rng_key(key, (uint64_t)*q);
    return key;
}

static inline int64_t size_of(char kind, const op_sizes *sz)
{
    switch (kind) {
    case 'R': return sz->r;
    case 'C': return sz->c;
    case 'K': return sz->k;
    case 'T': return N_TAP * (int64_t)sz->k;
    case 'F': return 5 * (int64_t)sz->k;
    case 'S': return sz->seg.n;
    case 'G': return (int64_t)sz->seg.n * sz->group;
    case 'V': return N_VOCAB;
    case 'L': return N_LARGE;
    case 'H': return sz->group;
    case 'D': return sz->c / sz->group;
    case 'U': return 3 * (int64_t)sz->seg.n;
    case 'X': return (int64_t)sz->c * sz->seg.n;
    case 'M': return (int64_t)(sz->c / sz->group) * (sz->c / sz->group + 1);
    default:  return kind - '0';
    }
}

static inline cs_real value_of(char role, uint64_t key, uint64_t i, const op_sizes *sz)
{
    const bool masked = role == 't' || role == 'b' || role == 'n';
    if (role == 'o' || (masked && cs_rng_unit(key ^ 1, i) < 0.1))
        return (cs_real)NAN;
    double u = role == 'k' ? (double)(i * 7919 % 10007) / 10007 : cs_rng_unit(key, i);
    switch (role) {
    case 'k': return (cs_real)(u < 0.5 ? 3.8 * u - 2 : 3.8 * u - 1.8);
    case 'p': case 'q': return (cs_real)(u + 0.1);
    case 't': return (cs_real)floor(u * sz->c);
    case 'b': return (cs_real)floor(u * 2);
    case 'n': return (cs_real)(u - 0.5);
    default:  return (cs_real)(4 * u - 2);
    }
}

static inline cs_real *row(cs_mat m, int64_t r) { return m.p + r * m.ld; }

/* Elements from the first to the last one, with the gaps between rows. */
static inline int64_t mat_span(cs_mat m)
{
    return m.r > 0 ? (m.r - 1) * m.ld + m.c : 0;
}

static inline cs_mat new_mat(int64_t r, int32_t c, int32_t gap, check_page *page)
{
    cs_mat m = { NULL, r, c, c + gap };
    *page = check_page_new((size_t)mat_span(m) * sizeof(cs_real));
    m.p = page->p;
    return m;
}

static inline operands make_operands(const char *spec, const op_sizes *sz, uint64_t key)
{
    operands s = { .n = 0 };
    for (const char *q = spec; *q; q += q[3] ? 4 : 3, s.n++) {
        cs_mat m = new_mat(size_of(q[1], sz), (int32_t)size_of(q[2], sz), sz->gap, &s.page[s.n]);
        for (int64_t i = 0; i < mat_span(m); i++)
            m.p[i] = value_of(q[0], key + (uint64_t)s.n * 977, (uint64_t)i, sz);
        s.m[s.n] = m;
    }
    return s;
}

static inline operands copy_operands(const operands *from)
{
    operands s = { .n = from->n };
    for (int i = 0; i < s.n; i++) {
        const cs_mat m = from->m[i];
        s.m[i] = new_mat(m.r, m.c, m.ld - m.c, &s.page[i]);
        if (mat_span(m) > 0)
            memcpy(s.m[i].p, m.p, (size_t)mat_span(m) * sizeof *m.p);
    }
    return s;
}

static inline void free_operands(operands *s)
{
    for (int i = 0; i < s->n; i++)
        check_page_free(&s->page[i]);
}

static inline char role(const char *spec, int i) { return spec[4 * i]; }
static inline bool is_output(char role_) { return strchr("oaq", role_) != NULL; }

/* NMSE of everything written, at most `limit`, or `small_limit` for matrices of less than 16
 * elements. Gaps between rows, and operands that are only read, keep their bits. */
static inline void compare_outputs(const op_case *o, const op_sizes *sz, const operands *got,
                                   const operands *want, const operands *before, double limit,
                                   double small_limit)
{
    for (int i = 0; i < got->n; i++) {
        double d2 = 0, w2 = 0;
        cs_mat g = got->m[i], w = want->m[i], b = before->m[i];
        if (!is_output(role(o->spec, i))) {
            assert_memory_equal(g.p, b.p, (size_t)mat_span(g) * sizeof *g.p);
            continue;
        }
        for (int64_t j = 0; j < mat_span(g); j++) {
            if (j % g.ld >= g.c) {
                assert_memory_equal(g.p + j, b.p + j, sizeof *g.p);
                continue;
            }
            double d = (double)g.p[j] - (double)w.p[j];
            d2 += d * d;
            w2 += (double)w.p[j] * (double)w.p[j];
        }
        if (!(d2 <= (g.r * g.c < 16 ? small_limit : limit) * w2))
            fail_msg("%s, matrix %d, %ld x %d (k %d): nmse %g", o->name, i, (long)sz->r, sz->c,
                     sz->k, d2 / w2);
    }
}

static inline cs_mat scratch(cs_backend *be, int64_t r, int32_t c)
{
    cs_mat m = { be->op.alloc(be, (size_t)(r * c) * sizeof(cs_real)), r, c, c };
    assert_non_null(m.p);
    be->op.zero(be, m);
    return m;
}

static inline op_sizes new_sizes(const int64_t *len, int n_seg, int32_t c, int32_t k, int32_t gap)
{
    op_sizes sz = { .c = c, .k = k, .gap = gap, .group = c % 2 ? 1 : 2 };
    sz.track = c % 32 == 0 ? 16 : c % 4 == 0 ? 4 : c % 3 == 0 ? 3 : 1;
    for (int s = 0; s < n_seg; s++)
        sz.off[s + 1] = sz.off[s] + len[s];
    for (int s = 0; s < n_seg; s++)
        sz.half[s] = (len[s] + 1) / 2;
    sz.r = sz.off[n_seg];
    sz.seg = (cs_seg){ .off = NULL, .n = n_seg, .rows = sz.r };
    sz.id = malloc((size_t)(sz.r + 1) * sizeof *sz.id);
    assert_non_null(sz.id);
    for (int64_t i = 0; i < sz.r; i++)
        sz.id[i] = (int32_t)(cs_rng_unit(5, (uint64_t)i) * (N_VOCAB + 1)) - 1;
    return sz;
}

static inline cs_backend *open_backend(void)
{
    cs_backend *be;
    assert_int_equal(cs_backend_open("cpu", THREADS, &be), CS_OK);
    return be;
}

#endif
