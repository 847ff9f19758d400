/*
 * berths.c - a batch's input to a device ahead of its pass, and its answers back behind it.
 *
 * DESIGN
 * A berth holds one batch: its input, packed into one block of pinned memory, and one block on the
 * device; the same for its answers. Neither lies in the arena, which belongs to the pass that is
 * running, so that another batch's can come and go meanwhile:
 *
 *     input    off [n_seg + 1], 0 1 ... n_seg, tokens [n_tok] or values [n_tok * n_channel]
 *     answers  CS_BERTH_HEAD bytes about what is not finite, then the head's output
 */
#include "nn/exec/pass.h"

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

static size_t answer_bytes(int64_t n_answer)
{
    return CS_BERTH_HEAD + aligned((size_t)n_answer * sizeof(float));
}

int64_t cs_berths_bytes(const cs_model *m, int64_t n_tok, int32_t n_seg, int64_t n_answer)
{
    return cs_berths_has(m->be) ? CS_BERTHS * (int64_t)(input_bytes(m, n_tok, n_seg)
                                                      + answer_bytes(n_answer)) : 0;
}

static void block_release(cs_backend *be, cs_berth_block *b)
{
    if (b->device)
        be->op.dealloc(be, b->device);       /* first: it waits for copies of what is pinned */
    if (b->pinned)
        be->berths.dealloc(be, b->pinned);
    *b = (cs_berth_block){ NULL, NULL, 0 };
}

void cs_berths_release(cs_model *m)
{
    for (int i = 0; i < CS_BERTHS; i++) {
        block_release(m->be, &m->berth[i].in);
        block_release(m->be, &m->berth[i].out);
    }
}

/* Nothing in it is needed any more, so it is freed before a larger one is taken. */
static int reserve(cs_backend *be, cs_berth_block *b, size_t n_bytes)
{
    if (n_bytes <= b->cap)
        return CS_OK;
    block_release(be, b);
    b->pinned = be->berths.alloc(be, n_bytes);
    b->device = b->pinned ? be->op.alloc(be, n_bytes) : NULL;
    if (!b->device) {
        block_release(be, b);
        return cs_fail(CS_EMEM, "out of memory: a batch's input or answers need %zu bytes on the "
                       "device", n_bytes);
    }
    b->cap = n_bytes;
    return CS_OK;
}

/* The input where copies can take it from, and the same as the device will see it. */
static cs_input pack(const cs_model *m, const cs_berth_block *to, const cs_input *in, int64_t n_row)
{
    char *at = to->pinned;
    const char *device = to->device;
    const size_t n_off = off_bytes(in->n_seg);
    cs_input there = *in;

    memcpy(at, in->off, ((size_t)in->n_seg + 1) * sizeof *in->off);
    for (int64_t i = 0; i <= in->n_seg; i++)
        memcpy(at + n_off + (size_t)i * sizeof i, &i, sizeof i);
    memcpy(at + 2 * n_off, m->tok ? (const void *)in->tok : (const void *)in->x,
           (size_t)n_row * row_bytes(m));
    there.off = (const int64_t *)(const void *)device;
    there.each = (const int64_t *)(const void *)(device + n_off);
    there.tok = m->tok ? (const int32_t *)(const void *)(device + 2 * n_off) : NULL;
    there.x = m->tok ? NULL : (const float *)(const void *)(device + 2 * n_off);
    there.staged = true;
    return there;
}

int cs_model_start(cs_model *m, int berth, const cs_batch *b, bool raw)
{
    int rc = CS_OK;
    cs_berth *l = &m->berth[berth];
    const cs_input whole = cs_input_of(b, NULL);
    const size_t n_in = input_bytes(m, b->n_tok, b->n_seg);

    CS_BUG(!cs_berths_has(m->be));
    m->not_finite = -1;
    CS_TRY(cs_check_batch(m, b));
    CS_TRY(cs_model_reserve(m, b->n_tok, b->n_seg, b->depth, false));
    CS_TRY(reserve(m->be, &l->in, n_in));
    l->n = cs_model_answers_len(m, b);
    CS_TRY(reserve(m->be, &l->out, answer_bytes(l->n)));
    const cs_input in = cs_input_parts(m, &whole, false);
    const cs_input there = pack(m, &l->in, &in, b->n_tok);
    m->be->berths.send(m->be, berth, l->in.device, l->in.pinned, n_in);
    const cs_mat y = cs_pass(m, &there, false);
    CS_BUG(y.r * y.c != l->n);
    if (!raw)
        m->head->activate(&m->cx, m->head_net, y);
    m->be->berths.end(m->be, berth, y, l->out.device);
    l->n_tok = b->n_tok;
    l->n_seg = b->n_seg;
    l->depth = b->depth;
out:
    return rc;
}

int cs_model_finish(cs_model *m, int berth, float *out)
{
    cs_berth *l = &m->berth[berth];
    const cs_input shape = { .n_tok = l->n_tok, .n_seg = l->n_seg, .depth = l->depth };
    const size_t n_bytes = (size_t)l->n * sizeof *out;
    uint64_t first;

    const int rc = m->be->berths.fetch(m->be, berth, l->out.pinned, l->out.device,
                                      CS_BERTH_HEAD + n_bytes);
    if (rc != CS_OK)
        return cs_tell_batch(rc, &shape);
    memcpy(&first, l->out.pinned, sizeof first);
    memcpy(out, l->out.pinned + CS_BERTH_HEAD, n_bytes);
    return cs_check_finite(m, first == UINT64_MAX ? -1 : (int64_t)first);
}
