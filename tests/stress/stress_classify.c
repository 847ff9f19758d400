/* stress_classify.c - the five stages with small queues, mixed records and random ends.
 *
 * Every run draws policy, window, bytes, budget, threads and chunk sizes; in a third of the runs
 * the sink fails. Requirements: records leave in input order, with the bits of a run of that record
 * alone, or with its reason; no run hangs (alarm); batches depend on the draw only. Built for
 * ThreadSanitizer (make check-threads) and AddressSanitizer.
 */
#include "tests/check.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "infer/views.h"
#include "infer/workers.h"
#include "registry.h"

enum { N_RUN = 80, N_SEQUENCE = 48, N_LABEL = 3, N_POLICY = 3, MAX_LEN = 1024,
       THREADS = 3, SECONDS = 300 };

/* A sequence and its predictions in a run of its own, by policy. */
struct sequence {
    char     *base;
    int64_t   n;
    cs_reason reason[N_POLICY];
    float     output[N_POLICY][N_LABEL];
};

static struct sequence pool[N_SEQUENCE];
static cs_backend *backend;
static cs_model *model;
static cs_policy policy[N_POLICY];

struct draw {
    uint64_t key, n;             /* of the random numbers drawn so far */
};

static int64_t draw(struct draw *d, int64_t below)
{
    return (int64_t)(cs_rng_u64(d->key, d->n++) % (uint64_t)below);
}

/* In place of the reader: chunks of random sizes from the pool. */
struct source {
    struct draw d;
    int         n_chunk;
};

static int put_record(cs_chunk *c, const struct sequence *s)
{
    char *base = cs_arena_dup(c->mem, s->base, (size_t)s->n);
    cs_record *r = cs_chunk_append(c);

    if (!base || !r)
        return cs_fail(CS_EMEM, "out of memory");
    r->serial = (uint64_t)(s - pool);          /* for the sink: which sequence it is */
    r->seg[0] = (cs_segment){ base, NULL, s->n };
    c->n_base += s->n;
    return CS_OK;
}

static int generate(void *self, cs_queue *in, cs_queue *out)
{
    struct source *s = self;
    int rc = CS_OK;

    (void)in;
    for (int no = 0; rc == CS_OK && no < s->n_chunk; no++) {
        cs_chunk *c = cs_chunk_new((uint64_t)no);
        if (!c)
            return cs_fail(CS_EMEM, "out of memory");
        int64_t n = 1 + draw(&s->d, draw(&s->d, 4) == 0 ? 60 : 6);
        for (int64_t i = 0; rc == CS_OK && i < n; i++)
            rc = put_record(c, &pool[draw(&s->d, N_SEQUENCE)]);
        if (rc == CS_OK)
            rc = cs_queue_push(out, c);
        if (rc != CS_OK)
            cs_chunk_free(c);
    }
    return rc;
}

/* In place of the outputs: compares, and fails at record `stop`. */
struct check {
    struct draw d;               /* repeats the draws of the source */
    int64_t     left;            /* remaining records of the present chunk */
    uint64_t    n, stop;
    int         policy, n_wrong;
};

static int compare(void *arg, const cs_record *r, const cs_prediction *a)
{
    struct check *k = arg;

    if (k->n++ == k->stop)
        return cs_fail(CS_EIO, "stopped on purpose");
    if (k->left == 0)
        k->left = 1 + draw(&k->d, draw(&k->d, 4) == 0 ? 60 : 6);
    k->left--;
    const struct sequence *s = &pool[draw(&k->d, N_SEQUENCE)];
    const float *want = s->output[k->policy];
    const int same = r->serial == (uint64_t)(s - pool) && a->reason == s->reason[k->policy]
        && (a->reason || (a->n == N_LABEL && memcmp(a->v, want, N_LABEL * sizeof *want) == 0));
    k->n_wrong += !same;
    return CS_OK;
}

struct outcome {
    int            rc;
    uint64_t       n_record;
    cs_bucket_stat stat;
};

