/* guard.cpp - device memory of the emulated GPU, next to guard pages. */
#include "guard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_runtime.h"

static size_t up_to(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

char *cs_host_guarded(size_t n_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = up_to(n_bytes, CS_HOST_AHEAD);
    const size_t whole = up_to(CS_HOST_AHEAD + n, page);
    char *p = (char *)mmap(NULL, whole + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, whole, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    memset(p, 0xFF, whole);
    return p + whole - n;
}

void cs_host_unguard(char *p, size_t n_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = up_to(n_bytes, CS_HOST_AHEAD);
    const size_t whole = up_to(CS_HOST_AHEAD + n, page);
    for (size_t i = n_bytes; i < n; i++)
        if ((unsigned char)p[i] != 0xFF)
            abort();
    (void)munmap(p + n - whole, whole + page);
}

void *cs_host_free_memory(size_t n_bytes)
{
    static char *end;
    if (!end)
        end = cs_host_guarded(227 << 10) + (227 << 10);
    return end - up_to(n_bytes, sizeof(uint4));
}
