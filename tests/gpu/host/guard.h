/* guard.h - device memory of the emulated GPU, next to guard pages. */
#ifndef CS_TESTS_GPU_HOST_GUARD_H
#define CS_TESTS_GPU_HOST_GUARD_H

#include <stddef.h>

/* Bytes before an allocation, for its size and device; a multiple of cudaMalloc()'s alignment. */
enum { CS_HOST_HEADER_BYTES = 256 };

/** cs_host_guarded_alloc - memory after CS_HOST_HEADER_BYTES, ending at a guard page; NULL: none */
char *cs_host_guarded_alloc(size_t n_bytes);
/** cs_host_guarded_free - free it; aborts if bytes beyond its end were written */
void cs_host_guarded_free(char *p, size_t n_bytes);

#endif
