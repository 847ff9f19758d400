/* test_bpe.c - byte-pair pieces: training and encoding against plain reference
 * code, tokenizer.json written and read, and refused input. */
#include "check.h"

#include "base/rng.h"
#include "registry.h"
#include "tok/bpe_train.h"
#include "tok/tokenizer.h"

enum { MAX_N = 4000, N_VOCAB = 60, MOST_PIECES = 640 };

/* A sequence with repeats, so that pieces are long and pairs overlap. */
static int64_t draw(uint64_t seed, int64_t n, const char *symbols, char *s)
{
    const uint64_t n_symbol = strlen(symbols);
    int64_t i = 0;
    for (uint64_t k = 0; i < n; k++) {
        const uint64_t what = cs_rng_below(seed, 2 * k, 4);
        const int64_t run = 1 + (int64_t)cs_rng_below(seed, 2 * k + 1, 9);
        for (int64_t j = 0; j < run && i < n; j++, i++)
            s[i] = what == 0 ? 'A' : what == 1 && i >= run ? s[i - run]
                 : symbols[cs_rng_below(seed + 1, (uint64_t)i, n_symbol)];
    }
    return n;
}

/* ---- the plainest trainer: counts everything before every merge ------------------------------ */

struct plain {
    int32_t id[2 * MAX_N];       /* -1: bound */
    int     n;
    char    piece[MOST_PIECES][80];
    int     n_piece, n_merge;
    cs_bpe_merge merge[MOST_PIECES];
};

static int32_t plain_find(const struct plain *p, const char *text)
{
    int32_t i = 0;
    while (i < p->n_piece && strcmp(p->piece[i], text) != 0)
        i++;
    return i < p->n_piece ? i : -1;
}

static bool plain_best(const struct plain *p, int max_piece, cs_bpe_merge *best)
{
    static int count[MOST_PIECES][MOST_PIECES];
    int max = 1;                 /* pairs that occur once are not merged */
    memset(count, 0, sizeof count);
    for (int i = 0; i + 1 < p->n; i++) {
        if (p->id[i] >= 0 && p->id[i + 1] >= 0)
            count[p->id[i]][p->id[i + 1]]++;
    }
    for (int l = 0; l < p->n_piece; l++) {
        for (int r = 0; r < p->n_piece; r++) {
            if (count[l][r] > max
                && strlen(p->piece[l]) + strlen(p->piece[r]) <= (size_t)max_piece) {
                max = count[l][r];
                *best = (cs_bpe_merge){ l, r, 0 };
            }
        }
    }
    return max > 1;
}

static void plain_merge(struct plain *p, cs_bpe_merge m)
{
    int k = 0;
    for (int i = 0; i < p->n; i++, k++) {
        const bool pair = i + 1 < p->n && p->id[i] == m.left && p->id[i + 1] == m.right;
        p->id[k] = pair ? m.id : p->id[i];
        i += pair;
    }
    p->n = k;
}

static void plain_train(struct plain *p, int n_vocab, int max_piece)
{
    char text[80];
    cs_bpe_merge m;
    while (p->n_piece < n_vocab && plain_best(p, max_piece, &m)) {
        const int n = snprintf(text, sizeof text, "%s%s", p->piece[m.left], p->piece[m.right]);
        assert_in_range(n, 2, sizeof text - 1);
        m.id = plain_find(p, text);
        if (m.id < 0) {
            m.id = p->n_piece++;
            memcpy(p->piece[m.id], text, sizeof text);
        }
        p->merge[p->n_merge++] = m;
        plain_merge(p, m);
    }
}

static cs_bpe *train(const cs_bpe_setting *set, const char *s, int64_t n, int n_record)
{
    cs_bpe_corpus *c;
    cs_bpe *b;
    assert_int_equal(cs_bpe_corpus_new(set, &c), CS_OK);
    for (int i = 0; i < n_record; i++)
        assert_int_equal(cs_bpe_corpus_add(c, s + i * n / n_record,
                                           (i + 1) * n / n_record - i * n / n_record), CS_OK);
    assert_int_equal(cs_bpe_train(c, &b), CS_OK);
    cs_bpe_corpus_free(c);
    return b;
}

static const cs_bpe_setting usual = {
    .alphabet = CS_NUCLEOTIDES, .n_vocab = N_VOCAB, .max_piece = 24, .min_count = 2,
};

