/* likeness.c - similarity of a sequence's 6-mers to those of real DNA of any organism.
 *
 * DESIGN. In real DNA bases three apart are correlated (codons), and 6-mers repeat. Shuffling with
 * preserved 3-mers removes both. The expectation is that of a Markov chain of second order: p(abc)
 * p(bcd) p(cde) p(def) / (p(bc) p(cd) p(de)).
 */
#include "tok/likeness.h"

#include <math.h>
#include <string.h>

#include "tok/translate.h"

enum { ALL = 1 << (2 * CS_LIKENESS_K), TRIPLES = 64, PAIRS = 16, QUADS = 256 };

struct counts { int64_t word[ALL], triple[TRIPLES], n_base; };
struct word { int16_t forward, reverse; };

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
static void both(int64_t *triple)
{
    for (int w = 0; w < TRIPLES; w++) {
        const int r = cs_codon_revcomp(w);
        if (w <= r)
            triple[w] = triple[r] = triple[w] + triple[r];
    }
}

/* Lists the words that are not after their reverse complement. */
static void list_words(struct word *word)
{
    int revcomp[TRIPLES], at = 0;

    for (int i = 0; i < TRIPLES; i++)
        revcomp[i] = cs_codon_revcomp(i);
    for (int i = 0; i < TRIPLES; i++)
        for (int k = 0; k < TRIPLES; k++) {
            word[at] = (struct word){ (int16_t)(i << 6 | k),
                                      (int16_t)(revcomp[k] << 6 | revcomp[i]) };
            at += i <= revcomp[k];                 /* without a branch, which is mispredicted */
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
    struct word word[CS_LIKENESS_WORDS + 1];       /* the last one is not used */
    double head[QUADS], tail[QUADS], expected[CS_LIKENESS_WORDS], same = 0;
    int64_t n_word = 0;

    memset(&c, 0, sizeof c);
    memset(out, 0, sizeof *out);
    for (int s = 0; s < r->n_seg; s++)
        likeness_count(&r->seg[s], &c);
    for (int w = 0; w < ALL; w++)
        n_word += c.word[w];
    if (n_word == 0)
        return;
    const double n = (double)n_word;
    both(c.triple);
    chain(c.triple, head, tail);
    list_words(word);
    for (int i = 0; i < CS_LIKENESS_WORDS; i++) {
        const int w = word[i].forward;
        const double k = (double)c.word[w], all = k + (double)c.word[word[i].reverse];
        const double on_one = w == word[i].reverse ? k : all;
        expected[i] = 2 * n * head[w >> 4] * tail[w & 255];
        out->contrast[i] = all - expected[i];
        same += on_one * (on_one - 1);
    }
    for (int i = 0; i < CS_LIKENESS_WORDS; i++)
        out->contrast[i] /= sqrt((expected[i] + 1) * (double)c.n_base);
    out->repetition = n > 1 ? fmax(same, 0) / (n * (n - 1)) : 0;
}

double cs_likeness_score(const cs_likeness *x, const int16_t *weight)
{
    double sum = 0;

    for (int i = 0; i < CS_LIKENESS_WORDS; i++)
        sum += x->contrast[i] * (double)weight[i];
    return sum;
}
