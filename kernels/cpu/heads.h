/* heads.h - indexing of attention: heads, segments, key masks. */
#ifndef CS_KERNELS_CPU_HEADS_H
#define CS_KERNELS_CPU_HEADS_H

#include "kernels/cpu/impl.h"

/** cs_head_view - head h of n_part: n rows from row r, the columns of that head */
static inline cs_mat cs_head_view(cs_mat m, int32_t h, int32_t n_part, int64_t r, int64_t n)
{
    int32_t w = m.c / n_part;
    return (cs_mat){ cs_row(m, r) + h * w, n, w, m.ld };
}

/* Rows from .. to-1. */
typedef struct cs_range { int64_t from, to; } cs_range;

/** cs_key_rows - the unmasked rows of segment s */
static inline cs_range cs_key_rows(cs_seg key, int32_t s)
{
    if (!key.off) {
        int64_t each = key.rows / key.n;
        return (cs_range){ s * each, (s + 1) * each };
    }
    int64_t from = key.off[s];
    return (cs_range){ from, key.n_valid ? from + key.n_valid[s] : key.off[s + 1] };
}

/** cs_next_keys - the first unmasked keys in [from, end) that are in one segment, whose number s
 * receives; masked keys are skipped. An empty range if there are none */
static inline cs_range cs_next_keys(cs_seg key, int64_t from, int64_t end, int32_t *s)
{
    while (from < end) {
        *s = key.off ? cs_seg_find(key, from) : (int32_t)(from / (key.rows / key.n));
        cs_range q = cs_key_rows(key, *s);
        if (from < q.to)
            return (cs_range){ from, cs_min64(q.to, end) };
        from = key.off[*s + 1];
    }
    return (cs_range){ end, end };
}

#endif
