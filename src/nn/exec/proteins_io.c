/*
 * proteins_io.c - a protein database as tensors and settings of a model file.
 *
 * DESIGN. Three amino acids take 13 bits (20^3 is below 2^13), lowest bits first; the proteins
 * follow each other without separators, since their lengths are known.
 */
#include "nn/exec/proteins_io.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "tok/translate.h"

/* OLD_FEATURES: the features that files had first, with weights that all classes share. */
enum { TRIPLE = 3, TRIPLE_BITS = 13, OLD_FEATURES = 6, MIN_SEED = 4, MAX_SCORE = 1000,
       MAX_SHADOW = 100 };

/* Sums of features by larger weights may not be finite. */
static const float max_weight = 1e30f;

static const char *const names[CS_PROTEIN_TENSORS] = {
    "proteins.letter", "proteins.length", "proteins.class", "proteins.weight"
};

/* The seed and the score of files that do not name theirs, which extend all matches. */
static const uint64_t old_seed = 0xff0fff0f0f0ffu;
enum { OLD_SCORE = 50 };

/* ---- settings -------------------------------------------------------------------------------- */

/* Adds the parent of each node, -1 for none, to the settings; -1 when memory ran out. */
static int add_tree(const cs_proteins *p, json_t *settings)
{
    json_t *parent = json_array();
    int failed = 0;

    for (int32_t i = 0; i < p->tree.n; i++)
        failed |= json_array_append_new(parent, json_integer(p->tree.parent[i]));
    return json_object_set_new(settings, "parent", parent) | failed;
}

