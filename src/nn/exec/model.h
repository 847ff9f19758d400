/* model.h - tokenizer, embedding, encoder and head as one thing that answers and learns. */
#ifndef CS_NN_MODEL_H
#define CS_NN_MODEL_H

#include "base/file.h"
#include "batch/batch.h"
#include "nn/encoders/encoder.h"
#include "nn/exec/calibration.h"
#include "nn/heads/head.h"
#include "tok/tokenizer.h"

/* One class (or regression target) of a model. */
typedef struct cs_label { char *name; int64_t taxid; char *rank; } cs_label;   /* taxid 0: none */

/* What a model is made of. The cfg pointers hold each implementation's options struct; texts that
 * they point to must outlive the model. */
typedef struct cs_model_spec {
    const cs_tokenizer *tok;     /* NULL: real-valued input of n_channel columns */
    const cs_encoder   *enc;
    const cs_head      *head;
    const void         *tok_cfg, *enc_cfg, *head_cfg;
    const char         *tok_text;/* what tok->save() gave, or NULL: open by options */
    bool                has_mask;/* there is a token for what is hidden: the tokenizer's [MASK], or
                                  * one more */
    int32_t             n_channel;
    const cs_label     *label;   /* copied */
    int32_t             n_label;
    uint64_t            seed;    /* initial parameters */
    bool                training;/* reserve gradient slabs */
    cs_ranks            ranks;   /* of its linear layers; zero: all are whole */
} cs_model_spec;

/* What the last pass computed, in backend memory, valid until the next one; for tests and
 * explanations. A prediction overwrites x. After a pass that learnt, cs_grad_of(&m->cx, x) is the
 * gradient of the embedded input; a reversible encoder leaves x there up to rounding, and encoded
 * is x again. A prediction with a head that pools may compute the means alone:
 * then x is absent and encoded holds a row per record, unless cx.no_mean asks for all rows. */
typedef struct cs_trace {
    cs_mat x, encoded, y;        /* y: the head's raw output */
    cs_mat alt;                  /* of a head of two parts: the second one's embedded input */
} cs_trace;

/* Host memory in which the parts of a head of two lie apart: all first ones, then all second. */
typedef struct cs_parts {
    int64_t *off;                /* [n_seg + 1] of either part's tokens */
    int32_t *tok;
    float   *x;
    size_t   n_off, n_tok, n_x;
} cs_parts;

/* One batch on its way through a device of its own memory (berths.c). */
typedef struct cs_berth_block { char *pinned, *device; size_t cap; } cs_berth_block;
typedef struct cs_berth {
    cs_berth_block in, out;
    int64_t       n;             /* reals of its answers */
    int64_t       n_tok;
    int32_t       n_seg, depth;
} cs_berth;

typedef struct cs_model {
    const cs_tokenizer *tok;
    const cs_encoder   *enc;
    const cs_head      *head;
    void               *tok_cfg, *enc_cfg, *head_cfg;   /* owned copies */
    void               *tok_state, *enc_net, *head_net;
    int32_t             n_channel;
    int32_t             width, in_width;    /* columns of the encoder's output and input */
    int32_t             mask;               /* the token for what is hidden; -1: there is none */
    int                 embed_w, embed_b;   /* tensors; embed_b is -1 for token input */
    cs_label           *label;
    int32_t             n_label;
    int64_t             window;             /* bases of a sequence it was trained on; 0: any */
    bool                both_strands;       /* what --strand model means: both, or forward */
    cs_precision        checked;            /* answers in it were compared with CS_IN_FP32's */
    bool                probing;            /* learning leaves embedding and encoder as they are */
    cs_calibration      calibration;        /* n 0: none */
    cs_arena           *text;               /* texts of a loaded model's options, or NULL */
    char               *training;           /* provenance, a JSON object as text, or NULL */
    char               *taxonomy;           /* the labels' tree, a JSON array as text, or NULL */
    char                sum[65];            /* SHA-256 of the stored tensors, hex; "" if unsaved */
    cs_backend         *be;                 /* not owned */
    cs_params           ps;
    cs_ctx              cx;
    cs_trace            trace;
    cs_parts            parts;
    cs_berth            berth[CS_BERTHS];
    struct cs_shapes   *shapes;             /* of the last steps that learnt, or NULL (graph.c) */
    bool                unchecked;             /* give out answers that are not finite, too */
    int64_t             not_finite;            /* the first value of the last answers that is not;
                                                * -1: all are */
    bool                is_twin;               /* the rest belongs to another model, */
    bool                is_copy;               /* but for the parameters' values */
} cs_model;

