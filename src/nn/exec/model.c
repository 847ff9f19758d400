/* model.c - construct models from tokenizer, embedding, encoder and head; copy them. */
#include "nn/exec/model.h"
#include "nn/exec/words.h"

#include <string.h>

#include "nn/ops/layer.h"

const char *const cs_strands_names[] = { "forward", "both", "max", "weighted",
                                         NULL };

static void *copy_of(const void *p, size_t n_bytes)
{
    void *q = cs_xmalloc(n_bytes);
    if (n_bytes)
        memcpy(q, p, n_bytes);
    return q;
}

static void copy_labels(cs_model *m, const cs_label *label, int32_t n)
{
    m->label = cs_xcalloc((size_t)n, sizeof *m->label);
    m->n_label = n;
    for (int32_t i = 0; i < n; i++) {
        const cs_label *l = &label[i];
        m->label[i] = (cs_label){ cs_xstrdup(l->name), l->taxid,
                                  l->rank ? cs_xstrdup(l->rank) : NULL,
                                  l->description ? cs_xstrdup(l->description) : NULL,
                                  l->mean, l->deviation };
    }
}

static int check_spec(const cs_model_spec *s)
{
    if (s->n_label < 1)
        return cs_fail(CS_EUSAGE, "a model needs at least one label");
    if (s->head->is_class && s->n_label < 2)
        return cs_fail(CS_EUSAGE, "a model needs at least two classes, got '%s' only",
                       s->label[0].name);
    if (!s->tok && s->n_channel < 1)
        return cs_fail(CS_EUSAGE, "real-valued input needs at least one channel");
    int rc = s->head->check ? s->head->check(s->head_cfg) : CS_OK;
    return rc == CS_OK ? s->enc->check(s->enc_cfg) : rc;
}

static int32_t mask_token(const cs_model *m)
{
    const int32_t own = cs_tokenizer_mask(m->tok, m->tok_state);
    return own >= 0 ? own : m->tok->n_vocab(m->tok_state);
}

/* Names and layout are those of torch.nn.Embedding and torch.nn.Linear. */
static void declare_embedding(cs_model *m)
{
    cs_params *ps = &m->ps;
    m->embed_b = -1;
    if (!m->tok) {
        m->embed_w = cs_declare(ps, cs_shape2(m->in_width, m->n_channel), CS_INIT_XAVIER, 1,
                                "embedding.weight");
        m->embed_b = cs_declare(ps, cs_shape1(m->in_width), CS_INIT_ZERO, 1, "embedding.bias");
        return;
    }
    m->embed_w = cs_declare(ps, cs_shape2(cs_model_n_token(m), m->in_width), CS_INIT_NORMAL, 1,
                            "embedding.weight");
    ps->p[m->embed_w].zero_row = CS_TOK_PAD;
}

/* Length of the words that the head counts; 0: none. */
static int32_t word_of(const cs_model *m)
{
    return m->head->word ? m->head->word(m->head_net) : 0;
}

/* Pass the word map to a head that counts words. */
static int give_words(cs_model *m)
{
    const int32_t k = word_of(m);
    cs_word_map words;

    if (k == 0)
        return CS_OK;
    const int rc = cs_words_make(m->tok, m->tok_state, k, &words);
    if (rc == CS_OK)
        m->head->take_words(m->head_net, words);
    return rc;
}

int cs_model_declare(const cs_model_spec *s, cs_backend *be, cs_model **out)
{
    int rc = CS_OK;
    cs_model *m = cs_xcalloc(1, sizeof *m);

    *out = NULL;
    cs_params_init(&m->ps);
    CS_TRY(check_spec(s));
    m->tok = s->tok;
    m->enc = s->enc;
    m->head = s->head;
    m->be = be;
    m->n_channel = s->tok ? 0 : s->n_channel;
    copy_labels(m, s->label, s->n_label);
    m->enc_cfg = copy_of(s->enc_cfg, s->enc->cfg_size);
    m->head_cfg = copy_of(s->head_cfg, s->head->cfg_size);
    if (s->tok) {
        m->tok_cfg = copy_of(s->tok_cfg, s->tok->cfg_size);
        CS_TRY(s->tok_text && s->tok->restore
                   ? s->tok->restore(m->tok_cfg, s->tok_text, "the model", &m->tok_state)
                   : s->tok->open(m->tok_cfg, &m->tok_state));
    }
    m->mask = s->tok && s->has_mask ? mask_token(m) : -1;
    m->ps.ranks = s->ranks;
    m->enc_net = m->enc->build(m->enc_cfg, &m->ps);
    m->width = m->enc->width(m->enc_net);
    m->in_width = m->enc->in_width ? m->enc->in_width(m->enc_net) : m->width;
    declare_embedding(m);
    m->head_net = m->head->build(m->head_cfg, m->width, m->n_label, &m->ps);
    CS_TRY(cs_params_check(&m->ps));
    CS_TRY(give_words(m));
    m->ps.ranks = (cs_ranks){ 0 };
    *out = m;
    m = NULL;
out:
    cs_model_free(m);
    return rc;
}

