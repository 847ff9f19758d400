/* reader.h - one interface to readers of FASTA, FASTQ, SAM, BAM and CRAM. */
#ifndef CS_IO_READER_H
#define CS_IO_READER_H

#include "base/log.h"
#include "io/record.h"

struct hFILE;
struct htsFormat;
struct sam_hdr_t;
struct cs_programs;

/* Counts for warnings, summed over all inputs of a run. */
typedef struct cs_input_count {
    cs_warning outside_iupac;    /* records with an X, read as N */
    cs_warning no_end_marker;    /* BGZF inputs without their last block */
    uint64_t   n_secondary, n_supplementary, n_filtered;
} cs_input_count;

/* Required format of an input. */
typedef enum cs_input_format {
    CS_INPUT_ANY, CS_INPUT_FASTA, CS_INPUT_FASTQ, CS_INPUT_SAM, CS_INPUT_BAM, CS_INPUT_CRAM
} cs_input_format;

typedef struct cs_input_opt {
    cs_input_format format;
    const char     *reference;   /* FASTA for CRAM, or NULL */
    bool            filter;      /* are the two below set? Else primary alignments are read */
    int             require, exclude;   /* FLAG bits that alignments must all have, none of */
    const char     *expr;        /* filter expression of htslib that is true of all, or NULL */
    const char *const *region;   /* [n_region] only alignments that overlap these; needs an index */
    int             n_region;
    bool            keep_native; /* attach whole alignments, for a writer that copies them */
    const struct cs_programs *programs;   /* to change in these, or NULL */
    int             threads;     /* extra decompression threads for this input, 0 for none */
    cs_input_count *count;       /* incremented; NULL: not needed. cs_inputs_open() has its own */
    int64_t         from, to;    /* read the records that start in this range, in bytes of the file;
                                  * to 0: all. Only after a check by cs_inputs_divide() */
    cs_alphabet     alphabet;    /* required alphabet; a reader refuses inputs of another one, but
                                  * nucleotides are valid diplotypes */
    bool            series;      /* accept real values? Else they are refused */
    bool            implied;     /* standard input by default: 0 bytes are an error */
} cs_input_opt;

/* A reader's confidence that an input has its format. */
enum { CS_SNIFF_NO, CS_SNIFF_FALLBACK, CS_SNIFF_YES };

/* One format family. Formats are distinguished by content (htslib), never by file name. */
typedef struct cs_reader {
    const char *name;
    /* Does the reader accept this detected format? CS_SNIFF_YES; CS_SNIFF_FALLBACK: if no other
     * reader does (to refuse it with a reason). `head` is the start of the text, decompressed. */
    int     (*sniff)(const struct htsFormat *f, const char *head, size_t n_head);
    /* `path` (for messages) must outlive the state; `fp` is at the first byte and is taken
     * over, also on failure. */
    int     (*open)(const char *path, struct hFILE *fp, const struct htsFormat *f,
                    const cs_input_opt *opt, void **state);
    /* Appends one record; nothing on an error. */
    int     (*next)(void *state, cs_chunk *c);
    /* Compressed bytes consumed so far, for progress; 0 if unknown. */
    int64_t (*tell)(void *state);
    /* The sam_hdr_t of alignments, owned by the state; NULL: the format has none. */
    struct sam_hdr_t *(*header)(void *state);
    /* Can it read a part (from, to) of a plain or BGZF file? */
    bool    divides;
    /* Always frees the state; an error means that the input could not be closed. */
    int     (*close)(void *state);
} cs_reader;

typedef struct cs_input cs_input;

/**
 * cs_input_open - open one input and find its format
 *
 * path     a file, or "-" for standard input
 * Returns  CS_OK; CS_EIO (cannot open: with the reason); CS_EFORMAT (unsupported format, with its
 *          name); CS_EUSAGE for 0 bytes of standard input by default. Otherwise an input of 0 bytes
 *          is CS_OK and has no records.
 */
int cs_input_open(const char *path, const cs_input_opt *opt, cs_input **out) CS_MUST_CHECK;

