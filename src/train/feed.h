/* feed.h - thread that prepares batches during training steps. */
#ifndef CS_TRAIN_FEED_H
#define CS_TRAIN_FEED_H

#include "base/queue.h"
#include "batch/batch.h"
#include "train/sampler.h"
#include "train/steps.h"

/* A batch for the network. */
typedef struct cs_feed_item {
    cs_batch *batch;
    cs_part   part;              /* CS_PART_TRAIN or CS_PART_VALID */
    int64_t   epoch, step;       /* step within the epoch (training) */
    double    scale;             /* 1 / (weights of the step's records); 0: none counts */
    int64_t   n_base;            /* of its samples: bases, or positions of real values */
    bool      first;             /* the first batch of its step */
    bool      step_end;          /* the last batch of its step */
    bool      epoch_end;         /* last item of this epoch, including validation */
    uint64_t  no;                /* of the batch in its step, for its random numbers */
    int       owner;             /* the rank that computes it */
} cs_feed_item;

/* The producing stage: epochs from (epoch, step) on, each followed by the validation samples. */
typedef struct cs_feed {
    /* Functions of another kind of feed, which begins with this struct; NULL: cs_feed_run() and
     * cs_steps_plan() */
    int         (*run)(void *self, cs_queue *in, cs_queue *out);
    int         (*step_count)(const struct cs_feed *f, int64_t epoch, int64_t *n);
    double        valid_bases;   /* with `run`: of the validation samples, at most */
    const cs_sampler *train, *valid;   /* valid NULL: none */
    cs_batch_rules rules;
    const float  *weight;        /* [n_class] or NULL */
    int64_t       epoch, step;   /* start of the feed */
    int64_t       n_epoch;
    int64_t       n_left;        /* steps until the run's limit; INT64_MAX: none */
    int           rank, n_rank;  /* rank to feed; n_rank 0: all */
    /* Epochs before this one have no further step: their validation is next. The training stage
     * sets it while the feed runs, and drops their remaining items. */
    _Atomic int64_t cut;
} cs_feed;

/* Has the training stage ended the epoch, so that its further items of the part are dropped? */
static inline bool cs_feed_is_cut(const cs_feed *f, cs_part part, int64_t epoch)
{
    return part == CS_PART_TRAIN && epoch < atomic_load(&f->cut);
}

/* The batches of a step are dealt to the ranks in turn: the content of a step and the random
 * numbers of a batch do not depend on the number of ranks. A rank gets its own batches, rank 0 also
 * all validation batches (for their targets), and each gets the end of every step, with an empty
 * batch if necessary. */
static inline int cs_feed_owner(const cs_feed *f, int64_t batch)
{
    return f->n_rank > 1 ? (int)(batch % f->n_rank) : f->rank;
}
static inline bool cs_feed_wants(const cs_feed *f, cs_part part, int owner)
{
    return owner == f->rank || (part == CS_PART_VALID && f->rank == 0);
}

/* The validation samples are those of an epoch that training never reaches. */
enum { CS_VALID_EPOCH = INT32_MAX };

/** cs_feed_valid_bases - bases, or positions of real values, of the validation samples */
double cs_feed_valid_bases(const cs_feed *f);
/** cs_feed_run - the run of a cs_stage: pushes cs_feed_item */
int cs_feed_run(void *self, cs_queue *in, cs_queue *out) CS_MUST_CHECK;
/** cs_feed_bytes, cs_feed_drop - for the queue */
size_t cs_feed_bytes(const void *item);
void   cs_feed_drop(void *item);
/** cs_feed_step_count - number of steps of an epoch */
int cs_feed_step_count(const cs_feed *f, int64_t epoch, int64_t *n) CS_MUST_CHECK;

/* Memory reused between samples. */
typedef struct cs_feed_work {
    char    *base, *mutant;
    cs_segment seg;              /* the sequence of the last sample */
    void    *tok;                /* the tokenizer's work memory */
    int32_t *id, *label;
    int64_t *cell;
    size_t   n_base, n_mutant, n_tok, n_id, n_label, n_cell;
} cs_feed_work;
void cs_feed_work_release(cs_feed_work *w);

/** cs_feed_tokenise - all parts of a sample as tokens in w->id; *n receives how many, or how many
 * real values. CS_OK or CS_EMEM */
int cs_feed_tokenise(cs_feed_work *w, const cs_dataset *d, const cs_batch_rules *rules,
                     const cs_sample *s, int64_t *n) CS_MUST_CHECK;

/**
 * cs_feed_check_lengths - do all samples fit a model?
 *
 * crop_max bases of the longest crop; 0: whole records
 * max_tokens  maximum tokens, or positions, of the model; 0: any
 * Returns  CS_OK; CS_EUSAGE naming the longest record; CS_EMEM. If the number of tokens depends on
 *          the bases, only a record's first piece is checked
 */
int cs_feed_check_lengths(const cs_dataset *d, const cs_batch_rules *rules, int64_t crop_max,
                          int64_t max_tokens) CS_MUST_CHECK;

/** cs_feed_label - tokenise a sample of a dataset with CS_TARGET_TOKENS: the classes of its n
 * tokens go to w->label; CS_OK or CS_EMEM */
int cs_feed_label(cs_feed_work *w, const cs_dataset *d, const cs_batch_rules *rules,
                  const cs_sample *s, int64_t *n) CS_MUST_CHECK;

#endif
