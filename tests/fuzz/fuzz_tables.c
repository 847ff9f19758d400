/* fuzz_tables.c - tables of training and evaluation from arbitrary bytes (intervals, several
 * labels per record, scores): no crash; what is accepted is consistent; a refusal has a message. */
#include <math.h>
#include <stdint.h>

#include "base/log.h"
#include "data_url.h"
#include "eval/scores_io.h"
#include "io/intervals.h"
#include "io/multilabels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_refused(int rc, const void *made)
{
    CS_BUG((rc == CS_OK) != (made != NULL) || (rc != CS_OK && *cs_error_message() == '\0'));
    cs_error_clear();
}

static void try_intervals(const char *url, const char *name, bool fixed)
{
    cs_classes c = { 0 };
    cs_intervals *v = NULL;
    const cs_span *s = NULL;
    int64_t n = 0;
    int no;

    CS_BUG(cs_classes_add(&c, "exon", &no) != CS_OK);
    const int rc = cs_intervals_open(url, &c, fixed, &v);
    check_refused(rc, v);
    if (v && cs_intervals_find(v, name, 1 << 20, &s, &n) != CS_OK) {
        CS_BUG(*cs_error_message() == '\0');
        n = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        CS_BUG(s[i].from < (i ? s[i - 1].to : 0) || s[i].to <= s[i].from || s[i].to > 1 << 20);
        CS_BUG(s[i].class_no < -1 || s[i].class_no >= c.n);
    }
    cs_error_clear();
    cs_intervals_close(v);
    cs_classes_release(&c);
}

static void try_multilabels(const char *url, const char *name, bool fixed)
{
    cs_classes c = { 0 };
    cs_multilabels *m = NULL;
    int no;

    CS_BUG(cs_classes_add(&c, "exon", &no) != CS_OK);
    int rc = cs_multilabels_open(url, &c, fixed, &m);
    check_refused(rc, m);
    float *target = cs_xcalloc((size_t)c.n, sizeof *target);
    rc = m ? cs_multilabels_find(m, name, target) : CS_EOF;
    CS_BUG(rc != CS_OK && rc != CS_EOF && *cs_error_message() == '\0');
    for (int i = 0; rc == CS_OK && i < c.n; i++)
        CS_BUG(!isnan(target[i]) && target[i] != 0 && target[i] != 1);
    cs_error_clear();
    free(target);
    cs_multilabels_close(m);
    cs_classes_release(&c);
}

static void try_scores(const char *url)
{
    static const cs_label label[] = { { .name = "a" }, { .name = "b" } };
    cs_scores s;

    cs_scores_init(&s, true, 2, 1);
    const int rc = cs_scores_read(url, label, 2, &s);
    check_refused(rc, rc == CS_OK ? &s : NULL);
    for (int64_t i = 0; i < s.n; i++)
        CS_BUG(s.length[i] < 0 || s.target[i] < 0 || s.target[i] > 1 || s.output[2 * i] > 1);
    cs_scores_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char *url = data_url(data, n_bytes);

    cs_log_set_level(CS_LOG_ERROR);
    for (int fixed = 0; fixed < 2; fixed++) {
        try_intervals(url, "r1", fixed);
        try_multilabels(url, "r1", fixed);
    }
    try_scores(url);
    free(url);
    return 0;
}
