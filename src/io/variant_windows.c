/* variant_windows.c - reference and alternate windows of a variant, of equal length.
 *
 * DESIGN: variants are mostly sorted, so the contig's last block is cached. For files that jump
 * between contigs, a large block per record would cost more than its scores; so the first block at
 * a position is small, and only adjacent ones are large.
 */
#include "io/variant_windows.h"

#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "io/alphabet.h"

enum { BLOCK = 1 << 18, FIRST_BLOCK = BLOCK / 16 };

struct cs_variant_windows {
    cs_reference *ref;
    cs_window_opt o;
    cs_names      circular_too;  /* contigs of cs_variant_windows_add_circular() */
    char         *contig;        /* of the block, or NULL */
    int64_t       n_contig;      /* its length, or -1 */
    bool          circular;      /* is it? */
    char         *block;
    int64_t       from, to;
    char         *rotated;       /* [cap_rotated] an inserted sequence after moving it */
    size_t        cap_rotated;
};

const char *const cs_window_ends[] = { "skip", "fill", NULL };

static const struct { const char *name, *help; } unscored[CS_N_UNSCORED] = {
    [CS_SCORED] = { ".", "it has a score" },
    [CS_UNSCORED_NO_CONTIG] = { "NO_CONTIG", "the reference has no such contig" },
    [CS_UNSCORED_REF_MISMATCH] = { "REF_MISMATCH", "the reference has other bases there, which "
                                   "follow after a ':', or none" },
    [CS_UNSCORED_SYMBOLIC] = { "SYMBOLIC", "the allele spells no sequence: <DEL>, a breakend, *" },
    [CS_UNSCORED_AMBIGUOUS] = { "AMBIGUOUS", "an allele has letters other than A, C, G and T" },
    [CS_UNSCORED_SAME] = { "SAME", "ALT is REF" },
    [CS_UNSCORED_TOO_LONG] = { "TOO_LONG", "an allele takes more than half of the window" },
    [CS_UNSCORED_NEAR_END] = { "NEAR_END", "the window reaches beyond the contig" },
    [CS_UNSCORED_NO_EXON] = { "NO_EXON", "no exon of --exons is in the window, and the model reads "
                              "exons" },
};

const char *cs_unscored_name(cs_unscored u)
{
    return unscored[u].name;
}

const char *cs_unscored_help(cs_unscored u)
{
    return unscored[u].help;
}

cs_variant_windows *cs_variant_windows_new(cs_reference *ref, const cs_window_opt *opt)
{
    cs_variant_windows *w = cs_xcalloc(1, sizeof *w);

    w->ref = ref;
    w->o = *opt;
    return w;
}

void cs_variant_windows_free(cs_variant_windows *w)
{
    if (!w)
        return;
    cs_names_release(&w->circular_too);
    CS_FREE(w->contig, w->block, w->rotated, w);
}

int cs_variant_windows_check(const cs_window_opt *o, const cs_reference *ref)
{
    for (int i = 0; i < o->n_circular; i++)
        if (cs_reference_length(ref, o->circular[i]) < 0)
            return cs_fail(CS_EUSAGE, "--circular '%s' is not a contig of '%s'", o->circular[i],
                           cs_reference_path(ref));
    return CS_OK;
}

int cs_variant_windows_add_circular(cs_variant_windows *w, const char *contig)
{
    return cs_names_add(&w->circular_too, contig, 0);
}

bool cs_variant_windows_circular(const cs_variant_windows *w, const char *contig)
{
    char other[CS_CONTIG_BYTES];

    for (int i = 0; i < w->o.n_circular; i++)
        if (cs_contig_same(w->o.circular[i], contig))
            return true;
    return cs_names_find(&w->circular_too, contig) >= 0
        || cs_names_find(&w->circular_too, cs_contig_other(contig, other)) >= 0;
}

/* ---- the reference --------------------------------------------------------------------------- */

static int choose_contig(cs_variant_windows *w, const char *contig)
{
    if (w->contig && strcmp(w->contig, contig) == 0)
        return CS_OK;
    free(w->contig);
    free(w->block);
    w->block = NULL;
    w->contig = cs_xstrdup(contig);
    w->n_contig = cs_reference_length(w->ref, contig);
    w->circular = cs_variant_windows_circular(w, contig);
    return cs_reference_check(w->ref, contig);
}

/* Bases [from, to) of the contig, which has them; valid until the next call. */
static int span(cs_variant_windows *w, int64_t from, int64_t to, const char **out)
{
    int rc = CS_OK;

    if (!w->block || from < w->from || to > w->to) {
        const bool near = w->block && from < w->to + BLOCK && to > w->from - BLOCK;
        const int64_t n = near ? BLOCK : FIRST_BLOCK;
        free(w->block);
        w->block = NULL;
        w->from = from > n / 4 ? from - n / 4 : 0;
        w->to = from + n > to ? from + n : to;
        if (w->to > w->n_contig)
            w->to = w->n_contig;
        CS_TRY(cs_reference_fetch(w->ref, w->contig, w->from, w->to, &w->block));
    }
    *out = w->block + (from - w->from);
out:
    return rc;
}

