/* genome.c - contigs of several files, split into training and held-out parts. */
#include "train/genome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/names.h"
#include "io/regions.h"

/* A share of the genome is held out in about this many blocks, of at most this many windows: many
 * small blocks are more representative, but each truncates windows at its ends. */
enum { BLOCKS = 256, BLOCK_WINDOWS = 64 };

/* The contigs of one file, FASTA or diplotype text. */
static int add_contigs(cs_genome *g, cs_reference *r, cs_diplotype_file *s)
{
    const int n = r ? cs_reference_count(r) : cs_diplotype_file_count(s);

    if (cs_grow((void **)&g->contig, &g->cap, (size_t)g->n + (size_t)n, sizeof *g->contig) != CS_OK)
        return CS_EMEM;
    for (int i = 0; i < n; i++) {
        const char *name = r ? cs_reference_name(r, i) : cs_diplotype_file_name(s, i);
        const int64_t n_base = r ? cs_reference_length(r, name) : cs_diplotype_file_length(s, i);
        g->contig[g->n++] = (cs_contig){ r, s, i, name, n_base };
    }
    return CS_OK;
}

static int check_file(const char *path)
{
    if (strcmp(path, "-") != 0 && access(path, R_OK) != 0)
        return cs_fail(CS_EIO, "cannot open '%s': %s", path, strerror(errno));
    if (cs_file_size(path) >= 0)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "'%s' is not a regular file; genome windows need random access",
                   path);
}

static int genome_open_file(cs_genome *g, const char *path, cs_alphabet alphabet)
{
    int rc = CS_OK;
    cs_reference *r = NULL;
    cs_diplotype_file *s = NULL;

    CS_TRY(check_file(path));
    if (!cs_diplotype_file_detect(path)) {
        CS_TRY(cs_reference_open(path, &r));
        if (alphabet == CS_CASED)
            cs_reference_keep_case(r);
        g->file[g->n_file++] = r;
    } else if (alphabet != CS_DIPLOTYPES) {
        return cs_fail(CS_EFORMAT, "'%s' holds diplotypes; expected nucleotides", path);
    } else {
        CS_TRY(cs_diplotype_file_open(path, &s));
        g->sites[g->n_sites++] = s;
    }
    rc = add_contigs(g, r, s);
out:
    return rc;
}

int cs_genome_open(const cs_strlist *path, cs_alphabet alphabet, cs_genome *g)
{
    int rc = CS_OK;
    const size_t n = (size_t)path->n + 1;

    *g = (cs_genome){ .file = cs_xcalloc(n, sizeof *g->file),
                      .sites = cs_xcalloc(n, sizeof *g->sites) };
    for (int i = 0; i < path->n; i++)
        CS_TRY(genome_open_file(g, path->v[i], alphabet));
    if (g->n == 0)
        rc = cs_fail(CS_EFORMAT, "the input has no sequence to train on");
out:
    return rc;
}

void cs_genome_release(cs_genome *g)
{
    for (int i = 0; i < g->n_file; i++)
        cs_reference_free(g->file[i]);
    for (int i = 0; i < g->n_sites; i++)
        cs_diplotype_file_free(g->sites[i]);
    CS_FREE(g->file, g->sites, g->contig);
    *g = (cs_genome){ 0 };
}

