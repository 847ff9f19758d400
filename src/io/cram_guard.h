/* cram_guard.h - check what CRAM files declare before htslib allocates it. */
#ifndef CS_IO_CRAM_GUARD_H
#define CS_IO_CRAM_GUARD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cs_cram_guard cs_cram_guard;

/**
 * cs_cram_guard_new - for one CRAM file
 *
 * path     a regular file; of anything else nothing is checked here: see cs_cram_guard_pass().
 *          Must outlive the guard
 * threads  htslib's extra threads, which read ahead
 */
cs_cram_guard *cs_cram_guard_new(const char *path, int threads);
/** cs_cram_guard_free - accepts NULL */
void cs_cram_guard_free(cs_cram_guard *g);
/**
 * cs_cram_guard_reach - check containers before they are decoded
 *
 * at       how far the file is read, in bytes
 * Returns  CS_OK; CS_EFORMAT for a container whose declared sizes do not fit its bytes. What is
 *          truncated is left to htslib
 */
int cs_cram_guard_reach(cs_cram_guard *g, int64_t at) CS_MUST_CHECK;

/** cs_cram_guard_jump - the same after a jump to the container at `at`, as for a region */
int cs_cram_guard_jump(cs_cram_guard *g, int64_t at) CS_MUST_CHECK;

/* Up to n bytes of a stream; 0 at its end. */
typedef int64_t cs_cram_read(void *arg, char *to, size_t n);

/** cs_cram_guard_stream - for a stream that begins with "CRAM"; reads its beginning. `path` is its
 * name in messages and must outlive the guard */
cs_cram_guard *cs_cram_guard_stream(const char *path, cs_cram_read *read, void *arg);
/**
 * cs_cram_guard_pass - the stream's next bytes, checked: a container
 *
 * p, n     receive them, valid until the next call; n is 0 at the end
 * Returns  CS_OK; CS_EFORMAT as above; CS_EMEM. A container is held in memory, which grows with the
 *          bytes that arrive, not with those it declares
 */
int cs_cram_guard_pass(cs_cram_guard *g, const char **p, size_t *n) CS_MUST_CHECK;

#endif
