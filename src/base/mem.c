/*
 * mem.c - checked allocation, cached blocks, and arenas.
 *
 * DESIGN
 * Large blocks have one of four sizes per power of two; freed ones are cached in a list per size.
 *
 * An arena is a chain of blocks that double in size up to BLOCK_MAX; allocation bumps a pointer in
 * the newest one. A comparatively large request gets its own block behind the newest, which remains
 * in use. Blocks never move, so pointers are valid until the arena is freed.
 *
 *   arena -> [newest: used ...... free] -> [large: full] -> [older: full] -> NULL
 *
 * AddressSanitizer sees a whole block as one allocation, which would hide overruns from one arena
 * allocation into the next; therefore all unallocated memory is poisoned, and a gap is left
 * between neighbours (zstd's workspace does the same).
 */
#define _GNU_SOURCE              /* madvise */
#include "base/mem.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = 32, KEEP_NONE = 1 };
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
enum { RED_ZONE = 0, KEEP_NONE = 0 };
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum { ALIGN = 16, BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20, GROW_MIN = 16,
       LINE = 64, HUGE_PAGE = 2 << 20 };

static atomic_long fail_at = -1;

void cs_mem_fail_at(long n)
{
    atomic_store(&fail_at, n);
}

static int must_fail(void)
{
    /* The load keeps the counter from running down to LONG_MIN while it is switched off. */
    return atomic_load_explicit(&fail_at, memory_order_relaxed) >= 0
        && atomic_fetch_sub(&fail_at, 1) == 0;
}

static void *or_exit(void *p, size_t n_bytes)
{
    if (p == NULL)
        cs_exhausted(n_bytes);
    return p;
}

/* malloc(0) may return NULL, which here means failure; so nothing is rounded up to one byte. */
static size_t at_least_one(size_t n_bytes)
{
    return n_bytes ? n_bytes : 1;
}

void *cs_xmalloc(size_t n_bytes)
{
    return or_exit(malloc(at_least_one(n_bytes)), n_bytes);
}

void *cs_xcalloc(size_t n, size_t size)
{
    return or_exit(calloc(at_least_one(n), at_least_one(size)), n * size);
}

void *cs_xrealloc(void *p, size_t n_bytes)
{
    return or_exit(realloc(p, at_least_one(n_bytes)), n_bytes);
}

char *cs_xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;

    return memcpy(cs_xmalloc(n), s, n);
}

void cs_free_list(void *const *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(p[i]);
}

void *cs_alloc(size_t n, size_t size)
{
    return cs_realloc(NULL, n, size);
}

void *cs_realloc(void *p, size_t n, size_t size)
{
    size_t n_bytes;

    if (must_fail() || __builtin_mul_overflow(n, size, &n_bytes) || n_bytes > PTRDIFF_MAX)
        return NULL;
    return realloc(p, at_least_one(n_bytes));
}

