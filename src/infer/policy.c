/* policy.c - inference policy: strands, windows, thresholds, calls, by options and model. */
#include "infer/policy.h"

#include <string.h>

#include "base/log.h"
#include "nn/exec/plan.h"
#include "nn/exec/session.h"

enum { MIN_WINDOW = 64 };

enum { STRAND_MODEL, STRAND_FORWARD };      /* then those of cs_strands_names[1..] */
const char *const cs_policy_strands[] = { "model", "forward", "both", "max", "weighted", NULL };
enum { CALL_AUTO, CALL_CLASS, CALL_TAXON };
static const char *const call_names[] = { "auto", "class", "taxon", NULL };
static const char *const long_names[] = { "whole", "window", "error", "cpu", "fit", NULL };

#define POLICY(field) .off = offsetof(cs_policy_args, field)

const cs_opt cs_policy_table[] = {
    { .type = CS_OPT_GROUP, .name = "Strands and long sequences" },
    { .type = CS_OPT_ENUM, .name = "strand", POLICY(strand), .arg = "NAME", .def = "model",
      .help = "strands to read: forward, both, max, weighted, or model (the model's default)",
      .choice = cs_policy_strands,
      .man = "forward: sequences as given. both: the mean of the logits of a sequence and its "
             "reverse complement, so that both get identical predictions. max: the larger logit of "
             "each class. weighted: the mean weighted by the softmax over the strands of the last "
             "label's logits, if that label is the strand. For models that ignore the order of "
             "tokens and have the same tokens on both strands, such as the default model, only the "
             "strand that sorts first is computed, at half the cost." },
    { .type = CS_OPT_ENUM, .name = "long-sequence", POLICY(on_long), .arg = "NAME",
      .def = "whole", .choice = long_names,
      .help = "sequences too long for the model or memory: whole, window, error, cpu or fit",
      .man = "whole: one prediction per sequence; a record that exceeds the maximum of the model "
             "or the free memory is unclassified, with that reason. error: the run ends at such a "
             "record. window: sequences longer than --window-length are split into evenly spaced "
             "windows, and their logits are averaged; windows with too few known bases are "
             "omitted. cpu: sequences that exceed the memory of a GPU run on the CPU. fit: as "
             "window, with windows as long as --max-memory or the free memory allows; by the "
             "latter their length, and therefore predictions, depend on the machine. The length "
             "is reported at the start, the numbers of records run on the CPU or split at the "
             "end." },
    { .type = CS_OPT_SIZE, .name = "window-length", POLICY(window), .arg = "NUM", .def = "0",
      .help = "window length in bases; 0: the model's maximum", .min = 0, .max = 1e12,
      .man = "With --long-sequence window; 'chordseq predict' uses windows of 3000 bases by "
             "default." },
    { .type = CS_OPT_SIZE, .name = "window-overlap", POLICY(overlap), .arg = "NUM", .def = "0",
      .help = "minimum overlap of neighbouring windows, in bases", .min = 0, .max = 1e12,
      .man = "At most half of the window length." },
    { .type = CS_OPT_BYTES, .name = "max-memory", POLICY(max_memory), .arg = "BYTES", .def = "0",
      .help = "memory limit for one sequence; 0: free memory", .min = 0,
      .max = 1e15,
      .man = "Makes the limit independent of the machine. Batches are limited by --batch-tokens." },
    { .type = CS_OPT_SIZE, .name = "min-length", POLICY(min_length), .arg = "NUM", .def = "0",
      .help = "minimum sequence length in bases; 0: one token", .min = 0,
      .max = 1e12, .man = "For records, not for windows." },
    { .type = CS_OPT_REAL, .name = "max-unknown", POLICY(max_unknown), .arg = "SHARE",
      .def = "0.9", .help = "maximum share of letters other than A, C, G and T", .min = 0,
      .max = 1 },
    { .type = CS_OPT_END }
};

