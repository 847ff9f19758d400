/*
 * token_text.c - tokens of records as text: pieces or ids, by a vocabulary or a model.
 *
 * DESIGN: chunks are read, encoded by parallel threads and written one by one; memory is that of a
 * chunk.
 */
#include "infer/token_text.h"

#include <stdatomic.h>
#include <string.h>

#include "base/outfile.h"
#include "base/log.h"
#include "base/mem.h"
#include "infer/model_args.h"
#include "tok/bpe.h"

/* ---- what encodes ---------------------------------------------------------------------------- */

/* A tokenizer.json, or a model; the other is NULL. */
struct encoder {
    cs_bpe     *bpe;
    cs_backend *be;
    cs_model   *model;
};

static int open_encoder(const char *path, struct encoder *e)
{
    char first[1] = { 0 };
    FILE *f;

    if (path == NULL)
        return cs_fail(CS_EUSAGE, "no tokenizer; give one with -m FILE, or train one with "
                       "--train bpe");
    if (cs_args_once(&path, 1) != NULL)     /* no model, which is mapped */
        return cs_bpe_read(path, &e->bpe);
    f = fopen(path, "rbe");
    if (f != NULL) {
        if (fread(first, 1, 1, f) != 1)
            first[0] = '\0';
        (void)fclose(f);
    }
    /* A safetensors file begins with a length in binary, JSON with a brace. */
    if (f == NULL || first[0] == '{')
        return cs_bpe_read(path, &e->bpe);
    return cs_model_open(path, NULL, 1, &e->be, &e->model);
}

static cs_alphabet alphabet_of(const struct encoder *e)
{
    return e->bpe ? e->bpe->alphabet : cs_tokenizer_alphabet(e->model->tok, e->model->tok_state);
}

static int64_t bound(const struct encoder *e, int64_t n)
{
    return e->bpe ? n : e->model->tok->bound(e->model->tok_state, n);
}

static size_t work_bytes(const struct encoder *e, int64_t n)
{
    return e->bpe ? cs_bpe_work(n) : cs_tokenizer_work(e->model->tok, e->model->tok_state, n);
}

static int64_t encode(const struct encoder *e, const cs_segment *s, void *work, int32_t *id)
{
    return e->bpe ? cs_bpe_encode(e->bpe, s->base, s->n_base, work, id)
                  : e->model->tok->encode(e->model->tok_state, s, work, id);
}

/* In the vocabulary, or in buf. */
static const char *piece(const struct encoder *e, int32_t id, char *buf, size_t n)
{
    if (e->bpe)
        return e->bpe->piece[id];
    e->model->tok->symbol(e->model->tok_state, id, buf, n);
    return buf;
}