int cs_model_new(const cs_model_spec *s, cs_backend *be, cs_model **out)
{
    int rc = cs_model_declare(s, be, out);

    if (rc == CS_OK)
        rc = cs_params_alloc(&(*out)->ps, be, s->training);
    if (rc == CS_OK)
        rc = cs_params_fill(&(*out)->ps, s->seed);
    if (rc != CS_OK) {
        cs_model_free(*out);
        *out = NULL;
    }
    return rc;
}

void cs_model_free(cs_model *m)
{
    if (!m)
        return;
    cs_params_release(&m->ps);
    if (m->head_net)
        m->head->release(m->head_net);
    if (m->enc_net)
        m->enc->release(m->enc_net);
    if (m->tok)
        m->tok->close(m->tok_state);
    for (int32_t i = 0; i < m->n_label; i++) {
        CS_FREE(m->label[i].name, m->label[i].rank, m->label[i].description);
    }
    CS_FREE(m->label, m->tok_cfg, m->enc_cfg, m->head_cfg, m->training, m->taxonomy);
    cs_lookup_free(m->lookup);
    cs_proteins_free(m->proteins);
    cs_arena_free(m->text);
    free(m);
}

static char *copy_text(const char *s)
{
    return s ? cs_xstrdup(s) : NULL;
}

int cs_model_like(const cs_model *m, cs_ranks ranks, cs_backend *be, cs_model **out)
{
    int rc = CS_OK;
    const bool has_text = m->tok && m->tok->save;
    char *text = has_text ? m->tok->save(m->tok_state) : NULL;
    const cs_model_spec spec = {
        .tok = m->tok, .enc = m->enc, .head = m->head, .tok_cfg = m->tok_cfg,
        .enc_cfg = m->enc_cfg, .head_cfg = m->head_cfg, .tok_text = text,
        .has_mask = m->mask >= 0, .n_channel = m->n_channel, .label = m->label,
        .n_label = m->n_label, .ranks = ranks,
    };

    *out = NULL;
    if (has_text && !text)
        return cs_fail(CS_EMEM, "out of memory for the vocabulary of a model");
    CS_TRY(cs_model_declare(&spec, be, out));
    CS_TRY(cs_params_alloc(&(*out)->ps, be, false));
    (*out)->strands = m->strands;
    (*out)->window = m->window;
    (*out)->demonstration = m->demonstration;
    (*out)->training = copy_text(m->training);
    (*out)->taxonomy = copy_text(m->taxonomy);
    if (m->lookup)
        CS_TRY(cs_lookup_copy(m->lookup, &(*out)->lookup));
    if (m->proteins)
        rc = cs_proteins_copy(m->proteins, &(*out)->proteins);
out:
    free(text);
    if (rc != CS_OK) {
        cs_model_free(*out);
        *out = NULL;
    }
    return rc;
}

int cs_model_copy(const cs_model *m, cs_backend *be, cs_model **out)
{
    int rc = CS_OK;

    CS_TRY(cs_model_like(m, cs_params_ranks(&m->ps), be, out));
    CS_TRY(cs_params_copy(&m->ps, &(*out)->ps));
    (*out)->checked = m->checked;
    (*out)->calibration = m->calibration;
    memcpy((*out)->sum, m->sum, sizeof m->sum);
out:
    if (rc != CS_OK) {
        cs_model_free(*out);
        *out = NULL;
    }
    return rc;
}

int32_t cs_model_n_score(const cs_model *m)
{
    return m->n_label - (m->strands == CS_STRANDS_WEIGHTED);
}

bool cs_model_reads_case(const cs_model *m)
{
    return m->tok && cs_tokenizer_alphabet(m->tok, m->tok_state) == CS_CASED;
}

bool cs_model_same_labels(const cs_model *a, const cs_model *b)
{
    bool same = a->head == b->head && a->n_label == b->n_label;
    for (int32_t i = 0; same && i < a->n_label; i++)
        same = strcmp(a->label[i].name, b->label[i].name) == 0;
    return same;
}

/* Is it a tensor of the head's last layer? */
static bool is_last(const char *name)
{
    return strcmp(name, "head.weight") == 0 || strcmp(name, "head.bias") == 0;
}

bool cs_model_keeps_hidden(const cs_model *m)
{
    return m->head->keeps_hidden && m->head->keeps_hidden(m->head_net);
}

int cs_model_adopt(cs_model *m, const cs_model *from, bool new_head)
{
    const bool hidden = !new_head && cs_model_keeps_hidden(m);
    /* A head with a composition path is initialised anew if the other model has none. */
    const bool same = !new_head && cs_model_same_labels(m, from) &&
                      word_of(m) == word_of(from);
    for (int32_t i = 0; i < m->ps.n; i++) {
        const cs_param *p = &m->ps.p[i];
        const bool head = strncmp(p->name, "head.", 5) == 0;
        const int k = cs_params_find(&from->ps, p->name);
        const bool fits = k >= 0 && cs_shape_equal(&p->shape, &from->ps.p[k].shape);
        if (!fits && !head)
            return cs_fail(CS_EMODEL, "tensor '%s' %s; the initial model must have the same "
                           "tokenizer and encoder, with the same sizes", p->name,
                           k < 0 ? "is missing" : "has a different shape");
        if (fits && (same || !head || (hidden && !is_last(p->name))))
            m->be->op.copy(m->be, cs_value(&from->ps, k), cs_value(&m->ps, i));
    }
    for (int32_t i = 0; same && i < m->n_label; i++) {
        m->label[i].mean = from->label[i].mean;
        m->label[i].deviation = from->label[i].deviation;
    }
    return CS_OK;
}

