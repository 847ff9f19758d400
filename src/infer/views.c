/* views.c - split a record into views, and combine their predictions.
 *
 * DESIGN. A prediction is equal for a sequence and its reverse complement only if every step is
 * symmetric, bit for bit. Windows are symmetric about the middle, so the windows of the reverse
 * complement are the reverse complements of these, from right to left. Sums are taken in pairs,
 * forward + reverse and window i + window n-1-i: reversing the sequence swaps the two terms of an
 * addition, which commutes, and keeps the order of additions.
 */
#include "infer/views.h"

#include <math.h>
#include <string.h>

enum { MIN_COUNTED = 1 << 16 };      /* bases: more tokens than a batch has by default */

/* ---- planning ------------------------------------------------------------------------------ */

static cs_reason refusal(const cs_policy *p, const cs_record *r, const cs_segment *s)
{
    if (s->n_base == 0)
        return CS_REASON_EMPTY;
    const int64_t n_base = r->n_whole > 0 ? r->n_whole : s->n_base;
    return n_base < p->min_base ? CS_REASON_TOO_SHORT : CS_REASON_NONE;
}

static int strands_of(const cs_policy *p, const cs_record *r)
{
    return p->both && !p->canonical && r->strand == 0 ? 2 : 1;
}

static bool is_joint(const cs_policy *p, const cs_record *r)
{
    return p->pair == CS_PAIR_JOINT && r->n_seg > 1;
}

int64_t cs_views_count(const cs_policy *p, const cs_record *r)
{
    int64_t n = 0;

    if (is_joint(p, r))
        return refusal(p, r, &r->seg[0]) ? 1 : strands_of(p, r);
    for (int s = 0; s < r->n_seg; s++)
        n += refusal(p, r, &r->seg[s]) ? 1
           : cs_policy_n_window(p, r->seg[s].n_base) * strands_of(p, r);
    return n;
}

bool cs_view_counts(const cs_policy *p, const cs_view *v)
{
    return p->counts && !v->reason && v->n_base >= MIN_COUNTED;
}

void cs_views_list(const cs_policy *p, const cs_record *r, int32_t rec, cs_view *out)
{
    const cs_model *m = p->model;
    const int n_part = is_joint(p, r) ? r->n_seg : 1;

    for (int s = 0; s < r->n_seg; s += n_part) {
        const cs_segment *g = &r->seg[s];
        const cs_reason reason = refusal(p, r, g);
        const int n_strand = reason ? 1 : strands_of(p, r);
        const int64_t n = reason ? 1 : cs_policy_n_window(p, g->n_base);
        for (int64_t k = 0; k < n * n_strand; k++, out++) {
            *out = (cs_view){ .rec = rec, .seg = s, .reason = reason,
                              .reverse = r->strand ? r->strand < 0 : k % n_strand };
            if (reason)
                out->n_base = g->n_base;
            else
                cs_policy_window(p, g->n_base, k / n_strand, &out->start, &out->n_base);
            if (!cs_view_counts(p, out))
                out->tok.n = reason ? 0 : m->tok ? n_part * m->tok->bound(m->tok_state, out->n_base)
                                                 : out->n_base;
        }
    }
}

/* ---- tokens -------------------------------------------------------------------------------- */

/* Does the sequence sort after its reverse complement? */
static bool sorts_after(const char *base, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const char a = base[i], b = cs_base_complement[(unsigned char)base[n - 1 - i]];
        if (a != b)
            return a > b;
    }
    return false;
}

/* Stops as soon as the result is known: in most sequences after a tenth. */
static cs_reason unknown_reason(const cs_policy *p, const char *base, int64_t n)
{
    const int64_t spare = cs_base_max_unknown(p->max_unknown, n);
    const int64_t enough = spare < n ? n - spare : 1;
    const bool pairs = cs_tokenizer_alphabet(p->model->tok, p->model->tok_state) == CS_DIPLOTYPES;
    int64_t known = 0;

    /* A diplotype is unknown if both haplotypes are, and its letter is N then, too. */
    for (int64_t i = 0; i < n && known < enough; i++)
        known += pairs ? base[i] != 'N' : cs_base_code[(unsigned char)base[i]] < 4;
    return known >= enough ? CS_REASON_NONE : known > 0 ? CS_REASON_MOSTLY_N : CS_REASON_ALL_N;
}

