/* test_library.c - the public C interface: results, errors, messages, side effects. */
#include "check.h"

#include <chordseq.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_SEQUENCE = 41, MAX_BASES = 700, MAX_OUTPUT = 64, N_THREAD = 4, N_ROUND = 5 };

static char text[N_SEQUENCE][MAX_BASES];
static const char *sequence[N_SEQUENCE];
static size_t length[N_SEQUENCE];
static chordseq_model *model;

static const char *file(const char *name)
{
    static char path[4096];
    const char *top = getenv("srcdir");

    (void)snprintf(path, sizeof path, "%s/refdata/%s", top ? top : ".", name);
    return path;
}

static int open_it(const char *name, const char *const *option, chordseq_model **m)
{
    return chordseq_open(file(name), option, m);
}

static int set_up(void **state)
{
    uint32_t r = 12345;

    (void)state;
    for (size_t i = 0; i < N_SEQUENCE; i++) {
        length[i] = i * i % MAX_BASES;
        for (size_t k = 0; k < length[i]; k++) {
            r = r * 1664525u + 1013904223u;
            text[i][k] = "ACGT"[r >> 30];
        }
        sequence[i] = text[i];
    }
    return open_it("tiny/model.safetensors", NULL, &model);
}

static int tear_down(void **state)
{
    (void)state;
    chordseq_close(model);
    return 0;
}

static void test_facts(void **state)
{
    (void)state;
    assert_int_equal(strlen(chordseq_version()), 5);
    assert_true(chordseq_n_output(model) > 1 && chordseq_n_output(model) <= MAX_OUTPUT);
    assert_non_null(chordseq_output_name(model, 0));
    assert_null(chordseq_output_name(model, chordseq_n_output(model)));
    assert_null(chordseq_output_name(model, -1));
    assert_true(chordseq_n_dim(model) > 0);
    assert_true(chordseq_max_length(model) >= 0);
    assert_int_equal(strlen(chordseq_checksum(model)), 64);
    assert_string_equal(chordseq_reason(0), ".");
    assert_string_equal(chordseq_reason(1), "empty");
    assert_null(chordseq_reason(1000));
}

/* Neither a sequence's neighbours nor the number of threads change a bit of its
 * prediction. */
static void test_many(void **state)
{
    static float all[N_SEQUENCE * MAX_OUTPUT], other[N_SEQUENCE * MAX_OUTPUT];
    static chordseq_call call[N_SEQUENCE], same[N_SEQUENCE];
    const size_t n = (size_t)chordseq_n_output(model);
    chordseq_model *wide;
    chordseq_call one;
    float v[MAX_OUTPUT];

    (void)state;
    assert_int_equal(chordseq_classify_many(model, sequence, length, N_SEQUENCE, all, call), 0);
    assert_int_equal(open_it("tiny/model.safetensors", (const char *const[]){ "threads=3", NULL },
                             &wide), 0);
    assert_int_equal(chordseq_classify_many(wide, sequence, length, N_SEQUENCE, other, same), 0);
    assert_memory_equal(all, other, N_SEQUENCE * n * sizeof *all);
    assert_string_equal(chordseq_reason(call[0].reason), "empty");
    assert_true(all[0] != all[0] && call[0].probability != call[0].probability);
    for (size_t i = 0; i < N_SEQUENCE; i++) {
        assert_int_equal(chordseq_classify(model, sequence[i], length[i], v, &one), 0);
        assert_memory_equal(v, all + i * n, n * sizeof *v);
        assert_int_equal(one.class_no, call[i].class_no);
        assert_string_equal(one.label, same[i].label);
        if (one.reason == 0)
            assert_true(one.probability == v[one.class_no]);
        if (one.reason == 0)
            assert_string_equal(one.label, chordseq_output_name(model, one.class_no));
    }
    chordseq_close(wide);
    assert_int_equal(chordseq_classify_many(model, sequence, length, 0, NULL, NULL), 0);
}

