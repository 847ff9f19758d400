/* pretraining.c - masked language modelling on genomes. */
#include "train/pretraining.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "infer/input_args.h"
#include "train/genome.h"
#include "train/provenance.h"
#include "train/window_feed.h"

/* Minimum window: shorter ones have no context for their tokens; the text of a setting. */
enum { MIN_BASES = 32, SETTING_BYTES = 512 };

enum { DECODER_LINEAR, DECODER_LIGHT };
static const char *const decoder_names[] = { "linear", "light", NULL };

#define CORPUS(field) .off = offsetof(cs_genome_args, field)
#define MASK(field) .off = offsetof(cs_mask_args, field)

const cs_opt cs_genome_table[] = {
    { .type = CS_OPT_GROUP, .name = "Genomes" },
    { .type = CS_OPT_INS, .letter = 'i', .name = "input", CORPUS(file), .arg = "FILE",
      .help = "FASTA with an index (samtools faidx), or diplotype text; plain or BGZF",
      .man = "A missing FASTA index is created beside the file. Windows are fetched on demand: "
             "memory does not grow with the genome. Diplotype text (chordseq-diplotype(5)) is "
             "for tokenizer diplotype; its records are the contigs of the options below." },
    { .type = CS_OPT_SIZE, .name = "window", CORPUS(window), .arg = "NUM", .def = "1000",
      .help = "maximum bases per window", .man = "Every pass over the genome splits it at "
      "different positions. Shorter contigs are used whole.", .min = 1, .max = 1e9 },
    { .type = CS_OPT_SIZE, .name = "window-min", CORPUS(window_min), .arg = "NUM", .def = "0",
      .help = "minimum window length; 0: all windows have --window bases",
      .man = "Shorter pieces, such as those at the ends of contigs, are used whole.", .min = 0,
      .max = 1e9 },
    { .type = CS_OPT_SIZE, .name = "windows-per-epoch", CORPUS(epoch_window), .arg = "NUM",
      .def = "0", .help = "windows per epoch; 0: the whole genome once",
      .man = "The next epoch continues with other windows until all have been used.", .min = 0,
      .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "max-unknown", CORPUS(max_unknown), .arg = "SHARE",
      .def = "0.1", .help = "maximum share of letters other than A, C, G, T in a window",
      .man = "For diplotypes, of sites at which a haplotype is N.",
      .min = 0, .max = 1 },
    { .type = CS_OPT_FLAG, .name = "rc", CORPUS(rc),
      .help = "reverse-complement half of the windows" },
    { .type = CS_OPT_STR, .name = "skip-contigs", CORPUS(skip), .arg = "LIST",
      .help = "contigs to exclude, comma-separated",
      .man = "NAME includes its pieces NAME:FROM-TO." },
    { .type = CS_OPT_STR, .name = "val-contigs", CORPUS(valid), .arg = "LIST",
      .help = "contigs for validation, comma-separated" },
    { .type = CS_OPT_IN, .name = "val-regions", CORPUS(valid_bed), .arg = "BED",
      .help = "regions for validation, as BED" },
    { .type = CS_OPT_REAL, .name = "valid-frac", CORPUS(valid_frac), .arg = "NUM", .def = "0.05",
      .help = "share of the genome for validation, in blocks of at most 64 windows", .min = 0,
      .max = 0.9 },
    { .type = CS_OPT_SIZE, .name = "valid-windows", CORPUS(valid_window), .arg = "NUM",
      .def = "0", .help = "validation windows; 0: all", .min = 0, .max = 1e12 },
    { .type = CS_OPT_END }
};

