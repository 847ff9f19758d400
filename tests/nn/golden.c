/*
 * golden.c - compare with results of the architectures' original implementations.
 *
 *     golden FILE...
 *
 * Each file's config names the encoder; its parameters are loaded, all its tensors are computed and
 * compared, and one line reports PASS, FAIL or SKIP (unknown encoder), with the largest error
 * relative to the largest value and its tensor. A tensor without comparison is a failure. With
 * CS_PRECISION=bf16, products take bf16, and only outputs are compared. Exit status: 0; 1 if any
 * file failed; 77 if all were skipped.
 */
#include "golden.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/cpu.h"

const char *golden_text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

double golden_number(const json_t *j, const char *key, double missing)
{
    const json_t *v = json_object_get(j, key);
    return json_is_number(v) ? json_number_value(v) : missing;
}

bool golden_has(const json_t *j, const char *key, const char *name)
{
    const json_t *list = json_object_get(j, key);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), name) == 0)
            return true;
    return false;
}

const cs_tensor *golden_find(const golden *g, const char *fmt, ...)
{
    char name[256];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    return cs_safetensors_find(g->file, name);
}

double golden_largest(const cs_tensor *t)
{
    double max_abs = 0;
    for (int64_t i = 0; i < t->n; i++)
        max_abs = fmax(max_abs, fabs(cs_tensor_get(t, i)));
    return max_abs;
}

double golden_largest_gradient(const golden *g)
{
    const cs_tensor *t, *stats = golden_find(g, "grad_stats");
    double max_abs = 0;

    for (size_t i = 0; (t = cs_safetensors_at(g->file, i)) != NULL; i++)
        if (strncmp(t->name, "grad.", 5) == 0)
            max_abs = fmax(max_abs, golden_largest(t));
    for (int64_t i = 2; stats && i < stats->n; i += 3)
        max_abs = fmax(max_abs, cs_tensor_get(stats, i));
    return max_abs;
}

void golden_check(golden *g, const char *what, double error, double limit)
{
    const bool rounded = g->be->precision == CS_IN_BF16;

    if (rounded && strncmp(what, "output.", 7) != 0 && strcmp(what, "answer") != 0)
        return;
    limit = rounded ? TOL_BF16 : limit;
    double ratio = error <= limit ? error / limit : INFINITY;   /* a NaN is a failure */

    if (isfinite(error) && limit > 0)
        ratio = error / limit;
    if (error == 0)
        ratio = 0;
    g->n_compared++;
    if (ratio > g->worst || g->where[0] == '\0') {
        g->worst = ratio;
        g->worst_error = error;
        snprintf(g->where, sizeof g->where, "%s", what);
    }
}

/* In bf16: the norm of the difference, relative to the norm. A few elements, such as logits and
 * losses, may be sums that cancel, with no others to be measured against. */
static void compare_rounded(golden *g, const cs_tensor *want, const double *got)
{
    enum { FEW = 64 };
    double off = 0, all = 0;

    for (int64_t i = 0; i < want->n; i++) {
        const double v = cs_tensor_get(want, i), d = got[i] - v;
        off += d * d;
        all += v * v;
    }
    if (want->n >= FEW)
        golden_check(g, want->name, sqrt(off / all), TOL_BF16);
}

void golden_compare(golden *g, const cs_tensor *want, const double *got, double tol, double floor)
{
    double max_abs = 0, scale = fmax(golden_largest(want), floor);

    if (g->be->precision == CS_IN_BF16) {
        compare_rounded(g, want, got);
        return;
    }
    for (int64_t i = 0; i < want->n; i++) {
        double d = fabs(got[i] - cs_tensor_get(want, i));
        max_abs = d > max_abs || isnan(d) ? d : max_abs;
        if (isnan(max_abs))
            break;
    }
    g->seen[want - cs_safetensors_at(g->file, 0)] = true;
    golden_check(g, want->name, max_abs == 0 ? 0 : max_abs / scale, tol);
}

const void *golden_show(golden *g, const void *p, size_t n_bytes)
{
    void *copy = g->be->op.alloc(g->be, n_bytes);
    CS_BUG(!copy);
    memcpy(copy, p, n_bytes);
    g->shown = cs_xrealloc(g->shown, (size_t)(g->n_shown + 1) * sizeof *g->shown);
    g->shown[g->n_shown++] = copy;
    return copy;
}

const int64_t *golden_offsets(golden *g, int64_t n, int64_t len)
{
    int64_t *off = cs_xcalloc((size_t)n + 1, sizeof *off);

    for (int64_t s = 0; s <= n; s++)
        off[s] = s * len;
    const int64_t *shown = golden_show(g, off, ((size_t)n + 1) * sizeof *off);
    free(off);
    return shown;
}

double *golden_fetch(const golden *g, cs_mat m)
{
    cs_real *raw = cs_xmalloc((size_t)(m.r * m.c) * sizeof *raw + 1);
    double *v = cs_xmalloc((size_t)(m.r * m.c) * sizeof *v + 1);

    for (int64_t r = 0; r < m.r; r++)
        g->be->op.download(g->be, raw + r * m.c, m.p + r * m.ld, (size_t)m.c * sizeof *raw);
    for (int64_t i = 0; i < m.r * m.c; i++)
        v[i] = (double)raw[i];
    free(raw);
    return v;
}

