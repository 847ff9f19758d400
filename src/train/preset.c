/* preset.c - settings chosen from the data: --preset. */
#include "train/preset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/batch.h"

const char *const cs_preset_names[] = { "fast", "balanced", "best", "none", "auto", NULL };

/* Fixed settings of presets; NULL: the option's default. fast is a bag of canonical 6-mers. Its
 * steps are small: of the data sets of tests/bench/results/presets.tsv, all but the largest are
 * limited by steps, not by samples, and --mutate prevents overfitting on the largest. balanced and
 * best have the bag as their composition path, from its weights at the lowest validation loss; half
 * of the batches skip it, because it leaves too little gradient for the network. */
static const struct row { const char *name, *value[3]; } rows[] = {
    /*                         fast      balanced  best */
    { "tokenizer.k",         { "6",      "3",      "3" } },
    { "tokenizer.canonical", { "1",      NULL,     NULL } },
    { "encoder.depth",       { "none",   NULL,     NULL } },
    { "encoder.init",        { "identity", NULL,   NULL } },
    { "encoder.track",       { NULL,     "4",      "8" } },
    { "encoder.hidden",      { "32",     "64",     "96" } },
    { "head.norm",           { "layer",  NULL,     NULL } },
    { "head.hidden",         { "512",    NULL,     NULL } },
    { "head.dropout",        { "0.25",   NULL,     NULL } },
    { "head.composition",    { NULL,     "6",      "6" } },
    { "head.composition-skip", { NULL,   "0.5",    "0.5" } },
    { "composition-lr",      { NULL,     "0.1",    "0.1" } },
    { "lr",                  { "0.01",   "0.003",  "0.003" } },
    { "weight-decay",        { "0.05",   "0.02",   "0.05" } },
    { "warmup",              { "0.05",   "0.05",   "0.05" } },
    { "ema",                 { "0.998",  "0.99",   "0.998" } },
    { "step-records",        { "32",     "16",     "32" } },
    { "mutate",              { "0.02",   "0.02",   "0.02" } },
    { "rc",                  { "1",      "1",      "1" } },
    { "length-power",        { "0.5",    "0.5",    "0.5" } },
    { "patience",            { "8",      "8",      "12" } },
    { "proteins",            { NULL,     NULL,     "12M" } },
};

enum {
    WHOLE = 1000,                /* median bases below which records are not cropped */
    SEVERAL = 5000,              /* median bases from which short crops are more frequent */
    SHORTEST = 250, LONGEST = 60000,             /* bases of a crop */
    MIN_EPOCH = 4096,            /* samples */
    VALID_CROPS = 2000, MIN_CROPS = 200,         /* of validation, and CROPS_EACH per record */
    CROPS_EACH = 4,
    MORE_FACTORS = 5,            /* of psf */
    BAG_LENGTH = 8 << 20,        /* tokens: maximum of a bag */
    BAG_TRACK = 4                /* channels per level of depth of a bag */
};

static int by_length(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

int cs_preset_measure(const cs_dataset *d, cs_preset_facts *f)
{
    int64_t *n = cs_alloc((size_t)d->n + 1, sizeof *n);

    *f = (cs_preset_facts){ .values = d->n_channel > 0 };
    if (n == NULL)
        return cs_fail(CS_EMEM, "out of memory for the lengths of %lld records", (long long)d->n);
    for (int64_t i = 0; i < d->n; i++) {
        if (d->ex[i].part == CS_PART_SKIP)
            continue;
        n[f->n_record++] = d->ex[i].n_base;
        f->n_base += d->ex[i].n_base;
    }
    qsort(n, (size_t)f->n_record, sizeof *n, by_length);
    f->longest = f->n_record > 0 ? n[f->n_record - 1] : 0;
    f->most_tokens = f->longest;
    f->median = f->n_record > 0 ? n[f->n_record / 2] : 0;
    free(n);
    return CS_OK;
}

static bool is_given(const cs_optset *set, const cs_opt *o)
{
    return cs_opt_given((const char *)set->base + o->off);
}

/* Is it an option of a part: --PART, --PART=NAME or --PART.SETTING, but not --encoder-lr? */
static bool is_of(const char *argument, const char *part)
{
    const size_t n = strlen(part);

    return strncmp(argument, part, n) == 0 && strchr(".=", argument[n]) != NULL;
}

cs_preset cs_preset_choose(cs_preset p, const cs_optset *training, int argc, char **argv)
{
    if (p != CS_PRESET_AUTO)
        return p;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--head.", strlen("--head.")) == 0 || is_of(argv[i], "--tokenizer") ||
            is_of(argv[i], "--encoder"))
            return CS_PRESET_NONE;
    for (const cs_opt *o = training->opt; o->type != CS_OPT_END; o++)
        if (o->type != CS_OPT_GROUP && strcmp(o->name, "seed") != 0 &&
            strcmp(o->name, "budget") != 0 && is_given(training, o))
            return CS_PRESET_NONE;
    return CS_PRESET_BALANCED;
}

