/* calibration.c - a model's calibration: temperatures and error rates by length. */
#include "nn/exec/calibration.h"

#include <jansson.h>
#include <math.h>

const double cs_calibration_step[CS_CALIBRATION_STEPS] = {
    0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995
};

/* Maximum of a bin's records: sums of counts over bins and classes do not overflow, and counts are
 * exact as doubles. */
static const int64_t max_count = INT64_C(1) << 53;

int cs_calibration_find(const cs_calibration *c, int64_t n_base)
{
    int i = c->n - 1;

    while (i > 0 && n_base < c->bin[i].from)
        i--;
    return i;
}

double cs_calibration_threshold(const cs_call_curve *c, double max_error)
{
    for (int i = 0; i < CS_CALIBRATION_STEPS; i++) {
        const double wrong = (double)c->n_wrong[i];
        if (wrong + sqrt(wrong) + 1 <= max_error * (double)(c->n_kept[i] + 1))
            return cs_calibration_step[i];
    }
    return 2;
}

double cs_calibration_min_prob(const cs_calibration *c, int bin, int32_t class_no, double max_error)
{
    const cs_calibration_bin *b = &c->bin[bin];
    const double min = cs_calibration_threshold(
        class_no < c->n_class ? &b->called[class_no] : &b->all, max_error);

    return fmax(min, fmin(0.5, 1 - max_error));
}

bool cs_calibration_unlike(const cs_calibration *c, const cs_record *r, int32_t class_no)
{
    cs_likeness x;

    if (!c->has_likeness)
        return false;
    const cs_calibration_bin *b = &c->bin[cs_calibration_find(c, cs_record_bases(r))];
    cs_likeness_of(r, &x);
    return x.repetition > b->repetition ||
           (class_no < c->n_class && cs_likeness_score(&x, c->weight) < b->likeness[class_no]);
}

/* ---- the model file ------------------------------------------------------------------------- */

/* [[minimum probability, kept, wrong], ...] */
static json_t *curve_json(const cs_call_curve *c)
{
    json_t *rates = json_array();

    for (int k = 0; k < CS_CALIBRATION_STEPS; k++)
        json_array_append_new(rates, json_pack("[f, I, I]", cs_calibration_step[k],
                                               (json_int_t)c->n_kept[k],
                                               (json_int_t)c->n_wrong[k]));
    return rates;
}

static json_t *bin_json(const cs_calibration *c, const cs_calibration_bin *b)
{
    json_t *o = json_pack("{s:I, s:f, s:I, s:o}", "from", (json_int_t)b->from, "temperature",
                          b->temperature, "records", (json_int_t)b->n, "kept",
                          curve_json(&b->all));
    json_t *called = json_array(), *likeness = json_array();

    for (int32_t k = 0; k < c->n_class; k++) {
        json_array_append_new(called, curve_json(&b->called[k]));
        json_array_append_new(likeness, json_real(b->likeness[k]));
    }
    if (c->n_class > 0)
        json_object_set(o, "called", called);
    if (c->has_likeness) {
        json_object_set(o, "likeness", likeness);
        json_object_set_new(o, "repetition", json_real(b->repetition));
    }
    json_decref(called);
    json_decref(likeness);
    return o;
}

json_t *cs_calibration_json(const cs_calibration *c)
{
    json_t *list = json_array();

    for (int i = 0; i < c->n; i++)
        json_array_append_new(list, bin_json(c, &c->bin[i]));
    return list;
}

