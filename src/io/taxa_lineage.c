/* taxa_lineage.c - lineage labels as text, and taxa from them.
 *
 * "Bacteria;Bacillota;Bacilli" with ranks from a list, or "d__Bacteria; p__Bacillota; g__" with
 * ranks from its letters (Greengenes, SILVA, GTDB). Entries for "unknown" in either form end a
 * lineage; an empty part between others has no taxon.
 */
#include "io/taxa_lineage.h"

#include <string.h>

#include "io/taxa_rows.h"
#include "io/taxonomy.h"

static const char prefixed[] = "prefixed";

static const char *const rank_name[] = { "domain", "kingdom", "phylum", "class", "order",
                                          "family", "genus", "species" };

/* The rank of a letter before "__", or NULL. */
static const char *rank_of_letter(const char *part)
{
    static const char *const letters = "dkpcofgs";
    const char *at = *part ? strchr(letters, *part) : NULL;

    return at && part[1] == '_' && part[2] == '_' ? rank_name[at - letters] : NULL;
}

static const char *without_letter(const char *part)
{
    return rank_of_letter(part) ? part + 3 : part;
}

static bool names_nothing(const char *part)
{
    const char *s = without_letter(part);

    return !*s || strcmp(s, "unclassified") == 0 || strcmp(s, "unidentified") == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

void cs_lineage_tidy(char *s, int n_rank)
{
    char *to = s, *end = s;      /* end: after the last part with a name */
    int n = 0;

    for (const char *p = s; p && (n_rank == 0 || n < n_rank); n++) {
        const char *semi = strchr(p, ';'), *last = semi ? semi : p + strlen(p);
        while (is_blank(*p))
            p++;
        while (last > p && is_blank(last[-1]))
            last--;
        if (n > 0)
            *to++ = ';';
        char *part = to;
        memmove(to, p, (size_t)(last - p));
        to += last - p;
        const char kept = *to;   /* part of the rest */
        *to = '\0';
        if (!names_nothing(part))
            end = to;
        if (semi)
            *to = kept;
        p = semi ? semi + 1 : NULL;
    }
    *end = '\0';
}

/* Start of the next part, or NULL. */
static const char *next_part(const char *part)
{
    const char *semi = strchr(part, ';');

    return semi ? semi + 1 : NULL;
}

bool cs_lineage_cut_parts(char *s, int n)
{
    for (int i = 1; i < n && s; i++)
        s = (char *)(uintptr_t)next_part(s);
    if (!s || !*s)
        return false;
    s[strcspn(s, ";")] = '\0';
    return true;
}

/* The position of a rank in a list, from 1 on; 0: missing. */
static int place_of(const char *ranks, const char *rank)
{
    const size_t n = strlen(rank);
    int i = 1;

    for (const char *s = ranks; s; i++) {
        if (strncmp(s, rank, n) == 0 && (s[n] == ',' || s[n] == '\0'))
            return i;
        s = strchr(s, ',');
        s = s ? s + 1 : NULL;
    }
    return 0;
}

bool cs_lineage_has_rank(const char *ranks, const char *rank)
{
    if (cs_lineage_ranks(ranks) > 0)
        return place_of(ranks, rank) > 0;
    for (size_t i = 0; i < sizeof rank_name / sizeof *rank_name; i++)
        if (strcmp(rank_name[i], rank) == 0)
            return true;
    return false;
}

bool cs_lineage_cut(char *s, const char *ranks, const char *rank)
{
    if (cs_lineage_ranks(ranks) > 0)
        return cs_lineage_cut_parts(s, place_of(ranks, rank));
    int n = 1;
    for (const char *p = s; p; p = next_part(p), n++) {
        p += strspn(p, " \t");
        const char *own = rank_of_letter(p);
        if (own && strcmp(own, rank) == 0)
            return cs_lineage_cut_parts(s, n);
    }
    return false;
}

int cs_lineage_ranks(const char *ranks)
{
    int n = 1;

    if (strcmp(ranks, prefixed) == 0)
        return 0;
    while ((ranks = strchr(ranks, ',')) != NULL) {
        ranks++;
        n++;
    }
    return n;
}

/* Entry i of the list of ranks, in `text`; NULL: out of memory. */
static const char *rank_at(cs_arena *text, const char *ranks, int i)
{
    for (; i > 0 && ranks; i--) {
        ranks = strchr(ranks, ',');
        ranks += ranks != NULL;
    }
    return cs_arena_dup(text, ranks ? ranks : "", ranks ? strcspn(ranks, ",") : 0);
}

/* A part of a lineage: its bytes [at, end), its place in the list of ranks. */
struct part { size_t at, end; int place; };

/* The taxon of a lineage down to a part; above: the taxon of the parts before, or NULL. */
static int add_taxon(cs_taxa_rows *r, const char *lineage, struct part p, const char *above,
                     const char *ranks, const char **out)
{
    const char *name = cs_arena_dup(r->text, lineage, p.end);

    if (!name)
        return cs_fail(CS_EMEM, "out of memory for the lineages");
    const int64_t old = cs_names_find(&r->by_name, name);
    *out = old >= 0 ? r->row[old].name : name;
    if (old >= 0)
        return CS_OK;
    const char *part = name + p.at;
    const bool letters = cs_lineage_ranks(ranks) == 0;
    const char *rank = letters ? rank_of_letter(part) : rank_at(r->text, ranks, p.place);
    if (!letters && !rank)
        return cs_fail(CS_EMEM, "out of memory for the lineages");
    const char *title = letters && !names_nothing(part) ? without_letter(part) : part;
    return cs_taxa_rows_add(r, &(cs_taxa_row){ .name = name, .title = title, .rank = rank,
                                               .parent = above });
}

/* Has a taxon of these a rank, so that they may be prefixed? */
static bool has_rank(const cs_taxa_rows *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->row[i].rank)
            return true;
    return false;
}

int cs_taxa_read_lineages(const char *const *class_name, int32_t n, const char *ranks,
                          cs_taxa_rows *r)
{
    int rc = CS_OK;
    const int n_rank = cs_lineage_ranks(ranks);

    for (int32_t c = 0; c < n; c++) {
        const char *s = class_name[c], *above = NULL;
        int i = 0;
        for (size_t at = 0; s[at]; i++) {
            const size_t end = at + strcspn(s + at, ";");
            if (n_rank > 0 && i == n_rank)
                return cs_fail(CS_EUSAGE, "'%.60s' has more parts than the %d ranks of "
                               "--lineage; name a rank for each part", s, n_rank);
            if (end > at)        /* else nothing names a taxon of this rank */
                CS_TRY(add_taxon(r, s, (struct part){ at, end, i }, above, ranks, &above));
            at = s[end] ? end + 1 : end;
        }
    }
    if (n_rank == 0 && r->n > 0 && !has_rank(r))
        return cs_fail(CS_EUSAGE, "no label has a rank prefix such as 'd__', for --lineage %s; the "
                       "first is '%.60s'; name the ranks instead, such as --lineage family,genus",
                       ranks, class_name[0]);
out:
    return rc;
}