/* The row of an option, "encoder.track" or "lr"; *set becomes its table. NULL: none has it. */
static const cs_opt *find_row(const cs_optset **set, const char *name)
{
    const char *dot = strchr(name, '.'), *own = dot != NULL ? dot + 1 : name;

    for (; (*set)->opt != NULL; (*set)++) {
        const char *prefix = (*set)->prefix;
        const size_t n = prefix != NULL ? strlen(prefix) : 0;
        const bool same = dot != NULL ? n == (size_t)(dot - name) && strncmp(prefix, name, n) == 0
                                      : n == 0;
        const cs_opt *o = same ? cs_opt_find((*set)->opt, own) : NULL;
        if (o != NULL)
            return o;
    }
    return NULL;
}

static int set_one(const cs_optset *set, const char *name, const char *value)
{
    const cs_opt *o = find_row(&set, name);

    return o == NULL || is_given(set, o) ? CS_OK : cs_opt_set(set->opt, set->base, o->name, value);
}

static int set_number(const cs_optset *set, const char *name, int64_t v)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%lld", (long long)v);
    return set_one(set, name, text);
}

/* Lengths and numbers of samples. Crops are drawn evenly on a logarithmic scale. */
static int set_samples(const cs_preset_facts *f, const cs_optset *set)
{
    int rc = CS_OK;
    const int64_t crop = f->longest < LONGEST ? f->longest : LONGEST;

    CS_TRY(set_number(set, "samples-per-epoch",
                      f->n_record > MIN_EPOCH ? f->n_record : MIN_EPOCH));
    if (f->median < WHOLE || f->values)
        return CS_OK;
    CS_TRY(set_number(set, "crop-min", SHORTEST));
    CS_TRY(set_number(set, "crop-max", crop));
    CS_TRY(set_one(set, "crop-power", f->median < SEVERAL ? "1" : "1.4"));
    /* A tenth of the records; many crops of few records are redundant and slow. */
    const int64_t n_crop = CROPS_EACH * f->n_record;
    rc = set_number(set, "valid-samples", n_crop < MIN_CROPS ? MIN_CROPS
                    : n_crop < VALID_CROPS ? n_crop : VALID_CROPS);
out:
    return rc;
}

/* Is the setting left out? With values, those of strands, mutations and words. Canonical words with
 * --no-rc, as strands then differ; the composition path with another tokenizer, whose tokens may
 * not determine words. */
static bool is_left_out(const cs_preset_facts *f, const char *name, const cs_optset *set, int argc,
                        char **argv)
{
    static const char *const of_bases[] = {
        "tokenizer.k", "tokenizer.canonical", "head.composition", "composition-lr", "mutate", "rc",
        "proteins",
    };

    for (size_t i = 0; f->values && i < sizeof of_bases / sizeof *of_bases; i++)
        if (strcmp(name, of_bases[i]) == 0)
            return true;
    if (strcmp(name, "tokenizer.canonical") == 0) {
        const cs_opt *no_rc = find_row(&set, "no-rc");
        return no_rc != NULL && is_given(set, no_rc);
    }
    if (strcmp(name, "head.composition") != 0)
        return false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_of(argv[i], "--tokenizer"))
            return true;
    return false;
}

static int64_t longest_power(const cs_preset_facts *f)
{
    int64_t max = 64;

    while (max < f->most_tokens)
        max *= 2;
    return max;
}

/* PSF-Attn has one product. ceil(log2 N) factors only reach all tokens; more also relate tokens
 * near each other before (tests/bench/results/README.md). Paramixer has layers for that. */
int cs_preset_size_encoder(const cs_preset_facts *f, const char *encoder, const cs_optset *set)
{
    int rc = CS_OK;
    const int64_t max = longest_power(f);

    CS_TRY(set_number(set, "encoder.max-len", max));
    if (strcmp(encoder, "psf") == 0)
        rc = set_number(set, "encoder.factors", cs_depth(max) + MORE_FACTORS);
out:
    return rc;
}

int cs_preset_apply(cs_preset p, const cs_preset_facts *f, const cs_optset *set, int argc,
                    char **argv)
{
    int rc = CS_OK;
    int64_t bag = BAG_LENGTH;

    if (p == CS_PRESET_NONE)
        return CS_OK;
    if (p == CS_PRESET_FAST && f->values)
        return cs_fail(CS_EUSAGE, "--preset fast is a bag of words of nucleotides, and the input "
                       "has values; use balanced or best");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value[p] != NULL && !is_left_out(f, rows[i].name, set, argc, argv))
            CS_TRY(set_one(set, rows[i].name, rows[i].value[p]));
    /* A network's depth follows from the longest sequence; a bag accepts any length. */
    while (bag < f->longest)
        bag *= 2;
    CS_TRY(set_number(set, "encoder.max-len", p == CS_PRESET_FAST ? bag : longest_power(f)));
    if (p == CS_PRESET_FAST)
        CS_TRY(set_number(set, "encoder.track", BAG_TRACK));
    CS_TRY(set_number(set, "head.composition-channels", BAG_TRACK * (cs_depth(bag) + 1)));
    rc = set_samples(f, set);
out:
    return rc;
}

double cs_preset_propose_budget(const cs_preset_facts *f, double n_pass, double speed,
                                double after)
{
    static const double minutes[] = { 1, 2, 5, 10, 20, 30, 60 };
    const double wanted = n_pass * (double)f->n_base / fmax(speed, 1) + after;
    size_t i = 0;

    while (i + 1 < sizeof minutes / sizeof *minutes && 60 * minutes[i] < wanted)
        i++;
    return 60 * minutes[i];
}
