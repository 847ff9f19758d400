/*
 * model_io.c - read, write and find model files: one safetensors file, tensors and JSON settings.
 *
 * DESIGN: settings are in model_settings.c. Reading declares the model first and compares every
 * tensor's name and shape with the file's, so memory is allocated only for tensors in the file
 * or such as no pass uses.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data.h"
#include "base/outfile.h"
#include "base/sha256.h"
#include "base/suggest.h"
#include "nn/exec/lookup_io.h"
#include "nn/exec/proteins_io.h"
#include "nn/exec/model_settings.h"
#include "nn/exec/safetensors.h"

/* ---- saving ------------------------------------------------------------------------------ */

/* Every tensor as float32, in the order of declaration; t's data points into *values. */
static int collect_tensors(const cs_model *m, const char *name, cs_tensor *t, float **values)
{
    const cs_params *ps = &m->ps;
    int rc = CS_OK;
    cs_real *raw = cs_alloc((size_t)ps->n_real, sizeof *raw);
    float *v = cs_alloc((size_t)ps->n_real, sizeof *v);

    if (!raw || !v)
        rc = cs_fail(CS_EMEM, "out of memory: cannot copy %lld parameters", (long long)ps->n_real);
    for (int32_t i = 0; rc == CS_OK && i < ps->n; i++) {
        const cs_param *p = &ps->p[i];
        m->be->op.download(m->be, raw, ps->value + p->off, (size_t)p->n * sizeof *raw);
        rc = m->be->op.sync(m->be);
        for (int64_t k = 0; k < p->n && rc == CS_OK; k++) {
            v[p->off + k] = (float)raw[k];
            if (!isfinite(v[p->off + k]))    /* could not be loaded */
                rc = cs_fail(CS_EMODEL, "cannot save '%s': tensor '%s' holds values that are not "
                             "finite: training diverged; lower the learning rate or clip the "
                             "gradient", name, p->name);
        }
        t[i] = (cs_tensor){ p->name, CS_F32, p->shape, p->n, (const unsigned char *)(v + p->off) };
    }
    free(raw);
    *values = v;
    return rc;
}

/* Does a compact model store it in bf16? */
static bool is_halved(const cs_param *p)
{
    return p->shape.n_dim > 1;
}

int64_t cs_model_weight_bytes(const cs_model *m)
{
    int64_t n = 0;

    for (int32_t i = 0; i < m->ps.n; i++) {
        const cs_param *p = &m->ps.p[i];
        if (!p->absent)
            n += p->n * (int64_t)cs_dtype_bytes(m->compact && is_halved(p) ? CS_BF16 : CS_F32);
    }
    return n;
}

/* Drops idle tensors and makes matrices bf16, in place; the number of tensors left. A value that
 * rounds to infinity keeps its tensor in float32. */
static int32_t make_compact(const cs_params *ps, cs_tensor *t, float *values)
{
    int32_t n = 0;

    for (int32_t i = 0; i < ps->n; i++) {
        const cs_param *p = &ps->p[i];
        float *v = values + p->off;
        bool fits = is_halved(p);
        if (p->idle)
            continue;
        for (int64_t k = 0; fits && k < p->n; k++)
            fits = fabsf(v[k]) < 3.38e38f;
        t[n] = t[i];
        if (fits) {
            cs_bf16_bytes(v, p->n, (unsigned char *)v);
            t[n].dtype = CS_BF16;
        }
        n++;
    }
    return n;
}

static void checksum(const cs_tensor *t, int32_t n, char sum[65])
{
    cs_sha256 s;

    cs_sha256_init(&s);
    for (int32_t i = 0; i < n; i++)
        cs_sha256_add(&s, t[i].data, (size_t)t[i].n * cs_dtype_bytes(t[i].dtype));
    cs_sha256_hex(&s, sum);
}