void *cs_huge_alloc(size_t n, size_t size)
{
    void *p = NULL;
    size_t n_bytes;

    if (must_fail() || __builtin_mul_overflow(n, size, &n_bytes) || n_bytes > PTRDIFF_MAX)
        return NULL;
    const bool large = n_bytes >= HUGE_PAGE;
    if (posix_memalign(&p, large ? HUGE_PAGE : LINE, at_least_one(n_bytes)) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (large)
        (void)madvise(p, n_bytes, MADV_HUGEPAGE);
#endif
    return p;
}

int cs_try_grow(void **p, size_t *cap, size_t need, size_t size)
{
    void *old, *grown;
    size_t want = *cap < GROW_MIN ? GROW_MIN : *cap;

    if (need <= *cap)
        return CS_OK;
    if (want == *cap && __builtin_mul_overflow(want, (size_t)2, &want))
        want = need;
    if (want < need)
        want = need;
    /* The caller's pointer has another type than void *, so it is copied, not dereferenced. */
    memcpy(&old, p, sizeof old);
    grown = cs_realloc(old, want, size);
    if (grown == NULL)
        return CS_EMEM;
    memcpy(p, &grown, sizeof grown);
    *cap = want;
    return CS_OK;
}

int cs_grow(void **p, size_t *cap, size_t need, size_t size)
{
    return cs_try_grow(p, cap, need, size) == CS_OK ? CS_OK
         : cs_fail(CS_EMEM, "out of memory: cannot hold %zu elements of %zu bytes", need, size);
}

/* ---- blocks ------------------------------------------------------------------------------- */

enum { KEPT_MIN_LOG2 = 14, KEPT_MAX_LOG2 = 23, STEPS = 4,
       N_SIZE = STEPS * (KEPT_MAX_LOG2 - KEPT_MIN_LOG2) + 1,
       CACHED_BYTES = 64 << 20 };

/* Header of every block: its size and, while cached, the next one in the list. */
struct cached {
    alignas(ALIGN) size_t n_bytes;             /* 0: malloc's own size, never cached */
    struct cached *next;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cached *cached[N_SIZE];
static size_t cached_bytes;

static size_t size_at(int i)
{
    return ((size_t)1 << (KEPT_MIN_LOG2 + i / STEPS)) / STEPS * (size_t)(STEPS + i % STEPS);
}

/* The number of the smallest size that holds n_bytes; N_SIZE if none does or caching is off. */
static int size_for(size_t n_bytes)
{
    int i = 0;

    if (KEEP_NONE || n_bytes < size_at(0))
        return N_SIZE;
    while (i < N_SIZE && size_at(i) < n_bytes)
        i++;
    return i;
}

static struct cached *take_cached(int i)
{
    CS_BUG(pthread_mutex_lock(&cache_lock) != 0);
    struct cached *k = cached[i];
    if (k != NULL) {
        cached[i] = k->next;
        cached_bytes -= k->n_bytes;
    }
    CS_BUG(pthread_mutex_unlock(&cache_lock) != 0);
    return k;
}

static void *block_take(size_t n_bytes)
{
    int i;
    struct cached *k = NULL;

    if (n_bytes > PTRDIFF_MAX - sizeof *k)
        return NULL;
    n_bytes += sizeof *k;
    i = size_for(n_bytes);
    if (i < N_SIZE)
        k = take_cached(i);
    if (k == NULL) {
        if ((k = malloc(i < N_SIZE ? size_at(i) : n_bytes)) == NULL)
            return NULL;
        *k = (struct cached){ .n_bytes = i < N_SIZE ? size_at(i) : 0 };
    }
    return k + 1;
}

void *cs_block_alloc(size_t n, size_t size)
{
    size_t n_bytes;

    if (must_fail() || __builtin_mul_overflow(n, size, &n_bytes))
        return NULL;
    return block_take(n_bytes);
}

void cs_block_free(void *p)
{
    struct cached *k = p == NULL ? NULL : (struct cached *)p - 1;

    if (!KEEP_NONE && k != NULL && k->n_bytes > 0) {
        CS_BUG(pthread_mutex_lock(&cache_lock) != 0);
        if (k->n_bytes <= CACHED_BYTES - cached_bytes) {
            const int i = size_for(k->n_bytes);
            k->next = cached[i];
            cached[i] = k;
            cached_bytes += k->n_bytes;
            k = NULL;
        }
        CS_BUG(pthread_mutex_unlock(&cache_lock) != 0);
    }
    free(k);
}

/* ---- arenas ------------------------------------------------------------------------------- */

/* Invariant: used <= cap; data[used .. cap-1] is unallocated (and poisoned). */
struct block {
    struct block *next;
    size_t cap, used;
    alignas(ALIGN) unsigned char data[];
};

#ifndef __APPLE__                /* which does, whatever its largest type needs */
_Static_assert(alignof(max_align_t) >= ALIGN, "malloc must align blocks to 16 bytes");
#endif

struct cs_arena {
    struct block *newest;
    size_t n_bytes;              /* sum of all blocks with their headers */
};

cs_arena *cs_arena_new(void)
{
    return cs_xcalloc(1, sizeof(cs_arena));
}

static struct block *block_new(cs_arena *a, size_t cap)
{
    struct block *b;

    if (cap > PTRDIFF_MAX - sizeof *b || (b = block_take(sizeof *b + cap)) == NULL)
        return NULL;
    *b = (struct block){ .cap = cap };
    POISON(b->data, cap);
    a->n_bytes += sizeof *b + cap;
    return b;
}

/* A block with space for n_bytes: the newest one, a new newest one, or one for this request. */
static struct block *block_for(cs_arena *a, size_t n_bytes)
{
    struct block *b = a->newest, *fresh;
    size_t cap = b == NULL ? BLOCK_MIN : 2 * b->cap;

    if (b != NULL && n_bytes <= b->cap - b->used)
        return b;
    /* Grow fast enough, or every item of some kB would get its own block. */
    while (cap < BLOCK_MAX && n_bytes > cap / 4)
        cap *= 2;
    if (cap > BLOCK_MAX)
        cap = BLOCK_MAX;
    fresh = block_new(a, n_bytes > cap / 4 ? n_bytes : cap);
    if (fresh == NULL)
        return NULL;
    if (b != NULL && fresh->cap == n_bytes) {
        fresh->next = b->next;
        b->next = fresh;
    } else {
        fresh->next = b;
        a->newest = fresh;
    }
    return fresh;
}

void *cs_arena_alloc(cs_arena *a, size_t n, size_t size)
{
    size_t n_bytes;
    struct block *b;
    void *p;

    if (must_fail() || __builtin_mul_overflow(n, size, &n_bytes)
        || n_bytes > PTRDIFF_MAX - RED_ZONE - ALIGN)
        return NULL;
    size_t taken = (at_least_one(n_bytes) + RED_ZONE + ALIGN - 1) / ALIGN * ALIGN;
    if ((b = block_for(a, taken)) == NULL)
        return NULL;
    p = b->data + b->used;
    b->used += taken;
    UNPOISON(p, n_bytes);
    return p;
}

char *cs_arena_dup(cs_arena *a, const void *p, size_t n_bytes)
{
    char *copy = n_bytes < SIZE_MAX ? cs_arena_alloc(a, n_bytes + 1, 1) : NULL;

    if (copy == NULL)
        return NULL;
    if (n_bytes > 0)
        memcpy(copy, p, n_bytes);
    copy[n_bytes] = '\0';
    return copy;
}

size_t cs_arena_bytes(const cs_arena *a)
{
    return a->n_bytes;
}

void cs_arena_free(cs_arena *a)
{
    struct block *next;

    if (a == NULL)
        return;
    for (struct block *b = a->newest; b != NULL; b = next) {
        next = b->next;
        UNPOISON(b->data, b->cap);
        cs_block_free(b);
    }
    free(a);
}