static void test_letters(void **state)
{
    const int32_t n = chordseq_n_output(model);
    const char *const variants[] = { "ACGTNNACGTTGCAGG", "acgtxnacguugcagg",
                                  "ACG TN-\tACGT\r\nTGCAGG" };
    float first[MAX_OUTPUT], v[MAX_OUTPUT];
    chordseq_call call;

    (void)state;
    assert_int_equal(chordseq_classify(model, variants[0], 16, first, &call), 0);
    assert_int_equal(call.reason, 0);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(chordseq_classify(model, variants[i], strlen(variants[i]), v, NULL), 0);
        assert_memory_equal(v, first, (size_t)n * sizeof *v);
    }
    assert_int_equal(chordseq_classify(model, "ACGTJACGT", 9, v, NULL), CHORDSEQ_EFORMAT);
    assert_string_equal(chordseq_last_error(), "'J' at position 4 is not a nucleotide code");
    const char *const two[] = { "ACGTACGT", "AC\x01GT" };
    assert_int_equal(chordseq_classify_many(model, two, (const size_t[]){ 8, 5 }, 2, NULL, NULL),
                     CHORDSEQ_EFORMAT);
    assert_string_equal(chordseq_last_error(),
                        "byte 0x01 at position 2 of sequence 1 is not a nucleotide code");
    assert_int_equal(chordseq_classify(model, "ACGTACGT", 8, NULL, NULL), 0);
    assert_string_equal(chordseq_last_error(), "");
}

static void test_vectors(void **state)
{
    static float all[N_SEQUENCE * 1024];
    const size_t n = (size_t)chordseq_n_dim(model);
    int32_t reason[N_SEQUENCE], one;
    float v[1024];

    (void)state;
    assert_true(n <= 1024);
    assert_int_equal(chordseq_embed_many(model, sequence, length, N_SEQUENCE, all, reason), 0);
    for (size_t i = 0; i < N_SEQUENCE; i++) {
        assert_int_equal(chordseq_embed(model, sequence[i], length[i], v, &one), 0);
        assert_memory_equal(v, all + i * n, n * sizeof *v);
        assert_int_equal(one, reason[i]);
        assert_true((v[0] != v[0]) == (one != 0));
    }
}

static void assert_mean(const float *rows, size_t n, size_t n_dim, const float *mean)
{
    for (size_t k = 0; k < n_dim; k++) {
        double sum = 0;
        for (size_t t = 0; t < n; t++)
            sum += (double)rows[t * n_dim + k];
        assert_true(fabs(sum / (double)n - (double)mean[k]) < 1e-5);
    }
}

