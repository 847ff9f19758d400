/* vcf.h - VCF and BCF as a stream: read records, write them with added INFO fields.
 *
 * DESIGN. Unchanged parts are copied as text, not parsed and printed: from VCF to VCF, header lines
 * and records are copied, and fields are inserted into the INFO column. htslib parses every record
 * nevertheless, to check it. Conversion between BCF and VCF is htslib's.
 */
#ifndef CS_IO_VCF_H
#define CS_IO_VCF_H

#include <stdbool.h>
#include <stdint.h>

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
    const void *native;          /* bcf1_t, or NULL: exactly one of line and native is set */
} cs_vcf_record;

/**
 * cs_vcf_open - open VCF (plain, gzip, BGZF) or BCF, and read its header
 *
 * path       a file, or "-"
 * as_native  set `native` of records, needed to write BCF, instead of `line`
 * Returns    CS_OK; CS_EIO; CS_EFORMAT for anything else and for damaged headers
 */
int  cs_vcf_open(const char *path, int threads, bool as_native, cs_vcf **out) CS_MUST_CHECK;
/** cs_vcf_close - accepts NULL */
void cs_vcf_close(cs_vcf *v);
/** cs_vcf_path - as it was opened, for messages */
const char *cs_vcf_path(const cs_vcf *v);
/** cs_vcf_compare - warn if the header states other lengths of contigs than the reference has */
void cs_vcf_compare(const cs_vcf *v, const cs_reference *ref);
/**
 * cs_vcf_restrict - read only records that overlap one of n regions, each once, in the order of the
 * file; needs an index
 *
 * region   [n] as for cs_regions_open()
 * bed      a BED file of more regions, or NULL
 * ref      checks their contigs and ends
 * Returns  CS_OK; CS_EIO without an index; CS_EUSAGE for an invalid region; CS_EFORMAT for an
 *          invalid line or if there is no region; CS_EMEM
 */
int cs_vcf_restrict(cs_vcf *v, const char *const *region, int n, const char *bed,
                    const cs_reference *ref) CS_MUST_CHECK;
/** cs_vcf_next - CS_OK; CS_EOF; CS_EFORMAT with file, record and reason; CS_EIO; CS_EMEM;
 * CS_ECANCEL after a signal */
int  cs_vcf_next(cs_vcf *v, cs_arena *mem, cs_vcf_record **out) CS_MUST_CHECK;

/**
 * cs_vcf_info - the values of an INFO key in a record, one text per ALT
 *
 * value    [n_alt] receives texts in `mem`, NULL for missing ones
 * v        the record's input, for messages
 * r        a record with `line`
 * Returns  CS_OK; CS_EFORMAT if the number of values is not that of ALTs; CS_EMEM
 */
int  cs_vcf_info(const cs_vcf *v, const cs_vcf_record *r, const char *key, cs_arena *mem,
                 const char **value) CS_MUST_CHECK;

/** cs_vcf_declares - does the header declare the INFO key? To ask before the first record: htslib
 * declares those that it meets */
bool cs_vcf_declares(const cs_vcf *v, const char *key);

/* ---- out ------------------------------------------------------------------------------------- */

typedef enum cs_vcf_type { CS_VCF_FLOAT, CS_VCF_INTEGER, CS_VCF_STRING } cs_vcf_type;

/* A field to add: Number=A. A hidden one is declared and removed from records, but not written. */
typedef struct cs_vcf_field {
    char       *id, *description;
    cs_vcf_type type;
    bool        hidden;
} cs_vcf_field;

/* Values of a field in one record: per ALT, NAN or NULL if missing; v for Float and Integer, else
 * text. */
typedef struct cs_vcf_values { const double *v; const char *const *text; } cs_vcf_values;

/* AUTO: TBI for VCF, unless a contig is too long for it; CSI for BCF. */
typedef enum cs_vcf_index {
    CS_VCF_NO_INDEX, CS_VCF_INDEX_AUTO, CS_VCF_INDEX_TBI, CS_VCF_INDEX_CSI
} cs_vcf_index;

/* Options of an output. */
typedef struct cs_vcfout_opt {
    const char *path;            /* or "-" */
    char        format;          /* as in bcftools -O: v, z, u or b */
    char        level;           /* of compression, of z and b: '0' to '9'; 0: the default */
    cs_vcf_index index;          /* the index beside it */
    int         threads;
    const char *const *line;     /* [n_line] "##..." lines to add to the header */
    int         n_line;
    const cs_vcf_field *field;   /* [n_field]; must outlive the output */
    int         n_field;
} cs_vcfout_opt;

typedef struct cs_vcfout cs_vcfout;

/** cs_vcfout_open - open and write the header: the lines of `in`, which must outlive it, with ours
 * before the last one. INFO lines of our fields are replaced. CS_OK; CS_EIO; CS_EUSAGE for an index
 * of a format without one; CS_EMEM */
int  cs_vcfout_open(const cs_vcf *in, const cs_vcfout_opt *o, cs_vcfout **out) CS_MUST_CHECK;
/** cs_vcfout_record - write a record with value [n_field]; a field without values is removed from
 * the record. CS_OK; CS_EIO; CS_EFORMAT for a record that BCF cannot hold; CS_ECANCEL if the reader
 * of a pipe has closed it */
int  cs_vcfout_record(cs_vcfout *o, const cs_vcf_record *r, const cs_vcf_values *value)
    CS_MUST_CHECK;
/** cs_vcfout_tell - bytes of VCF text so far, before compression */
int64_t cs_vcfout_tell(const cs_vcfout *o);
/** cs_vcfout_finish - complete file and index, without renaming; to be followed by
 * cs_vcfout_close(), or after an error by cs_vcfout_discard() */
int  cs_vcfout_finish(cs_vcfout *o) CS_MUST_CHECK;
/** cs_vcfout_close - complete, index, rename both; always frees o */
int  cs_vcfout_close(cs_vcfout *o) CS_MUST_CHECK;
/** cs_vcfout_discard - remove temporary files; accepts NULL */
void cs_vcfout_discard(cs_vcfout *o);

#endif