/**
 * cs_input_next - append the next record to a chunk
 *
 * c        receives the record; its arena owns the copied bases
 * Returns  CS_OK; CS_EOF at the end; CS_EFORMAT with file and line or record; CS_EIO; CS_EMEM;
 *          CS_EUSAGE for an invalid opt.expr; CS_ECANCEL after a signal
 * Thread   one thread per input
 */
int cs_input_next(cs_input *in, cs_chunk *c) CS_MUST_CHECK;

/** cs_input_close - accepts NULL. Truncation and corruption are reported by cs_input_next() before
 * CS_EOF; an error here comes from the operating system */
int cs_input_close(cs_input *in) CS_MUST_CHECK;

/** cs_input_check - can it be opened later? A missing file is reported before the first is read.
 * CS_OK, also for standard input and addresses; CS_EIO */
int cs_input_check(const char *path) CS_MUST_CHECK;

/* Several inputs, in sequence. */
typedef struct cs_inputs cs_inputs;
/** cs_inputs_open - `paths` in order; n = 0 is a bug of the caller. Opens lazily */
int cs_inputs_open(const char *const *paths, int n, const cs_input_opt *opt, cs_inputs **out)
    CS_MUST_CHECK;
/**
 * cs_inputs_divide - read only one of n parts, by bytes, if every input supports it
 *
 * no       0 .. n-1. A record belongs to the part where it starts, or its block in BGZF; parts have
 *          equal bytes
 * done     whether all are regular files of FASTA or FASTQ, plain or BGZF. Else nothing has
 *          changed. The same for all parts
 * Returns  CS_OK; CS_EIO when a file cannot be read; the other parts may be able to
 *
 * Call before the first record.
 */
int cs_inputs_divide(cs_inputs *in, int64_t no, int64_t n, bool *done) CS_MUST_CHECK;
/**
 * cs_inputs_header - one sam_hdr_t for the alignments of all inputs, with keep_native
 *
 * A copy of the first alignment file's header with the read groups, programs and comments of the
 * others (cs_sam_header_join()); with several inputs it is marked as unsorted. Opens the first
 * input, and regular files after it for their headers. The header of a later pipe is compared when
 * the pipe is opened, by the same rules; a line of it that the output lacks is a warning.
 *
 * mates    inputs of second mates, or NULL
 * header   receives it; NULL: no input has alignments. `in` owns it
 * Returns  CS_OK; CS_EUSAGE if inputs are aligned to different references, or a read group differs
 *          from one of the same ID; CS_EFORMAT for invalid headers; errors of cs_input_open()
 *
 * Call before the first record.
 */
int cs_inputs_header(cs_inputs *in, cs_inputs *mates, const void **header) CS_MUST_CHECK;
/** cs_inputs_next - as cs_input_next(), serial numbers running on over all inputs */
int cs_inputs_next(cs_inputs *in, cs_chunk *c) CS_MUST_CHECK;
/** cs_inputs_each_chunk - read all records, and pass chunk by chunk to `take`. CS_OK; the errors of
 * reading and of take(); CS_EMEM; CS_ECANCEL after a signal */
int cs_inputs_each_chunk(cs_inputs *in, int (*take)(void *arg, const cs_chunk *c), void *arg)
    CS_MUST_CHECK;
/** cs_inputs_path - path of the current or last input, for messages */
const char *cs_inputs_path(const cs_inputs *in);
/** cs_inputs_index - index of the last record's path (0 ..): one class per file in training */
int cs_inputs_index(const cs_inputs *in);
/** cs_inputs_tell, cs_inputs_size - bytes consumed; total bytes, or 0 if any input is no regular
 * file */
int64_t cs_inputs_tell(cs_inputs *in);
int64_t cs_inputs_size(const cs_inputs *in);
/** cs_inputs_report - end-of-run warnings (letters outside IUPAC, ...), counted over all inputs */
void cs_inputs_report(const cs_inputs *in);
void cs_inputs_close(cs_inputs *in);

/** cs_alignment_flags - "0x900", "2304" or "SECONDARY,SUPPLEMENTARY" as FLAG bits; CS_OK, or
 * CS_EUSAGE naming the invalid flag */
int cs_alignment_flags(const char *text, int *flags) CS_MUST_CHECK;

#endif
