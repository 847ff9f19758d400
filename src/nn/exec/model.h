/* model.h - tokenizer, embedding, encoder and head with their settings and weights.
 *
 * A model has no run state: any number of sessions (nn/exec/session.h) compute with it at once.
 * After loading, only training changes it: a session adds to its gradients, an optimiser step
 * changes its weights, and no other session may run meanwhile.
 */
#ifndef CS_NN_MODEL_H
#define CS_NN_MODEL_H

#include "base/outfile.h"
#include "batch/batch.h"
#include "nn/encoders/encoder.h"
#include "nn/exec/calibration.h"
#include "nn/exec/lookup.h"
#include "nn/exec/proteins.h"
#include "nn/heads/head.h"
#include "tok/tokenizer.h"

/* Output of a session: the head's predictions, the pooled rows before them, the input of the last
 * layer, or the head's input: the encoder's row for every token. */
typedef enum cs_head_output {
    CS_HEAD_PREDICTION, CS_HEAD_POOLED, CS_HEAD_HIDDEN, CS_HEAD_TOKENS
} cs_head_output;

/* One class (or regression target) of a model. */
typedef struct cs_label {
    char   *name;
    int64_t taxid;               /* 0: none */
    char   *rank, *description;  /* NULL: none */
    double  mean, deviation;     /* of a regression target: the head predicts (value - mean) /
                                  * deviation; deviation 0: the value itself */
} cs_label;

/* Components of a model. The cfg pointers hold each implementation's options struct; strings that
 * they point to must outlive the model. */
typedef struct cs_model_spec {
    const cs_tokenizer *tok;     /* NULL: real-valued input of n_channel columns */
    const cs_encoder   *enc;
    const cs_head      *head;
    const void         *tok_cfg, *enc_cfg, *head_cfg;
    const char         *tok_text;/* result of tok->save(), or NULL: open by options */
    bool                has_mask;/* there is a mask token: the tokenizer's [MASK], or an additional
                                  * one */
    int32_t             n_channel;
    const cs_label     *label;   /* copied */
    int32_t             n_label;
    uint64_t            seed;    /* initial parameters */
    bool                training;/* reserve gradient slabs */
    cs_ranks            ranks;   /* of its linear layers; zero: all have full rank */
} cs_model_spec;

/* Prediction of a sequence: that of the given strand, the mean of both strands' logits, the maximum
 * of each value, for labels on one strand, or the mean weighted by the softmax over the strands of
 * the last label's logits, if that label is the strand. */
typedef enum cs_strands {
    CS_STRANDS_FORWARD, CS_STRANDS_BOTH, CS_STRANDS_MAX, CS_STRANDS_WEIGHTED
} cs_strands;
extern const char *const cs_strands_names[];   /* by cs_strands; NULL-terminated */

typedef struct cs_model {
    const cs_tokenizer *tok;
    const cs_encoder   *enc;
    const cs_head      *head;
    void               *tok_cfg, *enc_cfg, *head_cfg;   /* owned copies */
    void               *tok_state, *enc_net, *head_net;
    int32_t             n_channel;
    int32_t             width, in_width;    /* columns of the encoder's output and input */
    int32_t             mask;               /* the mask token; -1: none */
    int                 embed_w, embed_b;   /* tensors; embed_b is -1 for token input */
    cs_label           *label;
    int32_t             n_label;
    int64_t             window;             /* bases of training windows; 0: any */
    cs_strands          strands;            /* default of --strand */
    bool                demonstration;      /* made to show how, not for real data */
    cs_precision        checked;            /* precision whose predictions were validated against
                                             * CS_IN_FP32 */
    cs_calibration      calibration;        /* n 0: none */
    cs_lookup          *lookup;             /* of peptide words, or NULL */
    cs_proteins        *proteins;           /* a database, or NULL */
    bool                compact;            /* cs_model_write() leaves out idle tensors, and stores
                                             * matrices in bf16 */
    cs_arena           *text;               /* option strings of a loaded model, or NULL */
    int32_t             n_stored;           /* tensors in its file; 0: it was not read from one */
    char               *training;           /* provenance, a JSON object as text, or NULL */
    char               *taxonomy;           /* the labels' tree, a JSON array as text, or NULL */
    char                sum[65];            /* SHA-256 of the stored tensors, hex; "" if unsaved */
    cs_backend         *be;                 /* backend that holds the parameters; not owned */
    cs_params           ps;                 /* with `training` also gradients, moments, average */
} cs_model;