const cs_opt cs_mask_table[] = {
    { .type = CS_OPT_GROUP, .name = "Masking" },
    { .type = CS_OPT_REAL, .name = "mask-ratio", MASK(ratio), .arg = "NUM", .def = "0.15",
      .help = "share of tokens to predict", .min = 0.001, .max = 0.9 },
    { .type = CS_OPT_INT, .name = "mask-span", MASK(span), .arg = "NUM", .def = "1",
      .help = "length of a run of masked tokens",
      .man = "With overlapping k-mers, all k-mers over these bases are masked, because the others "
             "would reveal them.", .min = 1, .max = 10000 },
    { .type = CS_OPT_REAL, .name = "mask-hide", MASK(p_mask), .arg = "NUM", .def = "0.8",
      .help = "share of selected tokens that are masked",
      .man = "Validation masks all selected tokens, so that its perplexity is that of unseen "
             "bases.",
      .min = 0, .max = 1 },
    { .type = CS_OPT_REAL, .name = "mask-swap", MASK(p_random), .arg = "NUM", .def = "0.1",
      .help = "share of selected tokens replaced by random ones; the rest stay unchanged", .min = 0,
      .max = 1 },
    { .type = CS_OPT_ENUM, .name = "decoder", MASK(decoder), .arg = "NAME", .def = "light",
      .help = "decoder: linear, or light (convolutions of half the width)",
      .man = "'chordseq train --init' drops the decoder.",
      .choice = decoder_names },
    { .type = CS_OPT_INT, .name = "decoder-layers", MASK(decoder_layers), .arg = "NUM",
      .def = "2", .help = "layers of the light decoder", .min = 1, .max = 32 },
    { .type = CS_OPT_END }
};

const cs_opt cs_continue_table[] = {
    { .type = CS_OPT_GROUP, .name = "Further pretraining" },
    { .type = CS_OPT_IN, .name = "init", .off = offsetof(cs_pretrain_args, init), .arg = "MODEL",
      .help = "start from this pretrained model's weights",
      .man = "For example, to adapt it to other genomes. A file, a folder of 'chordseq model "
             "export', or human-lm, which comes with chordseq. Tokenizer, encoder and decoder are "
             "copied with all settings; contradicting options are refused, except dropout. "
             "Optimiser and learning rate start anew; --resume continues an interrupted run "
             "instead." },
    { .type = CS_OPT_END }
};

struct job {
    cs_pretrain_args *a;
    double         began;        /* start of the command in seconds */
    cs_train_budget budget;
    cs_genome      genome;
    cs_corpus      train, valid;
    void          *tok;          /* the tokenizer, until the model exists */
    cs_group      *group;        /* with --ranks */
    cs_backend    *be;
    cs_model      *model, *from;         /* from: --init, until its weights have been copied */
    cs_window_feed feed;
    char          *recipe, *checkpoint;
    cs_provenance  origin;
};

static int pretrain_check_options(const cs_pretrain_args *a)
{
    if (a->corpus.file.n == 0)
        return cs_fail(CS_EUSAGE, "no genome; give its FASTA file");
    if (a->corpus.window_min > a->corpus.window)
        return cs_fail(CS_EUSAGE, "--window-min %lld is longer than --window %lld",
                       (long long)a->corpus.window_min, (long long)a->corpus.window);
    if (a->mask.p_mask + a->mask.p_random > 1)
        return cs_fail(CS_EUSAGE, "--mask-hide and --mask-swap sum to more than 1");
    if (a->corpus.valid_bed != NULL && a->corpus.valid != NULL)
        return cs_fail(CS_EUSAGE, "give one of --val-contigs and --val-regions, not both");
    return CS_OK;
}

/* The text of a component's setting; empty if it has no such option. */
static const char *setting(const cs_opt *table, const void *cfg, const char *name,
                           char text[SETTING_BYTES])
{
    const cs_opt *o = cs_opt_find(table, name);

    text[0] = '\0';
    if (o != NULL)
        (void)cs_opt_text(o, cfg, text, SETTING_BYTES);
    return text;
}

