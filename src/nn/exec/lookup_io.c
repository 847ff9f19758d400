/* lookup_io.c - a look-up table as tensors and settings of a model file. */
#include "nn/exec/lookup_io.h"

#include <string.h>

#include <jansson.h>

static const char *const names[CS_LOOKUP_TENSORS] = {
    "lookup.first", "lookup.word", "lookup.weight"
};

json_t *cs_lookup_json(const cs_lookup *l)
{
    return json_pack("{s:s, s:i, s:i}", "alphabet", l->words.alphabet, "k", (int)l->words.k,
                     "sample", (int)l->words.sample);
}

void cs_lookup_tensors(const cs_lookup *l, cs_tensor *t)
{
    if (!l)
        return;
    const int64_t n_first = ((int64_t)1 << l->bucket_bits) + 1;
    t[0] = (cs_tensor){ names[0], CS_I32, cs_shape1(n_first), n_first,
                        (const unsigned char *)l->first };
    t[1] = (cs_tensor){ names[1], CS_U8, cs_shape2(l->n, CS_LOOKUP_WORD_BYTES),
                        CS_LOOKUP_WORD_BYTES * l->n, l->word };
    t[2] = (cs_tensor){ names[2], CS_F32, cs_shape2(l->n_class, l->n_code),
                        (int64_t)l->n_class * l->n_code, (const unsigned char *)l->weight };
}

static const char *find(const cs_safetensors *file, const cs_tensor *t[CS_LOOKUP_TENSORS])
{
    static const cs_dtype type[CS_LOOKUP_TENSORS] = { CS_I32, CS_U8, CS_F32 };

    for (int i = 0; i < CS_LOOKUP_TENSORS; i++) {
        t[i] = cs_safetensors_find(file, names[i]);
        if (!t[i])
            return "is not complete";
        if (t[i]->dtype != type[i] || t[i]->shape.n_dim != (i == 0 ? 1 : 2))
            return "has a tensor of the wrong shape or type";
    }
    return NULL;
}

static const char *copy_arrays(const cs_tensor *t[CS_LOOKUP_TENSORS], cs_lookup *l)
{
    if (t[0]->n != ((int64_t)1 << l->bucket_bits) + 1 ||
        t[1]->shape.dim[1] != CS_LOOKUP_WORD_BYTES || t[2]->shape.dim[0] != l->n_class ||
        t[2]->shape.dim[1] != l->n_code)
        return "has a tensor of the wrong shape or type";
    for (int64_t i = 0; i < t[0]->n; i++)
        l->first[i] = (uint32_t)(int64_t)cs_tensor_get(t[0], i);
    memcpy(l->word, t[1]->data, (size_t)t[1]->n);
    for (int64_t i = 0; i < t[2]->n; i++)
        l->weight[i] = (float)cs_tensor_get(t[2], i);
    return cs_lookup_flaw(l);
}

/* log2 of the number of elements minus one; copy_arrays() refuses other numbers. */
static int32_t bits_of(int64_t n)
{
    int32_t bits = 0;

    while (bits < 62 && (int64_t)1 << (bits + 1) < n)
        bits++;
    return bits;
}

/* Invalid settings are reported as errors of the file. */
static int of_file(int rc)
{
    return rc == CS_EUSAGE ? CS_EFORMAT : rc;
}

int cs_lookup_read(const json_t *j, const cs_safetensors *file, const char *what, int32_t n_class,
                   cs_lookup **out)
{
    int rc = CS_OK;
    cs_peptides words;
    const cs_tensor *t[CS_LOOKUP_TENSORS];
    const char *alphabet = json_string_value(json_object_get(j, "alphabet"));
    const char *flaw = alphabet ? find(file, t) : "has no alphabet";

    *out = NULL;
    if (flaw)
        return cs_safetensors_bad_part(what, "look-up table", flaw);
    CS_TRY(of_file(cs_peptides_init(&words, alphabet,
                                    json_integer_value(json_object_get(j, "k")),
                                    json_integer_value(json_object_get(j, "sample")))));
    CS_TRY(of_file(cs_lookup_new(&words, n_class, t[1]->shape.dim[0], bits_of(t[0]->n),
                                 out)));
    flaw = copy_arrays(t, *out);
    rc = flaw ? cs_safetensors_bad_part(what, "look-up table", flaw) : CS_OK;
    if (rc == CS_OK)
        cs_lookup_index(*out);
out:
    if (rc != CS_OK) {
        cs_lookup_free(*out);
        *out = NULL;
    }
    return rc;
}