static int32_t unknown(const struct encoder *e)
{
    return e->bpe ? e->bpe->unk : CS_TOK_UNK;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* State of a chunk, and memory reused between chunks. */
struct tokens {
    struct encoder e;
    int            n_thread;
    bool           ids;
    cs_outfile    *f;
    int64_t       *off;          /* [records + 1] where each record's ids begin */
    int64_t       *n;            /* [records] */
    int32_t       *id;
    char          *work;
    size_t         cap_off, cap_n, cap_id, cap_work;
    uint64_t       n_record, n_base, n_token, n_unknown;
};

static int tokenize_reserve(struct tokens *t, const cs_chunk *c, size_t *each)
{
    int rc = CS_OK;
    int64_t longest = 0;

    CS_TRY(cs_grow((void **)&t->off, &t->cap_off, (size_t)c->n + 1, sizeof *t->off));
    CS_TRY(cs_grow((void **)&t->n, &t->cap_n, (size_t)c->n + 1, sizeof *t->n));
    t->off[0] = 0;
    for (int i = 0; i < c->n; i++) {
        const int64_t n = c->rec[i].seg[0].n_base;
        t->off[i + 1] = t->off[i] + bound(&t->e, n);
        longest = n > longest ? n : longest;
    }
    *each = (work_bytes(&t->e, longest) + 63) / 64 * 64;
    CS_TRY(cs_grow((void **)&t->id, &t->cap_id, (size_t)t->off[c->n] + 1, sizeof *t->id));
    CS_TRY(cs_grow((void **)&t->work, &t->cap_work, *each * (size_t)t->n_thread + 1, 1));
out:
    return rc;
}

static int write_record(const struct tokens *t, const cs_record *r, int i)
{
    int rc = CS_OK;
    char text[CS_BPE_MAX_PIECE + 1];

    CS_TRY(cs_outfile_text(t->f, cs_record_name(r)));
    CS_TRY(cs_outfile_text(t->f, "\t"));
    for (int64_t k = 0; k < t->n[i]; k++) {
        const int32_t id = t->id[t->off[i] + k];
        if (k > 0)
            CS_TRY(cs_outfile_text(t->f, " "));
        CS_TRY(t->ids ? cs_outfile_int(t->f, id)
                      : cs_outfile_text(t->f, piece(&t->e, id, text, sizeof text)));
    }
    rc = cs_outfile_text(t->f, "\n");
out:
    return rc;
}

static int tokenize_chunk(void *arg, const cs_chunk *c)
{
    int rc = CS_OK;
    struct tokens *t = arg;
    size_t each;
    atomic_int next = 0;

    CS_TRY(tokenize_reserve(t, c, &each));
#pragma omp parallel for num_threads(t->n_thread)
    for (int k = 0; k < t->n_thread; k++)
        for (int i; (i = atomic_fetch_add(&next, 1)) < c->n;)
            t->n[i] = encode(&t->e, &c->rec[i].seg[0], t->work + (size_t)k * each,
                             t->id + t->off[i]);
    for (int i = 0; i < c->n; i++) {
        CS_TRY(write_record(t, &c->rec[i], i));
        for (int64_t k = 0; k < t->n[i]; k++)
            t->n_unknown += t->id[t->off[i] + k] == unknown(&t->e);
        t->n_token += (uint64_t)t->n[i];
        t->n_base += (uint64_t)c->rec[i].seg[0].n_base;
    }
    t->n_record += (uint64_t)c->n;
out:
    return rc;
}

static void tokenize_report(const struct tokens *t)
{
    cs_note("tokenized %llu %s, %llu symbols: %llu tokens, mean token length %.3f symbols, "
            "%llu unknown", (unsigned long long)t->n_record,
            CS_PLURAL(t->n_record, "record", "records"), (unsigned long long)t->n_base,
            (unsigned long long)t->n_token,
            t->n_token > 0 ? (double)t->n_base / (double)t->n_token : 0.0,
            (unsigned long long)t->n_unknown);
}

int cs_tokenize(const char *path, cs_input_args *input, const cs_thread_counts *threads, bool ids,
                const char *output)
{
    int rc = CS_OK;
    struct tokens t = { .n_thread = threads->work, .ids = ids };
    cs_inputs *in = NULL;
    cs_input_opt input_opt;

    CS_TRY(open_encoder(path, &t.e));
    CS_TRY(cs_args_input_opt(input, threads->inflate, &input_opt));
    input_opt.alphabet = alphabet_of(&t.e);
    CS_TRY(cs_inputs_open(input->file.v, input->file.n, &input_opt, &in));
    CS_TRY(cs_outfile_open(output, &t.f));
    CS_TRY(cs_inputs_each_chunk(in, tokenize_chunk, &t));
    rc = cs_outfile_close(t.f);
    t.f = NULL;
    CS_TRY(rc);
    cs_inputs_report(in);
    if (t.n_record == 0)
        cs_warn("the input has no records");
    tokenize_report(&t);
out:
    cs_outfile_discard(t.f);
    cs_inputs_close(in);
    CS_FREE(t.off, t.n, t.id, t.work);
    cs_bpe_free(t.e.bpe);
    cs_model_free(t.e.model);
    cs_backend_close(t.e.be);
    return rc;
}
