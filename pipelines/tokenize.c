/* tokenize.c - tokenise sequences, or train a vocabulary: `chordseq tokenize`.
 *
 * DESIGN: chunks are read, encoded by parallel threads and written one by one; memory is that of a
 * chunk. With a tokenizer.json the ids are the file's, as in other programs; with a model they are
 * those of its network.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "infer/args.h"
#include "pipelines/command.h"
#include "registry.h"
#include "tok/bpe_train.h"

enum { ALPHABET_BASES, ALPHABET_DIPLOTYPES };

struct tokenize_args {
    const char *model, *output, *train;
    int         ids, alphabet;
    int64_t     n_vocab, max_piece, min_count, n_sentence, sentence_min, sentence_max, seed;
};

static struct tokenize_args own;
static cs_input_args input;
static cs_compute_args compute;

static const char *const formats[] = { "pieces", "ids", NULL };
static const char *const alphabets[] = { "bases", "diplotypes", NULL };

#define AT(field) offsetof(struct tokenize_args, field)

static const cs_opt tokenize_table[] = {
    { .type = CS_OPT_GROUP, .name = "Tokens" },
    { .type = CS_OPT_IN, .letter = 'm', .name = "model", .off = AT(model), .arg = "FILE",
      .help = "tokenizer.json, or a model with a tokenizer" },
    { .type = CS_OPT_ENUM, .name = "format", .off = AT(ids), .arg = "FORMAT",
      .def = "pieces", .help = "output: pieces (text) or ids",
      .choice = formats },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", .off = AT(output), .arg = "FILE",
      .def = "-", .help = "output file; '-' is standard output" },
    { .type = CS_OPT_GROUP, .name = "Training" },
    { .type = CS_OPT_STR, .name = "train", .off = AT(train), .arg = "KIND",
      .help = "train a vocabulary and write tokenizer.json: bpe" },
    { .type = CS_OPT_ENUM, .name = "alphabet", .off = AT(alphabet), .arg = "NAME",
      .def = "bases", .help = "alphabet: bases or diplotypes",
      .man = "The four bases, or the 66 symbols of chordseq-diplotype(5). Other symbols end a "
             "stretch: no piece contains or crosses them.",
      .choice = alphabets },
    { .type = CS_OPT_SIZE, .name = "vocab-size", .off = AT(n_vocab), .arg = "NUM", .def = "4096",
      .help = "vocabulary size, including five special tokens and the alphabet", .min = 9,
      .max = CS_BPE_MAX_ID },
    { .type = CS_OPT_INT, .name = "max-piece", .off = AT(max_piece), .arg = "NUM", .def = "64",
      .help = "maximum symbols of a token",
      .man = "Longer pieces are not formed; otherwise repeats of one base would fill the "
             "vocabulary.", .min = 1, .max = CS_BPE_MAX_PIECE },
    { .type = CS_OPT_INT, .name = "min-count", .off = AT(min_count), .arg = "NUM", .def = "2",
      .help = "minimum count of a merged pair", .min = 1, .max = 1e9 },
    { .type = CS_OPT_SIZE, .name = "sentences", .off = AT(n_sentence), .arg = "NUM", .def = "0",
      .help = "train on this many random sentences (0: the whole input)",
      .man = "The input is split into consecutive sentences, of which a random sample is held in "
             "memory: NUM times their maximum length.", .min = 0, .max = 2e9 },
    { .type = CS_OPT_INT, .name = "sentence-min", .off = AT(sentence_min), .arg = "NUM",
      .def = "500", .help = "minimum symbols of a sentence", .min = 1, .max = 1e9 },
    { .type = CS_OPT_INT, .name = "sentence-max", .off = AT(sentence_max), .arg = "NUM",
      .def = "1000", .help = "maximum symbols of a sentence", .min = 1, .max = 1e9 },
    { .type = CS_OPT_INT, .name = "seed", .off = AT(seed), .arg = "NUM", .def = "1",
      .help = "seed for sampling sentences", .min = 0, .max = 9e15 },
    { .type = CS_OPT_END }
};

static const cs_optset tokenize_tables[] = {
    { cs_input_table, &input, NULL }, { tokenize_table, &own, NULL },
    { cs_compute_table, &compute, NULL }, { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

/* ---- what encodes ---------------------------------------------------------------------------- */

/* A tokenizer.json, or a model; the other is NULL. */
struct encoder {
    cs_bpe     *bpe;
    cs_backend *be;
    cs_model   *model;
};