/**
 * cs_model_new - a model with initial parameters from the spec's seed
 *
 * Returns  CS_OK; CS_EUSAGE (settings that do not fit together); CS_EMEM
 */
int  cs_model_new(const cs_model_spec *spec, cs_backend *be, cs_model **out) CS_MUST_CHECK;
/** cs_model_declare - the same without memory for the parameters: to see names and shapes first */
int  cs_model_declare(const cs_model_spec *spec, cs_backend *be, cs_model **out) CS_MUST_CHECK;
void cs_model_free(cs_model *m);

/**
 * cs_model_adopt - take over another model's parameters, to go on learning from them
 *
 * The embedding and the encoder are taken as a whole; the head where both have the same labels and
 * it has the same tensors, else it keeps its initial values.
 *
 * Returns  CS_OK, or CS_EMODEL naming a tensor that `from` lacks or has in another shape
 * Memory   both in the same backend
 */
int  cs_model_adopt(cs_model *m, const cs_model *from) CS_MUST_CHECK;
/** cs_model_same_labels - have both the same head with the same labels in the same order? */
bool cs_model_same_labels(const cs_model *a, const cs_model *b);

/**
 * cs_model_twin - another model over the same parameters, to answer at the same time in another
 * thread
 *
 * m        cannot learn, and outlives the twin
 * be       of the same kind as m's; must outlive the twin
 * Returns  a model to be freed with cs_model_free()
 */
cs_model *cs_model_twin(const cs_model *m, cs_backend *be);

/**
 * cs_model_copy - a twin on another device, with parameters of its own
 *
 * m, be    as cs_model_twin() has them, but be may be of any kind
 * Returns  CS_OK; CS_EMEM; CS_EDEVICE
 */
int cs_model_copy(const cs_model *m, cs_backend *be, cs_model **out) CS_MUST_CHECK;

/** cs_model_n_token - rows of the embedding: the tokenizer's vocabulary, and the token for what is
 * hidden where that is one more. Models of tokens only */
int32_t cs_model_n_token(const cs_model *m);
/** cs_model_parts - sequences that lie one after the other in a record's tokens: 1 or 2 */
static inline int32_t cs_model_parts(const cs_model *m)
{
    return m->head->n_part > 1 ? m->head->n_part : 1;
}
/** cs_model_max_len - most tokens of a record; 0: any */
int64_t cs_model_max_len(const cs_model *m);
/** cs_model_answer_len - floats of a record's answer */
int64_t cs_model_answer_len(const cs_model *m, int64_t n_tok);
/** cs_model_answers_len - floats of a batch's answers; a record's follow those of the one before */
int64_t cs_model_answers_len(const cs_model *m, const cs_batch *b);
/** cs_model_n_weight - floats of cs_learn.weight */
static inline int32_t cs_model_n_weight(const cs_model *m)
{
    return m->head->n_weight ? m->head->n_weight : (m->head->is_labels ? 2 : 1) * m->n_label;
}
/** cs_model_n_target - floats of a record's target, or CS_TARGET_TOKENS */
int32_t cs_model_n_target(const cs_model *m);

/**
 * cs_model_reserve - find by a dry run what a batch of this shape needs, and make room for it
 *
 * Returns  CS_OK, or CS_EMEM saying how many bytes for how many tokens; what would help depends on
 *          the command, which adds it
 */
int cs_model_reserve(cs_model *m, int64_t n_tok, int32_t n_seg, int32_t depth, bool training)
    CS_MUST_CHECK;
/** cs_model_memory - bytes of activations for such a batch (the dry run's peak). Here and in
 * cs_model_reserve(), cx.keep says what training keeps of the blocks */