static struct outcome run_once(uint64_t key, int may_stop)
{
    struct draw d = { key, 0 };
    struct source source = { { key + 1, 0 }, (int)draw(&d, 60) };
    struct check check = { .d = { key + 1, 0 }, .stop = UINT64_MAX };
    const int window = 1 + (int)draw(&d, 6);
    const size_t bytes = (size_t)(1 + draw(&d, 40000));
    const cs_policy *how = &policy[check.policy = (int)draw(&d, N_POLICY)];
    cs_pipe *p = cs_pipe_new();
    cs_tokenise_stage tokenise = { .policy = how };
    cs_bucket_stage bucket = { .pipe = p, .budget = 1 + draw(&d, 3000),
                               .window = (uint64_t)window, .window_bytes = bytes };
    cs_infer_stage infer[THREADS];
    cs_workers *workers;
    cs_write_stage writer = { .pipe = p, .policy = how, .sink = compare, .arg = &check };
    cs_queue *raw = cs_pipe_queue(p, "raw", 2, 20000, cs_chunk_bytes, cs_chunk_drop);
    cs_queue *tok = cs_pipe_queue(p, "tok", 2, 20000, cs_tokenised_bytes, cs_tokenised_drop);
    cs_queue *batch = cs_pipe_queue(p, "batch", 2, 0, NULL, cs_batch_drop);

    const int n_thread = 1 + (int)draw(&d, THREADS);
    cs_pipe_limit(p, n_thread);
    assert_int_equal(cs_workers_new(p, model, how, false, n_thread, NULL, &workers), CS_OK);
    /* Some workers have no session of their own and use the shared one. */
    for (int i = 0; i < workers->n; i++) {
        infer[i] = workers->stage[i];
        infer[i].session = draw(&d, 3) ? infer[i].session : infer[i].shared;
    }
    bucket.flight = cs_pipe_queue(p, "flight", window, bytes, cs_chunk_bytes, cs_chunk_drop);
    if (may_stop && draw(&d, 3) == 0)
        check.stop = (uint64_t)draw(&d, 400);
    cs_stage stage[4 + THREADS] = {
        { "generate", generate, &source, NULL, raw, NULL },
        { "tokenise", cs_stage_tokenise, &tokenise, raw, tok, NULL },
        { "bucket", cs_stage_bucket, &bucket, tok, batch, bucket.flight },
        { "write", cs_stage_write, &writer, bucket.flight, NULL, NULL },
    };
    for (int i = 0; i < workers->n; i++)
        stage[4 + i] = (cs_stage){ "infer", cs_stage_infer, &infer[i], batch, NULL, NULL };
    struct outcome o = { .rc = cs_pipe_run(p, stage, 4 + workers->n) };
    cs_pipe_free(p);
    for (int i = 0; i < workers->n; i++)
        free(infer[i].output);
    cs_workers_free(workers);
    o.n_record = writer.n_record;
    o.stat = bucket.stat;
    assert_int_equal(check.n_wrong, 0);
    assert_int_equal(o.rc, check.n > check.stop ? CS_EIO : CS_OK);
    if (o.rc == CS_EIO)
        assert_string_equal(cs_error_message(), "stopped on purpose");
    cs_error_clear();
    return o;
}

static void test_runs(void **state)
{
    (void)state;
    (void)alarm(SECONDS);
    for (uint64_t key = 1; key <= N_RUN; key++)
        (void)run_once(2 * key, 1);
    (void)alarm(0);
}

/* Batches are a function of input and options: the same draw gives the same batches. */
static void test_batches_repeat(void **state)
{
    uint64_t n_lag = 0;

    (void)state;
    (void)alarm(SECONDS);
    for (uint64_t key = 1; key <= 10; key++) {
        const struct outcome a = run_once(2 * key, 0), b = run_once(2 * key, 0);
        assert_memory_equal(&a.stat, &b.stat, sizeof a.stat);
        assert_int_equal(a.n_record, b.n_record);
        n_lag += a.stat.n_close[CS_CLOSE_LAG];
    }
    assert_true(n_lag > 0);
    (void)alarm(0);
}

/* ---- the pool and the model --------------------------------------------------------------- */

static void make_sequence(struct sequence *s, struct draw *d, int i)
{
    static const int64_t edge[] = { 0, 1, 2, 3, 4, 5, MAX_LEN, MAX_LEN + 1, 3 * MAX_LEN };
    const int n_edge = (int)(sizeof edge / sizeof *edge);

    s->n = i < n_edge ? edge[i] : 1 + draw(d, 300);
    s->base = cs_xmalloc((size_t)s->n + 1);
    for (int64_t j = 0; j < s->n; j++)
        s->base[j] = i % 12 == 11 ? 'N' : "ACGTN"[draw(d, 20) % 5];
    if (s->n > 0 && i % 12 != 11)
        s->base[0] = 'A';
    s->base[s->n] = '\0';
}