static int open_encoder(struct encoder *e)
{
    char first[1] = { 0 };
    FILE *f;

    if (own.model == NULL)
        return cs_fail(CS_EUSAGE, "no tokenizer; give one with -m FILE, or train one with "
                       "--train bpe");
    f = fopen(own.model, "rb");
    if (f != NULL) {
        if (fread(first, 1, 1, f) != 1)
            first[0] = '\0';
        (void)fclose(f);
    }
    /* A safetensors file begins with a length in binary, JSON with a brace. */
    if (f == NULL || first[0] == '{')
        return cs_bpe_read(own.model, &e->bpe);
    return cs_model_open(own.model, NULL, 1, &e->be, &e->model);
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

static void piece(const struct encoder *e, int32_t id, char *buf, size_t n)
{
    if (e->bpe)
        (void)snprintf(buf, n, "%s", e->bpe->piece[id]);
    else
        e->model->tok->symbol(e->model->tok_state, id, buf, n);
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
    CS_TRY(cs_grow((void **)&t->work, &t->cap_work, *each * (size_t)t->n_thread, 1));
out:
    return rc;
}

static int write_record(const struct tokens *t, const cs_record *r, int i, cs_outfile *f)
{
    int rc = CS_OK;
    char text[CS_BPE_MAX_PIECE + 1];

    CS_TRY(cs_outfile_printf(f, "%s\t", cs_record_name(r)));
    for (int64_t k = 0; k < t->n[i]; k++) {
        const int32_t id = t->id[t->off[i] + k];
        if (own.ids)
            (void)snprintf(text, sizeof text, "%d", (int)id);
        else
            piece(&t->e, id, text, sizeof text);
        CS_TRY(cs_outfile_printf(f, "%s%s", k > 0 ? " " : "", text));
    }
    rc = cs_outfile_printf(f, "\n");
out:
    return rc;
}

static int tokenize_chunk(struct tokens *t, const cs_chunk *c, cs_outfile *f)
{
    int rc = CS_OK;
    size_t each;
    atomic_int next = 0;

    CS_TRY(tokenize_reserve(t, c, &each));
#pragma omp parallel for num_threads(t->n_thread)
    for (int k = 0; k < t->n_thread; k++)
        for (int i; (i = atomic_fetch_add(&next, 1)) < c->n;)
            t->n[i] = encode(&t->e, &c->rec[i].seg[0], t->work + (size_t)k * each,
                             t->id + t->off[i]);
    for (int i = 0; i < c->n; i++) {
        CS_TRY(write_record(t, &c->rec[i], i, f));
        for (int64_t k = 0; k < t->n[i]; k++)
            t->n_unknown += t->id[t->off[i] + k] == unknown(&t->e);
        t->n_token += (uint64_t)t->n[i];
        t->n_base += (uint64_t)c->rec[i].seg[0].n_base;
    }
    t->n_record += (uint64_t)c->n;
out:
    return rc;
}

/* CS_EOF at the end of the input, with or without records. */
static int tokenize_fill(cs_inputs *in, cs_chunk *c)
{
    int rc = CS_OK;

    while (rc == CS_OK && !cs_chunk_full(c))
        rc = cs_inputs_next(in, c);
    return rc == CS_OK && cs_signal_caught() != 0 ? CS_ECANCEL : rc;
}

/* Pass every chunk of the input to `take`. */
static int each_chunk(cs_inputs *in, int (*take)(void *arg, const cs_chunk *c), void *arg)
{
    int rc = CS_OK;

    for (uint64_t no = 0; rc == CS_OK; no++) {
        cs_chunk *c = cs_chunk_new(no);
        if (c == NULL)
            return cs_fail(CS_EMEM, "out of memory for a chunk of the input");
        rc = tokenize_fill(in, c);
        if (rc == CS_OK || rc == CS_EOF) {
            const int taken = c->n > 0 ? take(arg, c) : CS_OK;
            rc = taken != CS_OK ? taken : rc;
        }
        cs_chunk_free(c);
    }
    return rc == CS_EOF ? CS_OK : rc;
}

struct sink { struct tokens *t; cs_outfile *f; };

static int take_tokens(void *arg, const cs_chunk *c)
{
    struct sink *s = arg;

    return tokenize_chunk(s->t, c, s->f);
}

static void tokenize_report(const struct tokens *t)
{
    cs_note("tokenized %llu records, %llu symbols: %llu tokens, mean token length %.3f symbols, "
            "%llu unknown", (unsigned long long)t->n_record, (unsigned long long)t->n_base,
            (unsigned long long)t->n_token,
            t->n_token > 0 ? (double)t->n_base / (double)t->n_token : 0.0,
            (unsigned long long)t->n_unknown);
}

static int tokenize(const cs_split *split)
{
    int rc = CS_OK;
    struct tokens t = { .n_thread = split->work };
    cs_inputs *in = NULL;
    cs_outfile *f = NULL;
    cs_input_opt how;

    CS_TRY(open_encoder(&t.e));
    CS_TRY(cs_args_reading(&input, split->inflate, &how));
    how.alphabet = alphabet_of(&t.e);
    CS_TRY(cs_inputs_open(input.file.v, input.file.n, &how, &in));
    CS_TRY(cs_outfile_open(own.output, &f));
    CS_TRY(each_chunk(in, take_tokens, &(struct sink){ &t, f }));
    rc = cs_outfile_close(f);
    f = NULL;
    CS_TRY(rc);
    cs_inputs_report(in);
    if (t.n_record == 0)
        cs_warn("the input has no records");
    tokenize_report(&t);
out:
    cs_outfile_discard(f);
    cs_inputs_close(in);
    CS_FREE(t.off, t.n, t.id, t.work);
    cs_bpe_free(t.e.bpe);
    cs_model_free(t.e.model);
    cs_backend_close(t.e.be);
    return rc;
}

/* ---- training -------------------------------------------------------------------------------- */

static int take_corpus(void *arg, const cs_chunk *c)
{
    int rc = CS_OK;

    for (int i = 0; rc == CS_OK && i < c->n; i++)
        rc = cs_bpe_corpus_add(arg, c->rec[i].seg[0].base, c->rec[i].seg[0].n_base);
    return rc;
}

static int write_vocabulary(const cs_bpe *b)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;
    char *text = cs_bpe_json(b);

    if (text == NULL)
        return cs_fail(CS_EMEM, "out of memory for a vocabulary of %d pieces", (int)b->n_id);
    CS_TRY(cs_outfile_open(own.output, &f));
    CS_TRY(cs_outfile_printf(f, "%s\n", text));
    rc = cs_outfile_close(f);
    f = NULL;
out:
    cs_outfile_discard(f);
    free(text);
    return rc;
}

