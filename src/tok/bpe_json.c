/* bpe_json.c - read and write tokenizer.json of Hugging Face tokenizers.
 *
 * DESIGN: written files have no normaliser, pre-tokeniser or post-processor, so a record is one
 * word and its ids follow from the merges alone. Files of other programs: settings that change ids
 * are refused by name, not ignored. Post-processors, which put [CLS] and [SEP] around a sequence,
 * are ignored: ids are as with add_special_tokens=False.
 */
#include "tok/bpe.h"

#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "io/record.h"

static const char base_letters[] = "ACGTRYSWKMBDHVN";

/* ---- reading ------------------------------------------------------------------------------- */

struct reading {
    const char *what;
    json_t     *root, *model, *vocab, *merges;
    cs_bpe     *b;
};

static int damaged(const struct reading *r, const char *why)
{
    return cs_fail(CS_EFORMAT, "'%s' is not a tokenizer.json with byte-pair pieces: %s", r->what,
                   why);
}

static int out_of_memory(const struct reading *r)
{
    return cs_fail(CS_EMEM, "out of memory for the vocabulary of '%s'", r->what);
}

static int unlike(const struct reading *r, const char *what)
{
    return cs_fail(CS_EMODEL, "'%s' has %s, which chordseq does not support; choose a tokenizer "
                   "with plain byte-pair pieces", r->what, what);
}

static bool is_blank(const json_t *j)
{
    return !j || json_is_null(j) || json_is_false(j)
        || (json_is_string(j) && json_string_length(j) == 0)
        || (json_is_number(j) && json_number_value(j) == 0);
}

/* Settings that must be off, so that pieces and merges determine the ids. */
static int check_settings(const struct reading *r)
{
    static const struct { const char *key, *what; } off[] = {
        { "dropout", "a dropout of merges" },
        { "continuing_subword_prefix", "a prefix of continuing pieces" },
        { "end_of_word_suffix", "a suffix of last pieces" },
        { "byte_fallback", "a fallback to bytes" },
        { "ignore_merges", "'ignore_merges'" },
    };
    const char *split = json_string_value(json_object_get(
        json_object_get(r->root, "pre_tokenizer"), "type"));

    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        if (!is_blank(json_object_get(r->model, off[i].key)))
            return unlike(r, off[i].what);
    }
    if (!is_blank(json_object_get(r->root, "normalizer")))
        return unlike(r, "a normalizer");
    /* Nucleotides are one word to both; a diplotype is not to the first: see check_alphabet(). */
    if (split && strcmp(split, "Whitespace") != 0 && strcmp(split, "WhitespaceSplit") != 0)
        return unlike(r, "a pre_tokenizer that splits at more than blanks");
    if (!split && !is_blank(json_object_get(r->root, "pre_tokenizer")))
        return damaged(r, "its pre_tokenizer has no type");
    return CS_OK;
}

static int find_parts(struct reading *r)
{
    const char *type;

    r->model = json_object_get(r->root, "model");
    r->vocab = json_object_get(r->model, "vocab");
    r->merges = json_object_get(r->model, "merges");
    type = json_string_value(json_object_get(r->model, "type"));
    if (type && strcmp(type, "BPE") != 0)
        return cs_fail(CS_EMODEL, "'%s' has a model of type '%.40s'; only BPE is supported",
                       r->what, type);
    if (!type || !json_is_object(r->vocab) || !json_is_array(r->merges))
        return damaged(r, "it lacks 'model' with 'type', 'vocab' and 'merges'");
    if (json_object_size(r->vocab) == 0 || json_object_size(r->vocab) > CS_BPE_MAX_ID)
        return damaged(r, "its vocabulary has an impossible size");
    if (json_array_size(r->merges) > CS_BPE_MAX_ID)
        return damaged(r, "it has more merges than can be");
    return CS_OK;
}

/* A text that no sequence can contain: '[' and '<' are in no alphabet. */
static bool is_bracketed(const char *s, size_t n)
{
    return n > 2 && ((s[0] == '[' && s[n - 1] == ']') || (s[0] == '<' && s[n - 1] == '>'));
}

/* The largest id of both lists, so that space can be made. */
static int count_ids(const struct reading *r, json_int_t *max)
{
    const char *key;
    json_t *v;
    size_t i;

    *max = 0;
    json_object_foreach(r->vocab, key, v) {
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return damaged(r, "an id is not a number");
        *max = json_integer_value(v) > *max ? json_integer_value(v) : *max;
    }
    json_array_foreach(json_object_get(r->root, "added_tokens"), i, v) {
        const json_int_t id = json_integer_value(json_object_get(v, "id"));
        if (!json_is_integer(json_object_get(v, "id")) || id < 0)
            return damaged(r, "the id of an added token is not a number");
        *max = id > *max ? id : *max;
    }
    /* Sparse ids would take memory out of proportion to the file. */
    if (*max >= CS_BPE_MAX_ID || *max > 8 * (json_int_t)json_object_size(r->vocab) + 1024)
        return damaged(r, "an id is far beyond the size of its vocabulary");
    return CS_OK;
}

