/* likeness.c - similarity of a sequence's 6-mers to those of real DNA of any organism.
 *
 * DESIGN. In real DNA bases three apart are correlated (codons), and 6-mers repeat. Shuffling with
 * preserved 3-mers removes both. The expectation is that of a Markov chain of second order: p(abc)
 * p(bcd) p(cde) p(def) / (p(bc) p(cd) p(de)).
 */
#include "tok/likeness.h"

#include <math.h>
#include <string.h>

enum { ALL = 1 << (2 * CS_LIKENESS_K), TRIPLES = 64, PAIRS = 16, QUADS = 256 };

struct counts { int64_t word[ALL], triple[TRIPLES], n_base; };

static void likeness_count(const cs_segment *s, struct counts *c)
{
    int word = 0, n = 0;

    for (int64_t i = 0; i < s->n_base; i++) {
        const int code = cs_base_code[(unsigned char)s->base[i]];
        n = code < 4 ? n + 1 : 0;
        word = (word << 2 | (code & 3)) & (ALL - 1);
        c->triple[word & (TRIPLES - 1)] += n >= 3;
        c->word[word] += n >= CS_LIKENESS_K;
    }
    c->n_base += s->n_base;
}

/* Both strands together, for symmetry. */
static void both(int64_t *count_of, int k)
{
    for (int w = 0; w < 1 << (2 * k); w++) {
        const int r = (int)cs_word_revcomp((uint32_t)w, k);
        if (w <= r)
            count_of[w] = count_of[r] = count_of[w] + count_of[r];
    }
}

/* Factors of the first four bases of a 6-mer, and of the last four. */
static void chain(const int64_t *triple, double *head, double *tail)
{
    double p[TRIPLES], pair[PAIRS], n = 0;

    for (int i = 0; i < TRIPLES; i++)
        n += (double)triple[i];
    for (int i = 0; i < PAIRS; i++) {
        pair[i] = 0;
        for (int k = 0; k < 4; k++)
            pair[i] += (double)triple[4 * i + k] / n;
    }
    for (int i = 0; i < TRIPLES; i++)
        p[i] = (double)triple[i] / n;
    for (int i = 0; i < QUADS; i++) {
        const double both_triples = p[i >> 2] * p[i & 63], first = pair[i >> 4],
                     middle = pair[i >> 2 & 15];
        head[i] = middle > 0 ? both_triples / middle : 0;
        tail[i] = first > 0 && middle > 0 ? both_triples / (first * middle) : 0;
    }
}

void cs_likeness_of(const cs_record *r, cs_likeness *out)
{
    struct counts c;
    double head[QUADS], tail[QUADS], n = 0, same = 0;
    int at = 0;

    memset(&c, 0, sizeof c);
    memset(out, 0, sizeof *out);
    for (int s = 0; s < r->n_seg; s++)
        likeness_count(&r->seg[s], &c);
    both(c.word, CS_LIKENESS_K);
    both(c.triple, 3);
    for (int w = 0; w < ALL; w++)
        n += (double)c.word[w];
    if (!(n > 0))
        return;
    chain(c.triple, head, tail);
    for (int w = 0; w < ALL; w++) {
        const int revcomp = (int)cs_word_revcomp((uint32_t)w, CS_LIKENESS_K);
        const double k = (double)c.word[w] / 2, expected = n * head[w >> 4] * tail[w & 255];
        if (w > revcomp)
            continue;
        same += (w < revcomp ? 2 * k : k) * ((w < revcomp ? 2 * k : k) - 1);
        out->contrast[at++] = ((double)c.word[w] - expected)
                            / sqrt((expected + 1) * (double)c.n_base);
    }
    n /= 2;
    out->repetition = n > 1 ? fmax(same, 0) / (n * (n - 1)) : 0;
}

double cs_likeness_score(const cs_likeness *x, const int16_t *weight)
{
    double sum = 0;

    for (int i = 0; i < CS_LIKENESS_WORDS; i++)
        sum += x->contrast[i] * (double)weight[i];
    return sum;
}
