/* backend.c - open a backend by name and see that its table has no hole. */
#include "kernels/backend.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/cpu/impl.h"
#include "kernels/cuda/cuda.h"

/* cs_ops consists of function pointers only, so it can be walked as an array of them. */
static bool has_hole(const cs_ops *op)
{
    typedef void (*any)(void);
    _Static_assert(sizeof *op % sizeof(any) == 0, "cs_ops must hold function pointers only");
    for (size_t i = 0; i < sizeof *op / sizeof(any); i++) {
        any f;
        memcpy(&f, (const char *)op + i * sizeof f, sizeof f);
        if (!f)
            return true;
    }
    return false;
}

#if defined(CS_HAVE_CUDA) && !defined(CS_DOUBLE)
#define WITH_CUDA
#define DEVICES "'cpu', 'cuda' and 'cuda:NUMBER'"

/* The number behind "cuda:", 0 for "cuda"; -1: it is neither. */
static int cuda_number(const char *name)
{
    char *end;
    if (strcmp(name, "cuda") == 0)
        return 0;
    if (strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9')
        return -1;
    long n = strtol(name + 5, &end, 10);
    return *end == '\0' && n <= INT_MAX ? (int)n : -1;
}

static bool is_cuda(const char *name)
{
    const char *why;
    return cuda_number(name) >= 0 || (strcmp(name, "auto") == 0 && cs_cuda_count(&why) > 0);
}

static int open_cuda(cs_backend *be, const char *name)
{
    int n = cuda_number(name);
    be->name = "cuda";
    be->close = cs_cuda_close;
    return cs_cuda_open(be, n > 0 ? n : 0);
}
#else
#define DEVICES "'cpu'"

#endif

static int open_device(cs_backend *be, const char *name)
{
#ifdef WITH_CUDA
    if (is_cuda(name))
        return open_cuda(be, name);
#endif
    if (strcmp(name, "cpu") != 0 && strcmp(name, "auto") != 0)
        return cs_fail(CS_EDEVICE, "no compute device '%s' in this build: it has " DEVICES, name);
    be->name = "cpu";
    be->close = cs_cpu_close;
    return cs_cpu_open(be);
}

int cs_backend_open(const char *name, int n_thread, cs_backend **out)
{
    *out = NULL;
    cs_backend *be = cs_xcalloc(1, sizeof *be);
    be->n_thread = n_thread > 0 ? n_thread : cs_cpu_count();
    int rc = open_device(be, name);
    if (rc != CS_OK) {
        free(be);
        return rc;
    }
    CS_BUG(has_hole(&be->op));
    *out = be;
    return CS_OK;
}

void cs_backend_close(cs_backend *be)
{
    if (!be)
        return;
    be->close(be);
    free(be);
}
