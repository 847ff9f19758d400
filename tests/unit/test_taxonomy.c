/* test_taxonomy.c - taxa of classes: tables, NCBI's dump, stored trees, refused input.
 */
#include "inputs.h"

#include <jansson.h>
#include <sys/resource.h>
#include <time.h>

#include "io/taxa_lineage.h"
#include "io/taxonomy.h"

static const char *const label[] = { "bacteria", "mito", "virus" };
enum { N_LABEL = 3 };

/* "taxid<parent rank name class", a line per node. */
static char *tree_text(const cs_taxonomy *t)
{
    bytes b = { 0 };
    char line[200];

    for (int32_t i = 0; i < t->n; i++) {
        const cs_taxon *v = &t->node[i];
        snprintf(line, sizeof line, "%lld<%lld %s:%s %d\n", (long long)v->taxid,
                 v->parent < 0 ? 0 : (long long)t->node[v->parent].taxid, v->rank, v->name,
                 (int)v->class_no);
        add_text(&b, line);
        if (v->class_no >= 0)
            assert_int_equal(t->of_class[v->class_no], i);
    }
    return (char *)b.p;
}

static void check_tree(const char *table, const char *dump, const char *want)
{
    cs_taxonomy *t = NULL, *again = NULL;
    cs_class_taxon c[N_LABEL];

    if (cs_taxonomy_read(table, dump, label, N_LABEL, &t) != CS_OK)
        fail_msg("%s", cs_error_message());
    char *got = tree_text(t);
    assert_string_equal(got, want);
    free(got);
    for (int i = 0; i < N_LABEL; i++)
        c[i] = (cs_class_taxon){ label[i], t->node[t->of_class[i]].taxid, NULL };
    char *text = cs_taxonomy_text(t);
    assert_non_null(text);
    assert_int_equal(cs_taxonomy_parse(text, "model", c, N_LABEL, &again), CS_OK);
    got = tree_text(again);
    assert_string_equal(got, want);
    free(got);
    free(text);
    cs_taxonomy_free(t);
    cs_taxonomy_free(again);
}

static void check_wrong(const char *table, const char *dump, int rc, const char *message)
{
    cs_taxonomy *t = NULL;

    put_text("t.tsv", table);
    assert_int_equal(cs_taxonomy_read("t.tsv", dump, label, N_LABEL, &t), rc);
    assert_string_equal(cs_error_message(), message);
    assert_null(t);
    cs_error_clear();
}

static void test_table(void **state)
{
    (void)state;
    put_text("t.tsv", "#name\ttaxid\trank\tparent\ttitle\n"
             "mito\t-\t-\t2759\n\nbacteria\t2\tdomain\tcells\tBacteria\r\n"
             "cells\t131567\n2nd\t5\n2759\t2759\tdomain\t131567\tEukaryota\nvirus\t10239\n");
    check_tree("t.tsv", NULL, "1<0 no rank:root -1\n131567<1 no rank:cells -1\n"
               "2<131567 domain:Bacteria 0\n2759<131567 domain:Eukaryota -1\n"
               "2000000001<2759 no rank:mito 1\n10239<1 no rank:virus 2\n");
    put_text("t.tsv", "\xef\xbb\xbf" "name\ttaxID\trank\nbacteria\t2\nmito\t3\nvirus\t4\n");
    check_tree("t.tsv", NULL, "1<0 no rank:root -1\n2<1 no rank:bacteria 0\n"
               "3<1 no rank:mito 1\n4<1 no rank:virus 2\n");
    put_text("t.tsv", "root\t1\troot\t-\tLife\nbacteria\t2000000007\nmito\t-\t-\troot\n");
    check_tree("t.tsv", NULL, "1<0 root:Life -1\n2000000007<1 no rank:bacteria 0\n"
               "2000000008<1 no rank:mito 1\n2000000009<1 no rank:virus 2\n");
}

