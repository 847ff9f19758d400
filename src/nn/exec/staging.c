/*
 * staging.c - buffers between host and device: a batch's input before its pass, its output after
 * it.
 *
 * DESIGN
 * A slot holds one batch: its input, packed into one buffer of pinned memory, and one buffer on the
 * device; the same for its output. Neither is in the arena, which belongs to the pass that is
 * running, so another batch can be copied meanwhile:
 *
 *     input    off [n_seg + 1], 0 1 ... n_seg, tokens [n_tok] or values [n_tok * n_channel]
 *     output   CS_STAGING_HEAD bytes about non-finite values, then the head's output
 */
#include "nn/exec/staging.h"

#include <string.h>

enum { ALIGN = 64 };

static size_t aligned(size_t n_bytes)
{
    return (n_bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t off_bytes(int32_t n_seg)
{
    return aligned(((size_t)n_seg + 1) * sizeof(int64_t));
}

static size_t row_bytes(const cs_model *m)
{
    return m->tok ? sizeof(int32_t) : (size_t)m->n_channel * sizeof(float);
}

static size_t input_bytes(const cs_model *m, int64_t n_tok, int32_t n_seg)
{
    return 2 * off_bytes(n_seg) + aligned((size_t)n_tok * row_bytes(m));
}

static size_t output_bytes(int64_t n_output)
{
    return CS_STAGING_HEAD + aligned((size_t)n_output * sizeof(float));
}

int64_t cs_staging_bytes(const cs_session *s, int64_t n_tok, int32_t n_seg, int64_t n_output)
{
    if (!cs_staging_has(s->be))
        return 0;
    return CS_STAGING_SLOTS * (int64_t)(input_bytes(s->model, n_tok, n_seg)
                                        + output_bytes(n_output));
}

static void buffer_release(cs_backend *be, cs_staging_buffer *b)
{
    if (b->device)
        be->op.dealloc(be, b->device);       /* first: it waits for copies of pinned memory */
    if (b->pinned)
        be->staging.dealloc(be, b->pinned);
    *b = (cs_staging_buffer){ NULL, NULL, 0 };
}

void cs_staging_release(cs_session *s)
{
    for (int i = 0; i < CS_STAGING_SLOTS; i++) {
        buffer_release(s->be, &s->staging[i].in);
        buffer_release(s->be, &s->staging[i].out);
    }
}

/* Its content is no longer needed, so it is freed before a larger one is allocated. */
static int staging_reserve(cs_backend *be, cs_staging_buffer *b, size_t n_bytes)
{
    if (n_bytes <= b->cap)
        return CS_OK;
    buffer_release(be, b);
    b->pinned = be->staging.alloc(be, n_bytes);
    b->device = b->pinned ? be->op.alloc(be, n_bytes) : NULL;
    if (!b->device) {
        buffer_release(be, b);
        return cs_fail(CS_EMEM, "out of memory: a batch's input or predictions need %zu bytes on "
                       "the device", n_bytes);
    }
    b->cap = n_bytes;
    return CS_OK;
}

int cs_staging_reserve(cs_session *s, int slot, const cs_batch *b, int64_t n_output)
{
    cs_staging *l = &s->staging[slot];
    int rc = CS_OK;

    CS_TRY(staging_reserve(s->be, &l->in, input_bytes(s->model, b->n_tok, b->n_seg)));
    CS_TRY(staging_reserve(s->be, &l->out, output_bytes(n_output)));
    l->n = n_output;
    l->n_tok = b->n_tok;
    l->n_seg = b->n_seg;
    l->depth = b->depth;
out:
    return rc;
}

cs_pass_input cs_staging_send(cs_session *s, int slot, const cs_pass_input *in)
{
    const cs_model *m = s->model;
    const cs_staging *l = &s->staging[slot];
    char *at = l->in.pinned;
    const char *device = l->in.device;
    const size_t n_off = off_bytes(in->n_seg);
    cs_pass_input there = *in;

    memcpy(at, in->off, ((size_t)in->n_seg + 1) * sizeof *in->off);
    for (int64_t i = 0; i <= in->n_seg; i++)
        memcpy(at + n_off + (size_t)i * sizeof i, &i, sizeof i);
    memcpy(at + 2 * n_off, m->tok ? (const void *)in->tok : (const void *)in->x,
           (size_t)l->n_tok * row_bytes(m));
    s->be->staging.send(s->be, slot, l->in.device, l->in.pinned,
                        input_bytes(m, l->n_tok, l->n_seg));
    there.off = (const int64_t *)(const void *)device;
    there.arange = (const int64_t *)(const void *)(device + n_off);
    there.tok = m->tok ? (const int32_t *)(const void *)(device + 2 * n_off) : NULL;
    there.x = m->tok ? NULL : (const float *)(const void *)(device + 2 * n_off);
    there.on_device = true;
    return there;
}

void cs_staging_end(cs_session *s, int slot, cs_mat y)
{
    CS_BUG(y.r * y.c != s->staging[slot].n);
    s->be->staging.end(s->be, slot, y, s->staging[slot].out.device);
}

int cs_staging_fetch(cs_session *s, int slot, float *out, int64_t *first)
{
    const cs_staging *l = &s->staging[slot];
    const size_t n_bytes = (size_t)l->n * sizeof *out;
    uint64_t at;
    const int rc = s->be->staging.fetch(s->be, slot, l->out.pinned, l->out.device,
                                        CS_STAGING_HEAD + n_bytes);

    if (rc != CS_OK)
        return rc;
    memcpy(&at, l->out.pinned, sizeof at);
    memcpy(out, l->out.pinned + CS_STAGING_HEAD, n_bytes);
    *first = at == UINT64_MAX ? -1 : (int64_t)at;
    return CS_OK;
}
