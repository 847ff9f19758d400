/* bpe.h - byte-pair pieces: vocabulary, merges, and text to ids and back. */
#ifndef CS_TOK_BPE_H
#define CS_TOK_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "io/record.h"

/* A merge of two adjacent pieces; its rank is its index in the list. */
typedef struct cs_bpe_merge { int32_t left, right, id; } cs_bpe_merge;

/* Limits: symbols of a piece, ids, bytes of tokenizer.json. */
enum { CS_BPE_MAX_PIECE = 4096, CS_BPE_MAX_ID = 1 << 24, CS_BPE_MAX_BYTES = 256 << 20 };

typedef struct cs_bpe {
    const char     **piece;      /* [n_id] texts; NULL: unused id */
    int32_t         *n_sym;      /* [n_id] their lengths; 1 for special pieces */
    int32_t          n_id, cap;
    bool            *special;    /* [n_id] is it a special piece, such as [MASK]? */
    cs_bpe_merge    *merge;      /* [n_merge] by rank */
    int32_t          n_merge, cap_merge;
    int32_t          pad, unk;   /* ids; pad is -1 if none */
    bool             fuse_unk;   /* a run of unknown symbols is one unknown piece */
    cs_alphabet      alphabet;
    int32_t          of_byte[256];   /* a symbol's id, -1 for an unknown one */
    uint64_t        *pair;       /* [n_slot] left << 32 | right, or UINT64_MAX */
    int32_t         *rank;       /* [n_slot] of that pair */
    int32_t         *slot;       /* [n_text] ids by text, or -1 */
    uint32_t         n_slot, n_text;
    cs_arena        *mem;        /* owns the texts */
} cs_bpe;

/** cs_bpe_new - an empty vocabulary with capacity for `cap` ids (at most CS_BPE_MAX_ID) and
 * `cap_merge` merges; NULL when out of memory */
cs_bpe *cs_bpe_new(int32_t cap, int32_t cap_merge) CS_MUST_CHECK;
/** cs_bpe_free - accepts NULL */
void cs_bpe_free(cs_bpe *b);

/** cs_bpe_add - assign a free id below cap to a text of n bytes. CS_OK; CS_EMEM */
int cs_bpe_add(cs_bpe *b, int32_t id, const char *text, size_t n, bool special) CS_MUST_CHECK;
/** cs_bpe_find - the id of a text, or -1 */
int32_t cs_bpe_find(const cs_bpe *b, const char *text, size_t n);

/** cs_bpe_index - build the look-up tables of encoding, after adding all pieces and merges. CS_OK;
 * CS_EMEM. For duplicate pairs the last one counts, as in Hugging Face's reader */
int cs_bpe_index(cs_bpe *b) CS_MUST_CHECK;

/**
 * cs_bpe_work - bytes of work memory that cs_bpe_encode() needs for n symbols: 5 to 6 per symbol
 */
size_t cs_bpe_work(int64_t n);

/**
 * cs_bpe_encode - pieces of a sequence: repeatedly merge the leftmost pair of the lowest rank
 *
 * s        n symbols, one byte each
 * work     cs_bpe_work(n) bytes, aligned to 4
 * id       space for n ids
 * Returns  how many
 * Time     n log n at most; nearly linear, as a merge rarely changes much of the tree of minima
 * Thread   any; `b` is not written to
 */
int64_t cs_bpe_encode(const cs_bpe *b, const char *s, int64_t n, void *work, int32_t *id);

/* ---- tokenizer.json of Hugging Face's tokenizers (bpe_json.c) ------------------------------- */

/**
 * cs_bpe_parse - a vocabulary from n bytes of JSON; `what` names them in messages
 *
 * Returns  CS_OK; CS_EFORMAT for a damaged or other file; CS_EMODEL for unsupported settings that
 *          change ids (normalisers ...); CS_EMEM
 */
int cs_bpe_parse(const char *text, size_t n, const char *what, cs_bpe **out) CS_MUST_CHECK;
/** cs_bpe_read - the same from a file. Also CS_EIO */
int cs_bpe_read(const char *path, cs_bpe **out) CS_MUST_CHECK;
/** cs_bpe_json - the vocabulary as tokenizer.json; free() it. NULL when out of memory */
char *cs_bpe_json(const cs_bpe *b) CS_MUST_CHECK;

#endif