/* One name at several ranks or under several parents, as in SILVA, GTDB and NCBI's taxonomy. */
static void test_homonyms(void **state)
{
    (void)state;
    put_text("t.tsv", "bacteria\t-\tdomain\t-\nx\t-\tphylum\tbacteria\nx\t-\tclass\tx\n"
             "x\t-\torder\tx\nsame\t-\tfamily\tx\nsame\t-\tfamily\tbacteria\n"
             "mito\t-\tgenus\tx\nmito\t-\tgenus\tx\nvirus\t-\tsubclass\tx\n");
    check_tree("t.tsv", NULL, "1<0 no rank:root -1\n2000000001<1 domain:bacteria 0\n"
               "2000000002<2000000001 phylum:x -1\n2000000003<2000000002 class:x -1\n"
               "2000000004<2000000003 order:x -1\n2000000005<2000000004 genus:mito 1\n"
               "2000000006<2000000003 subclass:virus 2\n");
    put_text("t.tsv", "bacteria\t2\nbug\t3\tgenus\t4\tmito\nmito\t5\tgenus\t2\n"
             "x\t6\tfamily\t2\tvirus\nvirus\t7\tgenus\tvirus\nold\t9\tgenus\t-\tvirus\n");
    check_tree("t.tsv", NULL, "1<0 no rank:root -1\n2<1 no rank:bacteria 0\n5<2 genus:mito 1\n"
               "6<2 family:virus -1\n7<6 genus:virus 2\n");
    check_wrong("mito\t5\tgenus\nvirus\t6\nmito\t7\tphylum\nmito\t8\n", NULL, CS_EFORMAT,
                "'t.tsv': several taxa have the name of the class 'mito', on line 1 (genus) and "
                "line 3 (phylum); rename the rows that are not meant, and keep the scientific name "
                "in column 5");
    check_wrong("a\t5\t-\t-\tmito\nb\t6\t-\t-\tmito\n", NULL, CS_EFORMAT,
                "'t.tsv': several taxa have the name of the class 'mito', on line 1 (no rank) and "
                "line 2 (no rank); rename the rows that are not meant, and keep the scientific "
                "name in column 5");
    check_wrong("x\t5\tgenus\nx\t6\tgenus\nmito\t7\tspecies\tx\n", NULL, CS_EFORMAT,
                "'t.tsv' line 3: 'mito' has the parent 'x', the name of several taxa, on line 1 "
                "(genus) and line 2 (genus); give the parent's taxid instead, or rename one of "
                "them and keep its scientific name in column 5");
    check_wrong("x\t5\tclade\nx\t6\tphylum\nmito\t7\tspecies\tx\n", NULL, CS_EFORMAT,
                "'t.tsv' line 3: 'mito' has the parent 'x', the name of several taxa, on line 1 "
                "(clade) and line 2 (phylum); give the parent's taxid instead, or rename one of "
                "them and keep its scientific name in column 5");
}

/* A lineage without parts that have no name, and of at most n_rank parts. */
static void check_tidy(const char *s, int n_rank, const char *want)
{
    char buf[200];

    snprintf(buf, sizeof buf, "%s", s);
    cs_lineage_tidy(buf, n_rank);
    assert_string_equal(buf, want);
}

static void test_tidy(void **state)
{
    (void)state;
    check_tidy("Bacteria;Bacillota;Bacilli", 0, "Bacteria;Bacillota;Bacilli");
    check_tidy("Bacteria;Bacillota;Bacilli", 2, "Bacteria;Bacillota");
    check_tidy(" d__Bacteria;  p__Bacillota ; c__; o__", 0, "d__Bacteria;p__Bacillota");
    check_tidy("Bacteria;;Bacilli;unclassified;", 0, "Bacteria;;Bacilli");
    check_tidy("Bacteria;;Bacilli", 2, "Bacteria");
    check_tidy("unidentified;;", 0, "");
    check_tidy("", 3, "");
    assert_int_equal(cs_lineage_ranks("order,family,genus"), 3);
    assert_int_equal(cs_lineage_ranks("prefixed"), 0);
}

