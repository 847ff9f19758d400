/* fuzz_taxdump.c - nodes.dmp and names.dmp of a taxonomy, with a form feed between, from arbitrary
 * bytes: no crash; every refusal has a message, every class its node. */
#include <stdint.h>

#include "io/taxonomy.h"
#include "temp_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { N_LABEL = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *const label[N_LABEL] = { "a", "B", "b" };
    cs_taxonomy *t = NULL;

    temp_start((const char *const[]){ "nodes.dmp", "names.dmp" });
    temp_put_both(data, n_bytes);
    const int rc = cs_taxonomy_read(NULL, temp_folder, label, N_LABEL, &t);
    CS_BUG((rc == CS_OK) != (t != NULL) || (rc != CS_OK && *cs_error_message() == '\0'));
    cs_error_clear();
    for (int32_t i = 1; t && i < t->n; i++)
        CS_BUG(t->node[i].parent < 0 || t->node[i].parent >= i || !*t->node[i].name);
    for (int32_t i = 0; t && i < t->n_class; i++)
        CS_BUG(t->n_class != N_LABEL || t->node[t->of_class[i]].class_no != i);
    cs_taxonomy_free(t);
    return 0;
}
