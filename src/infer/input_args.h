/* input_args.h - options of the inputs: their files, formats, filters, regions, pairs. */
#ifndef CS_INFER_INPUT_ARGS_H
#define CS_INFER_INPUT_ARGS_H

#include "base/opt.h"
#include "io/pairs.h"

typedef struct cs_input_args {
    cs_strlist  file, list, region;
    const char *reference, *require, *exclude, *regions, *filter;
    int         format;          /* cs_input_format */
    cs_strlist  text;            /* names from lists, regions of a BED file; owned, see
                                  * cs_args_release() */
    bool        has_regions;     /* those of the BED file are in `region` */
    bool        implied;         /* standard input, by default */
} cs_input_args;
typedef struct cs_pair_args { cs_strlist first, second; int interleaved; } cs_pair_args;

extern const cs_opt cs_input_table[];      /* -i/--input, --input-fmt, -T, -f, -F, -e, -r, ... */
extern const cs_opt cs_pair_table[];       /* -1/--mates-1, -2/--mates-2, --interleaved */

/** cs_args_file - take the index off an input's name (io/index_name.h), and check that the file can
 * be opened. CS_OK; CS_EUSAGE if one of the two is an output; CS_EIO */
int cs_args_file(const char **path) CS_MUST_CHECK;

/**
 * cs_args_input - collect the input files: -i, operands and lists, or standard input
 *
 * Files that are given twice are read twice, with a warning.
 *
 * Returns  CS_OK; CS_EUSAGE if there are none and standard input is a terminal, if standard input
 *          is named twice, or if one of them is an output; CS_EIO for a list or an input that
 *          cannot be read
 */
int cs_args_input(cs_input_args *a) CS_MUST_CHECK;

/** cs_args_repeats - for every file, the first one of the list that is the same regular file, by
 * device and inode, if that is another one; otherwise -1. free() it */
int *cs_args_repeats(const cs_strlist *file);
/** cs_args_warn_repeats - warn if any file is in the list again */
void cs_args_warn_repeats(const cs_strlist *file);

/** cs_args_once - the first of n files that can be read only once (a pipe, a terminal), or NULL.
 * Elements of `file` may be NULL */
const char *cs_args_once(const char *const *file, int n);

/* Records of the inputs: of `in` alone, or pairs of mates, by cs_pairs_next(). */
typedef struct cs_record_source {
    cs_inputs *in, *second;
    cs_pairs   pairs;
    bool       paired;
} cs_record_source;

/**
 * cs_record_source_find - collect the names of the inputs, and check that they can be opened: -i,
 * lists and operands, or mates (-1 and -2)
 *
 * a        receives the names, those of all first mates before those of the second ones
 * Returns  CS_OK; CS_EUSAGE if both kinds are named, or -1 and -2 differ in number; the errors of
 *          cs_args_input()
 */
int  cs_record_source_find(cs_input_args *a, const cs_pair_args *pair) CS_MUST_CHECK;

/** cs_record_source_note_mates - a note if two FASTQ files, read one after the other, have names of
 * mates, such as x_R1.fq.gz and x_R2.fq.gz; for commands with -1 and -2 */
void cs_record_source_note_mates(const cs_input_args *a, const cs_pair_args *pair);

/** cs_record_source_open - open the inputs that cs_record_source_find() has found. CS_OK; the
 * errors of cs_inputs_open() */
int  cs_record_source_open(const cs_input_args *a, const cs_pair_args *pair,
                           const cs_input_opt *input_opt, cs_record_source *s) CS_MUST_CHECK;
void cs_record_source_close(cs_record_source *s);

/** cs_args_input_opt - reader settings from the options, with the regions of -R; points into `a`.
 * CS_OK; CS_EUSAGE; CS_EIO and CS_EFORMAT of the BED file; CS_EMEM */
int cs_args_input_opt(cs_input_args *a, int n_inflate, cs_input_opt *input_opt) CS_MUST_CHECK;

/** cs_args_release - free what cs_args_input() has read */
void cs_args_release(cs_input_args *a);

#endif