/* Token numbers, and vectors whose mean is the vector of the sequence read forward. */
static void test_tokens(void **state)
{
    const size_t n_dim = (size_t)chordseq_n_token_dim(model), i = 26;
    static float rows[MAX_BASES * 64];
    chordseq_model *m;
    int32_t id[MAX_BASES], reason;
    float mean[1024];
    char word[16];
    size_t n;

    (void)state;
    assert_true(n_dim <= 64);
    assert_int_equal(chordseq_tokenize(model, sequence[i], length[i], id, &n), 0);
    assert_int_equal(n, length[i] / 3);
    for (size_t k = 0; k < n; k++) {
        chordseq_token_text(model, id[k], word, sizeof word);
        chordseq_token_text(model, id[k], word + 1, 0);     /* no space: nothing is written */
        assert_int_equal(strlen(word), 3);
        assert_memory_equal(word, sequence[i] + 3 * k, 3);
    }
    for (size_t k = 0; k < 3; k++) {
        chordseq_token_text(model, (int32_t[]){ -1, 1 << 30, INT32_MIN }[k], word, sizeof word);
        assert_string_equal(word, "");
    }
    assert_int_equal(chordseq_embed_tokens(model, sequence[i], length[i], n + 1, rows, NULL),
                     CHORDSEQ_EUSAGE);
    assert_int_equal(chordseq_embed_tokens(model, sequence[i], length[i], n, rows, &reason), 0);
    assert_int_equal(reason, 0);
    assert_int_equal(open_it("tiny/model.safetensors", (const char *const[]){ "strand=forward",
                             NULL }, &m), 0);
    assert_int_equal(chordseq_n_dim(m), n_dim);
    assert_int_equal(chordseq_embed(m, sequence[i], length[i], mean, NULL), 0);
    assert_mean(rows, n, n_dim, mean);
    chordseq_close(m);
    assert_int_equal(chordseq_tokenize(model, "", 0, id, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(chordseq_embed_tokens(model, "", 0, 0, rows, &reason), 0);
    assert_string_equal(chordseq_reason(reason), "empty");
}

/* For predictions, a bag of words takes the counts of a long sequence's tokens; here it has a
 * vector for each. */
static void test_tokens_of_long(void **state)
{
    enum { N = 70000 };
    static const char *const forward[] = { "strand=forward", NULL };
    char *base = malloc(N);
    int32_t *id = malloc(2 * N * sizeof *id);
    float *rows, mean[1024];
    chordseq_model *m;
    size_t n;

    (void)state;
    for (size_t i = 0; base && i < N; i++)
        base[i] = text[40][i % length[40]];
    assert_int_equal(open_it("model/fast.safetensors", forward, &m), 0);
    assert_true(base && id && chordseq_max_tokens(m, N) <= 2 * N);
    assert_int_equal(chordseq_tokenize(m, base, N, id, &n), 0);
    const size_t n_dim = (size_t)chordseq_n_token_dim(m);
    assert_non_null(rows = malloc(n * n_dim * sizeof *rows));
    assert_int_equal(chordseq_embed(m, base, N, mean, NULL), 0);
    assert_int_equal(chordseq_embed_tokens(m, base, N, n, rows, NULL), 0);
    assert_mean(rows, n, n_dim, mean);
    chordseq_close(m);
    free(base);
    free(id);
    free(rows);
}

/* A copy of the tiny model with a head of labels. */
static void write_labels_model(const char *path)
{
    static const char name[] = "\\\"name\\\":\\\"class\\\"",
                      other[] = "\\\"name\\\":\\\"multilabel\\\"";
    static char all[1 << 20];
    FILE *in = fopen(file("tiny/model.safetensors"), "rb"), *out = fopen(path, "wb");
    uint64_t n_header;

    assert_true(in && out);
    const size_t n = fread(all, 1, sizeof all, in), n_more = strlen(other) - strlen(name);
    memcpy(&n_header, all, sizeof n_header);
    char *at = strstr(all + sizeof n_header, name);
    assert_true(n > 0 && n < sizeof all && at && at < all + n_header);
    n_header += n_more;
    memcpy(all, &n_header, sizeof n_header);
    const size_t before = (size_t)(at - all), after = before + strlen(name);
    assert_int_equal(fwrite(all, 1, before, out), before);
    assert_true(fputs(other, out) >= 0);
    assert_int_equal(fwrite(all + after, 1, n - after, out), n - after);
    assert_true(fclose(in) == 0 && fclose(out) == 0);
}

/* Strands are weighted by a label, which vectors do not have. */
static void test_weighted_strands(void **state)
{
    static const char *const weighted[] = { "strand=weighted", NULL };
    char path[] = "chordseq-labels.XXXXXX";
    const int fd = mkstemp(path);
    float v[1024];
    int32_t id[MAX_BASES], reason;
    chordseq_model *m;
    size_t n;

    (void)state;
    assert_true(fd >= 0 && close(fd) == 0);
    write_labels_model(path);
    assert_int_equal(chordseq_open(path, weighted, &m), 0);
    unlink(path);
    assert_int_equal(chordseq_classify(m, sequence[26], length[26], v, NULL), 0);
    assert_int_equal(chordseq_embed(m, sequence[26], length[26], v, NULL), CHORDSEQ_EUSAGE);
    assert_non_null(strstr(chordseq_last_error(), "strand=weighted is for predictions"));
    assert_int_equal(chordseq_tokenize(m, sequence[5], length[5], id, &n), 0);
    assert_true(n * (size_t)chordseq_n_token_dim(m) <= 1024);
    assert_int_equal(chordseq_embed_tokens(m, sequence[5], length[5], n, v, &reason), 0);
    chordseq_close(m);
}

/* The vector of a sequence that is cut is the mean of its windows' vectors. */
static void test_windows(void **state)
{
    const size_t i = 26, n_dim = (size_t)chordseq_n_dim(model);
    int64_t start[MAX_BASES], bases[MAX_BASES];
    double sum[1024] = { 0 };
    chordseq_model *m;
    float v[1024];

    (void)state;
    assert_int_equal(chordseq_windows(model, 100000, NULL, NULL), 1);
    assert_int_equal(open_it("tiny/model.safetensors", (const char *const[]){
                             "long-sequence=window", "window-length=100", NULL }, &m), 0);
    const int64_t n = chordseq_windows(m, (int64_t)length[i], start, bases);
    assert_int_equal(n, (length[i] + 99) / 100);
    assert_int_equal(start[0], 0);
    assert_int_equal(start[n - 1] + bases[n - 1], length[i]);
    for (int64_t w = 0; w < n; w++) {
        assert_int_equal(chordseq_embed(m, sequence[i] + start[w], (size_t)bases[w], v, NULL), 0);
        for (size_t k = 0; k < n_dim; k++)
            sum[k] += (double)v[k];
    }
    assert_int_equal(chordseq_embed(m, sequence[i], length[i], v, NULL), 0);
    for (size_t k = 0; k < n_dim; k++)
        assert_true(fabs(sum[k] / (double)n - (double)v[k]) < 1e-5);
    chordseq_close(m);
}

/* A pretrained model has vectors, but no predictions of sequences. */
static void test_pretrained(void **state)
{
    static float v[1024];
    chordseq_model *m;

    (void)state;
    assert_int_equal(open_it("model/human-lm.safetensors", NULL, &m), 0);
    assert_in_range(chordseq_n_dim(m), 1, 1024);
    assert_true(chordseq_n_output(m) == 0 && chordseq_output_name(m, 0) == NULL);
    assert_int_equal(chordseq_embed(m, sequence[40], length[40], v, NULL), 0);
    assert_int_equal(chordseq_classify(m, sequence[40], length[40], v, NULL), CHORDSEQ_EUSAGE);
    assert_non_null(strstr(chordseq_last_error(), "the model predicts per token"));
    chordseq_close(m);
}

static void test_refused(void **state)
{
    chordseq_model *m = model;

    (void)state;
    assert_int_equal(chordseq_open("no/such.safetensors", NULL, &m), CHORDSEQ_EIO);
    assert_null(m);
    assert_non_null(strstr(chordseq_last_error(), "no/such.safetensors"));
    assert_int_equal(open_it("tiny/mixed.fa", NULL, &m), CHORDSEQ_EFORMAT);
    assert_int_equal(open_it("tiny/model.safetensors", (const char *const[]){ "mood=good", NULL },
                             &m), CHORDSEQ_EUSAGE);
    assert_string_equal(chordseq_last_error(), "there is no option 'mood'; see chordseq(3)");
    assert_int_equal(open_it("tiny/model.safetensors", (const char *const[]){ "threads", NULL },
                             &m), CHORDSEQ_EUSAGE);
    assert_int_equal(open_it("tiny/model.safetensors", (const char *const[]){ "min-prob=2", NULL },
                             &m), CHORDSEQ_EUSAGE);
    assert_int_equal(open_it("tiny/model.safetensors", (const char *const[]){ "device=abacus",
                             NULL }, &m), CHORDSEQ_EDEVICE);
    assert_int_equal(chordseq_share_threads(model, 0, &m), CHORDSEQ_EUSAGE);
    assert_null(m);
    chordseq_close(NULL);
}

/* Messages name options as NAME=VALUE, not as the command line does. */
static void test_wording(void **state)
{
    static const char *const option[][4] = {
        { "long-sequence=error", "max-memory=1", NULL }, { "window-length=100", NULL },
        { "call=taxon", "max-error=0.1", NULL }, { "max-error=0.1", NULL },
    };
    static const char *const want[] = {
        " bases) exceeds max-memory=1; long-sequence=window splits such records",
        "window-length needs long-sequence=window",
        ("max-error is incompatible with call=taxon: the model's calibration is for calls of "
         "classes"),
        "max-error needs a calibrated model; calibrate it with 'chordseq eval --calibrate'",
    };
    chordseq_model *m;
    float v[MAX_OUTPUT];

    (void)state;
    for (int i = 0; i < 4; i++) {
        int rc = open_it("tiny/model.safetensors", option[i], &m);
        if (rc == CHORDSEQ_OK)
            rc = chordseq_classify(m, sequence[26], length[26], v, NULL);
        assert_int_equal(rc, i == 0 ? CHORDSEQ_EMEM : CHORDSEQ_EUSAGE);
        assert_non_null(strstr(chordseq_last_error(), want[i]));
        assert_null(strstr(chordseq_last_error(), i == 3 ? " --max" : "--"));
        chordseq_close(m);
    }
}

static void test_options(void **state)
{
    chordseq_model *m;
    chordseq_call call;
    float v[MAX_OUTPUT];

    (void)state;
    assert_int_equal(open_it("tiny/model.safetensors",
                             (const char *const[]){ "min-prob=1", "min-length=1k", NULL }, &m), 0);
    assert_int_equal(chordseq_classify(m, sequence[26], length[26], v, &call), 0);
    assert_string_equal(chordseq_reason(call.reason), "too_short");
    chordseq_close(m);
    assert_int_equal(open_it("tiny/model.safetensors", (const char *const[]){ "min-prob=1", NULL },
                             &m), 0);
    assert_int_equal(chordseq_classify(m, sequence[26], length[26], v, &call), 0);
    assert_string_equal(chordseq_reason(call.reason), "low_probability");
    assert_string_equal(call.label, "unclassified");
    assert_int_equal(call.class_no, -1);
    assert_true(call.probability > 0 && call.probability < 1);
    chordseq_close(m);
    assert_int_equal(open_it("tiny/model.safetensors", (const char *const[]){ "precision=tf32",
                             NULL }, &m), CHORDSEQ_EUSAGE);
    assert_non_null(strstr(chordseq_last_error(), "tf32"));
}

/* ---- threads -------------------------------------------------------------------------------- */

struct worker { pthread_t thread; chordseq_model *m; const float *want; int n_bad; };

static void *work(void *arg)
{
    struct worker *w = arg;
    const size_t n = (size_t)chordseq_n_output(w->m);
    float v[N_SEQUENCE * MAX_OUTPUT];

    for (int k = 0; k < N_ROUND; k++) {
        w->n_bad += chordseq_classify_many(w->m, sequence, length, N_SEQUENCE, v, NULL) != 0;
        w->n_bad += memcmp(v + n, w->want + n, (N_SEQUENCE - 1) * n * sizeof *v) != 0;
        w->n_bad += chordseq_classify(w->m, "!", 1, v, NULL) != CHORDSEQ_EFORMAT;
        w->n_bad += strncmp(chordseq_last_error(), "'!' at position 0", 17) != 0;
    }
    return NULL;
}

static void test_threads(void **state)
{
    static float want[N_SEQUENCE * MAX_OUTPUT];
    struct worker w[N_THREAD];
    chordseq_model *first;

    (void)state;
    assert_int_equal(open_it("tiny/model.safetensors", NULL, &first), 0);
    assert_int_equal(chordseq_classify_many(first, sequence, length, N_SEQUENCE, want, NULL), 0);
    for (int i = 0; i < N_THREAD; i++) {
        w[i] = (struct worker){ .want = want };
        assert_int_equal(i > 1 ? chordseq_share_threads(first, i, &w[i].m)
                               : chordseq_share(first, &w[i].m), 0);
    }
    chordseq_close(first);
    for (int i = 0; i < N_THREAD; i++)
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    for (int i = 0; i < N_THREAD; i++) {
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
        assert_int_equal(w[i].n_bad, 0);
        chordseq_close(w[i].m);
    }
    assert_string_equal(chordseq_last_error(), "");
}

/* A process that has computed with several threads forks; its child opens a model and computes. */
static void test_fork(void **state)
{
    enum { LIMIT = 60 };         /* seconds */
    static const char *const two[] = { "threads=2", NULL };
    chordseq_model *m, *other;
    float want[MAX_OUTPUT], v[MAX_OUTPUT];
    int status;

    (void)state;
    assert_int_equal(open_it("model/fast.safetensors", two, &m), 0);
    assert_int_equal(chordseq_classify(m, sequence[40], length[40], want, NULL), 0);
    const size_t bytes = (size_t)chordseq_n_output(m) * sizeof *v;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(LIMIT);
        _exit(open_it("model/fast.safetensors", two, &other) != 0 ||
              chordseq_classify(other, sequence[40], length[40], v, NULL) != 0 ||
              memcmp(v, want, bytes) != 0 ||
              chordseq_classify(m, sequence[40], length[40], v, NULL) != 0 ||
              memcmp(v, want, bytes) != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(chordseq_classify(m, sequence[40], length[40], v, NULL), 0);
    assert_memory_equal(v, want, bytes);
    chordseq_close(m);
}

/* A program may have set a locale whose numbers have a comma; where there is none, "C" stays. */
static void test_locale(void **state)
{
    static const char *const with_comma[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", NULL };
    chordseq_model *m;

    (void)state;
    for (int i = 0; with_comma[i] && !setlocale(LC_ALL, with_comma[i]); i++)
        ;
    const char point = localeconv()->decimal_point[0];
    assert_int_equal(open_it("tiny/model.safetensors", (const char *const[]){ "min-prob=0.5",
                             NULL }, &m), 0);
    chordseq_close(m);
    assert_int_equal(localeconv()->decimal_point[0], point);
    setlocale(LC_ALL, "C");
}

/* Everything again with standard output and error in a file, which stays empty. */
static void test_quiet(void **state)
{
    char path[] = "chordseq-quiet.XXXXXX";
    const int fd = mkstemp(path), out = dup(1), err = dup(2);

    assert_true(fd >= 0 && out >= 0 && err >= 0);
    assert_true(fflush(stdout) == 0 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2);
    test_many(state);
    test_letters(state);
    test_refused(state);
    test_options(state);
    (void)fflush(stdout);
    const off_t n_bytes = lseek(fd, 0, SEEK_END);
    assert_true(dup2(out, 1) == 1 && dup2(err, 2) == 2);
    close(fd);
    close(out);
    close(err);
    unlink(path);
    assert_int_equal(n_bytes, 0);
}

/* Frames of the default model's tokenizer: up to 3.5 tokens per base. Without T nothing stops; CTA
 * stops each frame of the reverse strand. */
static void test_more_tokens_than_bases(void **state)
{
    enum { N = 600 };
    char base[N];
    chordseq_model *m;
    size_t n;

    (void)state;
    for (size_t i = 0; i < N; i++)
        base[i] = "CGA"[i * i % 3 + (i % 7 == 0)];
    memcpy(base + N / 2, "CTACCTACCTAC", 12);
    assert_int_equal(open_it("model/default.safetensors", NULL, &m), 0);
    check_page page = check_page_new(chordseq_max_tokens(m, N) * sizeof(int32_t));
    assert_int_equal(chordseq_tokenize(m, base, N, page.p, &n), 0);
    assert_true(n > N && n <= chordseq_max_tokens(m, N));
    check_page_free(&page);
    chordseq_close(m);
    assert_int_equal(chordseq_max_tokens(model, 30), 10);
    assert_int_equal(chordseq_max_tokens(model, 0), 0);
}

/* The interface of ABI 0: another type does not compile. A new function is a new line. */
static const struct {
    const char *(*version)(void), *(*last_error)(void), *(*reason)(int);
    int (*open)(const char *, const char *const *, chordseq_model **);
    int (*share)(const chordseq_model *, chordseq_model **);
    int (*share_threads)(const chordseq_model *, int, chordseq_model **);
    void (*close)(chordseq_model *);
    int32_t (*n_output)(const chordseq_model *), (*n_dim)(const chordseq_model *),
            (*n_token_dim)(const chordseq_model *);
    const char *(*output_name)(const chordseq_model *, int32_t);
    int64_t (*max_length)(const chordseq_model *);
    const char *(*checksum)(const chordseq_model *);
    int (*classify)(chordseq_model *, const char *, size_t, float *, chordseq_call *);
    int (*classify_many)(chordseq_model *, const char *const *, const size_t *, size_t, float *,
                         chordseq_call *);
    int (*embed)(chordseq_model *, const char *, size_t, float *, int32_t *);
    int (*embed_many)(chordseq_model *, const char *const *, const size_t *, size_t, float *,
                      int32_t *);
    size_t (*max_tokens)(const chordseq_model *, size_t);
    int (*tokenize)(chordseq_model *, const char *, size_t, int32_t *, size_t *);
    void (*token_text)(const chordseq_model *, int32_t, char *, size_t);
    int (*embed_tokens)(chordseq_model *, const char *, size_t, size_t, float *, int32_t *);
    int64_t (*windows)(const chordseq_model *, int64_t, int64_t *, int64_t *);
    int (*cpu_count)(void);
} interface = {
    chordseq_version, chordseq_last_error, chordseq_reason, chordseq_open, chordseq_share,
    chordseq_share_threads, chordseq_close, chordseq_n_output, chordseq_n_dim,
    chordseq_n_token_dim, chordseq_output_name, chordseq_max_length, chordseq_checksum,
    chordseq_classify, chordseq_classify_many, chordseq_embed, chordseq_embed_many,
    chordseq_max_tokens, chordseq_tokenize, chordseq_token_text, chordseq_embed_tokens,
    chordseq_windows, chordseq_cpu_count,
};

/* Constants and member offsets that are compiled into programs. */
static void test_interface(void **state)
{
    (void)state;
    assert_ptr_equal(interface.version(), chordseq_version());
    assert_true(CHORDSEQ_OK == 0 && CHORDSEQ_EUSAGE == -1);
    if (sizeof(void *) != 8)
        return;
    assert_int_equal(sizeof(chordseq_call), 40);
    assert_int_equal(offsetof(chordseq_call, class_no), 4);
    assert_int_equal(offsetof(chordseq_call, probability), 8);
    assert_int_equal(offsetof(chordseq_call, taxid), 16);
    assert_int_equal(offsetof(chordseq_call, label), 24);
    assert_int_equal(offsetof(chordseq_call, rank), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts), cmocka_unit_test(test_many),
        cmocka_unit_test(test_letters), cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_tokens), cmocka_unit_test(test_windows),
        cmocka_unit_test(test_tokens_of_long), cmocka_unit_test(test_weighted_strands),
        cmocka_unit_test(test_pretrained), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wording), cmocka_unit_test(test_options),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_fork),
        cmocka_unit_test(test_locale), cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_more_tokens_than_bases), cmocka_unit_test(test_interface),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
