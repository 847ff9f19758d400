/* chordseq.c - the public C interface: handles, and predictions for sequences in memory.
 *
 * DESIGN
 * A handle has two sessions on the shared model: one for predictions, one for vectors. Sequences
 * become a chunk, which passes the program's stages (tokenise, bucket, infer, decide) by the same
 * functions, without threads: so predictions are the same, and nothing runs between calls.
 *
 * Every call passes guarded(), which sets the C locale for numbers and turns failures of cs_x*()
 * functions (stubs.c) into errors.
 */
#include "lib/chordseq.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <pthread.h>
#include <string.h>

#include "base/cpu.h"
#include "infer/infer_stage.h"
#include "infer/tokenise_stage.h"
#include "infer/views.h"
#include "lib/shared_model.h"
#include "lib/stubs.h"

enum { BATCH_TOKENS = 64 << 10, LAG = 1, NAME_BYTES = 24 };

_Static_assert((int)CHORDSEQ_EUSAGE == (int)CS_EUSAGE && (int)CHORDSEQ_EIO == (int)CS_EIO &&
               (int)CHORDSEQ_EFORMAT == (int)CS_EFORMAT && (int)CHORDSEQ_EMEM == (int)CS_EMEM &&
               (int)CHORDSEQ_EDEVICE == (int)CS_EDEVICE && (int)CHORDSEQ_EMODEL == (int)CS_EMODEL,
               "codes go out as they are");

/* A session, and the state of the infer stage. */
struct predictor { cs_session *session; cs_policy policy; cs_infer_stage infer; };

struct chordseq_model {
    cs_shared_model *shared;
    cs_backend *be;
    cs_pipe    *pipe;            /* for its count of missing predictions */
    struct predictor prediction;
    struct predictor vector;     /* session NULL without vectors */
    struct predictor token;      /* session NULL before the first request */
};

/* ---- entry points ---------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_rc;
static locale_t plain_locale;

/* In a child process the next parallel loop of the thread that forked would wait for threads of
 * gcc's OpenMP that are not there (clang's notices). They end here; the next loop of either process
 * starts new ones. */
static void before_fork(void)
{
#if defined _OPENMP && !defined __clang__ && __GNUC__ >= 9
    (void)omp_pause_resource_all(omp_pause_soft);
#endif
}

