/* variant_outputs.c - outputs of scored variants: VCF or BCF, table, page, summary. */
#include "eval/variant_outputs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/signals.h"
#include "io/io_init.h"
#include "io/json_text.h"

enum { N_OUT = 4, LINE_BYTES = 4096 + 160 };

const char *const cs_variant_formats[] = { "auto", "v", "z", "u", "b", NULL };

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

char cs_variant_format(const cs_variant_output_args *a)
{
    if (strcmp(a->format, "auto") != 0)
        return a->format[0];
    if (ends_with(a->output, ".bcf"))
        return 'b';
    return ends_with(a->output, ".gz") || ends_with(a->output, ".bgz") ? 'z' : 'v';
}

/* A letter, with a level from 0 to 9 where it compresses. */
static bool is_format(const char *s)
{
    static const char letters[] = "vzub";

    if (strcmp(s, "auto") == 0)
        return true;
    if (*s == '\0' || strchr(letters, *s) == NULL)
        return false;
    const size_t n = strlen(s);
    return n == 1 || (n == 2 && (*s == 'z' || *s == 'b') && isdigit((unsigned char)s[1]));
}

/* What the name says, if no option does. */
static int check_suffix(const char *path)
{
    static const struct { const char *suffix, *option; } other[] = {
        { ".csv", "a table with --tsv" }, { ".tsv", "a table with --tsv" },
        { ".html", "a report with --html" }, { ".json", "a summary with --summary" },
    };

    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (cs_out_ends(path, other[i].suffix))
            return cs_fail(CS_EUSAGE, "'%s': this output is VCF or BCF; write %s", path,
                           other[i].option);
    return ends_with(path, ".bcf") ? CS_OK : cs_out_check(path, CS_OUT_TEXT);
}

