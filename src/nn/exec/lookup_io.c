/* lookup_io.c - a look-up table as tensors and settings of a model file. */
#include "nn/exec/lookup_io.h"

#include <string.h>

#include <jansson.h>

static const char *const names[CS_LOOKUP_TENSORS] = {
    "lookup.first", "lookup.word", "lookup.weight"
};

/* The class of words of each class of the model. */
static json_t *classes_json(const cs_lookup *l)
{
    json_t *list = json_array();

    for (int32_t k = 0; k < l->n_label; k++)
        json_array_append_new(list, json_integer(l->class_of[k]));
    return list;
}

json_t *cs_lookup_json(const cs_lookup *l)
{
    json_t *j = json_pack("{s:s, s:i, s:i}", "alphabet", l->words.alphabet, "k", (int)l->words.k,
                          "sample", (int)l->words.sample);

    if (l->n_label != l->n_class)
        json_object_set_new(j, "classes", classes_json(l));
    return j;
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

/* Classes of words by the rows of the weights; at most those of the model, of which 0 are none. */
static int32_t words_classes(const cs_tensor *weight, int32_t n_label)
{
    const int64_t n = weight->shape.dim[0];

    return n < n_label ? (int32_t)n : n_label;
}

/* Invalid settings are reported as errors of the file. */
static int of_file(int rc)
{
    return rc == CS_EUSAGE ? CS_EFORMAT : rc;
}

static int read_classes(const json_t *list, const char *what, int32_t n_label, cs_lookup *l)
{
    int32_t class_of[CS_LOOKUP_MAX_CLASSES];
    bool sound = json_array_size(list) == (size_t)n_label;

    if (list == NULL)
        return CS_OK;
    for (int32_t k = 0; k < n_label && sound; k++) {
        const json_t *c = json_array_get(list, (size_t)k);
        sound = json_is_integer(c) && json_integer_value(c) >= 0 &&
                json_integer_value(c) < l->n_class;
        class_of[k] = sound ? (int32_t)json_integer_value(c) : 0;
    }
    if (sound && cs_lookup_set_classes(l, n_label, class_of) == CS_OK)
        return CS_OK;
    cs_error_clear();
    return cs_safetensors_bad_part(what, "look-up table", "has classes that are not the model's");
}

int cs_lookup_read(const json_t *j, const cs_safetensors *file, const char *what, int32_t n_label,
                   cs_lookup **out)
{
    int rc = CS_OK;
    cs_peptides words;
    const cs_tensor *t[CS_LOOKUP_TENSORS];
    const json_t *classes = json_object_get(j, "classes");
    const char *alphabet = json_string_value(json_object_get(j, "alphabet"));
    const char *flaw = alphabet ? find(file, t) : "has no alphabet";

    *out = NULL;
    if (flaw)
        return cs_safetensors_bad_part(what, "look-up table", flaw);
    CS_TRY(of_file(cs_peptides_init(&words, alphabet,
                                    json_integer_value(json_object_get(j, "k")),
                                    json_integer_value(json_object_get(j, "sample")))));
    CS_TRY(of_file(cs_lookup_new(&words, classes ? words_classes(t[2], n_label) : n_label,
                                 t[1]->shape.dim[0], bits_of(t[0]->n), out)));
    CS_TRY(read_classes(classes, what, n_label, *out));
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
