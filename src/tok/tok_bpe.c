/* tok_bpe.c - byte-pair pieces from a tokenizer.json, over bases or over diplotypes.
 *
 * DESIGN: a network's ids begin with padding and the unknown token (tokenizer.h), a file's may not.
 * Then ids are renumbered: these two, then the file's others in their order. The file's text is
 * kept, so a model stays one file.
 */
#include "tok/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "tok/bpe.h"

enum { MAX_NAME = 1000 };        /* maximum bytes of the option in a model */

struct bpe_cfg { const char *file; };

struct pieces {
    cs_bpe  *b;
    int32_t *net, *file;         /* a network's id of a file's, and back (-1: it has no padding) */
    int32_t  n_vocab;
};

static void bpe_close(void *state)
{
    struct pieces *p = state;
    if (!p)
        return;
    cs_bpe_free(p->b);
    CS_FREE(p->net, p->file, p);
}

/* Takes b over. */
static int bpe_number(cs_bpe *b, void **state)
{
    struct pieces *p = cs_xcalloc(1, sizeof *p);
    const size_t n = (size_t)b->n_id;
    int32_t next = CS_TOK_FIRST;

    p->b = b;
    p->net = cs_alloc(n, sizeof *p->net);
    p->file = cs_alloc(n + CS_TOK_FIRST, sizeof *p->file);
    if (!p->net || !p->file) {
        bpe_close(p);
        return cs_fail(CS_EMEM, "out of memory for a vocabulary of %d pieces", (int)n);
    }
    p->file[CS_TOK_PAD] = b->pad;
    p->file[CS_TOK_UNK] = b->unk;
    for (int32_t id = 0; id < b->n_id; id++) {
        p->net[id] = id == b->pad ? CS_TOK_PAD : id == b->unk ? CS_TOK_UNK : next++;
        p->file[p->net[id]] = id;
    }
    p->n_vocab = next;
    *state = p;
    return CS_OK;
}

static int bpe_open(const void *cfg, void **state)
{
    const struct bpe_cfg *c = cfg;
    cs_bpe *b;

    if (!c->file)
        return cs_fail(CS_EUSAGE, "tokenizer bpe needs a vocabulary: %s, as written by 'chordseq "
                       "tokenize --train bpe'", CS_OPTION("tokenizer.file FILE"));
    if (strlen(c->file) > MAX_NAME)
        return cs_fail(CS_EUSAGE, "the vocabulary's name exceeds %d bytes", MAX_NAME);
    const int rc = cs_bpe_read(c->file, &b);
    return rc == CS_OK ? bpe_number(b, state) : rc;
}

static char *bpe_save(const void *state)
{
    const struct pieces *p = state;
    return cs_bpe_json(p->b);
}

static int bpe_restore(const void *cfg, const char *text, const char *what, void **state)
{
    cs_bpe *b;
    const int rc = cs_bpe_parse(text, strlen(text), what, &b);

    (void)cfg;
    return rc == CS_OK ? bpe_number(b, state) : rc;
}

static int32_t bpe_n_vocab(const void *state)
{
    const struct pieces *p = state;
    return p->n_vocab;
}

static int64_t bpe_bound(const void *state, int64_t n_base)
{
    (void)state;
    return n_base;
}

static int64_t bpe_min(const void *state)
{
    (void)state;
    return 1;
}

static size_t bpe_work(const void *state, int64_t n_base)
{
    (void)state;
    return cs_bpe_work(n_base);
}

static int64_t bpe_encode(const void *state, const cs_segment *s, void *work, int32_t *id)
{
    const struct pieces *p = state;
    const int64_t n = cs_bpe_encode(p->b, s->base, s->n_base, work, id);

    for (int64_t i = 0; i < n; i++)
        id[i] = p->net[id[i]];
    return n;
}

static bool bpe_mirrors(const void *state)
{
    (void)state;
    return false;
}

static int32_t bpe_mask(const void *state)
{
    const struct pieces *p = state;
    const int32_t of = cs_bpe_find(p->b, "[MASK]", strlen("[MASK]"));
    return of < 0 ? -1 : p->net[of];
}

/* An unknown piece may represent a run of unknown letters. */
static void bpe_cells(const void *state, const cs_segment *s, const int32_t *id, int64_t n,
                      int64_t *first)
{
    const struct pieces *p = state;
    const int32_t *of_byte = p->b->of_byte;
    int64_t at = 0;

    for (int64_t i = 0; i < n; i++) {
        first[i] = at;
        at += id[i] == CS_TOK_UNK ? 1 : p->b->n_sym[p->file[id[i]]];
        while (id[i] == CS_TOK_UNK && p->b->fuse_unk && at < s->n_base &&
               of_byte[(unsigned char)s->base[at]] < 0)
            at++;
    }
    CS_BUG(at != s->n_base);
    first[n] = at;
}

static void bpe_symbol(const void *state, int32_t id, char *buf, size_t n_buf)
{
    const struct pieces *p = state;
    CS_BUG(id < 0 || id >= p->n_vocab);
    const int32_t of = p->file[id];
    if (of < 0 || !p->b->piece[of])
        snprintf(buf, n_buf, of < 0 ? "<pad>" : "<unused%d>", (int)of);
    else
        cs_tokenizer_text(buf, n_buf, p->b->piece[of]);
}

static cs_alphabet bpe_alphabet(const void *state)
{
    const struct pieces *p = state;
    return p->b->alphabet;
}

static const cs_opt bpe_opt[] = {
    { .type = CS_OPT_IN, .name = "file", .off = offsetof(struct bpe_cfg, file), .arg = "FILE",
      .help = "vocabulary and merges, as tokenizer.json",
      .man = "Written by chordseq-tokenize(1) or by Hugging Face tokenizers. The model stores "
             "its content; the file is not needed afterwards." },
    { .type = CS_OPT_END }
};

const cs_tokenizer cs_tok_bpe = {
    .name = "bpe",
    .opt = bpe_opt,
    .cfg_size = sizeof(struct bpe_cfg),
    .open = bpe_open,
    .n_vocab = bpe_n_vocab,
    .bound = bpe_bound,
    .min_base = bpe_min,
    .work = bpe_work,
    .encode = bpe_encode,
    .mirrors = bpe_mirrors,
    .cells = bpe_cells,
    .symbol = bpe_symbol,
    .close = bpe_close,
    .save = bpe_save,
    .restore = bpe_restore,
    .alphabet = bpe_alphabet,
    .mask = bpe_mask,
};
