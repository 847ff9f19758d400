/* nodes.c - nodes of the tape: operands of each op, and its adjoint. */
#include "nn/ops/nodes.h"

#include <stdlib.h>

#include "base/mem.h"

cs_tape *cs_tape_new(void)
{
    return cs_xcalloc(1, sizeof(cs_tape));
}

void cs_tape_free(cs_tape *t)
{
    if (t)
        free(t->node);
    free(t);
}

void cs_tape_reset(cs_tape *t)
{
    t->n = 0;
}