/* Taxa of one name under two parents are two; a class may stand above another. */
static void test_lineages(void **state)
{
    static const char *const name[] = { "A;x;y", "B;x", "A;x", "A;z;y" };
    static const char *const letters[] = { "d__A;p__x;g__y", "d__B;p__x", "d__A;p__x",
                                           "d__A;p__z;g__y" };
    static const char *const want =
        "1<0 no rank:root -1\n2000000001<1 domain:A -1\n2000000002<2000000001 phylum:x 2\n"
        "2000000003<2000000002 genus:y 0\n2000000006<2000000001 phylum:z -1\n"
        "2000000007<2000000006 genus:y 3\n2000000004<1 domain:B -1\n"
        "2000000005<2000000004 phylum:x 1\n";
    cs_taxonomy *t = NULL;

    (void)state;
    for (int k = 0; k < 2; k++) {
        if (cs_taxonomy_lineages(k ? "prefixed" : "domain,phylum,genus", k ? letters : name, 4, &t)
            != CS_OK)
            fail_msg("%s", cs_error_message());
        char *got = tree_text(t);
        assert_string_equal(got, want);
        free(got);
        cs_taxonomy_free(t);
    }
    assert_int_equal(cs_taxonomy_lineages("domain,phylum", name, 4, &t), CS_EUSAGE);
    assert_string_equal(cs_error_message(),
                        "'A;x;y' has more parts than the 2 ranks of --lineage; name a rank for "
                        "each part");
    cs_error_clear();
    assert_int_equal(cs_taxonomy_lineages("prefixed", name, 4, &t), CS_EUSAGE);
    cs_error_clear();
}

/* An empty part has no taxon, but its rank is counted. */
static void test_empty_parts(void **state)
{
    static const char *const name[] = { "A;x;y", "B;;w", ";p;q" };
    static const char *const want =
        "1<0 no rank:root -1\n2000000001<1 domain:A -1\n2000000002<2000000001 phylum:x -1\n"
        "2000000003<2000000002 genus:y 0\n2000000004<1 domain:B -1\n"
        "2000000005<2000000004 genus:w 1\n2000000006<1 phylum:p -1\n"
        "2000000007<2000000006 genus:q 2\n";
    cs_taxonomy *t = NULL;

    (void)state;
    if (cs_taxonomy_lineages("domain,phylum,genus", name, 3, &t) != CS_OK)
        fail_msg("%s", cs_error_message());
    char *got = tree_text(t);
    assert_string_equal(got, want);
    free(got);
    cs_taxonomy_free(t);
}

static void test_table_refused(void **state)
{
    (void)state;
    check_wrong("bacteria\n", NULL, CS_EFORMAT, "'t.tsv' line 1: expected name, taxid, rank, "
                "parent and scientific name with tabs between them, got 'bacteria'");
    check_wrong("a\tb\n", NULL, CS_EFORMAT, "'t.tsv' line 1: a taxid must be a number from 1 to "
                "2100000000 or '-', not 'b'");
    check_wrong("a\t1\t\t\t\tx\n", NULL, CS_EFORMAT,
                "'t.tsv' line 1: more than 5 columns in the row of 'a'");
    check_wrong("a\t7\nb\t7\n", NULL, CS_EFORMAT,
                "'t.tsv' line 2: taxid 7 is also on line 1");
    check_wrong("mito\t-\t-\t9\n", NULL, CS_EFORMAT,
                "'t.tsv' line 1: 'mito' has the parent '9', which has no row");
    check_wrong("mito\t-\t-\tmito\n", NULL, CS_EFORMAT, "'t.tsv': 'mito' is its own ancestor");
    check_wrong("Mito\t9\n", NULL, CS_EFORMAT, "'t.tsv' has no taxon of the classes, such as "
                "'bacteria'; labels must be names of taxa as in it");
    check_wrong("mito\t-\t-\ta\na\t-\t-\tmito\n", NULL, CS_EFORMAT,
                "'t.tsv': 'mito' is its own ancestor");
    check_wrong("virus\t1\n", NULL, CS_EFORMAT, "'t.tsv' line 1: the class 'virus' is the root, "
                "but a taxon has one class");
    check_wrong("x\t4\t-\t-\tvirus\nmito\t5\t-\t-\tbacteria\n", NULL, CS_EFORMAT,
                "'t.tsv' line 2: the class 'mito' is another one's taxon, but a taxon has one "
                "class");
    check_wrong("virus\t7\tclade\t-\tx\x7fy\n", NULL, CS_EFORMAT, "'t.tsv': the taxon 'x\x7fy' "
                "of rank 'clade' contains a tab, newline or other control character");
}

