/* graph.h - training passes; repeated shapes run as device graphs. */
#ifndef CS_NN_GRAPH_H
#define CS_NN_GRAPH_H

#include "nn/exec/pass.h"

/** cs_graph_train - forward, loss and backward of a batch that has been reserved for; results are
 * in s->trace and s->cx. One launch for a repeated shape */
void cs_graph_train(cs_session *s, const cs_pass_input *in);

/** cs_graphs_release - the session's graphs */
void cs_graphs_release(cs_session *s);

#endif
