/* head.h - head interface: from token vectors to predictions and a loss. */
#ifndef CS_NN_HEAD_H
#define CS_NN_HEAD_H

#include "base/opt.h"
#include "batch/batch.h"
#include "nn/heads/composition.h"
#include "nn/heads/tree.h"
#include "nn/ops/ctx.h"

/* A head of two parts answers for a reference and an alternate sequence of one length, whose tokens
 * lie in sequence in a record. The encoder sees them apart, and the head gets the rows of
 * the first minus those of the second, as a record of half the tokens; or what `part` makes of the
 * rows. */
typedef struct cs_head {
    const char   *name, *summary;
    const cs_opt *opt;                         /* or NULL */
    size_t        cfg_size;
    int32_t       n_part;                      /* 2: see above; 0: one */
    int32_t       n_weight;                    /* that cs_step_opt.weight has; 0: n_out, with
                                                * is_labels two each: of its 0s, of its 1s */
    bool          is_class;                    /* answers are probabilities over n_out classes */
    bool          is_labels;                   /* or of n_out labels, any number of which hold:
                                                * targets are 0, 1 or NaN */
    bool          adds_labels;                 /* a record's loss is the sum over those that are
                                                * known, else that over n_out */
    bool          per_token;                   /* n_out of them for every token, whose targets are
                                                * a class each (CS_TARGET_TOKENS of batch.h) */
    int     (*check)(const void *cfg);         /* CS_OK, or CS_EUSAGE; NULL: all settings fit */
    /* Of a head of two parts: what is subtracted of a part's rows h: (n_seg, columns), or h */
    cs_mat  (*part)(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h);
    void   *(*build)(const void *cfg, int32_t width, int32_t n_out, cs_params *ps);
    /* Learn by the tree of its n_out classes, copied; before the first pass. Calls may then be taxa
     * above the classes. CS_OK, or CS_EMEM. NULL: classes are all that it knows */
    int     (*set_taxonomy)(void *net, const cs_tree *t);
    /* Bases of the words that the head counts beside what it sees, 0: none; and what words tokens
     * make, whose map it then owns. Both NULL: it never counts any */
    int32_t (*word)(const void *net);
    void    (*take_words)(void *net, cs_word_map words);
    int64_t (*answer_len)(const void *net, int64_t n_tok);   /* floats per record */
    int32_t (*n_target)(const void *net);      /* floats of a record's target; NULL: per_token */
    /* Raw values: (n_seg, n_out), or (n_tok, n_out) of predictions per token */
    cs_mat  (*forward)(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h);
    void    (*activate)(cs_ctx *cx, const void *net, cs_mat y);   /* raw to answer, in place */
    /* The same for one record on the host, its raw values divided by a temperature before: what
     * follows where several passes' raw values have been averaged. */
    void    (*decide)(const void *net, float *v, int64_t n, double temperature);
    /* Adds scale * (weighted sum over records of the loss) to cx->loss, on the tape. target
     * (n_seg, n_target), NaN entries masked, or of tokens (n_tok, 2): the class, NaN where masked,
     * and 1 / (number of the record's tokens that are not); weight (1, number of weights), or
     * absent. */
    void    (*loss)(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                    cs_real scale);
    /* does it use the mean over each segment only? NULL: no */
    bool    (*pools)(const void *net);
    /* Of a model to start from with other labels, are the layers before the last one taken over?
     * NULL: no */
    bool    (*keeps_hidden)(const void *net);
    /* The vector per segment that an answer is made of: the pooled rows, or (hidden) what its last
     * layer takes; n_vector is its width, 0 where there is no such. NULL: the head has neither. */
    cs_mat  (*vector)(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h, bool hidden);
    int32_t (*n_vector)(const void *net, bool hidden);
    void    (*release)(void *net);             /* accepts NULL */
} cs_head;

#endif