/* With --init: the options of the decoder are the settings of the model's head. */
static int adopt_decoder(const cs_model *from, cs_mask_args *a)
{
    char is[SETTING_BYTES], has[SETTING_BYTES];
    const bool light = strcmp(setting(from->head->opt, from->head_cfg, "predictor", has),
                              "none") != 0;
    const int decoder = light ? DECODER_LIGHT : DECODER_LINEAR;

    if (cs_opt_given(&a->decoder) && a->decoder != decoder)
        return cs_components_kept("decoder", decoder_names[a->decoder], decoder_names[decoder]);
    a->decoder = decoder;
    if (!light)
        return CS_OK;
    (void)setting(from->head->opt, from->head_cfg, "predictor-layers", has);
    (void)snprintf(is, sizeof is, "%lld", (long long)a->decoder_layers);
    if (cs_opt_given(&a->decoder_layers) && strcmp(is, has) != 0)
        return cs_components_kept("decoder-layers", is, has);
    a->decoder_layers = strtoll(has, NULL, 10);
    return CS_OK;
}

/* With --init: take the model's settings. Only here the encoder's decoder cannot be dropped,
 * because the head reads it. */
static int adopt_settings(cs_pretrain_args *a, int argc, char **argv)
{
    int rc = CS_OK;
    cs_components *c = &a->components;
    char is[SETTING_BYTES], has[SETTING_BYTES];

    if (c->from == NULL)
        return CS_OK;
    a->init = c->from_path;
    CS_TRY(cs_components_adopt(c, argc, argv, false));
    if (strcmp(setting(c->enc->opt, c->enc_cfg, "decoder", is),
               setting(c->enc->opt, c->from->enc_cfg, "decoder", has)) != 0)
        return cs_components_kept("encoder.decoder", is, has);
    rc = adopt_decoder(c->from, &a->mask);
out:
    return rc;
}

static int open_tokenizer(struct job *j)
{
    const cs_pretrain_args *a = j->a;
    const cs_tokenizer *tok = a->components.tok;
    int rc = CS_OK;

    if (!tok->cells && !tok->contiguous)
        return cs_fail(CS_EUSAGE, "--tokenizer %s repeats bases in distant tokens, which reveal "
                       "masked ones; use base, kmer, bpe or frames",
                       tok->name);
    CS_TRY(cs_components_tokenizer(&a->components, &j->tok));
    if (a->corpus.rc && cs_tokenizer_alphabet(tok, j->tok) == CS_DIPLOTYPES)
        rc = cs_fail(CS_EUSAGE, "diplotypes have no reverse complement; omit --rc");
    else if (a->corpus.window < tok->min_base(j->tok))
        rc = cs_fail(CS_EUSAGE, "--window %lld has no tokens; it must be at least %lld",
                     (long long)a->corpus.window, (long long)tok->min_base(j->tok));
out:
    return rc;
}

static int split_genome(struct job *j)
{
    const cs_pretrain_args *a = j->a;
    int rc = CS_OK;
    const int64_t min_base = a->components.tok->min_base(j->tok),
                  usual = a->corpus.window < MIN_BASES ? a->corpus.window : MIN_BASES;
    const cs_genome_split split = { a->corpus.valid, a->corpus.skip, a->corpus.valid_bed,
                                    a->corpus.valid_frac };

    j->train = (cs_corpus){
        .window = a->corpus.window, .min_window = a->corpus.window_min, .reverse = a->corpus.rc,
        .min_base = min_base > usual ? min_base : usual, .seed = (uint64_t)a->training.seed,
    };
    j->valid = j->train;
    j->valid.reverse = false;
    CS_TRY(cs_train_rank0_begin(j->group));
    CS_TRY(cs_genome_open(&a->corpus.file, cs_tokenizer_alphabet(a->components.tok, j->tok),
                          &j->genome));
    CS_TRY(cs_train_rank0_end(j->group));
    CS_TRY(cs_genome_share(&j->genome, &split, &j->train, &j->valid));
    if (j->train.n_window == 0)
        return cs_fail(CS_EUSAGE, "no training sequence is left; hold out or skip fewer contigs, "
                       "or lower --valid-frac");
    if (j->valid.n_window == 0)
        cs_warn("no validation sequences: writing the latest model, not the best");
    cs_info("%lld training bases, %lld validation bases", (long long)j->train.n_base,
            (long long)j->valid.n_base);
out:
    return rc;
}