static bool all_unknown(const cs_view *v)
{
    const cs_tokens *t = &v->tok;
    int64_t i = 0;

    if (v->count)
        return v->count[CS_TOK_UNK] == t->n;
    while (i < t->n && t->id[i] == CS_TOK_UNK)
        i++;
    return i == t->n;
}

static void reverse_ids(cs_tokens *t)
{
    int32_t *id = t->id;
    const int64_t n = t->n;

    #pragma omp simd
    for (int64_t i = 0; i < n / 2; i++) {
        const int32_t first = id[i];
        id[i] = id[n - 1 - i];
        id[n - 1 - i] = first;
    }
}

static bool needs_revcomp(const cs_policy *p)
{
    return !p->model->tok->mirrors(p->model->tok_state);
}

static int64_t work_bytes(const cs_model *m, int64_t n_base)
{
    return (int64_t)cs_tokenizer_work(m->tok, m->tok_state, n_base);
}

int64_t cs_view_scratch(const cs_policy *p, const cs_view *v)
{
    const cs_model *m = p->model;
    const int64_t revcomp = (v->reverse || p->canonical) && needs_revcomp(p) ? v->n_base : 0;

    if (v->reason || !m->tok)
        return 0;
    return work_bytes(m, v->n_base) + revcomp;
}

/* The bases to tokenise, in scratch memory if they are reversed. */
static cs_segment strand_bases(const cs_policy *p, const char *base, const cs_view *v,
                               char *scratch)
{
    char *to = scratch + work_bytes(p->model, v->n_base);

    if (!v->reverse || !needs_revcomp(p))
        return (cs_segment){ base, NULL, v->n_base };
    cs_base_revcomp(base, v->n_base, to);
    return (cs_segment){ to, NULL, v->n_base };
}

/* Append the tokens of one part to those of v. */
static void add_tokens(const cs_policy *p, const char *base, cs_view *v, char *scratch)
{
    const cs_model *m = p->model;
    const cs_segment s = strand_bases(p, base, v, scratch);
    cs_tokens part = { v->tok.id + v->tok.n, 0 };

    part.n = m->tok->encode(m->tok_state, &s, scratch, part.id);
    if (v->reverse && s.base == base)
        reverse_ids(&part);
    v->tok.n += part.n;
}

static void count_tokens(const cs_policy *p, const char *base, cs_view *v, char *scratch)
{
    const cs_model *m = p->model;
    const cs_segment s = strand_bases(p, base, v, scratch);

    memset(v->count, 0, (size_t)m->tok->n_vocab(m->tok_state) * sizeof *v->count);
    v->tok.n = m->tok->count(m->tok_state, &s, scratch, v->count);
}

/* Mask a record's bases if a token is a base; there is one window. */
static void hide_tokens(const cs_policy *p, const cs_record *r, cs_view *v)
{
    const int64_t from = v->reverse ? v->tok.n - r->mask_from - r->n_mask : r->mask_from;

    for (int64_t i = from; i < from + r->n_mask; i++)
        v->tok.id[i] = p->model->mask;
}

static void tokens(const cs_policy *p, const cs_record *r, cs_view *v, char *scratch)
{
    v->tok.n = 0;
    (v->count ? count_tokens : add_tokens)(p, r->seg[v->seg].base + v->start, v, scratch);
    if (is_joint(p, r))
        add_tokens(p, r->seg[1].base + v->start, v, scratch);
    hide_tokens(p, r, v);
    if (v->tok.n == 0)
        v->reason = CS_REASON_TOO_SHORT;
    else if (p->max_len > 0 && v->tok.n > p->max_len)
        v->reason = CS_REASON_TOO_LONG;
    else if (all_unknown(v))
        v->reason = CS_REASON_NO_TOKEN;
}

