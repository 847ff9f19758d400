/* golden_net.h - networks that the golden test composes: an encoder and the steps around it. */
#ifndef CS_TESTS_GOLDEN_NET_H
#define CS_TESTS_GOLDEN_NET_H

#include "golden.h"

typedef struct golden_net golden_net;
struct golden_net {
    golden    *g;
    cs_params  ps;
    cs_ctx     cx;
    char       input[32];        /* "input." or, when training, "input.batch0." ... */
    bool       compares;         /* this pass: outputs are compared with the file */
    double     loss;             /* of the last pass */
    cs_mat     x[2];             /* what grad.embedding_out belongs to; the second one of a pair */
    bool       x_first[2];       /* x has the shape [B, C, L] in the file */
    /* Names a tensor of the file as the network has it, if it is not there under torch's name. */
    void     (*rename)(const char *torch, char *ours, size_t n_ours);
    /* Forward pass, golden_net_loss() at its end; sets x. Runs dry first. NULL: values only */
    void     (*pass)(golden_net *n);
    void      *self;
};

/** golden_net_init, golden_net_release - no tensors yet */
void golden_net_init(golden_net *n, golden *g);
void golden_net_release(golden_net *n);

/** golden_net_run - memory, values from the file, then what it holds: one pass, or training steps.
 * Everything is compared */
int  golden_net_run(golden_net *n) CS_MUST_CHECK;

/** golden_net_input - a tensor of the present batch, or NULL. golden_net_given - of the only or
 * first batch, to build the network by */
const cs_tensor *golden_net_input(const golden_net *n, const char *name);
const cs_tensor *golden_net_given(const golden_net *n, const char *name);
/** golden_net_stage - a tensor [B, L, C] (or first: [B, C, L]) as (B * L, C) in the arena */
cs_mat golden_net_stage(golden_net *n, const cs_tensor *t, bool first);
/** golden_net_fill - a matrix of one value in the arena */
cs_mat golden_net_fill(golden_net *n, int64_t r, int32_t c, double value);
/** golden_net_embed - rows of parameter `table` for a tensor of token ids, (tokens, its columns) */
cs_mat golden_net_embed(golden_net *n, const cs_tensor *ids, int table, int32_t pad);
/** golden_net_linear - x w' + b, parameters by name ("linear": "linear.weight", "linear.bias") */
cs_mat golden_net_linear(golden_net *n, const char *name, cs_mat x);
/** golden_net_declare - the two parameters of such a layer */
void golden_net_declare(golden_net *n, const char *name, int64_t n_out, int64_t n_in);

/** golden_net_output - compare with output.NAME, stored as [B, C, L] if `first` says so */
void golden_net_output(golden_net *n, const char *name, cs_mat m, bool first);
/** golden_net_loss - the loss that the config names, of y; its gradient goes on the tape. first: as
 * for golden_net_output(), of input.loss_w */
void golden_net_loss(golden_net *n, cs_mat y, bool first);

#endif
