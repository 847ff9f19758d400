/* backend.c - open a backend by name and see that its table has no hole. */
#include "kernels/backend.h"

#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/cpu/impl.h"

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

int cs_backend_open(const char *name, int n_thread, cs_backend **out)
{
    *out = NULL;
    if (strcmp(name, "cpu") != 0)
        return cs_fail(CS_EDEVICE, "no compute device '%s' in this build: it has 'cpu'", name);
    cs_backend *be = cs_xcalloc(1, sizeof *be);
    be->name = "cpu";
    be->n_thread = n_thread > 0 ? n_thread : cs_cpu_count();
    int rc = cs_cpu_open(be);
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
    cs_cpu_close(be);
    free(be);
}
