/* guard.h - device memory of the emulated GPU, next to guard pages. */
#ifndef CS_TESTS_GPU_HOST_GUARD_H
#define CS_TESTS_GPU_HOST_GUARD_H

#include <stddef.h>

/** cs_host_guarded_alloc - memory with the alignment of cudaMalloc(), ending at a guard page; NULL:
 * none */
char *cs_host_guarded_alloc(size_t n_bytes);
/** cs_host_guarded_protect - make it accessible, or not */
void cs_host_guarded_protect(char *p, size_t n_bytes, bool accessible);
/** cs_host_guarded_free - free it; aborts if bytes beyond its end were written */
void cs_host_guarded_free(char *p, size_t n_bytes);

#endif
