/* multilabels.c - multiple labels per record: a table with a column per label. */
#include "io/multilabels.h"

#include <math.h>
#include <string.h>

#include "base/opt.h"

struct cs_multilabels {
    char      *path;             /* for messages */
    cs_labels *table;
    int       *label;            /* [columns] its number */
    int        n_label;
};

static bool parse_target(const char *text, float *target)
{
    double v;

    *target = NAN;
    if (cs_label_unknown(text))
        return true;
    if (cs_parse_real(text, &v) != CS_OK || (v != 0 && v != 1))
        return false;
    *target = (float)v;
    return true;
}

static int take_name(cs_multilabels *m, int i, cs_classes *labels, bool fixed)
{
    const char *name = cs_labels_name(m->table, i);
    const long long line = (long long)cs_labels_line(m->table, NULL);
    float target;
    int rc = CS_OK;

    if (parse_target(name, &target))
        return cs_fail(CS_EFORMAT, "'%s' line %lld: column %d has the name '%.60s'; the first line "
                       "must name the labels", m->path, line, i + 2, name);
    m->label[i] = cs_classes_find(labels, name);
    for (int k = 0; k < i; k++)
        if (m->label[i] >= 0 && m->label[k] == m->label[i])
            return cs_fail(CS_EFORMAT, "'%s' line %lld: columns %d and %d are both named '%.60s'",
                           m->path, line, k + 2, i + 2, name);
    if (m->label[i] < 0 && fixed)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: column '%.60s' is not a label of the model; "
                       "remove it", m->path, line, name);
    if (m->label[i] < 0)
        rc = cs_classes_add(labels, name, &m->label[i]);
    return rc == CS_OK ? CS_OK : cs_fail_also(rc, " ('%s' line %lld)", m->path, line);
}

int cs_multilabels_open(const char *path, cs_classes *labels, bool fixed, cs_multilabels **out)
{
    int rc = CS_OK;
    cs_multilabels *m = cs_xcalloc(1, sizeof *m);

    *out = NULL;
    m->path = cs_xstrdup(path);
    CS_TRY(cs_labels_open_named(path, &m->table));
    const int n = cs_labels_columns(m->table);
    if (n > CS_MULTILABELS_MAX) {
        rc = cs_fail(CS_EFORMAT, "'%s' has %d labels; at most %d are supported", path, n,
                     (int)CS_MULTILABELS_MAX);
        goto out;
    }
    m->label = cs_xcalloc((size_t)n, sizeof *m->label);
    for (int i = 0; i < n; i++)
        CS_TRY(take_name(m, i, labels, fixed));
    m->n_label = labels->n;
    *out = m;
    m = NULL;
out:
    cs_multilabels_close(m);
    return rc;
}

int cs_multilabels_find(const cs_multilabels *m, const char *name, float *target)
{
    const int n = cs_labels_columns(m->table);
    const char *text = cs_labels_find(m->table, name, 0);

    if (text == NULL)
        return CS_EOF;
    for (int k = 0; k < m->n_label; k++)
        target[k] = NAN;
    for (int i = 0; i < n; i++, text = i < n ? cs_labels_next(text) : NULL) {
        if (!parse_target(text, &target[m->label[i]]))
            return cs_fail(CS_EFORMAT, "'%s' line %lld: column '%.60s' has '%.60s'; a label is "
                           "0, 1 or NA (unknown)", m->path,
                           (long long)cs_labels_line(m->table, name), cs_labels_name(m->table, i),
                           text);
    }
    return CS_OK;
}

int cs_multilabels_columns(const cs_multilabels *m)
{
    return cs_labels_columns(m->table);
}

cs_labels *cs_multilabels_table(const cs_multilabels *m)
{
    return m->table;
}

void cs_multilabels_close(cs_multilabels *m)
{
    if (m == NULL)
        return;
    cs_labels_close(m->table);
    CS_FREE(m->label, m->path, m);
}