int32_t cs_model_n_token(const cs_model *m)
{
    const int32_t n = m->tok->n_vocab(m->tok_state);
    return m->mask >= n ? m->mask + 1 : n;
}

int64_t cs_model_max_len(const cs_model *m)
{
    return cs_model_parts(m) * m->enc->max_len(m->enc_net);
}

int64_t cs_model_output_len(const cs_model *m, cs_head_output what, int64_t n_tok)
{
    if (what == CS_HEAD_TOKENS)
        return n_tok * m->width;
    return what == CS_HEAD_PREDICTION ? m->head->output_len(m->head_net, n_tok)
                                      : m->head->n_vector(m->head_net, what == CS_HEAD_HIDDEN);
}

int cs_model_check_output(const cs_model *m, cs_head_output what)
{
    const bool hidden = what == CS_HEAD_HIDDEN;

    if (what == CS_HEAD_PREDICTION
        || (m->head->n_vector && m->head->n_vector(m->head_net, hidden) > 0))
        return CS_OK;
    if (hidden)
        return cs_fail(CS_EUSAGE, "the model's head has no hidden layer; embed its pooled vector");
    return cs_fail(CS_EUSAGE, "a model with the head '%s' has no vector for a sequence; choose "
                   "another model", m->head->name);
}

bool cs_model_is_standardized(const cs_model *m)
{
    for (int32_t i = 0; i < m->n_label; i++)
        if (m->label[i].deviation > 0)
            return true;
    return false;
}

void cs_model_destandardize(const cs_model *m, float *output, int64_t n)
{
    if (!cs_model_is_standardized(m))
        return;
    for (int64_t i = 0; i < n * m->n_label; i++)
        output[i] = (float)cs_label_destandardize(&m->label[i % m->n_label], (double)output[i]);
}

void cs_model_decide(const cs_model *m, float *v, int64_t n, double temperature)
{
    m->head->decide(m->head_net, v, n, temperature);
    cs_model_destandardize(m, v, n / m->n_label);
}

int32_t cs_model_n_target(const cs_model *m)
{
    return m->head->per_token ? CS_TARGET_TOKENS : m->head->n_target(m->head_net);
}

int cs_model_check_cells(const cs_model *m)
{
    if (!m->head->per_token || !m->tok || m->tok->cells)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "%s predicts every token, but those of %s are of both strands; use "
                   "%s or kmer, or another head", CS_OPTION("head %s", m->head->name),
                   CS_OPTION("tokenizer %s", m->tok->name), CS_OPTION("tokenizer base"));
}

bool cs_model_takes_lookup(const cs_model *m)
{
    return m->tok && cs_tokenizer_alphabet(m->tok, m->tok_state) == CS_NUCLEOTIDES
        && m->head->is_class && !m->head->per_token && m->n_label <= CS_LOOKUP_MAX_CLASSES;
}

bool cs_model_takes_proteins(const cs_model *m)
{
    return cs_model_takes_lookup(m) && m->n_label <= CS_PROTEIN_MAX_CLASSES;
}

bool cs_model_strandless(const cs_model *m)
{
    if (m->tok && m->tok->both_strands && m->tok->both_strands(m->tok_state))
        return !m->head->per_token;
    return m->tok && m->tok->mirrors(m->tok_state) && m->enc->unordered
        && m->enc->unordered(m->enc_net) && m->head->pools && m->head->pools(m->head_net);
}

bool cs_model_takes_counts(const cs_model *m)
{
    return m->tok && m->tok->count && m->be->fused.count_mean && cs_model_parts(m) == 1
        && m->enc->unordered && m->enc->unordered(m->enc_net)
        && m->head->pools && m->head->pools(m->head_net)
        && (!m->head->word || m->head->word(m->head_net) == 0);
}

/* A model trained from a pretrained one also has its mask, but other labels. */
bool cs_model_predicts_masked(const cs_model *m)
{
    char symbol[4200];
    bool is = m->tok && m->mask >= 0 && m->head->per_token
           && m->n_label == m->tok->n_vocab(m->tok_state) - CS_TOK_FIRST;

    for (int32_t i = 0; is && i < m->n_label; i++) {
        m->tok->symbol(m->tok_state, i + CS_TOK_FIRST, symbol, sizeof symbol);
        is = strcmp(m->label[i].name, symbol) == 0;
    }
    return is;
}

int cs_model_check_masked(const cs_model *m, const char *what)
{
    if (cs_model_predicts_masked(m))
        return CS_OK;
    return cs_fail(CS_EMODEL, "'%s' does not predict masked tokens; give a model of 'chordseq "
                   "pretrain'", what);
}
