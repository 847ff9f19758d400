/* reader.h - one interface to readers of FASTA, FASTQ, SAM, BAM and CRAM. */
#ifndef CS_IO_READER_H
#define CS_IO_READER_H

#include "base/log.h"
#include "io/record.h"

struct hFILE;
struct htsFormat;

/* What was odd but no error, summed over all inputs of a run. */
typedef struct cs_input_count {
    cs_counted outside_iupac;    /* records with an X, read as N */
    cs_counted no_end_marker;    /* BGZF inputs without their last block */
    uint64_t   n_record, n_secondary, n_supplementary, n_filtered;
} cs_input_count;

typedef struct cs_input_opt {
    const char     *reference;   /* FASTA for CRAM, or NULL */
    bool            filter;      /* are the two below given? Else primary alignments are read */
    int             require, exclude;   /* FLAG bits that alignments must all have, none of */
    const char *const *region;   /* [n_region] only alignments that overlap these; needs an index */
    int             n_region;
    bool            keep_native; /* alignments come along whole, for a writer that copies them */
    int             threads;     /* extra decompression threads for this input, 0 for none */
    cs_input_count *count;       /* added to; NULL: not wanted. cs_inputs_open() has its own */
    int64_t         from, to;    /* read the records that start there, in bytes of the file; to 0:
                                  * all. Only where cs_inputs_divide() has seen that it works */
    cs_alphabet     alphabet;    /* what is wanted; a reader refuses an input of another one, but
                                  * nucleotides are diplotypes, too */
    bool            series;      /* are real values wanted, too? Else they are refused */
    bool            implied;     /* nobody has named the input: 0 bytes are an error */
} cs_input_opt;

/* How sure a reader is that an input is its own. */
enum { CS_SNIFF_NO, CS_SNIFF_ELSE_MINE, CS_SNIFF_YES };

/* One format family. Formats are distinguished by content (htslib), never by file name. */
typedef struct cs_reader {
    const char *name, *summary;
    /* Is an input of this detected format ours? CS_SNIFF_YES; CS_SNIFF_ELSE_MINE: if nobody else
     * says yes (to refuse it with a reason). `head` is how its text begins, decompressed. */
    int     (*sniff)(const struct htsFormat *f, const char *head, size_t n_head);
    /* `path` (for messages) must outlive the state; `fp` stands at the first byte and is taken
     * over, also on failure. */
    int     (*open)(const char *path, struct hFILE *fp, const struct htsFormat *f,
                    const cs_input_opt *opt, void **state);
    /* Appends one record, and nothing unless it returns CS_OK. */
    int     (*next)(void *state, cs_chunk *c);
    /* Compressed bytes consumed so far, for progress; 0 when it cannot tell. */
    int64_t (*tell)(void *state);
    /* The sam_hdr_t of alignments, the state's own; NULL: the format has none. */
    const void *(*header)(void *state);
    /* Can it read a part (from, to) of a plain or BGZF file? */
    bool    divides;
    /* Frees the state in every case; an error tells that the input could not be closed. */
    int     (*close)(void *state);
} cs_reader;

typedef struct cs_input cs_input;

/**
 * cs_input_open - open one input and find its format
 *
 * path     a file, or "-" for standard input
 * Returns  CS_OK; CS_EIO (cannot open: with the reason); CS_EFORMAT (not a format we read: says
 *          what it looks like); CS_EUSAGE for 0 bytes of an input that nobody has named. Else
 *          an input of 0 bytes is CS_OK and has no records.
 */
int cs_input_open(const char *path, const cs_input_opt *opt, cs_input **out) CS_MUST_CHECK;

/**
 * cs_input_next - append the next record to a chunk
 *
 * c        receives the record; its arena owns the copied bases
 * Returns  CS_OK; CS_EOF at the end; CS_EFORMAT with file and line or record; CS_EIO; CS_EMEM
 * Thread   one thread per input
 */
int cs_input_next(cs_input *in, cs_chunk *c) CS_MUST_CHECK;

/** cs_input_tell - compressed bytes consumed, for progress */
int64_t cs_input_tell(cs_input *in);
/** cs_input_path - as given, "standard input" for "-" */
const char *cs_input_path(const cs_input *in);
/** cs_input_close - accepts NULL. What was cut or corrupt has been told by cs_input_next() before
 * CS_EOF; an error here comes from the operating system */
int cs_input_close(cs_input *in) CS_MUST_CHECK;

/* Several inputs, in sequence: what every command reads from. */
typedef struct cs_inputs cs_inputs;
/** cs_inputs_open - `paths` in order; n = 0 is an error of the caller's. Opens lazily */
int cs_inputs_open(const char *const *paths, int n, const cs_input_opt *opt, cs_inputs **out)
    CS_MUST_CHECK;
/**
 * cs_inputs_divide - read only one of n parts, by bytes, if every input can be read from within
 *
 * no       0 .. n-1. A record is of the part where it starts, or its block in BGZF; parts have
 *          equally many bytes
 * done     whether all are regular files of FASTA or FASTQ, plain or BGZF. Else nothing has
 *          changed. The same for all parts
 * Returns  CS_OK; CS_EIO when a file cannot be read: other parts may see what it is
 *
 * Call before the first record.
 */
int cs_inputs_divide(cs_inputs *in, int64_t no, int64_t n, bool *done) CS_MUST_CHECK;
/** cs_inputs_header - the sam_hdr_t of the first input, NULL if it is no alignment file; `in` keeps
 * it. Opens that input. With keep_native, an input that is aligned to other references is CS_EUSAGE
 * when its turn comes: records are copied with one header. Call before the first record */
int cs_inputs_header(cs_inputs *in, const void **header) CS_MUST_CHECK;
/** cs_inputs_next - as cs_input_next(), serial numbers running on over all inputs */
int cs_inputs_next(cs_inputs *in, cs_chunk *c) CS_MUST_CHECK;
/** cs_inputs_path - the path that is read, or that was read last, for messages */
const char *cs_inputs_path(const cs_inputs *in);
/** cs_inputs_index - which path (0 ..) the last record came from: one class per file in training */
int cs_inputs_index(const cs_inputs *in);
/** cs_inputs_tell, cs_inputs_size - bytes consumed; total bytes, or 0 if any input is no regular
 * file */
int64_t cs_inputs_tell(cs_inputs *in);
int64_t cs_inputs_size(const cs_inputs *in);
/** cs_inputs_report - end-of-run warnings (letters outside IUPAC, ...), counted over all inputs */
void cs_inputs_report(const cs_inputs *in);
void cs_inputs_close(cs_inputs *in);

/** cs_alignment_flags - "0x900", "2304" or "SECONDARY,SUPPLEMENTARY" as FLAG bits; CS_OK, or
 * CS_EUSAGE naming what is no flag */
int cs_alignment_flags(const char *text, int *flags) CS_MUST_CHECK;

#endif
