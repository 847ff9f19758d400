/* golden_attn.h - an encoder or sublayer under the golden test, apart from any model. */
#ifndef CS_TESTS_GOLDEN_ATTN_H
#define CS_TESTS_GOLDEN_ATTN_H

#include "golden.h"
#include "nn/encoders/attention.h"

/* Torch's name of a parameter and ours, each with one %d at most, the same one. */
typedef struct rename { const char *theirs, *ours; } rename_rule;

enum { MAX_LAYER = 64 };

/* One file's network. Rows are those of the file, padding included (n_valid). */
typedef struct subject {
    golden           *g;
    cs_params         ps;
    cs_ctx            cx;
    const rename_rule *rules;
    const cs_encoder *enc;
    void             *net;       /* of enc */
    cs_sub_fn         sub;       /* without an encoder: a sublayer, with its struct in `part` */
    union { cs_mha mha; cs_ffn ffn; cs_linformer linformer; cs_fkernel fkernel; } part;
    bool              has_residual; /* the sublayer's residual and norm belong to it */
    cs_sublayer         wrap;
    int               table;     /* embedding of tokens, or -1 */
    cs_proj           logits;    /* n_out > 0: a prediction per token */
    double            aux;       /* what multiplies the regulariser in the file's loss */
    cs_seg            seg, key;  /* key: other rows that the sublayer looks at; n = 0: none */
    int64_t          *off, *n_valid, *key_off, *key_valid;
    int32_t          *tok;
    cs_mat            x, z, encoded, y;   /* of the last pass */
    double            score_scale;        /* of the scores computed from observed q and k */
    cs_mat            q;         /* as observed last */
    bool              classifier;         /* Singularformer's: pooled, fc, norm, ReLU, logits */
    cs_proj           fc;
    cs_norm           norm;
    cs_mat            pooled, scores;     /* scores: those observed last */
    double            own_loss;           /* the encoder's regularisers in the last pass */
    double            loss[3 * MAX_LAYER];   /* as the file has them, of n_loss layers */
    int32_t           n_loss;
} subject;

/** subject_open - from the file's config; CS_EUSAGE for unknown settings */
int subject_open(subject *s, golden *g) CS_MUST_CHECK;
void subject_close(subject *s);

/** subject_note - compares named values of encoders (a cs_value_hook); `arg` is the subject */
void subject_note(void *arg, const char *what, int32_t layer, cs_mat m);
/** compare_heads - output NAME, [B, H, L, d] in the file, against (B * L, H * d); masked: the file
 * has zeros in rows of padding */
void compare_heads(subject *s, const char *name, cs_mat m, bool masked);

/** singular_declare, singular_classify - the classifier: its parameters; logits of the encoded.
 * singular_note, singular_compare - the regularisers of every layer, as observed; against the
 * file */
void   singular_declare(subject *s, const json_t *args);
cs_mat singular_classify(subject *s);
void   singular_note(subject *s, const char *what, int32_t layer, cs_mat m);
void   singular_compare(subject *s);

/** compare_fetched - output NAME, if the file has it, against values in its order */
void compare_fetched(golden *g, const char *name, const double *v);

#endif
