/* tok_orf.c - canonical k-mers, and codons and pairs of amino acids of open reading frames.
 *
 * DESIGN
 * A run is a maximal row of codons of one frame and strand without a stop (standard code) or an
 * unknown base. At each base the longest of the six runs there is the reading frame, if it has
 * min-codons codons and no other is as long. A codon whose middle base has its run as the reading
 * frame gives a token for itself and the length of the run, and one for its amino acid with each of
 * the next `gap` in the run. Codons at neighbouring bases never both do.
 *
 * The order is: forward frames, k-mers, reverse frames, each by position; on the reverse strand the
 * tokens of a codon are reversed. So the reverse complement gives the same tokens in reverse order.
 * One cursor per frame finds its next run; between two ends of runs the reading frame is constant.
 */
#include "tok/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "tok/kmer.h"
#include "tok/translate.h"

enum { STRANDS = 2, FRAMES = 3, CODONS = 64, ACIDS = 20, PAIRS = ACIDS * ACIDS, MOST_GAP = 8,
       NO_CODON = -1, LENGTHS = 6 };

/* Shortest run of each range of lengths, codons; the first begins at min-codons. */
static const int64_t run_length[LENGTHS] = { 0, 30, 50, 80, 150, 300 };

struct orf_cfg {
    int64_t k, min_codons, gap;
};

