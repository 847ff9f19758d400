/* mem.h - checked allocation, arenas, and a hook that makes the n-th allocation fail. */
#ifndef CS_BASE_MEM_H
#define CS_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/**
 * cs_xmalloc, cs_xcalloc, cs_xrealloc, cs_xstrdup - small, fixed-size memory
 *
 * Print a message and exit(1) when out of memory: there is no recovery for a few bytes. Anything
 * sized by input or options uses cs_alloc() or an arena instead. Free with free().
 */
void *cs_xmalloc(size_t n_bytes);
void *cs_xcalloc(size_t n, size_t size);
void *cs_xrealloc(void *p, size_t n_bytes);
char *cs_xstrdup(const char *s);

/** CS_FREE - free() each of the pointers, all of which are read before the first is freed */
#define CS_FREE(...) \
    cs_free_list((void *const[]){ __VA_ARGS__ }, sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *))
void cs_free_list(void *const *p, size_t n);

/**
 * cs_alloc - memory sized by input or options; n * size is checked for overflow
 *
 * Returns  NULL when out of memory (the caller returns CS_EMEM); not zeroed. Free with free().
 */
void *cs_alloc(size_t n, size_t size) CS_MUST_CHECK;

/**
 * cs_huge_alloc - as cs_alloc, for memory that is read at random
 *
 * From 2 MiB on in huge pages where the system has them: fewer misses of the TLB. Aligned to 64
 * bytes.
 */
void *cs_huge_alloc(size_t n, size_t size) CS_MUST_CHECK;

/** cs_realloc - as cs_alloc; on NULL the old block remains valid */
void *cs_realloc(void *p, size_t n, size_t size) CS_MUST_CHECK;

/**
 * cs_grow - make space for at least `need` elements in a growing array (doubling)
 *
 * p        address of the array pointer (pass (void **)&array)
 * cap      its capacity in elements, updated
 * Returns  CS_OK, or CS_EMEM with a message; the array is unchanged on failure
 */
int cs_grow(void **p, size_t *cap, size_t need, size_t size) CS_MUST_CHECK;
/** cs_try_grow - the same without a message, for callers that have a better one */
int cs_try_grow(void **p, size_t *cap, size_t need, size_t size) CS_MUST_CHECK;

/**
 * cs_block_alloc, cs_block_free - as cs_alloc and free, for large short-lived memory
 *
 * Freed blocks are cached, up to 64 MiB in all, and reused: fresh pages of the kernel cost more
 * than most work on them. Blocks of less than 16 KiB or more than 8 MiB use malloc directly; so do
 * all under AddressSanitizer, to detect uses after free.
 *
 * Thread   any, also to free blocks of another one
 */
void *cs_block_alloc(size_t n, size_t size) CS_MUST_CHECK;
void cs_block_free(void *p);                              /* accepts NULL */

/* Many allocations, one free. Blocks are chained, so pointers are valid until the arena is freed.
 * Under AddressSanitizer the bytes between allocations are poisoned. Not thread-safe. */
typedef struct cs_arena cs_arena;

/** cs_arena_new - an empty arena; exits when out of memory (it is a small struct) */
cs_arena *cs_arena_new(void);
/** cs_arena_alloc - n*size bytes aligned to 16, not zeroed; NULL when out of memory */
void *cs_arena_alloc(cs_arena *a, size_t n, size_t size) CS_MUST_CHECK;
/** cs_arena_dup - a copy of n bytes plus a NUL; NULL when out of memory */
char *cs_arena_dup(cs_arena *a, const void *p, size_t n_bytes) CS_MUST_CHECK;
/** cs_arena_bytes - memory held, in bytes (what queues count) */
size_t cs_arena_bytes(const cs_arena *a);
/** cs_arena_free - everything at once; accepts NULL */
void cs_arena_free(cs_arena *a);

/**
 * cs_mem_fail_at - let allocation number n from now fail (0: the next); -1 switches it off
 *
 * For tests: every function above counts. cs_x* functions ignore it.
 */
void cs_mem_fail_at(long n);

#endif