/* Everything but inputs and initial values must have been compared. */
static void check_all_seen(golden *g)
{
    static const char *const given[] = { "input.", "param.", "buffer." };
    const cs_tensor *t;
    char what[160];

    for (size_t i = 0; (t = cs_safetensors_at(g->file, i)) != NULL; i++) {
        bool skip = g->seen[i] || strstr(t->name, "num_batches_tracked");
        for (size_t k = 0; k < sizeof given / sizeof given[0]; k++)
            skip |= strncmp(t->name, given[k], strlen(given[k])) == 0;
        snprintf(what, sizeof what, "%.100s was not compared", t->name);
        if (!skip)
            golden_check(g, what, INFINITY, 1);
    }
}

static int open_file(golden *g)
{
    const char *text;
    size_t n = 0;

    if (cs_safetensors_open(g->path, &g->file) != CS_OK)
        return CS_EFORMAT;
    text = cs_safetensors_meta(g->file, "config");
    g->config = text ? json_loads(text, 0, NULL) : NULL;
    if (!g->config)
        return cs_fail(CS_EFORMAT, "'%s' has no config", g->path);
    while (cs_safetensors_at(g->file, n))
        n++;
    g->seen = cs_xcalloc(n + 1, sizeof *g->seen);
    return CS_OK;
}

enum verdict { PASS, FAIL, SKIP };

/* Which function reads the files of an architecture: one pass, and optimiser steps. */
static const struct { const char *arch; int (*pass)(golden *g), (*steps)(golden *g); } readers[] = {
    { "chordmixer", golden_chordmixer, golden_train },
    { "schedule", golden_schedule, golden_schedule },
    { "cdil_cnn", golden_cdil, golden_cdil },
    { "cdil_dna", golden_cdil, golden_cdil },
    { "cdil_dna_pretrained", golden_cdil, golden_cdil },
    { "paramixer", golden_sparse, golden_sparse },
    { "psf_attn", golden_sparse, golden_sparse },
    { "ff_kernel", golden_attn, golden_attn },
    { "linformer", golden_attn, golden_attn },
    { "lrt", golden_attn, golden_attn },
    { "singularformer", golden_attn, golden_attn },
    { "transformer", golden_attn, golden_attn },
};

static enum verdict run(golden *g)
{
    int rc = open_file(g);
    const char *arch = rc == CS_OK ? golden_text(g->config, "arch") : "";

    size_t n = sizeof readers / sizeof readers[0], i = 0;

    while (rc == CS_OK && i < n && strcmp(arch, readers[i].arch) != 0)
        i++;
    if (rc == CS_OK && i == n) {
        printf("SKIP %s: no encoder '%s' here\n", g->path, arch);
        return SKIP;
    }
    if (rc == CS_OK)
        rc = (json_object_get(g->config, "optimizer") ? readers[i].steps : readers[i].pass)(g);
    if (rc != CS_OK) {
        printf("FAIL %s: %s\n", g->path, cs_error_message());
        cs_error_clear();
        return FAIL;
    }
    if (g->be->precision == CS_IN_FP32)
        check_all_seen(g);
    if (g->n_compared == 0 && g->be->precision == CS_IN_BF16) {
        printf("SKIP %s: no output to compare in bf16\n", g->path);
        return SKIP;
    }
    bool ok = g->worst <= 1 && g->n_compared > 0;
    printf("%s %s: %d compared, worst %.2e (%.3g of what is allowed) at %s\n", ok ? "PASS" : "FAIL",
           g->path, g->n_compared, g->worst_error, g->worst, g->where);
    return ok ? PASS : FAIL;
}

/* CS_PRECISION=bf16: the precision of products. */
static int take_precision(cs_backend *be)
{
    const char *name = getenv("CS_PRECISION");

    return name && strcmp(name, "bf16") == 0 ? cs_backend_compute_in(be, CS_IN_BF16) : CS_OK;
}

/* tests/gpu runs the same files on other devices, whose memory this program has to see, too. */
#ifndef GOLDEN_DEVICE
#define GOLDEN_DEVICE "cpu"
#endif
/* Of a GPU, this is pinned memory of the host: slower than the GPU's own, but both access it. The
 * host must not while kernels run, which CHORDSEQ_SYNC=1 ensures. */
static void share_memory(cs_backend *be)
{
    if (strcmp(GOLDEN_DEVICE, "cpu") == 0)
        return;
    be->op.alloc = be->staging.alloc;
    be->op.dealloc = be->staging.dealloc;
}

int main(int argc, char **argv)
{
    int n[3] = { 0, 0, 0 };
    cs_backend *be = NULL;

    if (argc < 2 || cs_cpu_init() != CS_OK || cs_backend_open(GOLDEN_DEVICE, 0, &be) != CS_OK) {
        printf("%s\n", argc < 2 ? "usage: golden FILE..." : cs_error_message());
        return argc >= 2 && strcmp(GOLDEN_DEVICE, "cpu") != 0 ? 77 : 1;
    }
    share_memory(be);
    if (take_precision(be) != CS_OK) {
        printf("%s\n", cs_error_message());
        cs_backend_close(be);
        return 77;
    }
    for (int i = 1; i < argc; i++) {
        golden g = { .path = argv[i], .be = be };
        n[run(&g)]++;
        fflush(stdout);
        free(g.seen);
        while (g.n_shown > 0)
            be->op.dealloc(be, g.shown[--g.n_shown]);
        free(g.shown);
        json_decref(g.config);
        cs_safetensors_close(g.file);
    }
    cs_backend_close(be);
    printf("%d passed, %d failed, %d skipped\n", n[PASS], n[FAIL], n[SKIP]);
    if (n[FAIL])
        return 1;
    return n[PASS] ? 0 : 77;
}