/* The predicted classes are the symbols of a sequence. */
static cs_label *token_labels(const struct job *j, int32_t *n)
{
    const cs_pretrain_args *a = j->a;
    char symbol[4200];

    *n = a->components.tok->n_vocab(j->tok) - CS_TOK_FIRST;
    cs_label *l = cs_xcalloc((size_t)*n, sizeof *l);
    for (int32_t i = 0; i < *n; i++) {
        a->components.tok->symbol(j->tok, i + CS_TOK_FIRST, symbol, sizeof symbol);
        l[i].name = cs_xstrdup(symbol);
    }
    return l;
}

/* The light decoder is the head's predictor, half as wide as the encoder. The head of an initial
 * model has its own. */
static int set_decoder(const cs_pretrain_args *a, const cs_model_spec *spec, cs_backend *be)
{
    int rc = CS_OK;
    cs_model *m = NULL;
    char width[32], layers[32];
    const cs_opt *head = a->components.head->opt;
    void *cfg = a->components.head_cfg;

    if (a->mask.decoder == DECODER_LINEAR || a->init != NULL)
        return CS_OK;
    CS_TRY(cs_model_declare(spec, be, &m));
    (void)snprintf(width, sizeof width, "%d", m->width > 1 ? (int)m->width / 2 : 1);
    (void)snprintf(layers, sizeof layers, "%lld", (long long)a->mask.decoder_layers);
    CS_TRY(cs_opt_set(head, cfg, "predictor", "cdil"));
    CS_TRY(cs_opt_set(head, cfg, "predictor-channels", width));
    CS_TRY(cs_opt_set(head, cfg, "predictor-layers", layers));
out:
    cs_model_free(m);
    return rc;
}

/* An encoder of an initial model keeps its maximum length. */
static int check_window(const struct job *j)
{
    const cs_pretrain_args *a = j->a;
    const int64_t max_len = cs_model_max_len(j->model),
                  n_tok = a->components.tok->bound(j->tok, a->corpus.window);

    if (max_len == 0 || n_tok <= max_len)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "--window %lld has up to %lld tokens, but the encoder takes %lld; "
                   "lower it%s", (long long)a->corpus.window, (long long)n_tok,
                   (long long)max_len, a->init ? "" : ", or give a larger --encoder.max-len");
}

static int make_model(struct job *j, int n_thread)
{
    const cs_pretrain_args *a = j->a;
    const cs_components *c = &a->components;
    int rc = CS_OK;
    int32_t n = 0;
    cs_label *label = token_labels(j, &n);
    cs_model_spec spec = {
        .tok = c->tok, .tok_cfg = c->tok_cfg, .tok_text = c->tok_text, .enc = c->enc,
        .enc_cfg = c->enc_cfg, .head = c->head, .head_cfg = c->head_cfg, .has_mask = true,
        .label = label, .n_label = n, .seed = (uint64_t)a->training.seed, .training = true,
    };

    CS_TRY(cs_train_device(&a->device, j->group, n_thread, &j->be));
    CS_TRY(set_decoder(a, &spec, j->be));
    if (a->init != NULL) {
        CS_TRY(cs_model_load(a->init, j->be, CS_USE_INFERENCE, &j->from));
        spec.ranks = cs_params_ranks(&j->from->ps);
    }
    CS_TRY(cs_model_new(&spec, j->be, &j->model));
    CS_TRY(check_window(j));
    if (j->from != NULL)
        CS_TRY(cs_model_adopt(j->model, j->from, false));
    cs_model_free(j->from);
    j->from = NULL;
    j->model->strands = a->corpus.rc ? CS_STRANDS_BOTH : CS_STRANDS_FORWARD;
out:
    for (int32_t i = 0; i < n; i++)
        free(label[i].name);
    free(label);
    return rc;
}