/**
 * cs_model_new - a model with initial parameters from the spec's seed
 *
 * Returns  CS_OK; CS_EUSAGE (incompatible settings); CS_EMEM
 */
int  cs_model_new(const cs_model_spec *spec, cs_backend *be, cs_model **out) CS_MUST_CHECK;
/** cs_model_declare - the same without memory for the parameters, to inspect names and shapes */
int  cs_model_declare(const cs_model_spec *spec, cs_backend *be, cs_model **out) CS_MUST_CHECK;
void cs_model_free(cs_model *m);

/** cs_model_keeps_hidden - does cs_model_adopt() copy the head's layers before the last one for any
 * labels? */
bool cs_model_keeps_hidden(const cs_model *m);

/**
 * cs_model_adopt - copy another model's parameters, to continue training
 *
 * Copies embedding and encoder, and the head if both have the same labels and head tensors, unless
 * it shall be new; else the head keeps its initial values. A copied head keeps the means and
 * deviations of its labels.
 *
 * Returns  CS_OK, or CS_EMODEL naming a tensor that `from` lacks or has in another shape
 * Memory   both in the same backend
 */
int  cs_model_adopt(cs_model *m, const cs_model *from, bool new_head) CS_MUST_CHECK;
/** cs_model_same_labels - do both have the same head with the same labels in the same order? */
bool cs_model_same_labels(const cs_model *a, const cs_model *b);

/**
 * cs_model_like - a model with the settings and labels of another one, and its own parameters
 *
 * ranks    of its linear layers; {0}: all have full rank
 * be       of any kind
 * Returns  CS_OK; CS_EMEM; CS_EDEVICE. Parameters are zero; data derived from trained ones
 *          (calibration, validated precision, checksum) is empty
 * Memory   m must outlive it
 */
int cs_model_like(const cs_model *m, cs_ranks ranks, cs_backend *be, cs_model **out) CS_MUST_CHECK;

/** cs_model_copy - the same model on another device, for prediction; errors and memory as
 * cs_model_like() */
int cs_model_copy(const cs_model *m, cs_backend *be, cs_model **out) CS_MUST_CHECK;

/** cs_model_n_token - rows of the embedding: the tokenizer's vocabulary, plus an additional mask
 * token. Models of tokens only */
int32_t cs_model_n_token(const cs_model *m);
/** cs_model_parts - sequences concatenated in a record's tokens: 1 or 2 */
static inline int32_t cs_model_parts(const cs_model *m)
{
    return m->head->n_part > 1 ? m->head->n_part : 1;
}
/** cs_model_n_score - labels of a variant model without the one that only weights strands */
int32_t cs_model_n_score(const cs_model *m);
/** cs_model_reads_case - has the case of bases a meaning for its tokenizer? */
bool cs_model_reads_case(const cs_model *m);
/** cs_model_max_len - maximum tokens of a record; 0: any */
int64_t cs_model_max_len(const cs_model *m);
/** cs_model_output_len - floats of the head's output for a record of n_tok tokens */
int64_t cs_model_output_len(const cs_model *m, cs_head_output what, int64_t n_tok);
/** cs_model_check_output - CS_OK, or CS_EUSAGE if the head has no such vector */
int cs_model_check_output(const cs_model *m, cs_head_output what) CS_MUST_CHECK;
/** cs_model_n_weight - floats of cs_step_opt.weight */
static inline int32_t cs_model_n_weight(const cs_model *m)
{
    return m->head->n_weight ? m->head->n_weight : (m->head->is_labels ? 2 : 1) * m->n_label;
}
/** cs_model_n_target - floats of a record's target, or CS_TARGET_TOKENS */
int32_t cs_model_n_target(const cs_model *m);

/** cs_model_is_standardized - does the head predict a standardized value for any label? */
bool cs_model_is_standardized(const cs_model *m);
/** cs_model_destandardize - predictions [n * n_label] in the units of the values, in place; those
 * of labels that are not standardized stay */
void cs_model_destandardize(const cs_model *m, float *output, int64_t n);
/** cs_model_decide - the head's `decide` for v [n], n a multiple of n_label except per token, and
 * values in their units */