const cs_opt cs_call_table[] = {
    { .type = CS_OPT_GROUP, .name = "Calls" },
    { .type = CS_OPT_ENUM, .name = "call", .off = offsetof(cs_call_args, call), .arg = "WHAT",
      .def = "auto", .choice = call_names,
      .help = "what to call: class, taxon, or auto (taxon with the head tree)",
      .man = "class: the most probable class. taxon: descends the taxonomy of the model, each time "
             "to the most probable child, and calls the deepest taxon with at least --min-prob; "
             "the probability of a taxon is the sum over its classes. The table then has columns "
             "taxid and rank, and taxa above the classes are written as lineages." },
    { .type = CS_OPT_REAL, .name = "min-prob", .off = offsetof(cs_call_args, min_prob),
      .arg = "NUM", .def = "auto", .choice = cs_opt_auto,
      .help = "minimum probability of a call; 0: call all; auto: the model's thresholds",
      .man = "Records below it are unclassified with the reason low_probability; their probability "
             "is still reported. A number replaces the thresholds of the model (see --max-error); "
             "auto adds no other minimum.", .min = 0, .max = 1 },
    { .type = CS_OPT_REAL, .name = "max-error", .off = offsetof(cs_call_args, max_error),
      .arg = "RATE", .def = "auto", .choice = cs_opt_auto,
      .help = "maximum estimated error rate of calls; auto: the model's", .min = 0,
      .max = 1,
      .man = "The minimum probability of a call, for each class and length, is the one at which at "
             "most this share of calls was wrong in the calibration of the model, but at least 0.5 "
             "(or one minus the rate, if that is less). Records below it have the reason "
             "low_confidence. A class without such a probability at a length is not called there; "
             "--verbose lists these. A model can also have a default rate, a minimum length, "
             "and a test for sequences unlike its training data (low complexity, shuffled DNA); "
             "these apply unless --min-prob is given without this option. 1 calls all. The rate is "
             "valid for sequences like those of the calibration, with the same mixture of classes; "
             "calls of a rarer class are wrong more often (see --prior)." },
    { .type = CS_OPT_END }
};

/* The longest sequence that is certain to fit the model's token limit; bounds grow with the
 * length. */
static int64_t longest_bases(const cs_model *m, int64_t max_len)
{
    int64_t lo = 0, hi = INT64_C(1) << 40;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo + 1) / 2;
        if (m->tok->bound(m->tok_state, mid) <= max_len)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

/* Does --long-sequence split sequences into windows? */
static bool splits_long(const cs_policy_args *a)
{
    return a->on_long == CS_LONG_WINDOW || a->on_long == CS_LONG_FIT;
}

/* Two tokens' bases, and not absurdly few. --min-length is about records, not about windows. */
static int64_t shortest_window(const cs_model *m)
{
    const int64_t min = m->tok ? 2 * m->tok->min_base(m->tok_state) : 2;

    return min > MIN_WINDOW ? min : MIN_WINDOW;
}

/* The name of the option that was given. */
static const char *window_option(const cs_policy_args *a)
{
    return a->window > 0 ? "window-length" : "window-overlap";
}

/* The longest windows that fit into memory; none if sequences of any length do. */
static int fit_windows(cs_policy *p, const cs_policy_args *a, cs_model *m)
{
    char limit[128];
    cs_session *s = cs_session_new(m, m->be);

    s->output = p->output;
    const int64_t n = cs_plan_longest(s, p->max_memory);
    cs_session_free(s);
    if (p->max_memory > 0)
        (void)snprintf(limit, sizeof limit, "%s", CS_OPTION("max-memory"));
    else
        (void)snprintf(limit, sizeof limit, "the memory of device '%s'", m->be->device);

    if (a->window > 0 || a->overlap > 0)
        return cs_fail(CS_EUSAGE, "%s needs %s; fit chooses the length",
                       CS_OPTION("%s", window_option(a)), CS_OPTION("long-sequence window"));
    if (n == INT64_MAX)
        return CS_OK;
    p->window = longest_bases(m, n);
    if (p->window < shortest_window(m))
        return cs_fail(CS_EMEM, "%s suffices for sequences of %lld bases at most; windows need "
                       "%lld or more", limit, (long long)p->window, (long long)shortest_window(m));
    cs_note("sequences of more than %lld bases exceed %s or the model's maximum; they are split "
            "into windows", (long long)p->window, limit);
    return CS_OK;
}

