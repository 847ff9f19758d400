/* prior.c - class shares among the records of a run: --prior and --prior-file. */
#include "infer/prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/suggest.h"

enum { MAX_FILE_BYTES = 1 << 24, MAX_PLACE = 4352 };

const cs_opt cs_prior_table[] = {
    { .type = CS_OPT_STR, .name = "prior", .off = offsetof(cs_prior_args, list),
      .arg = "CLASS=SHARE,...", .help = "shares of classes in the input, such as "
              "bacteria=0.95,plasmid=0.05, or auto (classify only); default: equal",
      .man = "Without it, all classes count as equally frequent, as in the calibration of the "
             "model, and calls of classes that are rare in the input are often wrong. With it, the "
             "probability of each class is multiplied by its share, and their sum is scaled to 1. "
             "Classes that are not named have equal shares of the rest; with the share 0, a class "
             "is never called. The thresholds of --max-error apply to the new probabilities. "
             "auto (chordseq-classify(1) only) estimates the shares from a sample of up to 10,000 "
             "records, spread evenly over the input, before it classifies all; calls then depend "
             "on the other records. Reads with many sequencing errors bias the estimate. The input "
             "is read twice, so it must be files; for pipes, estimate the shares with --shares and "
             "use them with --prior-file. With --shard, the sample is that of the whole input. In "
             "chordseq-predict(1) shares are those of bases, and have another effect: see REGIONS "
             "there." },
    { .type = CS_OPT_IN, .name = "prior-file", .off = offsetof(cs_prior_args, file),
      .arg = "FILE", .help = "the same from a file, as --shares writes it",
      .same = CS_OPT_SAME_CONTENT,
      .man = "A line has a class, a tab and its share. The first line may be the header "
             "\"class<TAB>share\"; empty lines and those that start with '#' are skipped." },
    { .type = CS_OPT_END }
};

/* Of a sum of rounded shares, and more per class: --shares writes six decimals, but no 0. */
#define TOLERANCE 0.001
#define TOLERANCE_PER_CLASS 1e-6

struct shares {
    const cs_model *m;
    char    place[MAX_PLACE];    /* of the present share, for messages: option, or file and line */
    int     failure;             /* status of an error */
    int32_t next;                /* class after the last one found: files have the model's order */
    double *share;               /* [m->n_label] negative: not named */
};

/* The class of that name, or -1. */
static int32_t find_class(struct shares *s, const char *name)
{
    const int32_t n = s->m->n_label;

    for (int32_t i = 0; i < n; i++) {
        const int32_t k = (s->next + i) % n;
        if (strcmp(s->m->label[k].name, name) == 0) {
            s->next = (k + 1) % n;
            return k;
        }
    }
    return -1;
}

static int fail_unknown(const struct shares *s, const char *name)
{
    cs_suggest near = cs_suggest_begin(name);

    for (int32_t k = 0; k < s->m->n_label; k++)
        cs_suggest_try(&near, s->m->label[k].name);
    return cs_fail(s->failure, "%s: the model has no class '%s'; %s'chordseq model show' lists "
                   "them", s->place, name, cs_suggest_hint(&near));
}

static int set_share(struct shares *s, const char *name, const char *text)
{
    const int32_t k = find_class(s, name);
    double share = -1;

    if (k < 0)
        return fail_unknown(s, name);
    if (s->share[k] >= 0)
        return cs_fail(s->failure, "%s: class '%s' occurs twice", s->place, name);
    if (cs_parse_real(text, &share) != CS_OK || !(share >= 0 && share <= 1))
        return cs_fail(s->failure, "%s: the share of class '%s' must be a number from 0 to 1, not "
                       "'%s'", s->place, name, text);
    s->share[k] = share;
    return CS_OK;
}

/* "CLASS=SHARE,...", in place. */
static int read_list(struct shares *s, char *list)
{
    int rc = CS_OK;

    for (char *item = list, *next; item; item = next) {
        next = strchr(item, ',');
        if (next)
            *next++ = '\0';
        char *share = strrchr(item, '=');
        if (!share)
            return cs_fail(s->failure, "%s: '%s' is not of the form CLASS=SHARE", s->place, item);
        *share++ = '\0';
        CS_TRY(set_share(s, item, share));
    }
out:
    return rc;
}

