/* pooled.h - parts of heads: layers over tokens, pooling, output layer. */
#ifndef CS_NN_POOLED_H
#define CS_NN_POOLED_H

#include "base/opt.h"
#include "nn/heads/composition.h"
#include "nn/heads/pooling.h"
#include "nn/ops/cdil.h"

/* Options of a head; its cfg is this struct. */
typedef struct cs_pooled_cfg {
    int     predictor, predictor_norm, norm, compare;
    const char *pool;
    int64_t layers, kernel, channels;    /* of the predictor */
    int64_t centre, hidden;
    double  dropout;
    double  ancestors;                   /* of the head tree */
    int64_t word, word_channels, word_hidden;    /* of the composition path; word 0: none */
    double  word_dropout, word_skip;
} cs_pooled_cfg;
extern const cs_opt cs_pooled_opt[];

typedef struct cs_pooled {
    cs_pooled_cfg cfg;
    cs_cdil      *predictor;     /* or NULL */
    cs_pooling    pooling;
    cs_composition *composition; /* or NULL */
    cs_norm       norm;
    cs_linear     fc, out;       /* fc only with cfg.hidden > 0 */
    int           context;       /* weights of the first sequence, with --head.compare context */
    bool          is_variant;    /* of a head of two parts; set by that head */
    int32_t       n_in;          /* channels of a token */
    int32_t       width;         /* width of the pooled vector */
    int32_t       n_level;       /* of the classes' tree; 0: none */
    cs_real      *group, *share; /* [n_level * n_out] as in cs_clades, host memory */
} cs_pooled;

/** cs_pooled_check - CS_OK, or CS_EUSAGE naming the invalid setting (a head's `check`) */
int cs_pooled_check(const void *cfg);
/** cs_pooled_check_tree - the same for the head with a tree of classes */
int cs_pooled_check_tree(const void *cfg);
/** cs_pooled_check_rows - the same for a head with predictions per token, without pooling */
int cs_pooled_check_rows(const void *cfg);

/** cs_pooled_check_variant - the same for the head variant */
int cs_pooled_check_variant(const void *cfg);

/** cs_pooled_new - declares "head.predictor.0..." (with such), "head.norm" (unless none), "head.fc"
 * (with cfg->hidden > 0) and "head", the latter two linear layers, "head.context.weight" (to
 * compare by context), "head.pool" of attention, and the composition path (with cfg->word), with
 * which "head" begins at zero. width: channels of a token, n_out: values of a prediction */
cs_pooled *cs_pooled_new(const cs_pooled_cfg *cfg, int32_t width, int32_t n_out, cs_params *ps);
/** cs_pooled_build - the same (a head's `build`) */
void      *cs_pooled_build(const void *cfg, int32_t width, int32_t n_out, cs_params *ps);
/** cs_pooled_free - accepts NULL (a head's `release`) */
void       cs_pooled_free(void *pooled);

/** cs_pooled_apply - the predictor if there is one, one vector for each segment, the normalisation
 * and the hidden layer (linear, GELU, dropout) if there are such, the linear layer. Shapes h (N,
 * width), which may be overwritten when not training; returns (n_seg, n_out) */
cs_mat cs_pooled_apply(cs_ctx *cx, const void *pooled, cs_seg seg, cs_mat h);
/** cs_pooled_infer - the layers after pooling, or the last layer for differences of hidden layers.
 * Shapes x (n_seg, p->width), or (n_seg, cfg.hidden) */
cs_mat cs_pooled_infer(cs_ctx *cx, const cs_pooled *p, cs_seg seg, cs_mat x);

/** cs_pooled_by_part - of a head of two parts: does it pool before subtracting? */
bool   cs_pooled_by_part(const cs_pooled *p);
/** cs_pooled_by_hidden - of a head of two parts: does it subtract hidden layers? --init then copies
 * those layers (a head's `keeps_hidden`) */
bool   cs_pooled_by_hidden(const void *pooled);
/** cs_pooled_part - a head's `part` */
cs_mat cs_pooled_part(cs_ctx *cx, const void *pooled, cs_seg seg, cs_mat h);

/** cs_pooled_rows - the same without pooling: a prediction for every token; returns (N, n_out) */
cs_mat cs_pooled_rows(cs_ctx *cx, const cs_pooled *p, cs_seg seg, cs_mat h);

/** cs_pooled_decide - a head's `decide` for the n classes of one prediction: softmax of the raw
 * values over the temperature */
void cs_pooled_decide(float *v, int64_t n, double temperature);

/** cs_pooled_output_len - a head's `output_len`: a value for each output */
int64_t cs_pooled_output_len(const void *pooled, int64_t n_tok);
/** cs_pooled_class, cs_pooled_softmax, cs_pooled_decide_class - `n_target`, `activate` and `decide`
 * of heads with one class per sequence */
int32_t cs_pooled_class(const void *pooled);
void    cs_pooled_softmax(cs_ctx *cx, const void *pooled, cs_mat y);
void    cs_pooled_decide_class(const void *pooled, float *v, int64_t n, double temperature);

/** cs_pooled_labels, cs_pooled_sigmoid, cs_pooled_decide_labels - `n_target`, `activate` and
 * `decide` of heads with labels that are not mutually exclusive: a probability each */
int32_t cs_pooled_labels(const void *pooled);
void    cs_pooled_sigmoid(cs_ctx *cx, const void *pooled, cs_mat y);
void    cs_pooled_decide_labels(const void *pooled, float *v, int64_t n, double temperature);

/** cs_pooled_vector, cs_pooled_n_vector - a head's `vector` and `n_vector` */
cs_mat  cs_pooled_vector(cs_ctx *cx, const void *pooled, cs_seg seg, cs_mat h, bool is_hidden);
int32_t cs_pooled_n_vector(const void *pooled, bool is_hidden);

/** cs_pooled_word, cs_pooled_take_words - a head's `word` and `take_words` */
int32_t cs_pooled_word(const void *pooled);
void    cs_pooled_take_words(void *pooled, cs_word_map words);

/** cs_pooled_by_mean - does it use only the mean over each segment? (a head's `pools`) */
bool cs_pooled_by_mean(const void *pooled);

/* Members of the cs_head of every head with a cs_pooled, and of one with a vector per segment. */
#define CS_POOLED_NET \
    .opt = cs_pooled_opt, .cfg_size = sizeof(cs_pooled_cfg), .release = cs_pooled_free
#define CS_POOLED_HEAD \
    CS_POOLED_NET, .build = cs_pooled_build, .forward = cs_pooled_apply, .word = cs_pooled_word, \
    .take_words = cs_pooled_take_words, .output_len = cs_pooled_output_len, \
    .pools = cs_pooled_by_mean, .vector = cs_pooled_vector, .n_vector = cs_pooled_n_vector

#endif
