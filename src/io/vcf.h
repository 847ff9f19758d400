/* vcf.h - VCF and BCF as a stream: records in, and the same records out with INFO fields added.
 *
 * DESIGN. What is not ours to change is not parsed and printed again: from VCF to VCF, header lines
 * and records are copied as text, and fields are put into the INFO column. Every record goes
 * through htslib's parser all the same, which says whether it is one. BCF is printed to become VCF,
 * and VCF packed to become BCF, both by htslib.
 */
#ifndef CS_IO_VCF_H
#define CS_IO_VCF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/mem.h"
#include "io/reference.h"

typedef struct cs_vcf cs_vcf;

/* One record, in an arena. */
typedef struct cs_vcf_record {
    uint64_t    no;              /* 1, 2, 3 ... */
    const char *contig, *id, *ref;
    const char **alt;            /* [n_alt] */
    int         n_alt;
    int64_t     pos;             /* 0-based */
    const char *line;            /* [n_line] as VCF text, without line end; or NULL */
    size_t      n_line;
    const void *native;          /* bcf1_t, or NULL: one of the two is there */
} cs_vcf_record;

/**
 * cs_vcf_open - VCF (plain, gzip, BGZF) or BCF, and its header
 *
 * path       a file, or "-"
 * as_native  records have `native`, which writing BCF needs, instead of `line`
 * Returns    CS_OK; CS_EIO; CS_EFORMAT for anything else and for damaged headers
 */
int  cs_vcf_open(const char *path, int threads, bool as_native, cs_vcf **out) CS_MUST_CHECK;
/** cs_vcf_close - accepts NULL */
void cs_vcf_close(cs_vcf *v);
const char *cs_vcf_path(const cs_vcf *v);
/**
 * cs_vcf_restrict - only records that overlap one of n regions, each of them once; needs an index
 *
 * region   [n] as cs_regions_open() takes them
 * ref      checks their contigs and ends
 * Returns  CS_OK; CS_EIO without an index; CS_EUSAGE for a text that is no region; CS_EMEM
 */
int cs_vcf_restrict(cs_vcf *v, const char *const *region, int n, const cs_reference *ref)
    CS_MUST_CHECK;
/** cs_vcf_next - CS_OK; CS_EOF; CS_EFORMAT with file, record and reason; CS_EIO; CS_EMEM */
int  cs_vcf_next(cs_vcf *v, cs_arena *mem, cs_vcf_record **out) CS_MUST_CHECK;

/**
 * cs_vcf_info - the values of an INFO key in a record, one text per ALT
 *
 * value    [n_alt] receives texts in `mem`, NULL for those that are missing
 * v        where it was read, for messages
 * r        one that has `line`
 * Returns  CS_OK; CS_EFORMAT when there is another number of values than ALTs; CS_EMEM
 */
int  cs_vcf_info(const cs_vcf *v, const cs_vcf_record *r, const char *key, cs_arena *mem,
                 const char **value) CS_MUST_CHECK;

/* ---- out ------------------------------------------------------------------------------------- */

typedef enum cs_vcf_type { CS_VCF_FLOAT, CS_VCF_INTEGER, CS_VCF_STRING } cs_vcf_type;

/* A field that is added: Number=A. A hidden one is declared, taken out of records that have it, and
 * not written. */
typedef struct cs_vcf_field {
    char       *id, *description;
    cs_vcf_type type;
    bool        hidden;
} cs_vcf_field;

/* Its values of one record: per ALT, NAN or NULL where missing; v of Float and Integer, or text. */
typedef struct cs_vcf_values { const double *v; const char *const *text; } cs_vcf_values;

/* AUTO: TBI of VCF, unless a contig is too long for it, CSI of BCF. */
typedef enum cs_vcf_index {
    CS_VCF_NO_INDEX, CS_VCF_INDEX_AUTO, CS_VCF_INDEX_TBI, CS_VCF_INDEX_CSI
} cs_vcf_index;

/* What an output is. */
typedef struct cs_vcfout_opt {
    const char *path;            /* or "-" */
    char        format;          /* as bcftools -O: v, z, u or b */
    cs_vcf_index index;          /* beside it */
    int         threads;
    const char *const *line;     /* [n_line] "##..." lines that the header gets */
    int         n_line;
    const cs_vcf_field *field;   /* [n_field]; must outlive the output */
    int         n_field;
} cs_vcfout_opt;

typedef struct cs_vcfout cs_vcfout;

/** cs_vcfout_open - and write the header: that of `in`, which must outlive it, and our lines before
 * the last one. INFO lines of our fields that were there are left out. CS_OK; CS_EIO; CS_EUSAGE
 * for an index of what has none; CS_EMEM */
int  cs_vcfout_open(const cs_vcf *in, const cs_vcfout_opt *o, cs_vcfout **out) CS_MUST_CHECK;
/** cs_vcfout_record - value [n_field]; a field without any value is not written, and what the
 * record had under its name is left out. CS_OK; CS_EIO; CS_EFORMAT for a record that BCF cannot
 * hold; CS_ECANCEL when the reader of a pipe has gone */
int  cs_vcfout_record(cs_vcfout *o, const cs_vcf_record *r, const cs_vcf_values *value)
    CS_MUST_CHECK;
/** cs_vcfout_tell - of VCF: bytes of text so far, before compression */
int64_t cs_vcfout_tell(const cs_vcfout *o);
/** cs_vcfout_finish - complete and index, all but the names; to be followed by cs_vcfout_close(),
 * or after an error cs_vcfout_discard() */
int  cs_vcfout_finish(cs_vcfout *o) CS_MUST_CHECK;
/** cs_vcfout_close - complete, index, rename both; frees o in every case */
int  cs_vcfout_close(cs_vcfout *o) CS_MUST_CHECK;
/** cs_vcfout_discard - remove what was begun; accepts NULL */
void cs_vcfout_discard(cs_vcfout *o);

#endif