/* Checks for this version's steps. */
static int read_curve(const json_t *rates, int64_t n, cs_call_curve *c)
{
    if (json_array_size(rates) != CS_CALIBRATION_STEPS)
        return CS_EFORMAT;
    for (size_t k = 0; k < CS_CALIBRATION_STEPS; k++) {
        const json_t *row = json_array_get(rates, k);
        const double apart = json_number_value(json_array_get(row, 0)) - cs_calibration_step[k];
        c->n_kept[k] = json_integer_value(json_array_get(row, 1));
        c->n_wrong[k] = json_integer_value(json_array_get(row, 2));
        if (json_array_size(row) != 3 || !(apart < 1e-9 && apart > -1e-9) || c->n_wrong[k] < 0 ||
            c->n_wrong[k] > c->n_kept[k] || c->n_kept[k] > n)
            return CS_EFORMAT;
    }
    return CS_OK;
}

static int read_bin(cs_calibration *c, const json_t *o, cs_calibration_bin *b)
{
    const json_t *called = json_object_get(o, "called"), *likeness = json_object_get(o, "likeness");
    int rc = CS_OK;

    b->from = json_integer_value(json_object_get(o, "from"));
    b->temperature = json_number_value(json_object_get(o, "temperature"));
    b->n = json_integer_value(json_object_get(o, "records"));
    if (!(b->temperature >= 0.001) || !(b->temperature <= 1000) || b->n < 0 ||
        b->n > max_count || json_array_size(called) != (size_t)c->n_class ||
        (likeness && json_array_size(likeness) != (size_t)c->n_class))
        return CS_EFORMAT;
    CS_TRY(read_curve(json_object_get(o, "kept"), b->n, &b->all));
    for (size_t k = 0; k < (size_t)c->n_class; k++) {
        CS_TRY(read_curve(json_array_get(called, k), b->n, &b->called[k]));
        b->likeness[k] = json_number_value(json_array_get(likeness, k));
    }
    b->repetition = json_number_value(json_object_get(o, "repetition"));
out:
    return rc;
}

int cs_calibration_read(cs_calibration *c, const json_t *j)
{
    int rc = CS_OK;
    const size_t n = json_array_size(j),
                 n_class = json_array_size(json_object_get(json_array_get(j, 0), "called"));
    int64_t last = -1;

    c->n = 0;
    if (j == NULL || json_is_null(j))
        return CS_OK;
    if (!json_is_array(j) || n > CS_CALIBRATION_BINS || n_class > CS_CALIBRATION_CLASSES)
        return CS_EFORMAT;
    c->n_class = (int32_t)n_class;
    for (size_t i = 0; i < n; i++) {
        CS_TRY(read_bin(c, json_array_get(j, i), &c->bin[i]));
        if (c->bin[i].from <= last || (i == 0 && c->bin[i].from != 0))
            return CS_EFORMAT;
        last = c->bin[i].from;
    }
    c->n = (int)n;
out:
    return rc;
}

json_t *cs_calibration_conditions_json(const cs_calibration *c)
{
    json_t *weight = json_array();

    for (int i = 0; i < CS_LIKENESS_WORDS && c->has_likeness; i++)
        json_array_append_new(weight, json_integer(c->weight[i]));
    return json_pack("{s:f, s:I, s:o}", "max_error", c->max_error, "shortest",
                     (json_int_t)c->shortest, "likeness", weight);
}

int cs_calibration_conditions_read(cs_calibration *c, const json_t *j)
{
    const json_t *weight = json_object_get(j, "likeness");
    const size_t n = json_array_size(weight);

    if (j == NULL)
        return CS_OK;
    c->max_error = json_number_value(json_object_get(j, "max_error"));
    c->shortest = json_integer_value(json_object_get(j, "shortest"));
    c->has_likeness = n > 0;
    if (c->n == 0 || !(c->max_error >= 0 && c->max_error <= 1) || c->shortest < 0 ||
        (n > 0 && n != CS_LIKENESS_WORDS))
        return CS_EFORMAT;
    for (size_t i = 0; i < n; i++) {
        const json_int_t w = json_integer_value(json_array_get(weight, i));
        if (w < INT16_MIN || w > INT16_MAX)
            return CS_EFORMAT;
        c->weight[i] = (int16_t)w;
    }
    return CS_OK;
}