void cs_model_decide(const cs_model *m, float *v, int64_t n, double temperature);
/** cs_label_standardize - what the head should predict for a value; NaN stays NaN */
static inline double cs_label_standardize(const cs_label *l, double value)
{
    return l->deviation > 0 ? (value - l->mean) / l->deviation : value;
}
/** cs_label_destandardize - its inverse */
static inline double cs_label_destandardize(const cs_label *l, double output)
{
    return l->deviation > 0 ? output * l->deviation + l->mean : output;
}

/** cs_model_takes_lookup - does it classify nucleotide sequences, with few enough classes for a
 * look-up table? */
bool cs_model_takes_lookup(const cs_model *m);
/** cs_model_takes_proteins - the same for a protein database */
bool cs_model_takes_proteins(const cs_model *m);
/** cs_model_has_evidence - does a table or a database add to its logits? */
static inline bool cs_model_has_evidence(const cs_model *m)
{
    return m->lookup != NULL || m->proteins != NULL;
}

/** cs_model_strandless - is a sequence's prediction independent of its strand, except for
 * rounding? */
bool cs_model_strandless(const cs_model *m);

/** cs_model_takes_counts - can a prediction be computed from the occurrences of each token
 * (cs_batch.count)? */
bool cs_model_takes_counts(const cs_model *m);

/* ---- model files (model_io.c): safetensors ------------------------------------------------ */

/* Training, and gradients of the input, need slabs for gradients. */
typedef enum cs_model_use { CS_USE_INFERENCE, CS_USE_TRAINING } cs_model_use;

/** cs_model_load - map a file, validate it, build the model for a use. A compact file makes a
 * compact model, except for training; missing idle tensors get initial values. CS_EIO, CS_EFORMAT
 * (not a model or damaged, with details), CS_EMODEL (a model this version cannot run: unknown
 * encoder, tokenizer, option) */
int cs_model_load(const char *path, cs_backend *be, cs_model_use use, cs_model **out) CS_MUST_CHECK;
/** cs_model_parse - the same from n bytes in memory; `what` names them in messages */
int cs_model_parse(const void *p, size_t n_bytes, const char *what, cs_backend *be,
                   cs_model_use use, cs_model **out) CS_MUST_CHECK;
/** cs_model_write - into an open file, setting m->sum; errors as cs_model_save() */
int cs_model_write(cs_model *m, cs_outfile *f) CS_MUST_CHECK;
/** cs_model_weight_bytes - of the parameters' tensors in its file */
int64_t cs_model_weight_bytes(const cs_model *m);
/** cs_model_check_labels - can they be written? CS_EFORMAT naming one that is not UTF-8 or has
 * control characters */
int cs_model_check_labels(const cs_label *label, int32_t n) CS_MUST_CHECK;
/** cs_model_save - through a temporary file; ps.value, not the averages in ps.ema */
int cs_model_save(cs_model *m, const char *path) CS_MUST_CHECK;
/** cs_model_installed - names of the models that come with the program, NULL at the end */
extern const char *const cs_model_installed[];
/** cs_model_find_default - path of --model, else of CHORDSEQ_MODEL, else of the default model that
 * comes with the program (cs_data_find())
 *
 * --model and CHORDSEQ_MODEL may name a model that comes with the program, such as "fast", unless a
 * file has that name, or a folder with a model.safetensors. buf receives the path. Returns CS_OK;
 * CS_EMODEL with what to do; CS_EIO for a folder without such a file
 */
int cs_model_find_default(const char *opt, char *buf, size_t n_buf) CS_MUST_CHECK;
/** cs_model_find - the same for a command with another default, "model/NAME" */
int cs_model_find(const char *opt, const char *file, char *buf, size_t n_buf) CS_MUST_CHECK;

/** cs_model_check_cells - CS_OK, or CS_EUSAGE for a model that predicts per token, but whose tokens
 * are not those of single bases: it can be pretrained, and start others */
int cs_model_check_cells(const cs_model *m) CS_MUST_CHECK;

/** cs_model_predicts_masked - was it pretrained by masking, and not trained for labels since? */
bool cs_model_predicts_masked(const cs_model *m);
/** cs_model_check_masked - CS_OK, or CS_EMODEL for a model that was not pretrained by masking;
 * `what` names it */
int cs_model_check_masked(const cs_model *m, const char *what) CS_MUST_CHECK;

#endif
