/* vcf_info.c - values of an INFO key in VCF and BCF records. */
#include "io/vcf.h"

#include <string.h>

#include "io/vcf_text.h"

int cs_vcf_info(const cs_vcf *v, const cs_vcf_record *r, const char *key, cs_arena *mem,
                const char **value)
{
    size_t n = 0;
    const char *at = cs_vcf_info_find(r->line, r->n_line, key, &n);

    for (int i = 0; i < r->n_alt; i++)
        value[i] = NULL;
    if (!at || (n == 1 && *at == '.'))   /* one '.' for all of them is allowed, too */
        return CS_OK;
    char *text = cs_arena_dup(mem, at, n), *end;
    if (!text)
        return cs_fail(CS_EMEM, "'%s': out of memory for record %llu", cs_vcf_path(v),
                       (unsigned long long)r->no);
    for (int i = 0; text; i++, text = end) {
        end = strchr(text, ',');
        if (end)
            *end++ = '\0';
        if (i >= r->n_alt || (!end && i + 1 < r->n_alt))
            return cs_fail(CS_EFORMAT, "'%s': record %llu (%s:%lld) has a different number of "
                           "values in %s than alternative alleles; it must be Number=A",
                           cs_vcf_path(v), (unsigned long long)r->no, r->contig,
                           (long long)r->pos + 1, key);
        value[i] = strcmp(text, ".") == 0 ? NULL : text;
    }
    return CS_OK;
}
