/* variants.c - alternative alleles of a VCF as records of two segments: reference and alternate. */
#include "infer/variants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/alphabet.h"
#include "nn/exec/model.h"

enum { DEFAULT_WINDOW = 1000, MIN_WINDOW = 8, NAME_BYTES = 160 };

static int no_memory(const cs_vcf_record *v)
{
    return cs_fail(CS_EMEM, "out of memory for the windows of record %llu",
                   (unsigned long long)v->no);
}

/* "chr1:12345 A>G", for messages. */
static const char *name_of(const cs_vcf_record *v, int no, cs_arena *mem)
{
    char name[NAME_BYTES];
    const int n = snprintf(name, sizeof name, "%.60s:%lld %.40s>%.40s", v->contig,
                           (long long)v->pos + 1, v->ref, no < 0 ? "." : v->alt[no]);

    return cs_arena_dup(mem, name, (size_t)(n < NAME_BYTES ? n : NAME_BYTES - 1));
}

/* Set the record's strand by the exons near the variant, unless they are on both. With s->mark,
 * mark the nearest exon in the windows `base`, or set pair->why if there is none. */
static void apply_exons(const cs_variant_source *s, const char *contig, char *base,
                      cs_window_pair *pair, cs_record *r)
{
    cs_exon exon;
    const bool near = s->mark ? cs_exons_mark(s->exons, contig, s->n_base, base, pair, &exon)
                              : cs_exons_near(s->exons, contig, pair, s->n_base, &exon);

    if (near && (s->mark || !exon.both))
        r->strand = (int8_t)exon.strand;
}

static int variants_append(cs_variant_source *s, cs_chunk *c, const cs_vcf_record *v, int no)
{
    int rc = CS_OK;
    cs_variant_alt *a = cs_arena_alloc(c->mem, 1, sizeof *a);
    char *base = cs_arena_alloc(c->mem, 2 * (size_t)s->n_base, 1);
    cs_record *r = cs_chunk_append(c);

    if (!a || !base || !r)
        return no_memory(v);
    *a = (cs_variant_alt){ .of = v, .no = no };
    r->name = name_of(v, no, c->mem);
    if (!r->name)
        return no_memory(v);
    r->native[0] = a;
    if (no < 0)
        return CS_OK;
    const cs_window_allele allele = { v->contig, v->pos, v->ref, v->alt[no] };
    CS_TRY(cs_variant_windows_make(s->windows, &allele, base, base + s->n_base, &a->pair));
    if (!a->pair.why && s->exons)
        apply_exons(s, v->contig, base, &a->pair, r);
    if (a->pair.why)
        return CS_OK;
    a->ref = base + a->pair.at;
    a->alt = base + s->n_base + a->pair.at;
    a->n_mask = a->pair.n_ref > a->pair.n_alt ? a->pair.n_ref : a->pair.n_alt;
    r->n_seg = s->mask_alleles && a->pair.n_ref == a->pair.n_alt ? 1 : 2;
    r->mask_from = a->pair.at;
    r->n_mask = s->mask_alleles ? a->n_mask : 0;
    for (int i = 0; i < r->n_seg; i++)
        r->seg[i] = (cs_segment){ base + i * s->n_base, NULL, s->n_base };
    c->n_base += r->n_seg * s->n_base;
out:
    return rc;
}

int cs_variants_next(void *source, cs_chunk *c)
{
    int rc = CS_OK;
    cs_variant_source *s = source;
    cs_vcf_record *v;

    CS_TRY(cs_vcf_next(s->in, c->mem, &v));
    for (int i = 0; rc == CS_OK && i < v->n_alt; i++)
        rc = variants_append(s, c, v, i);
    if (v->n_alt == 0)
        rc = variants_append(s, c, v, -1);
out:
    return rc;
}

int cs_variants_model(const char *named, cs_variant_score score, bool exons, char *buf,
                      size_t n_buf)
{
    const char *usual = getenv("CHORDSEQ_MODEL");
    const bool none = !named && !(usual && *usual);

    if (none && score == CS_SCORE_LLR)
        cs_note("no --model: using human-lm, a small language model of human DNA, whose ratios "
                "(CS_LLR) do not identify harmful variants");
    else if (none && score != CS_SCORE_EMBEDDING)
        cs_note("no --model: using the default model for variants, which predicts loss of splicing "
                "of %sexons (CS_SPLICE)", exons ? "the given " : "");
    return cs_model_find(named, score == CS_SCORE_EMBEDDING ? "model/default.safetensors"
                         : score == CS_SCORE_LLR ? "model/human-lm.safetensors"
                         : exons ? "model/variant-exons.safetensors"
                         : "model/variant.safetensors", buf, n_buf);
}