void cs_view_encode(const cs_policy *p, const cs_record *r, cs_view *v, char *scratch)
{
    const char *base = r->seg[v->seg].base + v->start;

    /* Parts of a joint record have the same length and number of tokens. */
    if (v->reason)
        return;
    if (!p->model->tok) {
        v->reason = p->max_len > 0 && v->tok.n > p->max_len ? CS_REASON_TOO_LONG : CS_REASON_NONE;
    } else {
        v->reason = unknown_reason(p, base, v->n_base);
        if (!v->reason && is_joint(p, r))
            v->reason = unknown_reason(p, r->seg[1].base + v->start, v->n_base);
        if (p->canonical)
            v->reverse = sorts_after(base, v->n_base);
        if (!v->reason)
            tokens(p, r, v, scratch);
    }
    if (v->reason)
        v->tok.n = 0;
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* Views of one segment: n windows of `strands` views each, those with a reason left out. */
struct part {
    const cs_view *view;
    int64_t        n;
    int            strands;
    bool           larger;       /* of the strands' predictions, not their mean */
    int32_t        sense;        /* value by whose softmax strands are weighted; -1: none */
    int32_t        per_token;    /* values per token; 0: not per token */
    bool           per_base;     /* and are reversed with the sequence */
};

/* Value k of the sequence as it was read: the last token of its reverse complement is its first. */
static double value_of(const struct part *q, const cs_view *v, int64_t k)
{
    const int32_t c = q->per_token;

    if (c == 0 || !v->reverse)
        return (double)v->v[k];
    return (double)v->v[(v->tok.n - 1 - k / c) * c + (q->per_base ? c - 1 - k % c : k % c)];
}

/* Mean of value k of two strands, weighted by the softmax of their values `sense`. */
static double weighted(const struct part *q, const cs_view *v, int64_t k)
{
    const double by = (double)v[1].v[q->sense] - (double)v[0].v[q->sense];

    return (double)v[0].v[k] / (1 + exp(by)) + (double)v[1].v[k] / (1 + exp(-by));
}

/* Value k of window i over its strands; increments *n_live if it has any. */
static double window_value(const struct part *q, int64_t i, int64_t k, int64_t *n_live)
{
    const cs_view *first = &q->view[i * q->strands];
    double sum = 0;
    int n = 0;

    if (q->sense >= 0 && q->strands == 2 && !first[0].reason && !first[1].reason) {
        ++*n_live;
        return weighted(q, first, k);
    }
    for (int s = 0; s < q->strands; s++) {
        const cs_view *v = &first[s];
        if (v->reason)
            continue;
        const double x = value_of(q, v, k);
        sum = !q->larger || n == 0 ? sum + x : fmax(sum, x);
        n++;
    }
    *n_live += n > 0;
    return n > 1 && !q->larger ? sum / n : sum;
}

static double part_value(const struct part *q, int64_t k, int64_t *n_live)
{
    double sum = 0;
    int64_t n = 0;

    for (int64_t i = 0; 2 * i < q->n; i++) {
        double pair = window_value(q, i, k, &n);
        if (i < q->n - 1 - i)
            pair += window_value(q, q->n - 1 - i, k, &n);
        sum += pair;
    }
    *n_live = n;
    return n > 1 ? sum / (double)n : sum;
}

static int split_parts(const cs_policy *p, const cs_chunk *c, int i, struct part *part)
{
    const int32_t *first = c->views->first;
    const cs_view *v = c->views->view + first[i], *end = c->views->view + first[i + 1];
    const bool larger = p->strands == CS_STRANDS_MAX && p->output == CS_HEAD_PREDICTION;
    int n = 0;

    while (v < end) {
        const cs_view *from = v;
        while (v < end && v->seg == from->seg)
            v++;
        const int strands = v - from > 1 ? strands_of(p, &c->rec[i]) : 1;
        part[n++] = (struct part){ from, (v - from) / strands, strands,
                                   larger,
                                   p->strands == CS_STRANDS_WEIGHTED ? p->model->n_label - 1 : -1,
                                   cs_policy_per_token(p) ? p->model->n_label : 0,
                                   p->per_base };
    }
    return n;
}

static cs_reason reason_of(const cs_policy *p, const cs_chunk *c, int i)
{
    const int32_t *from = c->views->first + i;
    const cs_view *v = c->views->view + from[0], *end = c->views->view + from[1];
    const cs_reason first = v->reason;
    cs_reason any = CS_REASON_NONE;
    bool live = false;

    for (; v < end; v++) {
        if (v->reason == CS_REASON_NO_MEMORY)
            return v->reason;
        live = live || !v->reason;
        any = any ? any : v->reason;
    }
    if (p->pair != CS_PAIR_MEAN)
        return any;
    return live ? CS_REASON_NONE : first;
}

/* The call for values v of a sequence of n_base bases: a node or a class (-1: none, and *why).
 * *prob receives its probability, or that of the best one without a call. */
static int32_t call_of(const cs_policy *p, float *v, int64_t n, int64_t n_base, float *prob,
                       cs_reason *why)
{
    const cs_model *m = p->model;
    const int bin = p->uncalibrated ? -1 : cs_calibration_find(&m->calibration, n_base);
    const double temperature = bin < 0 ? 1 : m->calibration.bin[bin].temperature;
    int32_t best = 0;
    double sure;

    for (int64_t k = 0; k < n && p->prior; k++)
        v[k] += (float)(temperature * p->prior[k]);
    cs_model_decide(m, v, n, temperature);
    *why = CS_REASON_NONE;
    if (!m->head->is_class)
        return -1;
    best = cs_argmax(v, n);
    if (!m->head->per_token && !isfinite(v[best])) {   /* NaN is below no threshold */
        *prob = v[best];
        *why = CS_REASON_LOW_PROB;
        return -1;
    }
    if (p->tree) {
        best = cs_tree_call(p->tree, v, fmax(cs_policy_min_prob(p, n_base, 0), p->min_prob), &sure);
        *prob = (float)sure;
        if (best <= 0)
            *why = sure < p->min_prob ? CS_REASON_LOW_PROB : CS_REASON_LOW_CONFIDENCE;
        return best > 0 ? best : -1;
    }
    if ((double)v[best] < p->min_prob)
        *why = CS_REASON_LOW_PROB;
    else if ((double)v[best] < cs_policy_min_prob(p, n_base, best))
        *why = CS_REASON_LOW_CONFIDENCE;
    return *why ? -1 : best;
}

/* Calls of each mate of a pair alone. Their values overwrite those of the mate's first predicted
 * view, which are no longer needed. */
static void call_mates(const cs_policy *p, const cs_chunk *c, int i, const struct part *part)
{
    cs_prediction *a = &c->views->prediction[i];
    int64_t n_live;
    float ignored;
    cs_reason why;

    for (int s = 0; s < CS_MAX_SEG; s++) {
        const cs_view *v = part[s].view;
        while (v < part[s].view + part[s].n * part[s].strands && v->reason)
            v++;
        if (v == part[s].view + part[s].n * part[s].strands)
            continue;
        for (int64_t k = 0; k < a->n; k++)
            v->v[k] = (float)part_value(&part[s], k, &n_live);
        a->mate[s] = call_of(p, v->v, a->n, c->rec[i].seg[s].n_base, &ignored, &why);
    }
}

static void average(const cs_chunk *c, int i, const struct part *part, int n_part)
{
    cs_prediction *a = &c->views->prediction[i];

    for (int64_t k = 0; k < a->n; k++) {
        double sum = 0;
        int n = 0;
        for (int s = 0; s < n_part; s++) {
            int64_t n_live;
            sum += part_value(&part[s], k, &n_live);
            n += n_live > 0;
            a->n_window[s] = (int32_t)n_live;
        }
        a->v[k] = (float)(n > 1 ? sum / n : sum);
    }
}

/* Raw values of both segments; memory is reserved by reserve_outputs() in tokenise_stage.c. */
static void both_apart(const cs_policy *p, const cs_chunk *c, int i)
{
    cs_prediction *a = &c->views->prediction[i];
    struct part part[CS_MAX_SEG];
    const int n_part = split_parts(p, c, i, part);
    int64_t n_live;

    for (int s = 0; s < n_part; s++)
        for (int64_t k = 0; k < a->n; k++)
            a->v[s * a->n + k] = (float)part_value(&part[s], k, &n_live);
    a->n *= n_part;
}

void cs_views_combine(const cs_policy *p, const cs_chunk *c, int i)
{
    cs_prediction *a = &c->views->prediction[i];
    struct part part[CS_MAX_SEG];

    a->taxon = 0;
    a->p = 0;
    for (int s = 0; s < CS_MAX_SEG; s++) {
        a->n_window[s] = 0;
        a->mate[s] = -1;
    }
    a->reason = reason_of(p, c, i);
    if (a->reason)
        return;
    if (p->pair == CS_PAIR_CONCAT && c->rec[i].n_seg > 1) {
        both_apart(p, c, i);
        return;
    }
    const int n_part = split_parts(p, c, i, part);
    average(c, i, part, n_part);
    if (p->output != CS_HEAD_PREDICTION)
        return;
    if (n_part > 1 && p->model->head->is_class && !p->model->head->per_token)
        call_mates(p, c, i, part);
    const int32_t call = call_of(p, a->v, a->n, cs_record_bases(&c->rec[i]), &a->p, &a->reason);
    if (call < 0 && cs_policy_too_short(p, &c->rec[i]))
        a->reason = CS_REASON_TOO_SHORT;
    if (call < 0)
        return;
    a->reason = cs_policy_reject(p, &c->rec[i], cs_argmax(a->v, a->n));
    a->taxon = p->tree && !a->reason ? call : 0;
}
