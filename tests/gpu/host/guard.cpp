/* guard.cpp - device memory of the emulated GPU, next to guard pages. */
#include "guard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_runtime.h"

enum { ALIGNMENT = 256 };        /* of cudaMalloc() */

static size_t round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

char *cs_host_guarded_alloc(size_t n_bytes)
{
    const size_t page = page_bytes(), n = round_up(n_bytes, ALIGNMENT), total = round_up(n, page);
    char *p = (char *)mmap(NULL, total + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, total, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    (void)madvise(p, total, MADV_HUGEPAGE);        /* fewer entries for cs_host_guarded_protect() */
    memset(p, 0xFF, total);
    return p + total - n;
}

void cs_host_guarded_free(char *p, size_t n_bytes)
{
    const size_t page = page_bytes(), n = round_up(n_bytes, ALIGNMENT), total = round_up(n, page);
    for (size_t i = n_bytes; i < n; i++)
        if ((unsigned char)p[i] != 0xFF)
            abort();
    (void)munmap(p + n - total, total + page);
}

void cs_host_guarded_protect(char *p, size_t n_bytes, bool accessible)
{
    const size_t n = round_up(n_bytes, ALIGNMENT), total = round_up(n, page_bytes());
    if (mprotect(p + n - total, total, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        abort();
}

void *cs_host_guarded_shared(size_t n_bytes)
{
    static char *end;
    if (!end)
        end = cs_host_guarded_alloc(227 << 10) + (227 << 10);
    return end - round_up(n_bytes, sizeof(uint4));
}
