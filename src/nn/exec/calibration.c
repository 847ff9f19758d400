/* calibration.c - a model's calibration: temperatures and error rates by length. */
#include "nn/exec/calibration.h"

#include <jansson.h>

const double cs_calibration_step[CS_CALIBRATION_STEPS] = {
    0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995
};

int cs_calibration_find(const cs_calibration *c, int64_t n_base)
{
    int i = c->n - 1;

    while (i > 0 && n_base < c->bin[i].from)
        i--;
    return i;
}

double cs_calibration_threshold(const cs_calibration_bin *b, double max_error)
{
    for (int i = 0; i < CS_CALIBRATION_STEPS; i++)
        if ((double)(b->n_wrong[i] + 1) <= max_error * (double)(b->n_kept[i] + 1))
            return cs_calibration_step[i];
    return 2;
}

json_t *cs_calibration_json(const cs_calibration *c)
{
    json_t *list = json_array();

    for (int i = 0; i < c->n; i++) {
        const cs_calibration_bin *b = &c->bin[i];
        json_t *rates = json_array();
        for (int k = 0; k < CS_CALIBRATION_STEPS; k++)
            json_array_append_new(rates, json_pack("[f, I, I]", cs_calibration_step[k],
                                                   (json_int_t)b->n_kept[k],
                                                   (json_int_t)b->n_wrong[k]));
        json_array_append_new(list, json_pack("{s:I, s:f, s:I, s:o}", "from", (json_int_t)b->from,
                                              "temperature", b->temperature, "records",
                                              (json_int_t)b->n, "kept", rates));
    }
    return list;
}

/* [[least probability, kept, wrong], ...], with the steps that this version has. */
static int read_rates(cs_calibration_bin *b, const json_t *rates)
{
    if (json_array_size(rates) != CS_CALIBRATION_STEPS)
        return CS_EFORMAT;
    for (size_t k = 0; k < CS_CALIBRATION_STEPS; k++) {
        const json_t *row = json_array_get(rates, k);
        const double apart = json_number_value(json_array_get(row, 0)) - cs_calibration_step[k];
        b->n_kept[k] = json_integer_value(json_array_get(row, 1));
        b->n_wrong[k] = json_integer_value(json_array_get(row, 2));
        if (json_array_size(row) != 3 || !(apart < 1e-9 && apart > -1e-9) || b->n_wrong[k] < 0 ||
            b->n_wrong[k] > b->n_kept[k] || b->n_kept[k] > b->n)
            return CS_EFORMAT;
    }
    return CS_OK;
}

int cs_calibration_read(cs_calibration *c, const json_t *j)
{
    const size_t n = json_array_size(j);
    int64_t last = -1;

    c->n = 0;
    if (j == NULL || json_is_null(j))
        return CS_OK;
    if (!json_is_array(j) || n > CS_CALIBRATION_BINS)
        return CS_EFORMAT;
    for (size_t i = 0; i < n; i++) {
        const json_t *o = json_array_get(j, i);
        cs_calibration_bin *b = &c->bin[i];
        b->from = json_integer_value(json_object_get(o, "from"));
        b->temperature = json_number_value(json_object_get(o, "temperature"));
        b->n = json_integer_value(json_object_get(o, "records"));
        if (b->from <= last || (i == 0 && b->from != 0) || !(b->temperature >= 0.001) ||
            !(b->temperature <= 1000) || b->n < 0 ||
            read_rates(b, json_object_get(o, "kept")) != CS_OK)
            return CS_EFORMAT;
        last = b->from;
    }
    c->n = (int)n;
    return CS_OK;
}
