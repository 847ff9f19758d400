/* taxa.c - options and tables that connect a model's labels with a taxonomy. */
#include "infer/taxa.h"

#include <string.h>
#include <sys/stat.h>

const cs_opt cs_taxa_table[] = {
    { .type = CS_OPT_GROUP, .name = "Taxonomy" },
    { .type = CS_OPT_IN, .name = "taxonomy", .off = offsetof(cs_taxa_args, taxonomy),
      .arg = "FILE",
      .help = "table of taxa, or folder with NCBI's taxonomy dump; stored in the model",
      .man = "A table has the columns name, taxid, rank, parent and scientific name; the last "
             "three are optional, '-' means none, '#' starts a comment, and the first line may "
             "name the columns. The name is that of a class or an ancestor; the parent is the "
             "taxid or name of another row, or empty for the root. Several taxa may have one name: "
             "of those, a parent's name means the nearest of a higher rank. A class needs its own "
             "name (column 5 may repeat), or is a taxid. A folder contains nodes.dmp "
             "and names.dmp from NCBI; classes are found by scientific name. Only the classes and "
             "their ancestors are stored. A class without an NCBI taxid is placed below its "
             "nearest ancestor and numbered from 2000000001. A class above "
             "others means that the taxon below is unknown. A class of rank '" CS_RANK_OTHER
             "' is for the other taxa of its parent; calls of taxa report it as the parent." },
    { .type = CS_OPT_IN, .name = "taxa", .off = offsetof(cs_taxa_args, taxa), .arg = "FILE",
      .help = "with a taxonomy dump, table of taxa for classes with other names",
      .man = "Name and taxid are sufficient; a class without a taxid needs a parent." },
    { .type = CS_OPT_STR, .name = "lineage", .off = offsetof(cs_taxa_args, lineage),
      .arg = "RANKS",
      .help = "labels are lineages separated by ';', with these comma-separated ranks",
      .man = "For example domain,phylum,class,order,family,genus; or 'prefixed' for rank prefixes: "
             "'d__Bacteria; p__Bacillota', with the letters d, k, p, c, o, f, g and s. A part "
             "without a prefix has no rank. Parts beyond these ranks, and empty parts at the end "
             "('', 'g__', 'unclassified', 'unidentified'), are dropped. An empty part before "
             "others, as in 'Bacteria;;Bacilli', is skipped. Taxa are numbered from 2000000001." },
    { .type = CS_OPT_END }
};

