/* tok_orf.c - canonical k-mers, and codons and pairs of amino acids of open reading frames.
 *
 * DESIGN
 * A codon of the longest open reading frame at its base (tok/frames.h) gives a token for itself and
 * the length of that frame, and one for its amino acid with each of the next `gap` in the frame.
 * Codons at neighbouring bases never both do.
 *
 * The order is: forward frames, k-mers, reverse frames, each by position; on the reverse strand the
 * tokens of a codon are reversed. So the reverse complement gives the same tokens in reverse order.
 */
#include "tok/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "tok/frames.h"
#include "tok/kmer.h"

enum { ACIDS = CS_ACIDS, PAIRS = ACIDS * ACIDS, MAX_GAP = 8 };

struct orf_cfg {
    int64_t k, min_codons, gap;
};

struct orf {
    int64_t k, min_codons, gap;
    void   *kmers;               /* state of cs_tok_kmer */
    int32_t first_codon, first_pair, n_vocab;
    cs_codons codons;
};

static void orf_close(void *state)
{
    struct orf *t = state;

    if (!t)
        return;
    cs_tok_kmer.close(t->kmers);
    free(t);
}

static int orf_open(const void *cfg, void **state)
{
    const struct orf_cfg *c = cfg;
    struct orf *t = cs_xcalloc(1, sizeof *t);
    const int rc = cs_kmer_new(c->k, 1, true, &t->kmers);

    if (rc != CS_OK) {
        free(t);
        return rc;
    }
    t->k = c->k;
    t->min_codons = c->min_codons;
    t->gap = c->gap;
    t->first_codon = cs_tok_kmer.n_vocab(t->kmers);
    t->first_pair = t->first_codon + CS_ORF_BINS * CS_CODONS;
    t->n_vocab = t->first_pair + (int32_t)c->gap * PAIRS;
    cs_codons_init(&t->codons);
    *state = t;
    return CS_OK;
}

static int32_t orf_n_vocab(const void *state)
{
    const struct orf *t = state;
    return t->n_vocab;
}

/* Codons with tokens: at most every second. */
static int64_t most_codons(int64_t n_base)
{
    return n_base < 3 ? 0 : (n_base - 1) / 2;
}

static int64_t orf_bound(const void *state, int64_t n_base)
{
    const struct orf *t = state;
    return cs_tok_kmer.bound(t->kmers, n_base) + most_codons(n_base) * (1 + t->gap);
}

static int64_t orf_min(const void *state)
{
    const struct orf *t = state;
    return t->k;
}

/* The tokens of the codon at p, in the order in which its strand is read; returns their number. */
static int64_t write_codon(const struct orf *t, const char *base, const cs_orf_part *s, int64_t p,
                           int32_t *id)
{
    const int8_t *acid = t->codons.acid[s->strand];
    const int64_t step = s->strand ? -3 : 3;
    const int codon = cs_codon_at(base + p);
    const int32_t first = t->first_pair + acid[codon] * ACIDS;
    int64_t n = 0;

    id[n++] = t->first_codon + cs_orf_bin(&s->orf) * CS_CODONS +
              (s->strand ? cs_codon_revcomp(codon) : codon);
    for (int64_t gap = 1; gap <= t->gap; gap++) {
        const int64_t at = p + gap * step;
        if (at < s->orf.from || at >= s->orf.to)
            break;
        id[n++] = first + (int32_t)(gap - 1) * PAIRS + acid[cs_codon_at(base + at)];
    }
    return n;
}

/* Destination of tokens: those of the forward frames go to id upwards, those of the reverse frames
 * below `end` downwards; or all are counted. */
struct sink {
    int32_t *id, *end;
    int64_t *count;              /* or NULL */
    int64_t  n_forward, n_reverse;
};

static void put_codon(struct sink *k, int strand, const int32_t *token, int64_t n)
{
    *(strand ? &k->n_reverse : &k->n_forward) += n;
    if (k->count)
        (void)cs_count_ids(token, n, k->count);
    for (int64_t i = 0; i < n && !k->count; i++) {
        if (strand)
            *--k->end = token[n - 1 - i];
        else
            *k->id++ = token[i];
    }
}