static void check_training(uint64_t seed, int64_t n, const cs_bpe_setting *set, const char *symbols)
{
    static const char *const special[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };
    const char *alphabet = set->alphabet == CS_DIPLOTYPES ? cs_diplotype_codes : "ACGT";
    char s[MAX_N];
    struct plain *p = cs_xcalloc(1, sizeof *p);
    draw(seed, n, symbols, s);
    cs_bpe *b = train(set, s, n, 2);
    for (int i = 0; i < 5; i++)
        snprintf(p->piece[p->n_piece++], 80, "%s", special[i]);
    for (int i = 0; alphabet[i]; i++)
        snprintf(p->piece[p->n_piece++], 80, "%c", alphabet[i]);
    for (int64_t i = 0; i < n; i++) {
        if (i == n / 2)
            p->id[p->n++] = -1;
        p->id[p->n++] = plain_find(p, (char[]){ s[i], '\0' });
    }
    plain_train(p, (int)set->n_vocab, (int)set->max_piece);
    assert_int_equal(b->n_merge, p->n_merge);
    assert_memory_equal(b->merge, p->merge, (size_t)p->n_merge * sizeof *p->merge);
    assert_int_equal(b->n_id, p->n_piece);
    for (int i = 0; i < p->n_piece; i++)
        assert_string_equal(b->piece[i], p->piece[i]);
    cs_bpe_free(b);
    free(p);
}

static void test_train(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        check_training(100 * seed, 50 + 300 * (int64_t)seed, &usual, seed % 3 ? "ACGT" : "ACGTNR");
    cs_bpe_setting set = usual;
    set.alphabet = CS_DIPLOTYPES;
    set.n_vocab = 120;
    check_training(7, 3000, &set, "AACGGTTMRW1-E");
    set = usual;
    set.max_piece = 3;
    check_training(8, 3000, &set, "ACGT");
    set.n_vocab = 9;
    check_training(9, 300, &set, "ACGT");
    set = usual;
    set.n_vocab = MOST_PIECES;           /* of so many pairs, some share a bucket */
    check_training(9, MAX_N, &set, "ACGT");
}

/* ---- encoding
 * ---------------------------------------------------------------------------------- */

/* Scans the whole line for every merge: the leftmost pair of the lowest rank. */
static int64_t plain_encode(const cs_bpe *b, const char *s, int64_t n, int32_t *id)
{
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        const int32_t v = b->of_byte[(unsigned char)s[i]] >= 0 ? b->of_byte[(unsigned char)s[i]]
                                                               : b->unk;
        if (v != b->unk || !b->fuse_unk || k == 0 || id[k - 1] != v)
            id[k++] = v;
    }
    for (;;) {
        int64_t at = -1;
        int32_t best = b->n_merge;
        for (int64_t i = 0; i + 1 < k; i++) {
            for (int32_t r = 0; r < best; r++) {
                if (b->merge[r].left == id[i] && b->merge[r].right == id[i + 1]) {
                    best = r;
                    at = i;
                }
            }
        }
        if (at < 0)
            return k;
        id[at] = b->merge[best].id;
        memmove(id + at + 1, id + at + 2, (size_t)(--k - at - 1) * sizeof *id);
    }
}

static void test_encode(void **state)
{
    (void)state;
    char s[600];
    int32_t want[600];
    draw(3, 600, "ACGT", s);
    cs_bpe *b = train(&usual, s, 600, 1);
    for (int64_t n = 0; n < 200; n++) {
        draw((uint64_t)n, n, n % 2 ? "ACGT" : "ACGTNR", s);
        b->fuse_unk = n % 3 != 0;
        check_page work = check_page_new(cs_bpe_work(n));
        check_page id = check_page_new((size_t)n * sizeof(int32_t));
        const int64_t k = plain_encode(b, s, n, want);
        assert_int_equal(cs_bpe_encode(b, s, n, work.p, id.p), k);
        assert_memory_equal(id.p, want, (size_t)k * sizeof *want);
        check_page_free(&work);
        check_page_free(&id);
    }
    cs_bpe_free(b);
}

