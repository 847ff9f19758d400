/* shard.h - shards of the input and their manifests. */
#ifndef CS_RUN_SHARD_H
#define CS_RUN_SHARD_H

#include <jansson.h>

#include "base/outfile.h"
#include "infer/stream.h"
#include "run/about.h"
#include "run/outputs.h"

typedef struct cs_shard_args { const char *shard, *manifest; } cs_shard_args;
extern const cs_opt cs_shard_table[];      /* --shard, --manifest */

/* NULL is the whole input: every function accepts it and does nothing. */
typedef struct cs_shard cs_shard;

/** cs_shard_new - a shard from --shard, or NULL. CS_OK; CS_EUSAGE; CS_EIO for a manifest that
 * cannot be written */
int  cs_shard_new(const cs_shard_args *a, cs_shard **out) CS_MUST_CHECK;
void cs_shard_free(cs_shard *s);

/** cs_shard_read - let a stream, whose source is set, read the shard only. Records of one `next`
 * call stay together; both must outlive the run */
int cs_shard_read(cs_shard *s, cs_stream *stream) CS_MUST_CHECK;

/**
 * cs_shard_add - add an output to the manifest; its bytes so far are its header
 *
 * option   that named it, such as "kraken"; kept, as is path
 * tell     returns the bytes of `of`, called by the writing thread
 * Returns  CS_OK, also for /dev/null, which is omitted; CS_EUSAGE if it is standard output or no
 *          regular file, or the manifest itself
 */
int cs_shard_add(cs_shard *s, const char *option, const char *path,
                 int64_t (*tell)(const void *of), const void *of) CS_MUST_CHECK;
/** cs_shard_add_file - the same of a cs_outfile */
int cs_shard_add_file(cs_shard *s, const char *option, const char *path, const cs_outfile *f)
    CS_MUST_CHECK;
/** cs_shard_add_outputs - the same for outputs with a line per record; begins them. Also CS_EUSAGE
 * if any has the manifest's name */
int cs_shard_add_outputs(cs_shard *s, cs_outputs *o) CS_MUST_CHECK;

/** cs_shard_written - all outputs have the records of one call of the source's `next` */
int cs_shard_written(cs_shard *s) CS_MUST_CHECK;

/** cs_shard_save - what the manifest will state of the records so far, for the journal of an
 * interrupted run; NULL when out of memory */
json_t *cs_shard_save(const cs_shard *s);
/** cs_shard_restore - continue from there. The outputs have the bytes of that time, and have been
 * added. CS_OK; CS_EFORMAT for a damaged state; CS_EMEM */
int cs_shard_restore(cs_shard *s, const json_t *state) CS_MUST_CHECK;

/** cs_shard_end - the run has ended and outputs are complete; they may be closed afterwards */
int cs_shard_end(cs_shard *s) CS_MUST_CHECK;

/**
 * cs_shard_close - write the manifest, after renaming the outputs
 *
 * more     further members, or NULL; taken over
 */
int cs_shard_close(cs_shard *s, const cs_about *about, json_t *more) CS_MUST_CHECK;

/** cs_shard_warn_empty - warn about no records, unless other shards have them */
void cs_shard_warn_empty(const cs_shard *s);

/** cs_shard_wants - is a manifest required? */
bool cs_shard_wants(const cs_shard *s);

#endif