static void write_frames(const struct orf *t, const cs_segment *segment, struct sink *k)
{
    cs_frames f = { .codons = &t->codons, .base = segment->base, .n_base = segment->n_base,
                    .min_codons = t->min_codons };
    int32_t token[1 + MAX_GAP];
    cs_orf_part s;

    cs_frames_first(&f);
    while (cs_frames_next(&f, &s))
        for (int64_t p = s.first; p < s.end; p += 3)
            put_codon(k, s.strand, token, write_codon(t, f.base, &s, p, token));
}

static void reverse_ids(int32_t *id, int64_t n)
{
    for (int64_t i = 0; i < n / 2; i++) {
        const int32_t last = id[n - 1 - i];
        id[n - 1 - i] = id[i];
        id[i] = last;
    }
}

/* The k-mers fit between the frames' tokens, since these keep to their bound together. */
static int64_t orf_encode(const void *state, const cs_segment *segment, void *work, int32_t *id)
{
    const struct orf *t = state;
    const int64_t bound = orf_bound(t, segment->n_base);
    struct sink k = { .id = id, .end = id + bound };

    write_frames(t, segment, &k);
    k.id += cs_tok_kmer.encode(t->kmers, segment, work, k.id);
    reverse_ids(k.end, k.n_reverse);
    memmove(k.id, k.end, (size_t)k.n_reverse * sizeof *id);
    return k.id - id + k.n_reverse;
}

static int64_t orf_count(const void *state, const cs_segment *segment, void *work, int64_t *count)
{
    const struct orf *t = state;
    struct sink k = { .count = count };

    write_frames(t, segment, &k);
    return k.n_forward + k.n_reverse + cs_tok_kmer.count(t->kmers, segment, work, count);
}

static bool orf_mirrors(const void *state)
{
    (void)state;
    return true;
}

/* The words of a base, and the codons with their pairs that reach it. */
static int32_t orf_overlap(const void *state)
{
    const struct orf *t = state;
    return (int32_t)(t->k + 1 + t->gap * (t->gap + 1));
}

/* A k-mer's letters, "ATG/50" (cs_orf_symbol()) for a codon, "M2K" for amino acids two codons
 * apart. */
static void orf_symbol(const void *state, int32_t id, char *buf, size_t n_buf)
{
    const struct orf *t = state;

    CS_BUG(id < 0 || id >= t->n_vocab);
    if (id >= t->first_pair) {
        const int32_t pair = id - t->first_pair;
        snprintf(buf, n_buf, "%c%d%c", cs_amino_acids[pair % PAIRS / ACIDS],
                 (int)(pair / PAIRS + 1), cs_amino_acids[pair % ACIDS]);
    } else if (id >= t->first_codon) {
        cs_orf_symbol(id - t->first_codon, t->min_codons, buf, n_buf);
    } else {
        cs_tok_kmer.symbol(t->kmers, id, buf, n_buf);
    }
}

static const cs_opt orf_opt[] = {
    { CS_OPT_INT, 0, "k", offsetof(struct orf_cfg, k), "NUM", "6", "bases per k-mer",
      "K-mers are canonical and overlap.", 1, 8, NULL },
    { CS_OPT_INT, 0, "min-codons", offsetof(struct orf_cfg, min_codons), "NUM", "20",
      "minimum codons of an open reading frame",
      "At every base the longest stretch without a stop codon, of six frames, is the reading "
      "frame; shorter ones give k-mers only.", 1, 29, NULL },
    { CS_OPT_INT, 0, "gap", offsetof(struct orf_cfg, gap), "NUM", "4",
      "maximum distance of the amino acids of a pair, codons", NULL, 0, MAX_GAP, NULL },
    { .type = CS_OPT_END }
};

const cs_tokenizer cs_tok_orf = {
    .name = "orf",
    .opt = orf_opt,
    .cfg_size = sizeof(struct orf_cfg),
    .open = orf_open,
    .n_vocab = orf_n_vocab,
    .bound = orf_bound,
    .min_base = orf_min,
    .encode = orf_encode,
    .count = orf_count,
    .mirrors = orf_mirrors,
    .symbol = orf_symbol,
    .close = orf_close,
    .overlap = orf_overlap,
};