int cs_variant_outputs_check(const cs_variant_output_args *a)
{
    int rc = CS_OK;

    if (!is_format(a->format))
        return cs_fail(CS_EUSAGE, "--output-type '%s': give v, z, b or u, z and b also with a "
                       "level of compression, such as z9, or auto", a->format);
    if (strcmp(a->format, "auto") == 0)
        CS_TRY(check_suffix(a->output));
    rc = cs_outputs_distinct((const char *const[]){ a->output, a->tsv, a->html, a->summary },
                             N_OUT);
out:
    return rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* One line, without line ends in the text. */
static char *header_line(const char *key, const char *text)
{
    const size_t n = strlen(key) + strlen(text) + sizeof "##chordseq_variant=";
    char *line = cs_xmalloc(n);

    (void)snprintf(line, n, "##chordseq_variant%s=%s", key, text);
    for (char *p = line; *p; p++)
        *p = iscntrl((unsigned char)*p) ? ' ' : *p;
    return line;
}

static int open_vcf(cs_variant_outputs *o, const cs_variant_source *src, int n_thread,
                    const cs_about *about)
{
    char text[LINE_BYTES], *command = cs_about_line(about), *line[3];
    const cs_model *m = about->model;

    (void)snprintf(text, sizeof text, "%s+htslib-%s", PACKAGE_VERSION, cs_io_library());
    line[0] = header_line("Version", text);
    line[1] = header_line("Command", command);
    (void)snprintf(text, sizeof text, "sha256:%s encoder:%s head:%s window:%lld", m->sum,
                   m->enc->name, m->head->name, (long long)src->n_base);
    line[2] = header_line("Model", text);
    const cs_vcfout_opt opt = {
        .path = o->a->output, .format = cs_variant_format(o->a),
        .level = strlen(o->a->format) == 2 ? o->a->format[1] : '\0',
        .index = (cs_vcf_index)o->a->index, .threads = n_thread,
        .line = (const char *const *)line, .n_line = o->a->no_version ? 0 : 3,
        .field = o->values->field, .n_field = o->values->n_field,
    };
    const int rc = cs_vcfout_open(src->in, &opt, &o->vcf);
    for (int i = 0; i < 3; i++)
        free(line[i]);
    free(command);
    return rc;
}

static int explain_outputs(const cs_variant_outputs *o, int rc)
{
    return cs_outputs_explain(rc, 1 + (o->a->tsv != NULL) + (o->a->html != NULL)
                                  + (o->a->summary != NULL), NULL);
}

int cs_variant_outputs_open(cs_variant_outputs *o, const cs_variant_source *src, int n_thread,
                            const cs_about *about)
{
    int rc = CS_OK;

    if (o->a->html)
        o->report = cs_variant_report_new(o->values, src->n_base);
    CS_TRY(open_vcf(o, src, n_thread, about));
    if (o->a->html)
        CS_TRY(cs_outfile_open_as(o->a->html, NULL, CS_OUT_HTML, &o->html));
    if (o->a->summary)
        CS_TRY(cs_outfile_open_as(o->a->summary, NULL, CS_OUT_JSON, &o->summary));
    if (o->a->tsv) {
        CS_TRY(cs_outfile_open_as(o->a->tsv, NULL, CS_OUT_TABLE, &o->tsv));
        rc = cs_variant_values_head(o->values, o->tsv);
    }
out:
    return explain_outputs(o, rc);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int64_t log_vcf(const void *out)
{
    return cs_vcfout_tell(out);
}

int cs_variant_outputs_begin(cs_variant_outputs *o)
{
    int rc = CS_OK;

    CS_TRY(cs_shard_add(o->shard, "output", o->a->output, log_vcf, o->vcf));
    if (o->tsv)
        rc = cs_shard_add_file(o->shard, "tsv", o->a->tsv, o->tsv);
out:
    return rc;
}

int cs_variant_outputs_record(void *outputs, const cs_record *rec, const cs_prediction *a)
{
    int rc = CS_OK;
    cs_variant_outputs *o = outputs;
    const cs_variant_alt *v = rec->native[0];
    const cs_vcf_record *r = v->of;

    cs_variant_values_set(o->values, v, a);
    if (o->report)
        CS_TRY(cs_variant_report_add(o->report, v, rec));
    if (v->no + 1 < r->n_alt)
        return CS_OK;
    o->n_record++;
    for (int i = 0; o->tsv && i < r->n_alt; i++)
        CS_TRY(cs_variant_values_row(o->values, r, i, o->tsv));
    CS_TRY(cs_vcfout_record(o->vcf, r, o->values->value));
    rc = cs_shard_written(o->shard);
out:
    return explain_outputs(o, rc);
}

static int write_reports(cs_variant_outputs *o, const cs_stream *s, const cs_about *about)
{
    int rc = CS_OK;
    char *command = cs_about_line(about);
    json_t *all = cs_about_summary(about);

    cs_variant_report_json(o->values, o->n_record, all);
    if (o->summary)
        CS_TRY(cs_outfile_json(o->summary, all, JSON_INDENT(2), o->a->summary));
    if (o->html)
        rc = cs_variant_report_html(o->report, o->html, s, o->n_record, command);
out:
    json_decref(all);
    free(command);
    return rc;
}

/* All are complete before the first has its name; from there on a signal comes too late. */
int cs_variant_outputs_close(cs_variant_outputs *o, const cs_stream *s, const cs_about *about)
{
    int rc = CS_OK;
    cs_outfile **const file[N_OUT - 1] = { &o->tsv, &o->html, &o->summary };

    CS_TRY(write_reports(o, s, about));
    CS_TRY(cs_vcfout_finish(o->vcf));
    for (int i = 0; i < N_OUT - 1; i++)
        if (*file[i])
            CS_TRY(cs_outfile_finish(*file[i]));
    if (cs_signal_caught() != 0)
        return CS_ECANCEL;
    rc = cs_vcfout_close(o->vcf);
    o->vcf = NULL;
    for (int i = 0; rc == CS_OK && i < N_OUT - 1; i++) {
        rc = cs_outfile_close(*file[i]);
        *file[i] = NULL;
    }
out:
    return explain_outputs(o, rc);
}

void cs_variant_outputs_release(cs_variant_outputs *o)
{
    cs_vcfout_discard(o->vcf);
    cs_outfile_discard(o->tsv);
    cs_outfile_discard(o->html);
    cs_outfile_discard(o->summary);
    cs_variant_report_free(o->report);
}
