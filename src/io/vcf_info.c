/* vcf_info.c - contigs and INFO keys of VCF and BCF headers, and values of a key in records. */
#include "io/vcf.h"

#include <string.h>

#include <htslib/vcf.h>

#include "base/log.h"
#include "io/vcf_internal.h"
#include "io/vcf_text.h"

bool cs_vcf_declares(const cs_vcf *v, const char *key)
{
    const bcf_hdr_t *header = cs_vcf_header(v);
    const int id = bcf_hdr_id2int(header, BCF_DT_ID, key);

    return id >= 0 && bcf_hdr_idinfo_exists(header, BCF_HL_INFO, id);
}

void cs_vcf_compare(const cs_vcf *v, const cs_reference *ref)
{
    const bcf_hdr_t *header = cs_vcf_header(v);
    const bcf_idpair_t *contig = header->id[BCF_DT_CTG], *first = NULL;
    int n = 0;

    for (int i = header->n[BCF_DT_CTG] - 1; i >= 0; i--) {
        const int64_t has = contig[i].val ? cs_reference_length(ref, contig[i].key) : -1;
        if (has >= 0 && contig[i].val->info[0] > 0 && contig[i].val->info[0] != (uint64_t)has) {
            n++;
            first = &contig[i];
        }
    }
    if (first)
        cs_warn("the header of '%s' has other lengths for %d %s than '%s', so it may be of another "
                "assembly; first: '%s', %llu and %lld bases", cs_vcf_path(v), n,
                CS_PLURAL(n, "contig", "contigs"), cs_reference_path(ref), first->key,
                (unsigned long long)first->val->info[0],
                (long long)cs_reference_length(ref, first->key));
}

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
            return cs_fail(CS_EFORMAT, "'%s': record %llu has a different number of values in %s "
                           "than alternative alleles; it must be Number=A", cs_vcf_path(v),
                           (unsigned long long)r->no, key);
        value[i] = strcmp(text, ".") == 0 ? NULL : text;
    }
    return CS_OK;
}