static int64_t windows_of(int64_t wanted, const cs_corpus *c)
{
    return wanted > 0 && c->n_window > 0 ? wanted : c->n_window;
}

/* The four bases; of diplotypes all codes without an N. */
static void mark_known(cs_alphabet alphabet, bool *known)
{
    for (int c = 0; c < 256; c++)
        known[c] = alphabet != CS_DIPLOTYPES && cs_base_code[c] < 4;
    for (int i = 0, a, b; alphabet == CS_DIPLOTYPES && i < CS_N_DIPLOTYPE; i++) {
        cs_diplotype_split(i, &a, &b);
        known[(unsigned char)cs_diplotype_codes[i]] = a != CS_HAP_N && b != CS_HAP_N;
    }
}

static void make_feed(struct job *j)
{
    const cs_pretrain_args *a = j->a;
    const cs_model *m = j->model;

    j->feed = (cs_window_feed){
        .feed.rules = { .tok = m->tok, .tok_state = m->tok_state,
                        .batch_tokens = a->training.batch_tokens,
                        .step_records = a->training.step_records,
                        .accumulate = a->training.accumulate },
        .train = &j->train, .valid = &j->valid, .max_unknown = a->corpus.max_unknown,
        .mask = { .ratio = a->mask.ratio, .p_mask = a->mask.p_mask, .p_random = a->mask.p_random,
                  .run = cs_mask_run(cs_tokenizer_overlap(m->tok, m->tok_state),
                                     (int32_t)a->mask.span),
                  .id = m->mask, .n_vocab = m->tok->n_vocab(m->tok_state) },
        .epoch_window = windows_of(a->corpus.epoch_window, &j->train),
        .valid_window = windows_of(a->corpus.valid_window, &j->valid),
        .fetch = cs_genome_fetch, .arg = &j->genome,
    };
    mark_known(cs_tokenizer_alphabet(m->tok, m->tok_state), j->feed.known);
    if (j->feed.valid_window > j->valid.n_window)
        j->feed.valid_window = j->valid.n_window;
    cs_window_feed_init(&j->feed);
}

static uint64_t hash_corpus(const cs_corpus *c, uint64_t h)
{
    for (size_t i = 0; i < c->n; i++) {
        h = cs_rng_u64(h, (uint64_t)c->interval[i].contig);
        h = cs_rng_u64(h, (uint64_t)c->interval[i].from);
        h = cs_rng_u64(h, (uint64_t)c->interval[i].to);
    }
    return h;
}

/* Hash of all inputs: the files' checksums, safer than names and lengths, and the training and
 * validation parts. */
static uint64_t hash_inputs(const struct job *j)
{
    const cs_provenance *p = &j->origin;
    uint64_t h = 0;

    for (int i = 0; i < p->n_file; i++)
        for (const char *c = p->file[i].sha256; *c != '\0'; c++)
            h = cs_rng_u64(h, (unsigned char)*c);
    return hash_corpus(&j->valid, hash_corpus(&j->train, h));
}

/* As train's, with bases instead of records and perplexity instead of class metrics. */
static char *pretrain_describe(void *arg, const cs_train_state *st)
{
    const struct job *j = arg;
    const cs_dataset none = { 0 };
    const cs_classes no_class = { 0 };
    char *text = cs_provenance_text(&j->origin, &none, &no_class, st);
    json_t *o = json_loads(text, 0, NULL);

    free(text);
    json_object_set_new(o, "data", json_pack("{s:I, s:I, s:I}", "train_bases",
                        (json_int_t)j->train.n_base, "valid_bases", (json_int_t)j->valid.n_base,
                        "windows_per_epoch", (json_int_t)j->feed.epoch_window));
    json_object_del(o, "classes");
    json_object_del(o, "valid_balanced_accuracy");
    json_object_set_new(o, "valid_perplexity", isfinite(st->best_loss)
                                                   ? json_real(exp(st->best_loss)) : json_null());
    text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(o);
    return text;
}