int64_t cs_model_memory(cs_model *m, int64_t n_tok, int32_t n_seg, int32_t depth, bool training);

/**
 * cs_model_predict - answers for every record of a batch
 *
 * out      [answers_len] probabilities or values; host memory
 * Returns  CS_OK; CS_EMEM; CS_EDEVICE with the batch's shape. An answer that is not finite is
 *          CS_EMODEL, with its place in m->not_finite
 * Thread   one at a time per model
 */
int cs_model_predict(cs_model *m, const cs_batch *b, float *out) CS_MUST_CHECK;

/** cs_model_raw - the same before they are made probabilities: what may be averaged */
int cs_model_raw(cs_model *m, const cs_batch *b, float *out) CS_MUST_CHECK;

/**
 * cs_model_start, cs_model_finish - the same in two halves, on a backend with berths (backend.h):
 * a batch's copies go beside the computing of another
 *
 * start    b in a berth that no batch is in; when it has returned, b is not needed any more. The
 *          errors of cs_model_predict() but for CS_EDEVICE; the berth is then empty
 * finish   waits, and empties the berth. out as that of cs_model_predict(), or of cs_model_raw()
 */
int cs_model_start(cs_model *m, int berth, const cs_batch *b, bool raw) CS_MUST_CHECK;
int cs_model_finish(cs_model *m, int berth, float *out) CS_MUST_CHECK;

/** cs_model_strandless - does a sequence's answer not depend on its strand, but for rounding? */
bool cs_model_strandless(const cs_model *m);

/* What a training pass needs beside the batch. */
typedef struct cs_learn {
    const float *weight;         /* [cs_model_n_weight] of classes or labels, or NULL */
    double       scale;          /* multiplies the summed loss: 1 / (weights of the whole step) */
    uint64_t     key;            /* dropout masks */
    int32_t      keep;           /* CS_KEEP_ALL, or the inputs of so many blocks of a stack; less
                                  * where that does not fit (cs_plan_keep()), which cx.keep tells */
} cs_learn;

/**
 * cs_model_learn - forward, loss and backward for one batch; gradients are added to ps.grad
 *
 * loss     receives the batch's scaled loss
 * out      [answers_len] raw outputs activated, or NULL (training metrics)
 */
int cs_model_learn(cs_model *m, const cs_batch *b, const cs_learn *l, double *loss, float *out)
    CS_MUST_CHECK;

/* ---- model files (model_io.c): safetensors, DESIGN 5.4 ------------------------------------ */

/** cs_model_load - map a file, check everything in it, build the model. `training` as in the spec.
 * CS_EIO, CS_EFORMAT (not a model or damaged, with what and where), CS_EMODEL (a model this version
 * cannot run: unknown encoder, tokenizer, option) */
int cs_model_load(const char *path, cs_backend *be, bool training, cs_model **out) CS_MUST_CHECK;
/** cs_model_parse - the same from n bytes in memory; `what` names them in messages */
int cs_model_parse(const void *p, size_t n_bytes, const char *what, cs_backend *be, bool training,
                   cs_model **out) CS_MUST_CHECK;
/** cs_model_write - into an open file, m->sum told anew; errors as cs_model_save() */
int cs_model_write(cs_model *m, bool ema, cs_outfile *f) CS_MUST_CHECK;
/** cs_model_check_labels - can they be written? CS_EFORMAT naming one that is not UTF-8 */
int cs_model_check_labels(const cs_label *label, int32_t n) CS_MUST_CHECK;
/** cs_model_save - written aside and renamed. `ema`: store the averaged weights instead */
int cs_model_save(cs_model *m, const char *path, bool ema) CS_MUST_CHECK;
/** cs_model_find_default - path of --model, else CHORDSEQ_MODEL, else that of the source tree which
 * the program lies in, else the installed one; CS_EMODEL with what to do when
 * there is none. buf receives the path */
int cs_model_find_default(const char *opt, char *buf, size_t n_buf) CS_MUST_CHECK;
/** cs_model_find - the same where another file comes with the command, "model/NAME" */
int cs_model_find(const char *opt, const char *file, char *buf, size_t n_buf) CS_MUST_CHECK;

#endif
