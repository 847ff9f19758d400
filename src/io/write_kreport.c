/* write_kreport.c - write Kraken 2's report: a line per taxon with the counts of its clade.
 *
 * Columns: percentage of the clade, records in the clade, records of the taxon itself, rank code,
 * taxid, name indented by two blanks per level.
 * Source: Kraken 2, src/reports.cc (KrakenReportDFS) and manual, "Sample Report Output Format". We
 * differ three times: equal counts are ordered by taxid, where Kraken 2 leaves the order open; the
 * lines of unclassified records and of root are written even if they are 0, as parsers expect both;
 * and a class with no lettered rank at or above it has the code D, unless it contains domains,
 * because KrakenTools (kreport2krona.py, kreport2mpa.py) skip codes with a number, such as R1 of
 * Viruses and R2 of plasmids.
 */
#include <stdlib.h>
#include <string.h>

#include "io/class_counts.h"

struct report {
    cs_outfile        *f;
    const cs_taxonomy *tree;
    const cs_class_counts *counts;
};

/* The rank's letter, else that of the nearest lettered ancestor and the distance to it. */
struct code { char letter; int below; };

static struct code code_of(const char *rank, struct code up)
{
    static const struct { const char *rank; char letter; } known[] = {
        { "superkingdom", 'D' }, { "domain", 'D' }, { "kingdom", 'K' }, { "phylum", 'P' },
        { "class", 'C' }, { "order", 'O' }, { "family", 'F' }, { "genus", 'G' }, { "species", 'S' },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(rank, known[i].rank) == 0)
            return (struct code){ known[i].letter, 0 };
    return (struct code){ up.letter, up.below + 1 };
}

/* Is there a domain below taxon i? Descendants follow it in the tree's order. */
static bool holds_domain(const cs_taxonomy *tree, int32_t i)
{
    for (int32_t k = i + 1; k < tree->n && tree->node[k].parent >= i; k++)
        if (code_of(tree->node[k].rank, (struct code){ 'R', 0 }).letter == 'D')
            return true;
    return false;
}

static struct code code_in(const cs_taxonomy *tree, int32_t i, struct code up)
{
    const struct code code = code_of(tree->node[i].rank, up);
    const bool top = code.letter == 'R' && tree->node[i].class_no >= 0 && !holds_domain(tree, i);

    return top ? (struct code){ 'D', 0 } : code;
}

static int line(const struct report *r, cs_count clade, cs_count direct, const char *code,
                int64_t taxid, int level, const char *name)
{
    const uint64_t all = r->counts->all.n_record;
    const double share = all ? 100.0 * (double)clade.n_record / (double)all : 0;

    return cs_outfile_printf(r->f, "%6.2f\t%llu\t%llu\t%s\t%lld\t%*s%s\n", share,
                             (unsigned long long)clade.n_record,
                             (unsigned long long)direct.n_record, code, (long long)taxid,
                             2 * level, "", name);
}

struct child { uint64_t n; int64_t taxid; int32_t node; };

static int by_count(const void *a, const void *b)
{
    const struct child *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return x->taxid < y->taxid ? -1 : x->taxid > y->taxid;
}

static int clade(const struct report *r, int32_t i, struct code up, int level);

static int children(const struct report *r, int32_t i, struct code code, int level)
{
    int rc = CS_OK;
    const cs_taxonomy *tree = r->tree;
    int32_t n = 0;
    struct child *c;

    for (int32_t k = i + 1; k < tree->n; k++)
        n += tree->node[k].parent == i && r->counts->clade[k].n_record > 0;
    if (n == 0)
        return CS_OK;
    c = cs_alloc((size_t)n, sizeof *c);
    if (!c)
        return cs_fail(CS_EMEM, "out of memory for a report of %d taxa", (int)tree->n);
    n = 0;
    for (int32_t k = i + 1; k < tree->n; k++)
        if (tree->node[k].parent == i && r->counts->clade[k].n_record > 0)
            c[n++] = (struct child){ r->counts->clade[k].n_record, tree->node[k].taxid, k };
    qsort(c, (size_t)n, sizeof *c, by_count);
    for (int32_t k = 0; k < n; k++)
        CS_TRY(clade(r, c[k].node, code, level + 1));
out:
    free(c);
    return rc;
}

static int clade(const struct report *r, int32_t i, struct code up, int level)
{
    int rc = CS_OK;
    static const struct code root = { 'R', 0 };
    const cs_taxon *v = &r->tree->node[i];
    const struct code code = i == 0 ? root : code_in(r->tree, i, up);
    char text[16];

    if (code.below)
        (void)snprintf(text, sizeof text, "%c%d", code.letter, code.below);
    else
        (void)snprintf(text, sizeof text, "%c", code.letter);
    CS_TRY(line(r, r->counts->clade[i], r->counts->direct[i], text, v->taxid, level,
                i == 0 ? "root" : v->name));
    CS_TRY(children(r, i, code, level));
out:
    return rc;
}

static int kreport_end(cs_output *o)
{
    int rc = CS_OK;
    const struct report r = { o->file, o->info.taxonomy, o->state };
    const struct code above_root = { 'R', -1 };

    cs_class_counts_sum(o->state, r.tree);
    CS_TRY(line(&r, r.counts->unclassified, r.counts->unclassified, "U", 0, 0, "unclassified"));
    CS_TRY(clade(&r, 0, above_root, 0));
out:
    return rc;
}

static const cs_opt kreport_opt[] = {
    { .type = CS_OPT_OUT, .name = "report", .arg = "FILE",
      .help = "Kraken 2's report format, a line per taxon",
      .man = "The unclassified line and the root line are always present, even if they are 0. "
             "KrakenTools and Pavian include only ranks with a letter; a class without such a "
             "rank, its own or an ancestor's, has the rank code D, unless domains are below it." },
    { .type = CS_OPT_END }
};

const cs_writer cs_write_kreport = {
    .name = "kreport",
    .opt = kreport_opt,
    .cfg_size = sizeof(const char *),
    .kind = CS_OUT_REPORT,
    .end = kreport_end,
    .for_classes = true,
    CS_CLASS_COUNTS_WRITER,
};
