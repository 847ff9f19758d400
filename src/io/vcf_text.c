/* vcf_text.c - validate a VCF text line and parse its INFO column. */
#include "io/vcf_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { CHROM, POS, ID, REF, ALT, QUAL, FILTER, INFO, N_FIXED };

#define BASES "ACGTNacgtnRYSWKMBDHVryswkmbdhv"

struct text { const char *s; size_t n; };

const char *cs_vcf_column(const char *line, size_t n_line, int i, size_t *n)
{
    const char *end = line + n_line, *s = line;

    for (; s && i > 0; i--) {
        s = memchr(s, '\t', (size_t)(end - s));
        s = s ? s + 1 : NULL;
    }
    if (!s)
        return NULL;
    const char *tab = memchr(s, '\t', (size_t)(end - s));
    *n = (size_t)((tab ? tab : end) - s);
    return s;
}

static bool all_of(struct text t, const char *letters)
{
    for (size_t i = 0; i < t.n; i++)
        if (!strchr(letters, t.s[i]) || t.s[i] == '\0')
            return false;
    return t.n > 0;
}

static bool is_missing(struct text t)
{
    return t.n == 1 && t.s[0] == '.';
}

/* Forms of printf("%g"), and the specification's words for non-finite values; neither hexadecimal
 * nor "nan(1)", which strtod takes, too. */
static bool is_number(struct text t)
{
    char buf[64], *end;

    if (t.n == 0 || t.n >= sizeof buf || isspace((unsigned char)t.s[0]))
        return false;
    memcpy(buf, t.s, t.n);
    buf[t.n] = '\0';
    (void)strtod(buf, &end);
    return *end == '\0' && buf[strcspn(buf, "xX(")] == '\0';
}

static bool has_blank(struct text t)
{
    for (size_t i = 0; i < t.n; i++)
        if (isspace((unsigned char)t.s[i]) || iscntrl((unsigned char)t.s[i]))
            return true;
    return t.n == 0;
}

/* One alternative allele: bases, '*', a symbol, a breakend, or bases and an inserted contig of the
 * assembly file: C<ctg1>. */
static bool alt_sound(struct text t)
{
    const char *symbol = memchr(t.s, '<', t.n);

    if (symbol && t.n > 1 && t.s[t.n - 1] == '>')
        return symbol == t.s || all_of((struct text){ t.s, (size_t)(symbol - t.s) }, BASES);
    if (memchr(t.s, '[', t.n) || memchr(t.s, ']', t.n))
        return !has_blank(t);
    if (t.n > 1 && (t.s[0] == '.' || t.s[t.n - 1] == '.'))      /* a single breakend */
        return true;
    return (t.n == 1 && t.s[0] == '*') || all_of(t, BASES);
}

static bool alts_sound(struct text t)
{
    const char *s = t.s, *end = t.s + t.n;

    if (is_missing(t))
        return true;
    for (;;) {
        const char *comma = memchr(s, ',', (size_t)(end - s));
        const struct text one = { s, (size_t)((comma ? comma : end) - s) };
        if (!alt_sound(one))
            return false;
        if (!comma)
            return true;
        s = comma + 1;
    }
}

static bool column_sound(int i, struct text t)
{
    switch (i) {
    case POS:
        return all_of(t, "0123456789") && t.n < 19;
    case REF:
        return all_of(t, BASES);
    case ALT:
        return alts_sound(t);
    case QUAL:
        return is_missing(t) || is_number(t);
    case ID:
    case INFO:
        return t.n > 0;          /* blanks in them are invalid, but common */
    default:
        return !has_blank(t);
    }
}

int cs_vcf_n_column(const char *line, size_t n)
{
    int columns = 1;

    for (size_t i = 0; i < n; i++)
        columns += line[i] == '\t';
    return columns;
}