static void begin_once(void)
{
    once_rc = cs_cpu_init();
    if (once_rc == CS_OK && pthread_atfork(before_fork, NULL, NULL) != 0)
        once_rc = cs_fail(CS_EMEM, "out of memory to initialise the library");
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static int ready(void)
{
    if (pthread_once(&once, begin_once) != 0 || !plain_locale)
        return cs_fail(CS_EMEM, "out of memory to initialise the library");
    /* It failed without changes: retry for the message. */
    return once_rc == CS_OK ? CS_OK : cs_cpu_init();
}

static int guarded(int (*work)(void *arg), void *arg)
{
    int rc;
    jmp_buf here;

    cs_error_clear();
    rc = ready();
    if (rc != CS_OK)
        return rc;
    const locale_t locale = uselocale(plain_locale);
    jmp_buf *before = cs_exhausted_catch(&here);
    if (setjmp(here) == 0)       /* C11 7.13.1.1 allows it in few kinds of expressions */
        rc = work(arg);
    else
        rc = CS_EMEM;
    (void)cs_exhausted_catch(before);
    (void)uselocale(locale);
    if (rc != CS_OK && *cs_error_message() == '\0')
        (void)cs_fail(rc, "%s", cs_error_name(rc));
    return rc;
}

const char *chordseq_version(void)
{
    return PACKAGE_VERSION;
}

int chordseq_cpu_count(void)
{
    return cs_cpu_count();
}

const char *chordseq_last_error(void)
{
    return cs_error_message();
}

const char *chordseq_reason(int reason)
{
    return reason >= 0 && reason < CS_N_REASON ? cs_reason_name((cs_reason)reason) : NULL;
}

/* ---- handles -------------------------------------------------------------------------------- */

static void init_predictor(struct predictor *p, chordseq_model *m, cs_head_output output)
{
    p->session = cs_session_new(m->shared->model, m->be);
    p->session->output = output;
    p->policy = m->shared->policy;
    p->infer = (cs_infer_stage){ .pipe = m->pipe, .session = p->session, .policy = &p->policy };
}

/* Another handle; takes over one reference. */
static int handle_new(cs_shared_model *o, int64_t threads, chordseq_model **out)
{
    int rc = CS_OK;
    chordseq_model *m = cs_xcalloc(1, sizeof *m);

    m->shared = o;
    m->pipe = cs_pipe_new();
    CS_TRY(cs_backend_open_like(o->be, (int)threads, &m->be));
    init_predictor(&m->prediction, m, CS_HEAD_PREDICTION);
    if (o->n_vector > 0)
        init_predictor(&m->vector, m, CS_HEAD_POOLED);
    *out = m;
    m = NULL;
out:
    chordseq_close(m);
    return rc;
}

struct opening { const char *path; const char *const *option; cs_shared_model *from;
                 int threads; chordseq_model **out; };

static int open_model(void *arg)
{
    int rc = CS_OK;
    struct opening *o = arg;

    CS_TRY(cs_shared_model_new(o->path, o->option, &o->from));
    rc = handle_new(o->from, o->from->args.threads, o->out);
out:
    return rc;
}

static int share_model(void *arg)
{
    struct opening *o = arg;

    if (o->threads < 1 || o->threads > CS_MAX_THREADS)
        return cs_fail(CS_EUSAGE, "%d threads; there must be 1 to %d", o->threads,
                       (int)CS_MAX_THREADS);
    atomic_fetch_add(&o->from->n_handle, 1);
    return handle_new(o->from, o->threads, o->out);
}

int chordseq_open(const char *path, const char *const *option, chordseq_model **out)
{
    struct opening o = { path, option, NULL, 0, out };

    *out = NULL;
    return guarded(open_model, &o);
}

int chordseq_share_threads(const chordseq_model *m, int threads, chordseq_model **out)
{
    struct opening o = { NULL, NULL, m->shared, threads, out };

    *out = NULL;
    return guarded(share_model, &o);
}

int chordseq_share(const chordseq_model *m, chordseq_model **out)
{
    return chordseq_share_threads(m, (int)m->shared->args.threads, out);
}

void chordseq_close(chordseq_model *m)
{
    if (!m)
        return;
    cs_session_free(m->token.session);
    cs_session_free(m->vector.session);
    cs_session_free(m->prediction.session);
    CS_FREE(m->token.infer.output, m->vector.infer.output, m->prediction.infer.output);
    cs_backend_close(m->be);
    cs_pipe_free(m->pipe);
    cs_shared_model_drop(m->shared);
    free(m);
}

int32_t chordseq_n_output(const chordseq_model *m)
{
    return m->shared->n_output;
}

const char *chordseq_output_name(const chordseq_model *m, int32_t i)
{
    return i >= 0 && i < m->shared->n_output ? m->shared->label[i] : NULL;
}

int32_t chordseq_n_dim(const chordseq_model *m)
{
    return m->shared->n_vector;
}

int32_t chordseq_n_token_dim(const chordseq_model *m)
{
    return m->shared->model->width;
}

int64_t chordseq_max_length(const chordseq_model *m)
{
    return m->shared->longest;
}

const char *chordseq_checksum(const chordseq_model *m)
{
    return m->shared->model->sum;
}

/* ---- sequences ------------------------------------------------------------------------------ */

/* A request: n sequences, and the outputs for the next ones. */
struct request {
    chordseq_model *m;
    struct predictor *predictor;
    const char *const *base;
    const size_t  *n_base;
    size_t         n, done;
    int64_t        width;        /* floats of a prediction */
    float         *v;            /* [n * width], or NULL */
    chordseq_call *call;         /* [n], or NULL */
    int32_t       *reason;       /* [n], or NULL */
};

static int refuse_letter(const struct request *q, size_t no, size_t at)
{
    char where[64] = "";
    const unsigned char c = (unsigned char)q->base[no][at];

    if (q->n > 1)
        (void)snprintf(where, sizeof where, " of sequence %zu", no);
    if (c > ' ' && c < 0x7f)
        return cs_fail(CS_EFORMAT, "'%c' at position %zu%s is not a nucleotide code", c, at, where);
    return cs_fail(CS_EFORMAT, "byte 0x%02x at position %zu%s is not a nucleotide code", c, at,
                   where);
}

/* As in the FASTA reader: upper case unless the model reads it, U as T, X as N, without blanks. */
static int fold(const struct request *q, size_t no, char *dst, int64_t *n_base)
{
    const char *src = q->base[no];
    const size_t n = q->n_base[no];
    const bool cased = cs_model_reads_case(q->m->shared->model);
    int64_t to = 0;

    *n_base = (int64_t)n;
    if (!cased && cs_base_fold(src, (int64_t)n, dst))
        return CS_OK;
    for (size_t i = 0; i < n; i++) {
        const char c = src[i] == 'X' || src[i] == 'x' ? 'N' : src[i];
        const char b = cased ? cs_base_cased(c) : cs_base_upper[(unsigned char)c];
        if (b)
            dst[to++] = b;
        else if (!isspace((unsigned char)c))
            return refuse_letter(q, no, i);
    }
    *n_base = to;
    return CS_OK;
}

static int add_record(const struct request *q, size_t no, cs_chunk *c)
{
    cs_record *r = cs_chunk_append(c);
    char *name = cs_arena_alloc(c->mem, NAME_BYTES, 1);
    char *base = cs_arena_alloc(c->mem, q->n_base[no] + 1, 1);

    if (!r || !name || !base || q->n_base[no] > (size_t)INT64_MAX)
        return cs_fail(CS_EMEM, "out of memory for a sequence of %zu bases", q->n_base[no]);
    (void)snprintf(name, NAME_BYTES, "%zu", no);
    r->name = name;
    r->seg[0].base = base;
    const int rc = fold(q, no, base, &r->seg[0].n_base);
    c->n_base += r->seg[0].n_base;
    return rc;
}

/* ---- predictions ----------------------------------------------------------------------------- */

static int take_batch(void *predictor, cs_batch *b)
{
    struct predictor *p = predictor;
    const int rc = cs_batch_predict(&p->infer, p->session, b);

    if (rc == CS_OK)
        cs_batch_free(b);
    return rc;
}

static int add_views(cs_bucketer *k, cs_chunk *c)
{
    int rc = CS_OK, n_missing = 0;

    for (int32_t i = 0; i < c->views->n; i++)
        n_missing += !c->views->view[i].reason;
    atomic_store(&c->views->pending, n_missing);
    for (int32_t i = 0; rc == CS_OK && i < c->views->n; i++)
        if (!c->views->view[i].reason)
            rc = cs_bucketer_add(k, c, i);
    return rc == CS_OK ? cs_bucketer_end(k) : rc;
}

static int predict_chunk(struct predictor *p, cs_chunk *c)
{
    int rc = CS_OK;
    cs_bucketer *k = cs_bucketer_new(BATCH_TOKENS, LAG, 0, take_batch, p);

    CS_TRY(cs_chunk_tokenise(&p->policy, c, p->session->be->n_thread));
    CS_TRY(cs_bucketer_chunk(k, c->no));
    CS_TRY(add_views(k, c));
    for (int i = 0; i < c->n; i++) {
        cs_views_combine(&p->policy, c, i);
        CS_TRY(cs_policy_accept(&p->policy, &c->rec[i], c->views->prediction[i].reason));
    }
out:
    cs_bucketer_free(k);
    cs_chunk_free_ids(c);
    return rc;
}

static void set_call(const cs_shared_model *o, const cs_prediction *a, chordseq_call *call)
{
    const int best = cs_prediction_best(a);

    *call = (chordseq_call){ .reason = (int32_t)a->reason, .class_no = -1, .rank = "",
                             .probability = NAN };
    if (!o->taxonomy)
        return;
    if (best >= 0)
        call->probability = (float)cs_prediction_prob(a);
    call->label = "unclassified";
    const int32_t node = cs_prediction_taxon(&o->info, a);
    if (node < 0)
        return;
    const cs_taxon *t = &o->taxonomy->node[node];
    call->class_no = t->class_no;
    call->taxid = t->taxid;
    call->rank = t->rank;
    call->label = o->taxon[node];
}

static void set_results(const struct request *q, const cs_chunk *c)
{
    for (int i = 0; i < c->n; i++) {
        const cs_prediction *a = &c->views->prediction[i];
        const size_t at = q->done + (size_t)i;
        const bool known = cs_reason_has_output(a->reason);
        for (int64_t k = 0; q->v && k < q->width; k++)
            q->v[at * (size_t)q->width + (size_t)k] = known ? a->v[k] : NAN;
        if (q->call)
            set_call(q->m->shared, a, &q->call[at]);
        if (q->reason)
            q->reason[at] = (int32_t)a->reason;
    }
}

/* A chunk's worth of sequences. */
static int predict_some(struct request *q)
{
    int rc = CS_OK;
    cs_chunk *c = cs_chunk_new(0);

    if (!c)
        return cs_fail(CS_EMEM, "out of memory for the sequences");
    for (size_t i = q->done; i < q->n && !cs_chunk_full(c); i++)
        CS_TRY(add_record(q, i, c));
    CS_TRY(predict_chunk(q->predictor, c));
    set_results(q, c);
    q->done += (size_t)c->n;
out:
    cs_chunk_free(c);
    return rc;
}

static int predict_all(void *arg)
{
    int rc = CS_OK;
    struct request *q = arg;

    if (!q->predictor->session)
        return cs_fail(CS_EUSAGE, "the model's head does not pool to one vector");
    if (q->predictor == &q->m->prediction && q->m->shared->n_output == 0)
        return cs_fail(CS_EUSAGE, "the model predicts per token, not per sequence; it has only "
                       "vectors here");
    rc = cs_policy_set_output(&q->predictor->policy, q->predictor->session->output);
    while (rc == CS_OK && q->done < q->n)
        rc = predict_some(q);
    return rc;
}

int chordseq_classify_many(chordseq_model *m, const char *const *base, const size_t *n_base,
                           size_t n, float *value, chordseq_call *call)
{
    struct request q = { .m = m, .predictor = &m->prediction, .base = base, .n_base = n_base,
                         .n = n, .width = chordseq_n_output(m), .v = value, .call = call };

    return guarded(predict_all, &q);
}

int chordseq_classify(chordseq_model *m, const char *base, size_t n_base, float *value,
                      chordseq_call *call)
{
    return chordseq_classify_many(m, &base, &n_base, 1, value, call);
}

int chordseq_embed_many(chordseq_model *m, const char *const *base, const size_t *n_base, size_t n,
                        float *vector, int32_t *reason)
{
    struct request q = { .m = m, .predictor = &m->vector, .base = base, .n_base = n_base, .n = n,
                         .width = chordseq_n_dim(m), .v = vector, .reason = reason };

    return guarded(predict_all, &q);
}

int chordseq_embed(chordseq_model *m, const char *base, size_t n_base, float *vector,
                   int32_t *reason)
{
    return chordseq_embed_many(m, &base, &n_base, 1, vector, reason);
}

/* ---- tokens --------------------------------------------------------------------------------- */

struct tokenizing { chordseq_model *m; const char *base; size_t n_base; int32_t *id;
                    size_t *n_token; };

static int tokenize(void *arg)
{
    int rc = CS_OK;
    const struct tokenizing *t = arg;
    const cs_model *m = t->m->shared->model;
    const struct request q = { .m = t->m, .base = &t->base, .n_base = &t->n_base, .n = 1 };
    cs_chunk *c = cs_chunk_new(0);
    char *work = cs_alloc(cs_tokenizer_work(m->tok, m->tok_state, (int64_t)t->n_base) + 1, 1);

    if (!c || !work) {
        rc = cs_fail(CS_EMEM, "out of memory for a sequence of %zu bases", t->n_base);
        goto out;
    }
    CS_TRY(add_record(&q, 0, c));
    *t->n_token = (size_t)m->tok->encode(m->tok_state, &c->rec[0].seg[0], work, t->id);
out:
    free(work);
    cs_chunk_free(c);
    return rc;
}

size_t chordseq_max_tokens(const chordseq_model *m, size_t n_base)
{
    const cs_model *of = m->shared->model;

    return (size_t)of->tok->bound(of->tok_state, (int64_t)n_base);
}

int chordseq_tokenize(chordseq_model *m, const char *base, size_t n_base, int32_t *id,
                      size_t *n_token)
{
    struct tokenizing t = { m, base, n_base, id, n_token };

    *n_token = 0;
    return guarded(tokenize, &t);
}

void chordseq_token_text(const chordseq_model *m, int32_t id, char *text, size_t n_text)
{
    const cs_model *of = m->shared->model;

    if (n_text == 0)
        return;
    if (id >= 0 && id < of->tok->n_vocab(of->tok_state))
        of->tok->symbol(of->tok_state, id, text, n_text);
    else
        text[0] = '\0';
}

/* Forward and whole: tokens of the other strand, or of windows, have other positions. */
static void init_token_predictor(chordseq_model *m)
{
    if (m->token.session)
        return;
    init_predictor(&m->token, m, CS_HEAD_TOKENS);
    m->token.policy.strands = CS_STRANDS_FORWARD;
    m->token.policy.both = m->token.policy.canonical = false;
    m->token.policy.window = 0;
}

struct token_request { struct request q; size_t n_token; };

static int predict_tokens(void *arg)
{
    int rc = CS_OK;
    struct token_request *t = arg;
    chordseq_model *m = t->q.m;
    size_t n = 0;
    int32_t *id = cs_alloc(chordseq_max_tokens(m, *t->q.n_base) + 1, sizeof *id);
    struct tokenizing count = { m, *t->q.base, *t->q.n_base, id, &n };

    if (!id)
        return cs_fail(CS_EMEM, "out of memory for the tokens of %zu bases", *t->q.n_base);
    CS_TRY(tokenize(&count));
    if (n != t->n_token) {
        rc = cs_fail(CS_EUSAGE, "the sequence has %zu tokens, not %zu", n, t->n_token);
        goto out;
    }
    init_token_predictor(m);
    t->q.width = (int64_t)n * chordseq_n_token_dim(m);
    rc = predict_all(&t->q);
out:
    free(id);
    return rc;
}

int chordseq_embed_tokens(chordseq_model *m, const char *base, size_t n_base, size_t n_token,
                          float *vector, int32_t *reason)
{
    struct token_request t = { { .m = m, .predictor = &m->token, .base = &base, .n_base = &n_base,
                                 .n = 1, .v = vector, .reason = reason }, n_token };

    return guarded(predict_tokens, &t);
}

int64_t chordseq_windows(const chordseq_model *m, int64_t n_base, int64_t *start, int64_t *length)
{
    const cs_policy *p = &m->prediction.policy;
    const int64_t n = cs_policy_n_window(p, n_base);

    for (int64_t i = 0; start && i < n; i++)
        cs_policy_window(p, n_base, i, &start[i], &length[i]);
    return n;
}