static void put_dump(void)
{
    put_text("nodes.dmp", "1\t|\t1\t|\tno rank\t|\tx\t|\n2\t|\t131567\t|\tdomain\t|\tx\t|\n"
             "131567\t|\t1\t|\tcellular root\t|\tx\t|\n2759\t|\t131567\t|\tdomain\t|\tx\t|\n"
             "10239\t|\t1\t|\tacellular root\t|\tx\t|\n629395\t|\t2759\t|\tgenus\t|\tx\t|\n"
             "9\t|\t8\t|\tgenus\t|\tx\t|\n");
    put_text("names.dmp", "1\t|\troot\t|\t\t|\tscientific name\t|\n"
             "2\t|\tBacteria\t|\tBacteria <bacteria>\t|\tscientific name\t|\n"
             "2\t|\tMonera\t|\t\t|\tin-part\t|\n"
             "131567\t|\tcellular organisms\t|\t\t|\tscientific name\t|\n"
             "2759\t|\tEukaryota\t|\t\t|\tscientific name\t|\n"
             "10239\t|\tViruses\t|\t\t|\tscientific name\t|\n"
             "629395\t|\tBacteria\t|\tBacteria <walking sticks>\t|\tscientific name\t|\n");
}

static void test_dump(void **state)
{
    (void)state;
    put_dump();
    put_text("t.tsv", "mito\t-\t-\t2759\nvirus\t10239\nbacteria\t2\n");
    check_tree("t.tsv", ".", "1<0 no rank:root -1\n131567<1 cellular root:cellular organisms -1\n"
               "2<131567 domain:Bacteria 0\n2759<131567 domain:Eukaryota -1\n"
               "2000000001<2759 no rank:mito 1\n10239<1 acellular root:Viruses 2\n");
    check_wrong("virus\t10239\n", ".", CS_EUSAGE,
                "several taxa in '.' have the name 'bacteria', such as 2 and 629395; choose one "
                "with --taxa, a table of names and taxids");
    check_wrong("bacteria\t2\nvirus\t77\n", ".", CS_EFORMAT,
                "'.' has no taxon 77, needed for class virus");
    check_wrong("bacteria\t9\n", ".", CS_EFORMAT, "'.': taxon 9 has the parent 8, which is "
                                                  "missing");
    put_text("names.dmp", "2\t|\tVirus\t|\t\t|\tscientific name\t|\n"
             "131567\t|\tcells\t|\t\t|\tscientific name\t|\n");
    check_wrong("bacteria\t2\n", ".", CS_EFORMAT, "'t.tsv' line 1: the class 'virus' is another "
                "one's taxon, but a taxon has one class");
    put_text("names.dmp", "1\t|\troot\t|\t\t|\tscientific name\t|\n");
    check_wrong("bacteria\t2\n", ".", CS_EFORMAT,
                "'./names.dmp' has no scientific name for taxon 131567");
    put_text("nodes.dmp", "2\t|\tx\t|\tdomain\t|\tx\t|\n");
    check_wrong("bacteria\t2\n", ".", CS_EFORMAT,
                "'./nodes.dmp': the parent 'x' of taxon 2 is not a taxid");
    put_text("nodes.dmp", "root\n");
    check_wrong("bacteria\t2\n", ".", CS_EFORMAT,
                "'./nodes.dmp' line 1: not a row of NCBI's taxonomy dump");
    check_wrong("bacteria\t2\n", "none", CS_EIO,
                "cannot open 'none/nodes.dmp': No such file or directory");
}

static void check_dump(const char *const *name, const char *want)
{
    cs_taxonomy *t = NULL;

    if (cs_taxonomy_read("t.tsv", ".", name, 2, &t) != CS_OK)
        fail_msg("%s", cs_error_message());
    char *got = tree_text(t);
    assert_string_equal(got, want);
    free(got);
    cs_taxonomy_free(t);
}

