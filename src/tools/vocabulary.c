/* vocabulary.c - train a vocabulary of subwords on records, and write tokenizer.json. */
#include "tools/vocabulary.h"

#include <stdlib.h>

#include "base/outfile.h"
#include "base/log.h"

#define SHORT 0.1                /* share of the input that is worth a warning */

static int take_corpus(void *arg, const cs_chunk *c)
{
    int rc = CS_OK;

    for (int i = 0; rc == CS_OK && i < c->n; i++)
        rc = cs_bpe_corpus_add(arg, c->rec[i].seg[0].base, c->rec[i].seg[0].n_base);
    return rc;
}

static int write_vocabulary(const cs_bpe *b, cs_outfile *f)
{
    char *text = cs_bpe_json(b);

    if (text == NULL)
        return cs_fail(CS_EMEM, "out of memory for a vocabulary of %d pieces", (int)b->n_id);
    const int rc = cs_outfile_printf(f, "%s\n", text);
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

int cs_vocabulary_train(cs_input_args *input, int n_inflate, const cs_bpe_setting *set,
                        const char *output)
{
    int rc = CS_OK;
    cs_bpe_corpus *corpus = NULL;
    cs_bpe *b = NULL;
    cs_inputs *in = NULL;
    cs_outfile *f = NULL;
    cs_input_opt input_opt;

    CS_TRY(cs_args_input_opt(input, n_inflate, &input_opt));
    input_opt.alphabet = set->alphabet;
    CS_TRY(cs_bpe_corpus_new(set, &corpus));
    CS_TRY(cs_inputs_open(input->file.v, input->file.n, &input_opt, &in));
    CS_TRY(cs_outfile_open(output, &f));
    CS_TRY(cs_inputs_each_chunk(in, take_corpus, corpus));
    cs_inputs_report(in);
    const int64_t n = cs_bpe_corpus_size(corpus);
    if (n == 0) {
        rc = cs_fail(CS_EFORMAT, "nothing to train on: no %s in the input%s",
                     set->alphabet == CS_DIPLOTYPES ? "diplotypes" : "bases",
                     set->n_sentence > 0 ? " form a sentence" : "");
        goto out;
    }
    if (cs_bpe_corpus_short(corpus) >= SHORT)
        cs_warn("%.0f %% of the input is in stretches shorter than a sentence of %lld symbols and "
                "was left out; a smaller --sentence-min includes it",
                100 * cs_bpe_corpus_short(corpus), (long long)set->sentence_min);
    CS_TRY(cs_bpe_train(corpus, &b));
    CS_TRY(write_vocabulary(b, f));
    rc = cs_outfile_close(f);
    f = NULL;
    CS_TRY(rc);
    if (b->n_id < set->n_vocab)
        cs_warn("the vocabulary has %d tokens, not %lld: no other pair of at most %lld symbols "
                "occurs %lld %s (--max-piece, --min-count)", (int)b->n_id,
                (long long)set->n_vocab, (long long)set->max_piece, (long long)set->min_count,
                CS_PLURAL(set->min_count, "time", "times"));
    cs_note("trained a vocabulary of %d tokens, mean length %.3f symbols, on %lld symbols",
            (int)b->n_id, mean_length(b), (long long)n);
out:
    cs_outfile_discard(f);
    cs_bpe_free(b);
    cs_bpe_corpus_free(corpus);
    cs_inputs_close(in);
    return rc;
}
