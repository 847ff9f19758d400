/* chordseq.h - the public C interface: predictions of a model for sequences in memory.
 *
 *     chordseq_model *m;
 *     chordseq_call call;
 *     if (chordseq_open(NULL, NULL, &m) != CHORDSEQ_OK ||
 *         chordseq_classify(m, "ACGTTGCA...", n, NULL, &call) != CHORDSEQ_OK)
 *         puts(chordseq_last_error());
 *     else
 *         printf("%s %.6f\n", call.label, call.probability);
 *     chordseq_close(m);
 *
 * Link with `pkg-config --cflags --libs chordseq`. Predictions equal those of `chordseq classify`
 * and `chordseq embed` with the same model and options, bit for bit.
 *
 * Errors    A function that can fail returns CHORDSEQ_OK or a negative code, and sets the message
 *           of chordseq_last_error(). Outputs are then undefined. The library never writes to
 *           standard output or standard error, never ends the process, handles no signals and does
 *           not change the locale. Only an internal error calls abort(), as a failed assert() does.
 * Threads   A handle may be used by one thread at a time. Different handles, shared ones included
 *           (chordseq_share()), may be used at the same time. Functions that take a `const
 *           chordseq_model *` may be called by any thread at any time.
 * Ownership Arguments stay the caller's; no pointer to them is kept. Returned strings belong to the
 * handle and are valid until it is closed, unless stated otherwise.
 * Memory    Activations stay reserved between calls. Up to 64 MiB of other memory are kept in the
 *           process for the next call.
 */
#ifndef CHORDSEQ_H
#define CHORDSEQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CHORDSEQ_API __attribute__((visibility("default")))
#else
#define CHORDSEQ_API
#endif

/* Return values of functions. */
enum {
    CHORDSEQ_OK = 0,
    CHORDSEQ_EUSAGE = -1,     /* invalid argument or option, or one that does not fit the model */
    CHORDSEQ_EIO = -2,        /* a read failed */
    CHORDSEQ_EFORMAT = -3,    /* the model file is damaged, or a letter is not a nucleotide code */
    CHORDSEQ_EMEM = -4,       /* out of memory */
    CHORDSEQ_EDEVICE = -5,    /* the compute device failed, or does not exist */
    CHORDSEQ_EMODEL = -6      /* no such model, or one without predictions for sequences */
};

/* An open model: a handle. */
typedef struct chordseq_model chordseq_model;

/* The call of a sequence. */
typedef struct chordseq_call {
    int32_t     reason;       /* 0: there is a call; else the reason: chordseq_reason() */
    int32_t     class_no;     /* the class, from 0; -1: none, or a taxon above the classes */
    float       probability;  /* of the call, or of the best class without a call; NaN without a
                               * prediction */
    int64_t     taxid;        /* 0: none */
    const char *label;        /* name of class or taxon; "unclassified"; NULL: no classes */
    const char *rank;         /* of class or taxon, "no rank" if it has none; "" without a call */
} chordseq_call;

/** chordseq_version - of the library, such as "0.2.0"; valid forever */
CHORDSEQ_API const char *chordseq_version(void);

/** chordseq_cpu_count - processors that this process may use: the fewest of its affinity mask and
 * of the quotas of its control groups (a container's limit). 1 or more */
CHORDSEQ_API int chordseq_cpu_count(void);

/** chordseq_last_error - error message of this thread's last call, without a full stop; "" if it
 * succeeded. Valid until the thread's next call */
CHORDSEQ_API const char *chordseq_last_error(void);

/** chordseq_reason - name of a reason, as in `chordseq classify` ("too_short"); "." for 0, NULL for
 * an invalid number. Valid forever */
CHORDSEQ_API const char *chordseq_reason(int reason);

/**
 * chordseq_open - a model from its file
 *
 * path     NULL: the file named by the environment variable CHORDSEQ_MODEL, else the default model
 * option   NULL, or a NULL-terminated array of "NAME=VALUE". Names are those of `chordseq classify`
 *          under "Strands and long sequences" and "Calls" ("strand", "min-prob", ...), with the
 *          same defaults; "device" ("cpu") and "precision" ("auto"), as there, but for lists of
 *          devices; "threads" (1), the threads of one call
 * out      receives the handle, to be closed with chordseq_close(); NULL after an error
 * Returns  CHORDSEQ_OK, or any of the codes above
 */
CHORDSEQ_API int chordseq_open(const char *path, const char *const *option, chordseq_model **out);

/**
 * chordseq_share - another handle of the same model, for another thread
 *
 * Handles share the parameters. Handles may be closed in any order.
 *
 * Returns  CHORDSEQ_OK; CHORDSEQ_EMEM; CHORDSEQ_EDEVICE
 */
CHORDSEQ_API int chordseq_share(const chordseq_model *m, chordseq_model **out);

/**
 * chordseq_share_threads - the same with another number of threads per call
 *
 * threads  1 or more
 * Returns  as chordseq_share(); CHORDSEQ_EUSAGE
 */
CHORDSEQ_API int chordseq_share_threads(const chordseq_model *m, int threads,
                                        chordseq_model **out);

/** chordseq_close - free a handle, and the model with its last one; accepts NULL */
CHORDSEQ_API void chordseq_close(chordseq_model *m);