static int set_windows(cs_policy *p, const cs_policy_args *a)
{
    const bool bounded = p->model->tok != NULL && p->max_len > 0;
    const int64_t max = bounded ? longest_bases(p->model, p->max_len) : 0;

    if (a->on_long != CS_LONG_WINDOW && (a->window > 0 || a->overlap > 0))
        return cs_fail(CS_EUSAGE, "%s needs %s", CS_OPTION("%s", window_option(a)),
                       CS_OPTION("long-sequence window"));
    if (a->on_long != CS_LONG_WINDOW)
        return CS_OK;
    p->window = a->window > 0 ? a->window
              : a->default_window > 0 && (max == 0 || a->default_window < max)
                    ? a->default_window : max;
    p->overlap = a->overlap;
    if (p->window == 0)
        return cs_fail(CS_EUSAGE, "this model takes sequences of any length; set %s",
                       CS_OPTION("window-length"));
    if (max > 0 && p->window > max)
        return cs_fail(CS_EUSAGE, "%s exceeds the model's maximum of %lld bases",
                       CS_OPTION("window-length %lld", (long long)p->window), (long long)max);
    const int64_t min = shortest_window(p->model);
    if (p->window < min)
        return cs_fail(CS_EUSAGE, "%s is too short; it must be at least %lld",
                       CS_OPTION("window-length %lld", (long long)p->window), (long long)min);
    if (p->overlap > p->window / 2)
        return cs_fail(CS_EUSAGE, "%s is more than half of the window length of %lld bases",
                       CS_OPTION("window-overlap %lld", (long long)p->overlap),
                       (long long)p->window);
    return CS_OK;
}

bool cs_policy_taxa(const cs_call_args *calls, const cs_model *m)
{
    return calls->call == CALL_TAXON
        || (calls->call == CALL_AUTO && m->head->set_taxonomy && m->taxonomy);
}

enum { SOME_LENGTHS = CS_CALIBRATION_BINS + 1 };

/* Class k is called in the ranges of lengths from this one on, and in none before; the number of
 * ranges: in none; SOME_LENGTHS: neither. */
static int first_range(const cs_policy *p, int32_t k)
{
    const int n = p->model->calibration.n;
    int i = 0, j;

    while (i < n && p->class_min_prob[i][k] > 1)
        i++;
    for (j = i; j < n && p->class_min_prob[j][k] <= 1; j++)
        ;
    return j == n ? i : SOME_LENGTHS;
}

/* Append `what` and the classes with this first range to the text of n bytes. */
static void list_classes(const cs_policy *p, int range, const char *what, char *text, size_t n)
{
    const char *sep = what;

    for (int32_t k = 0; k < p->model->calibration.n_class; k++)
        if (first_range(p, k) == range) {
            const size_t used = strlen(text);
            (void)snprintf(text + used, n - used, "%s%s", sep, p->model->label[k].name);
            sep = ", ";
        }
}

/* "; below 1000 bases no archaea, virus; no plasmid": the classes that are not called. The model's
 * own rate is no news. */
static void log_limits(const cs_policy *p, double max_error, bool given)
{
    const cs_calibration *c = &p->model->calibration;
    char text[1024] = "", below[40];

    for (int i = 1; i < c->n; i++) {
        (void)snprintf(below, sizeof below, "; below %lld bases no ", (long long)c->bin[i].from);
        list_classes(p, i, below, text, sizeof text);
    }
    list_classes(p, SOME_LENGTHS, "; at some lengths no ", text, sizeof text);
    list_classes(p, c->n, "; no ", text, sizeof text);
    (given ? cs_note : cs_info)("calls have an estimated error of at most %g%s", max_error, text);
}