static int add_piece(struct reading *r, json_int_t id, const char *s, size_t n, bool special)
{
    cs_bpe *b = r->b;

    if (n == 0 || n > CS_BPE_MAX_PIECE)
        return damaged(r, "a piece is empty or too long");
    if (cs_bpe_find(b, s, n) >= 0)
        return cs_bpe_find(b, s, n) == id ? CS_OK : damaged(r, "a piece has two ids");
    if (b->piece[id])
        return cs_fail(CS_EFORMAT, "'%s' is not a tokenizer.json with byte-pair pieces: pieces "
                       "'%.40s' and '%.40s' share the id %d", r->what, b->piece[id], s, (int)id);
    return cs_bpe_add(b, (int32_t)id, s, n, special);
}

/* Added tokens are matched before all others. */
static int read_added(struct reading *r)
{
    int rc = CS_OK;
    json_t *v;
    size_t i;

    json_array_foreach(json_object_get(r->root, "added_tokens"), i, v) {
        const json_t *text = json_object_get(v, "content");
        const char *s = json_string_value(text);
        if (!s)
            return damaged(r, "an added token has no content");
        if (!is_bracketed(s, json_string_length(text)))
            return unlike(r, "an added token without brackets");
        CS_TRY(add_piece(r, json_integer_value(json_object_get(v, "id")), s,
                         json_string_length(text), true));
    }
out:
    return rc;
}

static int read_vocab(struct reading *r)
{
    int rc = CS_OK;
    const char *key;
    json_t *v;

    json_object_foreach(r->vocab, key, v)
        CS_TRY(add_piece(r, json_integer_value(v), key, strlen(key),
                         is_bracketed(key, strlen(key))));
out:
    return rc;
}

/* Single symbols must all be nucleotides, or all be diplotypes. */
static int check_alphabet(struct reading *r)
{
    const char *split = json_string_value(json_object_get(
        json_object_get(r->root, "pre_tokenizer"), "type"));
    bool bases = true, diplotypes = true;
    int n = 0;

    for (int c = 0; c < 256; c++) {
        if (r->b->of_byte[c] < 0)
            continue;
        n++;
        bases &= c != 0 && strchr(base_letters, c) != NULL;
        diplotypes &= cs_diplotype_of((char)c) >= 0;
    }
    if (n == 0 || (!bases && !diplotypes))
        return damaged(r, "its single symbols are neither nucleotides nor diplotypes");
    r->b->alphabet = bases ? CS_NUCLEOTIDES : CS_DIPLOTYPES;
    if (!bases && split && strcmp(split, "Whitespace") == 0)
        return unlike(r, "a pre_tokenizer that splits diplotypes");
    return CS_OK;
}

static int read_special(struct reading *r)
{
    const char *unk = json_string_value(json_object_get(r->model, "unk_token"));

    r->b->pad = cs_bpe_find(r->b, "[PAD]", 5);
    if (r->b->pad < 0)
        r->b->pad = cs_bpe_find(r->b, "<pad>", 5);
    if (!unk)
        return unlike(r, "no 'unk_token', so that unknown letters vanish");
    r->b->unk = cs_bpe_find(r->b, unk, strlen(unk));
    if (r->b->unk < 0 || !r->b->special[r->b->unk])
        return damaged(r, "its 'unk_token' is not a special piece of the vocabulary");
    if (r->b->pad == r->b->unk)  /* or unknown symbols would be padding */
        r->b->pad = -1;
    r->b->fuse_unk = json_is_true(json_object_get(r->model, "fuse_unk"));
    return CS_OK;
}

/* "A C", or ["A", "C"] as newer versions write it. */
static bool split_merge(const json_t *v, const char **left, size_t *n_left, const char **right)
{
    const char *text = json_string_value(v);
    const char *blank = text ? strchr(text, ' ') : NULL;

    if (blank) {
        *left = text;
        *n_left = (size_t)(blank - text);
        *right = blank + 1;
        return true;
    }
    *left = json_string_value(json_array_get(v, 0));
    *right = json_string_value(json_array_get(v, 1));
    *n_left = *left ? strlen(*left) : 0;
    return *left && *right && json_array_size(v) == 2;
}