bool cs_vcf_line_is_valid(const char *line, size_t n, int n_column, char *why, size_t n_why)
{
    static const char *const name[] = { "CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER",
                                        "INFO" };
    const int columns = cs_vcf_n_column(line, n);

    if (columns != n_column) {
        (void)snprintf(why, n_why, "has %d columns, the header %d", columns, n_column);
        return false;
    }
    for (int i = 0; i < N_FIXED; i++) {
        struct text t = { NULL, 0 };
        t.s = cs_vcf_column(line, n, i, &t.n);
        if (!column_sound(i, t)) {
            (void)snprintf(why, n_why, "has '%.*s' in column %s", (int)(t.n < 40 ? t.n : 40), t.s,
                           name[i]);
            return false;
        }
    }
    return true;
}

void cs_vcf_place(const char *line, size_t n_line, char place[CS_VCF_PLACE_BYTES])
{
    struct text contig = { NULL, 0 }, pos = { NULL, 0 };

    contig.s = cs_vcf_column(line, n_line, CHROM, &contig.n);
    pos.s = cs_vcf_column(line, n_line, POS, &pos.n);
    const bool whole = pos.s && pos.s + pos.n < line + n_line;
    *place = '\0';
    if (whole && !has_blank(contig) && column_sound(POS, pos)
        && contig.n + pos.n + sizeof " (:)" <= CS_VCF_PLACE_BYTES)
        (void)snprintf(place, CS_VCF_PLACE_BYTES, " (%.*s:%.*s)", (int)contig.n, contig.s,
                       (int)pos.n, pos.s);
}

const char *cs_vcf_info_find(const char *line, size_t n_line, const char *key, size_t *n)
{
    size_t n_info;
    const char *s = cs_vcf_column(line, n_line, INFO, &n_info), *end = s ? s + n_info : NULL;
    const size_t n_key = strlen(key);

    while (s && s < end) {
        const char *stop = memchr(s, ';', (size_t)(end - s));
        const size_t len = (size_t)((stop ? stop : end) - s);
        if (len > n_key && s[n_key] == '=' && memcmp(s, key, n_key) == 0) {
            *n = len - n_key - 1;
            return s + n_key + 1;
        }
        s = stop ? stop + 1 : NULL;
    }
    return NULL;
}

bool cs_vcf_has_first_phase(const char *s, size_t n)
{
    if (n < 4 || memcmp(s + 1, "GT", 2) != 0)
        return false;
    for (size_t i = 3; i + 1 < n; i++)
        if ((s[i] == '\t' || s[i] == '\0') && (s[i + 1] == '/' || s[i + 1] == '|'))
            return true;
    return false;
}

/* Does one of the lines begin a declaration of VCF, or name its columns? The last may be cut. */
static bool declares(const char *text, size_t n)
{
    static const char *const head[] = { "##INFO=<", "##FORMAT=<", "##FILTER=<", "##ALT=<",
                                        "##contig=<", "#CHROM\tPOS\t" };
    const char *end = text + n;

    for (const char *s = text; s && s < end && *s == '#';) {
        for (size_t i = 0; i < sizeof head / sizeof *head; i++)
            if ((size_t)(end - s) >= strlen(head[i]) && strncmp(s, head[i], strlen(head[i])) == 0)
                return true;
        s = memchr(s, '\n', (size_t)(end - s));
        s = s ? s + 1 : NULL;
    }
    return false;
}

const char *cs_vcf_lacks(const char *text, size_t n)
{
    char why[128];
    const char *stop = memchr(text, '\n', n);
    const size_t n_line = stop ? (size_t)(stop - text) : n;
    const int n_column = cs_vcf_n_column(text, n_line);

    if (declares(text, n))
        return "its header does not start with ##fileformat=VCF; insert ##fileformat=VCFv4.2 as "
               "its first line";
    if (n_column >= N_FIXED && cs_vcf_line_is_valid(text, n_line, n_column, why, sizeof why))
        return "its records have no header; put that of the original file before them (bcftools "
               "view -h)";
    return NULL;
}