/* One view after the other, each in a batch of its own. */
static void predict_alone(struct sequence *s, int k)
{
    const cs_policy *p = &policy[k];
    float raw[64][N_LABEL];
    cs_view view[64];
    cs_record r = { .name = "", .n_seg = 1, .seg = { { s->base, NULL, s->n } } };
    int32_t first[] = { 0, (int32_t)cs_views_count(p, &r) };
    cs_prediction output = { .v = s->output[k], .n = N_LABEL };
    char *scratch = cs_xmalloc((size_t)s->n + 16);
    cs_session *session = cs_session_new(model, backend);

    assert_true(first[1] <= 64);
    cs_views_list(p, &r, 0, view);
    for (int i = 0; i < first[1]; i++) {
        cs_batch *b = cs_batch_new(0, 0);
        view[i].tok.id = cs_xmalloc((size_t)(view[i].tok.n + 1) * sizeof *view[i].tok.id);
        view[i].v = raw[i];
        cs_view_encode(p, &r, &view[i], scratch);
        if (!view[i].reason) {
            assert_int_equal(cs_batch_append(b, view[i].tok.id, NULL, view[i].tok.n, NULL,
                                             (cs_slot){ 0 }), CS_OK);
            assert_int_equal(cs_session_forward(session, b, raw[i]), CS_OK);
        }
        free(view[i].tok.id);
        cs_batch_free(b);
    }
    cs_chunk c = { .rec = &r, .views = &(cs_views){ .view = view, .first = first,
                                                    .prediction = &output } };
    cs_session_free(session);
    cs_views_combine(p, &c, 0);
    s->reason[k] = output.reason;
    free(scratch);
}

static void make_policies(void)
{
    const cs_policy_args args[N_POLICY] = {
        { .strand = 1, .max_unknown = 1 },
        { .strand = 2, .max_unknown = 0.5 },
        { .strand = 2, .on_long = CS_LONG_WINDOW, .window = 200, .overlap = 64,
          .max_unknown = 0.6 },
    };

    for (int k = 0; k < N_POLICY; k++)
        assert_int_equal(cs_policy_init(&policy[k], &args[k], NULL, model), CS_OK);
}

static void *defaults(const cs_opt *opt, size_t size)
{
    void *cfg = cs_xcalloc(1, size + 1);

    if (opt)
        cs_opt_defaults((cs_optset[]){ { opt, cfg, NULL }, { NULL, NULL, NULL } });
    return cfg;
}

static int setup(void **state)
{
    const cs_tokenizer *tok = cs_tokenizer_find("kmer");
    const cs_encoder *enc = cs_encoder_find("chordmixer");
    const cs_head *head = cs_head_find("class");
    void *cfg[] = { defaults(tok->opt, tok->cfg_size), defaults(enc->opt, enc->cfg_size),
                    defaults(head->opt, head->cfg_size) };
    const cs_label label[N_LABEL] = { { .name = (char[]){ "a" } }, { .name = (char[]){ "b" } },
                                      { .name = (char[]){ "c" } } };
    const cs_model_spec spec = {
        .tok = tok, .enc = enc, .head = head, .tok_cfg = cfg[0], .enc_cfg = cfg[1],
        .head_cfg = cfg[2], .label = label, .n_label = N_LABEL, .seed = 7,
    };
    struct draw d = { 99, 0 };

    (void)state;
    assert_int_equal(cs_opt_set(tok->opt, cfg[0], "k", "3"), CS_OK);
    assert_int_equal(cs_opt_set(enc->opt, cfg[1], "max-len", "1024"), CS_OK);
    assert_int_equal(cs_opt_set(enc->opt, cfg[1], "track", "1"), CS_OK);
    assert_int_equal(cs_opt_set(enc->opt, cfg[1], "hidden", "2"), CS_OK);
    assert_int_equal(cs_cpu_init(), CS_OK);
    assert_int_equal(cs_backend_open("cpu", THREADS, &backend), CS_OK);
    assert_int_equal(cs_model_new(&spec, backend, &model), CS_OK);
    make_policies();
    for (int i = 0; i < N_SEQUENCE; i++) {
        make_sequence(&pool[i], &d, i);
        for (int k = 0; k < N_POLICY; k++)
            predict_alone(&pool[i], k);
    }
    for (int i = 0; i < 3; i++)
        free(cfg[i]);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < N_SEQUENCE; i++)
        free(pool[i].base);
    cs_model_free(model);
    cs_backend_close(backend);
    return 0;
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_batches_repeat),
    };

    return cmocka_run_group_tests(test, setup, teardown);
}
