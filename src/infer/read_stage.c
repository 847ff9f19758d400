/* read_stage.c - the read stage: fill chunks with records. */
#include "infer/stage.h"

/* CS_EOF: the input ended; the chunk may still have records. */
static int stage_fill(const cs_read_stage *s, cs_chunk *c)
{
    int rc = CS_OK;

    while (rc == CS_OK && !cs_chunk_full(c))
        rc = s->next(s->source, c);
    if (s->in && c->input_bytes == 0)
        c->input_bytes = cs_inputs_tell(s->in);
    return rc;
}

int cs_stage_read(void *self, cs_queue *in, cs_queue *out)
{
    cs_read_stage *s = self;
    int rc = CS_OK;

    (void)in;
    for (uint64_t no = 0; rc == CS_OK; no++) {
        cs_chunk *c = cs_chunk_new(no);
        if (!c)
            return cs_fail(CS_EMEM, "out of memory for a chunk of the input");
        rc = stage_fill(s, c);
        /* A pushed chunk belongs to another thread. */
        const bool whole = rc >= 0 && c->n > 0;
        const int pushed = whole ? cs_queue_push(out, c) : rc;
        if (!whole || pushed != CS_OK) {
            cs_chunk_free(c);
            return pushed;
        }
    }
    return rc;
}
