/* vcf_header.c - contigs, INFO keys and damaged lines in the headers of VCF and BCF. */
#include "io/vcf.h"

#include <string.h>

#include <htslib/vcf.h>

#include "base/log.h"
#include "io/vcf_internal.h"

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

int cs_vcf_bad_header(const char *path, const char *text)
{
    bcf_hdr_t *h = bcf_hdr_init("w");
    const char *line = text, *end;
    int no = 1;

    for (; h && strncmp(line, "##", 2) == 0; line = end + 1, no++) {
        int len = 0;
        bcf_hrec_t *r = bcf_hdr_parse_line(h, line, &len);
        end = strchr(line, '\n');
        if (!r)
            break;
        bcf_hrec_destroy(r);
    }
    if (h)
        bcf_hdr_destroy(h);
    end = strchr(line, '\n');
    return cs_fail(CS_EFORMAT, "'%s': the header of this VCF file is damaged, at line %d: '%.*s'",
                   path, no, (int)(end - line < 60 ? end - line : 60), line);
}