struct orf {
    int64_t k, min_codons, gap;
    void   *kmers;               /* state of cs_tok_kmer */
    int32_t first_codon, first_pair, n_vocab;
    /* By the forward strand's codon: index in cs_amino_acids[], or NO_CODON for a stop, on each
     * strand; and the codon of the reverse strand. */
    int8_t  acid[STRANDS][CODONS], turned[CODONS];
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
    t->first_pair = t->first_codon + LENGTHS * CODONS;
    t->n_vocab = t->first_pair + (int32_t)c->gap * PAIRS;
    for (int i = 0; i < CODONS; i++) {
        const char *acid = strchr(cs_amino_acids, cs_genetic_code[i]);
        const int j = CODONS - 1 - i;                        /* each base becomes 3 - code */
        t->turned[i] = (int8_t)((j & 3) << 4 | (j & 12) | j >> 4);
        t->acid[0][i] = acid ? (int8_t)(acid - cs_amino_acids) : NO_CODON;
        t->acid[1][t->turned[i]] = t->acid[0][i];
    }
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

/* The codon that begins at p on the forward strand, or NO_CODON. */
static inline int forward_codon(const char *p)
{
    const int a = cs_base_code[(unsigned char)p[0]], b = cs_base_code[(unsigned char)p[1]],
              c = cs_base_code[(unsigned char)p[2]];
    return (a | b | c) & 4 ? NO_CODON : a << 4 | b << 2 | c;
}

/* Bases [from, to) of the current or next run of a frame with enough codons; from is INT64_MAX
 * behind the last one. */
struct run { int64_t from, to; };

struct scan {
    const struct orf *t;
    const char *base;
    int64_t     n_base;
    struct run  run[STRANDS * FRAMES];                       /* the forward frames first */
};

/* Moves a frame to its first run that begins at `from` or behind it. */
static void next_run(const struct scan *s, const int8_t *acid, int64_t from, struct run *r)
{
    const int64_t least = 3 * s->t->min_codons;

    while (from + least <= s->n_base) {
        int64_t at = from;
        for (; at + 3 <= s->n_base; at += 3) {
            const int codon = forward_codon(s->base + at);
            if (codon < 0 || acid[codon] < 0)
                break;
        }
        if (at - from >= least) {
            *r = (struct run){ from, at };
            return;
        }
        from = at + 3;
    }
    *r = (struct run){ INT64_MAX, INT64_MAX };
}

/* The tokens of the codon at p, in the order in which its strand is read; returns their number. */
static int64_t write_codon(const struct scan *s, int strand, const struct run *r, int64_t p,
                           int32_t *id)
{
    const struct orf *t = s->t;
    const int8_t *acid = t->acid[strand];
    const int64_t step = strand ? -3 : 3, length = (r->to - r->from) / 3;
    const int codon = forward_codon(s->base + p);
    const int32_t first = t->first_pair + acid[codon] * ACIDS;
    int range = 0;
    int64_t n = 0;

    while (range + 1 < LENGTHS && length >= run_length[range + 1])
        range++;
    id[n++] = t->first_codon + range * CODONS + (strand ? t->turned[codon] : codon);
    for (int64_t gap = 1; gap <= t->gap; gap++) {
        const int64_t at = p + gap * step;
        if (at < r->from || at >= r->to)
            break;
        id[n++] = first + (int32_t)(gap - 1) * PAIRS + acid[forward_codon(s->base + at)];
    }
    return n;
}

/* The frame with the longest run at a base, or -1 for none or several; *end receives the base where
 * that may change. */
static int frame_at(const struct scan *s, int64_t at, int64_t *end)
{
    int64_t longest = 0;
    int frame = -1;

    *end = s->n_base;
    for (int i = 0; i < STRANDS * FRAMES; i++) {
        const struct run *r = &s->run[i];
        const bool here = r->from <= at;
        const int64_t change = here ? r->to : r->from, length = here ? r->to - r->from : 0;
        *end = change < *end ? change : *end;
        if (length > longest) {
            longest = length;
            frame = i;
        } else if (length == longest) {
            frame = -1;
        }
    }
    return frame;
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

static void write_frames(struct scan *s, struct sink *k)
{
    int32_t token[1 + MOST_GAP];
    int64_t stop;

    for (int i = 0; i < STRANDS * FRAMES; i++)
        next_run(s, s->t->acid[i / FRAMES], i % FRAMES, &s->run[i]);
    for (int64_t at = 0; at < s->n_base; at = stop) {
        for (int i = 0; i < STRANDS * FRAMES; i++)
            if (s->run[i].to <= at)
                next_run(s, s->t->acid[i / FRAMES], s->run[i].to + 3, &s->run[i]);
        const int frame = frame_at(s, at, &stop);
        if (frame < 0)
            continue;
        const int strand = frame / FRAMES;
        const struct run *r = &s->run[frame];
        /* the first codon with its middle base at `at` or behind it */
        const int64_t behind = at > r->from + 1 ? (at - 1 - r->from + 2) / 3 * 3 : 0;
        for (int64_t p = r->from + behind; p + 1 < stop; p += 3)
            put_codon(k, strand, token, write_codon(s, strand, r, p, token));
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

/* The k-mers fit between the frames' tokens, since these keep to their bound together. */
static int64_t orf_encode(const void *state, const cs_segment *segment, void *work, int32_t *id)
{
    const struct orf *t = state;
    const int64_t bound = orf_bound(t, segment->n_base);
    struct scan s = { .t = t, .base = segment->base, .n_base = segment->n_base };
    struct sink k = { .id = id, .end = id + bound };

    write_frames(&s, &k);
    k.id += cs_tok_kmer.encode(t->kmers, segment, work, k.id);
    reverse_ids(k.end, k.n_reverse);
    memmove(k.id, k.end, (size_t)k.n_reverse * sizeof *id);
    return k.id - id + k.n_reverse;
}

static int64_t orf_count(const void *state, const cs_segment *segment, void *work, int64_t *count)
{
    const struct orf *t = state;
    struct scan s = { .t = t, .base = segment->base, .n_base = segment->n_base };
    struct sink k = { .count = count };

    write_frames(&s, &k);
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

/* A k-mer's letters, "ATG/50" for a codon in a run of at least 50, "M2K" for amino acids two
 * codons apart. */
static void orf_symbol(const void *state, int32_t id, char *buf, size_t n_buf)
{
    const struct orf *t = state;

    CS_BUG(id < 0 || id >= t->n_vocab);
    if (id >= t->first_pair) {
        const int32_t pair = id - t->first_pair;
        snprintf(buf, n_buf, "%c%d%c", cs_amino_acids[pair % PAIRS / ACIDS],
                 (int)(pair / PAIRS + 1), cs_amino_acids[pair % ACIDS]);
    } else if (id >= t->first_codon) {
        const int32_t i = id - t->first_codon, codon = i % CODONS, range = i / CODONS;
        snprintf(buf, n_buf, "%c%c%c/%lld", "ACGT"[codon >> 4], "ACGT"[codon >> 2 & 3],
                 "ACGT"[codon & 3], (long long)(range ? run_length[range] : t->min_codons));
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
      "maximum distance of the amino acids of a pair, codons", NULL, 0, MOST_GAP, NULL },
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