/* The same for any range: wraps on a circular contig, N beyond the ends of a linear one. */
static int copy_span(cs_variant_windows *w, int64_t from, int64_t n, char *out)
{
    int rc = CS_OK;
    const int64_t len = w->n_contig;
    const char *s;

    while (n > 0) {
        int64_t at = w->circular ? (from % len + len) % len : from, k = n;
        if (at < 0 || at >= len) {
            k = at < 0 && -at < n ? -at : n;
            memset(out, 'N', (size_t)k);
        } else {
            k = len - at < n ? len - at : n;
            CS_TRY(span(w, at, at + k, &s));
            memcpy(out, s, (size_t)k);
        }
        from += k;
        out += k;
        n -= k;
    }
out:
    return rc;
}

/* ---- alleles --------------------------------------------------------------------------------- */

/* A variant at `pos`: the contig's allele and the other one. */
struct alleles {
    int64_t     pos;
    const char *here, *other;
    int64_t     n_here, n_other;
};

static bool same_base(char a, char b)
{
    return cs_base_upper[(unsigned char)a] == cs_base_upper[(unsigned char)b];
}

static bool only_bases(const char *s)
{
    for (; *s; s++)
        if (cs_base_code[(unsigned char)*s] > 3)
            return false;
    return true;
}

/* Does the contig's letter stand for this base, too? VCF has a base for every ambiguous letter of
 * the reference except N (version 4.3 of the format, section 1.6.1, REF). */
static bool code_includes(char letter, char base)
{
    static const char *const bases[] = { "RAG", "YCT", "SCG", "WAT", "KGT", "MAC", "BCGT", "DAGT",
                                         "HACT", "VACG" };

    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (*bases[i] == letter)
            return strchr(bases[i] + 1, cs_base_upper[(unsigned char)base]) != NULL;
    return same_base(letter, base);
}

static bool is_text_of(const char *contig, const char *allele, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!code_includes(contig[i], allele[i]))
            return false;
    return true;
}

/* Leaves out the bases that both alleles end with, then those that both begin with. */
static void drop_equal_ends(struct alleles *a)
{
    while (a->n_here > 0 && a->n_other > 0
           && same_base(a->here[a->n_here - 1], a->other[a->n_other - 1])) {
        a->n_here--;
        a->n_other--;
    }
    while (a->n_here > 0 && a->n_other > 0 && same_base(*a->here, *a->other)) {
        a->here++;
        a->other++;
        a->n_here--;
        a->n_other--;
        a->pos++;
    }
}

/* An insertion or deletion of s moves left while the base before it equals its last one, also
 * across the origin of a circular contig, at most once around; s then rotates by one. `rotated`
 * receives the inserted sequence. */
static int move_left(cs_variant_windows *w, struct alleles *a)
{
    int rc = CS_OK;
    const int64_t n = a->n_here + a->n_other;
    const char *s = a->n_here > 0 ? a->here : a->other, *before;
    int64_t k = 0;

    if (a->n_here > 0 && a->n_other > 0)
        return CS_OK;
    for (; w->circular ? k < w->n_contig : a->pos > 0; k++) {
        const int64_t to = a->pos > 0 ? a->pos : w->n_contig;
        CS_TRY(span(w, to - 1, to, &before));
        if (!same_base(*before, s[n - 1 - k % n]))
            break;
        a->pos = to - 1;
    }
    CS_TRY(cs_grow((void **)&w->rotated, &w->cap_rotated, (size_t)n, 1));
    for (int64_t i = 0; i < n; i++)
        w->rotated[i] = s[(i + n - k % n) % n];
    a->here = a->other = w->rotated;     /* one of them is empty */
out:
    return rc;
}

/* Which allele does the contig have? A shorter ALT occurs at many positions, so it is no
 * evidence. */
static int match_contig(cs_variant_windows *w, const cs_window_allele *v, cs_window_pair *out)
{
    int rc = CS_OK;
    const int64_t n_ref = (int64_t)strlen(v->ref), n_alt = (int64_t)strlen(v->alt);
    const int64_t left = w->n_contig - v->pos;
    const char *s;

    if (left <= 0 || v->pos < 0) {
        out->why = CS_UNSCORED_REF_MISMATCH;
        return CS_OK;
    }
    CS_TRY(span(w, v->pos, v->pos + (n_ref < left ? n_ref : left), &s));
    if (n_ref <= left && is_text_of(s, v->ref, n_ref))
        return CS_OK;
    const int64_t shown = left < n_ref ? left : n_ref;
    (void)snprintf(out->found, sizeof out->found, "%.*s%s",
                   (int)(shown < CS_FOUND_BASES ? shown : CS_FOUND_BASES), s,
                   shown > CS_FOUND_BASES ? "..." : "");
    out->why = CS_UNSCORED_REF_MISMATCH;
    if (n_alt < n_ref || n_alt > left)
        return CS_OK;
    CS_TRY(span(w, v->pos, v->pos + n_alt, &s));
    if (is_text_of(s, v->alt, n_alt)) {
        out->why = CS_SCORED;
        out->found[0] = '\0';
        out->swapped = true;
    }
out:
    return rc;
}