/* Lines of class and share, in place; the first one may name the columns. */
static int read_lines(struct shares *s, const char *path, char *text)
{
    int rc = CS_OK, no = 1;

    if (strncmp(text, "\x1f\x8b", 2) == 0)
        return cs_fail(s->failure, "%s: compressed; this file is read as plain text", s->place);
    for (char *line = text, *next; line; line = next, no++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "\r")] = '\0';
        if (*line == '\0' || *line == '#' || (no == 1 && strcmp(line, "class\tshare") == 0))
            continue;
        (void)snprintf(s->place, sizeof s->place, "'%s' line %d", path, no);
        char *share = strchr(line, '\t');
        if (!share)
            return cs_fail(s->failure, "%s: a line has a class, a tab and a share", s->place);
        *share++ = '\0';
        CS_TRY(set_share(s, line, share));
    }
out:
    return rc;
}

/* Give the classes that are not named their shares, and take logarithms. */
static int complete(struct shares *s)
{
    const double tolerance = TOLERANCE + TOLERANCE_PER_CLASS * s->m->n_label;
    double sum = 0;
    int32_t n_rest = 0;

    for (int32_t k = 0; k < s->m->n_label; k++) {
        sum += s->share[k] >= 0 ? s->share[k] : 0;
        n_rest += s->share[k] < 0;
    }
    if (n_rest == s->m->n_label)
        return cs_fail(s->failure, "%s: no class has a share", s->place);
    if (sum > 1 + tolerance)
        return cs_fail(s->failure, "%s: the shares sum to %g; the maximum is 1", s->place, sum);
    if (n_rest == 0 && sum < 1 - tolerance)
        return cs_fail(s->failure, "%s: the shares of all classes sum to %g, not to 1", s->place,
                       sum);
    for (int32_t k = 0; k < s->m->n_label; k++)
        s->share[k] = s->share[k] >= 0 ? s->share[k] : fmax(1 - sum, 0) / n_rest;
    cs_prior_from_shares(s->share, s->m->n_label);
    return CS_OK;
}

int cs_prior_new(const cs_prior_args *a, const cs_model *m, double **out)
{
    int rc = CS_OK;
    const char *list = a->list, *path = a->file;
    char *text = NULL;
    size_t n = 0;
    struct shares s = { .m = m, .failure = list ? CS_EUSAGE : CS_EFORMAT };

    *out = NULL;
    if (!list && !path)
        return CS_OK;
    if (list && path)
        return cs_fail(CS_EUSAGE, "%s and %s exclude each other", CS_OPTION("prior"),
                       CS_OPTION("prior-file"));
    if (cs_prior_is_auto(a) && !a->estimates)
        return cs_fail(CS_EUSAGE, "%s: only 'chordseq classify' estimates shares from its input; "
                       "give shares, such as bacteria=0.95,plasmid=0.05", CS_OPTION("prior auto"));
    if (m->head->per_token)
        return cs_fail(CS_EUSAGE, "%s is for models that predict per sequence; this one predicts "
                       "per token", CS_OPTION(list ? "prior" : "prior-file"));
    if (cs_prior_is_auto(a))
        return CS_OK;
    s.share = cs_xcalloc((size_t)m->n_label, sizeof *s.share);
    for (int32_t k = 0; k < m->n_label; k++)
        s.share[k] = -1;
    (void)snprintf(s.place, sizeof s.place, list ? "%s" : "'%s'", list ? CS_OPTION("prior") : path);
    if (list) {
        text = cs_xstrdup(list);
        CS_TRY(read_list(&s, text));
    } else {
        CS_TRY(cs_file_read(path, MAX_FILE_BYTES, &text, &n));
        CS_TRY(read_lines(&s, path, text + cs_bom_bytes(text, n)));
        (void)snprintf(s.place, sizeof s.place, "'%s'", path);
    }
    CS_TRY(complete(&s));
    *out = s.share;
    s.share = NULL;
out:
    CS_FREE(text, s.share);
    return rc;
}

bool cs_prior_is_auto(const cs_prior_args *a)
{
    return a->list && strcmp(a->list, "auto") == 0;
}

/* The largest logarithm is 0, so that equal shares change no prediction. */
void cs_prior_from_shares(double *share, int32_t n)
{
    double largest = 0;

    for (int32_t k = 0; k < n; k++)
        largest = fmax(largest, share[k]);
    for (int32_t k = 0; k < n; k++)
        share[k] = log(share[k] / largest);
}

void cs_prior_shares(const double *prior, int32_t n, double *share)
{
    double sum = 0;

    for (int32_t k = 0; k < n; k++)
        sum += exp(prior[k]);
    for (int32_t k = 0; k < n; k++)
        share[k] = exp(prior[k]) / sum;
}