int cs_model_write(cs_model *m, cs_outfile *f)
{
    int rc = CS_OK;
    float *values = NULL;
    char *text = NULL;
    uint8_t *packed = NULL;
    int32_t n = m->ps.n;
    cs_tensor *t = cs_xcalloc((size_t)(n + CS_LOOKUP_TENSORS + CS_PROTEIN_TENSORS), sizeof *t);

    CS_TRY(collect_tensors(m, cs_outfile_name(f), t, &values));
    if (m->compact)
        n = make_compact(&m->ps, t, values);
    cs_lookup_tensors(m->lookup, t + n);
    n += m->lookup ? CS_LOOKUP_TENSORS : 0;
    CS_TRY(cs_proteins_tensors(m->proteins, t + n, &packed));
    n += m->proteins ? CS_PROTEIN_TENSORS : 0;
    checksum(t, n, m->sum);
    text = cs_model_settings_text(m);
    if (text)
        rc = cs_safetensors_write(f, t, (size_t)n, &(cs_meta){ "chordseq", text }, 1);
    else
        rc = cs_fail(CS_EUSAGE, "cannot save '%s': a label is not UTF-8, or out of memory",
                     cs_outfile_name(f));
out:
    CS_FREE(text, values, t, packed);
    return rc;
}

int cs_model_save(cs_model *m, const char *path)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open_as(path, NULL, CS_OUT_BINARY, &f));
    CS_TRY(cs_model_write(m, f));
out:
    return cs_outfile_end(f, rc);
}

/* ---- loading ----------------------------------------------------------------------------- */

struct loading {
    const char       *what;
    cs_safetensors   *file;
    cs_model_settings settings;
};

static int damaged(const struct loading *l, const char *why)
{
    return cs_model_damaged(l->what, why);
}

static int check_sum(const struct loading *l)
{
    const char *want = json_string_value(json_object_get(l->settings.j, "sha256"));
    char sum[65];
    size_t n;
    const unsigned char *p = cs_safetensors_data(l->file, &n);
    cs_sha256 s;

    if (!want)
        return damaged(l, "it has no checksum");
    cs_sha256_init(&s);
    cs_sha256_add(&s, p, n);
    cs_sha256_hex(&s, sum);
    if (strcmp(sum, want) != 0)
        return damaged(l, "its checksum does not fit its weights; fetch the file again");
    return CS_OK;
}

/* Sets the number of tensors in the file, and which idle ones it leaves out. */
static int check_tensors(const struct loading *l, cs_model *m)
{
    cs_params *ps = &m->ps;

    m->n_stored = json_object_get(l->settings.j, "lookup") ? CS_LOOKUP_TENSORS : 0;
    m->n_stored += json_object_get(l->settings.j, "proteins") ? CS_PROTEIN_TENSORS : 0;
    for (int32_t i = 0; i < ps->n; i++) {
        const cs_tensor *t = cs_safetensors_find(l->file, ps->p[i].name);
        ps->p[i].absent = !t && ps->p[i].idle;
        if (ps->p[i].absent)
            continue;
        m->n_stored++;
        if (!t)
            return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: tensor '%s' is "
                           "missing", l->what, ps->p[i].name);
        if (!cs_shape_equal(&t->shape, &ps->p[i].shape) || t->dtype >= CS_I64)
            return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: tensor '%s' has the "
                           "wrong shape or type", l->what, t->name);
    }
    if (cs_safetensors_at(l->file, (size_t)m->n_stored))
        return damaged(l, "it holds tensors that do not belong to it");
    return CS_OK;
}

static bool is_whole(const cs_params *ps)
{
    for (int32_t i = 0; i < ps->n; i++)
        if (ps->p[i].absent)
            return false;
    return true;
}

static int read_tensor(const struct loading *l, const cs_params *ps, const cs_param *p)
{
    const cs_tensor *t = cs_safetensors_find(l->file, p->name);
    cs_real buf[1024];

    for (int64_t i = 0; i < p->n; i += 1024) {
        int64_t n = p->n - i < 1024 ? p->n - i : 1024;
        for (int64_t k = 0; k < n; k++) {
            buf[k] = (cs_real)cs_tensor_get(t, i + k);
            if (!isfinite(buf[k]))
                return cs_fail(CS_EFORMAT, "'%s' is not a valid chordseq model: tensor '%s' "
                               "holds values that are not finite", l->what, p->name);
        }
        ps->be->op.upload(ps->be, ps->value + p->off + i, buf, (size_t)n * sizeof *buf);
    }
    return CS_OK;
}

