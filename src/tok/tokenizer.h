/* tokenizer.h - records to token ids: the interface (the letters are in io/alphabet.h). */
#ifndef CS_TOK_TOKENIZER_H
#define CS_TOK_TOKENIZER_H

#include <string.h>

#include "base/opt.h"
#include "io/record.h"

/* Every vocabulary begins with these two ids, so that row 0 of an embedding is the padding row of
 * the published models (all zero, no gradient) and models can be exchanged with them. */
enum { CS_TOK_PAD = 0, CS_TOK_UNK = 1, CS_TOK_FIRST = 2 };

typedef struct cs_tokenizer {
    const char   *name;
    const cs_opt *opt;
    size_t        cfg_size;
    int     (*open)(const void *cfg, void **state);         /* CS_OK, CS_EUSAGE, CS_EMEM */
    int32_t (*n_vocab)(const void *state);
    int64_t (*bound)(const void *state, int64_t n_base);    /* upper bound of the tokens of n_base
                                                             * bases */
    int64_t (*min_base)(const void *state);                 /* minimum bases for one token */
    /* Bytes of work memory that encode() needs for n_base bases, aligned to 4; NULL: none */
    size_t  (*work)(const void *state, int64_t n_base);
    /* Writes at most bound() ids, returns how many. `state` is const: any thread may call it, each
     * with work memory of its own. */
    int64_t (*encode)(const void *state, const cs_segment *s, void *work, int32_t *id);
    /* Adds the occurrences of each token to count [n_vocab], with encode()'s work memory; returns
     * encode()'s number of tokens. NULL: unsupported */
    int64_t (*count)(const void *state, const cs_segment *s, void *work, int64_t *count);
    /* Are the reverse complement's tokens always the same ones in reverse order? */
    bool    (*mirrors)(const void *state);
    /* Does the output contain the tokens of both strands, so that the reverse complement's are a
     * rotation of it? NULL: no */
    bool    (*both_strands)(const void *state);
    /* Does token i of a sequence represent the same base as token n - 1 - i of its reverse
     * complement? NULL: no */
    bool    (*aligned)(const void *state);
    /* The bases of each of n tokens, for predictions per token: token i has first[i] to first[i +
     * 1] - 1, so every base has one token; first [n + 1], first[n] = n_base. Overlapping words have
     * the bases in their middle. NULL: unsupported. */
    void    (*cells)(const void *state, const cs_segment *s, const int32_t *id, int64_t n,
                     int64_t *first);
    /* Are the tokens of a base next to each other, although there are no cells, so that masking a
     * run of them hides the base? */
    bool    contiguous;
    /* An id as text into buf (NUL-terminated, for `chordseq tokenize` and tokenizer.json) */
    void    (*symbol)(const void *state, int32_t id, char *buf, size_t n_buf);
    void    (*close)(void *state);                          /* accepts NULL */
    /* For a tokenizer with a file option: save() returns the file's content as text for the model
     * (free() it; NULL: out of memory), restore() makes the state from such a text: CS_OK, CS_EMEM,
     * CS_EFORMAT or CS_EMODEL naming `what`. NULL: options suffice. */
    char   *(*save)(const void *state);
    int     (*restore)(const void *cfg, const char *text, const char *what, void **state);
    cs_alphabet (*alphabet)(const void *state);             /* NULL: nucleotides */
    int32_t (*overlap)(const void *state);                  /* maximum tokens of a base; NULL: 1 */
    int32_t (*mask)(const void *state);                     /* the id of [MASK], -1; NULL: none */
} cs_tokenizer;

/** cs_tokenizer_work - bytes of work memory for a sequence of n_base bases */
static inline size_t cs_tokenizer_work(const cs_tokenizer *t, const void *state, int64_t n_base)
{
    return t->work ? t->work(state, n_base) : 0;
}

/** cs_tokenizer_text - a copy of text for symbol(), cut to buf; snprintf would take most of the
 * time of 'tokenize' */
static inline void cs_tokenizer_text(char *buf, size_t n_buf, const char *text)
{
    if (!memccpy(buf, text, '\0', n_buf))
        buf[n_buf - 1] = '\0';
}

/** cs_count_ids - add the occurrences of n ids to count; returns n */
static inline int64_t cs_count_ids(const int32_t *id, int64_t n, int64_t *count)
{
    for (int64_t i = 0; i < n; i++)
        count[id[i]]++;
    return n;
}

/** cs_tokenizer_cells - of tokens that are one base each (a tokenizer's `cells`) */
static inline void cs_tokenizer_cells(const void *state, const cs_segment *s, const int32_t *id,
                                      int64_t n, int64_t *first)
{
    (void)state;
    (void)s;
    (void)id;
    for (int64_t i = 0; i <= n; i++)
        first[i] = i;
}

/** cs_tokenizer_alphabet - required alphabet of sequences */
static inline cs_alphabet cs_tokenizer_alphabet(const cs_tokenizer *t, const void *state)
{
    return t && t->alphabet ? t->alphabet(state) : CS_NUCLEOTIDES;
}

/** cs_tokenizer_overlap - maximum number of tokens that contain a base */
static inline int32_t cs_tokenizer_overlap(const cs_tokenizer *t, const void *state)
{
    return t->overlap ? t->overlap(state) : 1;
}

/** cs_tokenizer_mask - its own mask token, or -1 */
static inline int32_t cs_tokenizer_mask(const cs_tokenizer *t, const void *state)
{
    return t->mask ? t->mask(state) : -1;
}

#endif
