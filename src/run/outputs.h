/* outputs.h - all outputs of a run: opened, written and renamed into place together. */
#ifndef CS_RUN_OUTPUTS_H
#define CS_RUN_OUTPUTS_H

#include "infer/policy.h"
#include "io/writer.h"
#include "nn/exec/model.h"

enum { CS_MAX_WRITER = 32 };

/* The options of every writer, by its place in the registry. */
typedef struct cs_output_args {
    _Alignas(max_align_t) unsigned char cfg[CS_MAX_WRITER][CS_WRITER_CFG];
    int    resume;
    double resume_every;
} cs_output_args;
/** cs_outputs_options - append the tables of all writers to set. Returns how many; at most
 * CS_MAX_WRITER + 2 */
int cs_outputs_options(cs_output_args *a, cs_optset *set);

typedef struct cs_outputs cs_outputs;

/**
 * cs_outputs_check - check that paths differ and formats fit the model
 *
 * taxa     calls may be taxa above the classes
 * merged   merge will read these options from a manifest
 * Returns  CS_OK; CS_EUSAGE (two outputs with one name or both on standard output; a format for
 *          classes with a model of values; a refusal by a writer's check)
 */
int cs_outputs_check(const cs_output_args *a, const cs_model *m, bool taxa, bool merged)
    CS_MUST_CHECK;

/** cs_outputs_same - do two paths name the same file? Missing files are compared by folder and base
 * name; devices such as /dev/null never match */
bool cs_outputs_same(const char *a, const char *b);

/** cs_outputs_distinct - check that n paths differ. NULL: not requested. CS_OK, or CS_EUSAGE */
int cs_outputs_distinct(const char *const *path, int n) CS_MUST_CHECK;

/** cs_outputs_probe - can it be created and written, and may its kind have the suffix? Checked
 * before hours of work. path NULL: not requested. CS_OK, CS_EIO, CS_EUSAGE */
int cs_outputs_probe(const char *path, cs_out_kind kind) CS_MUST_CHECK;

/** cs_outputs_commit - complete n files (or NULL), then rename them together. Renamed ones become
 * NULL; the caller discards the others. CS_OK; CS_EIO; CS_ECANCEL on a signal before the first
 * rename */
int cs_outputs_commit(cs_outfile **const file[], int n) CS_MUST_CHECK;

/** cs_outputs_explain - after one of n outputs ended the run with rc: a closed pipe (CS_ECANCEL)
 * that loses other outputs is an error. path: of that output, "-" for standard output; NULL: not
 * known. Returns rc, or CS_EIO with a message */
int cs_outputs_explain(int rc, int n, const char *path);

/** cs_outputs_want_native - does an output need whole alignments? */
bool cs_outputs_want_native(const cs_output_args *a);

/**
 * cs_outputs_open - open all requested outputs; the args have passed cs_outputs_check()
 *
 * info     metadata for the formats; its pointers must outlive the outputs. Fields from options are
 *          set here
 */
int cs_outputs_open(const cs_output_args *a, const cs_output_info *info, cs_outputs **out)
    CS_MUST_CHECK;
/** cs_outputs_record - one record to all; a sink for cs_stream, with the cs_outputs as argument.
 * CS_ECANCEL without a message if standard output's reader has closed it and nothing else is
 * lost */
int cs_outputs_record(void *outputs, const cs_record *r, const cs_prediction *a) CS_MUST_CHECK;
/**
 * cs_outputs_save - sync all, and return their state
 *
 * out      receives an object for info.from of a later run
 */
int cs_outputs_save(const cs_outputs *o, json_t **out) CS_MUST_CHECK;
/** cs_outputs_resumed - path of an output for the journal's name; NULL: without --resume */
const char *cs_outputs_resumed(const cs_output_args *a);
/** cs_outputs_first - one of them, for its counts; there is at least one */
const cs_output *cs_outputs_first(const cs_outputs *o);
/** cs_outputs_at - the i-th; NULL: there are not as many */
cs_output *cs_outputs_at(const cs_outputs *o, int i);
/** cs_outputs_finish - complete all, without renaming; to be closed or discarded */
int cs_outputs_finish(cs_outputs *o) CS_MUST_CHECK;
/** cs_outputs_close - complete all, then rename all; always frees o */
int cs_outputs_close(cs_outputs *o) CS_MUST_CHECK;
/** cs_outputs_discard - remove temporary files; accepts NULL */
void cs_outputs_discard(cs_outputs *o);

/** cs_outputs_summary - "97 called, 2 empty, 1 too_long; both strands", every record once; n_before
 * of them come from an interrupted run */
void cs_outputs_summary(const cs_outputs *o, uint64_t n_before, const cs_policy *p, char *buf,
                        size_t n_buf);
/** cs_outputs_warn_few_calls - warn if half of the records or more have no confident call. remedy:
 * options that call all. Without shares of classes, the message names --prior, too */
void cs_outputs_warn_few_calls(const cs_outputs *o, const char *remedy);

#endif
