/* tokenize.c - tokenise sequences, or train a vocabulary: `chordseq tokenize`. */
#include <string.h>

#include "infer/token_text.h"
#include "nn/exec/model.h"
#include "pipelines/command.h"
#include "tools/vocabulary.h"

enum { ALPHABET_BASES, ALPHABET_DIPLOTYPES };

struct tokenize_args {
    const char *model, *output, *train;
    int         ids, alphabet;
    int64_t     n_vocab, max_piece, min_count, n_sentence, sentence_min, sentence_max, seed;
};

static struct tokenize_args own;
static cs_input_args input;
static cs_compute_args compute;

enum { PATH_BYTES = 4096 };

static const char *const formats[] = { "pieces", "ids", NULL };
static const char *const alphabets[] = { "bases", "diplotypes", NULL };

#define AT(field) offsetof(struct tokenize_args, field)

static const cs_opt tokenize_table[] = {
    { .type = CS_OPT_GROUP, .name = "Tokens" },
    { .type = CS_OPT_IN, .letter = 'm', .name = "model", .off = AT(model), .arg = "FILE",
      .help = "tokenizer.json, or a model with a tokenizer",
      .man = "Models that come with chordseq have names, such as 'fast'; see "
             "chordseq-classify(1)." },
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
      .man = "The four bases, or the 66 symbols of chordseq-diplotype(5). Other symbols are "
             "boundaries: no token contains or crosses them.",
      .choice = alphabets },
    { .type = CS_OPT_SIZE, .name = "vocab-size", .off = AT(n_vocab), .arg = "NUM", .def = "4096",
      .help = "vocabulary size, including five special tokens and the alphabet", .min = 9,
      .max = CS_BPE_MAX_ID },
    { .type = CS_OPT_INT, .name = "max-piece", .off = AT(max_piece), .arg = "NUM", .def = "64",
      .help = "maximum symbols of a token",
      .man = "Longer tokens are not formed; otherwise repeats of one base would fill the "
             "vocabulary.", .min = 1, .max = CS_BPE_MAX_PIECE },
    { .type = CS_OPT_INT, .name = "min-count", .off = AT(min_count), .arg = "NUM", .def = "2",
      .help = "minimum count of a merged pair", .min = 1, .max = 1e9 },
    { .type = CS_OPT_SIZE, .name = "sentences", .off = AT(n_sentence), .arg = "NUM", .def = "0",
      .help = "train on this many random sentences; 0: the whole input",
      .man = "The input is split into consecutive sentences, and a random sample of them is kept "
             "in memory, at most NUM times --sentence-max symbols. Records, and stretches between "
             "unknown bases, are left out if they are shorter than "
             "--sentence-min.", .min = 0, .max = 2e9 },
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

static int train(const cs_thread_counts *threads)
{
    const cs_bpe_setting set = {
        .alphabet = own.alphabet == ALPHABET_DIPLOTYPES ? CS_DIPLOTYPES : CS_NUCLEOTIDES,
        .n_vocab = own.n_vocab, .max_piece = own.max_piece, .min_count = own.min_count,
        .n_sentence = own.n_sentence, .sentence_min = own.sentence_min,
        .sentence_max = own.sentence_max, .seed = (uint64_t)own.seed,
    };

    return cs_vocabulary_train(&input, threads->inflate, &set, own.output);
}

/* Training options have no effect without --train, nor --format with it. */
static int check_effects(void)
{
    bool training = false;

    for (const cs_opt *o = tokenize_table; o->type != CS_OPT_END; o++) {
        training |= o->type == CS_OPT_GROUP && strcmp(o->name, "Training") == 0;
        const bool idle = own.train == NULL ? training : strcmp(o->name, "format") == 0;
        if (idle && o->type != CS_OPT_GROUP && cs_opt_given((const char *)&own + o->off))
            return cs_fail(CS_EUSAGE, own.train == NULL ? "--%s needs --train"
                           : "--%s is for tokens; --train writes a vocabulary", o->name);
    }
    return CS_OK;
}

static int tokenize_run(const cs_command_line *cmdline)
{
    int rc = CS_OK;
    char model[PATH_BYTES];

    (void)cmdline;
    if (own.train != NULL && strcmp(own.train, "bpe") != 0) {
        rc = cs_fail(CS_EUSAGE, "'%s' cannot be trained; supported: bpe", own.train);
        goto out;
    }
    if (own.train != NULL && own.model != NULL) {
        rc = cs_fail(CS_EUSAGE, "--train makes a vocabulary and --model uses one; give one of "
                     "them");
        goto out;
    }
    CS_TRY(check_effects());
    if (own.model != NULL)
        CS_TRY(cs_model_find_default(own.model, model, sizeof model));
    CS_TRY(cs_args_input(&input));
    const cs_thread_counts threads = cs_args_threads(&compute);
    if (own.train != NULL)
        CS_TRY(train(&threads));
    else
        CS_TRY(cs_tokenize(own.model != NULL ? model : NULL, &input, &threads, own.ids > 0,
                           own.output));
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
