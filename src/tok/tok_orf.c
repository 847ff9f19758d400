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

enum { ACIDS = CS_ACIDS, PAIRS = ACIDS * ACIDS, MAX_GAP = 8, STRETCH = 64 };

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

/* Destination of tokens: those of the forward frames go to id upwards, those of the reverse frames
 * below `end` downwards, the last one first; or all are counted. */
struct sink {
    int32_t *id, *end;
    int64_t *count;              /* or NULL */
    int64_t  n_forward, n_reverse;
};

/* A stretch of codons of one strand, with those before and after it in the frame that pairs
 * reach. */
struct stretch {
    uint8_t codon[MAX_GAP + STRETCH + MAX_GAP], acid[MAX_GAP + STRETCH + MAX_GAP];
    int n, n_before, n_after;    /* codons; those before and after, up to the gap */
};

/* Reads the codons that begin at p up to `end`, at most STRETCH. */
static void read_stretch(const struct orf *t, const char *base, const cs_orf_part *s, int64_t p,
                         struct stretch *r)
{
    const int8_t *acid = t->codons.acid[s->strand];
    const int64_t n = (s->end - p + 2) / 3, before = (p - s->orf.from) / 3;

    r->n = n < STRETCH ? (int)n : STRETCH;
    const int64_t after = (s->orf.to - p) / 3 - r->n;
    r->n_before = (int)(before < t->gap ? before : t->gap);
    r->n_after = (int)(after < t->gap ? after : t->gap);
    for (int i = -r->n_before; i < r->n + r->n_after; i++) {
        const int codon = cs_codon_at(base + p + 3 * i);
        r->codon[MAX_GAP + i] = (uint8_t)(s->strand ? cs_codon_revcomp(codon) : codon);
        r->acid[MAX_GAP + i] = (uint8_t)acid[codon];
    }
}

/* The tokens of a stretch's codon i, in the order in which its strand is read: the codon, and its
 * pairs with the next amino acids; returns their number. */
static int codon_tokens(const struct orf *t, const struct stretch *r, int i, int strand,
                        int32_t first_codon, int32_t *token)
{
    const int left = strand ? r->n_before + i : r->n + r->n_after - 1 - i;
    const int n = left < t->gap ? left : (int)t->gap, step = strand ? -1 : 1;
    const uint8_t *acid = r->acid + MAX_GAP + i;
    int32_t first = t->first_pair + *acid * ACIDS;

    token[0] = first_codon + r->codon[MAX_GAP + i];
    for (int gap = 1; gap <= n; gap++, first += PAIRS)
        token[gap] = first + *(acid += step);
    return 1 + n;
}

static void put_stretch(const struct orf *t, const struct stretch *r, int strand,
                        int32_t first_codon, struct sink *k)
{
    int32_t token[1 + MAX_GAP];

    for (int i = 0; i < r->n; i++) {
        int32_t *to = k->count || strand ? token : k->id;
        const int n = codon_tokens(t, r, i, strand, first_codon, to);
        *(strand ? &k->n_reverse : &k->n_forward) += n;
        if (k->count)
            (void)cs_count_ids(token, n, k->count);
        else if (!strand)
            k->id += n;
        else
            for (int j = n; j-- > 0;)
                *--k->end = token[j];
    }
}

static void write_frames(const struct orf *t, const cs_segment *segment, void *work, struct sink *k)
{
    cs_frames f = { .base = segment->base, .n_base = segment->n_base,
                    .min_codons = t->min_codons, .stop = work };
    struct stretch r;
    cs_orf_part s;

    cs_frames_first(&f);
    while (cs_frames_next(&f, &s)) {
        const int32_t first_codon = t->first_codon + cs_orf_bin(&s.orf) * CS_CODONS;
        for (int64_t p = s.first; p < s.end; p += 3 * STRETCH) {
            read_stretch(t, f.base, &s, p, &r);
            put_stretch(t, &r, s.strand, first_codon, k);
        }
    }
}

static void reverse_ids(int32_t *id, int64_t n)
{
    for (int64_t i = 0; i < n / 2; i++) {
        const int32_t last = id[n - 1 - i];
        id[n - 1 - i] = id[i];
        id[i] = last;
    }
}

static size_t orf_work(const void *state, int64_t n_base)
{
    (void)state;
    return cs_frames_work(n_base);
}

/* The k-mers fit between the frames' tokens, since these keep to their bound together. */
static int64_t orf_encode(const void *state, const cs_segment *segment, void *work, int32_t *id)
{
    const struct orf *t = state;
    const int64_t bound = orf_bound(t, segment->n_base);
    struct sink k = { .id = id, .end = id + bound };

    write_frames(t, segment, work, &k);
    k.id += cs_tok_kmer.encode(t->kmers, segment, work, k.id);
    reverse_ids(k.end, k.n_reverse);
    memmove(k.id, k.end, (size_t)k.n_reverse * sizeof *id);
    return k.id - id + k.n_reverse;
}

static int64_t orf_count(const void *state, const cs_segment *segment, void *work, int64_t *count)
{
    const struct orf *t = state;
    struct sink k = { .count = count };

    write_frames(t, segment, work, &k);
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
    { .type = CS_OPT_INT, .name = "k", .off = offsetof(struct orf_cfg, k),
      .arg = "NUM", .def = "6", .help = "bases per k-mer",
      .man = "K-mers are canonical and overlap.", .min = 1, .max = 8 },
    { .type = CS_OPT_INT, .name = "min-codons", .off = offsetof(struct orf_cfg, min_codons),
      .arg = "NUM", .def = "20", .help = "minimum codons of an open reading frame",
      .man = "The reading frame at a base is the longest stretch without a stop codon in six "
             "frames; shorter ones give only k-mers.", .min = 1, .max = 29 },
    { .type = CS_OPT_INT, .name = "gap", .off = offsetof(struct orf_cfg, gap),
      .arg = "NUM", .def = "4",
      .help = "maximum distance of the amino acids of a pair, in codons",
      .min = 0, .max = MAX_GAP },
    { .type = CS_OPT_END }
};

const cs_tokenizer cs_tok_orf = {
    .name = "orf",
    .opt = orf_opt,
    .cfg_size = sizeof(struct orf_cfg),
    .open = orf_open,
    .n_vocab = orf_n_vocab,
    .bound = orf_bound,
    .work = orf_work,
    .min_base = orf_min,
    .encode = orf_encode,
    .count = orf_count,
    .mirrors = orf_mirrors,
    .symbol = orf_symbol,
    .close = orf_close,
    .overlap = orf_overlap,
};
