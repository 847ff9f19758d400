/* tok_frames.c - codons of open reading frames, in the order in which they are translated.
 *
 * Each codon of the longest open reading frame at its base (tok/frames.h) gives a token, by codon
 * and length of that frame; an unknown token separates frames. The order is: codons of the forward
 * strand, an unknown token, codons of the reverse strand in its direction, an unknown token. The
 * reverse complement gives the same halves exchanged, which is the same circular sequence.
 */
#include "tok/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "tok/frames.h"

struct frames_cfg {
    int64_t min_codons;
};

struct frames {
    int64_t min_codons;
};

static void frames_close(void *state)
{
    free(state);
}

static int frames_open(const void *cfg, void **state)
{
    const struct frames_cfg *c = cfg;
    struct frames *t = cs_xcalloc(1, sizeof *t);

    t->min_codons = c->min_codons;
    *state = t;
    return CS_OK;
}

static int32_t frames_n_vocab(const void *state)
{
    (void)state;
    return CS_TOK_FIRST + CS_ORF_BINS * CS_CODONS;
}

/* At most every second base has a codon, each with an unknown token before it; one ends each
 * strand. */
static int64_t frames_bound(const void *state, int64_t n_base)
{
    (void)state;
    return n_base < 3 ? 0 : n_base - 1 + 2;
}

static int64_t frames_min(const void *state)
{
    (void)state;
    return 3;
}

static size_t frames_work(const void *state, int64_t n_base)
{
    (void)state;
    return cs_frames_work(n_base);
}

/* Forward tokens grow from `id` upwards, reverse ones from `end` downwards. */
static int64_t frames_encode(const void *state, const cs_segment *segment, void *work, int32_t *id)
{
    const struct frames *t = state;
    cs_frames f = { .base = segment->base, .n_base = segment->n_base,
                    .min_codons = t->min_codons, .stop = work };
    int32_t *end = id + frames_bound(t, segment->n_base), *forward = id, *reverse = end;
    int64_t orf[2] = { -1, -1 };           /* per strand: first base of the last frame written */
    cs_orf_part s;

    if (segment->n_base < 3)
        return 0;
    *--reverse = CS_TOK_UNK;
    cs_frames_first(&f);
    while (cs_frames_next(&f, &s)) {
        const int32_t first = CS_TOK_FIRST + cs_orf_bin(&s.orf) * CS_CODONS;
        const bool gap = s.first < s.end && orf[s.strand] >= 0 && orf[s.strand] != s.orf.from;
        if (s.first < s.end)
            orf[s.strand] = s.orf.from;
        if (s.strand) {
            if (gap)
                *--reverse = CS_TOK_UNK;
            for (int64_t p = s.first; p < s.end; p += 3)
                *--reverse = first + cs_codon_revcomp(cs_codon_at(f.base + p));
        } else {
            if (gap)
                *forward++ = CS_TOK_UNK;
            for (int64_t p = s.first; p < s.end; p += 3)
                *forward++ = first + cs_codon_at(f.base + p);
        }
    }
    *forward++ = CS_TOK_UNK;
    memmove(forward, reverse, (size_t)(end - reverse) * sizeof *id);
    return forward - id + (end - reverse);
}

/* The halves are exchanged, not reversed. */
static bool frames_mirrors(const void *state)
{
    (void)state;
    return false;
}

static bool frames_both_strands(const void *state)
{
    (void)state;
    return true;
}

static int32_t frames_overlap(const void *state)
{
    (void)state;
    return 2;
}

static void frames_symbol(const void *state, int32_t id, char *buf, size_t n_buf)
{
    const struct frames *t = state;

    CS_BUG(id < 0 || id - CS_TOK_FIRST >= CS_ORF_BINS * CS_CODONS);
    if (id < CS_TOK_FIRST)
        snprintf(buf, n_buf, "%s", id == CS_TOK_PAD ? "<pad>" : "<unk>");
    else
        cs_orf_symbol(id - CS_TOK_FIRST, t->min_codons, buf, n_buf);
}

static const cs_opt frames_opt[] = {
    { .type = CS_OPT_INT, .name = "min-codons", .off = offsetof(struct frames_cfg, min_codons),
      .arg = "NUM", .def = "20", .help = "minimum codons of an open reading frame",
      .man = "The reading frame at a base is the longest stretch without a stop codon in six "
             "frames; shorter ones give no tokens.", .min = 1, .max = 29 },
    { .type = CS_OPT_END }
};

const cs_tokenizer cs_tok_frames = {
    .name = "frames",
    .opt = frames_opt,
    .cfg_size = sizeof(struct frames_cfg),
    .open = frames_open,
    .n_vocab = frames_n_vocab,
    .bound = frames_bound,
    .work = frames_work,
    .min_base = frames_min,
    .encode = frames_encode,
    .mirrors = frames_mirrors,
    .both_strands = frames_both_strands,
    .symbol = frames_symbol,
    .close = frames_close,
    .contiguous = true,
    .overlap = frames_overlap,
};
