/* guard.h - memory of the GPU that the processor plays, beside pages that nobody may touch. */
#ifndef CS_TESTS_GPU_HOST_GUARD_H
#define CS_TESTS_GPU_HOST_GUARD_H

#include <stddef.h>

/* Bytes before the memory, for its size; they keep it aligned as cudaMalloc() does. */
enum { CS_HOST_AHEAD = 256 };

/** cs_host_guarded - memory with CS_HOST_AHEAD bytes before it, whose last one lies next to a page
 * that nobody may touch; NULL: there is none */
char *cs_host_guarded(size_t n_bytes);
/** cs_host_unguard - give it back, unless somebody has written behind its end */
void cs_host_unguard(char *p, size_t n_bytes);

#endif