static int is_folder(const char *path)
{
    struct stat st;

    return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Store the tree in the model, and the taxids and ranks of its labels. */
static int set_taxonomy(cs_model *m, const cs_taxonomy *t)
{
    char *text = cs_taxonomy_text(t);

    if (!text)
        return cs_fail(CS_EFORMAT, "a name in the taxonomy is not UTF-8; convert its file (iconv)");
    free(m->taxonomy);
    m->taxonomy = text;
    for (int32_t i = 0; i < m->n_label; i++) {
        const cs_taxon *v = &t->node[t->of_class[i]];
        m->label[i].taxid = v->taxid;
        free(m->label[i].rank);
        m->label[i].rank = cs_xstrdup(v->rank);
    }
    return CS_OK;
}

static bool has_empty_rank(const char *ranks)
{
    for (size_t n; (n = strcspn(ranks, ",")) > 0; ranks += n + 1)
        if (ranks[n] == '\0')
            return false;
    return true;
}

static int check_args(const cs_model *m, const cs_taxa_args *a)
{
    if (!m->head->is_class)
        return cs_fail(CS_EUSAGE, "a taxonomy is for classes, but the model predicts values");
    if (a->lineage && (a->taxonomy || a->taxa))
        return cs_fail(CS_EUSAGE, "--lineage is incompatible with --%s",
                       a->taxonomy ? "taxonomy" : "taxa");
    if (a->lineage && has_empty_rank(a->lineage))
        return cs_fail(CS_EUSAGE, "--lineage '%s' has a rank without a name", a->lineage);
    if (a->taxa && !is_folder(a->taxonomy))
        return cs_fail(CS_EUSAGE, "--taxa needs --taxonomy with a folder; tables contain the "
                       "taxids of classes");
    return CS_OK;
}

int cs_taxa_set(cs_model *m, const cs_taxa_args *a)
{
    int rc = CS_OK;
    const int dump = is_folder(a->taxonomy);
    const char **name = NULL;
    cs_taxonomy *t = NULL;

    if (!a->taxonomy && !a->taxa && !a->lineage)
        return CS_OK;
    CS_TRY(check_args(m, a));
    name = cs_xcalloc((size_t)m->n_label, sizeof *name);
    for (int32_t i = 0; i < m->n_label; i++)
        name[i] = m->label[i].name;
    if (a->lineage)
        CS_TRY(cs_taxonomy_lineages(a->lineage, name, m->n_label, &t));
    else
        CS_TRY(cs_taxonomy_read(dump ? a->taxa : a->taxonomy, dump ? a->taxonomy : NULL, name,
                                m->n_label, &t));
    CS_TRY(set_taxonomy(m, t));
out:
    cs_taxonomy_free(t);
    free(name);
    return rc;
}

int cs_taxa_of(const cs_model *m, const char *path, cs_taxonomy **out)
{
    cs_class_taxon *c = cs_xcalloc((size_t)m->n_label, sizeof *c);

    for (int32_t i = 0; i < m->n_label; i++)
        c[i] = (cs_class_taxon){ m->label[i].name, m->label[i].taxid, m->label[i].rank };
    const int rc = m->taxonomy ? cs_taxonomy_parse(m->taxonomy, path, c, m->n_label, out)
                               : cs_taxonomy_plain(c, m->n_label, out);
    free(c);
    return rc == CS_EMODEL && m->taxonomy
         ? cs_fail_also(rc, "; replace it with 'chordseq model label'") : rc;
}

/* One block: the arrays by node, then that by class. */
int cs_taxa_tree(const cs_taxonomy *t, cs_tree *out)
{
    const size_t n = (size_t)t->n;
    int32_t *all = cs_alloc(3 * n + (size_t)t->n_class, sizeof *all);

    *out = (cs_tree){ 0 };
    if (!all)
        return cs_fail(CS_EMEM, "out of memory for a taxonomy of %zu taxa", n);
    for (size_t i = 0; i < n; i++) {
        all[i] = t->node[i].parent;
        all[n + i] = t->node[i].class_no;
        all[2 * n + i] = t->node[i].class_no >= 0 && strcmp(t->node[i].rank, CS_RANK_OTHER) == 0;
    }
    memcpy(all + 3 * n, t->of_class, (size_t)t->n_class * sizeof *all);
    *out = (cs_tree){ .parent = all, .class_no = all + n, .is_other = all + 2 * n,
                      .of_class = all + 3 * n, .n_node = t->n, .n_class = t->n_class };
    return CS_OK;
}

void cs_taxa_tree_release(cs_tree *t)
{
    free((void *)(uintptr_t)t->parent);
    *t = (cs_tree){ 0 };
}

int cs_taxa_set_head(cs_model *m)
{
    int rc = CS_OK;
    cs_taxonomy *t = NULL;
    cs_tree tree = { 0 };

    if (!m->head->set_taxonomy)
        return CS_OK;
    if (!m->taxonomy)
        return cs_fail(CS_EUSAGE, "the head '%s' trains on a tree of the classes; give --lineage "
                       "or --taxonomy", m->head->name);
    CS_TRY(cs_taxa_of(m, "the model", &t));
    CS_TRY(cs_taxa_tree(t, &tree));
    rc = m->head->set_taxonomy(m->head_net, &tree);
out:
    cs_taxa_tree_release(&tree);
    cs_taxonomy_free(t);
    return rc;
}

int cs_taxa_depth(const cs_model *m)
{
    int max = 0;

    for (int32_t i = 0; m->taxonomy && i < m->n_label; i++) {
        int n = 1;
        for (const char *s = m->label[i].name; (s = strchr(s, ';')) != NULL; s++)
            n++;
        max = n > max ? n : max;
    }
    return max > 1 ? max : 0;
}

/* Removes the last part of a lineage, and empty ones before it, which have no taxon; false if it
 * was the only one. */
static bool shorten(char *lineage)
{
    char *semi = strrchr(lineage, ';');

    while (semi && semi > lineage && semi[-1] == ';')
        semi--;
    if (semi)
        *semi = '\0';
    return semi != NULL;
}

/* The lineages of a class and its ancestors. */
static int add_lineages(cs_names *names, cs_arena *text, const cs_taxonomy *t, const char *name,
                        int32_t node)
{
    char *left = cs_xstrdup(name);
    int rc = CS_OK;

    do {
        const char *copy = cs_arena_dup(text, left, strlen(left));
        rc = copy ? cs_names_add(names, copy, node)
                  : cs_fail(CS_EMEM, "out of memory for the classes' lineages");
        node = t->node[node].parent;
    } while (rc == CS_OK && node > 0 && shorten(left));
    free(left);
    return rc;
}

int cs_taxa_places(const cs_model *m, const cs_taxonomy *t, const cs_classes *classes,
                   int32_t *node)
{
    int rc = CS_OK;
    cs_names names = { NULL, 0, 0 };
    cs_arena *text = cs_arena_new();

    for (int32_t i = 0; i < m->n_label; i++) {
        node[i] = t->of_class[i];
        CS_TRY(add_lineages(&names, text, t, m->label[i].name, node[i]));
    }
    for (int i = m->n_label; i < classes->n; i++) {
        char *left = cs_xstrdup(classes->name[i]);
        int64_t at = cs_names_find(&names, left);
        while (at < 0 && shorten(left))
            at = cs_names_find(&names, left);
        node[i] = at > 0 ? (int32_t)at : 0;
        free(left);
    }
out:
    cs_names_release(&names);
    cs_arena_free(text);
    return rc;
}
