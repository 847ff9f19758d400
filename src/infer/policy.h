/* policy.h - inference policy: strands, windows, thresholds, calls, by options and model. */
#ifndef CS_INFER_POLICY_H
#define CS_INFER_POLICY_H

#include "nn/exec/model.h"

typedef enum cs_on_long {
    CS_LONG_WHOLE, CS_LONG_WINDOW, CS_LONG_ERROR, CS_LONG_CPU, CS_LONG_FIT
} cs_on_long;

/* What the answer of a record with two segments is: the mean over both (mates); both answers, one
 * after the other; or the prediction to both together (a head of two parts). */
typedef enum cs_pair_rule { CS_PAIR_MEAN, CS_PAIR_APART, CS_PAIR_JOINT } cs_pair_rule;

typedef struct cs_policy_args {
    int     strand, on_long;
    cs_pair_rule pair;           /* no option: set by the command */
    cs_head_output output;       /* nor is this: what a record is answered with */
    int64_t window, overlap, min_length, max_memory;
    double  max_unknown;
} cs_policy_args;

/* Negative: what the model states. */
typedef struct cs_call_args { int call; double min_prob, max_error; } cs_call_args;

extern const cs_opt cs_policy_table[];     /* --strand, --long-sequence, ... */
extern const cs_opt cs_call_table[];       /* --call, --min-prob, --max-error */

/* Nothing in it depends on the machine, but for the windows of CS_LONG_FIT. */
typedef struct cs_policy {
    const cs_model *model;
    cs_strands strands;
    bool       both;             /* the prediction is the same for either strand, bit for bit */
    bool       canonical;        /* and it takes one view: that of the strand that sorts first */
    cs_on_long on_long;
    cs_pair_rule pair;
    cs_head_output output;       /* other than a prediction: raw, of values that are no classes */
    int64_t    window, overlap;  /* bases; window 0: sequences are not cut */
    int64_t    min_base;         /* fewer: too_short */
    int64_t    max_len;          /* tokens of a view; 0: any */
    int64_t    max_memory;       /* bytes of the network for one view; 0: any */
    double     max_unknown;      /* largest share of letters other than A, C, G, T */
    double     min_prob;         /* of a call */
    bool       uncalibrated;     /* probabilities as the network gives them */
    /* of a call, by the calibration's lengths and the class called */
    double     least[CS_CALIBRATION_BINS][CS_CALIBRATION_CLASSES];
    bool       stated;           /* what the model states of calls holds: its shortest sequence, and
                                  * what is unlike its training */
    bool       of_bases;         /* answers per token are of A, C, G and T, which turning round
                                  * makes T, G, C and A. The owner sets it */
    const cs_tree *tree;         /* calls are taxa of it; NULL: classes. The owner sets it where
                                  * cs_policy_taxa() says so */
} cs_policy;

/** cs_policy_taxa - are calls taxa, and may stop above the classes? */
bool cs_policy_taxa(const cs_call_args *calls, const cs_model *m);

/**
 * cs_policy_init - the options and what the model states, checked against each other
 *
 * calls    NULL: every answer is a call
 * m        must outlive the policy
 * Returns  CS_OK, or CS_EUSAGE with a sentence; CS_EMEM where windows shall fit and none does
 */
int cs_policy_init(cs_policy *p, const cs_policy_args *a, const cs_call_args *calls,
                   cs_model *m) CS_MUST_CHECK;

/** cs_policy_can_turn - can both strands be read? Answers per token need tokens that lie at the
 * same places on either */
bool cs_policy_can_turn(const cs_model *m);
/** cs_policy_check_turn - CS_OK, or CS_EUSAGE saying that they cannot */
int cs_policy_check_turn(const cs_model *m) CS_MUST_CHECK;

/** cs_policy_least - the least probability of a call of this class (0: of a taxon) of a sequence of
 * so many bases, beside --min-prob */
double cs_policy_least(const cs_policy *p, int64_t n_base, int32_t class_no);

/** cs_policy_doubt - why a sure call of this class stands no chance by what the model states, or
 * CS_REASON_NONE */
cs_reason cs_policy_doubt(const cs_policy *p, const cs_record *r, int32_t class_no);

/** cs_policy_longest - most bases of a sequence whose tokens the model takes for sure; 0: any, as
 * where sequences are cut */
int64_t cs_policy_longest(const cs_policy *p);

/** cs_policy_may_cut - would --long-sequence window make sequences shorter? Not where they are cut
 * already, nor where a prediction is for the whole of one */
bool cs_policy_may_cut(const cs_policy *p);

/** cs_policy_remedy - what would help a sequence for which there is no memory, as a clause: options
 * that the command has and that the model takes. device: short is the memory of a GPU */
const char *cs_policy_remedy(const cs_policy *p, bool device);

/** cs_policy_text - for summaries: "both strands, windows of 1000 bases". Returns buf */
const char *cs_policy_text(const cs_policy *p, char *buf, size_t n_buf);

/** cs_policy_load - tokens that a base of a long sequence becomes, at most: strands and overlap */
double cs_policy_load(const cs_policy *p);

#endif