/* The tensors' names show which layers are factorised. */
static int64_t rank_in_file(const void *arg, const char *name, int32_t n_out, int32_t n_in)
{
    const struct loading *l = arg;
    char first[256];

    (void)n_out;
    (void)n_in;
    snprintf(first, sizeof first, "%s_a", name);
    const cs_tensor *t = cs_safetensors_find(l->file, first);
    return t && t->shape.n_dim == 2 ? t->shape.dim[0] : 0;
}

static int read_lookup(const struct loading *l, cs_model *m)
{
    const json_t *j = json_object_get(l->settings.j, "lookup");
    const int32_t n_class = cs_model_takes_lookup(m) ? m->n_label : 0;

    return j ? cs_lookup_read(j, l->file, l->what, n_class, &m->lookup) : CS_OK;
}

static int read_proteins(const struct loading *l, cs_model *m)
{
    const json_t *j = json_object_get(l->settings.j, "proteins");
    const int32_t n_class = cs_model_takes_proteins(m) ? m->n_label : 0;

    return j ? cs_proteins_read(j, l->file, l->what, n_class, &m->proteins) : CS_OK;
}

static bool has_bf16(const cs_safetensors *file)
{
    const cs_tensor *t;

    for (size_t i = 0; (t = cs_safetensors_at(file, i)) != NULL; i++)
        if (t->dtype == CS_BF16)
            return true;
    return false;
}

static int build(struct loading *l, cs_backend *be, bool training, cs_model **out)
{
    int rc = CS_OK;
    cs_model *m = NULL;
    cs_model_spec *spec = &l->settings.spec;

    spec->training = training;
    spec->ranks = (cs_ranks){ rank_in_file, l };
    CS_TRY(cs_model_declare(spec, be, &m));
    if (spec->has_mask && json_integer_value(json_object_get(l->settings.j, "mask")) != m->mask) {
        rc = damaged(l, "its mask token is not that of its tokenizer");
        goto out;
    }
    CS_TRY(check_tensors(l, m));
    const bool whole = is_whole(&m->ps);
    CS_TRY(read_lookup(l, m));
    CS_TRY(read_proteins(l, m));
    CS_TRY(cs_params_alloc(&m->ps, be, training));
    for (int32_t i = 0; i < m->ps.n; i++)
        CS_TRY(m->ps.p[i].absent ? cs_param_fill(&m->ps, i, 1)
                                 : read_tensor(l, &m->ps, &m->ps.p[i]));
    m->compact = !training && (!whole || has_bf16(l->file));
    CS_TRY(cs_model_settings_apply(&l->settings, m));
    *out = m;
    m = NULL;
out:
    cs_model_free(m);
    return rc;
}

/* Settings that are a usage error on the command line are the model's in a file. */
static int incompatible(const char *what)
{
    char why[512];

    (void)snprintf(why, sizeof why, "%s", cs_error_message());
    cs_error_clear();
    return cs_fail(CS_EMODEL, "'%s' is not a valid chordseq model: %s", what, why);
}

/* Takes the file over. */
static int load(cs_safetensors *file, const char *what, cs_backend *be, cs_model_use use,
                cs_model **out)
{
    int rc = CS_OK;
    struct loading l = { .what = what, .file = file };

    cs_model_settings_init(&l.settings, what);
    CS_TRY(cs_model_settings_open(&l.settings, cs_safetensors_meta(file, "chordseq")));
    CS_TRY(check_sum(&l));
    CS_TRY(cs_model_settings_read(&l.settings));
    CS_TRY(build(&l, be, use == CS_USE_TRAINING, out));
out:
    if (rc == CS_EUSAGE)
        rc = incompatible(what);
    cs_model_settings_release(&l.settings);
    cs_safetensors_close(file);
    return rc;
}