int cs_variants_choose_score(const cs_model *m, const char *path, cs_variant_score wanted,
                             cs_variant_score *score, int32_t *width)
{
    const bool trained = cs_model_parts(m) == 2;
    const bool guesses = m->head->per_token && m->mask >= 0;

    *width = 0;
    *score = wanted != CS_SCORE_AUTO ? wanted : trained ? CS_SCORE_MODEL
           : guesses ? CS_SCORE_LLR : CS_SCORE_EMBEDDING;
    if (*score == CS_SCORE_LLR) {
        const int rc = cs_model_check_masked(m, path);
        const bool bases = rc == CS_OK && m->n_label == 4;
        return rc != CS_OK || bases ? rc : cs_fail(CS_EUSAGE, "model '%s' has tokens that are not "
               "bases; --score llr needs --tokenizer base", path);
    }
    if (!trained && wanted == CS_SCORE_MODEL)
        return cs_fail(CS_EUSAGE, "model '%s' was not trained on variants; --score embedding works "
                       "with any model", path);
    if (trained && *score == CS_SCORE_EMBEDDING)
        return cs_fail(CS_EUSAGE, "model '%s' has no vector per sequence; use --score model", path);
    if (*score != CS_SCORE_EMBEDDING)
        return CS_OK;
    const int rc = cs_model_check_output(m, CS_HEAD_POOLED);
    *width = rc != CS_OK ? 0 : (int32_t)cs_model_output_len(m, CS_HEAD_POOLED, 1);
    return rc;
}

int cs_variants_choose_window(const cs_model *m, int64_t wanted, int64_t *n_base)
{
    const int64_t longest = cs_model_max_len(m);

    *n_base = wanted > 0 ? wanted : m->window > 0 ? m->window : DEFAULT_WINDOW;
    const int64_t n_tok = m->tok->bound(m->tok_state, *n_base) * cs_model_parts(m);
    const int64_t least = m->tok->min_base(m->tok_state);
    if (*n_base < MIN_WINDOW || *n_base < least)
        return cs_fail(CS_EUSAGE, "--window-length %lld is too short; it must be at least %lld",
                       (long long)*n_base, (long long)(least > MIN_WINDOW ? least : MIN_WINDOW));
    if (longest > 0 && n_tok > longest)
        return cs_fail(CS_EUSAGE, "windows of %lld bases have up to %lld tokens%s, but the model "
                       "takes %lld; lower --window-length", (long long)*n_base, (long long)n_tok,
                       cs_model_parts(m) > 1 ? " together" : "", (long long)longest);
    return CS_OK;
}

void cs_variants_distance(const float *ref, const float *alt, int32_t n, double *l2,
                          double *cosine)
{
    double square = 0, a = 0, b = 0, ab = 0;

    for (int32_t i = 0; i < n; i++) {
        const double x = (double)ref[i], y = (double)alt[i];
        square += (x - y) * (x - y);
        a += x * x;
        b += y * y;
        ab += x * y;
    }
    *l2 = sqrt(square);
    *cosine = a > 0 && b > 0 ? fmax(0, 1 - ab / sqrt(a * b)) : NAN;
}

/* Logarithm of a base's probability, which is a quarter for unknown bases; they may follow an
 * allele. For one window values are probabilities, for two they are raw. */
static double log_of(const float *v, char base, bool raw)
{
    const int code = cs_base_code[(unsigned char)base];
    double max = (double)v[0], sum = 0;

    if (code > 3)
        return log(0.25);
    if (!raw)
        return log(fmax((double)v[code], 1e-30));
    for (int k = 1; k < 4; k++)
        max = fmax(max, (double)v[k]);
    for (int k = 0; k < 4; k++)
        sum += exp((double)v[k] - max);
    return (double)v[code] - max - log(sum);
}

double cs_variants_ratio(const cs_variant_alt *v, const cs_prediction *a)
{
    const bool two = v->pair.n_ref != v->pair.n_alt;
    const float *ref = a->v + 4 * v->pair.at, *alt = ref + (two ? a->n / 2 : 0);
    double sum = 0;

    for (int64_t i = 0; i < v->n_mask; i++)
        sum += log_of(alt + 4 * i, v->alt[i], two) - log_of(ref + 4 * i, v->ref[i], two);
    return sum;
}
