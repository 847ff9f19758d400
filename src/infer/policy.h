/* policy.h - inference policy: strands, windows, thresholds, calls, by options and model. */
#ifndef CS_INFER_POLICY_H
#define CS_INFER_POLICY_H

#include "batch/view.h"
#include "infer/prior.h"
#include "nn/exec/model.h"

typedef enum cs_on_long {
    CS_LONG_WHOLE, CS_LONG_WINDOW, CS_LONG_ERROR, CS_LONG_CPU, CS_LONG_FIT
} cs_on_long;

/* Prediction of a record with two segments: the mean over both (mates); both predictions,
 * concatenated; or one prediction for both together (a head of two parts). */
typedef enum cs_pair_rule { CS_PAIR_MEAN, CS_PAIR_CONCAT, CS_PAIR_JOINT } cs_pair_rule;

typedef struct cs_policy_args {
    int     strand, on_long;     /* strand: of cs_policy_strands */
    cs_pair_rule pair;           /* no option: set by the command */
    cs_head_output output;       /* set by the command, too */
    int64_t default_window;      /* and this: window if none is given, at most the model's maximum;
                                  * 0: that */
    int64_t window, overlap, min_length, max_memory;
    double  max_unknown;
} cs_policy_args;

/* Negative: the model's setting. */
typedef struct cs_call_args {
    int call;
    double min_prob, max_error;
    cs_prior_args prior;
} cs_call_args;

extern const cs_opt cs_policy_table[];     /* --strand, --long-sequence, ... */
extern const char *const cs_policy_strands[];      /* values of --strand; NULL-terminated */
extern const cs_opt cs_call_table[];       /* --call, --min-prob, --max-error */

/* Independent of the machine, except for the windows of CS_LONG_FIT. */
typedef struct cs_policy {
    const cs_model *model;
    cs_strands strands;
    bool       both;             /* the prediction is the same for either strand, bit for bit */
    bool       canonical;        /* from one view: the strand that sorts first */
    cs_on_long on_long;
    cs_pair_rule pair;
    cs_head_output output;       /* other than CS_HEAD_PREDICTION: raw values, without calls */
    int64_t    window, overlap;  /* bases; window 0: sequences are not split */
    int64_t    min_base;         /* fewer: too_short */
    int64_t    max_len;          /* tokens of a view; 0: any */
    int64_t    max_memory;       /* bytes of the network for one view; 0: any */
    bool       counts;           /* the network needs counts of tokens only */
    double     max_unknown;      /* maximum share of letters other than A, C, G, T */
    double     min_prob;         /* of a call */
    bool       uncalibrated;     /* uncalibrated probabilities */
    double    *prior;            /* of cs_prior_new(); NULL: classes have equal shares. Owned */
    /* of a call, by the calibration's lengths and the class called; the last is of other classes */
    double     class_min_prob[CS_CALIBRATION_BINS][CS_CALIBRATION_CLASSES + 1];
    bool       use_conditions;   /* apply the model's minimum length and its test for sequences
                                  * unlike training */
    bool       per_base;         /* predictions per token are for A, C, G and T; the reverse
                                  * complement swaps them. Set by the owner */
    const cs_tree *tree;         /* tree of the taxa called; NULL: classes. Set by the owner if
                                  * cs_policy_taxa() */
} cs_policy;

/** cs_policy_taxa - are calls taxa, possibly above the classes? */
bool cs_policy_taxa(const cs_call_args *calls, const cs_model *m);

/**
 * cs_policy_init - set up from options and model, and check both
 *
 * Indexes the model's proteins if predictions need them.
 *
 * calls    NULL: every prediction is a call
 * m        must outlive the policy. With calls, release it with cs_policy_release(), also after an
 *          error
 * Returns  CS_OK; CS_EUSAGE; CS_EMODEL for a model of variants where sequences are given, or the
 *          other way round; CS_EMEM if no window fits into memory
 */
int cs_policy_init(cs_policy *p, const cs_policy_args *a, const cs_call_args *calls,
                   cs_model *m) CS_MUST_CHECK;

/** cs_policy_release - free the shares of classes; a zeroed policy has none */
void cs_policy_release(cs_policy *p);

/** cs_policy_set_output - another output of the model under the same options. CS_OK; CS_EUSAGE for
 * vectors if strands are weighted by a label */
int cs_policy_set_output(cs_policy *p, cs_head_output output) CS_MUST_CHECK;

/** cs_policy_reads_strands - can both strands be read? Predictions per token need the same token
 * positions on both */
bool cs_policy_reads_strands(const cs_model *m);
/** cs_policy_check_strands - CS_OK; CS_EUSAGE with a message if both strands cannot be read, or not
 * be weighted */
int cs_policy_check_strands(const cs_model *m, cs_strands strands) CS_MUST_CHECK;

/** cs_policy_min_prob - minimum probability of a call of this class (0: of a taxon) for a sequence
 * of this many bases, in addition to --min-prob */
double cs_policy_min_prob(const cs_policy *p, int64_t n_base, int32_t class_no);

/** cs_policy_too_short - is the record below the shortest length that the model makes calls of? */
bool cs_policy_too_short(const cs_policy *p, const cs_record *r);
/** cs_policy_reject - reason why the model's conditions exclude a confident call of this class, or
 * CS_REASON_NONE */
cs_reason cs_policy_reject(const cs_policy *p, const cs_record *r, int32_t class_no);

/** cs_policy_longest - maximum bases of a sequence that is certain to fit the model's token limit;
 * 0: any, for instance if sequences are split */
int64_t cs_policy_longest(const cs_policy *p);

/** cs_policy_may_cut - would --long-sequence window make sequences shorter? No if they are split
 * already, or if a prediction needs the whole sequence */
bool cs_policy_may_cut(const cs_policy *p);

/** cs_policy_n_window - number of windows of a sequence of n_base bases: at least one */
int64_t cs_policy_n_window(const cs_policy *p, int64_t n_base);
/** cs_policy_window - window i from the left: its first base and number of bases */
void cs_policy_window(const cs_policy *p, int64_t n_base, int64_t i, int64_t *start,
                      int64_t *length);
/** cs_policy_accept - CS_OK, or CS_EMODEL if --long-sequence error ends the run at this record.
 * Call it in input order */
int cs_policy_accept(const cs_policy *p, const cs_record *r, cs_reason reason) CS_MUST_CHECK;

/** cs_policy_per_token - is the output a prediction for every token? */
bool cs_policy_per_token(const cs_policy *p);

enum { CS_REMEDY_TEXT = 192 };
/** cs_policy_remedy - options of the command and the model that help a sequence without enough
 * memory, as a clause in buf of CS_REMEDY_TEXT bytes, which is returned. device: the memory of a
 * GPU is short */
const char *cs_policy_remedy(const cs_policy *p, bool device, char *buf);

/** cs_policy_text - for summaries: "both strands, windows of 1000 bases". Returns buf */
const char *cs_policy_text(const cs_policy *p, char *buf, size_t n_buf);

/** cs_policy_load - maximum tokens per base of a long sequence: strands times overlap */
double cs_policy_load(const cs_policy *p);

#endif