static void report_windows(const cs_window_count *c)
{
    cs_info("%lld windows, %lld of them too short at the end of a contiguous stretch",
            (long long)c->n, (long long)c->n_short);
    if (c->n_unknown > 0)
        cs_warn("%lld of %lld windows %s too few known bases and %s left out",
                (long long)c->n_unknown, (long long)c->n,
                CS_PLURAL(c->n_unknown, "has", "have"), CS_PLURAL(c->n_unknown, "was", "were"));
}

static int pretrain(struct job *j)
{
    const cs_pretrain_args *a = j->a;
    int rc;
    cs_train_state st;
    cs_loop_opt o = cs_train_loop_opt(&a->training, &a->run, &a->memory);

    cs_train_set_budget(&j->budget, j->began, &o);
    o.monitor = CS_MONITOR_LOSS;
    o.perplexity = true;
    o.shorter = "shorten windows with --window";
    o.checkpoint_path = j->checkpoint;
    o.recipe = j->recipe;
    o.group = j->group;
    o.watch = j->group == NULL || cs_group_rank(j->group) == 0 ? "model" : NULL;
    o.describe = pretrain_describe;
    o.arg = j;
    cs_train_state_init(&st);
    rc = cs_train_run(j->model, &j->feed.feed, &o, &st);
    if (rc == CS_OK || rc == CS_ECANCEL) {
        report_windows(&j->feed.count);
        cs_train_summary(&st, j->checkpoint, false, rc);
    }
    cs_train_state_release(&st);
    return rc;
}

static int pretrain_prepare(struct job *j, const cs_optset *set, int argc, char **argv)
{
    cs_pretrain_args *a = j->a;
    int rc = CS_OK;
    const char *once = cs_args_once(a->corpus.file.v, a->corpus.file.n);

    CS_TRY(cs_train_join(&a->training, &a->run, &a->device, once, false, &a->compute,
                         &j->group));
    CS_TRY(cs_train_check_outputs(&a->run, j->group, &j->checkpoint));
    cs_train_warn_idle(&a->training);
    cs_args_warn_repeats(&a->corpus.file);
    CS_TRY(open_tokenizer(j));
    CS_TRY(split_genome(j));
    CS_TRY(make_model(j, cs_args_threads(&a->compute).work));
    make_feed(j);
    j->origin.seed = a->training.seed;
    cs_provenance_start_from(&j->origin, a->init, a->components.from);
    CS_TRY(cs_provenance_init(&j->origin, set, argc, argv, &a->corpus.file));
    CS_TRY(cs_provenance_recipe(set, (const cs_opt *const[]){ NULL }, j->model, hash_inputs(j),
                                &j->recipe));
    rc = cs_train_budget_check(&j->budget, cs_now_s() - j->began);
out:
    return rc;
}

static void pretrain_release(struct job *j)
{
    const cs_pretrain_args *a = j->a;
    cs_model_free(j->model);
    cs_model_free(j->from);
    cs_backend_close(j->be);
    if (a->components.tok != NULL)
        a->components.tok->close(j->tok);
    cs_genome_release(&j->genome);
    cs_corpus_release(&j->train);
    cs_corpus_release(&j->valid);
    cs_provenance_release(&j->origin);
    free(j->recipe);
    free(j->checkpoint);
}

int cs_pretrain(cs_pretrain_args *a, const cs_optset *set, int argc, char **argv)
{
    int rc = CS_OK;
    struct job j = { .a = a, .began = cs_now_s() };

    CS_TRY(pretrain_check_options(a));
    CS_TRY(adopt_settings(a, argc, argv));
    CS_TRY(cs_train_take_budget(&a->training, &j.budget));
    CS_TRY(pretrain_prepare(&j, set, argc, argv));
    CS_TRY(pretrain(&j));
out:
    cs_group_finalize(j.group, rc);
    pretrain_release(&j);
    return rc;
}
