/* guard.h - device memory of the emulated GPU, next to guard pages. */
#ifndef CS_TESTS_GPU_HOST_GUARD_H
#define CS_TESTS_GPU_HOST_GUARD_H

#include <stddef.h>

/* Bytes before the memory, for its size; aligned as with cudaMalloc(). */
enum { CS_HOST_AHEAD = 256 };

/** cs_host_guarded - memory with CS_HOST_AHEAD bytes before it, ending at a guard page; NULL:
 * none */
char *cs_host_guarded(size_t n_bytes);
/** cs_host_unguard - free it; aborts if bytes beyond its end were written */
void cs_host_unguard(char *p, size_t n_bytes);

#endif