/* Convert a rate to probability thresholds, by length and class. */
static void set_class_min_prob(cs_policy *p, double max_error, bool counted, bool given)
{
    const cs_calibration *c = &p->model->calibration;
    int n_never = 0;

    for (int i = 0; i < c->n; i++) {
        bool never = true;
        for (int32_t k = 0; k <= CS_CALIBRATION_CLASSES; k++) {
            /* Taxa without counts: use the calibrated probability as the rate of correct calls. */
            p->class_min_prob[i][k] = counted ? cs_calibration_min_prob(c, i, k, max_error)
                                              : 1 - max_error;
            never = never && (p->class_min_prob[i][k] > 1 || (c->n_class > 0 && k >= c->n_class));
        }
        n_never += never;
    }
    if (n_never > 0)
        cs_warn("in %d of %d length ranges no call reaches --max-error %g; all records there "
                "stay unclassified", n_never, c->n, max_error);
    if (counted)
        log_limits(p, max_error, given);
}

/* --max-error, or the model's rate unless --min-prob was given. */
static int set_rate(cs_policy *p, const cs_call_args *calls)
{
    const cs_calibration *c = &p->model->calibration;
    const cs_call_args defaults = { .call = CALL_AUTO };
    const bool given = calls->max_error >= 0, auto_prob = calls->min_prob < 0;
    const bool counted = cs_policy_taxa(calls, p->model) == cs_policy_taxa(&defaults, p->model);
    const double max_error = given ? calls->max_error
                           : auto_prob && c->max_error > 0 ? c->max_error : 1;

    if (max_error >= 1)
        return CS_OK;
    if (given && !counted)
        return cs_fail(CS_EUSAGE, "%s is incompatible with %s: the model's calibration is for "
                       "calls of %s", CS_OPTION("max-error"),
                       CS_OPTION("call %s", call_names[calls->call]),
                       calls->call == CALL_CLASS ? "taxa" : "classes");
    if (c->n == 0)
        return cs_fail(CS_EUSAGE, "%s needs a calibrated model; calibrate it with "
                       "'chordseq eval --calibrate'", CS_OPTION("max-error"));
    p->use_conditions = c->max_error > 0;
    set_class_min_prob(p, max_error, counted, given);
    return CS_OK;
}

double cs_policy_min_prob(const cs_policy *p, int64_t n_base, int32_t class_no)
{
    const int i = cs_calibration_find(&p->model->calibration, n_base);

    return i < 0 ? 0 : p->class_min_prob[i][class_no < CS_CALIBRATION_CLASSES ? class_no
                                                                : CS_CALIBRATION_CLASSES];
}

bool cs_policy_too_short(const cs_policy *p, const cs_record *r)
{
    return p->use_conditions && cs_record_bases(r) < p->model->calibration.shortest;
}

cs_reason cs_policy_reject(const cs_policy *p, const cs_record *r, int32_t class_no)
{
    if (!p->use_conditions)
        return CS_REASON_NONE;
    if (cs_policy_too_short(p, r))
        return CS_REASON_TOO_SHORT;
    return cs_calibration_unlike(&p->model->calibration, r, class_no) ? CS_REASON_UNLIKE
                                                                      : CS_REASON_NONE;
}

bool cs_policy_reads_strands(const cs_model *m)
{
    return !m->head->per_token ||
           (m->tok != NULL && m->tok->aligned != NULL && m->tok->aligned(m->tok_state));
}

int cs_policy_check_strands(const cs_model *m, cs_strands strands)
{
    if (strands == CS_STRANDS_WEIGHTED && (!m->head->is_labels || m->n_label < 2))
        return cs_fail(CS_EUSAGE, "%s needs head variant or multilabel, with at least two "
                       "labels, the last of which is the strand", CS_OPTION("strand weighted"));
    if (cs_policy_reads_strands(m))
        return CS_OK;
    return cs_fail(CS_EUSAGE, "both strands need tokens at the same positions on either strand: "
                   "tokenizer base, or kmer with an odd k and stride 1");
}

int cs_policy_set_output(cs_policy *p, cs_head_output output)
{
    if (p->strands == CS_STRANDS_WEIGHTED && output != CS_HEAD_PREDICTION)
        return cs_fail(CS_EUSAGE, "%s is for predictions; vectors have no label to weight by: "
                       "give %s or forward", CS_OPTION("strand weighted"),
                       CS_OPTION("strand both"));
    p->output = output;
    p->counts = output != CS_HEAD_TOKENS && cs_model_takes_counts(p->model);
    return CS_OK;
}

