/* ctx.h - one pass through a network: backend, parameters, activation arena, tape, dry run.
 *
 * DESIGN. Activations come from a bump arena in backend memory. When training, a second arena of
 * the same layout holds their gradients: the gradient of an activation is at the offset of the
 * activation, and the gradient of a parameter at the offset of the parameter. So ops carry no
 * gradient handles. A gradient is cleared when it is first used, unless the first step that adds to
 * it writes it (cs_grad_into()). Memory without gradients is at the arena's other end
 * (cs_scratch()), which the second arena omits. In a dry run the arena only counts (matrices point
 * to a dummy cell), shapes are checked, and nothing is computed: the peaks are the exact memory
 * need.
 */
#ifndef CS_NN_CTX_H
#define CS_NN_CTX_H

#include "base/mem.h"
#include "nn/ops/param.h"

struct cs_tape;

/* Matrices of the arenas begin at multiples of so many reals. */
enum { CS_CTX_ALIGN = 16 };

/** cs_ctx_aligned - reals that n of a matrix take in an arena */
static inline int64_t cs_ctx_aligned(int64_t n)
{
    return (n + CS_CTX_ALIGN - 1) / CS_CTX_ALIGN * CS_CTX_ALIGN;
}

/* Activations of a stack of blocks that training stores: all, or the inputs of some blocks. */
enum { CS_KEEP_ALL = 0, CS_CHECKPOINT_INPUTS = 64 };

/* Cached data of one user: n reals from `off` on, of which `done` are filled. fixed: independent of
 * the parameters. */
typedef struct cs_cache_entry {
    const void *user;
    int64_t     off, n, done;
    bool        fixed;
} cs_cache_entry;

/* A matrix of the arena, reals from .. end-1. fresh: its gradient is zero, but not yet stored. */
typedef struct cs_arena_range { int64_t from, end; bool fresh; } cs_arena_range;

/* Hook for the output of block number `block` (from 0) of an encoder; for tests and
 * explanations. */
typedef void (*cs_block_hook)(void *arg, int32_t block, cs_mat y);

/* Hook for named values inside layer number `layer` (from 0). */
typedef void (*cs_value_hook)(void *arg, const char *what, int32_t layer, cs_mat m);

typedef struct cs_ctx {
    cs_backend *be;
    cs_params  *ps;
    bool        training;        /* gradients wanted: apply dropout, use batch statistics */
    bool        recording;       /* ops push onto the tape (not in a block to be recomputed) */
    bool        replaying;       /* a block is recomputed: it must not count as a second batch */
    bool        dry;             /* count and check only */
    int       (*stop)(void);     /* asked between blocks and steps of real passes of a backend in
                                  * host memory, for signals: not 0 ends the pass; NULL: never */
    bool        stopped;         /* the pass was ended: its results are void */
    bool        frozen;          /* gradients of predictions: no dropout, running statistics */
    int32_t     keep;            /* CS_KEEP_ALL, or the number of a stack's inputs to store:
                                  * blocks are then run again in the backward pass
                                  * (nn/ops/blocks.h) */
    const cs_real *unread;       /* see cs_is_unread() */
    bool        rescale;         /* backward by DeepLIFT's rescale rule: see nn/ops/tape.h */
    bool        no_rule;         /* a step of that pass has no rescale rule: its result is void */
    bool        no_fused;        /* tests: compose fused ops from plain ones */
    bool        no_mean;         /* tests: predict by all rows, not by their mean */
    bool        no_graph;        /* tests, benchmarks: ops of a step are launched one by one */
    cs_real    *act, *act_grad;  /* arenas; act_grad NULL unless training */
    cs_real    *cached;            /* see cs_cached() */
    int64_t     cached_cap, cached_need;
    cs_cache_entry *entry;       /* [n_entry] of `cached` */
    size_t      n_entry, cap_entry;
    int64_t     cap, grad_cap;   /* reals of either arena */
    int64_t     top, scratch;      /* reals taken from the beginning, and from the end of `act` */
    cs_arena_range *range;       /* [n_range] matrices in the arena, in order; none in a dry run */
    size_t      n_range, cap_range;
    int64_t     peak, grad_peak; /* peak of both together, and of top alone */
    uint64_t    key;             /* randomness of this step's dropout masks */
    uint64_t    n_random;        /* dropout layers met so far in this pass */
    cs_mat      loss;            /* (1,1) running sum */
    struct cs_tape *tape;
    cs_block_hook block_hook;    /* called after every block, except in dry runs; or NULL */
    void       *block_hook_arg;
    cs_value_hook value_hook;    /* the same for named values, for tests; or NULL */
    void       *value_hook_arg;
    struct { const int32_t *id; cs_seg seg; } text;  /* the tokens of a pass through a model, in
                                  * backend memory, or NULL; for heads that count words */
    cs_mat      first;           /* the first sequence's part of a difference; for its head */
    double      flop;            /* of products with weights, in all passes so far */
    double      aux_scale;       /* weight of a sequence in a regulariser, and of
                                  * a record of weight 1 in the loss; 0: no regularisers */
} cs_ctx;