static int read_merge(struct reading *r, size_t no, const json_t *v)
{
    char joined[2 * CS_BPE_MAX_PIECE + 1];
    const char *left, *right;
    size_t n_left;
    cs_bpe *b = r->b;

    if (!split_merge(v, &left, &n_left, &right))
        return cs_fail(CS_EFORMAT, "'%s': merge %zu is not a pair of pieces", r->what, no);
    const size_t n_right = strlen(right);
    if (n_left > CS_BPE_MAX_PIECE || n_right > CS_BPE_MAX_PIECE)
        return cs_fail(CS_EFORMAT, "'%s': merge %zu has a piece that is too long", r->what, no);
    memcpy(joined, left, n_left);
    memcpy(joined + n_left, right, n_right);
    const cs_bpe_merge m = { cs_bpe_find(b, left, n_left), cs_bpe_find(b, right, n_right),
                             cs_bpe_find(b, joined, n_left + n_right) };
    if (m.left < 0 || m.right < 0 || m.id < 0 || b->special[m.left] || b->special[m.right]
        || b->special[m.id])
        return cs_fail(CS_EFORMAT, "'%s': merge %zu, '%.*s' and '%.40s', has a piece that is not "
                       "in the vocabulary", r->what, no, n_left < 40 ? (int)n_left : 40, left,
                       right);
    b->merge[b->n_merge++] = m;
    return CS_OK;
}

static int read_merges(struct reading *r)
{
    int rc = CS_OK;
    json_t *v;
    size_t i;

    json_array_foreach(r->merges, i, v)
        CS_TRY(read_merge(r, i + 1, v));
    rc = cs_bpe_index(r->b);
out:
    return rc;
}

static int read_all(struct reading *r, const char *text, size_t n)
{
    int rc = CS_OK;
    json_int_t max;
    json_error_t why;

    r->root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    if (!r->root)
        return cs_fail(CS_EFORMAT, "'%s' line %d is not JSON: %.80s", r->what, why.line, why.text);
    CS_TRY(find_parts(r));
    CS_TRY(check_settings(r));
    CS_TRY(count_ids(r, &max));
    r->b = cs_bpe_new((int32_t)max + 1, (int32_t)json_array_size(r->merges));
    if (!r->b)
        return out_of_memory(r);
    CS_TRY(read_added(r));
    CS_TRY(read_vocab(r));
    CS_TRY(check_alphabet(r));
    CS_TRY(read_special(r));
    CS_TRY(read_merges(r));
out:
    return rc;
}

int cs_bpe_parse(const char *text, size_t n, const char *what, cs_bpe **out)
{
    struct reading r = { .what = what };
    const int rc = read_all(&r, text, n);

    json_decref(r.root);
    *out = NULL;
    if (rc == CS_OK)
        *out = r.b;
    else
        cs_bpe_free(r.b);
    return rc;
}

int cs_bpe_read(const char *path, cs_bpe **out)
{
    char *text = NULL;
    size_t n;
    int rc = cs_file_read(path, CS_BPE_MAX_BYTES, &text, &n);

    *out = NULL;
    if (rc == CS_OK)
        rc = cs_bpe_parse(text, n, path, out);
    free(text);
    return rc;
}

/* ---- writing ------------------------------------------------------------------------------- */

static json_t *added_json(const cs_bpe *b)
{
    json_t *list = json_array();

    for (int32_t id = 0; id < b->n_id; id++) {
        if (b->piece[id] && b->special[id])
            json_array_append_new(list, json_pack(
                "{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (int)id, "content", b->piece[id],
                "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1));
    }
    return list;
}

static json_t *vocab_json(const cs_bpe *b)
{
    json_t *vocab = json_object();

    for (int32_t id = 0; id < b->n_id; id++) {
        if (b->piece[id])
            json_object_set_new(vocab, b->piece[id], json_integer(id));
    }
    return vocab;
}

/* "A C": both old and new versions of the library read it so. */
static json_t *merges_json(const cs_bpe *b)
{
    char text[2 * CS_BPE_MAX_PIECE + 2];
    json_t *list = json_array();

    for (int32_t r = 0; r < b->n_merge; r++) {
        const cs_bpe_merge *m = &b->merge[r];
        const int n = snprintf(text, sizeof text, "%s %s", b->piece[m->left], b->piece[m->right]);
        CS_BUG(n >= (int)sizeof text);
        json_array_append_new(list, json_string(text));
    }
    return list;
}

char *cs_bpe_json(const cs_bpe *b)
{
    json_t *model = json_pack(
        "{s:s, s:n, s:s, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout",
        "unk_token", b->piece[b->unk], "continuing_subword_prefix", "end_of_word_suffix",
        "fuse_unk", b->fuse_unk, "byte_fallback", 0, "ignore_merges", 0, "vocab", vocab_json(b),
        "merges", merges_json(b));
    json_t *root = json_pack(
        "{s:s, s:n, s:n, s:o, s:n, s:n, s:n, s:{s:s}, s:o}", "version", "1.0", "truncation",
        "padding", "added_tokens", added_json(b), "normalizer", "pre_tokenizer", "post_processor",
        "decoder", "type", "Fuse", "model", model);
    const size_t n = root ? json_array_size(json_object_get(
        json_object_get(root, "model"), "merges")) : 0;
    char *text = root && n == (size_t)b->n_merge ? json_dumps(root, JSON_INDENT(1)) : NULL;

    json_decref(root);
    return text;
}