/* ---- windows --------------------------------------------------------------------------------- */

static bool reaches_out(const cs_variant_windows *w, const struct alleles *a, int64_t left)
{
    const int64_t min = a->n_here < a->n_other ? a->n_here : a->n_other;
    const int64_t end = a->pos + a->n_here + w->o.n_base - left - min;

    if (w->circular)
        return w->o.n_base + a->n_here > w->n_contig;
    return !w->o.fill && (a->pos < left || end > w->n_contig);
}

static int window_fill(cs_variant_windows *w, const struct alleles *a, int64_t left, bool other,
                       char *out)
{
    int rc = CS_OK;
    const int64_t n = other ? a->n_other : a->n_here, right = w->o.n_base - left - n;

    CS_TRY(copy_span(w, a->pos - left, left, out));
    for (int64_t i = 0; i < n; i++)
        out[left + i] = cs_base_upper[(unsigned char)(other ? a->other : a->here)[i]];
    rc = copy_span(w, a->pos + a->n_here, right, out + left + n);
out:
    return rc;
}

int cs_variant_windows_make(cs_variant_windows *w, const cs_window_allele *v, char *ref_seq,
                            char *alt_seq, cs_window_pair *out)
{
    int rc = CS_OK;

    *out = (cs_window_pair){ .why = CS_SCORED };
    CS_TRY(choose_contig(w, v->contig));
    if (!cs_allele_is_sequence(v->alt) || !cs_allele_is_sequence(v->ref))
        out->why = CS_UNSCORED_SYMBOLIC;
    else if (w->n_contig < 0)
        out->why = CS_UNSCORED_NO_CONTIG;
    else if (!only_bases(v->alt) || !only_bases(v->ref))
        out->why = CS_UNSCORED_AMBIGUOUS;
    else
        CS_TRY(match_contig(w, v, out));
    if (out->why)
        return CS_OK;
    struct alleles a = { v->pos, v->ref, v->alt, (int64_t)strlen(v->ref),
                         (int64_t)strlen(v->alt) };
    if (out->swapped)
        a = (struct alleles){ v->pos, v->alt, v->ref, a.n_other, a.n_here };
    drop_equal_ends(&a);
    const int64_t max = a.n_here > a.n_other ? a.n_here : a.n_other;
    if (max == 0)
        out->why = CS_UNSCORED_SAME;
    else if (max > w->o.n_base / 2)
        out->why = CS_UNSCORED_TOO_LONG;
    if (out->why)
        return CS_OK;
    CS_TRY(move_left(w, &a));
    const int64_t left = (w->o.n_base - max) / 2;
    if (reaches_out(w, &a, left)) {
        out->why = CS_UNSCORED_NEAR_END;
        return CS_OK;
    }
    out->at = left;
    out->pos = a.pos;
    out->circle = w->circular ? w->n_contig : 0;
    out->n_ref = out->swapped ? a.n_other : a.n_here;
    out->n_alt = out->swapped ? a.n_here : a.n_other;
    CS_TRY(window_fill(w, &a, left, out->swapped, ref_seq));
    rc = window_fill(w, &a, left, !out->swapped, alt_seq);
out:
    return rc;
}

static bool is_within(int64_t at, int64_t from, int64_t to, int64_t circle)
{
    if (circle > 0)
        at = from + ((at - from) % circle + circle) % circle;
    return at >= from && at < to;
}

/* One window, whose allele has n bases in place of n_here of the contig. */
static void mark(const cs_window_pair *v, int64_t n_here, int64_t n, int64_t from, int64_t to,
                 int64_t n_base, char *seq)
{
    const int64_t last = n_here > 0 ? n_here - 1 : 0;

    for (int64_t i = 0; i < n_base; i++) {
        const int64_t k = i - v->at;
        const int64_t at = v->pos + (k < 0 ? k : k >= n ? k - n + n_here : k < last ? k : last);
        if (!is_within(at, from, to, v->circle))
            seq[i] = (char)(seq[i] | 0x20);
    }
}

void cs_variant_windows_mark(const cs_window_pair *v, int64_t from, int64_t to, int64_t n_base,
                             char *ref_seq, char *alt_seq)
{
    const int64_t n_here = v->swapped ? v->n_alt : v->n_ref;

    mark(v, n_here, v->n_ref, from, to, n_base, ref_seq);
    mark(v, n_here, v->n_alt, from, to, n_base, alt_seq);
}