int cs_genome_fetch(void *genome, int32_t no, int64_t from, int64_t to, char *out)
{
    const cs_contig *c = &((const cs_genome *)genome)->contig[no];
    char *bases = NULL;

    if (c->sites)
        return cs_diplotype_file_fetch(c->sites, c->no, from, to, out);
    const int rc = cs_reference_fetch(c->file, c->name, from, to, &bases);
    if (rc == CS_OK)
        memcpy(out, bases, (size_t)(to - from));
    free(bases);
    return rc;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* An option's list of names: text is its copy with NULs for commas, and met tells whether a contig
 * has the name that begins at a byte of it. */
struct list { char *text; bool *met; cs_names by_name; };

static void list_release(struct list *l)
{
    CS_FREE(l->text, l->met);
    cs_names_release(&l->by_name);
}

/* Split at commas; NULL is an empty list. */
static int list_open(const char *names, struct list *l)
{
    int rc = CS_OK;

    if (names == NULL)
        return CS_OK;
    l->text = cs_xstrdup(names);
    l->met = cs_xcalloc(strlen(names) + 1, sizeof *l->met);
    for (char *p = l->text, *comma; *p != '\0'; p = comma) {
        comma = p + strcspn(p, ",");
        if (*comma == ',')
            *comma++ = '\0';
        CS_TRY(cs_names_add(&l->by_name, p, p - l->text));
    }
out:
    return rc;
}

/* Does the list have the contig's name, or its part before a ':'? */
static bool listed(const struct list *l, const char *contig)
{
    bool found = false;

    if (l->by_name.n == 0)
        return false;
    char *name = cs_xstrdup(contig);
    for (char *end = name + strlen(name); end != NULL; end = strrchr(name, ':')) {
        *end = '\0';
        const int64_t at = cs_names_find(&l->by_name, name);
        if (at >= 0)
            found = l->met[at] = true;
    }
    free(name);
    return found;
}

/* Every name of a list must be one. */
static int check_list(const cs_genome *g, const char *names, const struct list *l,
                      const char *option)
{
    for (int32_t i = 0; i < g->n && l->by_name.n > 0; i++)
        (void)listed(l, g->contig[i].name);
    for (const char *p = names; p != NULL && *p != '\0'; p += strcspn(p, ","), p += *p == ',') {
        const char *name = l->text + (p - names);
        if (!l->met[cs_names_find(&l->by_name, name)])
            return cs_fail(CS_EUSAGE, "%s '%s': the input has no such contig", option, name);
    }
    return CS_OK;
}

/* ---- regions --------------------------------------------------------------------------------- */

struct regions { cs_interval *v; size_t n, cap; };

/* Contigs by name, and those names that several have. */
struct contigs { cs_names first, again; };

static void contigs_release(struct contigs *c)
{
    cs_names_release(&c->first);
    cs_names_release(&c->again);
}

static int contigs_open(const cs_genome *g, struct contigs *c)
{
    int rc = CS_OK;

    for (int32_t i = 0; i < g->n; i++) {
        const char *name = g->contig[i].name;
        const bool again = cs_names_find(&c->first, name) >= 0;
        CS_TRY(cs_names_add(again ? &c->again : &c->first, name, i));
    }
out:
    return rc;
}

static int find_contig(const cs_genome *g, const struct contigs *c, const char *bed,
                       const cs_region *r, int32_t *no)
{
    *no = (int32_t)cs_names_find(&c->first, r->contig);
    if (*no < 0)
        return cs_fail(CS_EFORMAT, "'%s': the input has no contig '%s'", bed, r->contig);
    if (cs_names_find(&c->again, r->contig) >= 0)
        return cs_fail(CS_EFORMAT, "'%s': the input has several contigs '%s'; hold out whole "
                       "contigs with --val-contigs", bed, r->contig);
    if (r->to > g->contig[*no].n_base)
        return cs_fail(CS_EFORMAT, "'%s': '%s' ends at %lld, before %lld", bed, r->contig,
                       (long long)g->contig[*no].n_base, (long long)r->to);
    return CS_OK;
}

static int by_place(const void *pa, const void *pb)
{
    const cs_interval *a = pa, *b = pb;

    if (a->contig != b->contig)
        return a->contig < b->contig ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Sorted by contig and position. */
static int read_regions(const cs_genome *g, const char *bed, struct regions *to)
{
    int rc = CS_OK;
    cs_regions *in = NULL;
    cs_region r;
    cs_interval s = { .contig = -1 };
    struct contigs contigs = { .first = { .n = 0 } };

    if (bed == NULL)
        return CS_OK;
    CS_TRY(contigs_open(g, &contigs));
    CS_TRY(cs_regions_open(NULL, 0, bed, &in));
    while ((rc = cs_regions_next(in, NULL, &r)) == CS_OK) {
        CS_TRY(find_contig(g, &contigs, bed, &r, &s.contig));
        s.from = r.from;
        s.to = r.to;
        CS_TRY(cs_grow((void **)&to->v, &to->cap, to->n + 1, sizeof *to->v));
        to->v[to->n++] = s;
    }
    CS_TRY(cs_regions_end(in, rc));
    if (to->n > 0)
        qsort(to->v, to->n, sizeof *to->v, by_place);
out:
    cs_regions_free(in);
    contigs_release(&contigs);
    return rc;
}

/* A contig's regions go to valid, the gaps to train; *next is the first region that may be of this
 * contig. */
static int share_by_regions(const struct regions *r, size_t *next, int32_t no, int64_t n_base,
                            cs_corpus *train, cs_corpus *valid)
{
    int rc = CS_OK;
    int64_t at = 0;

    for (; *next < r->n && r->v[*next].contig == no; ++*next) {
        const cs_interval *s = &r->v[*next];
        const int64_t from = s->from > at ? s->from : at;     /* regions may overlap */
        if (from > at)
            CS_TRY(cs_corpus_add(train, no, at, from));
        if (s->to > from)
            CS_TRY(cs_corpus_add(valid, no, from, s->to));
        at = s->to > at ? s->to : at;
    }
    if (at < n_base)
        rc = cs_corpus_add(train, no, at, n_base);
out:
    return rc;
}

/* ---- sharing --------------------------------------------------------------------------------- */

static int64_t block_bases(const cs_genome *g, int64_t window)
{
    int64_t n = 0;

    for (int32_t i = 0; i < g->n; i++)
        n += g->contig[i].n_base;
    n /= BLOCKS;
    if (n > BLOCK_WINDOWS * window)
        return BLOCK_WINDOWS * window;
    return n > window ? n : window;
}

int cs_genome_share(const cs_genome *g, const cs_genome_split *split, cs_corpus *train,
                    cs_corpus *valid)
{
    int rc = CS_OK;
    struct regions r = { 0 };
    struct list valid_list = { .text = NULL }, skip_list = { .text = NULL };
    size_t next = 0;
    const bool named = split->valid != NULL || split->valid_bed != NULL;
    const int64_t block = block_bases(g, train->window);

    CS_TRY(list_open(split->valid, &valid_list));
    CS_TRY(list_open(split->skip, &skip_list));
    CS_TRY(check_list(g, split->valid, &valid_list, "--val-contigs"));
    CS_TRY(check_list(g, split->skip, &skip_list, "--skip-contigs"));
    CS_TRY(read_regions(g, split->valid_bed, &r));
    for (int32_t i = 0; i < g->n; i++) {
        const cs_contig *c = &g->contig[i];
        while (next < r.n && r.v[next].contig < i)
            next++;
        if (c->n_base == 0 || listed(&skip_list, c->name))
            continue;
        if (listed(&valid_list, c->name))
            rc = cs_corpus_add(valid, i, 0, c->n_base);
        else if (named)
            rc = share_by_regions(&r, &next, i, c->n_base, train, valid);
        else
            rc = cs_corpus_split(train, valid, c->name, (cs_interval){ i, 0, c->n_base, 0 }, block,
                                 split->valid_frac);
        if (rc != CS_OK)
            goto out;
    }
out:
    list_release(&valid_list);
    list_release(&skip_list);
    free(r.v);
    return rc;
}
