/* fuzz_taxa.c - tables of taxa from arbitrary bytes: no crash, a message for every refusal, and
 * a tree that comes back from its text. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/taxonomy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { N_LABEL = 3 };
static const char *const label[N_LABEL] = { "a", "b", "c" };
static char path[] = "/tmp/chordseq_fuzz_XXXXXX";

static void remove_file(void)
{
    unlink(path);
}

static void put(const uint8_t *data, size_t n_bytes)
{
    static int begun;

    if (!begun++) {
        const int fd = mkstemp(path);
        CS_BUG(fd < 0);
        close(fd);
        atexit(remove_file);
        cs_log_set_level(CS_LOG_ERROR);
    }
    FILE *f = fopen(path, "wb");
    CS_BUG(!f || (n_bytes && fwrite(data, 1, n_bytes, f) != n_bytes) || fclose(f) != 0);
}

static void check_tree(const cs_taxonomy *t)
{
    CS_BUG(t->n < 1 || t->node[0].parent != -1 || t->node[0].taxid != CS_TAXID_ROOT);
    for (int32_t i = 1; i < t->n; i++)
        CS_BUG(t->node[i].parent < 0 || t->node[i].parent >= i || t->node[i].taxid <= 1);
    for (int32_t i = 0; i < t->n_class; i++)
        CS_BUG(t->node[t->of_class[i]].class_no != i);
}

static void check_text(const cs_taxonomy *t)
{
    cs_class_taxon c[N_LABEL];
    cs_taxonomy *again = NULL;
    char *text = cs_taxonomy_text(t);

    for (int i = 0; i < N_LABEL; i++)
        c[i] = (cs_class_taxon){ label[i], t->node[t->of_class[i]].taxid, NULL };
    /* No text: a name is not UTF-8. */
    CS_BUG(text && cs_taxonomy_parse(text, "text", c, N_LABEL, &again) != CS_OK);
    CS_BUG(again && again->n != t->n);
    for (int32_t i = 0; again && i < t->n; i++)
        CS_BUG(again->node[i].taxid != t->node[i].taxid
               || again->node[i].parent != t->node[i].parent
               || strcmp(again->node[i].name, t->node[i].name) != 0);
    cs_taxonomy_free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_taxonomy *t = NULL;

    put(data, n_bytes);
    const int rc = cs_taxonomy_read(path, NULL, label, N_LABEL, &t);
    CS_BUG((rc == CS_OK) != (t != NULL) || (rc != CS_OK && !*cs_error_message()));
    cs_error_clear();
    if (t) {
        check_tree(t);
        check_text(t);
    }
    cs_taxonomy_free(t);
    return 0;
}