/* Mean over the vocabulary; pieces in text are shorter, because short ones are more frequent. */
static double mean_length(const cs_bpe *b)
{
    double n = 0, n_symbol = 0;

    for (int32_t i = 0; i < b->n_id; i++) {
        n += !b->special[i];
        n_symbol += b->special[i] ? 0 : b->n_sym[i];
    }
    return n > 0 ? n_symbol / n : 0;
}

static int train(const cs_split *split)
{
    int rc = CS_OK;
    cs_bpe_corpus *corpus = NULL;
    cs_bpe *b = NULL;
    cs_inputs *in = NULL;
    const cs_bpe_setting set = {
        .alphabet = own.alphabet == ALPHABET_DIPLOTYPES ? CS_DIPLOTYPES : CS_NUCLEOTIDES,
        .n_vocab = own.n_vocab, .max_piece = own.max_piece, .min_count = own.min_count,
        .n_sentence = own.n_sentence, .sentence_min = own.sentence_min,
        .sentence_max = own.sentence_max, .seed = (uint64_t)own.seed,
    };
    cs_input_opt how;

    CS_TRY(cs_args_reading(&input, split->inflate, &how));
    how.alphabet = set.alphabet;
    CS_TRY(cs_bpe_corpus_new(&set, &corpus));
    CS_TRY(cs_inputs_open(input.file.v, input.file.n, &how, &in));
    CS_TRY(each_chunk(in, take_corpus, corpus));
    cs_inputs_report(in);
    const int64_t n = cs_bpe_corpus_size(corpus);
    if (n == 0) {
        rc = cs_fail(CS_EFORMAT, "nothing to train on: no %s in the input%s",
                     alphabets[own.alphabet], own.n_sentence > 0 ? " form a sentence" : "");
        goto out;
    }
    CS_TRY(cs_bpe_train(corpus, &b));
    CS_TRY(write_vocabulary(b));
    if (b->n_id < own.n_vocab)
        cs_warn("the vocabulary has %d pieces, not %lld: no other pair occurs %lld times",
                (int)b->n_id, (long long)own.n_vocab, (long long)own.min_count);
    cs_note("trained %d pieces, mean length %.3f symbols, from %lld symbols", (int)b->n_id,
            mean_length(b), (long long)n);
out:
    cs_bpe_free(b);
    cs_bpe_corpus_free(corpus);
    cs_inputs_close(in);
    return rc;
}

static int tokenize_run(const cs_call *call)
{
    int rc = CS_OK;

    (void)call;
    if (own.train != NULL && strcmp(own.train, "bpe") != 0) {
        rc = cs_fail(CS_EUSAGE, "'%s' cannot be trained; supported: bpe", own.train);
        goto out;
    }
    if (own.train != NULL && own.model != NULL) {
        rc = cs_fail(CS_EUSAGE, "--train makes a vocabulary and --model uses one; give one of "
                     "them");
        goto out;
    }
    CS_TRY(cs_args_input(&input));
    const cs_split split = cs_args_split(&compute);
    rc = own.train != NULL ? train(&split) : tokenize(&split);
out:
    cs_args_release(&input);
    return rc;
}

const cs_command cs_cmd_tokenize = {
    .name = "tokenize",
    .summary = "tokenize sequences, or train a vocabulary",
    .usage = "[OPTIONS] [FILE...]",
    .tables = tokenize_tables,
    .operands = &input.file,
    .run = tokenize_run,
};