/* The same sentences from the same seed, their number and lengths as asked. */
static void test_sentences(void **state)
{
    (void)state;
    static char s[200000];
    cs_bpe_setting set = usual;
    cs_bpe_corpus *c;
    draw(5, sizeof s, "ACGT", s);
    set.n_sentence = 50;
    set.sentence_min = 500;
    set.sentence_max = 1000;
    set.seed = 3;
    assert_int_equal(cs_bpe_corpus_new(&set, &c), CS_OK);
    assert_int_equal(cs_bpe_corpus_add(c, s, sizeof s), CS_OK);
    assert_in_range(cs_bpe_corpus_size(c), 50 * 500, 50 * 1000);
    cs_bpe_corpus_free(c);
    set.sentence_min = 1000;             /* all of one length */
    assert_int_equal(cs_bpe_corpus_new(&set, &c), CS_OK);
    assert_int_equal(cs_bpe_corpus_add(c, s, sizeof s), CS_OK);
    assert_int_equal(cs_bpe_corpus_size(c), 50 * 1000);
    cs_bpe_corpus_free(c);
    set.sentence_min = 500;
    cs_bpe *a = train(&set, s, sizeof s, 4), *b = train(&set, s, sizeof s, 4);
    assert_int_equal(a->n_merge, b->n_merge);
    assert_memory_equal(a->merge, b->merge, (size_t)a->n_merge * sizeof *a->merge);
    cs_bpe_free(a);
    cs_bpe_free(b);
    set.sentence_min = 2000;
    assert_int_equal(cs_bpe_corpus_new(&set, &c), CS_EUSAGE);
    cs_error_clear();
    set.n_sentence = 0;
    set.n_vocab = 8;
    assert_int_equal(cs_bpe_corpus_new(&set, &c), CS_EUSAGE);
    cs_error_clear();
}

/* ---- tokenizer.json
 * ------------------------------------------------------------------------------ */

static void test_json(void **state)
{
    (void)state;
    char s[2000];
    cs_bpe *back;
    draw(4, sizeof s, "ACGT", s);
    cs_bpe *b = train(&usual, s, sizeof s, 1);
    char *text = cs_bpe_json(b);
    assert_int_equal(cs_bpe_parse(text, strlen(text), "x", &back), CS_OK);
    assert_int_equal(back->n_id, b->n_id);
    assert_int_equal(back->n_merge, b->n_merge);
    assert_memory_equal(back->merge, b->merge, (size_t)b->n_merge * sizeof *b->merge);
    assert_int_equal(back->unk, 1);
    assert_int_equal(back->pad, 0);
    assert_true(back->fuse_unk && back->alphabet == CS_NUCLEOTIDES);
    char *again = cs_bpe_json(back);
    assert_string_equal(again, text);
    free(again);
    free(text);
    cs_bpe_free(back);
    for (long i = 0; i < 7; i++) {
        cs_mem_fail_at(i);
        cs_bpe *none = cs_bpe_new(10, 10);
        cs_mem_fail_at(-1);
        cs_bpe_free(none);
    }
    cs_bpe_free(b);
}

#define HEAD "{\"added_tokens\":[{\"id\":0,\"content\":\"[UNK]\"}],"
#define TAIL "\"unk_token\":\"[UNK]\",\"vocab\":{\"[UNK]\":0,\"A\":1,\"C\":2,\"AC\":3}"
#define GOOD HEAD "\"model\":{\"type\":\"BPE\"," TAIL ",\"merges\":[\"A C\"]}}"
#define PAIRS HEAD "\"model\":{\"type\":\"BPE\"," TAIL ",\"merges\":[[\"A\",\"C\"]]}}"