/* The first option given that needs classes, or NULL. */
static const char *for_classes(const cs_call_args *calls)
{
    return calls->call == CALL_TAXON ? "call taxon" : calls->min_prob > 0 ? "min-prob"
         : calls->prior.list ? "prior" : calls->prior.file ? "prior-file" : NULL;
}

static int set_calls(cs_policy *p, const cs_call_args *calls)
{
    int rc = CS_OK;

    CS_TRY(cs_prior_new(&calls->prior, p->model, &p->prior));
    rc = set_rate(p, calls);
out:
    return rc;
}

void cs_policy_release(cs_policy *p)
{
    free(p->prior);
    p->prior = NULL;
}

int cs_policy_init(cs_policy *p, const cs_policy_args *a, const cs_call_args *calls,
                   cs_model *m)
{
    int rc = CS_OK;
    const bool bases = m->tok != NULL;
    const int64_t min = bases ? m->tok->min_base(m->tok_state) : 1;

    *p = (cs_policy){
        .model = m, .pair = a->pair, .on_long = (cs_on_long)a->on_long,
        .max_len = cs_model_max_len(m),
        .min_base = a->min_length > min ? a->min_length : min,
        .max_memory = a->max_memory, .max_unknown = a->max_unknown,
        .min_prob = calls && calls->min_prob > 0 ? calls->min_prob : 0,
    };
    p->strands = !bases ? CS_STRANDS_FORWARD : a->strand == STRAND_MODEL ? m->strands
               : (cs_strands)(a->strand - 1);
    p->both = p->strands != CS_STRANDS_FORWARD;
    if (a->output == CS_HEAD_PREDICTION)
        CS_TRY(cs_model_check_cells(m));
    CS_TRY(cs_model_check_output(m, a->output));
    if ((cs_model_parts(m) > 1) != (a->pair == CS_PAIR_JOINT))
        return cs_fail(CS_EMODEL, "the model predicts for %s", cs_model_parts(m) > 1 ? "variants, "
                       "not for sequences; use 'chordseq variant'" : "sequences, not for "
                       "variants");
    p->canonical = p->both && a->pair != CS_PAIR_JOINT && cs_model_strandless(m);
    if (!bases && (a->strand > STRAND_FORWARD || splits_long(a)))
        return cs_fail(CS_EUSAGE, "%s is for sequences, but the model takes real values",
                       CS_OPTION("%s %s", a->strand > STRAND_FORWARD ? "strand" : "long-sequence",
                                 a->strand > STRAND_FORWARD ? cs_policy_strands[a->strand]
                                                            : long_names[a->on_long]));
    if (p->both && cs_tokenizer_alphabet(m->tok, m->tok_state) == CS_DIPLOTYPES)
        return cs_fail(CS_EUSAGE, "both strands are for nucleotides; diplotypes have no reverse "
                       "complement");
    if (p->both && (a->output == CS_HEAD_PREDICTION || p->strands == CS_STRANDS_WEIGHTED))
        CS_TRY(cs_policy_check_strands(m, p->strands));
    CS_TRY(cs_policy_set_output(p, a->output));
    if (cs_policy_per_token(p) && splits_long(a))
        return cs_fail(CS_EUSAGE, "%s needs one prediction per sequence; the model predicts per "
                       "token", CS_OPTION("long-sequence %s", long_names[a->on_long]));
    CS_TRY(a->on_long == CS_LONG_FIT ? fit_windows(p, a, m) : set_windows(p, a));
    const char *instead = m->head->is_class ? NULL : m->head->is_labels
                        ? "labels that do not exclude each other" : "values";
    if (calls != NULL && instead && for_classes(calls))
        rc = cs_fail(CS_EUSAGE, "%s is for classes; the model predicts %s",
                     CS_OPTION("%s", for_classes(calls)), instead);
    else if (calls != NULL)
        rc = set_calls(p, calls);
    if (rc == CS_OK && a->output == CS_HEAD_PREDICTION)
        rc = cs_proteins_need_index(m->proteins, m->be->n_thread);
out:
    return rc;
}

