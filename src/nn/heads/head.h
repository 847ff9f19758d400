/* head.h - head interface: from token vectors to predictions and a loss. */
#ifndef CS_NN_HEAD_H
#define CS_NN_HEAD_H

#include "base/opt.h"
#include "batch/batch.h"
#include "nn/heads/composition.h"
#include "nn/heads/tree.h"
#include "nn/ops/ctx.h"

/* A head of two parts predicts for a reference and an alternate sequence of one length, whose
 * tokens are concatenated in a record. The encoder runs on each, and the head gets the rows of the
 * first minus those of the second, as a record of half the tokens; or the difference of `part`'s
 * results, of which cx->first is the first. */
typedef struct cs_head {
    const char   *name;
    const cs_opt *opt;                         /* or NULL */
    size_t        cfg_size;
    int32_t       n_part;                      /* 2: see above; 0: one */
    int32_t       n_weight;                    /* length of cs_step_opt.weight; 0: n_out, with
                                                * is_labels two each: of its 0s, of its 1s */
    bool          is_class;                    /* predictions are probabilities over n_out
                                                * classes */
    bool          is_labels;                   /* or of n_out labels, not mutually exclusive:
                                                * targets are 0, 1 or NaN */
    bool          adds_labels;                 /* a record's loss is the sum over known labels;
                                                * false: that sum divided by n_out */
    bool          per_token;                   /* n_out of them for every token, whose targets are
                                                * a class each (CS_TARGET_TOKENS of batch.h) */
    int     (*check)(const void *cfg);         /* CS_OK, or CS_EUSAGE; NULL: all settings are
                                                * valid */
    /* Heads of two parts only: the operand of the difference for a part's rows h, (n_seg, columns)
     * or h itself */
    cs_mat  (*part)(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h);
    void   *(*build)(const void *cfg, int32_t width, int32_t n_out, cs_params *ps);
    /* Train on the tree of its n_out classes, copied; before the first pass. Calls may then be
     * higher taxa. CS_OK, or CS_EMEM. NULL: classes only */
    int     (*set_taxonomy)(void *net, const cs_tree *t);
    /* Bases of the words of the composition path, 0: none; and the map from tokens to words, which
     * the head then owns. Both NULL: no such path */
    int32_t (*word)(const void *net);
    void    (*take_words)(void *net, cs_word_map words);
    int64_t (*output_len)(const void *net, int64_t n_tok);   /* floats per record */
    int32_t (*n_target)(const void *net);      /* floats of a record's target; NULL: per_token */
    /* Raw values: (n_seg, n_out), or (n_tok, n_out) of predictions per token */
    cs_mat  (*forward)(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h);
    void    (*activate)(cs_ctx *cx, const void *net, cs_mat y);   /* raw values to predictions, in
                                                                   * place */
    /* The same for one record on the host, with raw values divided by a temperature: used after
     * averaging raw values of several passes. */
    void    (*decide)(const void *net, float *v, int64_t n, double temperature);
    /* Adds scale * (weighted sum over records of the loss) to cx->loss, on the tape. target
     * (n_seg, n_target), NaN entries masked, or of tokens (n_tok, 2): the class, NaN where masked,
     * and 1 / (number of the record's tokens that are not); weight (1, number of weights), or
     * absent. Values, which are neither classes nor labels, may be standardized, and predictions
     * are converted back after activate() and decide(). */
    void    (*loss)(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                    cs_real scale);
    /* does it use the mean over each segment only? NULL: no */
    bool    (*pools)(const void *net);
    /* With --init and other labels, are the layers before the last one copied? NULL: no */
    bool    (*keeps_hidden)(const void *net);
    /* The vector per segment before the output: the pooled rows, or (hidden) the last layer's
     * input; n_vector is its width, 0 if absent. NULL: the head has neither. */
    cs_mat  (*vector)(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h, bool hidden);
    int32_t (*n_vector)(const void *net, bool hidden);
    void    (*release)(void *net);             /* accepts NULL */
} cs_head;

#endif