static void refuse(const char *text, int code, const char *why)
{
    cs_bpe *b = NULL;
    assert_int_equal(cs_bpe_parse(text, strlen(text), "x", &b), code);
    assert_null(b);
    assert_non_null(strstr(cs_error_message(), why));
    cs_error_clear();
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const good[] = { GOOD, PAIRS };
    for (int i = 0; i < 2; i++) {
        cs_bpe *b;
        int32_t id[5], work[64];
        assert_int_equal(cs_bpe_parse(good[i], strlen(good[i]), "x", &b), CS_OK);
        assert_int_equal(cs_bpe_encode(b, "ACCAG", 5, work, id), 4);
        assert_true(id[0] == 3 && id[1] == 2 && id[2] == 1 && id[3] == 0);
        cs_bpe_free(b);
    }
    refuse("{", CS_EFORMAT, "is not JSON");
    refuse("{}", CS_EFORMAT, "it lacks 'model'");
    refuse("{\"model\":{\"type\":\"Unigram\"}}", CS_EMODEL, "'Unigram'; only BPE is supported");
    refuse(HEAD "\"normalizer\":{\"type\":\"Lowercase\"},\"model\":{\"type\":\"BPE\"," TAIL
           ",\"merges\":[]}}", CS_EMODEL, "a normalizer");
    refuse(HEAD "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\"," TAIL
           ",\"merges\":[]}}", CS_EMODEL, "a pre_tokenizer that splits");
    refuse(HEAD "\"model\":{\"type\":\"BPE\",\"dropout\":0.1," TAIL ",\"merges\":[]}}", CS_EMODEL,
           "a dropout");
    refuse(HEAD "\"model\":{\"type\":\"BPE\"," TAIL ",\"merges\":[\"A G\"]}}", CS_EFORMAT,
           "merge 1, 'A' and 'G', has a piece that is not in the vocabulary");
    refuse(HEAD "\"model\":{\"type\":\"BPE\"," TAIL ",\"merges\":[\"AC\"]}}", CS_EFORMAT,
           "merge 1 is not a pair");
    refuse("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"A\":1},\"merges\":[]}}", CS_EMODEL,
           "no 'unk_token'");
    refuse("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"A\":1,\"C\":1},\"merges\":[]}}", CS_EFORMAT,
           "pieces 'A' and 'C' share the id 1");
    refuse("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"A\":123456},\"merges\":[]}}", CS_EFORMAT,
           "far beyond");
    refuse("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"B@\":1,\"@\":2},\"merges\":[]}}", CS_EFORMAT,
           "neither nucleotides nor diplotypes");
    refuse("{\"added_tokens\":[{\"id\":0,\"content\":\"N\"}],\"model\":{\"type\":\"BPE\"," TAIL
           ",\"merges\":[]}}", CS_EMODEL, "an added token without brackets");
}

/* A file whose unknown token is called padding: to a network it is unknown. */
static void test_unknown_is_padding(void **state)
{
    static const char text[] = "{\"added_tokens\":[{\"id\":0,\"content\":\"[PAD]\"}],\"model\":{"
        "\"type\":\"BPE\",\"fuse_unk\":true,\"unk_token\":\"[PAD]\",\"vocab\":{\"[PAD]\":0,"
        "\"A\":1,\"C\":2},\"merges\":[]}}";
    const cs_segment s = { "ANNNC", NULL, 5 };
    int32_t id[5], work[64];
    int64_t first[6];
    const cs_tokenizer *tok = cs_tokenizer_find("bpe");
    void *st;

    (void)state;
    assert_int_equal(tok->restore(NULL, text, "x", &st), CS_OK);
    assert_int_equal(tok->encode(st, &s, work, id), 3);
    assert_int_equal(id[1], CS_TOK_UNK);
    tok->cells(st, &s, id, 3, first);
    assert_true(first[1] == 1 && first[2] == 4 && first[3] == 5);
    tok->close(st);
}

/* Padding has a name in brackets of either kind, and takes no id of its own from the network. */
static void test_padding(void **state)
{
    static const char *const name[] = { "[PAD]", "<pad>" };
    const cs_tokenizer *tok = cs_tokenizer_find("bpe");
    char text[400];
    void *st;

    (void)state;
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text, "{\"added_tokens\":[{\"id\":0,\"content\":\"%s\"},"
                       "{\"id\":1,\"content\":\"[UNK]\"}],\"model\":{\"type\":\"BPE\","
                       "\"unk_token\":\"[UNK]\",\"vocab\":{\"%s\":0,\"[UNK]\":1,\"A\":2,\"C\":3},"
                       "\"merges\":[]}}", name[i], name[i]);
        assert_int_equal(tok->restore(NULL, text, "x", &st), CS_OK);
        assert_int_equal(tok->n_vocab(st), 4);
        tok->symbol(st, CS_TOK_PAD, text, sizeof text);
        assert_string_equal(text, name[i]);
        tok->close(st);
    }
}

/* Tokens of two bases, of one, and an unknown one. */
static void test_cells(void **state)
{
    static const int64_t want[] = { 0, 2, 3, 4, 5 };
    const cs_segment s = { "ACCAG", NULL, 5 };
    const cs_tokenizer *tok = cs_tokenizer_find("bpe");
    int32_t id[5], work[64];
    int64_t first[6];
    void *st;

    (void)state;
    assert_int_equal(tok->restore(NULL, GOOD, "x", &st), CS_OK);
    assert_int_equal(tok->encode(st, &s, work, id), 4);
    tok->cells(st, &s, id, 4, first);
    assert_memory_equal(first, want, sizeof want);
    tok->close(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train), cmocka_unit_test(test_encode),
        cmocka_unit_test(test_sentences), cmocka_unit_test(test_json),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_unknown_is_padding),
        cmocka_unit_test(test_padding), cmocka_unit_test(test_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
