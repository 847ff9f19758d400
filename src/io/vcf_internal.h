/* vcf_internal.h - VCF and BCF records in htslib's types, for files that include htslib. */
#ifndef CS_IO_VCF_INTERNAL_H
#define CS_IO_VCF_INTERNAL_H

#include "io/vcf.h"

struct htsFile;

/** cs_vcf_take - cs_vcf_open() for an open file; fp is taken over, also on failure */
int cs_vcf_take(const char *path, struct htsFile *fp, int threads, bool as_native, cs_vcf **out)
    CS_MUST_CHECK;
/** cs_vcf_header, cs_vcf_header_text - an input's bcf_hdr_t, and its text: of VCF as it was */
void *cs_vcf_header(const cs_vcf *v);
const char *cs_vcf_header_text(const cs_vcf *v);
/** cs_vcf_bad_header - report the line of VCF's header, `text`, that htslib cannot parse.
 * CS_EFORMAT */
int cs_vcf_bad_header(const char *path, const char *text);
/** cs_vcf_seek - only records that overlap [from, to) of a contig from here on; needs an index. A
 * contig without records gives none, and a warning if the header does not have it either. CS_OK;
 * CS_EIO */
int cs_vcf_seek(cs_vcf *v, const char *contig, int64_t from, int64_t to) CS_MUST_CHECK;
/** cs_vcf_read - the next record, checked as cs_vcf_next() does, into cs_vcf_native(). what: of
 * htslib's BCF_UN_... CS_OK; CS_EOF; CS_EFORMAT with file, record and reason; CS_EIO; CS_EMEM */
int cs_vcf_read(cs_vcf *v, int what) CS_MUST_CHECK;
/** cs_vcf_native - the bcf1_t that was read last */
void *cs_vcf_native(const cs_vcf *v);
/** cs_vcf_reserve - memory to unpack a bcf1_t and add n_field INFO fields; without it bcf_unpack()
 * would treat texts as missing or cut, or end the program. Before it does so: alleles point into
 * their text. CS_OK, CS_EMEM */
int cs_vcf_reserve(void *record, int n_field) CS_MUST_CHECK;
/** cs_vcf_copy - bcf_copy(), which crashes without memory. to: may be NULL, for lack of it. CS_OK,
 * CS_EMEM */
int cs_vcf_copy(void *to, void *from) CS_MUST_CHECK;
/** cs_vcf_error - report a problem of that record, worded to follow "record N". CS_EFORMAT */
int cs_vcf_error(const cs_vcf *v, const char *what);

#endif