int cs_model_parse(const void *p, size_t n_bytes, const char *what, cs_backend *be,
                   cs_model_use use, cs_model **out)
{
    cs_safetensors *file;
    int rc = cs_safetensors_parse(p, n_bytes, what, &file);

    *out = NULL;
    return rc == CS_OK ? load(file, what, be, use, out) : rc;
}

int cs_model_load(const char *path, cs_backend *be, cs_model_use use, cs_model **out)
{
    cs_safetensors *file;
    int rc = cs_safetensors_open(path, &file);

    *out = NULL;
    return rc == CS_OK ? load(file, path, be, use, out) : rc;
}

/* ---- finding ----------------------------------------------------------------------------- */

const char *const cs_model_installed[] = { "default", "fast", "accurate", "taxa", "variant",
                                           "variant-exons", "human-lm", NULL };

/* A model that comes with the program, unless a file has that name. */
static bool find_named(const char *name, char *buf, size_t n_buf)
{
    char file[64];

    if (strchr(name, '/') || access(name, F_OK) == 0)
        return false;
    if ((size_t)snprintf(file, sizeof file, "model/%s.safetensors", name) >= sizeof file)
        return false;
    return cs_data_find(file, buf, n_buf);
}

static int not_installed(const char *name, const char *source, char *buf, size_t n_buf)
{
    (void)find_named(name, buf, n_buf);
    return cs_fail(CS_EMODEL, "the model '%s'%s is not installed: there is no '%s'; reinstall the "
                   "data of chordseq, or give the path of a model", name, source, buf);
}

/* A path that stat() refused. buf: to work with. */
static int no_model(const char *path, const char *source, char *buf, size_t n_buf)
{
    const size_t n_model = sizeof cs_model_installed / sizeof *cs_model_installed - 1;
    const char *reason = strerror(errno);
    cs_suggest hint = cs_suggest_begin(path);
    char list[192];
    size_t n = 0;

    for (size_t i = 0; i < n_model; i++) {
        if (strcmp(path, cs_model_installed[i]) == 0)
            return not_installed(path, source, buf, n_buf);
        cs_suggest_try(&hint, cs_model_installed[i]);
        if (n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s'%s'",
                                  i == 0 ? "" : i + 1 < n_model ? ", " : " and ",
                                  cs_model_installed[i]);
    }
    if (strchr(path, '/'))
        return cs_fail(CS_EIO, "cannot open '%s'%s: %s", path, source, reason);
    return cs_fail(CS_EIO, "cannot open '%s'%s: %s; %schordseq comes with the models %s", path,
                   source, reason, cs_suggest_hint(&hint), list);
}

/* The path of a model file, or of that in a folder of `model export`. */
static int find_path(const char *path, const char *source, char *buf, size_t n_buf)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return no_model(path, source, buf, n_buf);
    const bool is_dir = S_ISDIR(st.st_mode);
    if ((size_t)snprintf(buf, n_buf, "%s%s", path, is_dir ? "/model.safetensors" : "") >= n_buf)
        return cs_fail(CS_EUSAGE, "the model's path is longer than %zu bytes", n_buf);
    if (is_dir && access(buf, F_OK) != 0)
        return cs_fail(CS_EIO, "folder '%s' has no model.safetensors; give a model file or a "
                       "folder of 'chordseq model export'", path);
    return CS_OK;
}

int cs_model_find(const char *opt, const char *file, char *buf, size_t n_buf)
{
    const char *path = opt ? opt : getenv("CHORDSEQ_MODEL");

    if (opt && !*opt)
        return cs_fail(CS_EUSAGE, "the model's name is empty; is a shell variable unset?");
    if (path && *path)
        return find_named(path, buf, n_buf) ? CS_OK
             : find_path(path, opt ? "" : " of CHORDSEQ_MODEL", buf, n_buf);
    if (cs_data_find(file, buf, n_buf))
        return CS_OK;
    return cs_fail(CS_EMODEL, "no model at '%s'; name one, or set CHORDSEQ_MODEL", buf);
}

int cs_model_find_default(const char *opt, char *buf, size_t n_buf)
{
    return cs_model_find(opt, "model/default.safetensors", buf, n_buf);
}