/** cs_ctx_init - for one backend and parameter set; no memory for activations yet */
void cs_ctx_init(cs_ctx *cx, cs_backend *be, cs_params *ps);
void cs_ctx_release(cs_ctx *cx);
/** cs_ctx_reserve - arenas of at least n reals, and n_grad of gradients (0: that arena is not
 * needed); CS_OK or CS_EMEM */
int  cs_ctx_reserve(cs_ctx *cx, int64_t n, int64_t n_grad) CS_MUST_CHECK;
/** cs_ctx_begin - start a pass: empty arena and tape, loss zero (allocated from the arena) */
void cs_ctx_begin(cs_ctx *cx, bool training, bool dry, uint64_t key);

/** cs_count_flop - add an op's floating-point operations to this pass */
static inline void cs_count_flop(cs_ctx *cx, double n)
{
    if (!cx->dry && !cx->replaying)
        cx->flop += n;
}

/** cs_stop_here - a place where the pass may end: the rest of it is a dry run, which takes no time.
 * Not between an op's check of `dry` and its kernel */
static inline void cs_stop_here(cs_ctx *cx)
{
    if (cx->stop && !cx->dry && cx->stop())
        cx->dry = cx->stopped = true;
}

/** cs_is_training - is the network in training mode, not only computing gradients? */
static inline bool cs_is_training(const cs_ctx *cx) { return cx->training && !cx->frozen; }
/** cs_call_value_hook - pass a matrix to the hook, if any */
static inline void cs_call_value_hook(const cs_ctx *cx, const char *what, int32_t layer, cs_mat m)
{
    if (cx->value_hook && !cx->dry)
        cx->value_hook(cx->value_hook_arg, what, layer, m);
}
/** cs_empty - an uninitialised (r, c) matrix from the arena, for an activation, which has a
 * gradient when training; never fails (the dry run came before) */
cs_mat cs_empty(cs_ctx *cx, int64_t r, int32_t c);
/** cs_scratch - the same without a gradient, for copies and work memory of an op. Release in
 * reverse order by restoring cx->scratch */
cs_mat cs_scratch(cs_ctx *cx, int64_t r, int32_t c);
/**
 * cs_cached - n reals outside of the arena for data derived from parameters only: packed weights,
 * tables
 *
 * user     key: the address of the layer or network
 * n        the same user has a separate entry per size
 * done     receives a pointer to the user's count of filled reals, valid until the next call; NULL
 *          in a dry run. Each pass starts at 0; without a gradient slab parameters cannot change,
 *          and the count persists
 * Returns  the same memory in every pass, NULL in a dry run
 */
cs_real *cs_cached(cs_ctx *cx, const void *user, int64_t n, int64_t **done);
/** cs_cached_fixed - the same for data independent of the parameters: kept between passes */
cs_real *cs_cached_fixed(cs_ctx *cx, const void *user, int64_t n, int64_t **done);
/** cs_mark, cs_release_to - free all allocations since the mark (scratch of one op) */
static inline int64_t cs_mark(const cs_ctx *cx) { return cx->top; }
static inline void cs_release_to(cs_ctx *cx, int64_t mark) { cx->top = mark; }
/** cs_is_unread - may an op skip computing y? The final result of a recomputed block is not read.
 * Only for ops whose adjoint does not read y */
static inline bool cs_is_unread(cs_ctx *cx, cs_mat y)
{
    if (cx->dry || y.p != cx->unread)
        return false;
    cx->unread = NULL;
    return true;
}
/** cs_grad_of - memory of m's gradient; p NULL for constants and when not training */
cs_mat cs_grad_of(const cs_ctx *cx, cs_mat m);
/** cs_backward - replay the tape: gradients of parameters are added to their slab, and parameters
 * that got one are marked touched. Afterwards cs_grad_of() any activation of the pass is valid. */
void cs_backward(cs_ctx *cx);

#endif
