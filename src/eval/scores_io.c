/* scores_io.c - predictions with the truth as a table, to combine several models. */
#include "eval/scores_io.h"

#include <string.h>

#include "base/mem.h"
#include "io/lines.h"

enum { FIRST_CLASS = 2 };        /* columns before the classes */

int cs_scores_head(const cs_label *label, int32_t n_label, cs_outfile *f)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "length\ttruth"));
    for (int32_t k = 0; k < n_label; k++)
        CS_TRY(cs_outfile_printf(f, "\t%s", label[k].name));
    rc = cs_outfile_printf(f, "\n");
out:
    return rc;
}

int cs_scores_rows(const cs_scores *s, const cs_label *label, cs_outfile *f)
{
    int rc = CS_OK;

    for (int64_t i = 0; i < s->n; i++) {
        if (!cs_scores_known(s, i))
            continue;
        CS_TRY(cs_outfile_printf(f, "%lld\t%s", (long long)s->length[i],
                                 label[cs_scores_truth(s, i)].name));
        for (int32_t k = 0; k < s->n_out; k++)
            CS_TRY(cs_outfile_printf(f, "\t%.6g", (double)s->output[i * s->n_out + k]));
        CS_TRY(cs_outfile_printf(f, "\n"));
    }
out:
    return rc;
}

struct table {
    cs_lines        line;
    const cs_label *label;
    int32_t         n_label;
    int32_t        *column;      /* [n_label] the class of a column */
    float          *value;       /* [n_label] */
    char            separator;   /* of fields: a comma in CSV */
};

static int32_t find_label_no(const struct table *t, const char *name)
{
    int32_t k = 0;

    while (k < t->n_label && strcmp(t->label[k].name, name) != 0)
        k++;
    return k;
}

/* Remove the quotes around a field of CSV, and halve those in it. The end of the field. */
static char *unquote(char *field)
{
    char *to = field, *from = field + 1;

    for (; *from && (*from != '"' || from[1] == '"'); from++) {
        from += *from == '"';
        *to++ = *from;
    }
    char *end = from + (*from == '"');
    *to = '\0';
    return end;
}

/* The fields of the line, one by one; "" after the last one. */
static const char *next_field(const struct table *t, char **rest)
{
    char *at = *rest, *end = at && t->separator == ',' && *at == '"' ? unquote(at) : at;

    end = end ? strchr(end, t->separator) : NULL;
    if (end)
        *end = '\0';
    *rest = end ? end + 1 : NULL;
    return at ? at : "";
}

static int other_classes(struct table *t)
{
    return cs_lines_error(&t->line, "the classes differ from the model's; give tables of 'chordseq "
                          "eval --scores' with this model");
}

static int read_head(struct table *t)
{
    char *rest = t->line.text;

    t->separator = strchr(rest, '\t') ? '\t' : ',';
    if (strcmp(next_field(t, &rest), "length") != 0 || strcmp(next_field(t, &rest), "truth") != 0)
        return cs_lines_error(&t->line, "not a table of 'chordseq eval --scores'");
    for (int32_t k = 0; k < t->n_label; k++) {
        t->column[k] = find_label_no(t, next_field(t, &rest));
        for (int32_t i = 0; i < k; i++)
            if (t->column[i] == t->column[k])
                t->column[k] = t->n_label;
        if (t->column[k] == t->n_label)
            return other_classes(t);
    }
    return rest ? other_classes(t) : CS_OK;
}

static int read_row(struct table *t, cs_scores *s)
{
    char *rest = t->line.text;
    int64_t length;
    double p;

    if (cs_parse_int(next_field(t, &rest), &length) != CS_OK || length < 0)
        return cs_lines_error(&t->line, "the first column is not a length");
    const int32_t truth = find_label_no(t, next_field(t, &rest));
    if (truth == t->n_label)
        return cs_lines_error(&t->line, "the second column is not a class of the model");
    for (int32_t k = 0; k < t->n_label; k++) {
        if (cs_parse_real(next_field(t, &rest), &p) != CS_OK || !(p >= 0 && p <= 1))
            return cs_lines_error(&t->line, "a probability is missing or not between 0 and 1");
        t->value[t->column[k]] = (float)p;
    }
    if (rest)
        return cs_lines_error(&t->line, "more columns than classes");
    return cs_scores_add(s, t->value, &(float){ (float)truth }, length);
}

int cs_scores_read(const char *path, const cs_label *label, int32_t n_label, cs_scores *s)
{
    int rc = CS_OK;
    struct table t = { .line = { .path = path }, .label = label, .n_label = n_label,
                       .column = cs_alloc((size_t)n_label, sizeof *t.column),
                       .value = cs_alloc((size_t)n_label, sizeof *t.value) };

    if (!t.column || !t.value) {
        rc = cs_fail(CS_EMEM, "out of memory for the classes of '%s'", path);
        goto out;
    }
    CS_TRY(cs_lines_open_file(&t.line));
    rc = cs_lines_next(&t.line);
    if (rc == CS_EOF)
        rc = cs_fail(CS_EFORMAT, "'%s' is empty, not a table of 'chordseq eval --scores'", path);
    CS_TRY(rc);
    CS_TRY(read_head(&t));
    while ((rc = cs_lines_next(&t.line)) == CS_OK)
        CS_TRY(read_row(&t, s));
    if (rc == CS_EOF)
        rc = CS_OK;
out:
    if (cs_lines_close(&t.line) != CS_OK && rc == CS_OK)
        rc = cs_fail(CS_EIO, "cannot close '%s'", path);
    free(t.column);
    free(t.value);
    return rc;
}