/* A digit per letter of the window, 1 for those of the seed. */
json_t *cs_proteins_json(const cs_proteins *p)
{
    char seed[CS_PROTEIN_SPAN + 1] = "";

    for (int i = 0; i < CS_PROTEIN_SPAN; i++)
        seed[i] = p->seed >> 4 * (CS_PROTEIN_SPAN - 1 - i) & 1 ? '1' : '0';
    json_t *j = json_pack("{s:I, s:s, s:i, s:i, s:i}", "acids",
                          (json_int_t)(p->n_letter - p->n - 1), "seed", seed, "equal",
                          (int)p->min_equal, "score", (int)p->min_score, "shadow",
                          (int)p->shadow);
    if (p->tree.n_set > 1 && add_tree(p, j) != 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}

/* An integer setting from `min` to `max`. */
static bool read_count(const json_t *j, const char *name, int32_t min, int32_t max, int32_t *out)
{
    const json_t *v = json_object_get(j, name);

    if (!json_is_integer(v) || json_integer_value(v) < min || json_integer_value(v) > max)
        return false;
    *out = (int32_t)json_integer_value(v);
    return true;
}

static const char *read_seed(const json_t *j, cs_proteins *p)
{
    const json_t *seed = json_object_get(j, "seed");
    const char *digit = json_string_value(seed);
    int n_one = 0;

    p->seed = old_seed;
    p->min_equal = 0;
    p->min_score = OLD_SCORE;
    p->shadow = 0;
    if (!seed)
        return NULL;
    if (!digit || strlen(digit) != CS_PROTEIN_SPAN || strspn(digit, "01") != CS_PROTEIN_SPAN)
        return "has a seed that is not 13 digits 0 or 1";
    p->seed = 0;
    for (int i = 0; i < CS_PROTEIN_SPAN; i++) {
        p->seed = p->seed << 4 | (digit[i] == '1' ? 15 : 0);
        n_one += digit[i] == '1';
    }
    if (n_one < MIN_SEED)
        return "has a seed of less than four letters";
    /* Features are logarithms of sums of scores above the background. */
    if (!read_count(j, "equal", 0, CS_PROTEIN_MARGIN, &p->min_equal) ||
        !read_count(j, "score", CS_PROTEIN_BACKGROUND, MAX_SCORE, &p->min_score))
        return "has an impossible number of equal letters, or score";
    if (json_object_get(j, "shadow") && !read_count(j, "shadow", 0, MAX_SHADOW, &p->shadow))
        return "has an impossible factor for shadow frames";
    return NULL;
}

/* The parents of nodes, from an array of at most CS_PROTEIN_MAX_NODES. */
static const char *read_tree(const json_t *j, cs_proteins *p)
{
    const json_t *list = json_object_get(j, "parent"), *v;
    int32_t parent[CS_PROTEIN_MAX_NODES];
    size_t i;

    if (!list)
        return NULL;
    if (!json_is_array(list) || json_array_size(list) > CS_PROTEIN_MAX_NODES)
        return "has a tree that is not a list of parents, or is too large";
    json_array_foreach((json_t *)(uintptr_t)list, i, v) {
        if (!json_is_integer(v) || json_integer_value(v) < -1 ||
            json_integer_value(v) >= CS_PROTEIN_MAX_NODES)
            return "has a parent that is not a node";
        parent[i] = (int32_t)json_integer_value(v);
    }
    if (cs_proteins_set_tree(p, (int32_t)i, parent) == CS_OK)
        return NULL;
    cs_error_clear();
    return "has parents that are not a tree of its classes";
}

/* ---- size ------------------------------------------------------------------------------------ */

static int64_t packed_bytes(int64_t n_acid)
{
    return ((n_acid + TRIPLE - 1) / TRIPLE * TRIPLE_BITS + 7) / 8;
}

int64_t cs_proteins_bytes(int64_t n, int64_t n_acid)
{
    return packed_bytes(n_acid) + 3 * n;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_bits(uint8_t *to, int64_t at, unsigned bits)
{
    const unsigned wide = bits << at % 8;

    for (int k = 0; wide >> 8 * k != 0; k++)
        to[at / 8 + k] = (uint8_t)(to[at / 8 + k] | wide >> 8 * k);
}

static void pack(const cs_proteins *p, uint8_t *to)
{
    unsigned triple = 0, unit = 1;
    int64_t n = 0;

    for (int64_t i = 0; i < p->n_letter; i++) {
        if (p->letter[i] == CS_ACID_STOP)
            continue;
        triple += unit * p->letter[i];
        unit *= CS_ACIDS;
        if (++n % TRIPLE == 0) {
            put_bits(to, (n / TRIPLE - 1) * TRIPLE_BITS, triple);
            triple = 0;
            unit = 1;
        }
    }
    if (n % TRIPLE != 0)
        put_bits(to, n / TRIPLE * TRIPLE_BITS, triple);
}

static int64_t length_of(const cs_proteins *p, int64_t k)
{
    return (k + 1 < p->n ? p->start[k + 1] : p->n_letter) - p->start[k] - 1;
}

int cs_proteins_tensors(const cs_proteins *p, cs_tensor *t, uint8_t **packed)
{
    *packed = NULL;
    if (!p)
        return CS_OK;
    const int64_t n_byte = packed_bytes(p->n_letter - p->n - 1);
    uint8_t *b = cs_alloc((size_t)(n_byte + 2 * p->n), 1);
    if (!b)
        return cs_fail(CS_EMEM, "out of memory for %lld packed proteins", (long long)p->n);
    memset(b, 0, (size_t)n_byte);
    pack(p, b);
    for (int64_t k = 0; k < p->n; k++) {
        b[n_byte + 2 * k] = (uint8_t)(length_of(p, k) & 255);
        b[n_byte + 2 * k + 1] = (uint8_t)(length_of(p, k) >> 8);
    }
    t[0] = (cs_tensor){ names[0], CS_U8, cs_shape1(n_byte), n_byte, b };
    t[1] = (cs_tensor){ names[1], CS_U8, cs_shape2(p->n, 2), 2 * p->n, b + n_byte };
    t[2] = (cs_tensor){ names[2], CS_U8, cs_shape1(p->n), p->n, p->class_no };
    t[3] = (cs_tensor){ names[3], CS_F32, cs_shape2(p->tree.n, CS_PROTEIN_WEIGHTS),
                        p->tree.n * CS_PROTEIN_WEIGHTS, (const unsigned char *)p->weight };
    *packed = b;
    return CS_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool fits_weights(const cs_tensor *t, const cs_proteins *p)
{
    if (t->shape.n_dim == 1)
        return t->n == OLD_FEATURES + p->n_class && p->tree.n == p->n_class;
    return t->shape.n_dim == 2 && t->shape.dim[0] == p->tree.n &&
           t->shape.dim[1] == CS_PROTEIN_WEIGHTS;
}

static const char wrong_tensor[] = "has a tensor of the wrong shape or type";

static const char *find(const cs_safetensors *file, const cs_tensor *t[CS_PROTEIN_TENSORS])
{
    static const cs_dtype type[CS_PROTEIN_TENSORS] = { CS_U8, CS_U8, CS_U8, CS_F32 };

    for (int i = 0; i < CS_PROTEIN_TENSORS; i++) {
        t[i] = cs_safetensors_find(file, names[i]);
        if (!t[i])
            return "is not complete";
        if (t[i]->dtype != type[i] || (i != 3 && t[i]->shape.n_dim != (i == 1 ? 2 : 1)))
            return wrong_tensor;
    }
    return t[1]->shape.dim[1] == 2 && t[1]->shape.dim[0] == t[2]->n ? NULL : wrong_tensor;
}

static unsigned get_bits(const uint8_t *from, int64_t at, int64_t n_byte)
{
    unsigned bits = 0;

    for (int64_t i = at / 8, k = 0; k < 3 && i < n_byte; i++, k++)
        bits |= (unsigned)from[i] << 8 * k;
    return bits >> at % 8 & ((1u << TRIPLE_BITS) - 1);
}

static int64_t length_in(const cs_tensor *t, int64_t k)
{
    return t->data[2 * k] | t->data[2 * k + 1] << 8;
}

/* Where node c has its k-th weight in t; -1 if t is old and does not have it. */
static int64_t weight_at(const cs_tensor *t, int32_t c, int k)
{
    if (t->shape.n_dim == 2)
        return c * CS_PROTEIN_WEIGHTS + k;
    return k == CS_PROTEIN_FEATURES ? OLD_FEATURES + c : k < OLD_FEATURES ? k : -1;
}

static const char *unpack_weights(const cs_tensor *t, cs_proteins *p)
{
    if (!fits_weights(t, p))
        return wrong_tensor;
    for (int32_t c = 0; c < p->tree.n; c++)
        for (int k = 0; k < CS_PROTEIN_WEIGHTS; k++) {
            const int64_t at = weight_at(t, c, k);
            float *w = p->weight + c * CS_PROTEIN_WEIGHTS + k;
            *w = at < 0 ? 0 : (float)cs_tensor_get(t, at);
            if (!(fabsf(*w) <= max_weight))
                return "has weights that are not finite, or too large";
        }
    return NULL;
}

static const char *unpack(const cs_tensor *t[CS_PROTEIN_TENSORS], cs_proteins *p)
{
    int64_t acid = 0, at = 0;
    unsigned triple = 0;

    p->letter[at++] = CS_ACID_STOP;
    for (int64_t k = 0; k < p->n; k++) {
        p->start[k] = (uint32_t)at;
        p->class_no[k] = t[2]->data[k];
        if (p->class_no[k] >= p->n_class)
            return "has a protein of no class";
        for (int64_t i = length_in(t[1], k); i > 0; i--, acid++) {
            if (acid % TRIPLE == 0)
                triple = get_bits(t[0]->data, acid / TRIPLE * TRIPLE_BITS, t[0]->n);
            p->letter[at++] = (uint8_t)(triple % CS_ACIDS);
            triple /= CS_ACIDS;
        }
        p->letter[at++] = CS_ACID_STOP;
    }
    return NULL;
}

/* Amino acids, from the lengths; -1 if a protein has none. */
static int64_t count_acids(const cs_tensor *length)
{
    int64_t n = 0;

    for (int64_t k = 0; k < length->shape.dim[0]; k++) {
        if (length_in(length, k) == 0)
            return -1;
        n += length_in(length, k);
    }
    return n;
}

int cs_proteins_read(const json_t *j, const cs_safetensors *file, const char *what, int32_t n_class,
                     cs_proteins **out)
{
    int rc = CS_OK;
    const cs_tensor *t[CS_PROTEIN_TENSORS];
    const char *flaw = n_class > 0 ? find(file, t) : "does not belong to such a model";

    *out = NULL;
    if (flaw)
        return cs_safetensors_bad_part(what, "protein database", flaw);
    const int64_t n_acid = count_acids(t[1]);
    if (n_acid < 0 || n_acid != json_integer_value(json_object_get(j, "acids")) ||
        packed_bytes(n_acid) != t[0]->n)
        return cs_safetensors_bad_part(what, "protein database",
                                       "has lengths that do not fit its letters");
    rc = cs_proteins_new(n_class, t[2]->n, n_acid + t[2]->n + 1, out);
    if (rc == CS_EUSAGE)
        rc = CS_EFORMAT;
    CS_TRY(rc);
    flaw = unpack(t, *out);
    if (!flaw)
        flaw = read_seed(j, *out);
    if (!flaw)
        flaw = read_tree(j, *out);
    if (!flaw)
        flaw = unpack_weights(t[3], *out);
    if (flaw)
        CS_TRY(cs_safetensors_bad_part(what, "protein database", flaw));
out:
    if (rc != CS_OK) {
        cs_proteins_free(*out);
        *out = NULL;
    }
    return rc;
}