/* A class that is a taxid, and one whose name an ancestor of another has, too. */
static void test_dump_homonyms(void **state)
{
    static const char *const taxid[] = { "629395", "bacteria" }, *const same[] = { "fly", "gnat" };

    (void)state;
    put_dump();
    put_text("t.tsv", "bacteria\t2\n");
    check_dump(taxid, "1<0 no rank:root -1\n131567<1 cellular root:cellular organisms -1\n"
               "2759<131567 domain:Eukaryota -1\n629395<2759 genus:Bacteria 0\n"
               "2<131567 domain:Bacteria 1\n");
    put_text("nodes.dmp", "1\t|\t1\t|\tno rank\t|\n3\t|\t1\t|\tgenus\t|\n"
             "4\t|\t3\t|\tsubgenus\t|\n5\t|\t4\t|\tspecies\t|\n");
    put_text("names.dmp", "3\t|\tfly\t|\t\t|\tscientific name\t|\n"
             "4\t|\tfly\t|\t\t|\tscientific name\t|\n"
             "5\t|\tgnat\t|\t\t|\tscientific name\t|\n");
    put_text("t.tsv", "fly\t3\n");
    check_dump(same, "1<0 no rank:root -1\n3<1 genus:fly 0\n4<3 subgenus:fly -1\n"
               "5<4 species:gnat 1\n");
}

static long peak_kb(void)
{
    struct rusage u;

    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return u.ru_maxrss;
}

/* As of taxids that are hashes. In any order; the last row of a taxon counts. */
static void test_large_taxids(void **state)
{
    (void)state;
    const long before = peak_kb();

    put_text("nodes.dmp", "2000000000\t|\t1999999999\t|\tgenus\t|\n"
             "7\t|\t1\t|\tfamily\t|\n1999999999\t|\t7\t|\torder\t|\n"
             "1\t|\t1\t|\tno rank\t|\n7\t|\t1\t|\tclass\t|\n"
             "268435456\t|\t7\t|\tgenus\t|\n");
    put_text("names.dmp", "7\t|\tc\t|\t\t|\tscientific name\t|\n"
             "2000000000\t|\tVirus\t|\t\t|\tscientific name\t|\n"
             "268435456\t|\tmito\t|\t\t|\tscientific name\t|\n"
             "1999999999\t|\to\t|\t\t|\tscientific name\t|\n");
    put_text("t.tsv", "bacteria\t-\t-\t268435456\n");
    check_tree("t.tsv", ".", "1<0 no rank:root -1\n7<1 class:c -1\n268435456<7 genus:mito 1\n"
               "2000000001<268435456 no rank:bacteria 0\n1999999999<7 order:o -1\n"
               "2000000000<1999999999 genus:Virus 2\n");
    assert_true(peak_kb() - before < 100 << 10);
    put_text("nodes.dmp", "2000000001\t|\t1\t|\tgenus\t|\n");
    check_wrong("bacteria\t2\n", ".", CS_EFORMAT,
                "'./nodes.dmp' line 1: not a row of NCBI's taxonomy dump");
}

static void test_plain(void **state)
{
    (void)state;
    cs_taxonomy *t = NULL;
    const cs_class_taxon c[] = { { "a", 0, NULL }, { "b", 562, "species" }, { "c", 562, NULL } };

    assert_int_equal(cs_taxonomy_plain(c, 2, &t), CS_OK);
    char *got = tree_text(t);
    assert_string_equal(got, "1<0 no rank:root -1\n2000000001<1 no rank:a 0\n562<1 species:b 1\n");
    assert_int_equal(cs_taxonomy_ncbi(t, 1), 0);
    assert_int_equal(cs_taxonomy_ncbi(t, 2), 2);
    free(got);
    cs_taxonomy_free(t);
    assert_int_equal(cs_taxonomy_plain(c, 3, &t), CS_EMODEL);
    assert_string_equal(cs_error_message(),
                        "the model's classes 'b' and 'c' have the same taxid 562");
    cs_error_clear();
}

static void check_unsound(const char *text, const char *why)
{
    char want[200];
    cs_taxonomy *t = NULL;
    const cs_class_taxon c[] = { { "a", 2, NULL } };

    assert_int_equal(cs_taxonomy_parse(text, "m", c, 1, &t), CS_EMODEL);
    snprintf(want, sizeof want, "'m' has an invalid taxonomy: %s", why);
    assert_string_equal(cs_error_message(), want);
    cs_error_clear();
}