/** chordseq_n_output - values of a prediction: classes, labels, or regression targets; 0: the model
 * predicts per token, as pretrained ones do, and has only vectors here */
CHORDSEQ_API int32_t chordseq_n_output(const chordseq_model *m);
/** chordseq_output_name - of class or value i, from 0; NULL: there is none */
CHORDSEQ_API const char *chordseq_output_name(const chordseq_model *m, int32_t i);
/** chordseq_n_dim - length of the vectors of chordseq_embed(); 0: the model has none */
CHORDSEQ_API int32_t chordseq_n_dim(const chordseq_model *m);
/** chordseq_n_token_dim - length of the vectors of chordseq_embed_tokens() */
CHORDSEQ_API int32_t chordseq_n_token_dim(const chordseq_model *m);
/** chordseq_max_length - maximum bases of a sequence without splitting; 0: any */
CHORDSEQ_API int64_t chordseq_max_length(const chordseq_model *m);
/** chordseq_checksum - SHA-256 of the model's tensors in hex, as in `chordseq model show` */
CHORDSEQ_API const char *chordseq_checksum(const chordseq_model *m);

/**
 * chordseq_classify - one sequence
 *
 * base     [n_base] IUPAC codes, upper or lower case, U as T, '-', '.' and '*' as N, X as N; blanks
 *          are ignored. Need not end with a NUL byte
 * value    NULL, or receives [n_output] probabilities or values; NaN without a prediction
 * call     NULL, or receives the call
 * Returns  CHORDSEQ_OK, also for a sequence without a prediction, which has a reason;
 *          CHORDSEQ_EFORMAT naming letter and position; CHORDSEQ_EMEM; CHORDSEQ_EDEVICE;
 *          CHORDSEQ_EMODEL; CHORDSEQ_EUSAGE when the model predicts per token
 */
CHORDSEQ_API int chordseq_classify(chordseq_model *m, const char *base, size_t n_base,
                                   float *value, chordseq_call *call);

/**
 * chordseq_classify_many - the same for several at once, which is faster for short ones
 *
 * base     [n] sequences
 * n_base   [n] their lengths
 * value    NULL, or receives [n * n_output], sequence by sequence
 * call     NULL, or receives [n]
 *
 * A prediction does not depend on the other sequences. Messages count sequences from 0.
 */
CHORDSEQ_API int chordseq_classify_many(chordseq_model *m, const char *const *base,
                                        const size_t *n_base, size_t n, float *value,
                                        chordseq_call *call);

/**
 * chordseq_embed - the embedding of a sequence, the input of the model's head (`chordseq embed`)
 *
 * vector   receives [n_dim]; NaN without a prediction
 * reason   NULL, or receives 0 or why there is none
 * Returns  as chordseq_classify(); CHORDSEQ_EUSAGE when the model has no such vector
 */
CHORDSEQ_API int chordseq_embed(chordseq_model *m, const char *base, size_t n_base, float *vector,
                                int32_t *reason);

/** chordseq_embed_many - the same for n sequences; vector [n * n_dim], reason NULL or [n] */
CHORDSEQ_API int chordseq_embed_many(chordseq_model *m, const char *const *base,
                                     const size_t *n_base, size_t n, float *vector,
                                     int32_t *reason);

/** chordseq_max_tokens - maximum number of tokens of a sequence of n_base bases; more than n_base
 * with the tokenizers codon, orf and frames */
CHORDSEQ_API size_t chordseq_max_tokens(const chordseq_model *m, size_t n_base);

/**
 * chordseq_tokenize - the token ids of a sequence, forward, as `chordseq tokenize --format ids`
 *
 * id       receives *n_token ids; capacity chordseq_max_tokens()
 * Returns  CHORDSEQ_OK, also for no tokens; CHORDSEQ_EFORMAT; CHORDSEQ_EMEM
 */
CHORDSEQ_API int chordseq_tokenize(chordseq_model *m, const char *base, size_t n_base, int32_t *id,
                                   size_t *n_token);

/**
 * chordseq_token_text - text of a token, as in `chordseq tokenize`
 *
 * text     [n_text] receives it, truncated and NUL-terminated; "" if no token has this id
 */
CHORDSEQ_API void chordseq_token_text(const chordseq_model *m, int32_t id, char *text,
                                      size_t n_text);

/**
 * chordseq_embed_tokens - the encoder's vector for every token of one sequence, forward and whole
 *
 * n_token  their number, from chordseq_tokenize()
 * vector   receives [n_token * n_token_dim], token by token; NaN without a prediction
 * reason   NULL, or receives 0 or why there is none
 * Returns  as chordseq_classify(); CHORDSEQ_EUSAGE if the sequence has another number of tokens
 */
CHORDSEQ_API int chordseq_embed_tokens(chordseq_model *m, const char *base, size_t n_base,
                                       size_t n_token, float *vector, int32_t *reason);

/**
 * chordseq_windows - windows of a sequence under long-sequence=window; its prediction is their mean
 *
 * n_base   bases of the sequence
 * start, length  NULL both, or [n] receive base from 0, and bases, of each window in order
 * Returns  n, at least 1
 */
CHORDSEQ_API int64_t chordseq_windows(const chordseq_model *m, int64_t n_base, int64_t *start,
                                      int64_t *length);

#ifdef __cplusplus
}
#endif

#endif