int64_t cs_policy_longest(const cs_policy *p)
{
    const bool bounded = p->model->tok != NULL && p->max_len > 0 && p->window == 0;

    return bounded ? longest_bases(p->model, p->max_len) : 0;
}

bool cs_policy_may_cut(const cs_policy *p)
{
    return p->pair == CS_PAIR_MEAN && p->window == 0 && p->model->tok != NULL &&
           !cs_policy_per_token(p);
}

int64_t cs_policy_n_window(const cs_policy *p, int64_t n_base)
{
    const int64_t step = p->window - p->overlap;

    if (p->window == 0 || n_base <= p->window)
        return 1;
    return 1 + (n_base - p->window + step - 1) / step;
}

/* Spread evenly and rounded, mirrored in the second half. The middle one is a base shorter if it
 * could not be centred otherwise. */
void cs_policy_window(const cs_policy *p, int64_t n_base, int64_t i, int64_t *start,
                      int64_t *length)
{
    const int64_t n = cs_policy_n_window(p, n_base);
    const int64_t slack = n_base - p->window, left = i < n - 1 - i ? i : n - 1 - i;

    *start = 0;
    *length = n_base;
    if (n == 1)
        return;
    *length = p->window;
    *start = (2 * left * slack + n - 1) / (2 * (n - 1));
    if (i > left)
        *start = slack - *start;
    if (2 * i == n - 1 && slack % 2 != 0) {
        *start = (slack + 1) / 2;
        *length = p->window - 1;
    }
}

int cs_policy_accept(const cs_policy *p, const cs_record *r, cs_reason reason)
{
    if (reason != CS_REASON_TOO_LONG || p->on_long != CS_LONG_ERROR)
        return CS_OK;
    const bool may_cut = cs_policy_may_cut(p);
    return cs_fail(CS_EMODEL, "record '%s' (%lld bases) exceeds the model's maximum of %lld "
                   "tokens%s%s", r->name, (long long)cs_record_bases(r), (long long)p->max_len,
                   may_cut ? "; split it with " : "",
                   may_cut ? CS_OPTION("long-sequence window") : "");
}

bool cs_policy_per_token(const cs_policy *p)
{
    return p->output == CS_HEAD_PREDICTION && p->model->head->per_token;
}

const char *cs_policy_remedy(const cs_policy *p, bool device, char *buf)
{
    const bool may_cut = cs_policy_may_cut(p);
    const size_t n = CS_REMEDY_TEXT;

    /* Two segments that are not mates are both windows. */
    if (p->pair != CS_PAIR_MEAN || p->on_long == CS_LONG_WINDOW)
        (void)snprintf(buf, n, "a smaller %s needs less", CS_OPTION("window-length"));
    else if (p->on_long == CS_LONG_FIT)
        (void)snprintf(buf, n, "%s with a smaller %s needs less",
                       CS_OPTION("long-sequence window"), CS_OPTION("window-length"));
    else if (device && p->on_long != CS_LONG_CPU)
        (void)snprintf(buf, n, "%s runs such records on the CPU%s",
                       CS_OPTION("long-sequence cpu"), may_cut ? ", window splits them" : "");
    else if (may_cut)
        (void)snprintf(buf, n, "%s splits such records", CS_OPTION("long-sequence window"));
    else
        (void)snprintf(buf, n, "this model takes sequences whole");
    return buf;
}

const char *cs_policy_text(const cs_policy *p, char *buf, size_t n_buf)
{
    char windows[96] = "";

    if (p->window > 0)
        (void)snprintf(windows, sizeof windows, ", windows of %lld bases", (long long)p->window);
    (void)snprintf(buf, n_buf, "%s%s", p->strands == CS_STRANDS_MAX ? "larger of both strands"
                   : p->strands == CS_STRANDS_WEIGHTED ? "both strands, weighted"
                   : p->both ? "both strands" : "forward strand", windows);
    return buf;
}

double cs_policy_load(const cs_policy *p)
{
    const double strands = p->both && !p->canonical ? 2 : 1;

    return p->window > 0 ? strands * (double)p->window / (double)(p->window - p->overlap) : strands;
}
