/* fuzz_calibration.c - a model's calibration from arbitrary JSON: no crash; an accepted
 * one is consistent and is equal after writing and reading. */
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "nn/exec/calibration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_bins(const cs_calibration *c)
{
    static const int64_t length[] = { 0, 1, 499, 500, 1000, 1000000, INT64_MAX };
    static const double rate[] = { 0, 1e-9, 0.01, 0.5, 1 };

    CS_BUG(c->n < 0 || c->n > CS_CALIBRATION_BINS);
    for (int i = 0; i < c->n; i++) {
        CS_BUG(!(c->bin[i].temperature > 0) || c->bin[i].temperature > 1e300);
        CS_BUG(i == 0 ? c->bin[i].from != 0 : c->bin[i].from <= c->bin[i - 1].from);
        for (size_t k = 0; k < sizeof rate / sizeof *rate; k++) {
            for (int32_t class_no = -1; class_no < c->n_class; class_no++) {
                const double min = class_no < 0
                                   ? cs_calibration_threshold(&c->bin[i].all, rate[k])
                                   : cs_calibration_min_prob(c, i, class_no, rate[k]);
                CS_BUG(!(min >= 0 && min <= 2));
            }
        }
    }
    for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
        const int i = cs_calibration_find(c, length[k]);
        CS_BUG(i < -1 || i >= c->n || (c->n > 0 && (i < 0 || c->bin[i].from > length[k])));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_calibration c = { 0 }, again = { 0 };
    json_t *j = json_loadb((const char *)data, n_bytes, JSON_DECODE_ANY, NULL);

    if (j && cs_calibration_read(&c, j) == CS_OK) {
        check_bins(&c);
        json_t *text = cs_calibration_json(&c);
        CS_BUG(!text || cs_calibration_read(&again, text) != CS_OK || again.n != c.n
               || again.n_class != c.n_class);
        for (int i = 0; i < c.n; i++)
            CS_BUG(memcmp(&c.bin[i], &again.bin[i], sizeof c.bin[i]) != 0);
        json_decref(text);
    }
    cs_error_clear();
    json_decref(j);
    return 0;
}