static void test_unsound(void **state)
{
    (void)state;
    const char *root = "{\"taxid\":1,\"parent\":0,\"rank\":\"\",\"name\":\"root\"}";
    char text[300];

    check_unsound("[", "a class is missing, or two are one");
    check_unsound("[{}]", "a taxon lacks its name, rank or number");
    check_unsound("[{\"taxid\":2,\"parent\":0,\"rank\":\"\",\"name\":\"a\"}]",
                  "a taxon comes before its parent");
    snprintf(text, sizeof text, "[%s,{\"taxid\":2,\"parent\":3,\"rank\":\"\",\"name\":\"a\"}]",
             root);
    check_unsound(text, "a taxon comes before its parent");
    snprintf(text, sizeof text, "[%s,{\"taxid\":1,\"parent\":1,\"rank\":\"\",\"name\":\"a\"}]",
             root);
    check_unsound(text, "a number occurs twice");
    snprintf(text, sizeof text, "[%s]", root);
    check_unsound(text, "a class is missing, or two are one");
}

/* The parts of a lineage that relatives share. */
static void test_cut(void **state)
{
    static const struct { const char *ranks, *rank, *s, *want; } t[] = {
        { "order,family,genus", "family", "Poales;Poaceae;Zea;Zea_mays", "Poales;Poaceae" },
        { "order,family,genus", "genus", "Poales;Poaceae", NULL },
        { "order,family,genus", "order", "Poales", "Poales" },
        { "order,family,genus", "order", "", NULL },
        { "prefixed", "family", "d__B; f__X;g__Y", "d__B; f__X" },
        { "prefixed", "genus", "d__B; f__X", NULL },
    };
    char s[64];

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        (void)snprintf(s, sizeof s, "%s", t[i].s);
        assert_int_equal(cs_lineage_cut(s, t[i].ranks, t[i].rank), t[i].want != NULL);
        assert_string_equal(s, t[i].want != NULL ? t[i].want : t[i].s);
    }
    assert_true(cs_lineage_has_rank("order,family", "family"));
    assert_false(cs_lineage_has_rank("order,family", "fam"));
    assert_true(cs_lineage_has_rank("prefixed", "genus"));
    assert_false(cs_lineage_has_rank("prefixed", "organism"));
    (void)snprintf(s, sizeof s, "a;b;c");
    assert_false(cs_lineage_cut_parts(s, 4));
    assert_true(cs_lineage_cut_parts(s, 2));
    assert_string_equal(s, "a;b");
}

/* The work is not quadratic: little more than that of reading the text, where it would be tens of
 * times. A limit in seconds would depend on the machine, and fail under valgrind. */
static void test_many(void **state)
{
    enum { N = 400000, TIMES = 5 };
    bytes b = { 0 };
    char row[100];
    const cs_class_taxon c[] = { { "x", N, NULL } };
    cs_taxonomy *t = NULL;

    (void)state;
    for (int i = 1; i <= N; i++) {
        snprintf(row, sizeof row, "%s{\"taxid\": %d, \"parent\": %d, \"rank\": \"r\", "
                 "\"name\": \"x\"}", i == 1 ? "[" : ", ", i, i / 2);
        add_text(&b, row);
    }
    add_text(&b, "]");
    const clock_t start = clock();
    json_decref(json_loads((char *)b.p, 0, NULL));
    const clock_t read = clock();
    assert_int_equal(cs_taxonomy_parse((char *)b.p, "m", c, 1, &t), CS_OK);
    assert_true(clock() - read < TIMES * (read - start));
    assert_int_equal(t->n, N);
    assert_int_equal(t->of_class[0], N - 1);
    cs_taxonomy_free(t);
    free(b.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_homonyms),
        cmocka_unit_test(test_tidy), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_lineages),
        cmocka_unit_test(test_empty_parts),
        cmocka_unit_test(test_table_refused),
        cmocka_unit_test(test_dump), cmocka_unit_test(test_dump_homonyms),
        cmocka_unit_test(test_large_taxids),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_unsound), cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, inputs_setup, inputs_teardown);
}
